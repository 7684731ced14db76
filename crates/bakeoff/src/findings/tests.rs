//! Power cuts and faults have an answer, and no sentence contradicts the table: in the terminal, on the page and in JSON.

use super::printed;
use crate::fault_table::tests::{counts, harmed, result};
use crate::fault_table::{self, AllFaults};
use crate::json::{self, Answer};
use crate::mounted_by::MountedBy;
use crate::power_cuts::tests::{promise, rate, survived, variant};
use crate::power_cuts::{self, PowerCuts};
use crate::served_disk::Refused;
use reliability::faults::{Counts, FaultResult, Harmed, Verdict};
use reliability::power_cut::{Example, Figures, Given, Later, ProgramResult, PromiseResult, Rate, Strength, Survived};
use report::{Cell, Findings, Row, Tone};
use serde_json::Value;

/// Phrases that no answer contains; "never written" is a fact, not a bound, and is allowed.
const NEVER: [&str; 7] = ["nothing to compare", "least far behind", "never", "Never", " others lead", "NaN", "infx"];

/// The cells of one contender in the table, with their groups and rows.
fn column<'f>(found: &'f Findings, name: &str) -> Vec<(&'f str, &'f Row, &'f Cell)> {
    let at = found.columns.iter().position(|one| one == name).unwrap_or_else(|| panic!("{name} is not in the table"));
    let rows = found.groups.iter().flat_map(|group| group.rows.iter().map(move |row| (group, row)));
    rows.map(|(group, row)| (group.name.as_str(), row, &row.cells[at])).collect()
}

/// The sentences about a contender.
fn about<'f>(found: &'f Findings, name: &str) -> Vec<&'f str> {
    found.answers.iter().map(String::as_str).filter(|one| names(one, name)).collect()
}

/// Whether a sentence contains that name, and not only a longer name that begins with it.
fn names(sentence: &str, name: &str) -> bool {
    sentence.match_indices(name).any(|(at, _)| {
        let (before, after) = (&sentence[..at], &sentence[at + name.len()..]);
        !before.ends_with(|sign: char| sign.is_alphanumeric())
            && [
                "",
                ":",
                ",",
                " kept",
                " did",
                " and",
                " `",
                " returned",
                " could",
                " hung",
                " crashed",
                " broke",
                " without",
            ]
            .iter()
            .any(|end| if end.is_empty() { after.is_empty() } else { after.starts_with(end) })
    })
}

/// Every "3 of 50" of a sentence.
fn pairs_in(sentence: &str) -> Vec<(u32, u32)> {
    let words: Vec<&str> =
        sentence.split_whitespace().map(|word| word.trim_matches(|sign: char| !sign.is_ascii_digit())).collect();
    let raw: Vec<&str> = sentence.split_whitespace().collect();
    let of = |at: usize| {
        (raw.get(at + 1) == Some(&"of")).then(|| words[at].parse().ok().zip(words.get(at + 2)?.parse().ok()))
    };
    (0..words.len()).filter_map(|at| of(at).flatten()).collect()
}

