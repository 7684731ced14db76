//! The best set of a search without the options that add nothing to it.
//! In: all results of a search. Out: the smaller set, for the confirmation to hold beside the whole one.
//! A race ranks sets by their speed alone, so its winner also has options that do nothing. Each option's own share is fitted to all sets
//! that were measured; that ignores interactions, which the confirmation then shows: there the smaller set has to be level with the whole one.

use crate::design::fitted;
use crate::race::Scores;
use crate::space::{Factor, Set, Space};

/// Share of the margin that an option must gain to stay, and up to which the smaller set may be slower. In simulations of small budgets a
/// larger share lost more speed than the search had found, and so did asking for a gain of two standard errors.
const LITTLE: f64 = 0.5;

/// The set without options that gain less than half the margin (natural logarithm); `None` if it would keep all or none.
pub(crate) fn reduced(space: &Space, scores: &Scores, set: &Set, margin: f64) -> Option<Set> {
    let measured: Vec<(&Set, f64, f64)> = scores.weighted().collect();
    let all = |factor: usize| (0..space.factors[factor].values.len()).map(move |value| (factor, value));
    let columns: Vec<(usize, usize)> = (0..space.factors.len()).flat_map(all).collect();
    let row = |set: &Set| {
        let level = |(factor, value): &(usize, usize)| f64::from(u8::from(space.has(set, *factor, *value)));
        [1.0].into_iter().chain(columns.iter().map(level)).collect::<Vec<f64>>()
    };
    // The baseline by itself, in as many rounds as an average set.
    let weight = measured.iter().map(|(.., weight)| weight).sum::<f64>() / measured.len().max(1) as f64;
    let baseline = Set::new();
    let rows: Vec<(&Set, f64, f64)> = measured.iter().copied().chain([(&baseline, 0.0, weight)]).collect();
    let of = |at: fn(&(&Set, f64, f64)) -> f64| rows.iter().map(at).collect::<Vec<f64>>();
    let shares = fitted(&rows.iter().map(|(set, ..)| row(set)).collect::<Vec<_>>(), &of(|row| row.1), &of(|row| row.2));
    let stays = |column: usize| shares[column + 1].is_none_or(|share| share.log > LITTLE * margin);
    let kept = columns.iter().enumerate().filter(|(at, (factor, value))| space.has(set, *factor, *value) && stays(*at));
    let factors: Vec<&Factor> = kept.map(|(_, (factor, _))| &space.factors[*factor]).collect();
    let is_kept = |axis: &String| factors.iter().any(|one| one.axis == *axis || one.needs.contains_key(axis));
    let smaller: Set =
        set.iter().filter(|(axis, _)| is_kept(axis)).map(|(axis, value)| (axis.clone(), value.clone())).collect();
    (!smaller.is_empty() && smaller.len() < set.len() && !space.is_excluded(&smaller)).then_some(smaller)
}

/// Whether a smaller set is level with the whole one, by their ratios to the baseline; `margin` as a share.
pub(crate) fn is_level(smaller: f64, whole: f64, margin: f64) -> bool {
    smaller * (1.0 + LITTLE * margin) >= whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::screen;
    use crate::race::Measured;

    const MARGIN: f64 = 0.03;

    fn set(values: &[(&str, &str)]) -> Set {
        values.iter().map(|(axis, value)| ((*axis).to_owned(), (*value).to_owned())).collect()
    }

    /// `inline` needs inodes of 2048 bytes, which are an option by themselves; `log` has two values.
    fn space() -> Space {
        let factor = |axis: &str, values: &[&str]| Factor {
            axis: axis.into(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
            ..Factor::default()
        };
        let inline = Factor { needs: set(&[("inode", "2048")]), ..factor("inline", &["on"]) };
        Space {
            factors: vec![inline, factor("inode", &["2048"]), factor("log", &["64m", "128m"]), factor("none", &["on"])],
            ..Space::default()
        }
    }

    fn reduced_of(set: &Set, log: &dyn Fn(&Set) -> f64) -> Option<Set> {
        let (space, mut scores) = (space(), Scores::default());
        let other = |first: &Set| {
            let mut other = first.clone();
            other.insert("log".into(), "128m".into());
            other
        };
        let screened = screen(&space);
        for one in screened.iter().chain(&[other(&screened[1]), other(&screened[2])]).filter(|one| !one.is_empty()) {
            scores.add(one, &[Measured { log: log(one), error: 0.01, df: 9.0 }]);
        }
        reduced(&space, &scores, set, MARGIN)
    }

    #[test]
    fn what_gains_nothing_leaves_and_what_the_rest_needs_stays() {
        let is_at =
            |set: &Set, axis: &str, value: &str| f64::from(u8::from(set.get(axis).is_some_and(|at| at == value)));
        let log = |set: &Set| {
            0.2 * is_at(set, "inline", "on") + 0.1 * is_at(set, "log", "128m") + 0.01 * is_at(set, "none", "on")
        };
        let all = set(&[("inline", "on"), ("inode", "2048"), ("log", "128m"), ("none", "on")]);
        let smaller = set(&[("inline", "on"), ("inode", "2048"), ("log", "128m")]);
        assert_eq!(reduced_of(&all, &log), Some(smaller.clone()));
        assert_eq!(reduced_of(&smaller, &log), None, "all of it gains");
        let first = set(&[("inline", "on"), ("inode", "2048"), ("log", "64m")]);
        assert_eq!(
            reduced_of(&first, &log),
            Some(set(&[("inline", "on"), ("inode", "2048")])),
            "the other value gains"
        );
    }

    #[test]
    fn a_set_of_which_nothing_gains_stays_whole() {
        assert_eq!(reduced_of(&set(&[("log", "64m"), ("none", "on")]), &|_| 0.0), None);
    }
}
