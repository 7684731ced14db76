//! The judge's table of a run: operations, contenders, samples, and facts about each cell.
//! In: records of the ledger. Out: a [`Table`]; operations are in the order of the workloads' phases.
//! Trials that were set aside as disturbed count only where no undisturbed repetition exists, and are then marked as disturbed.

use crate::sessions::sessions;
use crate::{figures, starts, undone, work};
use judge::{
    Age, Backend, Cell, Contender, Direction, Durability, Facts, Operation, OperationId, Sample, Table, median,
};
use records::facts::{PhaseFacts, TotalFacts};
use records::program::Figure;
use records::{
    ContenderRecord, DEVICE, DataMode, Evidence, PhaseRecord, RunRecord, TWIN, TrialRecord, TrialStatus, WorkRecord,
};
use std::collections::HashSet;

/// Name of the figure until the last call returned, next to one that is judged until durable.
pub const RETURNED: &str = "returned";
/// Name of the workers' CPU share.
pub const CPU: &str = "cpu";

/// Source of a row of the table.
enum Source<'a> {
    Headline(&'a PhaseFacts),
    Returned(&'a PhaseFacts),
    Cpu(&'a PhaseFacts),
    Total(&'a TotalFacts),
    ReturnedTotal(&'a TotalFacts),
}

/// The table of a run.
pub fn table(run: &RunRecord, contenders: &[ContenderRecord], trials: &[TrialRecord]) -> Table {
    let counted = counted(trials);
    let mut table = Table {
        contenders: contenders.iter().map(|contender| judged(contender, contenders, trials)).collect(),
        operations: Vec::new(),
        cells: Vec::new(),
        margin: None,
        sessions: sessions(run, contenders, trials).firsts,
    };
    compare_ages(&mut table.contenders, contenders);
    for work in &run.new.works {
        let of_work: Vec<(usize, &TrialRecord)> =
            counted.iter().filter(|(_, trial)| belongs(trial, work)).copied().collect();
        let by_tools = work::by_tools(run, work);
        for source in sources(work, &of_work) {
            let index = table.operations.len();
            table.operations.push(source.operation(run, work));
            let first_only = source.facts().is_some_and(|facts| {
                starts::cache_below(&of_work.iter().map(|(_, trial)| *trial).collect::<Vec<_>>(), facts)
            });
            for contender in contenders {
                let mine: Vec<(usize, &TrialRecord)> =
                    of_work.iter().filter(|(_, trial)| trial.contender == contender.index).copied().collect();
                let failed = failed(trials)
                    .into_iter()
                    .filter(|trial| trial.contender == contender.index && belongs(trial, work));
                let mut cell = cell(&source, index, contender.index as usize, &mine, failed);
                let names = source.phase_names().into_iter().filter(|name| !by_tools.contains(*name));
                cell.facts.work = names.filter_map(|name| work::of_phase(&mine, name)).collect();
                if first_only {
                    cell.samples.retain(|sample| sample.pass == 0);
                    cell.facts.cache_below = true;
                }
                if !cell.samples.is_empty() || cell.facts.failures > 0 || cell.facts.undone > 0 {
                    table.cells.push(cell);
                }
            }
        }
    }
    table
}

/// Name of a workload in the judge's table: with its scale, if the run has it at several.
pub fn work_name(works: &[WorkRecord], work: &WorkRecord) -> String {
    let scales = works.iter().filter(|other| other.name == work.name).count();
    if scales > 1 { format!("{} ({})", work.name, work.scale) } else { work.name.clone() }
}

fn belongs(trial: &TrialRecord, work: &WorkRecord) -> bool {
    trial.workload == work.name && trial.scale == work.scale
}

/// Trials that give samples, with their number within the run: those that completed; and of those that were disturbed and never repeated
/// with success, the last.
pub fn counted(trials: &[TrialRecord]) -> Vec<(usize, &TrialRecord)> {
    let sound: HashSet<_> = trials.iter().filter(|trial| trial.status == TrialStatus::Done).map(place).collect();
    let mut last_disturbed: HashSet<_> = HashSet::new();
    let mut chosen: Vec<_> = trials
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, trial)| match trial.status {
            TrialStatus::Done => true,
            TrialStatus::Failed => false,
            TrialStatus::Disturbed => !sound.contains(&place(trial)) && last_disturbed.insert(place(trial)),
        })
        .collect();
    chosen.reverse();
    chosen
}

/// Trials that failed without a successful repetition: of several failures at one place the last.
pub fn failed(trials: &[TrialRecord]) -> Vec<&TrialRecord> {
    let sound = |trial: &&TrialRecord| trial.status != TrialStatus::Failed;
    let mut seen: HashSet<_> = trials.iter().filter(sound).map(place).collect();
    let mut last: Vec<_> = trials.iter().rev().filter(|trial| !sound(trial) && seen.insert(place(trial))).collect();
    last.reverse();
    last
}

/// The place of a trial, which its repetitions share.
fn place(trial: &TrialRecord) -> (u32, u32, &str, &str) {
    (trial.block, trial.contender, &trial.workload, &trial.scale)
}

fn judged(contender: &ContenderRecord, all: &[ContenderRecord], trials: &[TrialRecord]) -> Contender {
    let mine = trials.iter().filter(|trial| trial.contender == contender.index);
    let found = mine.filter_map(|trial| trial.found.as_ref()).next();
    Contender {
        name: contender.label.clone(),
        age: age(contender),
        durability: found.map_or_else(Durability::default, |found| durability(&found.durability)),
        backend: match found.and_then(|found| found.backend) {
            Some(records::Backend::Kvm) => Backend::Kvm,
            Some(records::Backend::Emulation) => Backend::Emulation,
            None => Backend::Host,
        },
        twin_of: contender
            .twin_of
            .and_then(|of| all.iter().find(|other| other.index == of))
            .map(|other| other.label.clone()),
        alternative_of: None,
        failed: contender.error.clone(),
    }
}

/// Ages of one contender are compared with each other. If several were aged, fresh and aged ones are ranked separately.
fn compare_ages(contenders: &mut [Contender], records: &[ContenderRecord]) {
    let is_raw = |record: &ContenderRecord| record.asked.as_ref().is_some_and(|asked| asked.filesystem == DEVICE);
    let takes_part = |one: &Contender| one.twin_of.is_none() && one.failed.is_none();
    let competing = contenders.iter().zip(records).filter(|(one, record)| takes_part(one) && !is_raw(record));
    let lines: HashSet<&str> = competing.map(|(one, _)| one.age.of.as_str()).collect();
    if lines.len() == 1 {
        contenders.iter_mut().for_each(|contender| contender.age = Age::default());
    }
}

/// Age and fill as requested, and the contender's name without them.
fn age(contender: &ContenderRecord) -> Age {
    let Some(asked) = &contender.asked else { return Age::default() };
    let fill = axes::value(asked, "fill");
    let age = asked.ageing().map(|(age, _)| age.to_owned());
    let twin = if contender.twin_of.is_some() { TWIN } else { "" };
    let of = axes::label(&axes::without(&axes::without(asked, "age"), "fill"));
    let name: Vec<String> = if age.is_some() { age.into_iter().chain(fill).collect() } else { Vec::new() };
    Age { name: name.join(" "), of: format!("{of}{twin}") }
}

/// The durability class as far as the judge ranks by it.
fn durability(class: &records::Durability) -> Durability {
    Durability {
        flushes: class.flushes,
        ordered: match class.data {
            DataMode::Atomic | DataMode::Ordered => Some(true),
            DataMode::Writeback => Some(false),
            DataMode::Unknown => None,
        },
        checksums: class.checksums_data,
        copy_on_write: class.copy_on_write,
    }
}

fn sources<'a>(work: &'a WorkRecord, trials: &[(usize, &TrialRecord)]) -> Vec<Source<'a>> {
    let wrote = |facts: &PhaseFacts| {
        trials
            .iter()
            .flat_map(|(_, trial)| &trial.phases)
            .any(|phase| phase.name == facts.name && crate::durable(phase, facts).is_some())
    };
    let mut sources = Vec::new();
    for facts in work.phases.iter().filter(|facts| !facts.preparation) {
        sources.push(Source::Headline(facts));
        if facts.own.is_some() {
            continue;
        }
        if wrote(facts) {
            sources.push(Source::Returned(facts));
        }
        sources.push(Source::Cpu(facts));
    }
    for total in &work.totals {
        sources.push(Source::Total(total));
        if work.phases.iter().any(|facts| total.of.contains(&facts.name) && wrote(facts)) {
            sources.push(Source::ReturnedTotal(total));
        }
    }
    sources
}

