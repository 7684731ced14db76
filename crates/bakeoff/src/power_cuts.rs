//! Results of power cuts for people: sentences and a table.
//! In: results of `powercut`. Out: text as wide as the terminal, and the `--json` form.

use crate::json::Answer;
use crate::mounted_by::MountedBy;
use crate::served_disk::{self, Refused, Served};
use crate::text;
use indexmap::IndexSet;
use reliability::power_cut::{
    BeyondPosix, Example, Figures, Given, PromiseResult, Rate, Strength, Survived, VariantResult, torn_in_words,
};
use report::{Cell, Findings, Group, Row, Tone};
use schemars::JsonSchema;
use serde::Serialize;

/// Most characters of a finding in a sentence.
const FOUND: usize = 300;

/// Most names in a sentence.
const NAMES: usize = 3;
/// Guarantees that are known by name to every reader.
const KNOWN: [&str; 2] = ["fsync", "rename"];

/// What `powercut --json` answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PowerCuts {
    /// The tested contenders.
    pub contenders: Vec<Survived>,
    /// Contenders that could not be tested.
    pub refused: Vec<Refused>,
    /// Kernel that mounted the contenders that name none, and why.
    pub mounted_by: MountedBy,
    /// Cost of serving the disk itself; null if it could not be measured.
    pub served_disk: Option<Served>,
    /// What a program relies on beyond POSIX; null if no program was tested, or none kept all acknowledged data.
    pub beyond_posix: Option<BeyondPosix>,
}

impl Answer for PowerCuts {
    const SCHEMA: &'static str = "bakeoff-powercut";
}

