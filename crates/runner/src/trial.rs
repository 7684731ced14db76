//! One trial: a contender is staged, measured with one workload, and torn down.
//! In: a venue, a compiled workload, the engine's command. Out: a complete [`TrialRecord`], even after a failure.

use crate::agent::Agent;
use crate::clock::{Clock, wait_unless};
use crate::evidence::{self, Before};
use crate::order;
use crate::passes::{Passes, are_enough};
use crate::steady;
use crate::venue::{Venue, VenueError};
use crate::watch::{News, Watcher};
use records::{Cause, Closing, CommandRecord, DEVICE, DiskLateness, PhaseRecord, TrialRecord, TrialStatus, Usage};
use staging::{Dropped, Engine, Setup, Staged};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use system::counters::{Evidence, Snapshot};
use system::touched::PageCache;
use workload::facts::{Compiled, PhaseEstimate, PhaseFacts};
use workload::message::Lack;
use workload::outcome::{Ceiling, PhaseOutcome};
use workload::program::{Cache, Phase, Program, Step, VolumeTool, has};

/// Whether the user asked to stop.
pub type Stop = Arc<dyn Fn() -> bool + Send + Sync>;

/// Parameters of a trial.
pub struct Job<'a> {
    /// Index of the contender.
    pub contender: usize,
    /// The workload.
    pub work: &'a Compiled,
    /// Seed of this trial's content and orders.
    pub seed: u64,
    /// Round, and position within it.
    pub place: (u32, u32),
    /// Whether all slices of a phase are done at once, in the turn of one of them.
    pub in_one_piece: bool,
    /// Repetition after a disturbance.
    pub attempt: u32,
    /// Whether phases over blocks are repeated until they are steady.
    pub steady: bool,
    /// How many disturbed passes may be repeated at once.
    pub repetitions: u32,
    /// Passes of phases that can be read again.
    pub passes: &'a Passes,
    /// The command that starts the engine.
    pub agent: &'a [String],
    /// Ceiling of this machine's memory.
    pub ceiling: Option<&'a Ceiling>,
    /// Provides memory for files before each pass, if the host takes memory back.
    pub memory: Option<&'a PageCache>,
    /// Whether the user asked to stop.
    pub stop: Stop,
    /// The clocks.
    pub clock: &'a dyn Clock,
}

impl Job<'_> {
    /// The turn of a phase in which all its slices are done at once: every turn equally often, so that these are not always earlier or later than
    /// the slices of other contenders.
    fn turn_of_all(&self, phase: usize, slices: u32) -> u32 {
        order::shuffled(self.seed, self.place.0, phase, slices as usize)[0] as u32
    }
}

/// How a trial ended that is not stored.
#[derive(Debug)]
pub enum Ending {
    /// The user asked to stop; the trial leaves no trace and is repeated on resume.
    Stopped,
    /// The device is lost; the run ends with this reason.
    GroundLost(String),
}

/// Memory ceilings of other machines, by name.
pub type Ceilings = BTreeMap<String, Ceiling>;

/// Carries out one trial, all of its phases in a row.
///
/// # Errors
/// Only what ends the run; everything else is in the record.
pub fn perform(
    venue: &mut dyn Venue,
    job: &Job,
    ceilings: &mut Ceilings,
    watcher: &mut dyn Watcher,
) -> Result<TrialRecord, Ending> {
    let prepared = venue.prepare(job.contender, watcher);
    let mut trial = Trial::begin(job);
    watcher.news(News::Step("making and mounting"));
    trial.starts(|| prepared.and_then(|()| venue.stage(job.contender)), ceilings);
    for index in 0..job.work.program.phases.len() {
        trial.phase(index, watcher);
    }
    let closed = trial.close(watcher);
    closed.kept(job, venue.commands())
}

