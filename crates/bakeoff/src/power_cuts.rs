//! Power cuts for people: what to say of them, and their table.
//! In: results of `powercut`. Out: text as wide as the terminal, and the form of `--json`.

use crate::json::Answer;
use crate::mounted_by::MountedBy;
use crate::served_disk::{self, Refused, Served};
use crate::text;
use reliability::power_cut::{
    BeyondPosix, Example, Figures, Given, PromiseResult, Rate, Strength, Survived, VariantResult, torn_in_words,
};
use report::{Cell, Findings, Group, Row, Tone};
use schemars::JsonSchema;
use serde::Serialize;

/// Characters of what was found of a state, in a sentence.
const FOUND: usize = 300;

/// Names at risk in a sentence.
const NAMES: usize = 3;

/// What `powercut --json` answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PowerCuts {
    /// The contenders whose power was cut.
    pub contenders: Vec<Survived>,
    /// Those that could not be.
    pub refused: Vec<Refused>,
    /// By which kernel contenders that name none were mounted, and why.
    pub mounted_by: MountedBy,
    /// What serving the disk costs by itself; null where it could not be measured.
    pub served_disk: Option<Served>,
    /// What a program relies on beyond POSIX; null where none was cut, or none kept all that it had acknowledged.
    pub beyond_posix: Option<BeyondPosix>,
}

impl Answer for PowerCuts {
    const SCHEMA: &'static str = "bakeoff-powercut";
}

/// Everything, for people.
pub fn findings(all: &PowerCuts) -> Findings {
    let refused = |one: &Refused| format!("{} could not be cut: {}", one.contender, one.why);
    Findings {
        title: "What is kept when the power goes".into(),
        answers: answers(&all.contenders)
            .into_iter()
            .chain(relies(all))
            .chain(all.refused.iter().map(refused))
            .collect(),
        columns: all.contenders.iter().map(Survived::shown).collect(),
        groups: groups(&all.contenders),
        notes: legend(&all.contenders)
            .into_iter()
            .chain(all.served_disk.as_ref().map(Served::sentence))
            .chain(all.mounted_by.sentence())
            .chain(all.beyond_posix.as_ref().and_then(beside))
            .collect(),
    }
}

