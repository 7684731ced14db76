//! What a contender's faults came to.
//! In: [`Round`]s. Out: a [`FaultResult`] with its [`Verdict`].

use super::files::Counts;
use super::kinds::{KnownFault, known};
use super::trial::Round;
use super::work::Access;
use crate::description;
use records::Durability;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a contender stood a fault: the worst of what was seen in any round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Everything was right, and no call failed.
    Unharmed,
    /// What could not be done or read was reported, and it could be written all the time.
    Reported,
    /// It was reported, and nothing could be written any more.
    Stopped,
    /// Calls did not come back, not even on the whole disk: the filesystem's own server, or the virtual machine, had to be ended.
    Hung,
    /// Files that stood there before, or had been acknowledged, could not be read on the whole disk, and reading them said so.
    Unreadable,
    /// It could not be mounted any more, not even on the whole disk.
    NotMounted,
    /// The kernel of the virtual machine that had it mounted ended, or hung.
    KernelLost,
    /// What had been acknowledged was gone or wrong on the whole disk, and nobody had said so.
    Lost,
    /// Wrong data was returned, or files were gone, and nobody said so.
    Silent,
}

/// A contender and a fault, over all rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultResult {
    /// Name of the fault, as in docs/faults.md.
    pub name: String,
    /// What was wrong with the disk, in a sentence.
    pub title: String,
    /// The worst of all rounds.
    pub verdict: Verdict,
    /// How often it was done, each time on a fresh filesystem.
    pub rounds: u32,
    /// Blocks that were harmed before mounting.
    pub blocks: u64,
    /// Requests to the disk that failed or waited.
    pub met: u64,
    /// Rounds in which it could not be mounted on the harmed disk.
    pub refused: u32,
    /// What mounting answered, the first time.
    pub refusal: Option<String>,
    /// Files that stood there before, read on the harmed disk.
    pub read: Counts,
    /// Files that were written there and acknowledged by fsync of them and of their folder, or by syncfs.
    pub acknowledged: u32,
    /// Calls that failed there.
    pub failed_calls: u32,
    /// The first of them.
    pub first_error: Option<String>,
    /// Seconds that the slowest took.
    pub slowest_seconds: f64,
    /// Rounds in which a call came back only when the disk was mended, 25 s later.
    pub stuck: u32,
    /// Rounds in which it did not even then, and the filesystem's own server, or the virtual machine, had to be ended.
    pub hung: u32,
    /// Rounds that ended the kernel of the virtual machine that had it mounted; what comes after that was not seen.
    pub kernel_lost: u32,
    /// How it ended, the first time.
    pub kernel_loss: Option<String>,
    /// Whether it could be written at the end, in the worst round.
    pub access: Access,
    /// And once the disk was whole again, before it was mounted anew.
    pub access_mended: Access,
    /// Rounds in which it could not be mounted anew on the whole disk.
    pub refused_again: u32,
    /// What mounting anew answered, the first time.
    pub refusal_again: Option<String>,
    /// The files that stood there before, read on the whole disk.
    pub after: Counts,
    /// The acknowledged ones, read there.
    pub kept: Counts,
    /// Rounds after which its own check found damage, of those in which it could be asked.
    pub damaged: u32,
    /// In so many.
    pub checked: u32,
    /// What the check said, the first time.
    pub damage: Option<String>,
    /// What the kernel said last of the device, in the first round in which it said anything.
    pub kernel: Vec<String>,
}

/// How a contender stood all faults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Harmed {
    /// Its label.
    pub contender: String,
    /// The driver that mounted it, where that is another filesystem's: ext4's for ext2 and ext3; null where it is its own.
    #[serde(default)]
    pub driver: Option<String>,
    /// Kernel on which it was harmed.
    pub kernel: String,
    /// Whether that is a virtual machine's.
    pub guest: bool,
    /// Options with which it was mounted, as the kernel shows them.
    pub mount_options: Vec<String>,
    /// Seed of the first round.
    pub seed: u64,
    /// The faults, in the order of tables.
    pub faults: Vec<FaultResult>,
    /// Where this contradicts what the filesystem's description says of its durability: one of them is wrong.
    pub contradictions: Vec<String>,
}

impl Harmed {
    /// Its label for people, with the driver where that is another filesystem's.
    pub fn shown(&self) -> String {
        description::with_driver(&self.contender, self.driver.as_ref())
    }

    /// Holds the faults against the class that the description gives the mount.
    pub fn against(&mut self, class: &Durability) {
        self.contradictions = description::against_faults(class, &self.faults);
    }
}

impl FaultResult {
    /// Files that could not be read on the whole disk though nothing of the harm was left there: those that stood there before, and those
    /// that had been acknowledged.
    pub fn unreadable(&self) -> (u32, u32) {
        let stays = known(&self.name).is_some_and(KnownFault::stays);
        if stays { (0, 0) } else { (self.after.failed, self.kept.failed) }
    }
}

impl Round {
    /// `stays`: the harm is there still on the whole disk, so that what cannot be read there is only reported.
    fn verdict(&self, stays: bool) -> Verdict {
        let told = self.failed > 0 || self.read.failed > 0 || self.after.failed > 0 || self.refused.is_some();
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
        } else if told || self.kept.failed > 0 {
            Verdict::Reported
        } else {
            Verdict::Unharmed
        }
    }
}

/// All rounds as one.
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
        kernel: rounds.iter().map(|round| &round.kernel).find(|said| !said.is_empty()).cloned().unwrap_or_default(),
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
    fn the_verdict_says_the_worst_that_was_seen() {
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
        // A bit that was turned over is still there.
        let flipped = Round { after: counts(9, 1, 0, 0), kept: counts(4, 1, 0, 0), ..good() };
        assert_eq!(flipped.verdict(true), Verdict::Reported);
    }

    #[test]
    fn what_cannot_be_read_on_a_whole_disk_is_told_where_the_harm_is_gone() {
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
