//! A stand-in for the stages, and a shell script for the engine: the run loop's view, without any device.

#![allow(dead_code, reason = "each test file uses the part that it needs")]

mod engine;
#[path = "../plans/mod.rs"]
mod plans;
mod work;

#[allow(unused_imports, reason = "as above")]
pub use engine::outcome;

use ledger::{Access, CommandRecord, Ledger, NewRun, Origin, TrialRecord};
use records::{Closing, ColdStart, ColdWay, Found, Turns, Usage};
use runner::{Clock, Ended, Place, PlannedContender, ResolvedPlan, Run, Unwatched, Venue, VenueError, Work};
use staging::{Dropped, Engine, Settled, Setup, Staged, StagingError};
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use system::counters::{Evidence, Snapshot, SystemCpu, Traffic, Watch};
use workload::facts::PhaseEstimate;
use workload::program::{After, Cache, Durable};

/// A small bake-off of two contenders.
pub struct Bakeoff {
    folder: tempfile::TempDir,
    plan: ResolvedPlan,
    engine: &'static str,
    fault: Option<Fault>,
    /// How often the fault has occurred so far, over runs and resumes.
    shown: Rc<Cell<usize>>,
    lost: Option<StagingError>,
    wall_step_ms: i64,
    only_waits_take_time: bool,
    after_close: Option<Box<dyn Fn(usize)>>,
    stop_after: usize,
    /// Passes of the run that are disturbed, from 0; None: those that this machine's other work disturbs.
    disturbed: Option<Vec<usize>>,
}

/// A contender that cannot be staged a number of times.
#[derive(Clone)]
struct Fault {
    contender: usize,
    times: usize,
    error: VenueError,
}