/// The answer: who kept what it promised, who did not, and what was lost.
fn answers(all: &[Survived]) -> Vec<String> {
    let (programs, all): (Vec<&Survived>, Vec<&Survived>) = all.iter().partition(|one| one.program.is_some());
    // Of what was not put to the test nothing can be claimed.
    let is_tested = |one: &&&Survived| one.promises.iter().any(|known| known.strength == Strength::Promised);
    let (kept, broke): (Vec<&Survived>, Vec<&Survived>) = all
        .iter()
        .filter(|one| is_tested(one) || unreachable(one) > 0)
        .copied()
        .partition(|one| one.broken(Strength::Promised).next().is_none() && unreachable(one) == 0);
    let mut said = Vec::new();
    if !kept.is_empty() {
        let names: Vec<String> = kept.iter().map(|one| one.shown()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let worst = kept.iter().flat_map(|one| &one.promises).filter(|one| one.strength == Strength::Promised);
        let worst = worst.filter(|one| one.given == Given::Kept).map(|one| one.broken.high).fold(0.0, f64::max);
        let (each, states) = (if kept.len() > 1 { " each" } else { "" }, kept[0].states);
        said.push(format!(
            "{} kept everything that was promised (fsync, rename and the like) in {states} power cuts{each}: at most {} of cuts break any one promise.",
            judge::list(&names),
            percent(worst)
        ));
    }
    said.extend(broke.into_iter().map(broken));
    said.extend(all.iter().filter_map(|one| losses(one)));
    said.extend(programs.into_iter().filter_map(of_program));
    said
}

/// Whether a program kept what it had acknowledged.
fn of_program(one: &Survived) -> Option<String> {
    let program = one.program.as_ref()?;
    let (lost, of) = (program.lost.count, program.lost.of);
    let example = program.example.as_ref().map_or(String::new(), |example| format!(", as \"{}\"", example.found));
    Some(match program.given {
        Given::Broken => format!(
            "On {} `{}` LOST what it had acknowledged in {lost} of {of} cuts{example}.",
            one.shown(),
            program.command
        ),
        _ => format!(
            "On {} `{}` kept all of what it had acknowledged in {of} cuts ({} lines): at most {} of such cuts lose something.",
            one.shown(),
            program.command,
            program.acknowledged,
            percent(program.lost.high)
        ),
    })
}

/// That a program which kept all that it had acknowledged relies on more than POSIX promises.
fn relies(all: &PowerCuts) -> Option<String> {
    let looked = all.beyond_posix.as_ref()?;
    let found = text::shortened(looked.found.as_ref()?, FOUND);
    let program = all.contenders.iter().find_map(|one| one.program.as_ref())?;
    let it = if looked.count == 1 { "it" } else { "them" };
    Some(format!(
        "`{}` relies on more than POSIX promises: that fsync of a file makes its new name safe, too. POSIX lets {} be gone after a cut, and \
         without {it} the check fails (\"{found}\"). Call fsync on the folder, too, after each file that is made, linked or renamed in it.",
        program.command,
        names(looked)
    ))
}

/// The note on a program that passes without the names at risk, or that could not be checked.
fn beside(looked: &BeyondPosix) -> Option<String> {
    match (&looked.unseen, &looked.found) {
        (Some(why), _) => {
            Some(format!("Whether the program relies on more than POSIX promises could not be looked at: {why}."))
        }
        (None, None) if looked.count > 0 => Some(format!(
            "POSIX lets {} be gone when the program has ended, and the check passes without.",
            names(looked)
        )),
        _ => None,
    }
}

/// The first names at risk in words.
fn names(looked: &BeyondPosix) -> String {
    let first: Vec<String> = looked.names.iter().take(NAMES).map(|name| format!("`{name}`")).collect();
    let rest = (looked.count > first.len()).then(|| format!("{} more", looked.count - first.len()));
    let all: Vec<&str> = first.iter().chain(rest.as_ref()).map(String::as_str).collect();
    judge::list(&all)
}

/// States of which nothing could be seen.
fn unreachable(one: &Survived) -> u32 {
    one.mounts.refused.count + one.mounts.kernel_lost.count
}

fn broken(one: &Survived) -> String {
    let promises: Vec<String> = one.broken(Strength::Promised).map(in_one).collect();
    let mut text = format!("{} did NOT keep what was promised", one.shown());
    if one.lying {
        text.push_str(", on a disk that lies about its flushes");
    }
    text.push_str(&format!(": {}", promises.join("; ")));
    let (refused, lost) = (&one.mounts.refused, &one.mounts.kernel_lost);
    let why = |example: &Option<Example>| {
        example.as_ref().map_or(String::new(), |known| text::shortened(&known.found, FOUND))
    };
    let first = |text: &str| if text.ends_with(": ") { "" } else { "; " };
    if refused.count > 0 {
        let (first, why) = (first(&text), why(&one.mounts.refusal));
        let torn = torn_in_words(refused.count, one.mounts.refused_torn.count);
        text.push_str(&format!("{first}{} of {} states could not be mounted{torn} ({why})", refused.count, one.states));
    }
    if lost.count > 0 {
        let (first, why) = (first(&text), why(&one.mounts.kernel_loss));
        text.push_str(&format!(
            "{first}{} of {} states ended the kernel that mounted them ({why})",
            lost.count, one.states
        ));
    }
    text + "."
}

fn in_one(promise: &PromiseResult) -> String {
    let found = promise.example.as_ref().map_or(String::new(), |example| format!(", as \"{}\"", example.found));
    let variant = promise.worst.map_or(String::new(), |later| format!(", {}", later.in_words()));
    format!("{}{variant} (in {} of {} cuts{found})", promise.name, promise.broken.count, promise.broken.of)
}

fn losses(one: &Survived) -> Option<String> {
    let Figures { median, worst } = one.lost_seconds;
    Some(format!(
        "{}: of unsynced work a cut takes the last {}, at worst {}.",
        one.shown(),
        seconds(median?),
        seconds(worst?)
    ))
}

fn seconds(value: f64) -> String {
    match value {
        large if large >= 10.0 => format!("{large:.0} s"),
        other => format!("{other:.1} s"),
    }
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        small if small < 1.0 => format!("{small:.2} %"),
        some if some < 10.0 => format!("{some:.1} %"),
        many => format!("{many:.0} %"),
    }
}