/// All findings, for people.
pub fn findings(all: &PowerCuts) -> Findings {
    let refused = |one: &Refused| format!("No power cut could be simulated on {}: {}", one.contender, one.why);
    Findings {
        title: "What survives a power cut".into(),
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

/// The answer: which contenders kept their guarantees, which did not, and what was lost.
fn answers(all: &[Survived]) -> Vec<String> {
    let (programs, all): (Vec<&Survived>, Vec<&Survived>) = all.iter().partition(|one| one.program.is_some());
    // Nothing is claimed about guarantees that were not tested.
    let is_tested = |one: &&Survived| tested(one, Strength::Promised).next().is_some() || unreachable(one) > 0;
    let (promised, others): (Vec<&Survived>, Vec<&Survived>) = all.iter().copied().partition(is_tested);
    let (kept, broke): (Vec<&Survived>, Vec<&Survived>) =
        promised.into_iter().partition(|one| one.broken(Strength::Promised).next().is_none() && unreachable(one) == 0);
    let mut sentences: Vec<String> = kept_all(&kept).into_iter().collect();
    sentences.extend(broke.into_iter().map(broken));
    sentences.extend(others.into_iter().map(beyond_promises));
    sentences.extend(all.iter().flat_map(|one| losses(one).into_iter().chain(left_behind(one))));
    sentences.extend(programs.into_iter().filter_map(of_program));
    sentences
}

/// The guarantees of this strength that some state tested.
fn tested(one: &Survived, strength: Strength) -> impl Iterator<Item = &PromiseResult> {
    one.promises.iter().filter(move |known| known.strength == strength && known.given != Given::Untested)
}

/// The contenders that kept every guarantee that was promised and tested.
fn kept_all(kept: &[&Survived]) -> Option<String> {
    let promised = || kept.iter().flat_map(|one| tested(one, Strength::Promised));
    let worst = promised().map(|one| one.broken.high).fold(0.0, f64::max);
    let names: IndexSet<&str> = promised().map(|one| one.name.as_str()).collect();
    let guarantees: Vec<&str> = match names.len() {
        many if many > NAMES && KNOWN.iter().all(|name| names.contains(name)) => [&KNOWN[..], &["the like"]].concat(),
        many if many > NAMES => names.iter().copied().take(NAMES - 1).chain(["others"]).collect(),
        _ => names.into_iter().collect(),
    };
    let is_whole = |one: &Survived| {
        let all = one.promises.iter().filter(|known| known.strength == Strength::Promised).count();
        tested(one, Strength::Promised).count() == all
    };
    let put = if kept.iter().all(|one| is_whole(one)) { "" } else { " and tested" };
    let states = states(kept.iter().copied())?;
    let each = if kept.len() > 1 { " each" } else { "" };
    let who: Vec<String> = kept.iter().map(|one| one.shown()).collect();
    Some(format!(
        "{} kept everything that was promised{put} ({}) in {states} power cuts{each}: at most {} of cuts break any one promise.",
        judge::list(&who.iter().map(String::as_str).collect::<Vec<_>>()),
        judge::list(&guarantees),
        bound(worst)
    ))
}

/// The number of states of each: "1000", "900 to 1000".
fn states<'s>(all: impl Iterator<Item = &'s Survived> + Clone) -> Option<String> {
    let each = all.map(|one| one.states);
    Some(match (each.clone().min()?, each.max()?) {
        (few, many) if few == many => many.to_string(),
        (few, many) => format!("{few} to {many}"),
    })
}

/// Results for guarantees that are not promised, if no promised one was tested.
fn beyond_promises(one: &Survived) -> String {
    let broken: Vec<String> = one.broken(Strength::Hoped).map(in_one).collect();
    let kept: Vec<&str> =
        tested(one, Strength::Hoped).filter(|known| known.given == Given::Kept).map(|known| &*known.name).collect();
    let kept = match kept.len() {
        0 => None,
        many if many > NAMES => Some(format!("kept {many} others")),
        _ => Some(format!("kept {}", judge::list(&kept))),
    };
    let broken = (!broken.is_empty()).then(|| format!("broke {}", broken.join("; ")));
    let both: Vec<String> = broken.into_iter().chain(kept).collect();
    match both.is_empty() {
        true => format!("{}: none of {} power cuts tested a guarantee.", one.shown(), one.states),
        false => format!("Of the guarantees that are not promised, {} {}.", one.shown(), both.join("; it ")),
    }
}

/// Damage and foreign file content after cuts, though no guarantee excludes them.
fn left_behind(one: &Survived) -> Option<String> {
    let damaged = one.mounts.damaged;
    let damage = (damaged.count > 0)
        .then(|| format!("its own check found damage after {} of {} cuts", damaged.count, damaged.of));
    let foreign = (one.foreign_bytes > 0)
        .then(|| format!("up to {} bytes of old or other files' content appeared in a file", one.foreign_bytes));
    let parts: Vec<String> = damage.into_iter().chain(foreign).collect();
    (!parts.is_empty()).then(|| format!("{}: {}.", one.shown(), parts.join("; ")))
}

/// Whether a program kept the data that it acknowledged.
fn of_program(one: &Survived) -> Option<String> {
    let program = one.program.as_ref()?;
    let (lost, of) = (program.lost.count, program.lost.of);
    let example = program.example.as_ref().map_or(String::new(), |example| format!(", as \"{}\"", example.found));
    Some(match program.given {
        Given::Broken => {
            format!("On {}, `{}` LOST acknowledged data in {lost} of {of} cuts{example}.", one.shown(), program.command)
        }
        _ => format!(
            "On {}, `{}` kept all acknowledged data in {of} cuts ({} lines): at most {} of such cuts lose something.",
            one.shown(),
            program.command,
            program.acknowledged,
            bound(program.lost.high)
        ),
    })
}

/// A sentence on a program that kept all acknowledged data but relies on more than POSIX promises.
fn relies(all: &PowerCuts) -> Option<String> {
    let looked = all.beyond_posix.as_ref()?;
    let found = text::shortened(looked.found.as_ref()?, FOUND);
    let program = all.contenders.iter().find_map(|one| one.program.as_ref())?;
    let it = if looked.count == 1 { "it" } else { "them" };
    Some(format!(
        "`{}` relies on more than POSIX promises: it assumes that fsync of a file also makes its new name safe. By POSIX, {} may be gone after a cut, and \
         without {it} the check fails (\"{found}\"). Also call fsync on the folder after creating, linking or renaming a file in it.",
        program.command,
        names(looked)
    ))
}

/// The note on a program that passes without the names at risk, or that could not be checked.
fn beside(looked: &BeyondPosix) -> Option<String> {
    match (&looked.unseen, &looked.found) {
        (Some(why), _) => {
            Some(format!("Whether the program relies on more than POSIX promises could not be checked: {why}."))
        }
        (None, None) if looked.count > 0 => Some(format!(
            "By POSIX, {} may be gone after a cut at the end of the program; the check passes even then.",
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

/// Number of states that could not be inspected.
fn unreachable(one: &Survived) -> u32 {
    one.mounts.refused.count + one.mounts.kernel_lost.count
}

fn broken(one: &Survived) -> String {
    let promises: Vec<String> = one.broken(Strength::Promised).map(in_one).collect();
    let mut text = format!("{} did NOT keep what was promised", one.shown());
    if one.lying {
        text.push_str(", on a disk that ignores flushes");
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
            "{first}{} of {} states crashed or hung the kernel that mounted them ({why})",
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
        "{}: a cut loses the last {} of unsynced work, {} at worst.",
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

/// The upper end of a share, never rounded down to zero.
fn bound(share: f64) -> String {
    percent(share.max(0.0001))
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        tiny if tiny > 0.0 && tiny < 0.005 => "<0.01 %".into(),
        small if small < 1.0 => format!("{small:.2} %"),
        some if some < 10.0 => format!("{some:.1} %"),
        many => format!("{many:.0} %"),
    }
}

/// The table: programs or guarantees, and the results of mounting and checking.
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

/// The row of a guarantee; if any contender broke a variant of it, also a row for each variant.
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

/// Losses of unsynced work, and the results of mounting and checking.
fn after(all: &[Survived]) -> Vec<Row> {
    let row = |name: &str, about: &str, of: &dyn Fn(&Survived) -> Cell| Row {
        name: name.into(),
        about: Some(about.into()),
        minor: false,
        cells: all.iter().map(of).collect(),
    };
    let figure = |value: Option<f64>, shown: fn(f64) -> String| Cell::plain(value.map_or("-".into(), shown));
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
        row("lost, median", "of unsynced work whose calls had returned", &|one| {
            figure(one.lost_seconds.median, seconds)
        }),
        row("lost, at worst", "the same, at worst", &|one| figure(one.lost_seconds.worst, seconds)),
        row("foreign bytes", "old or other files' content in a file, at most in any state", &foreign),
        row("not mounted", "states that could not be mounted", &refused),
        row("damage found", "by the filesystem's own check", &|one| {
            counted(one.mounts.damaged, one.mounts.damage.clone())
        }),
        row("mount, median", "time to mount", &|one| figure(one.mounts.seconds.median, short)),
        row("mount, at worst", "the same, at worst", &|one| figure(one.mounts.seconds.worst, short)),
    ];
    if all.iter().any(|one| one.mounts.refused_torn.count > 0) {
        let torn = |one: &Survived| counted(one.mounts.refused_torn, None);
        let place = rows.iter().position(|row| row.name == "not mounted").map_or(rows.len(), |place| place + 1);
        rows.insert(place, row("of torn blocks", "of these, states with a partly written 4 KiB block", &torn));
    }
    if all.iter().any(|one| one.guest) {
        rows.push(row("kernel lost", "states that crashed or hung the virtual machine's kernel", &ended));
    }
    rows
}

/// A count that should be zero.
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
    let (Some(first), Some(states)) = (all.first(), states(all.iter())) else { return Vec::new() };
    let count = |of: fn(&Survived) -> u32| all.iter().map(|one| u64::from(of(one))).sum::<u64>();
    let mut notes = vec![
        format!(
            "broken: in this share of the cuts that tested it. {states} states each on Linux {}, {} % of them as left by a disk that keeps the order of writes; seed {}.",
            served_disk::kernels(all.iter().map(|one| (one.kernel.as_str(), one.contender.as_str()))),
            count(|one| one.in_order) * 100 / count(|one| one.states).max(1),
            first.seed
        ),
        "12 %+folder: the worst variant of a guarantee was broken in 12 % of the states. In this variant, the folder was synced after the steps of the guarantee (file: the file, other: another file). The rows below show the variants.".into(),
        "lost: seconds of unsynced work whose calls had returned. The promises are described in docs/power-cut.md".into(),
    ];
    if first.lying {
        notes.push("The disk ignored flushes: guarantees broken here are the disk's fault.".into());
    }
    if first.torn {
        notes.push(
            "In every state one write was torn within a 4 KiB block, which happens only on disks with smaller sectors."
                .into(),
        );
    }
    notes
}

#[cfg(test)]
pub(crate) mod tests;
