//! Power cuts for people: what to say of them, and their table.
//! In: results of `powercut`. Out: text as wide as the terminal, and the form of `--json`.

use crate::json::Answer;
use crate::served_disk::Refused;
use crate::text;
use reliability::power_cut::{Figures, Given, PromiseResult, Rate, Strength, Survived};
use schemars::JsonSchema;
use serde::Serialize;

/// Column of a contender.
const COLUMN: usize = 15;
/// Column that names the promises.
const NAMES: usize = 19;

/// What `powercut --json` answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PowerCuts {
    /// The contenders whose power was cut.
    pub contenders: Vec<Survived>,
    /// Those that could not be.
    pub refused: Vec<Refused>,
}

impl Answer for PowerCuts {
    const SCHEMA: &'static str = "bakeoff-powercut";
}

/// Everything, for a terminal.
pub fn told(all: &PowerCuts, width: usize) -> String {
    let mut said = String::new();
    let mut say = |sentence: &str| said.push_str(&text::wrapped(sentence, width, "", "  "));
    answers(&all.contenders).iter().for_each(|sentence| say(sentence));
    for refused in &all.refused {
        say(&format!("{} could not be cut: {}", refused.contender, refused.why));
    }
    said.push('\n');
    for few in all.contenders.chunks(((width.saturating_sub(NAMES)) / COLUMN).max(1)) {
        said.push_str(&table(few));
        said.push('\n');
    }
    for sentence in legend(&all.contenders) {
        said.push_str(&text::wrapped(&sentence, width, "", "  "));
    }
    said
}

/// The answer: who kept what it promised, who did not, and what was lost.
fn answers(all: &[Survived]) -> Vec<String> {
    let (programs, all): (Vec<&Survived>, Vec<&Survived>) = all.iter().partition(|one| one.program.is_some());
    let (kept, broke): (Vec<&Survived>, Vec<&Survived>) = all
        .iter()
        .copied()
        .partition(|one| one.broken(Strength::Promised).next().is_none() && one.mounts.refused.count == 0);
    let mut said = Vec::new();
    if !kept.is_empty() {
        let names: Vec<&str> = kept.iter().map(|one| one.contender.as_str()).collect();
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
            one.contender, program.command
        ),
        _ => format!(
            "On {} `{}` kept all of what it had acknowledged in {of} cuts ({} lines): at most {} of such cuts lose something.",
            one.contender,
            program.command,
            program.acknowledged,
            percent(program.lost.high)
        ),
    })
}

fn broken(one: &Survived) -> String {
    let promises: Vec<String> = one.broken(Strength::Promised).map(in_one).collect();
    let mut text = format!("{} did NOT keep what was promised", one.contender);
    if one.lying {
        text.push_str(", on a disk that lies about its flushes");
    }
    text.push_str(&format!(": {}", promises.join("; ")));
    if one.mounts.refused.count > 0 {
        let why = one.mounts.refusal.as_ref().map_or("", |example| &example.found);
        let first = if promises.is_empty() { "" } else { "; " };
        text.push_str(&format!(
            "{first}{} of {} states could not be mounted ({})",
            one.mounts.refused.count,
            one.states,
            text::shortened(why, 120)
        ));
    }
    text + "."
}

fn in_one(promise: &PromiseResult) -> String {
    let found = promise.example.as_ref().map_or(String::new(), |example| format!(", as \"{}\"", example.found));
    format!("{} (in {} of {} cuts{found})", promise.name, promise.broken.count, promise.broken.of)
}