/// Carries out a trial of each job at the same time, for the same workload: all contenders are mounted, and each phase is done on all of them
/// before the next phase, divided into so many `slices`. Each slice is done on all of them, in the next order of `turns`. A contender that
/// fails drops out, and the others continue.
///
/// # Errors
/// As [`perform`]. Then none of these trials is stored.
pub fn perform_together<'l>(
    mut venues: Vec<&mut dyn Venue>,
    jobs: &[Job],
    (slices, turns): (&[u32], &[Vec<usize>]),
    ceilings: &mut Ceilings,
    watcher: &mut dyn Watcher,
    label: &dyn Fn(usize) -> &'l str,
) -> Result<Vec<TrialRecord>, Ending> {
    let Some(first) = jobs.first() else { return Ok(Vec::new()) };
    let workload = first.work.program.workload.as_str();
    let mut trials: Vec<Trial> = Vec::with_capacity(jobs.len());
    for (venue, job) in venues.iter_mut().zip(jobs) {
        watcher.news(News::Turn { contender: label(job.contender), workload });
        watcher.news(News::Step("making and mounting"));
        let prepared = venue.prepare(job.contender, watcher);
        let mut trial = Trial::begin(job);
        trial.starts(|| prepared.and_then(|()| venue.stage(job.contender)), ceilings);
        trials.push(trial);
    }
    let mut turns = turns.iter();
    for (index, &count) in slices.iter().enumerate() {
        // Before the first slice of any contender: emptying one cache empties those of all.
        if count > 1 {
            trials.iter_mut().for_each(|trial| trial.makes_ready(index));
        }
        for (slice, order) in turns.by_ref().take(count as usize).enumerate() {
            for &number in order {
                // The run ends anyway; further work of the others would be lost.
                if trials.iter().any(Trial::ends_the_run) {
                    break;
                }
                let trial = &mut trials[number];
                watcher.news(News::Turn { contender: label(trial.job.contender), workload });
                trial.turn(index, (slice as u32, count), watcher);
            }
        }
    }
    let closed: Vec<Closed> = trials.into_iter().map(|trial| trial.close(watcher)).collect();
    let ended = closed.into_iter().zip(jobs).zip(venues);
    ended.map(|((closed, job), venue)| closed.kept(job, venue.commands())).collect()
}

/// A trial in progress. Its phases run one by one, so that those of other contenders can run in between.
struct Trial<'a> {
    job: &'a Job<'a>,
    record: TrialRecord,
    /// Its own time, without that of other contenders between its phases.
    own: Duration,
    stage: Option<Box<dyn Staged + 'a>>,
    at_work: Option<AtWork>,
    /// What ended it early; nothing more is done then.
    trouble: Option<VenueError>,
}

/// State of a trial from the start of its engine on.
struct AtWork {
    agent: Agent,
    program: Program,
    ceiling: Option<Ceiling>,
    /// Phases that the filesystem cannot run.
    left_out: BTreeSet<usize>,
    /// Bytes and inodes in use before any work.
    empty: (Option<u64>, Option<u64>),
    proof: Proof,
    /// How many more disturbed passes may be repeated at once.
    repetitions: u32,
    /// A pass that is divided into slices, before the first or between two of them.
    between_slices: Option<Slices>,
}

/// State of a pass that is divided into slices.
#[derive(Default)]
struct Slices {
    state: CacheState,
    /// Snapshot before the first slice; `None` until then.
    first: Option<Snapshot>,
    /// Evidence of all slices so far.
    seen: Option<Evidence>,
    /// Lateness of the modelled disk in the slice where it was largest.
    late: Option<DiskLateness>,
}

/// A trial whose contender is unmounted and removed.
struct Closed {
    record: TrialRecord,
    own: Duration,
    trouble: Option<VenueError>,
}

impl<'a> Trial<'a> {
    fn begin(job: &'a Job<'a>) -> Self {
        Self { job, record: blank(job), own: Duration::ZERO, stage: None, at_work: None, trouble: None }
    }

    /// Whether its error affects all trials.
    fn ends_the_run(&self) -> bool {
        matches!(self.trouble, Some(VenueError::Ground(_) | VenueError::Stopped))
    }

    /// Sets up the contender, and starts the engine there.
    fn starts(&mut self, set_up: impl FnOnce() -> Result<Box<dyn Staged + 'a>, VenueError>, ceilings: &mut Ceilings) {
        let began = self.job.clock.steady();
        let started = set_up().and_then(|stage| {
            let stage = self.stage.insert(stage);
            let setup = stage.setup();
            self.record.found = Some(setup.found.clone());
            self.record.remarks = setup.found.remarks.clone();
            AtWork::begin(&mut **stage, &setup, self.job, ceilings, &mut self.record)
        });
        match started {
            Ok(at_work) => self.at_work = Some(at_work),
            Err(error) => self.fails(error),
        }
        self.took_since(began);
    }

