//! A contender's results with faults.
//! In: [`Round`]s. Out: a [`FaultResult`] with its [`Verdict`].

use super::files::Counts;
use super::kinds::{KnownFault, known};
use super::trial::Round;
use super::work::Access;
use crate::description;
use records::Durability;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Result of a contender with a fault: the worst of all rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All data was correct, and no call failed.
    Unharmed,
    /// Failures were reported, and the filesystem stayed writable.
    Reported,
    /// Failures were reported, but nothing could be written at the end.
    Stopped,
    /// Calls did not return even on the repaired disk: the filesystem's server or the virtual machine had to be killed.
    Hung,
    /// On the repaired disk, reading an original or acknowledged file failed with an error.
    Unreadable,
    /// The repaired disk could not be mounted either.
    NotMounted,
    /// The kernel of the virtual machine crashed or hung.
    KernelLost,
    /// Acknowledged data was gone or wrong on the repaired disk, and no call reported it.
    Lost,
    /// Wrong data was returned, or files were gone, and no call reported it.
    Silent,
}

/// A contender and a fault, over all rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultResult {
    /// Name of the fault, as in docs/faults.md.
    pub name: String,
    /// The fault, in a sentence.
    pub title: String,
    /// The worst of all rounds.
    pub verdict: Verdict,
    /// Rounds, each on a fresh filesystem.
    pub rounds: u32,
    /// Blocks damaged before mounting.
    pub blocks: u64,
    /// Requests to the disk that failed or waited.
    pub met: u64,
    /// Rounds in which it could not be mounted on the faulty disk.
    pub refused: u32,
    /// Error of mounting, the first time.
    pub refusal: Option<String>,
    /// The original files, read on the faulty disk.
    pub read: Counts,
    /// Files that were written then, and acknowledged by fsync of the file and its folder, or by syncfs.
    pub acknowledged: u32,
    /// Calls that failed then.
    pub failed_calls: u32,
    /// The first of them.
    pub first_error: Option<String>,
    /// Duration of the slowest call in seconds.
    pub slowest_seconds: f64,
    /// Rounds in which a call returned only when the disk was repaired, 25 s later.
    pub stuck: u32,
    /// Rounds in which it did not return even then, and the filesystem's server or the virtual machine had to be killed.
    pub hung: u32,
    /// Rounds that crashed or hung the kernel of the virtual machine; the rest of these rounds is unknown.
    pub kernel_lost: u32,
    /// How it was lost, the first time.
    pub kernel_loss: Option<String>,
    /// Whether it could be written at the end, in the worst round.
    pub access: Access,
    /// The same on the repaired disk, before it was mounted again.
    pub access_mended: Access,
    /// Rounds in which it could not be mounted again on the repaired disk.
    pub refused_again: u32,
    /// Error of mounting again, the first time.
    pub refusal_again: Option<String>,
    /// The original files, read on the repaired disk.
    pub after: Counts,
    /// The acknowledged files, read on the repaired disk.
    pub kept: Counts,
    /// Rounds after which its own check found damage, of those with a check.
    pub damaged: u32,
    /// Rounds with a check.
    pub checked: u32,
    /// Output of the check, the first time.
    pub damage: Option<String>,
    /// The kernel's last messages about the device, in the first round with any.
    pub kernel: Vec<String>,
}

/// Results of a contender with all faults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Harmed {
    /// Its label.
    pub contender: String,
    /// The driver that mounted it, if it is another filesystem's (ext4's for ext2 and ext3); null if it is its own.
    #[serde(default)]
    pub driver: Option<String>,
    /// Kernel that mounted it.
    pub kernel: String,
    /// Whether that kernel ran in a virtual machine.
    pub guest: bool,
    /// Options with which it was mounted, as the kernel shows them.
    pub mount_options: Vec<String>,
    /// Its disks; of several, only the first was harmed.
    #[serde(default = "one")]
    pub disks: u32,
    /// Seed of the first round.
    pub seed: u64,
    /// The faults, in the order of tables.
    pub faults: Vec<FaultResult>,
    /// Contradictions between this and the durability in the filesystem's description: one of them is wrong.
    pub contradictions: Vec<String>,
}

fn one() -> u32 {
    1
}

impl Harmed {
    /// Its label for output, with the driver if it is another filesystem's.
    pub fn shown(&self) -> String {
        description::with_driver(&self.contender, self.driver.as_ref())
    }

    /// Compares the faults with the class that the description gives the mount.
    pub fn against(&mut self, class: &Durability) {
        self.contradictions = description::against_faults(class, &self.faults);
    }
}

impl FaultResult {
    /// Files that could not be read on the repaired disk although no damage remains there: original ones, and acknowledged ones.
    pub fn unreadable(&self) -> (u32, u32) {
        let stays = known(&self.name).is_some_and(KnownFault::stays);
        if stays { (0, 0) } else { (self.after.failed, self.kept.failed) }
    }
}

impl Round {
    /// `stays`: the damage remains on the repaired disk, so an unreadable file there only counts as reported.
    fn verdict(&self, stays: bool) -> Verdict {
        let value = self.failed > 0 || self.read.failed > 0 || self.after.failed > 0 || self.refused.is_some();
        if self.read.silent() > 0 || self.after.silent() > 0 {
            Verdict::Silent
        } else if self.kept.silent() > 0 {
            Verdict::Lost
        } else if self.kernel_lost.is_some() {
            Verdict::KernelLost
        } else if self.refused_again.is_some() {
            Verdict::NotMounted
        } else if !stays && self.after.failed + self.kept.failed > 0 {
            Verdict::Unreadable
        } else if self.hung {
            Verdict::Hung
        } else if self.refused.is_some() || self.access != Access::Writable {
            Verdict::Stopped
        } else if value || self.kept.failed > 0 {
            Verdict::Reported
        } else {
            Verdict::Unharmed
        }
    }
}

