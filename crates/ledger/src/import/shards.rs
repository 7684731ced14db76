//! Merges shards of one plan, measured on several machines, into one run.
//! In: runs as read, each a shard or merged already. Out: one run that holds every round once.
//! A plan is divided by rounds (part i of n has every n-th), so rounds keep their numbers and never collide.

use super::Imported;
use crate::store::{json, run_id};
use records::custody::Terms;
use records::plan::MOST_SHARDS;
use records::{Machine, Merged, Origin, Part, Place, ResolvedPlan, RunRecord, RunStatus, TrialRecord};
use std::collections::BTreeMap;

/// Facts about one part: its origin, and its trials.
struct Known<'a> {
    part: Part,
    trials: Vec<&'a TrialRecord>,
}

/// What a run is a part of, and the parts that it holds; `None` for a whole run.
pub(crate) fn cut(run: &RunRecord) -> Option<Merged> {
    if let Some(merged) = &run.new.merged {
        return Some(merged.clone()).filter(is_possible);
    }
    let shard = run.new.plan.as_ref()?.shard?;
    let finished = run.status == RunStatus::Finished;
    let part = Part {
        index: shard.index,
        run: run.id.clone(),
        finished,
        machine: run.new.machine.clone(),
        ceiling: run.ceiling.clone(),
    };
    Some(Merged { of: shard.of, parts: vec![part] }).filter(is_possible)
}

/// Whether a plan can be divided like this.
fn is_possible(merged: &Merged) -> bool {
    let within = merged.parts.iter().all(|part| part.index < merged.of);
    (1..=MOST_SHARDS).contains(&merged.of) && (1..=merged.of as usize).contains(&merged.parts.len()) && within
}

/// What shards of one plan have in common, as text: all except where they ran and which part they are.
pub(crate) fn key(read: &Imported) -> String {
    let new = &read.run.new;
    let nowhere = |plan| ResolvedPlan {
        shard: None,
        title: String::new(),
        place: Place::Directories(Vec::new()),
        filesystems: Vec::new(),
        terms: Terms::default(),
        ..plan
    };
    let contenders: Vec<_> =
        read.contenders.iter().map(|record| (&record.label, &record.asked, record.twin_of)).collect();
    let of = cut(&read.run).map(|cut| cut.of);
    json(&(of, new.plan.clone().map(nowhere), new.seed, &new.version, &new.works, contenders))
}

/// Merges shards of one plan.
///
/// # Errors
/// A trial of a round that does not belong to its shard; two contradicting records of one shard.
pub fn merged(shards: &[Imported]) -> Result<Imported, String> {
    let first = shards.first().ok_or("it has no shard")?;
    let of = cut(&first.run).ok_or_else(|| format!("run {} is not a shard", first.run.id))?.of;
    let mut known: BTreeMap<u32, Known> = BTreeMap::new();
    for shard in shards {
        for part in parts(shard, of)? {
            let trials = shard.trials.iter().filter(|trial| trial.block % of == part.index).collect();
            let new = Known { part, trials };
            let index = new.part.index;
            let kept = match known.remove(&index) {
                Some(before) => fuller(before, new, of)?,
                None => new,
            };
            known.insert(index, kept);
        }
    }
    let mut trials: Vec<TrialRecord> =
        known.values().flat_map(|part| part.trials.iter().map(|trial| (*trial).clone())).collect();
    trials.sort_by_key(|trial| trial.block);
    let parts: Vec<Part> = known.into_values().map(|known| known.part).collect();
    let mut contenders = first.contenders.clone();
    for (at, contender) in contenders.iter_mut().enumerate() {
        // A contender that is excluded on one machine may run on another; its failed trials show it.
        if shards.iter().any(|shard| shard.contenders[at].error.is_none()) {
            contender.error = None;
        }
    }
    Ok(Imported { run: record(shards, of, parts), contenders, trials })
}

/// The parts of a run, after a check that every trial is in one of their rounds.
fn parts(shard: &Imported, of: u32) -> Result<Vec<Part>, String> {
    let run = &shard.run;
    let parts = cut(run).ok_or_else(|| format!("run {} is not a shard", run.id))?.parts;
    let holds = |block: u32| parts.iter().any(|part| part.index == block % of);
    match shard.trials.iter().find(|trial| !holds(trial.block)) {
        Some(stray) => {
            Err(format!("run {} has a trial of round {}, which belongs to another shard", run.id, stray.block + 1))
        }
        None => Ok(parts),
    }
}

/// Of two records of one shard, the one that includes the other.
fn fuller<'a>(one: Known<'a>, other: Known<'a>, of: u32) -> Result<Known<'a>, String> {
    let (more, less) = if other.trials.len() >= one.trials.len() { (other, one) } else { (one, other) };
    let at = |trial: &&TrialRecord| {
        (trial.block, trial.contender, trial.workload.clone(), trial.scale.clone(), trial.attempt)
    };
    let all: BTreeMap<_, &TrialRecord> = more.trials.iter().map(|trial| (at(trial), *trial)).collect();
    if less.trials.iter().all(|trial| all.get(&at(trial)) == Some(trial)) {
        let finished = more.part.finished || less.part.finished;
        return Ok(Known { part: Part { finished, ..more.part }, trials: more.trials });
    }
    Err(format!(
        "shard {}/{of} was measured twice, in run {} and in run {}; leave one of them out",
        more.part.index + 1,
        more.part.run,
        less.part.run
    ))
}

fn record(shards: &[Imported], of: u32, parts: Vec<Part>) -> RunRecord {
    let first = &shards[0].run;
    let began_ms = shards.iter().map(|shard| shard.run.began_ms).min().unwrap_or(first.began_ms);
    let ended_ms = shards.iter().filter_map(|shard| shard.run.ended_ms).max();
    let missing: Vec<String> = (0..of)
        .filter(|index| parts.iter().all(|part| part.index != *index))
        .map(|index| (index + 1).to_string())
        .collect();
    let open: Vec<String> =
        parts.iter().filter(|part| !part.finished).map(|part| (part.index + 1).to_string()).collect();
    let (status, ending) = match (missing.as_slice(), open.as_slice()) {
        ([], []) => (RunStatus::Finished, format!("All {of} shards were run.")),
        ([], open) => (RunStatus::Interrupted, format!("Of {of} shards not finished: {}.", open.join(", "))),
        (missing, _) => (RunStatus::Interrupted, format!("Of {of} shards still missing: {}.", missing.join(", "))),
    };
    let already = shards.iter().find(|shard| shard.run.new.merged.is_some());
    let mark = json(&key(&shards[0])).bytes().fold(0, |mark: u64, byte| mark.rotate_left(5) ^ u64::from(byte));
    let mut new = first.new.clone();
    new.machine = machine(&parts);
    new.origin = Origin::Exported;
    if let Some(plan) = &mut new.plan {
        plan.shard = None;
    }
    new.merged = Some(Merged { of, parts });
    RunRecord {
        id: already.map_or_else(|| run_id(began_ms, mark), |merged| merged.run.id.clone()),
        began_ms,
        ended_ms,
        // Shards may run in parallel, so their durations do not add up.
        seconds: None,
        status,
        ending: Some(ending),
        new,
        ceiling: shards.iter().find_map(|shard| shard.run.ceiling.clone()),
    }
}

/// The machine if there is only one; otherwise each is kept with its part.
fn machine(parts: &[Part]) -> Option<Machine> {
    let (first, others) = parts.split_first()?;
    first.machine.clone().filter(|_| others.iter().all(|part| part.machine == first.machine))
}
