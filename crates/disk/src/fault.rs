//! Faults of a disk: requests that fail, are delayed or find no space, and flipped bits.
//! In: a [`Fault`], and the requests that meet it. Out: how to answer each.

use crate::blocks::{Blocks, PAGE};
use crate::content::Change;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Some of the blocks (of 4096 bytes) that were written and are not all zeros.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Among {
    /// Blocks that begin with these bytes: data of a workload that marks every block so.
    Data(Vec<u8>),
    /// All others: metadata of the filesystem.
    Metadata(Vec<u8>),
}

impl Among {
    fn has(&self, block: &[u8; PAGE]) -> bool {
        match self {
            Among::Data(beginning) => block.starts_with(beginning),
            Among::Metadata(beginning) => !block.starts_with(beginning) && block.iter().any(|byte| *byte != 0),
        }
    }
}

/// Randomly chosen blocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    /// The blocks to choose from.
    pub among: Among,
    /// How many to choose, as far as available.
    pub blocks: usize,
    /// The same seed gives the same choice from the same blocks.
    pub seed: u64,
}

impl Chosen {
    fn of(&self, blocks: &Blocks) -> Vec<u64> {
        let mut all: Vec<u64> =
            blocks.pages().filter(|(_, block)| self.among.has(block)).map(|(page, _)| page).collect();
        all.sort_unstable();
        let mut dice = ChaCha8Rng::seed_from_u64(self.seed);
        all.choose_multiple(&mut dice, self.blocks).copied().collect()
    }

    /// Flips one bit in each of them; returns their number.
    pub(crate) fn flip(&self, blocks: &mut Blocks) -> u64 {
        let chosen = self.of(blocks);
        let mut dice = ChaCha8Rng::seed_from_u64(self.seed);
        for page in &chosen {
            blocks.flip(*page, dice.random_range(0..PAGE * 8));
        }
        chosen.len() as u64
    }
}

/// A fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// These blocks cannot be read until they are overwritten.
    Unreadable(Chosen),
    /// One write in this many fails, and changes nothing.
    FailingWrites {
        /// One in how many.
        one_in: u32,
        /// The random seed.
        seed: u64,
    },
    /// Every request fails.
    Dead,
    /// The disk has space for this many more bytes; then writes to new blocks fail.
    Full {
        /// Bytes.
        room: u64,
    },
    /// Every request takes longer by this time.
    Slow {
        /// The extra time.
        by: Duration,
    },
    /// No request is answered for this time; after that all are.
    Hanging {
        /// The time.
        lasts: Duration,
    },
}

/// Why a request fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failed {
    Unreadable,
    NoRoom,
}

/// A fault in effect on a disk.
#[derive(Debug)]
pub(crate) struct Ailing {
    fault: Fault,
    since: Instant,
    dice: ChaCha8Rng,
    bad: BTreeSet<u64>,
    room: u64,
    /// Requests that it affected.
    pub met: u64,
}

impl Ailing {
    /// Starts on a disk with this content.
    pub fn new(fault: &Fault, blocks: &Blocks) -> Ailing {
        let (mut bad, mut room, mut seed) = (BTreeSet::new(), 0, 0);
        match fault {
            Fault::Unreadable(chosen) => bad = chosen.of(blocks).into_iter().collect(),
            Fault::FailingWrites { seed: known, .. } => seed = *known,
            Fault::Full { room: known } => room = *known,
            Fault::Dead | Fault::Slow { .. } | Fault::Hanging { .. } => {}
        }
        let dice = ChaCha8Rng::seed_from_u64(seed);
        Ailing { fault: fault.clone(), since: Instant::now(), dice, bad, room, met: 0 }
    }

    /// Number of unreadable blocks.
    pub fn bad(&self) -> u64 {
        self.bad.len() as u64
    }

    /// Whether it delays requests.
    pub fn waits(&self) -> bool {
        matches!(self.fault, Fault::Slow { .. } | Fault::Hanging { .. })
    }

    /// Delay of a request that arrived at this time.
    pub fn delay(&mut self, arrived: Instant) -> Duration {
        let delay = match self.fault {
            Fault::Slow { by } => by,
            Fault::Hanging { lasts } => (self.since + lasts).saturating_duration_since(arrived),
            _ => Duration::ZERO,
        };
        self.met += u64::from(!delay.is_zero());
        delay
    }

    fn fail(&mut self, how: Failed) -> Result<(), Failed> {
        self.met += 1;
        Err(how)
    }

    /// Whether this range can be read.
    pub fn read(&mut self, offset: u64, length: u64) -> Result<(), Failed> {
        let fails = match self.fault {
            Fault::Dead => true,
            Fault::Unreadable(_) => self.bad.range(pages(offset, length)).next().is_some(),
            _ => false,
        };
        if fails { self.fail(Failed::Unreadable) } else { Ok(()) }
    }