    fn took_since(&mut self, began: Duration) {
        self.own += self.job.clock.steady().saturating_sub(began);
    }

    /// Prepares the caches for a phase that is divided into slices.
    fn makes_ready(&mut self, index: usize) {
        let began = self.job.clock.steady();
        if let (Some(stage), Some(at_work), None) = (&mut self.stage, &mut self.at_work, &self.trouble)
            && let Err(error) = at_work.makes_ready(&mut **stage, self.job, index)
        {
            self.fails(error);
        }
        self.took_since(began);
    }

    /// One turn of a phase: number `slice` of so many slices, or the whole of an undivided phase.
    fn turn(&mut self, index: usize, (slice, slices): (u32, u32), watcher: &mut dyn Watcher) {
        if slices == 1 {
            self.phase(index, watcher);
            return self.rests();
        }
        let slices = match self.job.in_one_piece {
            false => slices,
            true if slice == self.job.turn_of_all(index, slices) => 1,
            true => return,
        };
        let began = self.job.clock.steady();
        if let (Some(stage), Some(at_work), None) = (&mut self.stage, &mut self.at_work, &self.trouble)
            && let Err(error) = at_work.slice(&mut **stage, self.job, (index, slices), &mut self.record, watcher)
        {
            self.fails(error);
        }
        self.took_since(began);
        if self.at_work.as_ref().is_none_or(|at_work| at_work.between_slices.is_none()) {
            self.rests();
        }
    }

    /// Carries out a phase, unless the filesystem cannot run it or something failed before.
    fn phase(&mut self, index: usize, watcher: &mut dyn Watcher) {
        if self.trouble.is_some() {
            return;
        }
        let began = self.job.clock.steady();
        if let (Some(stage), Some(at_work)) = (&mut self.stage, &mut self.at_work)
            && let Err(error) = at_work.phase(&mut **stage, self.job, index, &mut self.record, watcher)
        {
            self.fails(error);
        }
        self.took_since(began);
    }

    /// Writes back what a phase left, so that it is not written during the turn of another contender.
    fn rests(&mut self) {
        let began = self.job.clock.steady();
        let rested = self.stage.as_mut().filter(|_| self.trouble.is_none()).map_or(Ok(()), |stage| stage.sync());
        if let Err(error) = rested {
            self.fails(error.into());
        }
        self.took_since(began);
    }

    fn fails(&mut self, error: VenueError) {
        // An engine that is still working is killed.
        self.at_work = None;
        let Some(stage) = &mut self.stage else { return self.trouble = Some(error) };
        let error = with_room(error, &mut **stage);
        // A lost device explains more than its consequences, and nothing can be closed on it.
        if let (VenueError::Contender { .. }, Some(cause)) = (&error, stage.failed_below("the work")) {
            self.stage = None;
            return self.trouble = Some(cause.into());
        }
        self.trouble = Some(error);
    }

    /// Ends the engine, unmounts, checks and removes.
    fn close(mut self, watcher: &mut dyn Watcher) -> Closed {
        let began = self.job.clock.steady();
        if let Some(at_work) = self.at_work.take() {
            at_work.agent.quit();
        }
        if let Some(stage) = self.stage.take() {
            watcher.news(News::Step("unmounting and checking"));
            let closed = stage.close();
            // The first error is the one that matters; errors of closing are its consequences.
            if self.trouble.is_none() {
                self.trouble =
                    closed.map_err(VenueError::from).and_then(|closing| note(&mut self.record, closing)).err();
            }
        }
        self.took_since(began);
        Closed { record: self.record, own: self.own, trouble: self.trouble }
    }
}

/// Adds the findings of closing to the record.
fn note(record: &mut TrialRecord, closing: Closing) -> Result<(), VenueError> {
    record.remarks.extend(closing.remarks.iter().cloned());
    let damage = closing.damage().map(|damage| format!("the filesystem was damaged after the work: {damage}"));
    record.closing = Some(closing);
    damage.map_or(Ok(()), |reason| Err(VenueError::Contender { reason, cause: Cause::Unclear }))
}

