//! The race: which sets of options compete after the screening, and which of them stay after each look.
//! In: effects of factors and results of stages. Out: candidates, the better half of them, the best.
//! Successive halving (Karnin, Koren and Somekh, ICML 2013), as in racing configurators (irace: Lopez-Ibanez et al., 2016): all candidates
//! are measured beside the baseline in the same rounds, and the worse half leaves after each look. With several goals, "worse" is by
//! non-dominated sorting and crowding distance (NSGA-II: Deb et al., IEEE Transactions on Evolutionary Computation 6, 2002).

use crate::design::Effect;
use crate::space::{Set, Space};
use std::collections::BTreeMap;

/// Most candidates of a race.
pub(crate) const MOST_CANDIDATES: usize = 12;
/// Sets that remain at its end: the winner and the runner-up; with several goals, choices between them.
const FINALISTS: [usize; 2] = [2, 4];
/// Share of the margin up to which an option adds nothing, and up to which a set with fewer options may be slower. In simulations of small
/// budgets a larger share lost more speed than the search had found, and so did asking for a gain of two standard errors.
pub(crate) const LITTLE: f64 = 0.5;
/// Standard errors above an effect up to which it may still be larger.
const MAY_BE: f64 = 2.0;
/// Sets of the screening that compete as they are, in case factors interact.
const BEST_SCREENED: usize = 2;

/// One set of options against the baseline, in one goal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Natural logarithm of how many times better (faster, smaller) it is than the baseline.
    pub log: f64,
    /// Standard error of that.
    pub error: f64,
    /// Degrees of freedom of the standard error.
    pub df: f64,
}

/// Results of sets over all stages of a search, weighted by their precision.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scores {
    /// For each goal the sum of the weights, and that of the weighted logarithms.
    sums: BTreeMap<Set, Vec<(f64, f64)>>,
    grain: f64,
}

impl Scores {
    /// No results yet. With several goals, logarithms are rounded to this `grain` before sets are ordered, so that a goal on which the
    /// options have no effect does not decide by its noise.
    pub fn new(grain: f64) -> Self {
        Self { grain, ..Self::default() }
    }

    /// Adds the results of a set, one for each goal.
    pub fn add(&mut self, set: &Set, results: &[Measured]) {
        let sums = self.sums.entry(set.clone()).or_insert_with(|| vec![(0.0, 0.0); results.len()]);
        for ((weights, weighted), result) in sums.iter_mut().zip(results) {
            let weight = result.error.max(1e-6).powi(-2);
            *weights += weight;
            *weighted += weight * result.log;
        }
    }

    /// The estimate for a set in each goal: natural logarithm of how many times better it is; `None` if it was not measured.
    pub fn of(&self, set: &Set) -> Option<Vec<f64>> {
        self.sums.get(set).map(|sums| sums.iter().map(|(weights, weighted)| weighted / weights).collect())
    }

    /// All measured sets, each with its estimate in the first goal and the weight of that.
    pub(crate) fn weighted(&self) -> impl Iterator<Item = (&Set, f64, f64)> {
        self.sums.iter().filter_map(|(set, sums)| {
            let (weight, weighted) = sums.first()?;
            Some((set, weighted / weight, *weight))
        })
    }

    /// The best of these sets, best first; sets without a result are left out.
    pub fn best(&self, sets: &[Set], count: usize) -> Vec<Set> {
        let rounded = |mut logs: Vec<f64>| {
            if logs.len() > 1 && self.grain > 0.0 {
                logs.iter_mut().for_each(|log| *log = (*log / self.grain).round());
            }
            logs
        };
        let (known, estimates): (Vec<&Set>, Vec<Vec<f64>>) =
            sets.iter().filter_map(|set| Some((set, rounded(self.of(set)?)))).unzip();
        ranked(&estimates).into_iter().take(count).map(|at| known[at].clone()).collect()
    }
}

/// Indices of estimates, best first: those that no other beats in all goals, then those that only these beat, and so on; among equals the
/// most isolated ones first, so that few of them still show the whole range. With one goal: in descending order.
fn ranked(estimates: &[Vec<f64>]) -> Vec<usize> {
    let beats = |one: usize, other: usize| {
        let pairs = || estimates[one].iter().zip(&estimates[other]);
        pairs().all(|(one, other)| one >= other) && pairs().any(|(one, other)| one > other)
    };
    let (mut order, mut left): (Vec<usize>, Vec<usize>) = (Vec::new(), (0..estimates.len()).collect());
    while !left.is_empty() {
        let (front, rest): (Vec<usize>, Vec<usize>) =
            left.iter().copied().partition(|at| !left.iter().any(|other| beats(*other, *at)));
        order.extend(isolated_first(estimates, front));
        left = rest;
    }
    order
}

