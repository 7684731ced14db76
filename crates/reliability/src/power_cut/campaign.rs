//! The power cuts of one contender: work on a recorded disk, then one state after the other.
//! In: a stage on a served disk, and the work. Out: a [`Survived`].

use crate::description;
use crate::error::ReliabilityError;
use crate::kernel_log;
use crate::power_cut::kept::{self, Shown};
use crate::power_cut::program::{Program, ProgramWork};
use crate::power_cut::promise_work::PromiseWork;
use crate::power_cut::result::{Example, Figures, Mounts, Survived};
use crate::power_cut::tally::{Looked, figures, rate};
use disk::{Disk, Event, Record, State};
use records::Contender;
use staging::Stage;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Of how many states one is given to the filesystem's own check.
const CHECKED: usize = 20;

/// Lines of the kernel's log that are kept of a state that could not be mounted.
const KERNEL_LINES: usize = 6;

/// What is done while the disk is recorded.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// What filesystems promise, and so long a work that nobody syncs.
    Promises {
        /// Longer than the kernel holds back what nobody syncs, or its loss is not seen whole.
        unsynced: Duration,
    },
    /// A program that says what it has made safe.
    Program(Program),
}

/// How a contender's power is cut.
#[derive(Debug, Clone, PartialEq)]
pub struct Cuts {
    /// What is done.
    pub work: Work,
    /// States to look at.
    pub states: u32,
    /// Whether the disk lies about its flushes.
    pub lying: bool,
    /// Folder in which states are kept that show something broken.
    pub keep: Option<PathBuf>,
    /// Seed of work and states.
    pub seed: u64,
}

/// Whoever watches: told how many states were looked at, and asked whether to go on.
pub type Watcher<'w> = dyn Fn(u32) -> bool + Sync + 'w;

/// The disk to which returns are marked, and whoever watches.
pub(crate) struct Marker<'a> {
    disk: &'a mut Disk,
    watcher: &'a Watcher<'a>,
}

impl Marker<'_> {
    /// Marks that something has returned.
    pub fn mark(&mut self, word: u64) -> Result<(), ReliabilityError> {
        self.disk.mark(word)?;
        self.go_on()
    }

    pub fn go_on(&self) -> Result<(), ReliabilityError> {
        if (self.watcher)(0) { Ok(()) } else { Err(ReliabilityError::Stopped) }
    }
}

/// A work, and what is found of it in a state.
pub(crate) trait Subject {
    /// Lays out what stands there before the power may go.
    fn set_up(&mut self, root: &Path) -> Result<(), ReliabilityError>;
    /// Does it, and marks what has returned.
    fn work(&mut self, marker: &mut Marker<'_>) -> Result<(), ReliabilityError>;
    /// The states to look at, in the order of their cuts.
    fn states(&self, record: &Record, cuts: &Cuts) -> Vec<State>;
    /// Looks at a state that is mounted.
    fn look(&mut self, record: &Record, looked: &Looked);
    /// What was seen broken, each with the plainest state that shows it.
    fn shown(&self, record: &Record) -> Vec<Shown>;
    /// Adds what was found.
    fn tell(self: Box<Self>, survived: &mut Survived);
}

fn subject(cuts: &Cuts) -> Box<dyn Subject + '_> {
    match &cuts.work {
        Work::Promises { unsynced } => Box::new(PromiseWork::new(*unsynced, cuts.seed)),
        Work::Program(program) => Box::new(ProgramWork::new(program)),
    }
}

