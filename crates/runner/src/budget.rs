//! What a budget allows and what it leaves undecided, as text; and whether the next trial still fits.
//! In: the judge's table and decision, times of trials. Out: sentences for the watcher and for the ledger.

use judge::{Decision, Open, Policy, RESOLUTION, Table};
use records::{Sampling, Until};
use std::collections::BTreeMap;

/// Operations whose undecided figures are listed at the end of a run; the others are counted.
const NAMED: usize = 8;

/// Limit for the least rounds, if they are completed first, as a multiple of the budget.
const SCREEN: f64 = 2.0;

/// Time limit in seconds of a run with so many finished rounds, whose least rounds would end after `screened` seconds.
pub fn limit(sampling: &Sampling, blocks: u32, screened: f64) -> Option<f64> {
    let screening = sampling.screen_first && blocks < sampling.range().0;
    let stretched = |budget: f64| (screening && screened <= budget * SCREEN).then_some(budget * SCREEN);
    sampling.budget_seconds.map(|budget| stretched(budget).unwrap_or(budget))
}

/// The judge's policy for these sampling rules, `gone` seconds into the run, with this time limit (see `limit`).
pub fn policy(sampling: &Sampling, gone: f64, limit: Option<f64>) -> Policy {
    let (min_blocks, max_blocks) = sampling.range();
    Policy {
        min_blocks,
        max_blocks,
        precision: sampling.precision,
        resolution: RESOLUTION,
        until: match (sampling.samples, sampling.until) {
            (Some(_), Until::Precision) => judge::Until::Blocks,
            (_, Until::Winner) => judge::Until::Winner,
            (None, Until::Precision) => judge::Until::Precision,
        },
        seconds_left: limit.map(|limit| (limit - gone).max(0.0)),
    }
}

/// Seconds that the trials of one contender with one workload took.
#[derive(Debug, Default, Clone, Copy)]
struct Took {
    sum: f64,
    count: u32,
    longest: f64,
}

/// Seconds that trials took, by (contender, workload).
#[derive(Debug, Default)]
pub struct Times(BTreeMap<(usize, usize), Took>);

impl Times {
    /// Records a trial.
    pub fn note(&mut self, pair: (usize, usize), seconds: f64) {
        let took = self.0.entry(pair).or_default();
        *took = Took { sum: took.sum + seconds, count: took.count + 1, longest: took.longest.max(seconds) };
    }

    /// Seconds of a round of all pairs that were tried.
    pub fn of_block(&self) -> f64 {
        self.0.values().map(|took| took.sum / f64::from(took.count.max(1))).sum()
    }

    /// The likely longest time in seconds of the next trial of this pair: its longest trial so far, else the longest of other contenders on
    /// the same workload; `None` if there was none. With a mean, half of all runs would exceed their budget.
    pub fn expected(&self, (contender, work): (usize, usize)) -> Option<f64> {
        if let Some(own) = self.0.get(&(contender, work)) {
            return Some(own.longest);
        }
        let others = self.0.iter().filter(|((_, other), _)| *other == work);
        others.map(|(_, took)| took.longest).reduce(f64::max)
    }
}

/// The judge's decision after a round; after the first one of a run with a budget, also what the rest of it allows.
pub fn after_block(table: &Table, policy: &Policy, decision: &Decision, first: bool) -> String {
    if !first || !decision.goes_on() || policy.seconds_left.is_none() {
        return decision.text.clone();
    }
    match judge::plan_budget(table, policy) {
        Ok(plan) => format!("{} Budget: {}", decision.text, plan.text),
        Err(_) => decision.text.clone(),
    }
}

/// Why a run with a budget ended, what is undecided, and how long that would have taken; `why` if it was not the decision.
pub fn ending(table: &Table, policy: &Policy, decision: &Decision, why: Option<&str>) -> String {
    let text = why.unwrap_or(&decision.text);
    if decision.open.is_empty() || policy.seconds_left.is_none() {
        return text.into();
    }
    let mut text = format!("{text} Open: {}.", named(table, &decision.open));
    // A decision that ends a run for its budget already states what the rest would take.
    let is_stated = why.is_none() && decision.reason == judge::Reason::Budget;
    let endless = Policy { seconds_left: None, max_blocks: u32::MAX, ..*policy };
    let all = judge::plan_budget(table, &endless).ok().and_then(|plan| plan.seconds_for_all);
    if let Some(seconds) = all.filter(|_| !is_stated) {
        text.push_str(&format!(" Deciding all of them takes about {} more.", judge::duration(seconds)));
    }
    text
}

/// Share of the budget by which a run may exceed it before its ending explains why.
const UNEXPLAINED: f64 = 0.1;

/// Text to append to a run's ending if it took longer than its limit.
pub fn overrun(seconds: f64, limit: Option<f64>) -> Option<String> {
    let limit = limit.filter(|limit| seconds > limit * (1.0 + UNEXPLAINED))?;
    Some(format!(
        " It took {} instead of {}: a trial always runs to its end.",
        judge::duration(seconds),
        judge::duration(limit)
    ))
}

