//! A run: rounds of trials in shuffled order, each stored at once, until the judge stops it.
//! In: a plan, a venue, a ledger. Out: trials in the ledger, and how the run ended.
//! Resuming is the same loop: trials in the ledger are not repeated.

use crate::agent::{Agent, AgentError};
use crate::attempts::{Attempts, Next};
use crate::budget::{self, Times};
use crate::clock::{Clock, wait_unless};
use crate::order;
use crate::passes::{Passes, passes};
use crate::slices::slices;
use crate::trial::{self, Ceilings, Ending, Job, Stop};
use crate::venue::Venue;
use crate::watch::{News, Watcher};
use judge::{Decision, Needed, Policy, Table};
use ledger::{Ledger, LedgerError};
use records::{ResolvedPlan, RunRecord, RunStatus, Shard, TrialRecord, Turns, Work};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use system::touched::PageCache;
use workload::outcome::Ceiling;

/// Waits before retries of a ledger that refused temporarily.
const LEDGER_WAITS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(20)];

/// A folder that is on a disk (file-hierarchy(7)).
const DISK: &str = "/var/tmp";

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// By its stopping rule, in a sentence.
    Finished(String),
    /// By the user; it can be resumed.
    Stopped,
    /// The device is lost; results in the ledger stay valid.
    GroundLost(String),
}

/// Why a run could not continue at all.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The ledger refused.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The ledger was removed or replaced during the run.
    #[error("{error}. {}", way_on(.saved, .run))]
    LedgerGone {
        /// What happened to it.
        error: Box<LedgerError>,
        /// Where its content was saved.
        saved: Option<PathBuf>,
        /// The run.
        run: String,
    },
    /// The engine could not be started.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The judge refused the table.
    #[error(transparent)]
    Table(#[from] judge::TableError),
}

/// A run in progress.
pub struct Run<'a> {
    /// The plan.
    pub plan: &'a ResolvedPlan,
    /// Its id in the ledger.
    pub id: &'a str,
    /// Where trials are kept.
    pub ledger: &'a mut Ledger,
    /// Where contenders are staged.
    pub venue: &'a mut dyn Venue,
    /// Receives news of the run.
    pub watcher: &'a mut dyn Watcher,
    /// The command that starts the engine.
    pub agent: Vec<String>,
    /// Whether the user asked to stop.
    pub stop: Stop,
    /// The clocks.
    pub clock: &'a dyn Clock,
}

/// A trial that is due.
#[derive(Debug, Clone, Copy)]
struct Due {
    contender: usize,
    /// Its position among the contenders of the round.
    position: usize,
    /// Number of earlier attempts.
    attempt: u32,
}

/// State of the run so far, besides the ledger.
struct State {
    /// When this process took over, by the monotonic clock.
    began: Duration,
    /// Seconds that were spent before this process took over.
    spent_before: f64,
    attempts: Attempts,
    /// All trials so far, in the order of the ledger.
    trials: Vec<TrialRecord>,
    /// Ceiling of this machine's memory.
    ceiling: Option<Ceiling>,
    /// Ceilings of other machines.
    ceilings: Ceilings,
    /// Durations of trials.
    times: Times,
    /// Provides memory for files, if the host takes memory back.
    memory: Option<PageCache>,
    /// Passes of each workload's phases in this round, per contender.
    passes: Vec<Vec<Passes>>,
}

