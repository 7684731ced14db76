//! Checks what the rest of the program assumes of records, for records of unknown origin.
//! In: records as read. Out: nothing, or what is wrong, in a few words.

use crate::import::shards;
use records::{ContenderRecord, RunRecord, TrialRecord};

/// Longest id of a run: ours have twenty characters, those of merged runs no more.
const ID_LIMIT: usize = 64;
/// The end of the year 9999, in milliseconds since 1970.
pub(crate) const LATEST_MS: i64 = 253_402_300_799_000;
/// More rounds than any run has.
const MOST_BLOCKS: u32 = 1_000_000;
/// Longest name of a contender, a workload or a phase, in bytes: one made of many axes is long, but bounded.
const NAME_LIMIT: usize = 2000;
/// How many characters of a wrong id are repeated.
const REPEATED: usize = 40;

/// A run's id becomes part of paths and is typed: letters, digits and dashes, and few of them.
pub(crate) fn id(id: &str) -> Result<(), String> {
    let usable = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    if (1..=ID_LIMIT).contains(&id.len()) && id.chars().all(usable) {
        return Ok(());
    }
    let begins: String = id.chars().take(REPEATED).flat_map(char::escape_debug).collect();
    Err(format!("it has a run with an id in a different form: `{begins}`"))
}

/// Checks a run that was measured elsewhere.
pub(crate) fn run(run: &RunRecord) -> Result<(), String> {
    id(&run.id)?;
    if !times(run.began_ms, run.ended_ms.unwrap_or(run.began_ms)) {
        return Err("its run began or ended at an impossible time".into());
    }
    let is_part = run.new.merged.is_some() || run.new.plan.as_ref().is_some_and(|plan| plan.shard.is_some());
    if is_part && shards::cut(run).is_none() {
        return Err("its list of shards is invalid".into());
    }
    Ok(())
}

/// Checks that contenders are numbered in order, and that a twin refers to an existing one.
pub(crate) fn contenders(contenders: &[ContenderRecord]) -> Result<(), String> {
    if contenders.iter().zip(0..).any(|(contender, place)| contender.index != place) {
        return Err("its contenders are not numbered in order".into());
    }
    let count = contenders.len() as u32;
    if contenders.iter().filter_map(|contender| contender.twin_of).any(|of| of >= count) {
        return Err("a control repeats a contender that is not in it".into());
    }
    contenders.iter().try_for_each(|contender| name(&contender.label, "a contender"))
}

/// Checks that trials refer to existing contenders.
pub(crate) fn trials(trials: &[TrialRecord], contenders: usize) -> Result<(), String> {
    for trial in trials {
        if trial.contender as usize >= contenders {
            return Err(format!("a trial is of contender {}, which is not in it", trial.contender));
        }
        if trial.block >= MOST_BLOCKS {
            return Err(format!("a trial is of round {}, more than any run has", trial.block));
        }
        name(&trial.workload, "a workload")?;
        name(&trial.scale, "a scale")?;
        for phase in &trial.phases {
            name(&phase.name, "a phase")?;
            name(&phase.operation, "an operation")?;
        }
    }
    Ok(())
}

/// Checks that trials timed by another machine's clock began before they ended, at possible times.
pub(crate) fn trial_times(trials: &[TrialRecord]) -> Result<(), String> {
    match trials.iter().all(|trial| times(trial.began_ms, trial.ended_ms)) {
        true => Ok(()),
        false => Err("a trial began or ended at an impossible time".into()),
    }
}

fn times(began: i64, ended: i64) -> bool {
    (0..=LATEST_MS).contains(&began) && (began..=LATEST_MS).contains(&ended)
}

fn name(name: &str, of: &str) -> Result<(), String> {
    match name.len() {
        length if length > NAME_LIMIT => Err(format!("the name of {of} has {length} bytes; the limit is {NAME_LIMIT}")),
        _ => Ok(()),
    }
}