/// `small-files/create cold: xfs, btrfs; bonnie/block-read as-found: xfs; and 4 more operations`.
fn named(table: &Table, open: &[Open]) -> String {
    let mut operations: Vec<(usize, Vec<&str>)> = Vec::new();
    for figure in open {
        let name = table.contenders[figure.contender].name.as_str();
        match operations.iter_mut().find(|(operation, _)| *operation == figure.operation) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => operations.push((figure.operation, vec![name])),
        }
    }
    let shown = operations.iter().take(NAMED).map(|(operation, names)| {
        let id = &table.operations[*operation].id;
        format!("{}/{} {}: {}", id.workload, id.operation, id.cache, names.join(", "))
    });
    let mut text = shown.collect::<Vec<_>>().join("; ");
    if operations.len() > NAMED {
        text.push_str(&format!("; and {} more operations", operations.len() - NAMED));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::{Cell, Contender, Operation, OperationId, Sample};

    #[test]
    fn a_trial_is_expected_to_take_as_long_as_the_longest_of_its_own_before_or_of_the_others_of_its_workload() {
        let mut times = Times::default();
        assert_eq!(times.expected((0, 0)), None);
        times.note((0, 0), 10.0);
        times.note((0, 0), 20.0);
        assert_eq!(times.of_block(), 15.0);
        assert_eq!(times.expected((0, 0)), Some(20.0));
        assert_eq!(times.expected((1, 0)), Some(20.0));
        assert_eq!(times.expected((1, 1)), None, "another workload tells nothing");
    }

    #[test]
    fn a_run_that_took_longer_than_its_budget_has_a_reason() {
        assert_eq!(overrun(125.0, Some(120.0)), None);
        assert_eq!(overrun(500.0, None), None);
        let reason = overrun(178.0, Some(120.0)).expect("it took longer");
        assert!(reason.contains("instead of 2 min: a trial"), "{reason}");
    }

    /// Two contenders, one operation, samples that decide nothing.
    fn table() -> Table {
        let sample = |block, value| Sample { block, value, ..Sample::default() };
        let cell = |contender, values: [f64; 3]| Cell {
            contender,
            samples: (0..3).map(|block| sample(block, values[block as usize])).collect(),
            facts: judge::Facts { trial_seconds: Some(20.0), ..judge::Facts::default() },
            ..Cell::default()
        };
        let contender = |name: &str| Contender { name: name.into(), ..Contender::default() };
        let id = OperationId::new("small-files", "create", "cold");
        Table {
            contenders: vec![contender("ext4"), contender("xfs")],
            operations: vec![Operation { id, unit: "s".into(), ..Operation::default() }],
            cells: vec![cell(0, [1.0, 2.0, 1.4]), cell(1, [1.9, 1.2, 2.1])],
            ..Table::default()
        }
    }

    #[test]
    fn a_default_budget_gives_way_to_the_least_blocks() {
        let strict = Sampling {
            samples: None,
            precision: 0.05,
            budget_seconds: Some(300.0),
            screen_first: false,
            until: Until::Precision,
            blocks: (3, 30),
            repeat_disturbed: true,
            steady: false,
        };
        let screening = Sampling { screen_first: true, ..strict };
        assert_eq!(
            (limit(&strict, 0, 0.0), limit(&screening, 2, 500.0), limit(&screening, 3, 500.0)),
            (Some(300.0), Some(600.0), Some(300.0))
        );
        assert_eq!(limit(&screening, 1, 700.0), Some(300.0), "time is too short even for the least rounds");
        assert_eq!(policy(&screening, 350.0, Some(600.0)).seconds_left, Some(250.0));
        assert_eq!(policy(&screening, 350.0, Some(300.0)).seconds_left, Some(0.0));
        assert_eq!(limit(&Sampling { budget_seconds: None, ..screening }, 0, 0.0), None);
    }

    #[test]
    fn a_budget_that_ran_out_names_what_stayed_open_and_its_price() {
        let policy = Policy { seconds_left: Some(10.0), ..Policy::default() };
        let decision = judge::decide(&table(), &policy).expect("a decision");
        assert!(!decision.goes_on(), "{decision:?}");
        let text = ending(&table(), &policy, &decision, None);
        assert!(text.contains("small-files/create cold:") && text.contains("xfs"), "{text}");
        assert!(text.contains("more."), "how long it would have taken: {text}");
    }

    #[test]
    fn after_the_first_block_the_rest_of_the_budget_is_priced() {
        let policy = Policy { seconds_left: Some(4_000.0), ..Policy::default() };
        let decision = judge::decide(&table(), &policy).expect("a decision");
        let text = after_block(&table(), &policy, &decision, true);
        assert!(text.contains("Budget:") && text.contains("rounds of 40 s"), "{text}");
        assert_eq!(after_block(&table(), &policy, &decision, false), decision.text);
    }
}