impl Closed {
    /// The record, with the commands that were run for it.
    fn kept(self, job: &Job, commands: Vec<CommandRecord>) -> Result<TrialRecord, Ending> {
        let Self { mut record, own, trouble } = self;
        match trouble {
            None => {}
            Some(VenueError::Ground(reason)) => return Err(Ending::GroundLost(reason)),
            Some(VenueError::Stopped) => return Err(Ending::Stopped),
            Some(VenueError::Contender { reason, cause }) => {
                record.status = TrialStatus::Failed;
                (record.reason, record.cause) = (Some(reason), Some(cause));
            }
        }
        if (job.stop)() {
            return Err(Ending::Stopped);
        }
        record.commands = commands;
        record.seconds = Some(own.as_secs_f64());
        // Computed from the duration, so that both stamps are consistent even if the wall clock was set meanwhile.
        record.ended_ms = record.began_ms.saturating_add(own.as_millis() as i64);
        let mut counted = record.phases.iter().filter(|phase| !phase.preparation && phase.counts());
        let disturbed = counted.any(|phase| !phase.evidence.disturbed.is_empty());
        if record.status == TrialStatus::Done && disturbed {
            record.status = TrialStatus::Disturbed;
        }
        Ok(record)
    }
}

/// The error of a full filesystem, with the remedy.
fn with_room(mut error: VenueError, stage: &mut dyn Staged) -> VenueError {
    // Only a full filesystem is queried; another one may no longer respond.
    if let VenueError::Contender { reason, .. } = &mut error
        && reason.contains("No space left on device")
        && let Some(usage) = usage(stage)
    {
        let (free, total) = (usage.available_bytes as f64 / 1e6, usage.total_bytes as f64 / 1e6);
        let inodes = usage.inodes_free.filter(|_| usage.inodes > Some(0));
        let inodes = inodes.map(|free| format!(" and {free} inodes")).unwrap_or_default();
        reason.push_str(&format!(
            "; {free:.1} of {total:.1} MB{inodes} are free on this filesystem; give it more space (--image, --on)"
        ));
    }
    error
}

impl AtWork {
    /// Starts the engine and gives it the program.
    fn begin(
        stage: &mut dyn Staged,
        setup: &Setup,
        job: &Job,
        ceilings: &mut Ceilings,
        record: &mut TrialRecord,
    ) -> Result<Self, VenueError> {
        let program = program(stage, setup, job)?;
        let empty = used(stage, setup);
        let mut agent = match stage.engine()? {
            Engine::Here(prefix) => Agent::start(&prefix, job.agent, Arc::clone(&job.stop))?,
            Engine::Elsewhere(line) => Agent::over(line, Arc::clone(&job.stop))?,
        };
        let ceiling = ceiling(stage.machine(), &mut agent, job, ceilings)?;
        let left_out = left_out(&agent.load(&program)?, job.work, record)?;
        let (proof, repetitions, between_slices) = (Proof::default(), job.repetitions, None);
        Ok(Self { agent, program, ceiling, left_out, empty, proof, repetitions, between_slices })
    }

    /// Prepares the caches for a phase that is divided into slices.
    fn makes_ready(&mut self, stage: &mut dyn Staged, job: &Job, index: usize) -> Result<(), VenueError> {
        if self.left_out.contains(&index) {
            return Ok(());
        }
        let place = Place::of(&self.program, &self.left_out, job, index);
        let state = CacheState::brought_about(stage, &mut self.agent, &place, &mut self.proof)?;
        self.between_slices = Some(Slices { state, ..Slices::default() });
        Ok(())
    }

