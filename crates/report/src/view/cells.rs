//! Cells of the view: figures, their standing, their notes, and every sample.
//! In: the judge's table and judgement, and the trials. Out: [`CellView`]s.

use super::{CellView, FigureView, Material, NoteView, RowView, SampleView, Standing, WORTH_SHOWING};
use crate::number::Unit;
use judge::{Figure, Judgement, NoteKind, Relation, Table};
use records::facts::PhaseFacts;
use records::{PhaseRecord, TrialRecord, TrialStatus, WorkRecord};
use std::collections::HashSet;

/// What all cells of a row have in common.
pub(super) struct RowContext<'a> {
    pub material: &'a Material,
    pub counting: &'a HashSet<usize>,
    pub table: &'a Table,
    pub judgement: &'a Judgement,
    pub work: &'a WorkRecord,
    /// Absent for a sum over phases.
    pub facts: Option<&'a PhaseFacts>,
    /// Rows of the judge's table: headline, until returned, CPU.
    pub operation: usize,
    pub returned: Option<usize>,
    pub cpu: Option<usize>,
}

impl RowContext<'_> {
    /// The cell of the contender with this index in the ledger; `place` is its index in the view.
    pub fn cell(&self, row: &RowView, place: usize, contender: usize) -> CellView {
        let figure = self.judgement.figure(self.operation, contender);
        let of = |operation: Option<usize>| {
            operation.and_then(|operation| self.judgement.figure(operation, contender)).map(shown)
        };
        let Ranked { standing, ratio, ratio_interval } = Ranked::of(self.judgement, self.operation, contender);
        CellView {
            contender: place,
            figure: figure.map(shown),
            returned: of(self.returned),
            cpu: of(self.cpu),
            standing,
            ratio,
            ratio_interval,
            of_device: row.device.zip(figure).and_then(|(device, figure)| {
                let share = if row.higher_is_better { figure.median / device } else { device / figure.median };
                share.is_finite().then_some(share)
            }),
            missing: if figure.is_some() { None } else { Some(self.why_missing(contender)) },
            notes: self.notes(row, figure, contender),
            samples: self.samples(contender),
        }
    }

    fn why_missing(&self, contender: usize) -> String {
        let error = self.material.contenders.iter().find(|record| record.index as usize == contender);
        if let Some(error) = error.and_then(|record| record.error.as_ref()) {
            return error.clone();
        }
        let cell = self.table.cell(self.operation, contender);
        let facts = cell.map(|cell| &cell.facts);
        let why = facts.and_then(|facts| facts.failure.as_ref().or(facts.why_undone.as_ref()));
        why.cloned().unwrap_or_else(|| "not measured".into())
    }

    fn notes(&self, row: &RowView, figure: Option<&Figure>, contender: usize) -> Vec<NoteView> {
        let mut notes: Vec<NoteView> = Vec::new();
        let mut add = |kind: NoteKind, text: String| {
            if !notes.iter().any(|note| note.text == text) {
                notes.push(NoteView { kind, text });
            }
        };
        for note in figure.iter().flat_map(|figure| &figure.notes) {
            let range = figure.filter(|_| note.kind == NoteKind::Unstable).map(|figure| {
                let unit = Unit::for_row(row.figure, [figure.min, figure.max].into_iter());
                format!(", {} to {} {}", unit.show(figure.min, None), unit.show(figure.max, None), unit.sign)
            });
            add(note.kind, format!("{}{}", note.text, range.unwrap_or_default()));
        }
        let disturbances = self.passes(contender).filter(|(number, _, _)| self.counting.contains(number));
        for text in disturbances.flat_map(|(_, _, phase)| &phase.evidence.disturbed) {
            add(NoteKind::Disturbed, text.clone());
        }
        notes
    }

    /// Every pass of the row's phases by a contender, with its trial.
    fn passes(&self, contender: usize) -> impl Iterator<Item = (usize, &TrialRecord, &PhaseRecord)> {
        let names: Vec<&str> = self.facts.iter().map(|facts| facts.name.as_str()).collect();
        self.material.trials.iter().enumerate().filter(move |(_, trial)| self.is_mine(trial, contender)).flat_map(
            move |(number, trial)| {
                let names = names.clone();
                let phases = trial.phases.iter().filter(move |phase| names.contains(&phase.name.as_str()));
                phases.map(move |phase| (number, trial, phase))
            },
        )
    }

    fn is_mine(&self, trial: &TrialRecord, contender: usize) -> bool {
        trial.contender as usize == contender && trial.workload == self.work.name && trial.scale == self.work.scale
    }

    fn samples(&self, contender: usize) -> Vec<SampleView> {
        let Some(facts) = self.facts else {
            return self.judged_samples(contender);
        };
        self.passes(contender)
            .map(|(number, trial, phase)| SampleView {
                trial: number,
                block: trial.block,
                pass: phase.outcome.pass,
                value: samples::judged(trial, phase, facts),
                returned: samples::returned(phase, facts),
                durable: samples::durable(phase, facts),
                cpu: samples::cpu_percent(phase),
                slices: Some(phase.outcome.slices()).filter(|count| *count > 1),
                counts: self.counting.contains(&number) && phase.counts(),
                disturbed: disturbance(trial, phase),
            })
            .collect()
    }

    /// Samples of a sum over phases, which no single phase has.
    fn judged_samples(&self, contender: usize) -> Vec<SampleView> {
        let cell = self.table.cell(self.operation, contender);
        let samples = cell.map(|cell| cell.samples.as_slice()).unwrap_or_default();
        samples
            .iter()
            .map(|sample| SampleView {
                trial: sample.trial as usize,
                block: sample.block,
                pass: sample.pass,
                value: Some(sample.value),
                returned: None,
                durable: None,
                cpu: None,
                slices: None,
                counts: true,
                disturbed: sample.disturbed.then(|| "disturbed".into()),
            })
            .collect()
    }
}