impl Source<'_> {
    fn operation(&self, run: &RunRecord, work: &WorkRecord) -> Operation {
        let (operation, cache, doing) = match self {
            Self::Headline(facts) | Self::Returned(facts) | Self::Cpu(facts) => {
                (facts.named(), &facts.cache_label, &facts.doing)
            }
            Self::Total(total) | Self::ReturnedTotal(total) => {
                (total.operation.clone(), &total.cache_label, &total.doing)
            }
        };
        let name = work_name(&run.new.works, work);
        let (figure, unit, direction, phrase) = match self {
            Self::Headline(facts) => (String::new(), facts.unit(), direction(facts), doing.clone()),
            Self::Returned(facts) => {
                (RETURNED.into(), facts.unit(), direction(facts), format!("{doing}, until the calls return"))
            }
            Self::Cpu(_) => (CPU.into(), "%", Direction::LowerIsBetter, format!("{doing}, CPU of the workers")),
            Self::Total(_) => (String::new(), "s", Direction::LowerIsBetter, doing.clone()),
            Self::ReturnedTotal(_) => {
                (RETURNED.into(), "s", Direction::LowerIsBetter, format!("{doing}, until the calls return"))
            }
        };
        Operation {
            id: OperationId { workload: name, operation, cache: cache.clone(), figure },
            phrase,
            unit: unit.into(),
            direction,
            summary: matches!(self, Self::Total(total) if !total.part),
            secondary: !matches!(self, Self::Headline(_) | Self::Total(_)),
            unranked: self.facts().is_some_and(|facts| facts.unranked),
        }
    }

    /// Pass and value of a trial, for each pass that counts.
    fn values(&self, trial: &TrialRecord) -> Vec<(u32, f64)> {
        if self.undone(trial).is_some() {
            return Vec::new();
        }
        let of = |name: &str, value: &dyn Fn(&PhaseRecord) -> Option<f64>| {
            let counts = trial.phases.iter().filter(|phase| phase.name == name && phase.counts());
            counts.filter_map(|phase| Some((phase.outcome.pass, value(phase)?))).collect()
        };
        let once = |seconds: Option<f64>| seconds.map(|seconds| (0, seconds)).into_iter().collect();
        match self {
            Self::Headline(facts) => of(&facts.name, &|phase| figures::headline(phase, facts)),
            Self::Returned(facts) => of(&facts.name, &|phase| figures::returned(phase, facts)),
            Self::Cpu(facts) => of(&facts.name, &figures::cpu_percent),
            Self::Total(total) => {
                let durable = |phase: &PhaseRecord| phase.outcome.durable_ns.unwrap_or(phase.outcome.returned_ns);
                once(total_seconds(total, trial, durable))
            }
            Self::ReturnedTotal(total) => once(total_seconds(total, trial, |phase| phase.outcome.returned_ns)),
        }
    }

    /// Why a completed trial could not do the operation.
    fn undone(&self, trial: &TrialRecord) -> Option<String> {
        match self {
            Self::Headline(facts) | Self::Returned(facts) | Self::Cpu(facts) => undone(trial, facts),
            Self::Total(total) | Self::ReturnedTotal(total) => {
                total.of.iter().find_map(|name| undone::of_phase(trial, name))
            }
        }
    }

    /// The phase of the row, if it is a single one.
    fn facts(&self) -> Option<&PhaseFacts> {
        match self {
            Self::Headline(facts) | Self::Returned(facts) | Self::Cpu(facts) => Some(facts),
            Self::Total(_) | Self::ReturnedTotal(_) => None,
        }
    }

    fn phase_names(&self) -> Vec<&str> {
        match self {
            Self::Headline(facts) | Self::Returned(facts) | Self::Cpu(facts) => vec![facts.name.as_str()],
            Self::Total(total) | Self::ReturnedTotal(total) => total.of.iter().map(String::as_str).collect(),
        }
    }
}