    /// Carries out the next of so many slices of a phase; after the last, the pass is in the record.
    fn slice(
        &mut self,
        stage: &mut dyn Staged,
        job: &Job,
        (index, slices): (usize, u32),
        record: &mut TrialRecord,
        watcher: &mut dyn Watcher,
    ) -> Result<(), VenueError> {
        let Some(mut so_far) = self.between_slices.take() else { return Ok(()) };
        let place = Place::of(&self.program, &self.left_out, job, index);
        watcher.news(News::Step(&place.facts.title));
        provide_memory(stage, job, &place, slices);
        if so_far.first.is_none() {
            // All contenders were prepared, and this one's devices may have become idle meanwhile.
            stage.settle()?;
        }
        let looked = stage.look()?;
        let mut progress = |items, of, bytes| watcher.news(News::Progress(items, of, bytes));
        let limit = Duration::from_secs(self.program.limit_of(index));
        let performed = match &so_far.seen {
            None => self.agent.begin_slices(index, slices, limit, &mut progress),
            Some(_) => self.agent.go_on(limit, &mut progress),
        };
        let performed = performed.map_err(|error| error.in_phase(&place.phase.name))?;
        let seen = stage.since(&looked)?;
        so_far.notes(stage.late_since(&seen)?, seen);
        let first = so_far.first.get_or_insert(looked);
        let Some(outcome) = performed else {
            self.between_slices = Some(so_far);
            return Ok(());
        };
        let whole = stage.since(first)?.device;
        so_far.seen = so_far.seen.map(|seen| seen.with_all_of(whole));
        let ceiling = self.ceiling.as_ref();
        record.phases.push(so_far.kept(&Job { ceiling, stop: Arc::clone(&job.stop), ..*job }, &place, outcome));
        place.ends(stage)?;
        self.notes_space(stage, job, index, record);
        Ok(())
    }

    fn phase(
        &mut self,
        stage: &mut dyn Staged,
        job: &Job,
        index: usize,
        record: &mut TrialRecord,
        watcher: &mut dyn Watcher,
    ) -> Result<(), VenueError> {
        if self.left_out.contains(&index) {
            return Ok(());
        }
        let stop = Arc::clone(&job.stop);
        let of_phase = Job { ceiling: self.ceiling.as_ref(), stop, repetitions: self.repetitions, ..*job };
        let from = record.phases.len();
        let place = Place::of(&self.program, &self.left_out, &of_phase, index);
        watcher.news(News::Step(&place.facts.title));
        one_phase(stage, &mut self.agent, &of_phase, &place, &mut self.proof, record, watcher)?;
        let again = record.phases[from..].iter().filter(|pass| pass.evidence.set_aside).count();
        self.repetitions = self.repetitions.saturating_sub(again as u32);
        self.notes_space(stage, job, index, record);
        Ok(())
    }

    /// Records in the last pass the space that the filesystem took for the files that exist now.
    fn notes_space(&self, stage: &mut dyn Staged, job: &Job, index: usize, record: &mut TrialRecord) {
        if let Some(last) = record.phases.last_mut() {
            // No figures for a directory, which other processes also use.
            let now = match self.empty {
                (None, None) => (None, None),
                _ => in_use(stage),
            };
            evidence::note_space(&mut last.evidence, self.empty, now, job.work.estimate.phases.get(index));
        }
    }
}

/// Phases that the filesystem cannot run, each recorded with the missing feature.
fn left_out(lacking: &[Lack], work: &Compiled, record: &mut TrialRecord) -> Result<BTreeSet<usize>, VenueError> {
    let left_out: BTreeSet<usize> = lacking.iter().map(|lack| lack.phase).collect();
    let measured = || work.program.phases.iter().enumerate().filter(|(_, phase)| !phase.preparation);
    if let Some(lack) = lacking.first()
        && measured().all(|(index, _)| left_out.contains(&index))
    {
        return Err(VenueError::lasting(format!("it supports no phase of this workload: {}", lack.why)));
    }
    if let Some(found) = &mut record.found {
        let named = |lack: &Lack| (work.program.phases[lack.phase].name.clone(), lack.why.clone());
        found.cannot = lacking.iter().map(named).collect();
    }
    Ok(left_out)
}

/// The memory ceiling where the work runs: measured once for this machine, and once for each other.
fn ceiling(
    machine: Option<String>,
    agent: &mut Agent,
    job: &Job,
    ceilings: &mut Ceilings,
) -> Result<Option<Ceiling>, VenueError> {
    let Some(machine) = machine else { return Ok(job.ceiling.cloned()) };
    if let Some(known) = ceilings.get(&machine) {
        return Ok(Some(known.clone()));
    }
    let measured = agent.measure_ceiling()?;
    ceilings.insert(machine, measured.clone());
    Ok(Some(measured))
}

/// Space and inodes; None if a stage does not report them, which is no error, or reports no space.
fn usage(stage: &mut dyn Staged) -> Option<Usage> {
    stage.usage().ok().filter(|usage| usage.total_bytes > 0)
}