/// Checks what every reader gets: each sentence in the terminal within 80 columns and on the page, whose heading is
/// the first one. Returns the JSON.
fn shown<T: Answer>(all: &T, found: &Findings) -> Value {
    assert!(!found.answers.is_empty(), "there is an answer");
    let screen = printed(found, 80);
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    let unfolded = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    let page = report::findings_page(found).replace("&quot;", "\"").replace("&lt;", "<").replace("&amp;", "&");
    assert!(page.contains(&format!("<h1>{}</h1>", found.answers[0])), "{}", found.answers[0]);
    for sentence in &found.answers {
        let bounds = sentence.replace("never written", "");
        assert!(!NEVER.iter().any(|phrase| bounds.contains(phrase)), "{sentence}");
        assert!(unfolded.contains(sentence.as_str()) && page.contains(sentence.as_str()), "{sentence}\n{screen}");
    }
    for name in &found.columns {
        assert!(!about(found, name).is_empty(), "{name} has no sentence\n{screen}");
        for (group, row, cell) in column(found, name) {
            assert!(
                unfolded.contains(&cell.text) && page.contains(&cell.text),
                "{}: {}\n{screen}",
                row.name,
                cell.text
            );
            // What a table marks as broken is in the answer, except for what is not promised and minor rows.
            let is_counted = cell.tone == Tone::Broken && group != "NOT PROMISED" && !row.minor;
            let count = cell.text.split(' ').next().unwrap_or_default();
            let speaks = |one: &&str| match group {
                "AFTER THE CUT" => one.split(|sign: char| !sign.is_ascii_digit()).any(|word| word == count),
                "PROGRAM" => one.contains("LOST"),
                _ => one.contains(&row.name),
            };
            assert!(
                !is_counted || about(found, name).iter().any(speaks),
                "{name}, {}: {}\n{screen}",
                row.name,
                cell.text
            );
        }
    }
    serde_json::from_str(&json::text(all).expect("JSON")).expect("JSON")
}

/// Power cuts compared with their own table.
fn cut(contenders: Vec<Survived>) -> Findings {
    let refused = vec![Refused { contender: "zfs".into(), why: "there is no module".into() }];
    let (mounted_by, served_disk, beyond_posix) = (MountedBy::asked_here(), None, None);
    let all = PowerCuts { contenders, refused, mounted_by, served_disk, beyond_posix };
    let found = power_cuts::findings(&all);
    let json = shown(&all, &found);
    assert!(
        found.answers.iter().any(|one| one.starts_with("No power cut could be simulated on zfs")),
        "{:?}",
        found.answers
    );
    for (at, one) in all.contenders.iter().enumerate() {
        let name = one.shown();
        let known = rates(one);
        let (cells, mine) = (column(&found, &name), about(&found, &name));
        for sentence in mine.iter().filter(|one| !one.contains(" kept everything ")) {
            for (count, of) in pairs_in(sentence) {
                assert!(known.iter().any(|rate| (rate.count, rate.of) == (count, of)), "{sentence}: {count} of {of}");
            }
        }
        let promised: Vec<&Cell> = cells
            .iter()
            .filter(|(group, row, _)| *group == "PROMISED" && !row.minor)
            .map(|(_, _, cell)| *cell)
            .collect();
        if let Some(kept) = mine.iter().find(|one| one.contains(" kept everything ")) {
            let is_kept =
                |cell: &&Cell| cell.text == "kept" || cell.text == "-" && kept.contains("promised and tested");
            assert!(
                promised.iter().all(is_kept) && promised.iter().any(|cell| cell.text == "kept"),
                "{kept}\n{promised:?}"
            );
            assert!(kept.contains(&json["contenders"][at]["states"].to_string()), "{kept}");
            bound_agrees(kept, &json);
        }
        for promise in one.broken(Strength::Promised) {
            let sentence = mine.iter().find(|one| one.contains("did NOT keep")).expect("it is broken");
            let (_, row, cell) = cells.iter().find(|(_, row, _)| row.name == promise.name).expect("its row");
            let part = sentence.split(&promise.name).nth(1).unwrap_or_default();
            let &(count, of) = pairs_in(part).first().expect("how often");
            assert!(cell.text.contains(&share(count, of)), "{sentence}\n{}: {}", row.name, cell.text);
        }
        if let Some(loss) = mine.iter().find(|one| one.contains("loses the last")) {
            let of = |name: &str| &cells.iter().find(|(_, row, _)| row.name == name).expect("its row").2.text;
            let wanted =
                format!("loses the last {} of unsynced work, {} at worst.", of("lost, median"), of("lost, at worst"));
            assert!(loss.contains(&wanted), "{loss}: {wanted}");
        }
    }
    found
}