impl Run<'_> {
    /// Continues the run from its state in the ledger to its end.
    ///
    /// # Errors
    /// The ledger or the engine refused, or the table cannot be judged.
    pub fn carry_on(&mut self) -> Result<Ended, RunError> {
        let (began, before) = (self.clock.steady(), self.seconds_before()?);
        let ended = self.blocks()?;
        let (status, why) = match &ended {
            Ended::Finished(why) => (RunStatus::Finished, why.as_str()),
            Ended::Stopped => (RunStatus::Interrupted, "stopped by the user"),
            Ended::GroundLost(why) => (RunStatus::Interrupted, why.as_str()),
        };
        self.ledger_is_there()?;
        let seconds = before + self.clock.steady().saturating_sub(began).as_secs_f64();
        self.ledger.end_run(self.id, status, why, seconds)?;
        Ok(ended)
    }

    /// Duration of the run in seconds before this process took over. A killed process left only its trials.
    fn seconds_before(&self) -> Result<f64, RunError> {
        let trials: f64 = self.ledger.trials(self.id)?.iter().map(TrialRecord::took).sum();
        Ok(self.record()?.took().unwrap_or(0.0).max(trials))
    }

    fn blocks(&mut self) -> Result<Ended, RunError> {
        // A resume retries contenders whose failures were temporary.
        self.ledger.readmit(self.id)?;
        let mut state = self.state()?;
        self.ledger.set_open(self.id)?;
        let planned = self.plan.trials_per_block() * self.plan.least_blocks() as usize;
        let done = state.attempts.places();
        let spent = Duration::try_from_secs_f64(state.spent_before).unwrap_or_default();
        self.watcher.news(News::Began { run: self.id, trials: (done, planned.max(done)), spent });
        self.measure_ceiling(&mut state)?;
        if let Some(shard) = self.plan.shard {
            return self.blocks_of(shard, &mut state);
        }
        let mut block = 0;
        loop {
            let needed = match self.needed(&state, block)? {
                Step::Go(needed) => needed,
                Step::Stop(why) => return Ok(Ended::Finished(self.with_overrun(&state, block, why))),
            };
            match self.block(&mut state, block, &needed)? {
                None => block += 1,
                Some(Ended::Finished(why)) => return Ok(Ended::Finished(self.with_overrun(&state, block, why))),
                Some(ended) => return Ok(ended),
            }
        }
    }

    /// The ending, and why the run took longer than its budget, if it did.
    fn with_overrun(&self, state: &State, blocks: u32, mut why: String) -> String {
        let overrun = budget::overrun(self.gone(state), self.limit(state, blocks, 0));
        why.push_str(overrun.as_deref().unwrap_or_default());
        why
    }

    /// The rounds of one shard: a fixed number, since no shard knows the results of the others.
    fn blocks_of(&mut self, shard: Shard, state: &mut State) -> Result<Ended, RunError> {
        let sampling = &self.plan.sampling;
        let all = sampling.samples.unwrap_or(sampling.blocks.1);
        for block in (0..all).filter(|block| shard.holds(*block)) {
            let everything = self.everything(state);
            if everything.is_empty() {
                return Ok(Ended::Finished("all contenders dropped out".into()));
            }
            if let Some(ended) = self.block(state, block, &everything)? {
                return Ok(ended);
            }
            let (table, _, _) = self.decide(state, block)?;
            let decision = format!("of shard {shard}; the shards decide together");
            self.watcher.news(News::BlockEnded { block, decision: &decision, table: &table });
        }
        let own = (0..all).filter(|block| shard.holds(*block)).count();
        Ok(Ended::Finished(format!("{own} of {all} rounds were run: shard {shard}.")))
    }

    /// Every pair that can be measured.
    fn everything(&self, state: &State) -> Vec<(usize, usize)> {
        (0..self.plan.works.len())
            .flat_map(|work| self.plan.contenders_of(work).into_iter().map(move |contender| (contender, work)))
            .filter(|pair| !state.attempts.is_out(*pair))
            .collect()
    }

    /// The state of the run so far, from the ledger.
    fn state(&self) -> Result<State, RunError> {
        let trials = self.ledger.trials(self.id)?;
        let mut state = State {
            began: self.clock.steady(),
            spent_before: trials.iter().map(TrialRecord::took).sum(),
            attempts: Attempts::default(),
            trials: Vec::new(),
            ceiling: self.record()?.ceiling,
            ceilings: Ceilings::new(),
            times: Times::default(),
            memory: PageCache::open(Path::new(DISK)),
            passes: Vec::new(),
        };
        for contender in self.ledger.contenders(self.id)? {
            if contender.error.is_some() {
                state.attempts.out.insert(contender.index as usize);
            }
        }
        for trial in &trials {
            if let Some(work) = self.work_of(trial) {
                note(&mut state, trial, work);
            }
        }
        state.attempts.another_chance();
        state.trials = trials;
        Ok(state)
    }

    /// Seconds of the run so far.
    fn gone(&self, state: &State) -> f64 {
        state.spent_before + self.clock.steady().saturating_sub(state.began).as_secs_f64()
    }

    /// Time limit of the run in seconds, after so many rounds and with so many more in progress.
    fn limit(&self, state: &State, blocks: u32, under_way: u32) -> Option<f64> {
        let sampling = &self.plan.sampling;
        let ahead = sampling.range().0.saturating_sub(blocks + under_way);
        budget::limit(sampling, blocks, self.gone(state) + f64::from(ahead) * state.times.of_block())
    }

    fn record(&self) -> Result<RunRecord, RunError> {
        Ok(self.ledger.run(Some(self.id))?)
    }

    fn work_of(&self, trial: &TrialRecord) -> Option<usize> {
        self.plan.works.iter().position(|work| work.name == trial.workload && work.compiled.scale == trial.scale)
    }

    fn measure_ceiling(&mut self, state: &mut State) -> Result<(), RunError> {
        if state.ceiling.is_some() {
            return Ok(());
        }
        let mut agent = Agent::start(&[], &self.agent, Arc::clone(&self.stop))?;
        match agent.measure_ceiling() {
            Ok(ceiling) => {
                self.ledger.set_ceiling(self.id, &ceiling)?;
                state.ceiling = Some(ceiling);
                agent.quit();
                Ok(())
            }
            Err(AgentError::Stopped) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The (contender, workload) pairs that the next round needs.
    fn needed(&mut self, state: &State, block: u32) -> Result<Step, RunError> {
        let everything = self.everything(state);
        if everything.is_empty() {
            return Ok(Step::Stop("all contenders dropped out".into()));
        }
        // A resumed run passes through rounds that the ledger already holds without a new decision of the judge.
        if block == 0 || state.attempts.has_block(block) {
            return Ok(Step::Go(everything));
        }
        let (table, policy, decision) = self.decide(state, block)?;
        let ending = |why: Option<&str>| Ok(Step::Stop(budget::ending(&table, &policy, &decision, why)));
        // Failed trials give no samples, so the judge may request more rounds than the cap allows.
        let most = policy.max_blocks;
        let text = budget::after_block(&table, &policy, &decision, block == 1);
        if block >= most && decision.goes_on() {
            return ending(Some(&format!("{most} rounds were run.")));
        }
        self.watcher.news(News::BlockEnded { block: block - 1, decision: &text, table: &table });
        if !decision.goes_on() {
            return ending(None);
        }
        let wanted: BTreeSet<(usize, usize)> = decision.next.iter().filter_map(|next| self.pair(next)).collect();
        let chosen: Vec<_> = everything.into_iter().filter(|pair| wanted.contains(pair)).collect();
        if chosen.is_empty() {
            return ending(None);
        }
        Ok(Step::Go(chosen))
    }

    /// The judge's decision so far, and the table it is based on.
    fn decide(&self, state: &State, blocks: u32) -> Result<(Table, Policy, Decision), RunError> {
        let record = self.record()?;
        let table = samples::table(&record, &self.ledger.contenders(self.id)?, &state.trials);
        let policy = budget::policy(&self.plan.sampling, self.gone(state), self.limit(state, blocks, 0));
        // With nothing else to compare, the question is which variant of a contender is best.
        let asked = samples::only_variants(&record, &table).filter(|_| policy.until == judge::Until::Winner);
        let Some(variants) = asked else {
            let decision = judge::decide(&table, &policy)?;
            return Ok((table, policy, decision));
        };
        let mut decision = judge::decide(&variants.table, &policy)?;
        decision.next = variants.needed(&decision.next);
        Ok((variants.table, policy, decision))
    }

    /// How the run ends if its budget does not hold the next trials. A round is begun only if it fits, but may be slower than earlier ones;
    /// the first round is always begun.
    fn out_of_time(&self, state: &State, due: &[Due], work: usize, block: u32) -> Result<Option<Ended>, RunError> {
        let Some(most) = self.limit(state, block, 1) else { return Ok(None) };
        let expected: f64 = due.iter().filter_map(|one| state.times.expected((one.contender, work))).sum();
        if self.gone(state) + expected <= most {
            return Ok(None);
        }
        let why = format!("The budget of {} ends within round {}.", judge::duration(most), block + 1);
        let (table, policy, decision) = self.decide(state, block)?;
        Ok(Some(Ended::Finished(budget::ending(&table, &policy, &decision, Some(&why)))))
    }

    fn pair(&self, needed: &Needed) -> Option<(usize, usize)> {
        let records = self.plan.work_records();
        let work = records.iter().position(|work| samples::work_name(&records, work) == needed.workload)?;
        self.plan.meets(needed.contender, work).then_some((needed.contender, work))
    }

    /// One round; `Some` if the run ends within it.
    fn block(&mut self, state: &mut State, block: u32, needed: &[(usize, usize)]) -> Result<Option<Ended>, RunError> {
        state.passes = self.passes(&state.trials);
        for (work, contenders) in order::order_of_block(self.plan, block) {
            if let Some(ended) = self.round(state, block, work, &contenders, needed)? {
                return Ok(Some(ended));
            }
            for (position, contender) in contenders.into_iter().enumerate() {
                let pair = (contender, work);
                if !needed.contains(&pair) || state.attempts.is_out(pair) {
                    continue;
                }
                if let Some(ended) = self.trials_of(state, block, position, pair)? {
                    return Ok(Some(ended));
                }
            }
        }
        Ok(None)
    }

    /// The first trials of a round of one workload, of all contenders at the same time, if they alternate by slices and have separate places.
    /// The rest of the round, such as trials that failed temporarily, runs one by one.
    fn round(
        &mut self,
        state: &mut State,
        block: u32,
        work: usize,
        contenders: &[usize],
        needed: &[(usize, usize)],
    ) -> Result<Option<Ended>, RunError> {
        let is_due = |contender: usize| {
            let is_first = state.attempts.next((block, contender, work)) == Some(0);
            needed.contains(&(contender, work)) && !state.attempts.is_out((contender, work)) && is_first
        };
        let contenders = contenders.iter().copied().filter(|contender| is_due(*contender)).enumerate();
        let due: Vec<Due> = contenders.map(|(position, contender)| Due { contender, position, attempt: 0 }).collect();
        if due.len() < 2 || self.plan.turns == Turns::Trial || self.venue.apart().is_none() {
            return Ok(None);
        }
        if (self.stop)() {
            return Ok(Some(Ended::Stopped));
        }
        if let Some(ended) = self.out_of_time(state, &due, work, block)? {
            return Ok(Some(ended));
        }
        if let Some(ended) = self.trials(state, block, work, &due)? {
            return Ok(Some(ended));
        }
        due.iter().try_for_each(|one| self.drop_out(state, (block, one.contender, work)))?;
        Ok(None)
    }

    /// Passes for each workload and contender. With a requested number of samples each trial uses the workload's own number.
    fn passes(&self, trials: &[TrialRecord]) -> Vec<Vec<Passes>> {
        let works = &self.plan.works;
        if self.plan.sampling.samples.is_some() || self.plan.shard.is_some() {
            return vec![vec![Passes::new(); self.plan.contenders.len()]; works.len()];
        }
        works.iter().map(|work| passes(&work.compiled, self.plan.contenders.len(), trials)).collect()
    }

    /// One trial, and its repetitions: after a disturbance, or a failure that may be temporary.
    fn trials_of(
        &mut self,
        state: &mut State,
        block: u32,
        position: usize,
        pair: (usize, usize),
    ) -> Result<Option<Ended>, RunError> {
        let place = (block, pair.0, pair.1);
        let Some(begun_at) = state.attempts.next(place) else { return Ok(None) };
        let mut attempt = begun_at;
        loop {
            if (self.stop)() {
                return Ok(Some(Ended::Stopped));
            }
            let due = [Due { contender: pair.0, position, attempt }];
            if let Some(ended) = self.out_of_time(state, &due, pair.1, block)? {
                return Ok(Some(ended));
            }
            if let Some(ended) = self.trials(state, block, pair.1, &due)? {
                return Ok(Some(ended));
            }
            let planned = self.plan.trials_per_block() as u32 * (block + 1);
            match state.attempts.after(place, planned, &self.plan.sampling, begun_at) {
                Next::Another => break,
                Next::Again(wait) => {
                    if !wait.is_zero() {
                        self.watcher.news(News::Step("waiting before the next attempt"));
                    }
                    if wait_unless(self.clock, wait, &*self.stop) {
                        return Ok(Some(Ended::Stopped));
                    }
                }
            }
            attempt += 1;
        }
        self.drop_out(state, place)?;
        Ok(None)
    }

    /// Drops a contender if its last trial shows that it cannot run.
    fn drop_out(&mut self, state: &mut State, place: (u32, usize, usize)) -> Result<(), RunError> {
        let Some((cause, why)) = state.attempts.goes_out(place) else { return Ok(()) };
        let contender = place.1;
        self.ledger.set_contender_error(self.id, contender as u32, &why, cause)?;
        state.attempts.out.insert(contender);
        self.watcher.news(News::ContenderOut { label: shown(self.plan, contender), why: &why });
        Ok(())
    }

    /// How many disturbed passes of the next trial may be repeated: none if the budget would not hold them.
    fn repetitions(&self, state: &State, pair: (usize, usize), block: u32) -> u32 {
        let expected = state.times.expected(pair).unwrap_or(0.0);
        let has_room = self.limit(state, block, 1).is_none_or(|most| self.gone(state) + 2.0 * expected <= most);
        if self.plan.sampling.repeat_disturbed && has_room { state.attempts.passes_left() } else { 0 }
    }

    /// Carries out trials of one workload in a round, several of them at the same time, and stores them; `Some` if the run ends within them.
    fn trials(&mut self, state: &mut State, block: u32, work: usize, due: &[Due]) -> Result<Option<Ended>, RunError> {
        // Checked first, to avoid hours of work for a file that no longer exists.
        self.ledger_is_there()?;
        let plan = self.plan;
        let Work { name, compiled, .. } = &plan.works[work];
        let Some(first) = due.first() else { return Ok(None) };
        self.venue.begins(block, work);
        self.watcher.news(News::TrialBegan { block, contender: shown(plan, first.contender), workload: name });
        let repetitions = due.iter().map(|one| self.repetitions(state, (one.contender, work), block));
        let repetitions: Vec<u32> = repetitions.collect();
        let job = |(one, repetitions): (&Due, u32)| Job {
            contender: one.contender,
            work: compiled,
            seed: order::content_seed(plan.seed, block, work),
            place: (block, one.position as u32),
            in_one_piece: plan.turns == Turns::Mixed && one.contender % 2 == 1,
            attempt: one.attempt,
            steady: plan.sampling.steady,
            repetitions,
            agent: &self.agent,
            ceiling: state.ceiling.as_ref(),
            memory: state.memory.as_ref(),
            stop: Arc::clone(&self.stop),
            clock: self.clock,
            passes: &state.passes[work][one.contender],
        };
        let jobs: Vec<Job> = due.iter().zip(repetitions).map(job).collect();
        let ended = if let [job] = &jobs[..] {
            trial::perform(self.venue, job, &mut state.ceilings, self.watcher).map(|record| vec![record])
        } else {
            let slices = slices(compiled, &state.trials);
            let turns =
                order::turns(plan.seed, block, work, due.len(), slices.iter().map(|count| *count as usize).sum());
            let mut all: Vec<Option<&mut dyn Venue>> = self.venue.apart().into_iter().flatten().map(Some).collect();
            let venues = due.iter().filter_map(|one| all.get_mut(one.contender)?.take()).collect();
            let label = |contender: usize| shown(plan, contender);
            trial::perform_together(venues, &jobs, (&slices, &turns), &mut state.ceilings, self.watcher, &label)
        };
        let records = match ended {
            Ok(records) => records,
            Err(Ending::Stopped) => return Ok(Some(Ended::Stopped)),
            Err(Ending::GroundLost(why)) => return Ok(Some(Ended::GroundLost(why))),
        };
        records.into_iter().try_for_each(|record| self.keep_and_tell(state, record, work))?;
        Ok(None)
    }

    /// Stores a finished trial, and notifies the watcher.
    fn keep_and_tell(&mut self, state: &mut State, record: TrialRecord, work: usize) -> Result<(), RunError> {
        self.keep(&record)?;
        note(state, &record, work);
        let plan = self.plan;
        let least = plan.least_blocks();
        let blocks = if plan.shard.is_some() { least } else { least.max(record.block + 1) };
        let planned = plan.trials_per_block() * blocks as usize;
        let done = (state.attempts.places(), planned);
        let contender = shown(plan, record.contender as usize);
        self.watcher.news(News::TrialEnded { contender, trial: &record, done });
        state.trials.push(record);
        Ok(())
    }

    /// Stores a trial; waits if the disk is temporarily full.
    fn keep(&mut self, record: &TrialRecord) -> Result<(), RunError> {
        let mut waits = LEDGER_WAITS.iter();
        loop {
            self.ledger_is_there()?;
            match (self.ledger.keep_trial(self.id, record), waits.next()) {
                (Err(LedgerError::ForNow { .. }), Some(wait)) => {
                    self.watcher.news(News::Step("waiting for space to save the trial"));
                    // Even after a stop request, the finished trial is worth a few seconds.
                    self.clock.wait(*wait);
                }
                (kept, _) => return Ok(kept?),
            }
        }
    }

    fn ledger_is_there(&self) -> Result<(), RunError> {
        self.ledger.still_the_same().map_err(|error| RunError::LedgerGone {
            error: error.into(),
            saved: self.ledger.save_beside(),
            run: self.id.into(),
        })
    }
}

/// The label of a contender; a control shows that of the contender that it repeats.
fn shown(plan: &ResolvedPlan, contender: usize) -> &str {
    plan.contenders[contender].asked.label.trim_end_matches(records::TWIN)
}

fn note(state: &mut State, trial: &TrialRecord, work: usize) {
    state.attempts.note(trial, work);
    state.times.note((trial.contender as usize, work), trial.took());
}

fn way_on(saved: &Option<PathBuf>, run: &str) -> String {
    match saved {
        Some(path) => {
            let path = path.display();
            format!("The run was saved as {path}: continue with `bakeoff --ledger {path} resume {run}`")
        }
        None => {
            "It could not be saved in another file; do not move or replace the ledger, and start the run again".into()
        }
    }
}

enum Step {
    Go(Vec<(usize, usize)>),
    Stop(String),
}
