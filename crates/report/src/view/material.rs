//! The records of one run, read whole.
//! In: an open ledger and the id of a run. Out: [`Material`], which every part of the report reads.

use ledger::{Ledger, LedgerError};
use records::facts::PhaseFacts;
use records::{ContenderRecord, RunRecord, TrialRecord, WorkRecord};
use std::collections::HashSet;

/// Everything in the ledger about one run.
#[derive(Debug, Clone)]
pub struct Material {
    /// The run; its works are filled in from the trials where it has none.
    pub run: RunRecord,
    /// Contenders in the order of the plan, hidden twins included.
    pub contenders: Vec<ContenderRecord>,
    /// Trials in the order in which they were carried out; a trial's number is its place here.
    pub trials: Vec<TrialRecord>,
}

impl Material {
    /// Reads a run: by its id, the beginning of it, or the latest (`None`).
    ///
    /// # Errors
    /// Errors of the ledger.
    pub fn read(ledger: &Ledger, run: Option<&str>) -> Result<Self, LedgerError> {
        let run = ledger.run(run)?;
        let contenders = ledger.contenders(&run.id)?;
        let trials = ledger.trials(&run.id)?;
        Ok(Self::new(run, contenders, trials))
    }

    /// From existing records.
    pub fn new(mut run: RunRecord, contenders: Vec<ContenderRecord>, trials: Vec<TrialRecord>) -> Self {
        if run.new.works.is_empty() {
            run.new.works = works_of(&trials);
        }
        Self { run, contenders, trials }
    }

    /// Numbers of the trials that give samples, as the judge's table takes them.
    pub(crate) fn counting(&self) -> HashSet<usize> {
        samples::counted(&self.trials).into_iter().map(|(number, _)| number).collect()
    }
}

/// Workloads reconstructed from trials: phases by their own names, in the order in which they ran.
fn works_of(trials: &[TrialRecord]) -> Vec<WorkRecord> {
    let mut works: Vec<WorkRecord> = Vec::new();
    for trial in trials {
        let known = works.iter().position(|work| work.name == trial.workload && work.scale == trial.scale);
        let place = known.unwrap_or_else(|| {
            works.push(WorkRecord {
                name: trial.workload.clone(),
                scale: trial.scale.clone(),
                title: trial.workload.clone(),
                ..WorkRecord::default()
            });
            works.len() - 1
        });
        for phase in &trial.phases {
            let phases = &mut works[place].phases;
            if phases.iter().any(|facts| facts.name == phase.name) {
                continue;
            }
            phases.push(PhaseFacts {
                name: phase.name.clone(),
                title: phase.name.clone(),
                doing: phase.name.clone(),
                operation: phase.operation.clone(),
                cache_label: phase.cache.name().into(),
                variant: (phase.name != phase.operation).then(|| phase.name.clone()),
                figure: phase.figure,
                preparation: phase.preparation,
                unranked: false,
                ..PhaseFacts::default()
            });
        }
    }
    works
}