impl Bakeoff {
    pub fn new(samples: u32) -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder");
        std::fs::write(folder.path().join("engine"), engine::script()).expect("the script is written");
        Self {
            folder,
            plan: plan(samples),
            engine: "work",
            fault: None,
            shown: Rc::default(),
            lost: None,
            wall_step_ms: 1,
            only_waits_take_time: false,
            after_close: None,
            stop_after: usize::MAX,
            disturbed: None,
        }
    }

    pub fn engine(mut self, kind: &'static str) -> Self {
        self.engine = kind;
        self
    }

    /// Makes a contender fail permanently.
    pub fn failing(self, contender: usize, why: &str) -> Self {
        self.failing_times(contender, usize::MAX, VenueError::lasting(why))
    }

    /// Makes a contender fail so many times, and then work.
    pub fn failing_times(mut self, contender: usize, times: usize, error: VenueError) -> Self {
        self.fault = Some(Fault { contender, times, error });
        self
    }

    /// Ends the fault, as if the user had freed space.
    pub fn mended(mut self) -> Self {
        self.fault = None;
        self
    }

    /// Requests no exact number of rounds, but sets both limits to this one.
    pub fn open_ended(mut self, blocks: u32) -> Self {
        self.plan.sampling.samples = None;
        self.plan.sampling.blocks = (blocks, blocks);
        self
    }

    /// Keeps one contender, whose work has two variants, until the better one is known: within this range of rounds.
    pub fn alone_in_two_ways(mut self, blocks: (u32, u32)) -> Self {
        self.plan.contenders.truncate(1);
        let compiled = &mut self.plan.works[0].compiled;
        for (at, way) in ["flat", "hashed"].into_iter().enumerate() {
            let (facts, phase) = (&mut compiled.phases[at], &mut compiled.program.phases[at]);
            (facts.operation, facts.variant) = ("create".into(), Some(way.into()));
            (phase.cache, phase.writes) = (Cache::AsFound, true);
        }
        let sampling = &mut self.plan.sampling;
        (sampling.samples, sampling.until, sampling.blocks) = (None, workload::Until::Winner, blocks);
        self
    }

    /// Requests this total number of rounds, as `resume --samples` does.
    pub fn samples(mut self, samples: u32) -> Self {
        self.plan.sampling.samples = Some(samples);
        let new = self.new_run();
        self.ledger(Access::Write).reopen(&self.id(), &new).expect("opened again");
        self
    }

    /// Makes the underlying error the cause of every failure.
    pub fn lost(mut self, error: StagingError) -> Self {
        self.lost = Some(error);
        self
    }

    /// Sets the wall clock by this step at every reading.
    pub fn wall_steps(mut self, milliseconds: i64) -> Self {
        self.wall_step_ms = milliseconds;
        self
    }

    /// Stops the clock except for waits, however busy the machine is.
    pub fn only_waits_take_time(mut self) -> Self {
        self.only_waits_take_time = true;
        self
    }

    /// Calls a function after the n-th trial, counted from 1.
    pub fn after_close(mut self, then: impl Fn(usize) + 'static) -> Self {
        self.after_close = Some(Box::new(then));
        self
    }

    pub fn stopping_after(mut self, trials: usize) -> Self {
        self.stop_after = trials;
        self
    }

    /// A budget in seconds.
    pub fn budget(mut self, seconds: f64) -> Self {
        self.plan.sampling.budget_seconds = Some(seconds);
        self
    }

    /// Makes these passes of the run disturbed, counted from 0, and no others; disturbed ones are repeated.
    pub fn disturbing(mut self, passes: &[usize]) -> Self {
        self.disturbed = Some(passes.to_vec());
        self.plan.sampling.repeat_disturbed = true;
        self
    }

    /// Starts cold phases in this way.
    pub fn cold_by(mut self, way: ColdWay) -> Self {
        self.plan.cold = way;
        self
    }

    /// Makes the first phase begin cold and write.
    pub fn writing(mut self) -> Self {
        let phase = &mut self.plan.works[0].compiled.program.phases[0];
        (phase.cache, phase.writes) = (Cache::Cold, true);
        self
    }

    /// Judges instructions instead of times.
    pub fn counting(mut self) -> Self {
        self.plan.works[0].compiled.count_instructions();
        self
    }

    /// Makes every phase end with a sync and a drop, and begin cold.
    pub fn all_cold(mut self) -> Self {
        for phase in &mut self.plan.works[0].compiled.program.phases {
            phase.cache = Cache::Cold;
            phase.after = After { sync: true, drop_caches: true };
        }
        self
    }

    /// Makes contenders alternate by phases, which are too short to be divided.
    pub fn by_phases(mut self) -> Self {
        self.plan.turns = Turns::Slice;
        self
    }

    /// Makes contenders alternate by slices; the phase that reads is divided into five.
    pub fn by_slices(self) -> Self {
        let mut this = self.by_phases();
        let reading = PhaseEstimate { items: 15_000, bytes_read: 170_000_000, ..PhaseEstimate::default() };
        this.plan.works[0].compiled.estimate.phases = vec![PhaseEstimate::default(), reading];
        this
    }

    /// As [`Self::by_slices`], with every second contender in one piece.
    pub fn mixed(self) -> Self {
        let mut this = self.by_slices();
        this.plan.turns = Turns::Mixed;
        this
    }

    /// Process ids of the engines that carried out the slices, in order.
    pub fn slices(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.path().join("engine.slices")).unwrap_or_default();
        text.lines().map(String::from).collect()
    }

    /// One part of the plan, such as `2/3`.
    pub fn shard(mut self, part: &str) -> Self {
        self.plan.shard = Some(part.parse().expect("a shard"));
        self
    }

    /// Limits a contender to the named workloads.
    pub fn only(mut self, contender: usize, work: &str) -> Self {
        self.plan.contenders[contender].works.push(work.into());
        self
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("bakeoff.db")
    }

    pub fn ledger(&self, access: Access) -> Ledger {
        Ledger::open(&self.path(), access).expect("the ledger opens")
    }

    pub fn id(&self) -> String {
        self.ledger(Access::Read).run(None).expect("a run").id
    }

    pub fn trials(&self) -> Vec<TrialRecord> {
        self.ledger(Access::Read).trials(&self.id()).expect("trials")
    }

    pub fn run(&self) -> (Ended, Vec<String>) {
        let mut ledger = self.ledger(Access::Write);
        let id = ledger.begin_run(&self.new_run(), &self.plan.contender_records()).expect("the run begins");
        self.carry_on(&mut ledger, &id, self.stop_after).expect("the run is carried out")
    }

    pub fn resume(&self) -> (Ended, Vec<String>) {
        self.resume_at(&self.path())
    }

    /// Resumes the run of a ledger at another path.
    pub fn resume_at(&self, path: &Path) -> (Ended, Vec<String>) {
        let mut ledger = Ledger::open(path, Access::Write).expect("the ledger opens");
        let id = ledger.run(None).expect("a run").id;
        self.carry_on(&mut ledger, &id, usize::MAX).expect("the run goes on")
    }

    pub fn try_run(&self) -> Result<Ended, String> {
        let mut ledger = self.ledger(Access::Write);
        let id = ledger.begin_run(&self.new_run(), &self.plan.contender_records()).expect("the run begins");
        self.carry_on(&mut ledger, &id, usize::MAX).map(|(ended, _)| ended)
    }

    fn carry_on(&self, ledger: &mut Ledger, id: &str, stop_after: usize) -> Result<(Ended, Vec<String>), String> {
        let log = Rc::new(RefCell::new(Vec::new()));
        let closed = Arc::new(AtomicUsize::new(0));
        let (passes, closing) = (Rc::default(), Arc::clone(&closed));
        let mut venue = StandIn { bakeoff: self, log: Rc::clone(&log), closed: closing, passes, each: Vec::new() };
        if self.plan.turns != Turns::Trial {
            let contenders = 0..self.plan.contenders.len();
            venue.each = contenders.map(|_| StandIn { each: Vec::new(), ..venue.clone() }).collect();
        }
        let clock = SteppedClock::new(self.wall_step_ms, self.only_waits_take_time);
        let script = self.folder.path().join("engine").to_string_lossy().into_owned();
        let mut run = Run {
            plan: &self.plan,
            id,
            ledger,
            venue: &mut venue,
            watcher: &mut Unwatched,
            agent: vec!["sh".into(), script, self.engine.into()],
            // One later than the last trial's close, so that this trial is complete.
            stop: Arc::new(move || closed.load(Ordering::SeqCst) > stop_after),
            clock: &clock,
        };
        let ended = run.carry_on().map_err(|error| error.to_string())?;
        Ok((ended, log.take()))
    }

    fn new_run(&self) -> NewRun {
        NewRun {
            title: "two stand-ins".into(),
            plan: Some(self.plan.clone()),
            seed: self.plan.seed,
            machine: None,
            merged: None,
            version: "test".into(),
            command_line: vec![],
            origin: Origin::Measured,
            works: self.plan.work_records(),
        }
    }
}