/// The table: programs or promises, and what mounting and checking said.
fn groups(all: &[Survived]) -> Vec<Group> {
    let Some(first) = all.first() else { return Vec::new() };
    let mut groups = Vec::new();
    if first.program.is_some() {
        let kept = |one: &Survived| {
            one.program.as_ref().map_or_else(Cell::default, |known| share_of(known.given, known.lost, &known.example))
        };
        let row = Row { name: "acknowledged".into(), cells: all.iter().map(kept).collect(), ..Row::default() };
        groups.push(Group { name: "PROGRAM".into(), rows: vec![row] });
    }
    for (strength, name) in [(Strength::Promised, "PROMISED"), (Strength::Hoped, "NOT PROMISED")] {
        let of = (0..first.promises.len()).filter(|place| first.promises[*place].strength == strength);
        let rows: Vec<Row> = of.flat_map(|place| rows_of(all, place)).collect();
        if !rows.is_empty() {
            groups.push(Group { name: name.into(), rows });
        }
    }
    groups.push(Group { name: "AFTER THE CUT".into(), rows: after(all) });
    groups
}

/// The row of a guarantee, and where any contender broke a variant of it, one below for each variant.
fn rows_of(all: &[Survived], place: usize) -> Vec<Row> {
    let first = &all[0].promises[place];
    let row = |name: String, about: String, minor: bool, of: &dyn Fn(&PromiseResult) -> Cell| {
        let cell = |one: &Survived| one.promises.get(place).map_or_else(Cell::default, of);
        Row { name, about: Some(about), minor, cells: all.iter().map(cell).collect() }
    };
    let mut rows = vec![row(first.name.clone(), first.title.clone(), false, &cell)];
    let is_broken = |one: &Survived| one.promises.get(place).is_some_and(|known| known.given == Given::Broken);
    if first.variants.len() > 1 && all.iter().any(is_broken) {
        for (number, variant) in first.variants.iter().enumerate() {
            let of = |promise: &PromiseResult| {
                let known: Option<&VariantResult> = promise.variants.get(number);
                known.map_or_else(Cell::default, |known| share_of(known.given, known.broken, &known.example))
            };
            let (name, about) = match variant.later {
                None => ("  as it is".to_string(), "nothing is synced later"),
                Some(later) => (format!("  + {}", later.name()), later.in_words()),
            };
            rows.push(row(name, about.into(), true, &of));
        }
    }
    rows
}

/// What was lost of work that nobody synced, and what mounting and checking said.
fn after(all: &[Survived]) -> Vec<Row> {
    let row = |name: &str, about: &str, of: &dyn Fn(&Survived) -> Cell| Row {
        name: name.into(),
        about: Some(about.into()),
        minor: false,
        cells: all.iter().map(of).collect(),
    };
    let figure = |value: Option<f64>, told: fn(f64) -> String| Cell::plain(value.map_or("-".into(), told));
    let short = |value: f64| text::quantity(value, "s");
    let refused = |one: &Survived| {
        let seen = one.mounts.refusal.as_ref().map(|example| example.found.clone());
        counted(one.mounts.refused, seen)
    };
    let foreign = |one: &Survived| {
        let tone = if one.foreign_bytes > 0 { Tone::Broken } else { Tone::Plain };
        Cell { text: one.foreign_bytes.to_string(), tone, seen: None }
    };
    let ended = |one: &Survived| match one.guest {
        true => counted(one.mounts.kernel_lost, one.mounts.kernel_loss.as_ref().map(|example| example.found.clone())),
        false => Cell::plain("-"),
    };
    let mut rows = vec![
        row("lost, median", "of unsynced work that had returned", &|one| figure(one.lost_seconds.median, seconds)),
        row("lost, at worst", "the same, at worst", &|one| figure(one.lost_seconds.worst, seconds)),
        row("foreign bytes", "old or other files' content in a file, the most of any state", &foreign),
        row("not mounted", "states that could not be mounted", &refused),
        row("damage found", "by the filesystem's own check", &|one| {
            counted(one.mounts.damaged, one.mounts.damage.clone())
        }),
        row("mount, median", "how long mounting took", &|one| figure(one.mounts.seconds.median, short)),
        row("mount, at worst", "the same, at worst", &|one| figure(one.mounts.seconds.worst, short)),
    ];
    if all.iter().any(|one| one.mounts.refused_torn.count > 0) {
        let torn = |one: &Survived| counted(one.mounts.refused_torn, None);
        let place = rows.iter().position(|row| row.name == "not mounted").map_or(rows.len(), |place| place + 1);
        rows.insert(
            place,
            row("of torn blocks", "the same of states in which a block of 4 KiB was written in part", &torn),
        );
    }
    if all.iter().any(|one| one.guest) {
        rows.push(row("kernel lost", "states at which the kernel of the virtual machine ended, or hung", &ended));
    }
    rows
}

/// A count that should be none.
fn counted(rate: Rate, seen: Option<String>) -> Cell {
    let tone = if rate.count > 0 { Tone::Broken } else { Tone::Plain };
    Cell { text: format!("{} of {}", rate.count, rate.of), tone, seen }
}