/// Sum of the phases' seconds, a phase with several cold starts by their mean; absent if a phase is missing.
fn total_seconds(total: &TotalFacts, trial: &TrialRecord, elapsed_ns: impl Fn(&PhaseRecord) -> u64) -> Option<f64> {
    total.of.iter().try_fold(0.0, |sum, name| {
        let counts = |phase: &&PhaseRecord| &phase.name == name && phase.counts();
        let mut passes = trial.phases.iter().filter(counts).peekable();
        passes.peek()?;
        let (elapsed, starts) = passes.fold((0, 0), |(elapsed, starts), pass| {
            (elapsed + elapsed_ns(pass), starts + u64::from(pass.evidence.cold.is_some()))
        });
        Some(sum + elapsed as f64 / 1e9 / starts.max(1) as f64)
    })
}

fn cell<'a>(
    source: &Source,
    operation: usize,
    contender: usize,
    trials: &[(usize, &TrialRecord)],
    failed: impl Iterator<Item = &'a TrialRecord>,
) -> Cell {
    let mut samples = Vec::new();
    let names = source.phase_names();
    for (number, trial) in trials {
        for (pass, value) in source.values(trial) {
            let of_pass = |phase: &PhaseRecord| source.facts().is_none() || phase.outcome.pass == pass;
            samples.push(Sample {
                trial: *number as i64,
                block: trial.block,
                format: 0,
                mount: 0,
                pass,
                value,
                disturbed: trial.status == TrialStatus::Disturbed,
                stolen: stolen(trial, |phase| names.contains(&phase.name.as_str()) && of_pass(phase)),
            });
        }
    }
    let failed: Vec<&TrialRecord> = failed.collect();
    let mut undone = trials.iter().filter_map(|(_, trial)| source.undone(trial)).peekable();
    let facts = Facts {
        failures: failed.len() as u32,
        failure: failed.first().and_then(|trial| trial.reason.clone()),
        why_undone: undone.peek().cloned(),
        undone: undone.count() as u32,
        ..facts(source, trials)
    };
    Cell { operation, contender, samples, facts }
}

