//! Counts over the states of one contender.
//! In: the findings in each state. Out: [`PromiseResult`]s and [`Figures`].

use crate::power_cut::promises::{Chosen, Finding, TESTED, Tested};
use crate::power_cut::result::{Example, Figures, Given, PromiseResult, Rate, VariantResult};
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

/// An inspected state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Looked {
    pub state: State,
    pub in_order: bool,
    /// Whether a block is torn: [`State::tears_a_block`].
    pub torn: bool,
    pub pending: usize,
}

impl Looked {
    /// A state of a record. `lying`: the disk reports a flush as done but does nothing.
    pub fn of(state: State, record: &Record, lying: bool) -> Looked {
        let pending = disk::at(record, state.cut, lying).pending;
        let (in_order, torn) = (state.is_in_order(pending.len()), state.tears_a_block(record, &pending));
        Looked { state, in_order, torn, pending: pending.len() }
    }

    /// Makes this state the example if it is the simplest so far.
    pub fn example(&self, known: &mut Option<Example>, found: impl FnOnce() -> String) {
        if known.as_ref().is_none_or(|known| self.pending < known.pending) {
            let left = in_words(self.state.kept, self.pending);
            let state = Some(self.state);
            *known = Some(Example { found: found(), cut: self.state.cut, left, pending: self.pending, state });
        }
    }
}

/// Counts of all tested guarantees and variants.
#[derive(Debug)]
pub(crate) struct Tally {
    chosen: Chosen,
    counts: Vec<Count>,
}

impl Tally {
    pub fn of(chosen: &Chosen) -> Tally {
        Tally { chosen: chosen.clone(), counts: vec![Count::default(); TESTED.len()] }
    }

    /// Adds the finding about a promise in a state, over all its executions that had started.
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

    /// The simplest state of each broken promise.
    pub fn examples(&self) -> impl Iterator<Item = (usize, &Example)> {
        self.counts.iter().enumerate().filter_map(|(promise, count)| Some((promise, count.example.as_ref()?)))
    }

    /// Each guarantee with its variants; its own figures are those of the worst.
    pub fn results(self) -> Vec<PromiseResult> {
        let mut results: Vec<PromiseResult> = Vec::new();
        for &place in &self.chosen.0 {
            let tested = &TESTED[place];
            let variant = of_variant(tested, self.counts[place].clone());
            match results.last_mut().filter(|one| one.name == tested.about().name) {
                Some(known) => known.variants.push(variant),
                None => results.push(of_guarantee(tested, variant)),
            }
        }
        results.iter_mut().for_each(PromiseResult::take_worst);
        results
    }
}

fn of_variant(tested: &Tested, count: Count) -> VariantResult {
    VariantResult {
        later: tested.later,
        given: match count {
            Count { tested: 0, .. } => Given::Untested,
            Count { broken: 0, .. } => Given::Kept,
            _ => Given::Broken,
        },
        broken: rate(count.broken, count.tested),
        broken_in_order: rate(count.broken_in_order, count.tested_in_order),
        example: count.example,
    }
}

/// A guarantee with one variant so far.
fn of_guarantee(tested: &Tested, variant: VariantResult) -> PromiseResult {
    let about = tested.about();
    PromiseResult {
        name: about.name.into(),
        title: about.title.into(),
        strength: about.strength,
        given: variant.given,
        broken: variant.broken,
        broken_in_order: variant.broken_in_order,
        example: None,
        worst: None,
        variants: vec![variant],
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
        Kept::Some { seed } => format!("some {of} (random, seed {seed})"),
        Kept::Torn { place, bytes } => format!("all {of}, but only {bytes} bytes of number {}", place + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::power_cut::promises::Later;

    #[test]
    fn a_promise_is_broken_by_one_state_and_the_plainest_one_is_its_example() {
        let mut tally = Tally::of(&Chosen::of(&[], &[]).expect("chosen"));
        let (one, two) = (tally.chosen.0[0], tally.chosen.0[1]);
        let state =
            |pending, in_order| Looked { state: State { cut: 9, kept: Kept::Nothing }, in_order, torn: false, pending };
        tally.note(one, &state(5, true), &Finding::default());
        tally.note(one, &state(5, false), &Finding::broken("five"));
        tally.note(one, &state(2, true), &Finding::broken("two"));
        tally.note(two, &state(2, true), &Finding::default());
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
    fn the_worst_variant_makes_the_headline_of_a_guarantee_and_is_named() {
        let chosen = Chosen::of(&["replace-unsynced".into()], &Later::ALL).expect("chosen");
        let mut tally = Tally::of(&chosen);
        let looked = Looked { state: State { cut: 9, kept: Kept::Nothing }, in_order: true, torn: false, pending: 1 };
        for (number, place) in chosen.0.iter().enumerate() {
            for state in 0..40 {
                // None, of the file, of the folder, of another file: the folder's is the worst.
                let is_broken = state < [0, 1, 28, 3][number];
                let found = if is_broken { Finding::broken("zeros") } else { Finding::default() };
                tally.note(*place, &looked, &found);
            }
        }
        let results = tally.results();
        assert_eq!((results.len(), results[0].variants.len()), (1, 4));
        assert_eq!((results[0].given, results[0].worst), (Given::Broken, Some(Later::Folder)));
        assert_eq!((results[0].broken.count, results[0].broken.of), (28, 40));
        assert_eq!(results[0].variants[0].given, Given::Kept);
        // Results of older versions have no variants, and are read as they are.
        let mut stored = serde_json::to_value(&results[0]).expect("written");
        let fields = stored.as_object_mut().expect("an object");
        fields.retain(|name, _| !["variants", "worst"].contains(&name.as_str()));
        let old: crate::power_cut::PromiseResult = serde_json::from_value(stored).expect("read");
        assert_eq!((old.worst, old.variants.len(), old.broken.count), (None, 0, 28));
    }

    #[test]
    fn figures_have_a_middle_and_a_worst() {
        assert_eq!(figures(&[3.0, 1.0, 2.0]), Figures { median: Some(2.0), worst: Some(3.0) });
        assert_eq!(figures(&[]), Figures::default());
    }
}