/// These estimates by their crowding distance: over all goals the distance between both neighbours, as a share of the range. The best and
/// the worst of a goal come first.
fn isolated_first(estimates: &[Vec<f64>], mut front: Vec<usize>) -> Vec<usize> {
    let goals = front.first().map_or(0, |at| estimates[*at].len());
    let mut distance = vec![0.0; estimates.len()];
    for goal in (0..goals).rev() {
        let value = |at: usize| estimates[at][goal];
        front.sort_by(|a, b| value(*b).total_cmp(&value(*a)));
        let (first, last) = (front[0], front[front.len() - 1]);
        let range = (value(first) - value(last)).max(f64::MIN_POSITIVE);
        for near in front.windows(3) {
            distance[near[1]] += (value(near[0]) - value(near[2])) / range;
        }
        (distance[first], distance[last]) = (f64::INFINITY, f64::INFINITY);
    }
    front.sort_by(|a, b| distance[*b].total_cmp(&distance[*a]));
    front
}

/// The sets that compete after the screening, the most promising first, at least one if any factor may be changed. With several goals:
/// first what helps in one and harms in none, then the candidates of the goals in turn. `effects` are those of first values, by goal, then by
/// factor.
pub(crate) fn candidates(
    space: &Space,
    effects: &[Vec<Option<Effect>>],
    screened: (&[Set], &Scores),
    margin: f64,
) -> Vec<Set> {
    let mut found = Candidates { space, sets: Vec::new() };
    let mut of_goals: Vec<Vec<Set>> =
        effects.iter().map(|effects| of_one_goal(space, effects, screened, margin)).collect();
    if effects.len() > 1 {
        let any = |at: usize, of: fn(&Effect, f64) -> bool| {
            effects.iter().filter_map(|effects| effects.get(at).copied().flatten()).any(|effect| of(&effect, margin))
        };
        let useful: Vec<usize> = (0..space.factors.len()).filter(|at| any(*at, helps)).collect();
        let free: Vec<usize> = useful.iter().copied().filter(|at| !any(*at, harms)).collect();
        found.extend(together(space, &free).pop());
        // A compromise: all that helps in any goal.
        of_goals.push(together(space, &useful).pop().into_iter().collect());
    }
    let longest = of_goals.iter().map(Vec::len).max().unwrap_or(0);
    for at in 0..longest {
        of_goals.iter().filter_map(|sets| sets.get(at)).for_each(|set| found.add(set.clone()));
    }
    found.sets
}

/// Whether a factor may help by more than half the margin (natural logarithm): several such factors add up.
fn helps(effect: &Effect, margin: f64) -> bool {
    effect.log > 0.0 && effect.log + MAY_BE * effect.error > LITTLE * margin
}

/// Whether a factor may harm by more than the margin (natural logarithm).
fn harms(effect: &Effect, margin: f64) -> bool {
    effect.log < 0.0 && effect.log - MAY_BE * effect.error < -margin
}

/// Sets with the first value of the first of these factors, of the first two, and so on, after an empty one. What is excluded is left out.
fn together(space: &Space, factors: &[usize]) -> Vec<Set> {
    let mut sets = vec![Set::new()];
    for factor in factors {
        let last = &sets[sets.len() - 1];
        sets.push(space.with(last, *factor, 0).unwrap_or_else(|| last.clone()));
    }
    sets
}

