//! Features of filesystems as tested, compared with what was published: tables and comparisons.
//! In: answers of `staging`, `published/features.csv`. Out: text, CSV, Markdown, JSON.

mod beside;
mod probe;
mod table;

pub use beside::{Beside, published};
pub use probe::{Asked, Images, of_plan, probe_all};
pub use table::{csv, how, markdown, table};

use crate::json::Answer;
use records::feature::Probed;
use schemars::JsonSchema;
use serde::Serialize;

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
