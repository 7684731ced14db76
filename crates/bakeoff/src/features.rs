//! What was found out about filesystems, beside what was published: tables and comparisons.
//! In: answers of `staging`, `published/features.csv`. Out: text, CSV, Markdown, JSON.

mod beside;
mod table;

pub use beside::{Beside, published};
pub use table::{csv, how, markdown, table};

use crate::json::Answer;
use schemars::JsonSchema;
use serde::Serialize;
use staging::features::Feature;

/// `bakeoff features --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Features {
    /// What was probed.
    pub filesystems: Vec<Probed>,
    /// What was published about these filesystems, beside what was found.
    pub published: Vec<Beside>,
}

impl Answer for Features {
    const SCHEMA: &'static str = "bakeoff-features";
}

/// The answers of one filesystem or directory.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Probed {
    /// Its name.
    pub name: String,
    /// One for each question, in the same order for all.
    pub features: Vec<Feature>,
}

impl Probed {
    /// The answer to a question.
    pub fn answer(&self, key: &str) -> Option<&staging::features::Answer> {
        self.features.iter().find(|feature| feature.key == key).map(|feature| &feature.answer)
    }
}
