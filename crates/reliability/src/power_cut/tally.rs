//! Counts over the states of one contender.
//! In: what was found in each state. Out: [`PromiseResult`]s and [`Figures`].

use crate::power_cut::promises::{About, Finding, PROMISES};
use crate::power_cut::result::{Example, Figures, Given, PromiseResult, Rate};
use disk::{Kept, Record, State};

/// Counts of one promise.
#[derive(Debug, Clone, Default)]
struct Count {
    tested: u32,
    broken: u32,
    tested_in_order: u32,
    broken_in_order: u32,
    example: Option<Example>,
}

/// The state that was looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Looked {
    pub state: State,
    pub in_order: bool,
    /// Whether a block is torn: [`State::tears_a_block`].
    pub torn: bool,
    pub pending: usize,
}

impl Looked {
    /// A state of a record. `lying`: of a disk that says a flush is done and does nothing.
    pub fn of(state: State, record: &Record, lying: bool) -> Looked {
        let pending = disk::at(record, state.cut, lying).pending;
        let (in_order, torn) = (state.is_in_order(pending.len()), state.tears_a_block(record, &pending));
        Looked { state, in_order, torn, pending: pending.len() }
    }

    /// Has this state be the example where it is the plainest so far.
    pub fn example(&self, known: &mut Option<Example>, found: impl FnOnce() -> String) {
        if known.as_ref().is_none_or(|known| self.pending < known.pending) {
            let left = in_words(self.state.kept, self.pending);
            let state = Some(self.state);
            *known = Some(Example { found: found(), cut: self.state.cut, left, pending: self.pending, state });
        }
    }
}

/// Counts of all promises.
#[derive(Debug)]
pub(crate) struct Tally {
    counts: Vec<Count>,
}

impl Tally {
    pub fn new() -> Tally {
        Tally { counts: vec![Count::default(); PROMISES.len()] }
    }

    /// Takes in what was found of a promise in a state, over all times that it was carried out and begun.
    pub fn note(&mut self, promise: usize, looked: &Looked, finding: &Finding) {
        let count = &mut self.counts[promise];
        let broken = u32::from(finding.broken.is_some());
        (count.tested, count.broken) = (count.tested + 1, count.broken + broken);
        if looked.in_order {
            (count.tested_in_order, count.broken_in_order) =
                (count.tested_in_order + 1, count.broken_in_order + broken);
        }
        if let Some(found) = &finding.broken {
            looked.example(&mut count.example, || found.clone());
        }
    }

    /// The plainest state of each promise that was broken.
    pub fn examples(&self) -> impl Iterator<Item = (usize, &Example)> {
        self.counts.iter().enumerate().filter_map(|(promise, count)| Some((promise, count.example.as_ref()?)))
    }

    pub fn results(self) -> Vec<PromiseResult> {
        let of = |(about, count): (About, Count)| PromiseResult {
            name: about.name.into(),
            title: about.title.into(),
            strength: about.strength,
            given: match count {
                Count { tested: 0, .. } => Given::Untested,
                Count { broken: 0, .. } => Given::Kept,
                _ => Given::Broken,
            },
            broken: rate(count.broken, count.tested),
            broken_in_order: rate(count.broken_in_order, count.tested_in_order),
            example: count.example,
        };
        PROMISES.iter().map(|promise| promise.about()).zip(self.counts).map(of).collect()
    }
}

/// A share with its interval.
pub(crate) fn rate(count: u32, of: u32) -> Rate {
    let (low, high) = judge::proportion(count, of);
    Rate { count, of, low, high }
}

/// Median and worst.
pub(crate) fn figures(values: &[f64]) -> Figures {
    let worst =
        values.iter().copied().fold(None, |worst: Option<f64>, next| Some(worst.map_or(next, |one| one.max(next))));
    Figures { median: judge::median(values), worst }
}

fn in_words(kept: Kept, pending: usize) -> String {
    let of = format!("of {pending} writes that were not safe");
    match kept {
        Kept::Nothing => format!("none {of}"),
        Kept::Everything => format!("all {of}"),
        Kept::First(count) => format!("the first {count} {of}"),
        Kept::AllBut(place) => format!("all but number {} {of}", place + 1),
        Kept::Some { seed } => format!("some {of} (coins {seed})"),
        Kept::Torn { place, bytes } => format!("all {of}, but only {bytes} bytes of number {}", place + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_is_broken_by_one_state_and_the_plainest_one_is_its_example() {
        let mut tally = Tally::new();
        let state =
            |pending, in_order| Looked { state: State { cut: 9, kept: Kept::Nothing }, in_order, torn: false, pending };
        tally.note(0, &state(5, true), &Finding::default());
        tally.note(0, &state(5, false), &Finding::broken("five"));
        tally.note(0, &state(2, true), &Finding::broken("two"));
        tally.note(1, &state(2, true), &Finding::default());
        let results = tally.results();
        assert_eq!(
            (results[0].given, results[1].given, results[2].given),
            (Given::Broken, Given::Kept, Given::Untested)
        );
        assert_eq!((results[0].broken.count, results[0].broken.of), (2, 3));
        assert_eq!((results[0].broken_in_order.count, results[0].broken_in_order.of), (1, 2));
        assert_eq!(results[0].example.as_ref().map(|one| one.found.as_str()), Some("two"));
    }

    #[test]
    fn figures_have_a_middle_and_a_worst() {
        assert_eq!(figures(&[3.0, 1.0, 2.0]), Figures { median: Some(2.0), worst: Some(3.0) });
        assert_eq!(figures(&[]), Figures::default());
    }
}
