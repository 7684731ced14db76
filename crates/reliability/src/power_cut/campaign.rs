//! The power cuts of one contender: work on a recorded disk, then one state after the other.
//! In: a contender on a served disk, and the work. Out: a [`Survived`].

use super::ground::{AfterCut, Ground, Place};
use super::hands::{Marker, Question, Seen};
use super::kept::{self, Shown};
use super::program::Program;
use super::program_account::ProgramAccount;
use super::promise_account::PromiseAccount;
use super::promises::Chosen;
use super::result::{Example, Figures, Mounts, Survived};
use super::tally::{Looked, figures, rate};
use crate::description;
use crate::error::ReliabilityError;
use disk::{Choice, Disk, Event, Record, State};
use records::{Closing, Contender};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The filesystem's own check runs on one state in this many.
const CHECKED: usize = 20;

/// Most kernels lost to one contender's states, each of which costs a boot.
const MOST_LOST: u32 = 50;

/// The work while the disk is recorded.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// Steps of guarantees, followed by unsynced work of this duration.
    Promises {
        /// Longer than the kernel delays writeback; otherwise the loss is not seen completely.
        unsynced: Duration,
        /// Which guarantees, with which variants.
        chosen: Chosen,
    },
    /// A program that prints what it has made durable.
    Program(Program),
}

/// How a contender's power is cut.
#[derive(Debug, Clone, PartialEq)]
pub struct Cuts {
    /// The work.
    pub work: Work,
    /// Number of states.
    pub states: u32,
    /// Whether the disk lies about flushes.
    pub lying: bool,
    /// Whether every state has a write torn within a block.
    pub torn: bool,
    /// Folder for states that show something broken.
    pub keep: Option<PathBuf>,
    /// Seed of work and states.
    pub seed: u64,
}

impl Cuts {
    /// A choice of states; each `turn` (the first choice, the second and so on) has its own random numbers.
    pub(crate) fn choice(&self, count: usize, turn: u64) -> Choice {
        Choice { count, seed: self.seed ^ turn, torn: self.torn }
    }
}

/// Called with the number of inspected states; returns whether to continue.
pub type Watcher<'w> = dyn Fn(u32) -> bool + Sync + 'w;

/// Marks returns in the disk's record, and calls the watcher.
struct DiskMarker<'a> {
    disk: &'a mut Disk,
    watcher: &'a Watcher<'a>,
}

impl Marker for DiskMarker<'_> {
    fn mark(&mut self, word: u64) -> Result<(), ReliabilityError> {
        self.disk.mark(word)?;
        self.go_on()
    }

    fn go_on(&mut self) -> Result<(), ReliabilityError> {
        if (self.watcher)(0) { Ok(()) } else { Err(ReliabilityError::Stopped) }
    }
}

/// Counts over all states of a work.
pub(crate) trait Account {
    /// The states to inspect, in the order of their cuts.
    fn states(&self, record: &Record, cuts: &Cuts) -> Vec<State>;
    /// What to inspect after a cut.
    fn question(&self, record: &Record, cut: usize) -> Question;
    /// Adds the findings of a state.
    fn note(&mut self, record: &Record, looked: &Looked, question: &Question, seen: &Seen);
    /// Everything that was broken, each with the simplest state that shows it.
    fn shown(&self, record: &Record) -> Vec<Shown>;
    /// Adds the counts to the result.
    fn tell(self: Box<Self>, survived: &mut Survived);
}

fn account<'c>(cuts: &'c Cuts, root: &Path, lines: Vec<String>) -> Box<dyn Account + 'c> {
    match &cuts.work {
        Work::Promises { chosen, .. } => Box::new(PromiseAccount::below(root, chosen)),
        Work::Program(program) => Box::new(ProgramAccount::of(program, lines)),
    }
}