/// Bytes and inodes that the filesystem has allocated. A directory's filesystem has other users, and the raw device has none.
fn used(stage: &mut dyn Staged, setup: &Setup) -> (Option<u64>, Option<u64>) {
    if setup.shared || setup.found.filesystem == DEVICE {
        return (None, None);
    }
    in_use(stage)
}

fn in_use(stage: &mut dyn Staged) -> (Option<u64>, Option<u64>) {
    let Some(usage) = usage(stage) else { return (None, None) };
    let inodes = usage.inodes.zip(usage.inodes_free).map(|(all, free)| all.saturating_sub(free));
    (Some(usage.used_bytes), inodes)
}

/// The workload's program, adapted to this stage.
fn program(stage: &mut dyn Staged, setup: &Setup, job: &Job) -> Result<Program, VenueError> {
    let estimate = &job.work.estimate;
    let usage = usage(stage);
    let (bytes, inodes) = (usage.map(|usage| usage.available_bytes), usage.and_then(|usage| usage.inodes_free));
    if estimate.needs_files && inodes.is_some_and(|free| free > 0 && free < estimate.inodes_at_most()) {
        let free = inodes.unwrap_or_default();
        let needed = estimate.inodes_at_most();
        let reason = format!(
            "the workload creates {needed} files and folders, and this filesystem has {free} free inodes; give it more space (--image, --on), or mkfs options with more inodes"
        );
        return Err(VenueError::lasting(reason));
    }
    if estimate.needs_files && bytes.is_some_and(|free| free < estimate.bytes_at_most) {
        let free = bytes.unwrap_or_default();
        let reason = format!(
            "the workload writes {:.1} MB of files, and {:.1} MB are free on this filesystem; give it more space (--image, --on)",
            estimate.bytes_at_most as f64 / 1e6,
            free as f64 / 1e6
        );
        return Err(VenueError::lasting(reason));
    }
    Ok(Program {
        root: setup.root.clone(),
        root_inode: setup.root_inode,
        device: setup.device.clone(),
        durable: setup.durable.clone(),
        tools: setup.tools.clone(),
        seed: job.seed,
        ..job.work.program.clone()
    })
}

/// One phase of a program.
struct Place<'a> {
    program: &'a Program,
    index: usize,
    phase: &'a Phase,
    facts: &'a PhaseFacts,
    /// The next phase; None for the last.
    next: Option<&'a Phase>,
}

impl<'a> Place<'a> {
    fn of(program: &'a Program, left_out: &BTreeSet<usize>, job: &'a Job, index: usize) -> Self {
        let next = (index + 1..program.phases.len()).find(|next| !left_out.contains(next));
        let (phase, facts) = (&program.phases[index], &job.work.phases[index]);
        Place { program, index, phase, facts, next: next.map(|next| &program.phases[next]) }
    }

    /// Carries out what the phase requests after its last pass.
    fn ends(&self, stage: &mut dyn Staged) -> Result<(), VenueError> {
        if self.phase.after.sync && (self.ends_by_itself() || self.is_last()) {
            stage.sync()?;
        }
        if self.phase.after.drop_caches && self.ends_by_itself() {
            stage.drop_caches()?;
        }
        Ok(())
    }

    /// Whether the actions after this phase must be done separately: a cold start of the next phase includes them, and after the last phase
    /// nothing reads.
    fn ends_by_itself(&self) -> bool {
        self.next.is_some_and(|next| next.cache != Cache::Cold)
    }

    fn is_last(&self) -> bool {
        self.next.is_none()
    }
}

