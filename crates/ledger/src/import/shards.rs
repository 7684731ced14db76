//! Shards of one plan, measured on several machines, put together to one run.
//! In: runs as they were read, each a shard or put together already. Out: one run that holds every block once.
//! A plan is cut by blocks (part i of n has every n-th), so blocks keep their numbers and none can meet another.

use super::Imported;
use crate::record::{Origin, RunRecord, RunStatus, TrialRecord};
use crate::store::{json, run_id};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Parts of a plan that say where it ran and not what: shards differ in these.
const ELSEWHERE: [&str; 3] = ["shard", "place", "title"];

/// How a run's plan names its shard, or those that it was put together from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cut {
    /// Parts of the plan.
    pub of: u32,
    /// The part that this is, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// The parts that it was put together from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<Part>,
}

/// A part within a run that was put together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Part {
    /// From 0.
    pub index: u32,
    /// Its id where it was measured.
    pub run: String,
    /// Whether it came to its end.
    pub finished: bool,
    /// The machine.
    pub machine: Value,
}

/// What is known of one part: where it comes from, and its trials.
struct Known<'a> {
    part: Part,
    trials: Vec<&'a TrialRecord>,
}

/// What a run is a part of; `None` for one that is whole.
pub(crate) fn cut(run: &RunRecord) -> Option<Cut> {
    let cut: Cut = serde_json::from_value(run.new.plan.get("shard")?.clone()).ok()?;
    (cut.of > 0 && (cut.index.is_some() || !cut.merged.is_empty())).then_some(cut)
}

/// What shards of one plan have in common, as a text.
pub(crate) fn key(read: &Imported) -> String {
    let mut plan = read.run.new.plan.clone();
    let of = plan["shard"]["of"].clone();
    if let Some(fields) = plan.as_object_mut() {
        ELSEWHERE.iter().for_each(|name| drop(fields.remove(*name)));
    }
    let contenders: Vec<Value> =
        read.contenders.iter().map(|record| json!([record.label, record.asked, record.twin_of])).collect();
    let new = &read.run.new;
    json!([of, plan, new.seed.to_string(), new.version, serde_json::to_value(&new.works).ok(), contenders]).to_string()
}

/// Puts shards of one plan together.
///
/// # Errors
/// A trial of a block that its shard does not have; two different accounts of one shard.
pub(crate) fn merged(shards: &[Imported]) -> Result<Imported, String> {
    let first = shards.first().ok_or("there is no shard")?;
    let of = cut(&first.run).ok_or_else(|| format!("run {} is no shard", first.run.id))?.of;
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
        // Who takes no part on one machine may do so on another; its failed trials tell.
        if shards.iter().any(|shard| shard.contenders[at].error.is_none()) {
            contender.error = None;
        }
    }
    Ok(Imported { run: record(shards, of, parts), contenders, trials })
}

/// The parts that a run holds, with every trial in a block of theirs.
fn parts(shard: &Imported, of: u32) -> Result<Vec<Part>, String> {
    let run = &shard.run;
    let cut = cut(run).ok_or_else(|| format!("run {} is no shard", run.id))?;
    let parts = match cut.index {
        Some(index) => {
            let finished = run.status == RunStatus::Finished;
            vec![Part { index, run: run.id.clone(), finished, machine: run.new.machine.clone() }]
        }
        None => cut.merged,
    };
    let holds = |block: u32| parts.iter().any(|part| part.index == block % of);
    if parts.iter().any(|part| part.index >= of) {
        return Err(format!("run {} says that it is a part beyond the last of {of}", run.id));
    }
    match shard.trials.iter().find(|trial| !holds(trial.block)) {
        Some(stray) => Err(format!("run {} holds a trial of block {}, which is not its own", run.id, stray.block + 1)),
        None => Ok(parts),
    }
}

/// Of two accounts of one shard the one that holds the other whole.
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
    let already = shards.iter().find(|shard| cut(&shard.run).is_some_and(|cut| cut.index.is_none()));
    let mark = json(&key(&shards[0])).bytes().fold(0, |mark: u64, byte| mark.rotate_left(5) ^ u64::from(byte));
    let mut new = first.new.clone();
    new.machine = machine(&parts);
    new.origin = Origin::Exported;
    if let Some(fields) = new.plan.as_object_mut() {
        let cut = Cut { of, index: None, merged: parts };
        fields.insert("shard".into(), serde_json::to_value(cut).unwrap_or_default());
    }
    RunRecord {
        id: already.map_or_else(|| run_id(began_ms, mark), |merged| merged.run.id.clone()),
        began_ms,
        ended_ms,
        status,
        ending: Some(ending),
        new,
        ceiling: shards.iter().find_map(|shard| shard.run.ceiling.clone()),
    }
}

/// The machine where there was one; else each by its shard.
fn machine(parts: &[Part]) -> Value {
    match parts {
        [] => json!({}),
        [first, others @ ..] if others.iter().all(|part| part.machine == first.machine) => first.machine.clone(),
        parts => {
            let named = parts.iter().map(|part| (format!("shard {}", part.index + 1), part.machine.clone()));
            Value::Object(named.collect())
        }
    }
}
