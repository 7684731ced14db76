//! What each value of each option adds by itself, fitted to all results of a search.
//! In: all results so far. Out: the best set without options that add nothing to it, or with options that add more.
//! A race ranks sets by their speed alone, so its winner also has options that do nothing, and options that it was not measured with may add to
//! it. The fit ignores interactions; they show when the changed set is measured beside the one it came from.

use crate::design::{Effect, Effects, effects_of};
use crate::race::{LITTLE, Scores};
use crate::space::{Factor, Set, Space};

/// What each value of each factor adds by itself, fitted to all measured sets.
pub(crate) struct Shares<'a> {
    space: &'a Space,
    shares: Effects,
}

impl<'a> Shares<'a> {
    /// Fits them to all results so far.
    pub(crate) fn of(space: &'a Space, scores: &Scores) -> Self {
        let measured: Vec<(&Set, f64, f64)> = scores.weighted().collect();
        // The baseline by itself, in as many rounds as an average set.
        let weight = measured.iter().map(|(.., weight)| weight).sum::<f64>() / measured.len().max(1) as f64;
        let baseline = Set::new();
        let shares = effects_of(space, &[measured, vec![(&baseline, 0.0, weight)]].concat());
        Self { space, shares }
    }

    /// A set with other or further options, each of which adds more than the margin (natural logarithm), what adds most first. `None` if
    /// there are none.
    pub(crate) fn improved(&self, set: &Set, margin: f64) -> Option<Set> {
        let mut best = set.clone();
        // Every change is a gain, so none is undone; each factor changes once at most.
        for _ in &self.space.factors {
            let before = self.sum(&best)?;
            let changed = |(factor, value): (usize, usize)| {
                let mut without = best.clone();
                without.remove(&self.space.factors[factor].axis);
                let changed = self.space.with(&without, factor, value)?;
                Some((self.sum(&changed)? - before, changed))
            };
            let all = (0..self.shares.len())
                .flat_map(|factor| (0..self.shares[factor].len()).map(move |value| (factor, value)));
            let most = all.filter_map(changed).max_by(|a, b| a.0.total_cmp(&b.0));
            let Some((_, changed)) = most.filter(|(gain, _)| *gain > margin) else { break };
            best = changed;
        }
        (best != *set).then_some(best)
    }

    /// What all options of a set add together; `None` if that of one is not known.
    fn sum(&self, set: &Set) -> Option<f64> {
        let of_factor = |(factor, values): (usize, &Vec<Option<Effect>>)| {
            let value = (0..values.len()).find(|value| self.space.has(set, factor, *value));
            value.map_or(Some(0.0), |value| values[value].map(|share| share.log))
        };
        self.shares.iter().enumerate().map(of_factor).sum()
    }

    /// A set without options that gain less than half the margin (natural logarithm); `None` if it would keep all or none.
    pub(crate) fn reduced(&self, set: &Set, margin: f64) -> Option<Set> {
        let space = self.space;
        let stays = |share: &Option<Effect>| share.is_none_or(|share| share.log > LITTLE * margin);
        let kept = |(factor, values): (usize, &Vec<Option<Effect>>)| {
            values.iter().enumerate().any(|(value, share)| space.has(set, factor, value) && stays(share))
        };
        let kept = self.shares.iter().enumerate().filter(|one| kept(*one));
        let factors: Vec<&Factor> = kept.map(|(factor, _)| &space.factors[factor]).collect();
        let is_kept = |axis: &String| factors.iter().any(|one| one.axis == *axis || one.needs.contains_key(axis));
        let smaller: Set =
            set.iter().filter(|(axis, _)| is_kept(axis)).map(|(axis, value)| (axis.clone(), value.clone())).collect();
        (!smaller.is_empty() && smaller.len() < set.len() && !space.is_excluded(&smaller)).then_some(smaller)
    }
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

    /// Results without scatter of the screened sets, two of them also with the other log.
    fn measured(log: &dyn Fn(&Set) -> f64) -> (Space, Scores) {
        let (space, mut scores) = (space(), Scores::default());
        let other = |first: &Set| {
            let mut other = first.clone();
            other.insert("log".into(), "128m".into());
            other
        };
        let screened = screen(&space, 0);
        for one in screened.iter().chain(&[other(&screened[1]), other(&screened[2])]).filter(|one| !one.is_empty()) {
            scores.add(one, &[Measured { log: log(one), error: 0.01, df: 9.0 }]);
        }
        (space, scores)
    }

    fn reduced_of(set: &Set, log: &dyn Fn(&Set) -> f64) -> Option<Set> {
        let (space, scores) = measured(log);
        Shares::of(&space, &scores).reduced(set, MARGIN)
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
    fn values_that_add_more_take_the_place_of_others() {
        let is_at =
            |set: &Set, axis: &str, value: &str| f64::from(u8::from(set.get(axis).is_some_and(|at| at == value)));
        let log = |set: &Set| {
            let logs = 0.05 * is_at(set, "log", "64m") + 0.2 * is_at(set, "log", "128m");
            logs + 0.1 * is_at(set, "inline", "on") + 0.02 * is_at(set, "none", "on")
        };
        let (space, scores) = measured(&log);
        let shares = Shares::of(&space, &scores);
        let first = set(&[("inline", "on"), ("inode", "2048"), ("log", "64m")]);
        let better = set(&[("inline", "on"), ("inode", "2048"), ("log", "128m")]);
        assert_eq!(shares.improved(&first, MARGIN), Some(better.clone()));
        assert_eq!(shares.improved(&better, MARGIN), None, "the option that it lacks adds less than the margin");
        assert_eq!(shares.improved(&set(&[("log", "64m")]), MARGIN), Some(better), "it lacks two that add more");
        let of_one_axis = |values: &[&str]| Factor {
            axis: "data".into(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
            ..Factor::default()
        };
        let space = Space { factors: vec![of_one_axis(&["journal"]), of_one_axis(&["writeback"])], ..Space::default() };
        let mut scores = Scores::default();
        for (value, log) in [("journal", 0.2), ("writeback", 0.05)] {
            scores.add(&set(&[("data", value)]), &[Measured { log, error: 0.01, df: 9.0 }]);
        }
        let shares = Shares::of(&space, &scores);
        assert_eq!(shares.improved(&set(&[("data", "journal")]), MARGIN), None, "another factor of the same axis");
        assert_eq!(shares.improved(&set(&[("data", "writeback")]), MARGIN), Some(set(&[("data", "journal")])));
    }

    #[test]
    fn a_set_of_which_nothing_gains_stays_whole() {
        assert_eq!(reduced_of(&set(&[("log", "64m"), ("none", "on")]), &|_| 0.0), None);
    }
}
