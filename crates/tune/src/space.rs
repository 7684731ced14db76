//! The options that a search may combine.
//! In: factors with their values, and combinations that exclude each other. Out: [`Set`]s of options, each allowed.
//! A set lists only what differs from the baseline; the empty set is the baseline.

use std::collections::BTreeMap;

/// Most values of one factor.
pub const MOST_VALUES: usize = 8;
/// Matches any value in a rule except off.
const ANY: &str = "*";

/// A combination of options: the value of each axis that differs from the baseline.
pub type Set = BTreeMap<String, String>;

/// Whether a set has some of the options of another one, and no others.
pub fn is_within(set: &Set, other: &Set) -> bool {
    set.len() < other.len() && set.iter().all(|(axis, value)| other.get(axis) == Some(value))
}

/// One option with the values worth trying.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Factor {
    /// Name of its axis: `mkfs.log_size`, `mount.noatime`, `scheduler`.
    pub axis: String,
    /// Values, the one that is screened first.
    pub values: Vec<String>,
    /// Why it may matter, in a sentence.
    pub why: String,
    /// Values of other axes that it needs.
    pub needs: Set,
}

/// All factors of a search, and their rules.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Space {
    /// The factors, the most promising first: if time is short, the last are left out.
    pub factors: Vec<Factor>,
    /// Combinations that mkfs or the kernel refuses; `*` matches any value except off.
    pub excludes: Vec<Set>,
    /// What the baseline itself requests.
    pub base: Set,
}

impl Space {
    /// A set with one more factor at one of its values; `None` if the set has another value of that axis, or the result is excluded.
    pub fn with(&self, set: &Set, factor: usize, value: usize) -> Option<Set> {
        let factor = &self.factors[factor];
        let mut joined = set.clone();
        let own = std::iter::once((&factor.axis, &factor.values[value])).chain(&factor.needs);
        for (axis, value) in own {
            match joined.insert(axis.clone(), value.clone()) {
                Some(before) if before != *value => return None,
                _ => {}
            }
        }
        (!self.is_excluded(&joined)).then_some(joined)
    }

    /// Whether a set has this factor at this value.
    pub fn has(&self, set: &Set, factor: usize, value: usize) -> bool {
        let factor = &self.factors[factor];
        set.get(&factor.axis) == Some(&factor.values[value])
    }

    /// Whether this set may not be made on top of the baseline: a rule forbids it, or a factor in it lacks what it needs.
    pub fn is_excluded(&self, set: &Set) -> bool {
        let at = |axis: &String| set.get(axis).or_else(|| self.base.get(axis));
        let broken = |rule: &Set| rule.iter().all(|(axis, value)| at(axis).is_some_and(|at| is_at(at, value)));
        let lacking = |factor: &Factor| {
            let is_in = set.get(&factor.axis).is_some_and(|value| factor.values.contains(value));
            is_in && factor.needs.iter().any(|(axis, value)| !at(axis).is_some_and(|at| is_at(at, value)))
        };
        self.excludes.iter().any(broken) || self.factors.iter().any(lacking)
    }
}

/// Whether a value is that of a rule: switches match in any notation.
fn is_at(at: &str, rule: &str) -> bool {
    let alike = switched(rule).is_some() && switched(rule) == switched(at);
    at == rule || alike || (rule == ANY && switched(at) != Some(false))
}

fn switched(value: &str) -> Option<bool> {
    match value {
        "on" | "1" | "true" => Some(true),
        "off" | "0" | "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(values: &[(&str, &str)]) -> Set {
        values.iter().map(|(axis, value)| ((*axis).to_owned(), (*value).to_owned())).collect()
    }

    fn factor(axis: &str, values: &[&str]) -> Factor {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        Factor { axis: axis.into(), values, ..Factor::default() }
    }

    fn space() -> Space {
        let csum = Factor { needs: set(&[("mkfs.x", "on")]), ..factor("mkfs.y", &["2"]) };
        Space {
            factors: vec![factor("mount.cow", &["off", "on"]), factor("mount.compress", &["zstd"]), csum],
            excludes: vec![set(&[("mount.cow", "0"), ("mount.compress", "*")])],
            base: Set::new(),
        }
    }

    #[test]
    fn a_factor_brings_what_it_needs_and_one_axis_has_one_value() {
        let mut space = space();
        let one = space.with(&Set::new(), 2, 0).expect("allowed");
        assert_eq!(one, set(&[("mkfs.x", "on"), ("mkfs.y", "2")]));
        assert_eq!(space.with(&set(&[("mkfs.x", "off")]), 2, 0), None);
        assert_eq!(space.with(&set(&[("mount.cow", "on")]), 0, 0), None);
        assert!(!space.is_excluded(&one) && space.is_excluded(&set(&[("mkfs.y", "2"), ("mkfs.x", "off")])));
        space.base = set(&[("mkfs.x", "on")]);
        assert!(!space.is_excluded(&set(&[("mkfs.y", "2")])), "the baseline has what it needs");
    }

    #[test]
    fn excluded_combinations_are_refused_in_any_notation_and_with_the_baselines_own_options() {
        let mut space = space();
        let off = space.with(&Set::new(), 0, 0).expect("allowed alone");
        assert_eq!(space.with(&off, 1, 0), None);
        assert!(space.with(&set(&[("mount.cow", "on")]), 1, 0).is_some());
        space.base = set(&[("mount.cow", "false")]);
        assert_eq!(space.with(&Set::new(), 1, 0), None);
    }
}