fn disturbance(trial: &TrialRecord, phase: &PhaseRecord) -> Option<String> {
    if !phase.evidence.disturbed.is_empty() {
        return Some(phase.evidence.disturbed.join("; "));
    }
    match trial.status {
        _ if phase.evidence.set_aside => Some("disturbed, and repeated immediately".into()),
        _ if !phase.counts() => Some("not steady yet".into()),
        TrialStatus::Disturbed => Some(trial.reason.clone().unwrap_or_else(|| "disturbed".into())),
        TrialStatus::Failed => Some(trial.reason.clone().unwrap_or_else(|| "the trial failed".into())),
        TrialStatus::Done => None,
    }
}

pub(super) fn shown(figure: &Figure) -> FigureView {
    FigureView {
        median: figure.median,
        interval: figure.interval.map(|interval| (interval.low, interval.high)),
        min: figure.min,
        max: figure.max,
        trials: figure.samples,
        rsd: figure.rsd,
        unstable: figure.unstable,
    }
}

/// Standing of a contender in an operation.
pub(super) struct Ranked {
    pub standing: Standing,
    /// How many times worse than the best, and the 95 % interval of that.
    pub ratio: Option<f64>,
    pub ratio_interval: Option<(f64, f64)>,
}

impl Ranked {
    pub fn of(judgement: &Judgement, operation: usize, contender: usize) -> Self {
        let ranking = judgement.rankings_of(operation).find(|ranking| ranking.members().any(|one| one == contender));
        let against = ranking.and_then(|ranking| ranking.others.iter().find(|other| other.contender == contender));
        let is_best = ranking.is_some_and(|ranking| ranking.best == contender);
        Self {
            standing: ranking.map_or(Standing::Alone, |ranking| standing(ranking, contender)),
            ratio: against.map(|other| other.ratio).or(is_best.then_some(1.0)),
            ratio_interval: against.and_then(|other| other.interval).map(|interval| (interval.low, interval.high)),
        }
    }
}

fn standing(ranking: &judge::Ranking, contender: usize) -> Standing {
    let tied = ranking.others.iter().any(|other| other.relation == Relation::Tie);
    if ranking.best == contender {
        return match (ranking.others.is_empty(), ranking.won, tied) {
            (true, _, _) => Standing::Alone,
            (_, true, _) => Standing::Best,
            (_, _, true) => Standing::Tie,
            _ => Standing::Leading,
        };
    }
    let relation = ranking.others.iter().find(|other| other.contender == contender).map(|other| other.relation);
    match relation {
        Some(Relation::Worse) => Standing::Worse,
        Some(Relation::LikelyWorse) => Standing::Likely,
        Some(Relation::Tie) => Standing::Tie,
        Some(Relation::Unresolved | Relation::TooFew) => Standing::Unresolved,
        None => Standing::Alone,
    }
}

/// Whether two figures of a cell differ so much that both must be shown.
pub(super) fn differ(cell: &CellView) -> bool {
    match (&cell.figure, &cell.returned) {
        (Some(durable), Some(returned)) => {
            let (low, high) = (durable.median.min(returned.median), durable.median.max(returned.median));
            low > 0.0 && high / low - 1.0 > WORTH_SHOWING
        }
        _ => false,
    }
}
