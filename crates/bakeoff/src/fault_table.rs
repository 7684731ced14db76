//! Results of fault tests for people: sentences and a table.
//! In: results of `faults`. Out: text as wide as the terminal, and the `--json` form.

use crate::json::Answer;
use crate::mounted_by::MountedBy;
use crate::served_disk::{self, Refused, Served};
use crate::text;
use reliability::faults::{Access, Counts, FaultResult, Harmed, Verdict};
use report::{Cell, Findings, Group, Row, Tone};
use schemars::JsonSchema;
use serde::Serialize;

/// A call that takes this many seconds waited for the disk.
const SLOW: f64 = 0.1;
/// Width of an example in a sentence.
const EXAMPLE: usize = 100;

/// What `faults --json` answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AllFaults {
    /// The tested contenders.
    pub contenders: Vec<Harmed>,
    /// Contenders that could not be tested.
    pub refused: Vec<Refused>,
    /// Kernel that mounted the contenders that name none, and why.
    pub mounted_by: MountedBy,
    /// Cost of serving the disk itself; null if it could not be measured.
    pub served_disk: Option<Served>,
}

impl Answer for AllFaults {
    const SCHEMA: &'static str = "bakeoff-faults";
}

/// All findings, for people.
pub fn findings(all: &AllFaults) -> Findings {
    let refused = |one: &Refused| format!("The faults could not be tested on {}: {}", one.contender, one.why);
    Findings {
        title: "What is reported, returned and kept when the disk fails".into(),
        answers: answers(&all.contenders).into_iter().chain(all.refused.iter().map(refused)).collect(),
        columns: all.contenders.iter().map(Harmed::shown).collect(),
        groups: vec![Group { name: "FAULT".into(), rows: rows(&all.contenders) }],
        notes: partly(&all.contenders)
            .into_iter()
            .chain(legend(&all.contenders))
            .chain(all.served_disk.as_ref().map(Served::sentence))
            .chain(all.mounted_by.sentence())
            .collect(),
    }
}

/// The answer: which contenders returned wrong data or lost data silently, which did not, and which have lasting damage.
fn answers(all: &[Harmed]) -> Vec<String> {
    let (silent, others): (Vec<&Harmed>, Vec<&Harmed>) =
        all.iter().partition(|one| one.faults.iter().any(|fault| is_silent(&fault)));
    let mut sentences = Vec::new();
    let unharmed: Vec<String> = others.iter().filter(|one| lasting(one).is_empty()).map(|one| one.shown()).collect();
    let unharmed: Vec<&str> = unharmed.iter().map(String::as_str).collect();
    if !unharmed.is_empty() {
        sentences.push(format!(
            "{} returned no wrong data and lost nothing silently, whatever the fault.",
            judge::list(&unharmed)
        ));
    }
    for one in silent {
        let faults: Vec<String> = one.faults.iter().filter(is_silent).map(silence).collect();
        sentences.push(format!("{} did NOT report: {}.", one.shown(), faults.join("; ")));
        sentences.extend(lasting(one).iter().map(|what| format!("{} {what}.", one.shown())));
    }
    for one in others {
        let first = std::iter::once("returned no wrong data, but ").chain(std::iter::repeat(""));
        sentences.extend(lasting(one).iter().zip(first).map(|(what, first)| format!("{} {first}{what}.", one.shown())));
    }
    sentences
}

fn is_silent(fault: &&FaultResult) -> bool {
    fault.verdict >= Verdict::Lost
}

/// Damage that outlasts a fault: each as a clause about the contender.
fn lasting(one: &Harmed) -> Vec<String> {
    let mut clauses: Vec<String> = one.faults.iter().filter_map(unreadable).collect();
    let refused = in_rounds(one, |fault| fault.refused_again);
    clauses.extend(refused.map(|often| format!("could no longer be mounted after {often}: it needs repair")));
    // If the kernel was lost as well, only that is reported: it is the worse of the two.
    let hung = in_rounds(one, |fault| if fault.verdict == Verdict::Hung { fault.hung } else { 0 });
    clauses.extend(hung.map(|often| format!("hung after {often}, even on the repaired disk")));
    let lost = in_rounds(one, |fault| fault.kernel_lost);
    clauses.extend(lost.map(|often| format!("crashed or hung the kernel that mounted it after {often}")));
    clauses
}