/// A clock that is set all the time, and whose waits take no time.
struct SteppedClock {
    origin: Instant,
    waited: Cell<Duration>,
    wall_ms: Cell<i64>,
    step_ms: i64,
    only_waits: bool,
}

impl SteppedClock {
    fn new(step_ms: i64, only_waits: bool) -> Self {
        let wall_ms = Cell::new(1_790_000_000_000);
        Self { origin: Instant::now(), waited: Cell::default(), wall_ms, step_ms, only_waits }
    }
}

impl Clock for SteppedClock {
    fn stamp_ms(&self) -> i64 {
        self.wall_ms.set(self.wall_ms.get() + self.step_ms);
        self.wall_ms.get()
    }
    fn steady(&self) -> Duration {
        let elapsed = if self.only_waits { Duration::ZERO } else { self.origin.elapsed() };
        elapsed + self.waited.get()
    }
    fn wait(&self, time: Duration) {
        self.waited.set(self.waited.get() + time);
    }
}

#[derive(Clone)]
struct StandIn<'b> {
    bakeoff: &'b Bakeoff,
    log: Rc<RefCell<Vec<String>>>,
    closed: Arc<AtomicUsize>,
    passes: Rc<Cell<usize>>,
    /// One per contender, if all exist at the same time.
    each: Vec<StandIn<'b>>,
}

impl Venue for StandIn<'_> {
    fn stage(&mut self, contender: usize) -> Result<Box<dyn Staged + '_>, VenueError> {
        self.log.borrow_mut().push(format!("stage {contender}"));
        let shown = &self.bakeoff.shown;
        match &self.bakeoff.fault {
            Some(fault) if fault.contender == contender && shown.get() < fault.times => {
                shown.set(shown.get() + 1);
                Err(fault.error.clone())
            }
            _ => {
                let (log, closed) = (Rc::clone(&self.log), Arc::clone(&self.closed));
                Ok(Box::new(Stage { bakeoff: self.bakeoff, contender, log, closed, passes: Rc::clone(&self.passes) }))
            }
        }
    }

    fn apart(&mut self) -> Option<Vec<&mut dyn Venue>> {
        let each = self.each.iter_mut().map(|venue| venue as &mut dyn Venue);
        (self.bakeoff.plan.turns != Turns::Trial).then(|| each.collect())
    }

    fn commands(&mut self) -> Vec<CommandRecord> {
        Vec::new()
    }
}

