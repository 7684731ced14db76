//! The promises as executed: each several times, with mixed steps, in parallel; each return is marked in the record of the disk.
//! In: a root to work in. Out: marks, and the progress of each at a cut.

use crate::error::{ReliabilityError, doing};
use crate::power_cut::promises::{Chosen, Place, TESTED, Tested};
use crate::power_cut::result::Strength;
use disk::{Event, Record};
use rand::Rng;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

/// How often each promise is executed while others sync, and during unsynced work.
const BUSY: u32 = 4;
const QUIET: u32 = 4;
/// How often a variant with a later fsync is executed: more would make the inspection of each state slow.
const WITH_LATER: u32 = 2;
/// File numbers of one execution.
const FILES: u32 = 16;
/// Marks of the diary have this bit.
const DIARY: u64 = 1 << 40;

/// One execution of a promise.
pub(crate) struct Instance {
    number: usize,
    pub promise: usize,
    pub place: Place,
    /// Whether it belongs to the second part, without syncs.
    pub quiet: bool,
    done: u32,
}

impl Instance {
    pub fn promise(&self) -> &'static Tested {
        &TESTED[self.promise]
    }

    fn is_finished(&self) -> bool {
        self.done == self.promise().steps()
    }
}

/// All executions.
pub(crate) struct Instances {
    pub all: Vec<Instance>,
}

impl Instances {
    /// All executions below `root`, each in its own folder.
    pub fn below(root: &Path, chosen: &Chosen) -> Instances {
        let mut all = Vec::new();
        for &promise in &chosen.0 {
            let Some(known) = TESTED.get(promise) else { continue };
            let times = match (known.later, known.about().strength) {
                (Some(_), _) => WITH_LATER,
                (None, Strength::Promised) => BUSY,
                (None, Strength::Hoped) => BUSY + QUIET,
            };
            for turn in 0..times {
                let folder = root.join(format!("{}-{turn}", known.name()));
                let place = Place { folder, file: all.len() as u32 * FILES };
                all.push(Instance { number: all.len(), promise, place, quiet: turn >= BUSY, done: 0 });
            }
        }
        Instances { all }
    }

    /// Writes the initial files of all of them below `root`.
    ///
    /// # Errors
    /// The action and the system's error.
    pub fn set_up(root: &Path, chosen: &Chosen) -> Result<Instances, ReliabilityError> {
        let mut instances = Instances::below(root, chosen);
        for one in &mut instances.all {
            let made = std::fs::create_dir(&one.place.folder).and_then(|()| one.promise().set_up(&one.place));
            match made {
                Err(error) if has_none(&error) => one.done = one.promise().steps(),
                made => made.map_err(doing(format!("setting up {}", one.promise().name())))?,
            }
        }
        Ok(instances)
    }

    /// Distributes those of one part to this many threads.
    pub fn dealt(&mut self, quiet: bool, hands: usize) -> Vec<Vec<&mut Instance>> {
        let mut dealt: Vec<Vec<&mut Instance>> = (0..hands).map(|_| Vec::new()).collect();
        for (turn, one) in self.all.iter_mut().filter(|one| one.quiet == quiet).enumerate() {
            dealt[turn % hands].push(one);
        }
        dealt
    }
}

/// Executes one step of a random unfinished one; returns its mark, or None if all are finished.
///
/// # Errors
/// The action and the system's error.
pub(crate) fn step(of: &mut [&mut Instance], dice: &mut impl Rng) -> Result<Option<u64>, ReliabilityError> {
    loop {
        let mut open: Vec<&mut &mut Instance> = of.iter_mut().filter(|one| !one.is_finished()).collect();
        if open.is_empty() {
            return Ok(None);
        }
        let one = open.swap_remove(dice.random_range(0..open.len()));
        match one.promise().step(&one.place, one.done) {
            Ok(()) => {
                one.done += 1;
                return Ok(Some((one.number as u64) << 16 | u64::from(one.done)));
            }
            // There is no mark of its start, so it is not tested.
            Err(error) if one.done == 0 && has_none(&error) => one.done = one.promise().steps(),
            Err(error) => return Err(doing(format!("step {} of {}", one.done, one.promise().name()))(error)),
        }
    }
}

