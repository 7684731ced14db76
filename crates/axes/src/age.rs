//! `age`: the history of a filesystem before the work starts: `fresh`, `used`, `old`, or a profile of the user's own.
//! In: the profile's name. Out: the contender's age, to which the runner ages its image.

use crate::axis::{About, Axis};
use records::{Contender, FRESH, USED};

/// Ages, from the youngest to the oldest.
const LIVES: [&str; 3] = [FRESH, USED, "old"];

pub(crate) struct Age;

impl Axis for Age {
    fn about(&self) -> About {
        About { usual: FRESH, is_ordered: true, ..About::named("age") }
    }

    fn put(&self, contender: &mut Contender, _: &str, value: &str) {
        contender.age = Some(value.to_owned());
    }

    fn clear(&self, contender: &mut Contender, _: &str) {
        contender.age = None;
    }

    fn asked(&self, contender: &Contender, _: &str) -> Option<String> {
        contender.age.clone()
    }

    fn label(&self, _: &str, value: &str) -> String {
        format!(" {value}")
    }

    fn rank(&self, value: &str) -> Option<f64> {
        Some(LIVES.iter().position(|age| *age == value).unwrap_or(LIVES.len()) as f64)
    }
}
