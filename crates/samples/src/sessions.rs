//! Sessions of a run: parts of it in one state of the machine.
//! In: a run's record and its trials. Out: [`Sessions`]: the round at which each begins, and why; [`Rate`]s, and how they differ between runs.
//! A run that is resumed hours later is in another session, and so is what follows a change of the machine's speed.

use crate::cells::counted;
use crate::figures;
use judge::{MachineChange, machine_changes, machine_differs};
use records::program::Figure;
use records::{ContenderRecord, DEVICE, PhaseRecord, RunRecord, TrialRecord, WorkRecord};
use std::collections::BTreeMap;

/// A round that begins at least this many milliseconds after the end of the previous one is in another session: ten minutes, longer than
/// any pause within a run.
const PAUSE_MS: i64 = 600_000;
/// Fewest bytes that the device must receive in a pass for a write rate.
const LEAST_WRITTEN: u64 = 16 << 20;

/// The sessions of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sessions {
    /// First block of each session, ascending; the first one is block 0 or that of the first trial. Empty without trials.
    pub firsts: Vec<u32>,
    /// First block after each pause of ten minutes or more, with its milliseconds since the first trial began.
    pub pauses: Vec<(u32, i64)>,
    /// Changes of the machine, each with the first block of the new state.
    pub changes: Vec<(u32, Change)>,
}

/// A changed rate of the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// What was timed, as a gerund: "reading the raw device in sequence".
    pub doing: String,
    /// The unit of the rate.
    pub figure: Figure,
    /// The rate before, in bytes or items a second.
    pub before: f64,
    /// The rate after, in the same unit.
    pub after: f64,
}

/// Finds the sessions of a run. Merged shards ran on several machines or in parallel, and results of other programs have no times: these
/// count as one session.
pub fn sessions(run: &RunRecord, contenders: &[ContenderRecord], trials: &[TrialRecord]) -> Sessions {
    let Some(first) = trials.iter().map(|trial| trial.block).min() else { return Sessions::default() };
    if run.new.merged.is_some() {
        return Sessions { firsts: vec![first], ..Sessions::default() };
    }
    let pauses = pauses(trials);
    let changes = changes(&rates(run, contenders, trials));
    let mut firsts = vec![first];
    firsts.extend(pauses.iter().map(|pause| pause.0).chain(changes.iter().map(|change| change.0)));
    firsts.sort_unstable();
    firsts.dedup();
    Sessions { firsts, pauses, changes }
}

/// Blocks that begin after a pause. An interrupted round belongs to the session that measured most of it. A pause within the very first
/// round is preparation, such as making aged images.
fn pauses(trials: &[TrialRecord]) -> Vec<(u32, i64)> {
    let mut timed: Vec<&TrialRecord> = trials.iter().filter(|trial| trial.began_ms > 0).collect();
    timed.sort_by_key(|trial| (trial.began_ms, trial.block));
    let Some(first) = timed.first() else { return Vec::new() };
    let mut found: Vec<(u32, i64)> = Vec::new();
    let mut ended = first.ended_ms;
    for (at, trial) in timed.iter().enumerate().skip(1) {
        let is_pause = trial.began_ms.saturating_sub(ended) >= PAUSE_MS;
        ended = ended.max(trial.ended_ms);
        let block = trial.block;
        if !is_pause || block == first.block {
            continue;
        }
        let of_block = |all: &[&TrialRecord]| all.iter().filter(|other| other.block == block).count();
        let begins = match of_block(&timed[..at]) <= of_block(&timed[at..]) {
            true => Some(block),
            false => timed[at..].iter().map(|other| other.block).filter(|other| *other > block).min(),
        };
        let after = trial.began_ms.saturating_sub(first.began_ms);
        found
            .extend(begins.filter(|begins| found.iter().all(|known| known.0 != *begins)).map(|begins| (begins, after)));
    }
    found
}

/// A rate of the machine in each round: how fast the raw device reads in one phase, or how fast the device accepts the contenders' writes.
#[derive(Debug, Clone)]
pub struct Rate {
    /// Name and scale of the workload.
    of: (String, String),
    doing: String,
    figure: Figure,
    values: Vec<(u32, f64)>,
}