    /// Whether a write succeeds.
    pub fn write(&mut self, offset: u64, change: &Change, blocks: &Blocks) -> Result<(), Failed> {
        match self.fault {
            Fault::Dead => self.fail(Failed::Unreadable),
            Fault::FailingWrites { one_in, .. } if self.dice.random_ratio(1, one_in.max(1)) => {
                self.fail(Failed::Unreadable)
            }
            Fault::Full { .. } if matches!(change, Change::Data(_)) => {
                let new = pages(offset, change.length()).filter(|page| !blocks.has(*page)).count() * PAGE;
                match self.room.checked_sub(new as u64) {
                    Some(left) => self.room = left,
                    None => return self.fail(Failed::NoRoom),
                }
                Ok(())
            }
            Fault::Unreadable(_) => {
                // As on real disks, a write to a bad sector goes to a spare one.
                let written = pages(offset, change.length());
                self.bad.retain(|page| !written.contains(page));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Whether a flush succeeds.
    pub fn flush(&mut self) -> Result<(), Failed> {
        if self.fault == Fault::Dead { self.fail(Failed::Unreadable) } else { Ok(()) }
    }
}

/// The blocks that a range touches.
fn pages(offset: u64, length: u64) -> std::ops::Range<u64> {
    offset / PAGE as u64..offset.saturating_add(length).div_ceil(PAGE as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &[u8] = b"ours";

    /// Ten blocks with our mark, ten with other data, ten of zeros.
    fn disk() -> Blocks {
        let mut blocks = Blocks::default();
        for page in 0..30u64 {
            let beginning: &[u8] = [OURS, b"else", &[0; 4]][page as usize / 10];
            blocks.write(page * PAGE as u64, &[beginning, &vec![0; PAGE - 4]].concat());
        }
        blocks
    }

    fn data() -> Change {
        Change::Data(vec![1; PAGE].into())
    }

    #[test]
    fn blocks_are_chosen_from_data_or_from_metadata_and_never_from_zeros() {
        for (among, range) in [(Among::Data(OURS.into()), 0..10), (Among::Metadata(OURS.into()), 10..20)] {
            let chosen = |blocks, seed| Chosen { among: among.clone(), blocks, seed }.of(&disk());
            assert_eq!(chosen(100, 1).len(), 10);
            assert!(chosen(5, 1).iter().all(|page| range.contains(page)));
            assert_eq!(chosen(5, 1), chosen(5, 1));
            assert_ne!(chosen(5, 1), chosen(5, 2));
        }
    }

    #[test]
    fn a_flip_changes_one_bit_of_each_chosen_block() {
        let (before, mut after) = (disk(), disk());
        let flipped = Chosen { among: Among::Data(OURS.into()), blocks: 4, seed: 3 }.flip(&mut after);
        assert_eq!(flipped, 4);
        let content = |blocks: &Blocks| {
            let mut all = vec![0; 30 * PAGE];
            blocks.read(0, &mut all);
            all
        };
        let bits: u32 =
            content(&before).iter().zip(content(&after)).map(|(before, after)| (before ^ after).count_ones()).sum();
        assert_eq!(bits, 4);
    }

    #[test]
    fn an_unreadable_block_is_readable_after_it_is_written() {
        let all = Chosen { among: Among::Data(OURS.into()), blocks: 10, seed: 1 };
        let mut ailing = Ailing::new(&Fault::Unreadable(all), &disk());
        assert_eq!(ailing.bad(), 10);
        assert_eq!(ailing.read(9 * PAGE as u64 + 5, 10), Err(Failed::Unreadable));
        assert_eq!(ailing.read(10 * PAGE as u64, 100), Ok(()));
        ailing.write(9 * PAGE as u64, &data(), &disk()).expect("written");
        assert_eq!(ailing.read(9 * PAGE as u64 + 5, 10), Ok(()));
        assert_eq!((ailing.bad(), ailing.met), (9, 1));
    }

    #[test]
    fn a_full_disk_takes_what_has_a_place_already() {
        let mut ailing = Ailing::new(&Fault::Full { room: PAGE as u64 }, &disk());
        let mut write = |page: u64| ailing.write(page * PAGE as u64, &data(), &disk());
        assert_eq!([write(40), write(41), write(5)], [Ok(()), Err(Failed::NoRoom), Ok(())]);
    }

    #[test]
    fn so_many_writes_fail_as_were_asked_for() {
        let mut ailing = Ailing::new(&Fault::FailingWrites { one_in: 10, seed: 1 }, &disk());
        let failed = (0..10_000).filter(|_| ailing.write(0, &data(), &disk()).is_err()).count();
        assert!((850..1150).contains(&failed), "{failed}");
        assert_eq!(ailing.met, failed as u64);
        assert_eq!((ailing.read(0, 1), ailing.flush()), (Ok(()), Ok(())));
    }

    #[test]
    fn a_hanging_disk_answers_everything_at_once_in_the_end() {
        let lasts = Duration::from_secs(10);
        let mut ailing = Ailing::new(&Fault::Hanging { lasts }, &disk());
        let early = ailing.delay(ailing.since + Duration::from_secs(1));
        let late = ailing.delay(ailing.since + Duration::from_secs(11));
        assert_eq!((early, late, ailing.met), (Duration::from_secs(9), Duration::ZERO, 1));
    }
}