/// Whether this error means that the filesystem lacks the feature: root has permission for everything else.
fn has_none(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported)
}

/// Remaining steps of these.
pub(crate) fn left(of: &[&mut Instance]) -> u32 {
    of.iter().map(|one| one.promise().steps() - one.done).sum()
}

/// The mark of an entry of the diary.
pub(crate) fn diary_mark(entry: u32) -> u64 {
    DIARY | u64::from(entry)
}

/// Progress of everything when the power failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Returned steps of each instance.
    pub done: Vec<u32>,
    /// Returned entries of the diary.
    pub diary: u32,
}

impl Progress {
    /// Progress before event `cut` of the record.
    pub fn at(record: &Record, cut: usize, instances: usize) -> Progress {
        let mut progress = Progress { done: vec![0; instances], diary: 0 };
        for moment in &record.moments[..cut.min(record.moments.len())] {
            match moment.event {
                Event::Marked(mark) if mark & DIARY != 0 => progress.diary = (mark & !DIARY) as u32 + 1,
                Event::Marked(mark) => {
                    if let Some(done) = progress.done.get_mut((mark >> 16) as usize) {
                        *done = (mark & 0xffff) as u32;
                    }
                }
                _ => {}
            }
        }
        progress
    }
}

/// When an entry of the diary had returned, since the start of the recording.
pub(crate) fn diary_time(record: &Record, entry: u32) -> Option<Duration> {
    let of = Event::Marked(diary_mark(entry));
    record.moments.iter().find(|moment| moment.event == of).map(|moment| moment.at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use disk::Moment;
    use rand::SeedableRng;

    #[test]
    fn all_steps_run_once_and_every_mark_has_the_progress_of_one_instance() {
        let folder = tempfile::tempdir().expect("a folder");
        let all = Chosen::of(&[], &super::super::promises::Later::ALL).expect("chosen");
        let mut instances = Instances::set_up(folder.path(), &all).expect("set up");
        let mut dice = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        let mut record = Record::default();
        let mut steps = 0;
        for quiet in [false, true] {
            for mut hand in instances.dealt(quiet, 3) {
                steps += left(&hand);
                while let Some(mark) = step(&mut hand, &mut dice).expect("a step") {
                    let at = Duration::from_millis(record.moments.len() as u64);
                    record.moments.push(Moment { event: Event::Marked(mark), at });
                }
            }
        }
        assert_eq!(record.moments.len(), steps as usize);
        let end = Progress::at(&record, record.moments.len(), instances.all.len());
        for (one, done) in instances.all.iter().zip(&end.done) {
            assert_eq!(*done, one.promise().steps());
            let found = one.promise().look(&one.place, *done).expect("looked at");
            assert_eq!(found.broken, None, "{}", one.promise().name());
        }
        let half = Progress::at(&record, steps as usize / 2, instances.all.len());
        assert_eq!(half.done.iter().sum::<u32>(), steps / 2);
    }

    #[test]
    fn entries_of_the_diary_are_counted_apart() {
        let marked = |mark, at| Moment { event: Event::Marked(mark), at: Duration::from_secs(at) };
        let moments = vec![marked(diary_mark(0), 1), marked(3 << 16 | 2, 2), marked(diary_mark(1), 3)];
        let record = Record { moments, writes: Vec::new() };
        assert_eq!(Progress::at(&record, 2, 4), Progress { done: vec![0, 0, 0, 2], diary: 1 });
        assert_eq!(Progress::at(&record, 3, 4).diary, 2);
        let times = [0, 1, 2].map(|entry| diary_time(&record, entry));
        assert_eq!(times, [Some(Duration::from_secs(1)), Some(Duration::from_secs(3)), None]);
    }
}
