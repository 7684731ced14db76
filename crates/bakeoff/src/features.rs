//! What was found out about filesystems, beside what was published: tables and comparisons.
//! In: answers of the lab, `published/features.csv`. Out: text, CSV, Markdown, JSON.

mod beside;
mod table;

pub use beside::{Beside, published};
pub use table::{csv, how, json, markdown, table};

use lab::features::Feature;
use serde::Serialize;

/// The answers of one filesystem or directory.
#[derive(Debug, Clone, Serialize)]
pub struct Probed {
    /// Its name.
    pub name: String,
    /// One for each question, in the same order for all.
    pub features: Vec<Feature>,
}

impl Probed {
    /// The answer to a question.
    pub fn answer(&self, key: &str) -> Option<&lab::features::Answer> {
        self.features.iter().find(|feature| feature.key == key).map(|feature| &feature.answer)
    }
}