/// Cuts a contender's power again and again. `stage` must stand on an image in the folder that `disk` serves.
///
/// # Errors
/// The work fails on the whole filesystem, the disk does not do what it is asked, or the watcher wants no more. A state that cannot be mounted is no error.
pub fn cut(
    stage: &mut Stage<'_>,
    disk: &mut Disk,
    contender: &Contender,
    cuts: &Cuts,
    watcher: &Watcher<'_>,
) -> Result<Survived, ReliabilityError> {
    let began = Instant::now();
    let image = crate::image_of(stage)?;
    if !stage.enter().is_empty() {
        return Err(ReliabilityError::OwnServer);
    }
    let mut subject = subject(cuts);
    subject.set_up(stage.root())?;
    stage.sync()?;
    disk.record(&image)?;
    subject.work(&mut Marker { disk, watcher })?;
    let record = disk.stop()?;
    stage.unmount_only()?;
    let mut found = Found::default();
    for (number, state) in subject.states(&record, cuts).iter().enumerate() {
        disk.offer(state, cuts.lying)?;
        let pending = disk::at(&record, state.cut, cuts.lying).pending.len();
        let looked = Looked { state: *state, in_order: state.is_in_order(pending), pending };
        found.state(stage, &looked, number, &mut |looked| subject.look(&record, looked))?;
        if !watcher(number as u32 + 1) {
            return Err(ReliabilityError::Stopped);
        }
    }
    let kept = match &cuts.keep {
        Some(folder) => {
            let shown = kept::shown(subject.as_ref(), &record, found.refusal.as_ref());
            kept::keep(stage, disk, contender, shown, (folder, cuts.lying))?
        }
        None => Vec::new(),
    };
    let mut survived = found.result(stage, &record, &contender.label, cuts);
    survived.kept = kept;
    subject.tell(&mut survived);
    survived.contradictions = description::against_cuts(&stage.found().durability, &survived);
    survived.seconds = began.elapsed().as_secs_f64();
    Ok(survived)
}

/// What was found of the filesystem itself.
#[derive(Debug, Default)]
struct Found {
    mounted: Vec<f64>,
    refused: u32,
    refusal: Option<Example>,
    checked: u32,
    damaged: Vec<String>,
    in_order: u32,
}

impl Found {
    /// Mounts what the disk holds now, and looks.
    fn state(
        &mut self,
        stage: &mut Stage<'_>,
        looked: &Looked,
        number: usize,
        look: &mut dyn FnMut(&Looked),
    ) -> Result<(), ReliabilityError> {
        self.in_order += u32::from(looked.in_order);
        let since = kernel_log::now();
        match stage.mount_state() {
            Ok(took) => self.mounted.push(took.as_secs_f64()),
            Err(error) => {
                self.refused += 1;
                let found = || format!("{error}{}", last_words(stage, since));
                looked.example(&mut self.refusal, found);
                return Ok(());
            }
        }
        look(looked);
        stage.unmount_only()?;
        if number.is_multiple_of(CHECKED) {
            let closing = stage.check_unmounted();
            self.checked += u32::from(closing.whole.is_some());
            if closing.whole == Some(false) {
                self.damaged.push(closing.damage.unwrap_or_else(|| "its check printed nothing".into()));
            }
        }
        Ok(())
    }

    fn result(self, stage: &Stage<'_>, record: &Record, contender: &str, cuts: &Cuts) -> Survived {
        let states = self.mounted.len() as u32 + self.refused;
        let flushes = record.moments.iter().filter(|moment| matches!(moment.event, Event::Flushed(_))).count();
        Survived {
            contender: contender.into(),
            kernel: crate::kernel(),
            mount_options: stage.found().mount_options.clone(),
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
                refusal: self.refusal,
                seconds: figures(&self.mounted),
                damaged: rate(self.damaged.len() as u32, self.checked),
                damage: self.damaged.into_iter().next(),
            },
            contradictions: Vec::new(),
            kept: Vec::new(),
            seed: cuts.seed,
            lying: cuts.lying,
            seconds: 0.0,
        }
    }
}

/// What the kernel's log said last of the device.
fn last_words(stage: &Stage<'_>, since: f64) -> String {
    let name = stage.device().map(|device| device.name.clone()).unwrap_or_default();
    let said = kernel_log::words_of(&name, since, KERNEL_LINES);
    if said.is_empty() { String::new() } else { format!("; kernel: {}", said.join("; ")) }
}
