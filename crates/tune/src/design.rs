//! The screening design: which options matter at all, from few sets of options.
//! In: a [`Space`]. Out: sets by a design of Plackett and Burman (Biometrika 33, 1946), and effects of factors by least squares.
//! Each factor has two levels there: the baseline, and its first value. A set that is excluded leaves out some factors, so effects are
//! fitted to the sets as they were measured instead of read from the design.

use crate::race::Measured;
use crate::space::{Set, Space};

/// Most factors of one design.
pub const MOST_FACTORS: usize = 23;

/// First rows of the cyclic designs, by Plackett and Burman.
const FIRST_ROWS: [&str; 6] =
    ["++-", "+++-+--", "++-+++---+-", "++++-+-++--+---", "++--++++-+-+----++-", "+++++-+-++--++--+-+----"];

/// Variances below this count as this, so that results without scatter have a finite weight.
const NO_SCATTER: f64 = 1e-12;

/// The smallest design for so many factors: for each run, whether each factor is at its second level. In the last run none is.
/// Factors above [`MOST_FACTORS`] get no column.
pub fn plackett_burman(factors: usize) -> Vec<Vec<bool>> {
    let fits = |row: &&&str| row.len() >= factors;
    let row: Vec<bool> =
        FIRST_ROWS.iter().find(fits).unwrap_or(&FIRST_ROWS[5]).bytes().map(|sign| sign == b'+').collect();
    let columns = row.len();
    let shifted =
        |by: usize| -> Vec<bool> { (0..factors.min(columns)).map(|at| row[(at + columns - by) % columns]).collect() };
    (0..columns).map(shifted).chain([vec![false; factors.min(columns)]]).collect()
}

/// The sets to screen a value of each factor, the baseline first, each once. `value`: which one, from 0; factors that have fewer show their
/// last one again, beside other factors than before.
pub fn screen(space: &Space, value: usize) -> Vec<Set> {
    let count = space.factors.len().min(MOST_FACTORS);
    let mut sets = vec![Set::new()];
    for (number, run) in plackett_burman(count).iter().enumerate() {
        // Of two factors that exclude each other, runs prefer the first and the last in turn.
        let forward: Vec<usize> = (0..count).collect();
        let order: Vec<usize> = if number % 2 == 0 { forward } else { forward.into_iter().rev().collect() };
        let add = |set: Set, factor: usize| {
            let value = value.min(space.factors[factor].values.len() - 1);
            space.with(&set, factor, value).unwrap_or(set)
        };
        let set = order.into_iter().filter(|factor| run[(*factor + value) % count]).fold(Set::new(), add);
        if !sets.contains(&set) {
            sets.push(set);
        }
    }
    sets
}

/// What a value of a factor does by itself, over all measured sets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    /// Natural logarithm of how many times faster it makes the work.
    pub log: f64,
    /// Standard error of that, from the scatter of the measurements; interactions of factors are not in it.
    pub error: f64,
}

/// Effects by factor, then by value. `None`: the measured sets do not tell this one from others.
pub type Effects = Vec<Vec<Option<Effect>>>;

/// The effect of each value of each factor, by least squares over the baseline and the measured sets.
/// `results` are in the order of `sets`; that of the baseline itself is ignored.
pub fn effects(space: &Space, sets: &[Set], results: &[Option<Measured>]) -> Effects {
    let of = |(set, result): (&Set, &Option<Measured>)| {
        if set.is_empty() { Some(0.0) } else { Some(result.as_ref()?.log) }
    };
    let measured = sets.iter().zip(results);
    let noise: Vec<f64> = measured
        .clone()
        .filter(|(set, _)| !set.is_empty())
        .filter_map(|(_, result)| Some(result.as_ref()?.error.powi(2) / 2.0))
        .collect();
    // The result of a set is a difference to the baseline, which has the same scatter: half of the variance is the set's own.
    let scatter = noise.iter().sum::<f64>() / noise.len().max(1) as f64;
    let weight = scatter.max(NO_SCATTER).recip();
    effects_of(space, &measured.filter_map(|one| Some((one.0, of(one)?, weight))).collect::<Vec<_>>())
}

