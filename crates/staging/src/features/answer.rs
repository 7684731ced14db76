//! Answers about features: yes, no, a size, or why it is not known.
//! In: what was tried and what the system answered. Out: words for people, and values for those who compare.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One question and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Feature {
    /// Name of the question, as in [`super::QUESTIONS`].
    pub key: String,
    /// The question in a few words.
    pub title: String,
    /// The answer.
    pub answer: Answer,
}

/// What was found out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The answer in a few words: `yes`, `255`, `16 TiB`.
    pub text: String,
    /// Whether it has the feature; absent where it is not known, or where the answer is an amount.
    pub has: Option<bool>,
    /// The amount in bytes or pieces, where that is the answer.
    pub amount: Option<u64>,
    /// What was tried and what was answered.
    pub how: String,
}

impl Answer {
    pub(crate) fn yes(how: impl Into<String>) -> Answer {
        Answer { text: "yes".into(), has: Some(true), amount: None, how: how.into() }
    }

    pub(crate) fn no(how: impl Into<String>) -> Answer {
        Answer { text: "no".into(), has: Some(false), amount: None, how: how.into() }
    }

    pub(crate) fn amount(amount: u64, text: impl Into<String>, how: impl Into<String>) -> Answer {
        Answer { text: text.into(), has: None, amount: Some(amount), how: how.into() }
    }

    pub(crate) fn words(text: impl Into<String>, how: impl Into<String>) -> Answer {
        Answer { text: text.into(), has: None, amount: None, how: how.into() }
    }

    pub(crate) fn untold(how: impl Into<String>) -> Answer {
        Answer { text: "?".into(), has: None, amount: None, how: how.into() }
    }

    /// Yes where it worked, else no with the system's answer.
    pub(crate) fn of<T>(tried: Result<T, impl std::fmt::Display>, how: &str) -> Answer {
        match tried {
            Ok(_) => Answer::yes(how),
            Err(error) => Answer::no(format!("{how}: {error}")),
        }
    }
}

/// The largest number from `low` (which is taken as accepted) to `high` that is accepted, where all below it are.
pub(crate) fn largest(low: u64, high: u64, mut accepts: impl FnMut(u64) -> bool) -> u64 {
    if accepts(high) {
        return high;
    }
    let (mut good, mut bad) = (low, high);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if accepts(middle) { good = middle } else { bad = middle }
    }
    good
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_accepted_number_is_found_between_and_at_the_ends() {
        for limit in [0, 1, 255, 4095, 4096] {
            assert_eq!(largest(0, 4096, |n| n <= limit), limit);
        }
        assert_eq!(largest(0, i64::MAX as u64, |n| n <= 17_592_186_040_320), 17_592_186_040_320);
    }
}
