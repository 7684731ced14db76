//! The promises as a work whose power is cut, and the unsynced diary.
//! In: a root. Out: marks of returned calls.

use super::diary::Diary;
use super::hands::Marker;
use super::instances::{self, Instance, Instances, diary_mark};
use super::promises::Chosen;
use crate::error::{ReliabilityError, doing};
use crate::stamps;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Bytes of old content on the disk before the work begins, from removed files.
const STALE_BYTES: usize = 64 << 20;
/// Size of its pieces.
const STALE_PIECE: usize = 1 << 20;
/// Number of threads that execute promises in the first part.
const HANDS: usize = 6;
/// Longest pause after a step in the first part: the work lasts some seconds, so that periodic writeback takes part.
const PAUSE: Duration = Duration::from_millis(20);
/// Interval of entries in the diary.
const ENTRY: Duration = Duration::from_millis(50);

/// The work, with its initial files.
pub(crate) struct PromiseWork {
    unsynced: Duration,
    dice: ChaCha8Rng,
    instances: Instances,
    diary: Diary,
}

impl PromiseWork {
    /// Writes the initial files below `root`, before the power may fail.
    pub fn set_up(
        root: &Path,
        chosen: &Chosen,
        unsynced: Duration,
        seed: u64,
    ) -> Result<PromiseWork, ReliabilityError> {
        leave_stale(root).map_err(doing("writing old content"))?;
        let instances = Instances::set_up(root, chosen)?;
        let diary = Diary::begin(root).map_err(doing("starting a log file"))?;
        Ok(PromiseWork { unsynced, dice: ChaCha8Rng::seed_from_u64(seed), instances, diary })
    }

    /// Does the work, and marks returned calls.
    pub fn work(&mut self, marker: &mut dyn Marker) -> Result<(), ReliabilityError> {
        self.busy(marker)?;
        self.quiet(marker)
    }

    /// The first part: all promises, with mixed steps, by several threads, so that the disk has parallel work.
    fn busy(&mut self, marker: &mut dyn Marker) -> Result<(), ReliabilityError> {
        let marker = Mutex::new(marker);
        let marked = |mark| marker.lock().unwrap_or_else(|poison| poison.into_inner()).mark(mark);
        let work = |mut hand: Vec<&mut Instance>, mut dice: ChaCha8Rng| {
            while let Some(mark) = instances::step(&mut hand, &mut dice)? {
                marked(mark)?;
                std::thread::sleep(PAUSE.mul_f64(dice.random::<f64>()));
            }
            Ok(())
        };
        let hands = self.instances.dealt(false, HANDS);
        let dice: Vec<ChaCha8Rng> = hands.iter().map(|_| ChaCha8Rng::from_rng(&mut self.dice)).collect();
        std::thread::scope(|scope| {
            let at_work: Vec<_> =
                hands.into_iter().zip(dice).map(|(hand, dice)| scope.spawn(|| work(hand, dice))).collect();
            at_work.into_iter().try_for_each(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }

    /// The second part: no syncs, so that a cut loses what the kernel has not written back.
    fn quiet(&mut self, marker: &mut dyn Marker) -> Result<(), ReliabilityError> {
        let mut hand: Vec<&mut Instance> = self.instances.dealt(true, 1).into_iter().flatten().collect();
        let (began, steps) = (Instant::now(), f64::from(instances::left(&hand).max(1)));
        let mut entry = 0;
        while began.elapsed() < self.unsynced {
            self.diary.write(entry).map_err(doing(format!("entry {entry} of the log file")))?;
            marker.mark(diary_mark(entry))?;
            entry += 1;
            // Spreads the steps over the available time.
            let due = steps * (1.0 - began.elapsed().as_secs_f64() / self.unsynced.as_secs_f64());
            if f64::from(instances::left(&hand)) > due
                && let Some(mark) = instances::step(&mut hand, &mut self.dice)?
            {
                marker.mark(mark)?;
            }
            std::thread::sleep(ENTRY);
        }
        Ok(())
    }
}

/// Fills a part of the disk with content that a file may show by mistake later, and removes it.
fn leave_stale(root: &Path) -> io::Result<()> {
    let path = root.join("stale");
    let mut file = std::fs::File::create_new(&path)?;
    let piece = vec![0xa5; STALE_PIECE];
    for _ in 0..STALE_BYTES / STALE_PIECE {
        file.write_all(&piece)?;
    }
    file.sync_all()?;
    std::fs::remove_file(&path)?;
    stamps::sync_folder(root)
}