/// The candidates by one goal. Factors whose effect is certainly below half the margin (natural logarithm) take no part.
fn of_one_goal(space: &Space, effects: &[Option<Effect>], screened: (&[Set], &Scores), margin: f64) -> Vec<Set> {
    let (sets, scores) = screened;
    let mut ranked: Vec<(usize, Effect)> =
        effects.iter().enumerate().filter_map(|(at, one)| Some((at, (*one)?))).collect();
    ranked.sort_by(|a, b| b.1.log.total_cmp(&a.1.log));
    let helpful: Vec<usize> = ranked.iter().filter(|(_, effect)| helps(effect, margin)).map(|(at, _)| *at).collect();
    let mut found = Candidates { space, sets: Vec::new() };
    // Combined by their effects: all that help, then fewer and fewer.
    let together = together(space, &helpful);
    let all = together[together.len() - 1].clone();
    found.add(all.clone());
    // Other values of options that matter, whichever direction the first value went.
    let matters = |effect: &Effect| helps(effect, margin) || harms(effect, margin);
    let other = ranked.iter().filter(|(_, effect)| matters(effect)).map(|(at, _)| *at);
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

/// The best sets of the screening that were better than the baseline in a goal.
fn sets_of_screening(scores: &Scores, sets: &[Set]) -> Vec<Set> {
    let better = |set: &Set| scores.of(set).is_some_and(|logs| logs.iter().any(|log| *log > 0.0));
    scores.best(sets, BEST_SCREENED).into_iter().filter(better).collect()
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

/// Sets that the race ends with, for so many goals.
pub(crate) fn finalists(goals: usize) -> usize {
    FINALISTS[usize::from(goals > 1)]
}

/// Candidates that stay after a look at so many.
pub(crate) fn stay(count: usize, finalists: usize) -> usize {
    count.div_ceil(2).max(finalists)
}

/// Looks until so many candidates are down to the finalists.
pub(crate) fn looks(mut count: usize, finalists: usize) -> u32 {
    let mut looks = 0;
    while count > finalists {
        count = stay(count, finalists);
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
        let nothing = Some(Effect { log: 0.001, error: 0.005 });
        let effects = [effect(0.1), effect(0.2), effect(-0.2), nothing];
        let found = candidates(&space(), &[effects.to_vec()], (&[], &Scores::default()), 0.03);
        assert_eq!(found[0], set(&[("a", "1"), ("b", "1")]));
        for other in [set(&[("a", "2"), ("b", "1")]), set(&[("a", "1"), ("b", "1"), ("c", "2")]), set(&[("b", "1")])] {
            assert!(found.contains(&other), "{found:?}");
        }
        assert!(found.iter().all(|set| !set.contains_key("d")), "{found:?}");
    }

    #[test]
    fn without_a_helpful_factor_the_least_harmful_one_is_confirmed_to_bound_the_gain() {
        let effects = [effect(-0.1), effect(-0.02), None, effect(-0.2)];
        let found = candidates(&space(), &[effects.to_vec()], (&[], &Scores::default()), 0.03);
        assert!(found.contains(&set(&[("a", "2")])), "{found:?}");
        let quiet = [effect(-0.001), effect(-0.002), None, None];
        assert_eq!(candidates(&space(), &[quiet.to_vec()], (&[], &Scores::default()), 0.03), [set(&[("a", "1")])]);
    }

    #[test]
    fn scores_weigh_results_by_precision_and_leave_out_what_was_not_measured() {
        let (a, b) = (set(&[("a", "1")]), set(&[("b", "1")]));
        let mut scores = Scores::default();
        scores.add(&a, &[Measured { log: 0.3, error: 0.2, df: 4.0 }]);
        scores.add(&a, &[Measured { log: 0.1, error: 0.02, df: 4.0 }]);
        scores.add(&b, &[Measured { log: 0.2, error: 0.02, df: 4.0 }]);
        assert!(scores.of(&a).is_some_and(|logs| logs[0] > 0.1 && logs[0] < 0.11));
        assert_eq!(scores.best(&[a.clone(), b.clone(), set(&[("c", "1")])], 3), [b, a]);
    }

    #[test]
    fn with_several_goals_differences_below_the_grain_do_not_order_sets() {
        let (a, b) = (set(&[("a", "1")]), set(&[("b", "1")]));
        let mut scores = Scores::new(0.03);
        let of = |logs: [f64; 2]| logs.map(|log| Measured { log, error: 0.01, df: 4.0 });
        scores.add(&a, &of([0.2, 0.001]));
        scores.add(&b, &of([0.3, 0.0]));
        assert_eq!(scores.best(&[a.clone(), b.clone()], 2), [b, a], "b beats a, although a is larger by nothing");
    }

    #[test]
    fn halving_ends_at_the_finalists() {
        assert_eq!([1, 2, 3, 4, 5, 8, 12].map(|count| looks(count, 2)), [0, 0, 1, 1, 2, 2, 3]);
        assert_eq!([2, 3, 5, 12].map(|count| stay(count, 2)), [2, 2, 3, 6]);
        assert_eq!([4, 5, 8, 12].map(|count| looks(count, 4)), [0, 1, 1, 2]);
    }

    #[test]
    fn with_several_goals_sets_that_none_beats_come_first_the_extremes_before_the_rest() {
        let estimates = [[0.0, 0.0], [0.3, 0.0], [0.0, 0.4], [0.29, 0.01], [0.15, 0.2], [0.1, 0.1]].map(Vec::from);
        assert_eq!(ranked(&estimates), [1, 2, 4, 3, 5, 0]);
        assert_eq!(ranked(&[vec![0.1], vec![0.3], vec![0.2]]), [1, 2, 0], "one goal: by size");
        assert_eq!(ranked(&[]), Vec::<usize>::new());
    }

    #[test]
    fn several_goals_begin_with_what_helps_one_and_harms_none_and_take_turns() {
        let speed = [effect(0.1), effect(0.2), effect(-0.2), effect(0.0)];
        let size = [effect(0.0), effect(-0.1), effect(0.3), effect(0.0)];
        let found = candidates(&space(), &[speed.to_vec(), size.to_vec()], (&[], &Scores::default()), 0.03);
        let expected = [set(&[("a", "1")]), set(&[("a", "1"), ("b", "1")]), set(&[("c", "1")])];
        assert_eq!(found[..3], expected);
        assert!(found.contains(&set(&[("b", "1")])), "each by itself: {found:?}");
        assert!(found.iter().enumerate().all(|(at, set)| !found[..at].contains(set)));
    }
}
