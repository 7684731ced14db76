//! The race: which sets of options compete after the screening, and which of them stay after each look.
//! In: effects of factors and results of stages. Out: candidates, the better half of them, the best.
//! Successive halving (Karnin, Koren and Somekh, ICML 2013), as in racing configurators (irace: Lopez-Ibanez et al., 2016): all candidates
//! are measured beside the baseline in the same rounds, and the worse half leaves after each look.

use crate::design::Effect;
use crate::space::{Set, Space};
use std::collections::BTreeMap;

/// Most candidates of a race.
pub(crate) const MOST_CANDIDATES: usize = 12;
/// Sets that remain at its end: the winner and the runner-up.
pub(crate) const FINALISTS: usize = 2;
/// Standard errors above an effect up to which it may still be larger.
const MAY_BE: f64 = 2.0;
/// Sets of the screening that compete as they are, in case factors interact.
const BEST_SCREENED: usize = 2;

/// One set of options against the baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Natural logarithm of how many times faster it is than the baseline.
    pub log: f64,
    /// Standard error of that.
    pub error: f64,
    /// Degrees of freedom of the standard error.
    pub df: f64,
}

/// Results of sets over all stages of a search, weighted by their precision.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scores(BTreeMap<Set, (f64, f64)>);

impl Scores {
    /// Adds a result.
    pub fn add(&mut self, set: &Set, result: Measured) {
        let weight = result.error.max(1e-6).powi(-2);
        let (weights, weighted) = self.0.entry(set.clone()).or_default();
        *weights += weight;
        *weighted += weight * result.log;
    }

    /// The estimate for a set: natural logarithm of how many times faster it is; `None` if it was not measured.
    pub fn of(&self, set: &Set) -> Option<f64> {
        self.0.get(set).map(|(weights, weighted)| weighted / weights)
    }

    /// The best of these sets, best first; sets without a result are left out.
    pub fn best(&self, sets: &[Set], count: usize) -> Vec<Set> {
        let mut known: Vec<(&Set, f64)> = sets.iter().filter_map(|set| Some((set, self.of(set)?))).collect();
        known.sort_by(|a, b| b.1.total_cmp(&a.1));
        known.into_iter().take(count).map(|(set, _)| set.clone()).collect()
    }
}

/// The sets that compete after the screening, the most promising first, at least one if any factor may be changed. Factors whose effect
/// is certainly below the margin (natural logarithm) take no part.
pub(crate) fn candidates(
    space: &Space,
    effects: &[Option<Effect>],
    screened: (&[Set], &Scores),
    margin: f64,
) -> Vec<Set> {
    let (sets, scores) = screened;
    let mut ranked: Vec<(usize, Effect)> =
        effects.iter().enumerate().filter_map(|(at, one)| Some((at, (*one)?))).collect();
    ranked.sort_by(|a, b| b.1.log.total_cmp(&a.1.log));
    let matters = |effect: &Effect| effect.log > 0.0 && effect.log + MAY_BE * effect.error > margin;
    let helpful: Vec<usize> = ranked.iter().filter(|(_, effect)| matters(effect)).map(|(at, _)| *at).collect();
    let mut found = Candidates { space, sets: Vec::new() };
    // Combined by their effects: all that help, then fewer and fewer.
    let mut together = vec![Set::new()];
    for factor in &helpful {
        let last = &together[together.len() - 1];
        together.push(space.with(last, *factor, 0).unwrap_or_else(|| last.clone()));
    }
    let all = together[together.len() - 1].clone();
    found.add(all.clone());
    // Other values of options that matter, whichever direction the first value went.
    let harmful = |effect: &Effect| effect.log < 0.0 && effect.log - MAY_BE * effect.error < -margin;
    let other = ranked.iter().filter(|(_, effect)| matters(effect) || harmful(effect)).map(|(at, _)| *at);
    for factor in other {
        for value in 1..space.factors[factor].values.len() {
            let mut without = all.clone();
            without.remove(&space.factors[factor].axis);
            found.extend(space.with(&without, factor, value));
        }
    }
    sets_of_screening(scores, sets).into_iter().for_each(|set| found.add(set));
    together.into_iter().rev().for_each(|set| found.add(set));
    for factor in &helpful {
        found.extend(space.with(&Set::new(), *factor, 0));
    }
    if found.sets.is_empty() {
        found.extend(ranked.first().and_then(|(factor, _)| space.with(&Set::new(), *factor, 0)));
    }
    found.sets
}

