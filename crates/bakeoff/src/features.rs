//! What was found out about filesystems, beside what was published: tables and comparisons.
//! In: answers of `staging`, `published/features.csv`. Out: text, CSV, Markdown, JSON.

mod beside;
mod table;

pub use beside::{Beside, published};
pub use table::{csv, how, json, markdown, table};

use serde::Serialize;
use staging::features::Feature;

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
    pub fn answer(&self, key: &str) -> Option<&staging::features::Answer> {
        self.features.iter().find(|feature| feature.key == key).map(|feature| &feature.answer)
    }
}