/// The effect of each value of each factor, by weighted least squares over sets, each with its natural logarithm and the weight of that.
pub(crate) fn effects_of(space: &Space, measured: &[(&Set, f64, f64)]) -> Effects {
    // First values come before others: of two that the sets do not tell apart, the first is known.
    let count = |factor: usize| space.factors[factor].values.len();
    let all = 0..space.factors.len();
    let most = all.clone().map(count).max().unwrap_or(0);
    let of_value =
        |value: usize| all.clone().filter(move |factor| value < count(*factor)).map(move |factor| (factor, value));
    let columns: Vec<(usize, usize)> = (0..most).flat_map(of_value).collect();
    let row = |set: &Set| {
        let level = |(factor, value): &(usize, usize)| f64::from(u8::from(space.has(set, *factor, *value)));
        [1.0].into_iter().chain(columns.iter().map(level)).collect::<Vec<f64>>()
    };
    let rows: Vec<Vec<f64>> = measured.iter().map(|(set, ..)| row(set)).collect();
    let of = |at: fn(&(&Set, f64, f64)) -> f64| measured.iter().map(at).collect::<Vec<f64>>();
    let mut effects: Effects = all.clone().map(|factor| vec![None; count(factor)]).collect();
    for ((factor, value), effect) in
        columns.iter().zip(fitted(&rows, &of(|one| one.1), &of(|one| one.2)).into_iter().skip(1))
    {
        effects[*factor][*value] = effect;
    }
    effects
}

/// Coefficients of a linear model by weighted least squares, one for each column of `rows`; weights are inverse variances of the values.
/// `None`: the rows do not tell the column from others.
fn fitted(rows: &[Vec<f64>], values: &[f64], weights: &[f64]) -> Vec<Option<Effect>> {
    let size = rows.first().map_or(0, Vec::len);
    // Weights of about 1, so that what counts as zero does not depend on their unit.
    let unit = weights.iter().sum::<f64>() / weights.len().max(1) as f64;
    let sum = |of: &dyn Fn(usize) -> f64| (0..rows.len()).map(|at| weights[at] / unit * of(at)).sum::<f64>();
    let products = (0..size).map(|i| (0..size).map(|j| sum(&|at| rows[at][i] * rows[at][j])).collect()).collect();
    let target: Vec<f64> = (0..size).map(|i| sum(&|at| rows[at][i] * values[at])).collect();
    let inverse = inverted(products).into_iter().enumerate();
    let effect = |(i, row): (usize, Option<Vec<f64>>)| {
        let row = row?;
        let log = row.iter().zip(&target).map(|(one, other)| one * other).sum();
        Some(Effect { log, error: (row[i].max(0.0) / unit).sqrt() })
    };
    inverse.map(effect).collect()
}