/// Share of processor time that the hypervisor took away during these phases, by their durations.
fn stolen(trial: &TrialRecord, is_meant: impl Fn(&PhaseRecord) -> bool) -> f64 {
    let phases: Vec<&PhaseRecord> = trial.phases.iter().filter(|phase| phase.counts() && is_meant(phase)).collect();
    let (mut stolen, mut observed) = (0.0, 0.0);
    for phase in &phases {
        // As in the sum of the times: several cold starts of a phase by their mean.
        let is_start = |other: &&&PhaseRecord| other.name == phase.name && other.evidence.cold.is_some();
        let starts = phases.iter().filter(is_start).count().max(1) as f64;
        let ns = phase.evidence.observed_ns as f64 / starts;
        // Without a share the phase was shorter than the clock of the counters.
        stolen += phase.evidence.steal.unwrap_or(0.0) * ns;
        observed += ns;
    }
    if observed > 0.0 { stolen / observed } else { 0.0 }
}

fn facts(source: &Source, trials: &[(usize, &TrialRecord)]) -> Facts {
    let names = source.phase_names();
    let phases: Vec<&PhaseRecord> = trials
        .iter()
        .flat_map(|(_, trial)| &trial.phases)
        .filter(|phase| names.contains(&phase.name.as_str()) && phase.counts())
        .collect();
    let median_of = |value: &dyn Fn(&Evidence) -> Option<f64>| {
        median(&phases.iter().filter_map(|phase| value(&phase.evidence)).collect::<Vec<_>>())
    };
    let mut remarks: Vec<String> = Vec::new();
    let note = phases.iter().flat_map(|phase| phase.evidence.remarks.iter().chain(&phase.outcome.remarks));
    // Without the error counts, so that equal errors give one remark; the counts are kept with the samples.
    let failing = phases.iter().filter_map(|phase| phase.outcome.errors.first.first());
    let failed: Vec<String> =
        failing.map(|error| format!("some operations failed: {}: {}", error.step, error.message)).collect();
    for remark in note.chain(&failed).chain(trials.iter().flat_map(|(_, trial)| &trial.remarks)) {
        if !remarks.contains(remark) {
            remarks.push(remark.clone());
        }
    }
    let seconds: Vec<f64> = trials.iter().map(|(_, trial)| trial.took()).collect();
    // A count of instructions or a figure that a program prints is no duration.
    let timed = source.facts().filter(|facts| facts.own.is_none());
    Facts {
        cache_served: median_of(&|evidence| evidence.from_cache),
        device_served: median_of(&|evidence| evidence.from_device),
        ceiling: median_of(&|evidence| evidence.of_generator),
        one_item_seconds: timed.and_then(|_| one_item_seconds(&phases, trials.len())),
        not_cold: phases.iter().any(|phase| phase.evidence.dropped == Some(false)),
        cpu_seconds: median_of(&|evidence| evidence.system_cpu_ns.map(|ns| ns as f64 / 1e9)),
        trial_seconds: (!seconds.is_empty()).then(|| seconds.iter().sum::<f64>() / seconds.len() as f64),
        remarks,
        ..Facts::default()
    }
}