/// Cuts a contender's power again and again. Its image must be in the folder that `disk` serves.
///
/// # Errors
/// The work fails on the intact filesystem, the served disk fails, or the watcher stops the run. A state that cannot be mounted is not an error.
pub fn cut(
    ground: &mut Ground<'_>,
    disk: &mut Disk,
    contender: &Contender,
    cuts: &Cuts,
    watcher: &Watcher<'_>,
) -> Result<Survived, ReliabilityError> {
    let began = Instant::now();
    let place = ground.place();
    let (setup, kernel, is_guest) = (place.stage().setup(), place.kernel(), place.stage().machine().is_some());
    let image = crate::image_name(place.image().as_deref())?;
    place.set_up(&cuts.work, cuts.seed)?;
    disk.record(&image)?;
    let lines = place.work(&mut DiskMarker { disk, watcher })?;
    let record = disk.stop()?;
    place.unmount()?;
    let mut account = account(cuts, &setup.root, lines);
    let mut found = Found::default();
    for (number, state) in account.states(&record, cuts).iter().enumerate() {
        disk.offer(state, cuts.lying)?;
        let looked = Looked::of(*state, &record, cuts.lying);
        let question = account.question(&record, state.cut);
        if let Some(seen) = found.state(place, &looked, &question, number.is_multiple_of(CHECKED))? {
            account.note(&record, &looked, &question, &seen);
        }
        if !watcher(number as u32 + 1) {
            return Err(ReliabilityError::Stopped);
        }
    }
    let kept = match &cuts.keep {
        Some(folder) => {
            let shown = kept::shown(account.as_ref(), &record, [&found.refusal, &found.loss]);
            kept::keep(place, disk, contender, shown, (folder, cuts.lying))?
        }
        None => Vec::new(),
    };
    let mut survived = found.result(&record, contender, cuts, &setup.found);
    (survived.kernel, survived.guest, survived.kept) = (kernel, is_guest, kept);
    account.tell(&mut survived);
    survived.contradictions = description::against_cuts(&setup.found.durability, &survived);
    survived.seconds = began.elapsed().as_secs_f64();
    Ok(survived)
}

/// Findings about the filesystem itself.
#[derive(Debug, Default)]
struct Found {
    mounted: Vec<f64>,
    refused: u32,
    refused_torn: u32,
    refusal: Option<Example>,
    lost: u32,
    loss: Option<Example>,
    checked: u32,
    damaged: Vec<String>,
    in_order: u32,
    torn: u32,
}

impl Found {
    /// Mounts the disk's present state and inspects it. None if it cannot be mounted, or the kernel crashed.
    fn state(
        &mut self,
        place: &mut dyn Place,
        looked: &Looked,
        question: &Question,
        check: bool,
    ) -> Result<Option<Seen>, ReliabilityError> {
        self.in_order += u32::from(looked.in_order);
        self.torn += u32::from(looked.torn);
        match place.state(question, check)? {
            AfterCut::Mounted { took, seen, check } => {
                self.mounted.push(took.as_secs_f64());
                self.check(check.map(|closing| *closing).unwrap_or_default());
                return Ok(Some(seen));
            }
            AfterCut::Refused(why) => {
                self.refused += 1;
                self.refused_torn += u32::from(looked.torn);
                looked.example(&mut self.refusal, || why);
            }
            AfterCut::Lost(why) => {
                self.lost += 1;
                if self.lost > MOST_LOST {
                    return Err(ReliabilityError::KernelLost { times: self.lost, why });
                }
                looked.example(&mut self.loss, || why);
                place.begin_again()?;
            }
        }
        Ok(None)
    }

    fn check(&mut self, closing: Closing) {
        self.checked += u32::from(closing.whole.is_some());
        if closing.whole == Some(false) {
            self.damaged.push(closing.damage.unwrap_or_else(|| "its check printed nothing".into()));
        }
    }

    /// Everything except the account; `set_up`: what was found at the first mount.
    fn result(self, record: &Record, contender: &Contender, cuts: &Cuts, set_up: &records::Found) -> Survived {
        let states = self.mounted.len() as u32 + self.refused + self.lost;
        let flushes = record.moments.iter().filter(|moment| matches!(moment.event, Event::Flushed(_))).count();
        Survived {
            contender: contender.label.clone(),
            filesystem: contender.filesystem.clone(),
            driver: description::driver(set_up).map(String::from),
            class: set_up.durability.clone(),
            kernel: String::new(),
            guest: false,
            mount_options: set_up.mount_options.clone(),
            states,
            in_order: self.in_order,
            events: record.moments.len(),
            writes: record.writes.len(),
            flushes,
            promises: Vec::new(),
            lost_seconds: Figures::default(),
            foreign_bytes: 0,
            program: None,
            mounts: Mounts {
                refused: rate(self.refused, states),
                refused_torn: rate(self.refused_torn, self.torn),
                refusal: self.refusal,
                kernel_lost: rate(self.lost, states),
                kernel_loss: self.loss,
                seconds: figures(&self.mounted),
                damaged: rate(self.damaged.len() as u32, self.checked),
                damage: self.damaged.into_iter().next(),
            },
            contradictions: Vec::new(),
            kept: Vec::new(),
            seed: cuts.seed,
            lying: cuts.lying,
            torn: cuts.torn,
            seconds: 0.0,
        }
    }
}
