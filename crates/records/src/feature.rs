//! Features of a filesystem: a question and its answer, which is yes, no, a size, or why it is unknown.
//! In: what was tried and the system's result. Out: text for display, and values for comparison.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One question and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Feature {
    /// Name of the question, as in `staging::features::QUESTIONS`.
    pub key: String,
    /// The question in a few words.
    pub title: String,
    /// The answer.
    pub answer: Answer,
}

/// The answers of one filesystem or directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Probed {
    /// Its name.
    pub name: String,
    /// Kernel of the virtual machine in which it was tested; absent for this machine's own.
    pub kernel: Option<String>,
    /// One for each question, in the same order for all.
    pub features: Vec<Feature>,
}

impl Probed {
    /// Heading of its column: with the kernel, if it is another one.
    pub fn heading(&self) -> String {
        self.kernel.as_ref().map_or_else(|| self.name.clone(), |kernel| format!("{} ({kernel})", self.name))
    }

    /// The answer to a question.
    pub fn answer(&self, key: &str) -> Option<&Answer> {
        self.features.iter().find(|feature| feature.key == key).map(|feature| &feature.answer)
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The answer in a few words: `yes`, `255`, `16 TiB`.
    pub text: String,
    /// Whether it has the feature; absent where it is not known, or where the answer is an amount.
    pub has: Option<bool>,
    /// The amount in bytes or pieces, where that is the answer.
    pub amount: Option<u64>,
    /// What was tried, and the result.
    pub how: String,
}

impl Answer {
    /// It has the feature.
    pub fn yes(how: impl Into<String>) -> Answer {
        Answer { text: "yes".into(), has: Some(true), amount: None, how: how.into() }
    }

    /// It does not have the feature.
    pub fn no(how: impl Into<String>) -> Answer {
        Answer { text: "no".into(), has: Some(false), amount: None, how: how.into() }
    }

    /// An amount.
    pub fn amount(amount: u64, text: impl Into<String>, how: impl Into<String>) -> Answer {
        Answer { text: text.into(), has: None, amount: Some(amount), how: how.into() }
    }

    /// A behaviour, as text.
    pub fn words(text: impl Into<String>, how: impl Into<String>) -> Answer {
        Answer { text: text.into(), has: None, amount: None, how: how.into() }
    }

    /// Unknown.
    pub fn unknown(how: impl Into<String>) -> Answer {
        Answer { text: "?".into(), has: None, amount: None, how: how.into() }
    }

    /// Yes if it worked, else no with the system's error.
    pub fn of<T>(tried: Result<T, impl std::fmt::Display>, how: &str) -> Answer {
        match tried {
            Ok(_) => Answer::yes(how),
            Err(error) => Answer::no(format!("{how}: {error}")),
        }
    }
}