/// Median duration of these passes of one phase, if each did one item, without a program, once in its trial.
fn one_item_seconds(passes: &[&PhaseRecord], trials: usize) -> Option<f64> {
    let single = |pass: &&PhaseRecord| pass.outcome.items == 1 && pass.outcome.commands.is_empty();
    let took = |pass: &&PhaseRecord| pass.outcome.durable_ns.unwrap_or(pass.outcome.returned_ns) as f64 / 1e9;
    if passes.len() > trials || !passes.iter().all(single) {
        return None;
    }
    median(&passes.iter().map(took).collect::<Vec<_>>())
}

fn direction(facts: &PhaseFacts) -> Direction {
    match facts.own.as_ref().map_or(facts.figure != Figure::Seconds, |own| own.more_is_better) {
        true => Direction::HigherIsBetter,
        false => Direction::LowerIsBetter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::ColdStart;
    use records::outcome::{CommandRun, PhaseOutcome};
    use records::program::Cache;

    #[test]
    fn only_one_item_once_in_a_trial_and_without_a_program_has_its_duration() {
        let pass = |items: u64, commands: Vec<CommandRun>| {
            let outcome = PhaseOutcome {
                items,
                commands,
                returned_ns: 1_000_000,
                durable_ns: Some(3_000_000),
                ..PhaseOutcome::default()
            };
            PhaseRecord::new("mkdir", Cache::Cold, Figure::Seconds, outcome)
        };
        let (one, several, program) = (pass(1, Vec::new()), pass(2, Vec::new()), pass(1, vec![CommandRun::default()]));
        assert_eq!(one_item_seconds(&[&one, &one], 2), Some(0.003));
        assert_eq!(one_item_seconds(&[&one, &one], 1), None, "twice in a trial");
        assert_eq!(one_item_seconds(&[&one, &several], 2), None);
        assert_eq!(one_item_seconds(&[&program], 1), None);
        assert_eq!(one_item_seconds(&[], 0), None);
    }

    #[test]
    fn stolen_time_is_that_of_the_phases_by_their_part_of_the_sum() {
        let pass = |name: &str, seconds: u64, steal: Option<f64>, cold: bool| {
            let mut pass = PhaseRecord::new(name, Cache::Cold, Figure::Seconds, PhaseOutcome::default());
            pass.evidence.observed_ns = seconds * 1_000_000_000;
            pass.evidence.steal = steal;
            pass.evidence.cold = cold.then(ColdStart::default);
            pass
        };
        let of = |phases: Vec<PhaseRecord>| {
            let trial = TrialRecord { phases, ..TrialRecord::begun((0, 0), 0, "mail", "quick") };
            stolen(&trial, |phase| phase.name != "other")
        };
        let (write, other) = (pass("write", 1, Some(0.0), false), pass("other", 9, Some(1.0), false));
        let warm = vec![pass("read", 1, Some(0.1), false); 3];
        assert!((of([vec![write.clone(), other], warm].concat()) - 0.075).abs() < 1e-12, "3 of 4 seconds");
        let cold = vec![pass("read", 1, Some(0.1), true); 3];
        assert!((of([vec![write], cold].concat()) - 0.05).abs() < 1e-12, "the mean of the cold starts");
        let mut repeated = pass("read", 1, Some(0.5), false);
        repeated.evidence.set_aside = true;
        assert_eq!(of(vec![repeated, pass("read", 1, None, false)]), 0.0);
        assert_eq!(of(vec![]), 0.0);
    }
}