struct Stage<'b> {
    bakeoff: &'b Bakeoff,
    contender: usize,
    log: Rc<RefCell<Vec<String>>>,
    closed: Arc<AtomicUsize>,
    passes: Rc<Cell<usize>>,
}

impl Stage<'_> {
    fn note(&self, what: &str) {
        // If all exist, the entry names the contender.
        let whose =
            if self.bakeoff.plan.turns != Turns::Trial { format!(" {}", self.contender) } else { String::new() };
        self.log.borrow_mut().push(format!("{what}{whose}"));
    }
}

impl Staged for Stage<'_> {
    fn setup(&self) -> Setup {
        Setup {
            root: "/nowhere".into(),
            root_inode: None,
            device: None,
            durable: Durable::default(),
            tools: Default::default(),
            found: Found { mount_options: vec!["rw".into()], ..Found::nothing() },
            shared: false,
        }
    }
    fn engine(&mut self) -> Result<Engine, StagingError> {
        Ok(Engine::Here(Vec::new()))
    }
    fn look(&mut self) -> Result<Snapshot, StagingError> {
        Ok(Snapshot::take())
    }
    fn since(&mut self, before: &Snapshot) -> Result<Evidence, StagingError> {
        let pass = self.passes.replace(self.passes.get() + 1);
        let seen = Snapshot::take().since(before, &Watch::system());
        let Some(disturbed) = &self.bakeoff.disturbed else { return Ok(seen) };
        // Only the test's own disturbances count, whatever this machine does meanwhile.
        let other = Traffic { read_bytes: 1 << 30, ..Traffic::default() };
        let foreign = disturbed.contains(&pass).then(|| ("sdz".to_string(), other));
        Ok(Evidence { foreign: foreign.into_iter().collect(), cpu: SystemCpu::default(), frequency_khz: None, ..seen })
    }
    fn usage(&mut self) -> Result<Usage, StagingError> {
        Ok(Usage::default())
    }
    fn sync(&mut self) -> Result<(), StagingError> {
        self.note("sync");
        Ok(())
    }
    fn drop_caches(&mut self) -> Result<Dropped, StagingError> {
        self.note("empty");
        let start = ColdStart { way: self.bakeoff.plan.cold, device_cached_bytes: Some(0), ..ColdStart::default() };
        let mounted_anew = self.bakeoff.plan.cold == ColdWay::Remount;
        Ok(Dropped { complete: true, mounted_anew, start, ..Dropped::default() })
    }
    fn unmount_only(&mut self) -> Result<(), StagingError> {
        self.note("unmount");
        Ok(())
    }
    fn mount_state(&mut self) -> Result<Duration, StagingError> {
        self.note("mount");
        Ok(Duration::ZERO)
    }
    fn lose_device(&mut self, number: u64) -> Result<(), StagingError> {
        self.note(&format!("lose {number}"));
        Ok(())
    }
    fn has_all_devices(&mut self) -> Result<(), StagingError> {
        self.note("rebuilt");
        Ok(())
    }
    fn settle(&mut self) -> Result<Settled, StagingError> {
        self.note("settle");
        Ok(Settled { seconds: 0.0, idle: true })
    }
    fn failed_below(&mut self, _during: &str) -> Option<StagingError> {
        self.bakeoff.lost.clone()
    }
    fn close(self: Box<Self>) -> Result<Closing, StagingError> {
        self.note("close");
        let closed = self.closed.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(then) = &self.bakeoff.after_close {
            then(closed);
        }
        Ok(Closing::default())
    }
}

fn plan(samples: u32) -> ResolvedPlan {
    let entry = |label: &str| PlannedContender {
        asked: workload::Contender { label: label.into(), filesystem: label.into(), ..Default::default() },
        twin_of: None,
        works: Vec::new(),
    };
    let work = Work {
        name: "small".into(),
        title: "Small".into(),
        about: String::new(),
        weaker_in_place: Vec::new(),
        compiled: work::compiled(),
    };
    plans::plan("two stand-ins", Place::Directories(vec![]), vec![entry("ext4"), entry("xfs")], work, samples)
}