/// The inverse of a symmetric matrix by Gauss and Jordan. Rows of unknowns that depend on earlier ones are `None`, and zero in the others.
fn inverted(mut matrix: Vec<Vec<f64>>) -> Vec<Option<Vec<f64>>> {
    const TINY: f64 = 1e-9;
    let size = matrix.len();
    let mut inverse: Vec<Vec<f64>> =
        (0..size).map(|i| (0..size).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    let mut known = vec![true; size];
    for pivot in 0..size {
        let scale = matrix[pivot][pivot];
        if scale < TINY {
            known[pivot] = false;
            continue;
        }
        matrix[pivot].iter_mut().chain(&mut inverse[pivot]).for_each(|value| *value /= scale);
        let (of_pivot, of_inverse) = (matrix[pivot].clone(), inverse[pivot].clone());
        for row in (0..size).filter(|row| *row != pivot) {
            let factor = matrix[row][pivot];
            matrix[row].iter_mut().zip(&of_pivot).for_each(|(value, other)| *value -= factor * other);
            inverse[row].iter_mut().zip(&of_inverse).for_each(|(value, other)| *value -= factor * other);
        }
    }
    let rows = inverse.into_iter().zip(known.clone()).map(|(row, is_known)| {
        let kept = row.into_iter().zip(&known).map(|(value, known)| if *known { value } else { 0.0 });
        is_known.then(|| kept.collect())
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Factor;

    fn space(factors: usize) -> Space {
        let factor =
            |at: usize| Factor { axis: format!("mount.{at:02}"), values: vec!["on".into()], ..Factor::default() };
        Space { factors: (0..factors).map(factor).collect(), ..Space::default() }
    }

    #[test]
    fn columns_of_every_design_are_balanced_and_orthogonal() {
        for factors in 1..=MOST_FACTORS {
            let runs = plackett_burman(factors);
            let count = |a: usize, b: usize| runs.iter().filter(|run| run[a] && run[b]).count();
            assert_eq!(runs.len() % 4, 0);
            assert!(runs.len() > factors && runs.len() <= factors.next_multiple_of(4) + 4, "{factors}: {}", runs.len());
            for a in 0..factors {
                assert_eq!(count(a, a) * 2, runs.len(), "{factors} factors, column {a}");
                for b in (0..factors).filter(|b| *b != a) {
                    assert_eq!(count(a, b) * 4, runs.len(), "{factors} factors, columns {a} and {b}");
                }
            }
        }
    }

    #[test]
    fn every_screen_begins_with_the_baseline_and_repeats_no_set() {
        for factors in 1..=MOST_FACTORS {
            let sets = screen(&space(factors), 0);
            assert!(sets[0].is_empty() && sets.len() <= 24);
            assert!(sets.iter().enumerate().all(|(at, set)| !sets[..at].contains(set)));
        }
        assert_eq!(screen(&space(1), 0).len(), 2);
    }

    fn measured(space: &Space, sets: &[Set], truth: &[f64]) -> Vec<Option<Measured>> {
        let log = |set: &Set| (0..truth.len()).filter(|at| space.has(set, *at, 0)).map(|at| truth[at]).sum();
        sets.iter().map(|set| Some(Measured { log: log(set), error: 0.02, df: 10.0 })).collect()
    }

    #[test]
    fn effects_without_interactions_are_found_exactly() {
        let space = space(11);
        let truth: Vec<f64> = (0..11).map(|at| 0.01 * f64::from(at) - 0.03).collect();
        let sets = screen(&space, 0);
        for (effect, truth) in effects(&space, &sets, &measured(&space, &sets, &truth)).concat().iter().zip(truth) {
            let effect = effect.expect("shown");
            assert!((effect.log - truth).abs() < 1e-9 && effect.error > 0.0 && effect.error < 0.02, "{effect:?}");
        }
    }

    #[test]
    fn effects_of_first_and_second_values_are_exact() {
        let mut space = space(11);
        space.factors.iter_mut().skip(2).for_each(|factor| factor.values.push("more".into()));
        let sets = [screen(&space, 0), screen(&space, 1)].concat();
        assert!(sets[..12].iter().all(|set| set.is_empty() || !sets[12..].contains(set)), "none is measured twice");
        let truth = |factor: usize, value: usize| 0.01 * factor as f64 - 0.03 * value as f64;
        let levels = |set: &Set| {
            let all =
                space.factors.iter().enumerate().flat_map(|(at, of)| (0..of.values.len()).map(move |to| (at, to)));
            all.filter(|(at, to)| space.has(set, *at, *to)).map(|(at, to)| truth(at, to)).sum()
        };
        let results: Vec<Option<Measured>> =
            sets.iter().map(|set| Some(Measured { log: levels(set), error: 0.02, df: 10.0 })).collect();
        let found = effects(&space, &sets, &results);
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [[1; 2].as_slice(), &[2; 9]].concat());
        for (factor, effects) in found.iter().enumerate() {
            for (value, effect) in effects.iter().enumerate() {
                assert!(effect.is_some_and(|effect| (effect.log - truth(factor, value)).abs() < 1e-9), "{found:?}");
            }
        }
        let of_first = effects(&space, &sets[..12], &results[..12]);
        assert!(of_first.iter().all(|effects| effects[0].is_some() && effects[1..].iter().all(Option::is_none)));
    }

    #[test]
    fn lost_and_excluded_sets_leave_the_other_effects_exact() {
        let mut space = space(6);
        let both = |a: &str, b: &str| [a, b].map(|axis| (axis.to_owned(), "on".to_owned())).into();
        space.excludes = vec![both("mount.00", "mount.03")];
        let truth = [0.2, 0.0, -0.1, 0.3, 0.0, 0.05];
        let sets = screen(&space, 0);
        assert!(sets.iter().all(|set| !space.is_excluded(set)));
        let mut results = measured(&space, &sets, &truth);
        results[3] = None;
        let found = effects(&space, &sets, &results).concat();
        for (effect, truth) in found.iter().zip(truth) {
            assert!(effect.is_none_or(|effect| (effect.log - truth).abs() < 1e-9), "{found:?}");
        }
        assert!(found.iter().flatten().count() >= 5, "{found:?}");
    }

    #[test]
    fn a_factor_that_was_never_measured_has_no_effect() {
        let space = space(2);
        let sets = vec![Set::new(), space.with(&Set::new(), 0, 0).expect("allowed")];
        let found = effects(&space, &sets, &measured(&space, &sets, &[0.1, 0.1])).concat();
        assert!(found[0].is_some_and(|effect| (effect.log - 0.1).abs() < 1e-9) && found[1].is_none());
    }
}