fn one_phase(
    stage: &mut dyn Staged,
    agent: &mut Agent,
    job: &Job,
    place: &Place,
    proof: &mut Proof,
    record: &mut TrialRecord,
    watcher: &mut dyn Watcher,
) -> Result<(), VenueError> {
    let phase = place.phase;
    let rounds = job.steady && steady::repeatable(phase);
    let again = if rounds { None } else { job.passes.get(&phase.name).copied() };
    let began = job.clock.steady();
    let from = record.phases.len();
    let mut state = CacheState::settled(stage, agent, place, proof)?;
    let mut may_repeat = !rounds && job.repetitions > 0 && steady::reads_again(phase);
    let mut pass = 0;
    loop {
        let one = one_pass(stage, agent, job, place, (pass, &state), watcher)?;
        let disturbed = !one.evidence.disturbed.is_empty();
        record.phases.push(one);
        if disturbed && std::mem::take(&mut may_repeat) {
            record.phases.last_mut().expect("just pushed").evidence.set_aside = true;
            state = CacheState::settled(stage, agent, place, proof)?;
            continue;
        }
        let done = match again {
            _ if rounds => steady::ended(&mut record.phases[from..], place.facts),
            Some(wanted) => are_enough(wanted, pass + 1, job.clock.steady().saturating_sub(began)),
            None => pass + 1 >= phase.passes,
        };
        if done {
            break;
        }
        pass += 1;
        if rounds || again.is_some() {
            // Each starts like the first; passes that the workload requests find the state left by the previous one.
            state = CacheState::settled(stage, agent, place, proof)?;
        } else {
            if wait_unless(job.clock, Duration::from_nanos(phase.pause_ns), &*job.stop) {
                return Err(VenueError::Stopped);
            }
            state = CacheState::default();
        }
    }
    if again.is_some() {
        set_disturbed_aside(&mut record.phases[from..]);
    }
    place.ends(stage)
}

impl Slices {
    fn notes(&mut self, late: Option<DiskLateness>, seen: Evidence) {
        let share = |late: &Option<DiskLateness>| late.as_ref().map_or(0.0, |late| late.share);
        if share(&late) >= share(&self.late) {
            self.late = late.or(self.late.take());
        }
        self.seen = Some(match self.seen.take() {
            Some(before) => before.and(seen),
            None => seen,
        });
    }

    fn kept(self, job: &Job, place: &Place, outcome: PhaseOutcome) -> PhaseRecord {
        kept(job, place, &self.state, (self.seen.unwrap_or_default(), self.late), outcome)
    }
}

/// Of passes that start alike, those with outside disturbance count only if all were disturbed.
fn set_disturbed_aside(passes: &mut [PhaseRecord]) {
    let is_quiet = |pass: &PhaseRecord| pass.counts() && pass.evidence.disturbed.is_empty();
    if passes.iter().any(is_quiet) {
        passes.iter_mut().filter(|pass| !is_quiet(pass)).for_each(|pass| pass.evidence.set_aside = true);
    }
}

/// Whether files were checked for cached pages in this trial.
#[derive(Debug, Default)]
struct Proof {
    looked: bool,
}

impl Proof {
    /// Whether to check before this phase. An unmounted filesystem has nothing cached, so one check per trial is enough; dropping may leave
    /// pages behind, so each time is checked.
    fn is_wanted(&self, emptied: &Dropped, phase: &Phase) -> bool {
        let reads = phase.is_opaque() || phase.groups.iter().any(|group| has(&group.steps, &Step::Read));
        !emptied.mounted_anew || (!self.looked && reads)
    }
}

/// What was done with the caches before a pass.
#[derive(Debug, Default)]
struct CacheState {
    emptied: Option<Dropped>,
    cached_bytes: Option<u64>,
}

impl CacheState {
    fn brought_about(
        stage: &mut dyn Staged,
        agent: &mut Agent,
        place: &Place,
        proof: &mut Proof,
    ) -> Result<Self, VenueError> {
        let mut state = Self::default();
        match place.phase.cache {
            Cache::Cold => state.empty(stage, agent, place, proof)?,
            Cache::Warm => {
                agent.warm(place.index, Duration::from_secs(place.program.limit_of(place.index)))?;
            }
            Cache::AsFound => {}
        }
        Ok(state)
    }

    /// As [`Self::brought_about`]; then waits until the devices are idle.
    fn settled(
        stage: &mut dyn Staged,
        agent: &mut Agent,
        place: &Place,
        proof: &mut Proof,
    ) -> Result<Self, VenueError> {
        let state = Self::brought_about(stage, agent, place, proof)?;
        stage.settle()?;
        Ok(state)
    }

