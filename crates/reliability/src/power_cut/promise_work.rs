//! The promises as a work whose power is cut, and the diary that nobody syncs.
//! In: a root. Out: what was kept of it in each state.

use crate::error::{ReliabilityError, doing};
use crate::power_cut::campaign::{Cuts, Marker, Subject};
use crate::power_cut::diary::Diary;
use crate::power_cut::instances::{self, Instance, Instances, Progress, diary_mark, diary_time};
use crate::power_cut::kept::{KeptPlace, Proof, Shown};
use crate::power_cut::promises::{Finding, PROMISES, Place};
use crate::power_cut::result::{Example, Survived};
use crate::power_cut::tally::{Looked, Tally, figures};
use crate::stamps;
use disk::{Event, Record, State};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Bytes of old content that lie on the disk before the work begins, in files that were removed.
const STALE_BYTES: usize = 64 << 20;
/// Pieces in which it is written.
const STALE_PIECE: usize = 1 << 20;
/// How many carry out promises side by side, while they sync.
const HANDS: usize = 6;
/// Pause after a step, at most, while others sync: the work lasts some seconds, so that what runs on a clock takes part.
const PAUSE: Duration = Duration::from_millis(20);
/// How often an entry is written into the diary.
const ENTRY: Duration = Duration::from_millis(50);
/// Share of the states that are cut while nobody syncs.
const QUIET: f64 = 0.4;

/// The work, and what was found of it.
pub(crate) struct PromiseWork {
    unsynced: Duration,
    root: PathBuf,
    dice: ChaCha8Rng,
    instances: Instances,
    diary: Option<Diary>,
    tally: Tally,
    lost: Vec<f64>,
    foreign: u64,
}

impl PromiseWork {
    pub fn new(unsynced: Duration, seed: u64) -> PromiseWork {
        PromiseWork {
            unsynced,
            root: PathBuf::new(),
            dice: ChaCha8Rng::seed_from_u64(seed),
            instances: Instances { all: Vec::new() },
            diary: None,
            tally: Tally::new(),
            lost: Vec::new(),
            foreign: 0,
        }
    }

    /// The first part: all promises, their steps mixed, by several at a time, so that the disk has more to do than one thing.
    fn busy(&mut self, marker: &mut Marker<'_>) -> Result<(), ReliabilityError> {
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

    /// The second: nobody syncs, and what is lost is what the kernel held back.
    fn quiet(&mut self, marker: &mut Marker<'_>) -> Result<(), ReliabilityError> {
        let Some(diary) = &self.diary else { return Ok(()) };
        let mut hand: Vec<&mut Instance> = self.instances.dealt(true, 1).into_iter().flatten().collect();
        let (began, steps) = (Instant::now(), f64::from(instances::left(&hand).max(1)));
        let mut entry = 0;
        while began.elapsed() < self.unsynced {
            diary.write(entry).map_err(doing(format!("entry {entry} of the diary")))?;
            marker.mark(diary_mark(entry))?;
            entry += 1;
            // Spread over the time that there is.
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

    /// Seconds of the diary that are gone, where the power went while nobody synced.
    fn losses(&mut self, record: &Record, looked: &Looked, progress: &Progress) {
        let last = record.moments.get(looked.state.cut).or(record.moments.last());
        let (Some(last), Some(diary), true) = (last, &self.diary, progress.diary > 0) else { return };
        let since = diary.first_lost(progress.diary).and_then(|entry| diary_time(record, entry));
        self.lost.push(since.map_or(0.0, |since| last.at.saturating_sub(since).as_secs_f64()));
    }
}

impl Subject for PromiseWork {
    fn set_up(&mut self, root: &Path) -> Result<(), ReliabilityError> {
        leave_stale(root).map_err(doing("writing old content"))?;
        self.root = root.to_owned();
        self.instances = Instances::set_up(root)?;
        self.diary = Some(Diary::begin(root).map_err(doing("beginning a diary"))?);
        Ok(())
    }

    fn work(&mut self, marker: &mut Marker<'_>) -> Result<(), ReliabilityError> {
        self.busy(marker)?;
        self.quiet(marker)
    }

    fn states(&self, record: &Record, cuts: &Cuts) -> Vec<State> {
        let first = record.moments.iter().position(|moment| moment.event == Event::Marked(diary_mark(0)));
        let (all, end) = (cuts.states as usize, record.moments.len());
        let quiet_from = first.unwrap_or(end);
        let quiet = (all as f64 * QUIET) as usize;
        let mut states = disk::choose(record, 0..quiet_from, all - quiet, cuts.seed);
        states.extend(disk::choose(record, quiet_from..end, quiet, cuts.seed ^ 1));
        states
    }

    fn look(&mut self, record: &Record, looked: &Looked) {
        let progress = Progress::at(record, looked.state.cut, self.instances.all.len());
        let mut found: Vec<Option<Finding>> = vec![None; PROMISES.len()];
        for (one, done) in self.instances.all.iter().zip(&progress.done) {
            if *done == 0 {
                continue;
            }
            let seen = one.promise().look(&one.place, *done);
            let finding = seen.unwrap_or_else(unreadable);
            let all = found[one.promise].take().unwrap_or_default();
            found[one.promise] = Some(all.and(finding));
        }
        let foreign: u64 = found.iter().flatten().map(|finding| finding.foreign).sum();
        self.foreign = self.foreign.max(foreign);
        for (promise, finding) in found.iter().enumerate() {
            if let Some(finding) = finding {
                self.tally.note(promise, looked, finding);
            }
        }
        self.losses(record, looked, &progress);
    }

    fn shown(&self, record: &Record) -> Vec<Shown> {
        let of = |(promise, example): (usize, &Example)| {
            let state = example.state?;
            let progress = Progress::at(record, state.cut, self.instances.all.len());
            let carried_out = self.instances.all.iter().zip(progress.done);
            let places = carried_out.filter(|(one, done)| one.promise == promise && *done > 0).map(|(one, done)| {
                let folder = one.place.folder.strip_prefix(&self.root).unwrap_or(&one.place.folder).to_owned();
                KeptPlace { folder, file: one.place.file, done }
            });
            let name = PROMISES[promise].about().name.to_string();
            let proof = Proof::Promise { name: name.clone(), places: places.collect() };
            Some(Shown { name, state, example: example.clone(), proof })
        };
        self.tally.examples().filter_map(of).collect()
    }

    fn tell(self: Box<Self>, survived: &mut Survived) {
        survived.promises = self.tally.results();
        survived.lost_seconds = figures(&self.lost);
        survived.foreign_bytes = self.foreign;
    }
}

/// What is broken of a promise below a root, at places where it was carried out so far.
pub(crate) fn look_again(name: &str, root: &Path, places: &[KeptPlace]) -> Option<String> {
    let Some(promise) = PROMISES.iter().find(|promise| promise.about().name == name) else {
        return Some(format!("there is no promise {name} in this version"));
    };
    let look = |kept: &KeptPlace| {
        let place = Place { folder: root.join(&kept.folder), file: kept.file };
        promise.look(&place, kept.done).unwrap_or_else(unreadable)
    };
    places.iter().map(look).fold(Finding::default(), Finding::and).broken
}

fn unreadable(error: io::Error) -> Finding {
    Finding::broken(format!("it cannot be read: {error}"))
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