/// A share as shown in the table.
fn share(count: u32, of: u32) -> String {
    match 100.0 * f64::from(count) / f64::from(of) {
        tiny if tiny < 0.005 => "<0.01 %".into(),
        small if small < 1.0 => format!("{small:.2} %"),
        some if some < 10.0 => format!("{some:.1} %"),
        many => format!("{many:.0} %"),
    }
}

fn rates(one: &Survived) -> Vec<Rate> {
    let mounts = &one.mounts;
    let of_variants = one.promises.iter().flat_map(|promise| promise.variants.iter().map(|variant| variant.broken));
    let of_mounts = [mounts.refused, mounts.refused_torn, mounts.kernel_lost, mounts.damaged];
    let of_program = one.program.iter().map(|program| program.lost);
    one.promises.iter().map(|promise| promise.broken).chain(of_variants).chain(of_mounts).chain(of_program).collect()
}

/// "At most 0.37 % of cuts break any one promise" is the highest bound in the JSON of the contenders that kept all.
fn bound_agrees(kept: &str, json: &Value) {
    let end = kept.split("at most ").nth(1).expect("a bound");
    let percent: f64 = end.split(' ').next().and_then(|number| number.parse().ok()).expect("a number");
    let contenders = json["contenders"].as_array().expect("contenders");
    let mine = contenders.iter().filter(|one| names(kept, one["contender"].as_str().expect("a name")));
    let promises = mine.flat_map(|one| one["promises"].as_array().expect("promises"));
    let kept_ones = promises.filter(|promise| promise["strength"] == "promised" && promise["given"] == "kept");
    let highest =
        kept_ones.map(|promise| 100.0 * promise["broken"]["high"].as_f64().expect("a bound")).fold(0.0, f64::max);
    assert!(percent > 0.0 && (percent - highest).abs() <= 0.05_f64.max(highest * 0.05), "{kept}: {highest}");
}

fn example(found: &str) -> Example {
    serde_json::from_value(serde_json::json!({ "found": found, "cut": 9, "left": "all of 1", "pending": 1 }))
        .expect("one")
}

#[test]
fn power_cuts_are_answered() {
    let of_driver = Survived { driver: Some("ext4".into()), ..survived("ext2", 400) };
    let long = "ext4 data=writeback,commit=600 on debian:6.12";
    cut(["ext4", "xfs", "btrfs", long].map(|name| survived(name, 0)).into_iter().chain([of_driver]).collect());
    let mut hurt = survived("btrfs", 0);
    (hurt.mounts.refused, hurt.mounts.refused_torn) = (rate(3, 1000), rate(2, 60));
    hurt.mounts.refusal = Some(example("superblock checksum mismatch"));
    let mut lost = Survived { guest: true, ..survived("jfs", 1) };
    (lost.mounts.kernel_lost, lost.mounts.kernel_loss) = (rate(7, 1000), Some(example("panic")));
    cut(vec![hurt, lost]);
    for states in [20, 100_000] {
        let mut one = Survived { states, ..survived("ext4", 0) };
        one.promises[0].broken = rate(0, states);
        cut(vec![one.clone()]);
        let mut other = survived("xfs", 0);
        other.promises[0].broken = rate(1, states);
        other.promises[0].given = Given::Broken;
        cut(vec![one, other, Survived { states: 977, ..survived("f2fs", 0) }]);
    }
}

#[test]
fn a_promise_that_no_cut_tested_is_not_claimed_to_be_kept() {
    let untested = |name: &str| PromiseResult {
        given: Given::Untested,
        broken: rate(0, 0),
        ..promise(name, Strength::Promised, 0)
    };
    let mut none = survived("ext4", 0);
    none.promises[0] = untested("fsync");
    let found = cut(vec![none.clone()]);
    assert!(
        !found.answers[0].contains("kept everything") && found.answers[0].contains("two-writes"),
        "{:?}",
        found.answers
    );
    // Reports of later runs do not claim that it kept every promise.
    assert_eq!(reliability::measured::Measured::of(&survived("ext4", 0), "2026-11-23".into()), None);
    none.promises.truncate(1);
    let found = cut(vec![none]);
    assert!(found.answers[0].contains("none of 1000 power cuts tested a guarantee"), "{:?}", found.answers);
    let mut some = survived("xfs", 0);
    some.promises.insert(0, untested("rename"));
    let found = cut(vec![some]);
    assert!(found.answers[0].contains("promised and tested (fsync)"), "{:?}", found.answers);
}