impl Rate {
    fn changed(&self, before: f64, after: f64) -> Change {
        Change { doing: self.doing.clone(), figure: self.figure, before, after }
    }
}

/// The rates of the machine during a run. Merged shards have none: they ran on several machines.
pub fn rates(run: &RunRecord, contenders: &[ContenderRecord], trials: &[TrialRecord]) -> Vec<Rate> {
    if run.new.merged.is_some() {
        return Vec::new();
    }
    let counted: Vec<&TrialRecord> = counted(trials).into_iter().map(|(_, trial)| trial).collect();
    let is_raw = |trial: &TrialRecord| {
        let of = contenders.iter().find(|record| record.index == trial.contender);
        of.and_then(|record| record.asked.as_ref()).is_some_and(|asked| asked.filesystem == DEVICE)
    };
    let (raw, others): (Vec<&TrialRecord>, Vec<&TrialRecord>) = counted.into_iter().partition(|trial| is_raw(trial));
    let of_work = |work| reading(work, &raw).into_iter().chain(writing(work, &others));
    run.new.works.iter().flat_map(of_work).collect()
}

fn changes(rates: &[Rate]) -> Vec<(u32, Change)> {
    let values: Vec<Vec<(u32, f64)>> = rates.iter().map(|rate| rate.values.clone()).collect();
    let named = |MachineChange { block, rate, before, after }| (block, rates[rate].changed(before, after));
    machine_changes(&values).into_iter().map(named).collect()
}

/// How the machine differed between two runs, in the rates that both have.
pub fn differences(first: &[Rate], second: &[Rate]) -> Vec<Change> {
    let same = |rate: &&Rate, other: &&Rate| (&rate.of, &rate.doing) == (&other.of, &other.doing);
    let pairs = first.iter().filter_map(|rate| Some((rate, second.iter().find(|other| same(&rate, other))?)));
    let (first, second): (Vec<&Rate>, Vec<&Rate>) = pairs.unzip();
    let values = |rates: &[&Rate]| rates.iter().map(|rate| rate.values.clone()).collect::<Vec<_>>();
    let differing = machine_differs(&values(&first), &values(&second));
    differing.into_iter().map(|(at, before, after)| first[at].changed(before, after)).collect()
}

fn named(work: &WorkRecord) -> (String, String) {
    (work.name.clone(), work.scale.clone())
}

fn is_of(trial: &TrialRecord, work: &WorkRecord) -> bool {
    trial.workload == work.name && trial.scale == work.scale
}

/// How fast the raw device reads in each phase.
fn reading(work: &WorkRecord, raw: &[&TrialRecord]) -> Vec<Rate> {
    let phases = work.phases.iter().filter(|facts| !facts.preparation && facts.own.is_none());
    let rate = |facts: &records::facts::PhaseFacts| {
        let of_trial = |trial: &&&TrialRecord| {
            let counts = |phase: &&PhaseRecord| phase.name == facts.name && phase.counts();
            let passes = trial.phases.iter().filter(counts).filter_map(|phase| figures::returned(phase, facts));
            Some((trial.block, judge::median(&passes.collect::<Vec<f64>>())?))
        };
        let values = raw.iter().filter(|trial| is_of(trial, work)).filter_map(|trial| of_trial(&trial)).collect();
        Rate { of: named(work), doing: facts.doing.clone(), figure: facts.figure, values }
    };
    let rates =
        phases.filter(|facts| matches!(facts.figure, Figure::BytesPerSecond | Figure::ItemsPerSecond)).map(rate);
    rates.filter(|rate| !rate.values.is_empty()).collect()
}