/// The faults in whose rounds something happened, and how often; None if never.
fn in_rounds(one: &Harmed, count: impl Fn(&FaultResult) -> u32) -> Option<String> {
    let those: Vec<String> = one
        .faults
        .iter()
        .filter(|fault| count(fault) > 0)
        .map(|fault| format!("{} (in {} of {} rounds)", fault.name, count(fault), fault.rounds))
        .collect();
    let names: Vec<&str> = those.iter().map(String::as_str).collect();
    (!names.is_empty()).then(|| judge::list(&names))
}

/// Files that could not be read although the disk was whole again.
fn unreadable(fault: &FaultResult) -> Option<String> {
    let (stood, acknowledged) = fault.unreadable();
    let of = |count: u32, all: u32, what: &str| (count > 0).then(|| format!("{count} of {all} files {what}"));
    let parts = [
        of(stood, fault.after.all(), "that existed before the fault"),
        of(acknowledged, fault.kept.all(), "that it had acknowledged"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    (!parts.is_empty())
        .then(|| format!("could not read {} after {}, even from the repaired disk", judge::list(&parts), fault.name))
}

/// The damage of a fault that no error reported.
fn silence(fault: &FaultResult) -> String {
    let mut parts = Vec::new();
    let mut worst = |counts: &Counts, wrong: &str, missing: &str| {
        for (count, what) in [(counts.wrong, wrong), (counts.missing, missing)] {
            if count > 0 {
                parts.push(format!("{count} of {} files {what}", counts.all()));
            }
        }
    };
    let of = if fault.read.silent() > 0 { &fault.read } else { &fault.after };
    worst(of, "returned data that was never written", "gone");
    worst(&fault.kept, "wrong although acknowledged", "gone although acknowledged");
    let example =
        [of, &fault.kept].into_iter().find(|counts| counts.silent() > 0).and_then(|counts| counts.example.clone());
    let example = example.map_or(String::new(), |text| format!(" (\"{}\")", text::shortened(&text, EXAMPLE)));
    format!("{}: {}{example}", fault.name, parts.join(", "))
}

/// A row for each fault, with details of the verdict below it.
fn rows(all: &[Harmed]) -> Vec<Row> {
    let Some(first) = all.first() else { return Vec::new() };
    let mut rows = Vec::new();
    for (at, fault) in first.faults.iter().enumerate() {
        let of_all = || all.iter().map(|one| &one.faults[at]);
        let minor = |name: &str, of: fn(&FaultResult) -> String| Row {
            name: name.into(),
            about: None,
            minor: true,
            cells: all.iter().map(|one| Cell::plain(of(&one.faults[at]))).collect(),
        };
        let (name, about) = (fault.name.clone(), Some(fault.title.clone()));
        rows.push(Row { name, about, minor: false, cells: of_all().map(cell).collect() });
        if of_all().any(|fault| fault.verdict != Verdict::Unharmed) {
            rows.push(minor("files right", right));
        }
        if of_all().any(|fault| fault.damaged > 0) {
            rows.push(minor("damage found", damage));
        }
    }
    rows
}

/// A verdict in a word or two, with the observation behind it.
fn cell(fault: &FaultResult) -> Cell {
    let text = match (fault.verdict, fault.access) {
        (Verdict::Unharmed, _) if fault.met > 0 && fault.slowest_seconds >= SLOW => {
            format!("waits {}", text::quantity(fault.slowest_seconds, "s"))
        }
        (Verdict::Unharmed, _) => "right".into(),
        (Verdict::Reported, _) => "reported".into(),
        (Verdict::Stopped, Access::ReadOnly) => "read-only".into(),
        // Writability once mounted says nothing about the rounds in which mounting failed.
        (Verdict::Stopped, Access::None | Access::Writable) if fault.refused < fault.rounds => {
            format!("not mounted {} of {}", fault.refused, fault.rounds)
        }
        (Verdict::Stopped, Access::None | Access::Writable) => "not mounted".into(),
        (Verdict::Stopped, Access::Failing) => "stopped".into(),
        (Verdict::Hung, _) => "HUNG".into(),
        (Verdict::Unreadable, _) => "UNREADABLE".into(),
        (Verdict::NotMounted, _) => "NOT MOUNTED".into(),
        (Verdict::KernelLost, _) => "KERNEL LOST".into(),
        (Verdict::Lost, _) => "LOST".into(),
        (Verdict::Silent, _) => "WRONG".into(),
    };
    let tone = match fault.verdict {
        Verdict::Unharmed => Tone::Good,
        Verdict::Reported => Tone::Plain,
        Verdict::Stopped => Tone::Warning,
        Verdict::Hung
        | Verdict::Unreadable
        | Verdict::NotMounted
        | Verdict::KernelLost
        | Verdict::Lost
        | Verdict::Silent => Tone::Broken,
    };
    let examples = [&fault.read, &fault.kept, &fault.after].map(|counts| counts.example.as_ref());
    let first = [fault.kernel_loss.as_ref(), fault.refusal_again.as_ref()];
    let seen = first.into_iter().chain(examples).chain([fault.first_error.as_ref()]);
    Cell { text, tone, seen: seen.flatten().next().cloned() }
}

/// Share of files that were readable and correct on the faulty disk.
fn right(fault: &FaultResult) -> String {
    let all = fault.read.all();
    if all == 0 { "-".into() } else { format!("{:.1} %", 100.0 * f64::from(fault.read.right) / f64::from(all)) }
}

/// Number of rounds after which the filesystem's own check found damage.
fn damage(fault: &FaultResult) -> String {
    if fault.checked == 0 { "-".into() } else { format!("{} of {}", fault.damaged, fault.checked) }
}

/// Which contenders have disks that nothing happened to.
fn partly(all: &[Harmed]) -> Option<String> {
    let names: Vec<String> = all.iter().filter(|one| one.disks > 1).map(Harmed::shown).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    (!names.is_empty()).then(|| format!("Only the first of several disks fails: {}", judge::list(&names)))
}

fn legend(all: &[Harmed]) -> Vec<String> {
    let Some(first) = all.first() else { return Vec::new() };
    let rounds = first.faults.iter().map(|fault| fault.rounds).max().unwrap_or(1);
    vec![
        "right: no call failed, and all data was correct. waits: the same, and the slowest call or file read took this long. reported: some calls failed, and no data was wrong. \
         read-only, stopped: as reported, but nothing could be written at the end. not mounted: the faulty disk could not be mounted; NOT MOUNTED: the repaired disk could not be mounted either. \
         HUNG: calls did not return, even on the repaired disk. UNREADABLE: on the repaired disk, original or acknowledged files could not be read. KERNEL LOST: the kernel of the virtual machine crashed or hung. LOST: acknowledged data was gone or wrong, and no call reported it. WRONG: reads returned data that was never written, or files were gone, and no call reported it. damage found: number of rounds after which the filesystem's own check, unmounted, found damage."
            .into(),
        format!(
            "Random faults: the worst of {rounds} rounds, each on a fresh filesystem, Linux {}; seed {}. The faults and the test are described in docs/faults.md",
            served_disk::kernels(all.iter().map(|one| (one.kernel.as_str(), one.contender.as_str()))),
            first.seed
        ),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn counts(right: u32, failed: u32, wrong: u32) -> Counts {
        let example = (wrong > 0).then(|| "3-of-4 holds what was never written in sector 1".into());
        Counts { right, failed, wrong, missing: 0, example }
    }

    pub(crate) fn result(name: &str, verdict: Verdict, read: Counts) -> FaultResult {
        FaultResult {
            name: name.into(),
            title: name.into(),
            verdict,
            rounds: 5,
            blocks: 320,
            met: 0,
            refused: 0,
            refusal: None,
            read,
            acknowledged: 120,
            failed_calls: 0,
            first_error: None,
            slowest_seconds: 0.0,
            stuck: 0,
            hung: 0,
            kernel_lost: 0,
            kernel_loss: None,
            access: Access::Writable,
            access_mended: Access::Writable,
            refused_again: 0,
            refusal_again: None,
            after: counts(100, 0, 0),
            kept: counts(100, 0, 0),
            damaged: 0,
            checked: 5,
            damage: None,
            kernel: vec![],
        }
    }

    pub(crate) fn harmed(contender: &str, flips: FaultResult) -> Harmed {
        let none = result("none", Verdict::Unharmed, counts(100, 0, 0));
        Harmed {
            contender: contender.into(),
            driver: None,
            kernel: "6.18".into(),
            guest: false,
            mount_options: vec![],
            disks: 1,
            contradictions: vec![],
            seed: 1,
            faults: vec![none, flips],
        }
    }

    fn shown(contenders: Vec<Harmed>, width: usize) -> String {
        let (refused, mounted_by) = (vec![], MountedBy::asked_here());
        crate::findings::printed(&findings(&AllFaults { contenders, refused, mounted_by, served_disk: None }), width)
    }

    #[test]
    fn the_first_sentences_name_filesystems_that_returned_wrong_data() {
        let silent = harmed("ext4", result("bit-flips", Verdict::Silent, counts(36, 0, 64)));
        let reported = harmed("btrfs", result("bit-flips", Verdict::Reported, counts(36, 64, 0)));
        let sentence = shown(vec![silent, reported], 80);
        assert!(sentence.starts_with("btrfs returned no wrong data"), "{sentence}");
        assert!(
            sentence.contains("ext4 did NOT report: bit-flips: 64 of 100 files returned data that was never"),
            "{sentence}"
        );
        assert!(
            sentence.contains("WRONG") && sentence.contains("reported") && sentence.contains("36.0 %"),
            "{sentence}"
        );
        assert!(sentence.lines().all(|line| line.chars().count() <= 80), "{sentence}");
    }

    #[test]
    fn a_contender_of_another_driver_is_shown_with_it() {
        let one = harmed("ext2", result("bit-flips", Verdict::Silent, counts(36, 0, 64)));
        let all = findings(&AllFaults {
            contenders: vec![Harmed { driver: Some("ext4".into()), ..one }],
            refused: vec![],
            mounted_by: MountedBy::asked_here(),
            served_disk: None,
        });
        assert_eq!(all.columns, ["ext2 (ext4 driver)"]);
        assert!(all.answers[0].starts_with("ext2 (ext4 driver) did NOT report"), "{:?}", all.answers);
    }

    #[test]
    fn contenders_with_disks_that_do_not_fail_are_named() {
        let one = harmed("ext4", result("dead", Verdict::Stopped, counts(0, 64, 0)));
        let mirror =
            Harmed { disks: 2, ..harmed("ext4 on raid1", result("dead", Verdict::Unharmed, counts(64, 0, 0))) };
        let lines = shown(vec![one.clone(), mirror], 200);
        assert!(lines.contains("Only the first of several disks fails: ext4 on raid1"), "{lines}");
        assert!(!shown(vec![one], 200).contains("Only the first"));
    }

    #[test]
    fn a_lost_kernel_is_named_in_the_first_sentence_and_the_table() {
        let mut lost = result("read-errors-metadata", Verdict::KernelLost, counts(60, 1, 0));
        (lost.kernel_lost, lost.kernel_loss) = (3, Some("its kernel panicked".into()));
        let lines = shown(vec![harmed("reiserfs", lost)], 200);
        let wanted = "reiserfs returned no wrong data, but crashed or hung the kernel that mounted it after read-errors-metadata (in 3 of 5 rounds).";
        assert!(lines.contains(wanted) && lines.contains("KERNEL LOST"), "{lines}");
    }

    #[test]
    fn rounds_without_a_mount_differ_from_rounds_in_which_work_stopped() {
        let refused = |rounds, access| {
            let mut some = result("read-errors-metadata", Verdict::Stopped, counts(60, 4, 0));
            (some.refused, some.access) = (rounds, access);
            cell(&some).text
        };
        assert_eq!(refused(2, Access::Writable), "not mounted 2 of 5");
        assert_eq!(refused(5, Access::None), "not mounted");
        assert_eq!(refused(1, Access::Failing), "stopped");
        assert_eq!(refused(0, Access::ReadOnly), "read-only");
    }

    #[test]
    fn unreadable_files_are_reported_with_their_number() {
        let mut failing = result("write-errors", Verdict::Unreadable, counts(60, 0, 0));
        failing.kept = counts(53, 106, 0);
        let lines = shown(vec![harmed("vfat", failing)], 200);
        let wanted = "vfat returned no wrong data, but could not read 106 of 159 files that it had acknowledged after write-errors";
        assert!(lines.starts_with(wanted) && lines.contains("UNREADABLE"), "{lines}");
    }

    #[test]
    fn a_filesystem_that_needs_repair_is_reported() {
        let mut gone = result("bit-flips-metadata", Verdict::NotMounted, counts(0, 0, 0));
        gone.refused_again = 2;
        let mut both = harmed("xfs", gone.clone());
        both.faults.push(result("bit-flips", Verdict::Silent, counts(36, 0, 64)));
        let sentence = shown(vec![harmed("xfs", gone)], 200);
        let wanted = "could no longer be mounted after bit-flips-metadata (in 2 of 5 rounds): it needs repair.";
        assert!(sentence.starts_with(&format!("xfs returned no wrong data, but {wanted}")), "{sentence}");
        let sentence = shown(vec![both], 200);
        assert!(
            sentence.starts_with("xfs did NOT report") && sentence.contains(&format!("xfs {wanted}")),
            "{sentence}"
        );
    }
}