#[test]
fn unpromised_properties_are_answered_if_only_they_were_asked_for() {
    for broken in [0, 10] {
        let mut one = survived("ext4", 0);
        one.promises = vec![promise("two-writes", Strength::Hoped, broken), promise("grown", Strength::Hoped, 0)];
        let found = cut(vec![one]);
        let verb = if broken > 0 {
            "broke two-writes (in 10 of 1000 cuts); it kept grown"
        } else {
            "kept two-writes and grown"
        };
        assert_eq!(found.answers[0], format!("Of the guarantees that are not promised, ext4 {verb}."));
    }
}

#[test]
fn the_guarantees_that_an_answer_names_were_put_to_the_test() {
    let named = |names: &[&str]| {
        let mut one = survived("ext4", 0);
        one.promises = names.iter().map(|name| promise(name, Strength::Promised, 0)).collect();
        let answer = cut(vec![one]).answers.swap_remove(0);
        answer.split(['(', ')']).nth(1).expect("in brackets").to_string()
    };
    assert_eq!(named(&["rename"]), "rename");
    assert_eq!(named(&["append", "msync", "unlink", "link"]), "append, msync and others");
    assert_eq!(named(&["fsync", "append", "msync", "rename"]), "fsync, rename and the like");
}

#[test]
fn the_worst_variant_damage_and_foreign_content_are_in_the_answer() {
    let mut one = survived("ext4", 0);
    one.promises[0] = PromiseResult {
        given: Given::Broken,
        broken: rate(28, 40),
        worst: Some(Later::Folder),
        variants: vec![variant(None, Given::Kept, 0), variant(Some(Later::Folder), Given::Broken, 28)],
        ..promise("replace", Strength::Promised, 0)
    };
    let mut other = Survived { foreign_bytes: 4096, ..survived("xfs", 0) };
    (other.mounts.damaged, other.mounts.damage) = (rate(3, 50), Some("bad inode".into()));
    other.promises[0].name = "replace".into();
    let found = cut(vec![one, other]);
    let wanted = "xfs: its own check found damage after 3 of 50 cuts; up to 4096 bytes of old or other files' content appeared in a file.";
    assert!(found.answers.iter().any(|one| one == wanted), "{:?}", found.answers);
}

#[test]
fn programs_whose_power_was_cut_are_answered() {
    for (given, lost) in [(Given::Kept, 0), (Given::Broken, 3)] {
        let program = ProgramResult {
            command: "store".into(),
            acknowledged: 9,
            given,
            lost: rate(lost, 100),
            lost_in_order: rate(0, 30),
            example: (lost > 0).then(|| example("line 3 is gone")),
        };
        let none = Figures { median: None, worst: None };
        let one = Survived { program: Some(program), promises: vec![], lost_seconds: none, ..survived("ext4", 0) };
        let found = cut(vec![one]);
        let cell = &found.groups[0].rows[0].cells[0].text;
        let wanted =
            if lost > 0 { ("broken 3.0 %", "LOST acknowledged data") } else { ("kept", "kept all acknowledged data") };
        assert!(cell == wanted.0 && found.answers[0].contains(wanted.1), "{cell}: {:?}", found.answers);
    }
}