/// How fast the device accepts the data of the phase that writes most: the geometric mean over the contenders that were measured in every
/// round, so that the rate changes only with the machine.
fn writing(work: &WorkRecord, trials: &[&TrialRecord]) -> Option<Rate> {
    let mine: Vec<&&TrialRecord> = trials.iter().filter(|trial| is_of(trial, work)).collect();
    let most = |name: &str| {
        let written = mine.iter().flat_map(|trial| &trial.phases).filter(|phase| phase.name == name);
        written.filter_map(|phase| written_rate(phase).map(|_| phase.outcome.bytes_written)).max()
    };
    let phases = work.phases.iter().filter(|facts| !facts.preparation && facts.own.is_none());
    let (written, facts) = phases.filter_map(|facts| Some((most(&facts.name)?, facts))).max_by_key(|known| known.0)?;
    let mut rounds: Vec<u32> = mine.iter().map(|trial| trial.block).collect();
    rounds.sort_unstable();
    rounds.dedup();
    let mut by_contender: BTreeMap<u32, BTreeMap<u32, f64>> = BTreeMap::new();
    for trial in &mine {
        let passes = trial.phases.iter().filter(|phase| phase.name == facts.name && phase.counts());
        if let Some(rate) = judge::median(&passes.filter_map(written_rate).collect::<Vec<f64>>()) {
            by_contender.entry(trial.contender).or_default().insert(trial.block, rate.ln());
        }
    }
    by_contender.retain(|_, known| known.len() == rounds.len());
    let count = by_contender.len() as f64;
    let mean = |round: &u32| by_contender.values().filter_map(|known| known.get(round)).sum::<f64>() / count;
    let values = rounds.iter().map(|round| (*round, mean(round).exp())).collect();
    let doing = format!("{} (all contenders)", facts.doing);
    (written > 0 && count > 0.0).then_some(Rate { of: named(work), doing, figure: Figure::BytesPerSecond, values })
}

/// Bytes a second that the device received until all was durable.
fn written_rate(phase: &PhaseRecord) -> Option<f64> {
    let bytes = phase.evidence.device_written_bytes.filter(|bytes| *bytes >= LEAST_WRITTEN)?;
    let elapsed = phase.outcome.durable_ns.filter(|elapsed| *elapsed > 0)?;
    Some(bytes as f64 * 1e9 / elapsed as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of two contenders, a minute each, with the given minutes before each round.
    fn rounds(before: &[i64]) -> Vec<TrialRecord> {
        let mut now = 1_795_000_000_000;
        let mut trials = Vec::new();
        for (block, pause) in before.iter().enumerate() {
            now += pause * 60_000;
            for contender in 0..2 {
                let begun = TrialRecord::begun((block as u32, contender), contender, "work", "quick");
                trials.push(TrialRecord { began_ms: now, ended_ms: now + 30_000, ..begun });
                now += 30_000;
            }
        }
        trials
    }

    #[test]
    fn a_round_ten_minutes_after_the_one_before_begins_a_session() {
        assert_eq!(pauses(&rounds(&[0, 0, 9, 0])), []);
        assert_eq!(pauses(&rounds(&[0, 0, 10, 0, 300, 0])), [(2, 12 * 60_000), (4, 314 * 60_000)]);
        assert_eq!(pauses(&[]), []);
    }

    #[test]
    fn an_interrupted_round_belongs_where_most_of_it_was_measured() {
        let mut trials = rounds(&[0, 0, 0, 0]);
        // Round 1 was interrupted after the first of three trials.
        trials.insert(4, TrialRecord { contender: 2, ..trials[3].clone() });
        let hour = 3_600_000;
        let shift =
            |trial: &mut TrialRecord| (trial.began_ms, trial.ended_ms) = (trial.began_ms + hour, trial.ended_ms + hour);
        let mut early = trials.clone();
        early[3..].iter_mut().for_each(shift);
        assert_eq!(pauses(&early).iter().map(|pause| pause.0).collect::<Vec<u32>>(), [1]);
        // After the second of three.
        let mut late = trials.clone();
        late[4].began_ms += 30_000;
        late[4].ended_ms += 30_000;
        late[4..].iter_mut().for_each(shift);
        assert_eq!(pauses(&late).iter().map(|pause| pause.0).collect::<Vec<u32>>(), [2]);
        // Images are made within the first round.
        let mut first = trials;
        first[1..].iter_mut().for_each(shift);
        assert_eq!(pauses(&first), []);
    }
}