fn losses(one: &Survived) -> Option<String> {
    let Figures { median, worst } = one.lost_seconds;
    Some(format!(
        "{}: of work that nobody synced a cut takes the last {}, at worst {}.",
        one.contender,
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

/// The table of some contenders.
fn table(few: &[Survived]) -> String {
    let mut lines = String::new();
    let mut line = |name: &str, cells: Vec<String>| {
        let cells: String =
            cells.iter().map(|cell| format!("{:>COLUMN$}", text::shortened(cell, COLUMN - 1))).collect();
        lines.push_str(format!("{name:<NAMES$}{cells}").trim_end());
        lines.push('\n');
    };
    let names: Vec<&str> = few.iter().map(|one| one.contender.as_str()).collect();
    let heading = headings(&names);
    for (at, names) in heading.iter().enumerate() {
        let is_last = at + 1 == heading.len();
        let title = if few[0].program.is_some() { "PROGRAM" } else { "PROMISED" };
        line(if is_last { title } else { "" }, names.clone());
    }
    if few[0].program.is_some() {
        let kept = |one: &Survived| one.program.as_ref().map_or("-".into(), |known| share_of(known.given, known.lost));
        line("  acknowledged", few.iter().map(kept).collect());
    }
    let mut last = Strength::Promised;
    for (row, promise) in few[0].promises.iter().enumerate() {
        if promise.strength != last {
            line("NOT PROMISED", Vec::new());
            last = promise.strength;
        }
        line(&format!("  {}", promise.name), few.iter().map(|one| cell(&one.promises[row])).collect());
    }
    line("AFTER THE CUT", Vec::new());
    let figures = |of: fn(&Survived) -> String| few.iter().map(of).collect::<Vec<_>>();
    line("  lost, median", figures(|one| one.lost_seconds.median.map_or("-".into(), seconds)));
    line("  lost, at worst", figures(|one| one.lost_seconds.worst.map_or("-".into(), seconds)));
    line("  foreign bytes", figures(|one| one.foreign_bytes.to_string()));
    line("  not mounted", figures(|one| format!("{} of {}", one.mounts.refused.count, one.mounts.refused.of)));
    line("  damage found", figures(|one| format!("{} of {}", one.mounts.damaged.count, one.mounts.damaged.of)));
    line(
        "  mount, median",
        figures(|one| one.mounts.seconds.median.map_or("-".into(), |took| text::quantity(took, "s"))),
    );
    line(
        "  mount, at worst",
        figures(|one| one.mounts.seconds.worst.map_or("-".into(), |took| text::quantity(took, "s"))),
    );
    lines
}

/// Contenders' names, a word a line, so that long ones can be told apart.
pub fn headings(names: &[&str]) -> Vec<Vec<String>> {
    let words = |name: &&str| text::harmless(name).split(' ').map(String::from).collect::<Vec<_>>();
    let names: Vec<Vec<String>> = names.iter().map(words).collect();
    let high = names.iter().map(Vec::len).max().unwrap_or(1);
    let word = |name: &Vec<String>, line: usize| line.checked_sub(high - name.len()).map(|at| name[at].clone());
    (0..high).map(|line| names.iter().map(|name| word(name, line).unwrap_or_default()).collect()).collect()
}

fn cell(promise: &PromiseResult) -> String {
    share_of(promise.given, promise.broken)
}

fn share_of(given: Given, rate: Rate) -> String {
    match given {
        Given::Kept => "kept".into(),
        Given::Untested => "-".into(),
        Given::Broken => format!("broken {}", percent(f64::from(rate.count) / f64::from(rate.of.max(1)))),
    }
}

fn legend(all: &[Survived]) -> Vec<String> {
    let Some(first) = all.first() else { return Vec::new() };
    let mut said = vec![
        format!(
            "broken: in that share of the cuts that put it to the test. {} states each on Linux {}, of which {} % such as a disk leaves that keeps the order of writes; seed {}.",
            first.states,
            first.kernel,
            first.in_order * 100 / first.states.max(1),
            first.seed
        ),
        "lost: seconds of work whose calls had returned and that nobody synced. Each promise in a sentence: docs/power-cut.md".into(),
    ];
    if first.lying {
        said.push("The disk lied about its flushes: what is broken here is the disk's fault.".into());
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use reliability::power_cut::Mounts;

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
        }
    }

    fn survived(contender: &str, broken: u32) -> Survived {
        Survived {
            contender: contender.into(),
            kernel: "6.18".into(),
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
                refusal: None,
                seconds: Figures { median: Some(0.004), worst: Some(0.02) },
                damaged: rate(0, 50),
                damage: None,
            },
            kept: vec![],
            seed: 1,
            lying: false,
            seconds: 100.0,
        }
    }

    #[test]
    fn the_first_sentences_say_who_kept_what_was_promised() {
        let all = PowerCuts { contenders: vec![survived("ext4", 0), survived("ext2", 400)], refused: vec![] };
        let said = told(&all, 80);
        assert!(said.starts_with("ext4 kept everything that was promised"), "{said}");
        assert!(said.contains("ext2 did NOT keep what was promised: fsync (in 400 of 1000 cuts"), "{said}");
        assert!(said.contains("broken 40 %") && said.contains("31 s"), "{said}");
        assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    }

    #[test]
    fn many_contenders_stand_in_several_tables() {
        let names = ["ext4", "xfs", "btrfs", "ext3", "ext4 data=writeback a-very-long-name"];
        let all = PowerCuts { contenders: names.map(|name| survived(name, 0)).to_vec(), refused: vec![] };
        let said = told(&all, 80);
        assert_eq!(said.matches("AFTER THE CUT").count(), 2, "{said}");
        assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    }
}