/// The best sets of the screening that were faster than the baseline.
fn sets_of_screening(scores: &Scores, sets: &[Set]) -> Vec<Set> {
    let faster = |set: &Set| scores.of(set).is_some_and(|log| log > 0.0);
    scores.best(sets, BEST_SCREENED).into_iter().filter(faster).collect()
}

struct Candidates<'a> {
    space: &'a Space,
    sets: Vec<Set>,
}

impl Candidates<'_> {
    /// Adds a set, unless it is the baseline, excluded, or known.
    fn add(&mut self, set: Set) {
        if !set.is_empty() && !self.sets.contains(&set) && !self.space.is_excluded(&set) {
            self.sets.push(set);
        }
    }

    fn extend(&mut self, set: Option<Set>) {
        set.into_iter().for_each(|set| self.add(set));
    }
}

/// Candidates that stay after a look at so many.
pub(crate) fn stay(count: usize) -> usize {
    count.div_ceil(2).max(FINALISTS)
}

/// Looks until so many candidates are down to the finalists.
pub(crate) fn looks(mut count: usize) -> u32 {
    let mut looks = 0;
    while count > FINALISTS {
        count = stay(count);
        looks += 1;
    }
    looks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Factor;

    fn space() -> Space {
        let factor = |axis: &str, values: &[&str]| Factor {
            axis: axis.into(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
            ..Factor::default()
        };
        let factors =
            vec![factor("a", &["1", "2"]), factor("b", &["1"]), factor("c", &["1", "2"]), factor("d", &["1"])];
        Space { factors, ..Space::default() }
    }

    fn set(values: &[(&str, &str)]) -> Set {
        values.iter().map(|(axis, value)| ((*axis).to_owned(), (*value).to_owned())).collect()
    }

    fn effect(log: f64) -> Option<Effect> {
        Some(Effect { log, error: 0.01 })
    }

    #[test]
    fn helpful_factors_are_combined_others_dropped_and_values_of_both_directions_tried() {
        let effects = [effect(0.1), effect(0.2), effect(-0.2), effect(0.001)];
        let found = candidates(&space(), &effects, (&[], &Scores::default()), 0.03);
        assert_eq!(found[0], set(&[("a", "1"), ("b", "1")]));
        for other in [set(&[("a", "2"), ("b", "1")]), set(&[("a", "1"), ("b", "1"), ("c", "2")]), set(&[("b", "1")])] {
            assert!(found.contains(&other), "{found:?}");
        }
        assert!(found.iter().all(|set| !set.contains_key("d")), "{found:?}");
    }

    #[test]
    fn without_a_helpful_factor_the_least_harmful_one_is_confirmed_to_bound_the_gain() {
        let effects = [effect(-0.1), effect(-0.02), None, effect(-0.2)];
        let found = candidates(&space(), &effects, (&[], &Scores::default()), 0.03);
        assert!(found.contains(&set(&[("a", "2")])), "{found:?}");
        let quiet = [effect(-0.001), effect(-0.002), None, None];
        assert_eq!(candidates(&space(), &quiet, (&[], &Scores::default()), 0.03), [set(&[("a", "1")])]);
    }

    #[test]
    fn scores_weigh_results_by_precision_and_leave_out_what_was_not_measured() {
        let (a, b) = (set(&[("a", "1")]), set(&[("b", "1")]));
        let mut scores = Scores::default();
        scores.add(&a, Measured { log: 0.3, error: 0.2, df: 4.0 });
        scores.add(&a, Measured { log: 0.1, error: 0.02, df: 4.0 });
        scores.add(&b, Measured { log: 0.2, error: 0.02, df: 4.0 });
        assert!(scores.of(&a).is_some_and(|log| log > 0.1 && log < 0.11));
        assert_eq!(scores.best(&[a.clone(), b.clone(), set(&[("c", "1")])], 3), [b, a]);
    }

    #[test]
    fn halving_ends_at_the_finalists() {
        assert_eq!([1, 2, 3, 4, 5, 8, 12].map(looks), [0, 0, 1, 1, 2, 2, 3]);
        assert_eq!([2, 3, 5, 12].map(stay), [2, 2, 3, 6]);
    }
}