/// Combines all rounds.
pub fn of_rounds(fault: &KnownFault, rounds: Vec<Round>) -> FaultResult {
    let count = |of: fn(&Round) -> bool| rounds.iter().filter(|round| of(round)).count() as u32;
    let sum = |of: fn(&Round) -> &Counts| {
        let mut all = Counts::default();
        rounds.iter().for_each(|round| all.add(of(round).clone()));
        all
    };
    let first = |of: fn(&Round) -> &Option<String>| rounds.iter().find_map(|round| of(round).clone());
    let mounted = || rounds.iter().filter(|round| round.refused.is_none());
    FaultResult {
        name: fault.name.into(),
        title: fault.title.into(),
        verdict: rounds.iter().map(|round| round.verdict(fault.stays())).max().unwrap_or(Verdict::Unharmed),
        rounds: rounds.len() as u32,
        blocks: rounds.iter().map(|round| round.blocks).sum(),
        met: rounds.iter().map(|round| round.met).sum(),
        refused: count(|round| round.refused.is_some()),
        refusal: first(|round| &round.refused),
        read: sum(|round| &round.read),
        acknowledged: rounds.iter().map(|round| round.acknowledged).sum(),
        failed_calls: rounds.iter().map(|round| round.failed).sum(),
        first_error: first(|round| &round.first_error),
        slowest_seconds: rounds.iter().map(|round| round.slowest.as_secs_f64()).fold(0.0, f64::max),
        stuck: count(|round| round.stuck),
        hung: count(|round| round.hung),
        kernel_lost: count(|round| round.kernel_lost.is_some()),
        kernel_loss: first(|round| &round.kernel_lost),
        access: mounted().map(|round| round.access).min().unwrap_or_default(),
        access_mended: mounted().map(|round| round.access_mended).min().unwrap_or_default(),
        refused_again: count(|round| round.refused_again.is_some()),
        refusal_again: first(|round| &round.refused_again),
        after: sum(|round| &round.after),
        kept: sum(|round| &round.kept),
        damaged: count(|round| round.whole == Some(false)),
        checked: count(|round| round.whole.is_some()),
        damage: first(|round| &round.damage),
        kernel: rounds.iter().map(|round| &round.kernel).find(|note| !note.is_empty()).cloned().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(right: u32, failed: u32, wrong: u32, missing: u32) -> Counts {
        Counts { right, failed, wrong, missing, example: None }
    }

    fn good() -> Round {
        let (read, after) = (counts(10, 0, 0, 0), counts(10, 0, 0, 0));
        Round {
            read,
            after,
            kept: counts(5, 0, 0, 0),
            access: Access::Writable,
            access_mended: Access::Writable,
            whole: Some(true),
            ..Round::default()
        }
    }

    #[test]
    fn the_verdict_is_the_worst_that_was_seen() {
        let refused = || Some("refused".to_string());
        for (round, wanted) in [
            (good(), Verdict::Unharmed),
            (Round { read: counts(9, 1, 0, 0), ..good() }, Verdict::Reported),
            (Round { failed: 1, ..good() }, Verdict::Reported),
            (Round { access: Access::ReadOnly, failed: 4, ..good() }, Verdict::Stopped),
            (Round { refused: refused(), access: Access::None, ..good() }, Verdict::Stopped),
            (Round { refused: refused(), refused_again: refused(), ..good() }, Verdict::NotMounted),
            (Round { hung: true, access: Access::Failing, ..good() }, Verdict::Hung),
            (Round { kernel_lost: Some("its kernel panicked".into()), hung: true, ..good() }, Verdict::KernelLost),
            (Round { kept: counts(4, 0, 0, 1), failed: 3, ..good() }, Verdict::Lost),
            (Round { read: counts(9, 0, 1, 0), ..good() }, Verdict::Silent),
            (Round { after: counts(9, 0, 0, 1), ..good() }, Verdict::Silent),
            (Round { kept: counts(3, 2, 0, 0), access: Access::Failing, ..good() }, Verdict::Unreadable),
            (Round { after: counts(9, 1, 0, 0), ..good() }, Verdict::Unreadable),
        ] {
            assert_eq!(round.verdict(false), wanted, "{round:?}");
        }
        // A flipped bit is still there.
        let flipped = Round { after: counts(9, 1, 0, 0), kept: counts(4, 1, 0, 0), ..good() };
        assert_eq!(flipped.verdict(true), Verdict::Reported);
    }

    #[test]
    fn unreadable_files_count_only_for_faults_that_leave_the_disk_whole() {
        let rounds = || vec![Round { after: counts(9, 1, 0, 0), kept: counts(3, 2, 0, 0), ..good() }];
        let all = |name| of_rounds(known(name).expect("known"), rounds());
        assert_eq!(all("write-errors").unreadable(), (1, 2));
        assert_eq!(all("bit-flips").unreadable(), (0, 0));
    }

    #[test]
    fn rounds_are_summed_up_and_the_worst_one_counts() {
        let rounds = vec![
            good(),
            Round { read: counts(8, 2, 0, 0), access: Access::Failing, whole: Some(false), ..good() },
            Round { refused: Some("not now".into()), access: Access::None, whole: None, ..good() },
        ];
        let all = of_rounds(known("read-errors").expect("known"), rounds);
        assert_eq!((all.verdict, all.rounds, all.refused), (Verdict::Stopped, 3, 1));
        assert_eq!((all.read.right, all.read.failed, all.refusal.as_deref()), (28, 2, Some("not now")));
        assert_eq!(all.access, Access::Failing, "of the rounds in which it was mounted");
        assert_eq!((all.damaged, all.checked), (1, 2));
    }
}