fn cell(promise: &PromiseResult) -> Cell {
    let cell = share_of(promise.given, promise.broken, &promise.example);
    // Short enough for a column of the terminal.
    let worst = promise.worst.map(|later| format!("{}+{}", cell.text.trim_start_matches("broken "), later.name()));
    Cell { text: worst.unwrap_or(cell.text), ..cell }
}

fn share_of(given: Given, rate: Rate, example: &Option<Example>) -> Cell {
    let seen = example.as_ref().map(|example| format!("{} ({} left)", example.found, example.left));
    match given {
        Given::Kept => Cell { text: "kept".into(), tone: Tone::Good, seen: None },
        Given::Untested => Cell::plain("-"),
        Given::Broken => {
            let share = f64::from(rate.count) / f64::from(rate.of.max(1));
            Cell { text: format!("broken {}", percent(share)), tone: Tone::Broken, seen }
        }
    }
}

fn legend(all: &[Survived]) -> Vec<String> {
    let Some(first) = all.first() else { return Vec::new() };
    let mut said = vec![
        format!(
            "broken: in that share of the cuts that put it to the test. {} states each on Linux {}, of which {} % such as a disk leaves that keeps the order of writes; seed {}.",
            first.states,
            served_disk::kernels(all.iter().map(|one| (one.kernel.as_str(), one.contender.as_str()))),
            first.in_order * 100 / first.states.max(1),
            first.seed
        ),
        "12 %+folder: broken so often in the worst variant of a guarantee, in which the folder was synced after its own steps (file: the file, other: another file); its variants are the rows below.".into(),
        "lost: seconds of unsynced work whose calls had returned. Each promise in a sentence: docs/power-cut.md".into(),
    ];
    if first.lying {
        said.push("The disk lied about its flushes: what is broken here is the disk's fault.".into());
    }
    if first.torn {
        said.push(
            "In every state one write was torn within a block of 4 KiB, as only disks with smaller sectors leave it."
                .into(),
        );
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use reliability::power_cut::{Later, Mounts, ProgramResult};

    fn rate(count: u32, of: u32) -> Rate {
        let (low, high) = judge::proportion(count, of);
        Rate { count, of, low, high }
    }

    fn promise(name: &str, strength: Strength, broken: u32) -> PromiseResult {
        PromiseResult {
            name: name.into(),
            title: name.into(),
            strength,
            given: if broken > 0 { Given::Broken } else { Given::Kept },
            broken: rate(broken, 1000),
            broken_in_order: rate(0, 300),
            example: None,
            worst: None,
            variants: vec![],
        }
    }

    fn survived(contender: &str, broken: u32) -> Survived {
        Survived {
            contender: contender.into(),
            filesystem: contender.into(),
            driver: None,
            class: records::Durability::unknown(),
            kernel: "6.18".into(),
            guest: false,
            mount_options: vec![],
            states: 1000,
            in_order: 300,
            events: 1,
            writes: 1,
            flushes: 1,
            promises: vec![promise("fsync", Strength::Promised, broken), promise("two-writes", Strength::Hoped, 10)],
            lost_seconds: Figures { median: Some(4.7), worst: Some(31.2) },
            foreign_bytes: 0,
            program: None,
            mounts: Mounts {
                refused: rate(0, 1000),
                refused_torn: rate(0, 60),
                refusal: None,
                kernel_lost: rate(0, 1000),
                kernel_loss: None,
                seconds: Figures { median: Some(0.004), worst: Some(0.02) },
                damaged: rate(0, 50),
                damage: None,
            },
            contradictions: vec![],
            kept: vec![],
            seed: 1,
            lying: false,
            torn: false,
            seconds: 100.0,
        }
    }

    fn told(contenders: Vec<Survived>, width: usize) -> String {
        let (refused, mounted_by) = (vec![], MountedBy::asked_here());
        crate::findings::told(
            &findings(&PowerCuts { contenders, refused, mounted_by, served_disk: None, beyond_posix: None }),
            width,
        )
    }

    #[test]
    fn the_first_sentences_say_who_kept_what_was_promised() {
        let said = told(vec![survived("ext4", 0), survived("ext2", 400)], 80);
        assert!(said.starts_with("ext4 kept everything that was promised"), "{said}");
        assert!(said.contains("ext2 did NOT keep what was promised: fsync (in 400 of 1000 cuts"), "{said}");
        assert!(said.contains("broken 40 %") && said.contains("31 s"), "{said}");
        assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    }

    #[test]
    fn a_program_that_passes_only_by_what_posix_does_not_promise_is_named() {
        let mut one = survived("ext4", 0);
        one.promises.clear();
        one.program = Some(ProgramResult {
            command: "store".into(),
            acknowledged: 9,
            given: Given::Kept,
            lost: rate(0, 100),
            lost_in_order: rate(0, 30),
            example: None,
        });
        let output = |beyond_posix| {
            let (contenders, mounted_by) = (vec![one.clone()], MountedBy::asked_here());
            let all = PowerCuts { contenders, refused: vec![], mounted_by, served_disk: None, beyond_posix };
            crate::findings::told(&findings(&all), 500)
        };
        let names = ["a", "b", "c", "d"].map(String::from).to_vec();
        let looked = BeyondPosix { names, count: 30, found: Some("a is gone".into()), unseen: None };
        let fails = output(Some(looked.clone()));
        assert!(fails.contains("`store` relies on more than POSIX promises"), "{fails}");
        assert!(fails.contains("`a`, `b`, `c` and 27 more") && fails.contains("(\"a is gone\")"), "{fails}");
        assert!(fails.contains("Call fsync on the folder"), "{fails}");
        let passes = output(Some(BeyondPosix { found: None, ..looked }));
        assert!(!passes.contains("relies on") && passes.contains("the check passes without"), "{passes}");
        let unseen = output(Some(BeyondPosix { unseen: Some("no watcher works".into()), ..BeyondPosix::default() }));
        assert!(unseen.contains("could not be looked at: no watcher works."), "{unseen}");
        let nothing = output(Some(BeyondPosix::default()));
        assert!(!nothing.contains("POSIX") && nothing == output(None), "{nothing}");
    }

    #[test]
    fn states_that_a_torn_block_kept_from_being_mounted_are_told_from_others() {
        let mut one = survived("btrfs", 0);
        let refusal = serde_json::json!({ "found": "kernel: superblock checksum mismatch", "cut": 9, "left": "all of 1", "pending": 1 });
        one.mounts.refusal = serde_json::from_value(refusal).expect("an example");
        one.mounts.refused = rate(3, 1000);
        assert!(!told(vec![one.clone()], 80).contains("torn"));
        one.mounts.refused_torn = rate(2, 60);
        let said = told(vec![one], 200);
        assert!(
            said.contains("3 of 1000 states could not be mounted, 2 of them with a block of 4 KiB written in part"),
            "{said}"
        );
        assert!(said.contains("mismatch)") && said.contains("of torn blocks") && said.contains("2 of 60"), "{said}");
    }

    #[test]
    fn the_worst_variant_is_the_headline_and_all_variants_are_rows() {
        let mut one = survived("ext4", 0);
        let variant = |later, given, broken| VariantResult {
            later,
            given,
            broken: rate(broken, 40),
            broken_in_order: rate(0, 10),
            example: None,
        };
        let promise = &mut one.promises[1];
        promise.variants = vec![variant(None, Given::Kept, 0), variant(Some(Later::Folder), Given::Broken, 28)];
        (promise.given, promise.broken, promise.worst) = (Given::Broken, rate(28, 40), Some(Later::Folder));
        let text = told(vec![one.clone()], 120);
        assert!(text.contains("70 %+folder") && text.contains("+ folder"), "{text}");
        assert!(text.lines().any(|line| line.contains("as it is") && line.contains("kept")), "{text}");
        one.promises[0] = PromiseResult { strength: Strength::Promised, ..one.promises[1].clone() };
        assert!(told(vec![one], 200).contains("two-writes, then fsync of the folder (in 28 of 40 cuts"));
    }

    #[test]
    fn a_contender_of_another_driver_is_shown_with_it_everywhere() {
        let one = Survived { driver: Some("ext4".into()), ..survived("ext2", 400) };
        let text = told(vec![one], 120);
        assert!(text.starts_with("ext2 (ext4 driver) did NOT keep"), "{text}");
        // The head of the column, a word on each line.
        assert!(text.lines().any(|line| line.trim() == "driver)" || line.contains(" driver)")), "{text}");
        assert!(text.contains("ext2 (ext4 driver): of unsynced work"), "{text}");
    }

    #[test]
    fn many_contenders_stand_in_several_tables() {
        let names = ["ext4", "xfs", "btrfs", "ext3", "ext4 data=writeback a-very-long-name"];
        let said = told(names.map(|name| survived(name, 0)).to_vec(), 80);
        assert_eq!(said.matches("AFTER THE CUT").count(), 2, "{said}");
        assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    }
}