    fn empty(
        &mut self,
        stage: &mut dyn Staged,
        agent: &mut Agent,
        place: &Place,
        proof: &mut Proof,
    ) -> Result<(), VenueError> {
        let mut emptied = stage.drop_caches()?;
        if proof.is_wanted(&emptied, place.phase) {
            let counted = agent.count_cached(place.index)?;
            proof.looked |= counted.is_some_and(|(_, files)| files > 0);
            self.cached_bytes = counted.map(|(bytes, _)| bytes);
            // Counting opens files, and so caches their inodes (and on btrfs the small files next to them).
            let again = stage.drop_caches()?;
            emptied = Dropped { complete: emptied.complete && again.complete, ..again };
            emptied.start.files_looked_at = counted.map(|(_, files)| files);
        }
        self.emptied = Some(emptied);
        Ok(())
    }
}

fn one_pass(
    stage: &mut dyn Staged,
    agent: &mut Agent,
    job: &Job,
    place: &Place,
    (pass, state): (u32, &CacheState),
    watcher: &mut dyn Watcher,
) -> Result<PhaseRecord, VenueError> {
    let &Place { program, index, phase, .. } = place;
    if phase.is_unmounted() {
        stage.unmount_only()?;
    }
    if let Some(number) = phase.device_of(VolumeTool::LoseDevice) {
        stage.lose_device(number)?;
    }
    // Memory that emptying the cache freed before a further pass is still provided by the host.
    if pass == 0 || state.emptied.is_none() {
        provide_memory(stage, job, place, phase.passes.max(1));
    }
    let looked = stage.look()?;
    let mut progress = |items, of, bytes| watcher.news(News::Progress(items, of, bytes));
    let performed = agent.perform(index, pass, Duration::from_secs(program.limit_of(index)), &mut progress);
    let outcome = performed.map_err(|error| error.in_phase(&phase.name))?;
    let seen = stage.since(&looked)?;
    let late = stage.late_since(&seen)?;
    if phase.is_unmounted() {
        stage.mount_state()?;
    }
    if phase.device_of(VolumeTool::Rebuild).is_some() {
        stage.has_all_devices()?;
    }
    Ok(kept(job, place, state, (seen, late), outcome))
}

/// A pass, with the evidence of the machine.
fn kept(
    job: &Job,
    place: &Place,
    state: &CacheState,
    (seen, late): (Evidence, Option<DiskLateness>),
    outcome: PhaseOutcome,
) -> PhaseRecord {
    let &Place { program, phase, facts, .. } = place;
    let before = Before { emptied: state.emptied.as_ref(), cached_bytes: state.cached_bytes };
    let mut evidence = evidence::weigh(&before, &seen, program, phase, &outcome, job.ceiling);
    evidence::note_lateness(&mut evidence, late);
    if job.work.counts_instructions() {
        // Busy disks and stolen time change only times, which are not judged here.
        evidence.disturbed.clear();
    }
    PhaseRecord {
        name: phase.name.clone(),
        operation: facts.operation.clone(),
        cache: phase.cache,
        figure: phase.figure,
        preparation: phase.preparation,
        outcome,
        evidence,
    }
}

/// Makes the host provide the memory that one of so many parts of a phase takes.
fn provide_memory(stage: &dyn Staged, job: &Job, place: &Place, parts: u32) {
    if let Some(memory) = job.memory.filter(|_| stage.machine().is_none()) {
        memory.provide(memory_of_part(place.phase, job.work.estimate.phases.get(place.index), parts));
    }
}

/// Most memory that a part of a phase takes from the kernel: what it writes and reads through the page cache, and a page for each item's
/// inode and name.
fn memory_of_part(phase: &Phase, estimate: Option<&PhaseEstimate>, parts: u32) -> u64 {
    const BESIDE: u64 = 8 << 20;
    const OF_ITEM: u64 = 4096;
    let parts = u64::from(parts);
    if phase.groups.iter().all(|group| group.io.direct) {
        return BESIDE / parts;
    }
    let bytes = estimate.map_or(0, |phase| phase.bytes_written.saturating_add(phase.bytes_read));
    let items = estimate.map_or(0, |phase| phase.items).saturating_mul(OF_ITEM);
    bytes.saturating_add(items).saturating_add(BESIDE) / parts
}

fn blank(job: &Job) -> TrialRecord {
    let begun = TrialRecord::begun(job.place, job.contender as u32, &job.work.program.workload, &job.work.scale);
    TrialRecord { attempt: job.attempt, began_ms: job.clock.stamp_ms(), ..begun }
}