/// Faults compared with their own table.
fn harm(contenders: Vec<Harmed>) -> Findings {
    let refused = vec![Refused { contender: "zfs".into(), why: "there is no module".into() }];
    let all = AllFaults { contenders, refused, mounted_by: MountedBy::asked_here(), served_disk: None };
    let found = fault_table::findings(&all);
    let json = shown(&all, &found);
    for (at, one) in all.contenders.iter().enumerate() {
        let name = one.shown();
        let known: Vec<(u32, u32)> = one.faults.iter().flat_map(fault_pairs).collect();
        for sentence in about(&found, &name) {
            assert!(pairs_in(sentence).iter().all(|pair| known.contains(pair)), "{sentence}: {known:?}");
            let cells = column(&found, &name);
            let is_broken = |cell: &Cell| cell.tone == Tone::Broken;
            let unharmed = sentence.contains("returned no wrong data and lost nothing");
            assert!(!unharmed || !cells.iter().any(|(_, _, cell)| is_broken(cell)), "{sentence}");
            let silent = |cell: &Cell| ["LOST", "WRONG"].contains(&cell.text.as_str());
            let is_silent = cells.iter().any(|(_, _, cell)| silent(cell));
            assert!(!sentence.contains("returned no wrong data") || !is_silent, "{sentence}");
            assert!(!sentence.contains("did NOT report") || is_silent, "{sentence}");
        }
        for (fault, verdict) in one.faults.iter().zip(json["contenders"][at]["faults"].as_array().expect("faults")) {
            let rows = column(&found, &name);
            let (_, _, cell) = rows.iter().find(|(_, row, _)| row.name == fault.name).expect("its row");
            let word = verdict["verdict"].as_str().expect("a verdict");
            assert_eq!(
                cell.tone == Tone::Broken,
                !["unharmed", "reported", "stopped"].contains(&word),
                "{word}: {}",
                cell.text
            );
        }
    }
    found
}

fn fault_pairs(fault: &FaultResult) -> Vec<(u32, u32)> {
    let of = |counts: &Counts| [counts.wrong, counts.missing, counts.failed].map(|count| (count, counts.all()));
    let files = [&fault.read, &fault.after, &fault.kept].into_iter().flat_map(of);
    let rounds = [fault.refused_again, fault.hung, fault.kernel_lost].map(|count| (count, fault.rounds));
    files.chain(rounds).filter(|(count, _)| *count > 0).collect()
}

#[test]
fn faults_are_answered() {
    let fault = |verdict: Verdict| match verdict {
        Verdict::Silent => result("bit-flips", verdict, counts(36, 0, 64)),
        Verdict::Lost => FaultResult { kept: counts(80, 0, 20), ..result("write-errors", verdict, counts(100, 0, 0)) },
        Verdict::KernelLost => {
            FaultResult { kernel_lost: 3, hung: 1, ..result("bit-flips", verdict, counts(60, 1, 0)) }
        }
        Verdict::NotMounted => FaultResult { refused_again: 2, ..result("bit-flips", verdict, counts(0, 0, 0)) },
        Verdict::Unreadable => {
            FaultResult { kept: counts(53, 106, 0), ..result("write-errors", verdict, counts(60, 0, 0)) }
        }
        Verdict::Hung => FaultResult { hung: 4, ..result("late-answers", verdict, counts(90, 10, 0)) },
        Verdict::Stopped => FaultResult { refused: 2, ..result("read-errors", verdict, counts(90, 10, 0)) },
        other => result("read-errors", other, counts(90, 10, 0)),
    };
    let all = [
        Verdict::Unharmed,
        Verdict::Reported,
        Verdict::Stopped,
        Verdict::Hung,
        Verdict::Unreadable,
        Verdict::NotMounted,
        Verdict::KernelLost,
        Verdict::Lost,
        Verdict::Silent,
    ];
    for verdict in all {
        harm(vec![harmed("ext4", fault(verdict))]);
        for other in all {
            let mut both = harmed("ext4 data=writeback,commit=600", fault(verdict));
            both.faults.push(FaultResult { name: "another".into(), ..fault(other) });
            harm(vec![both]);
        }
    }
    let found = harm(vec![harmed("ntfs", fault(Verdict::Hung))]);
    let wanted =
        "ntfs returned no wrong data, but hung after late-answers (in 4 of 5 rounds), even on the repaired disk.";
    assert_eq!(found.answers[0], wanted);
}
