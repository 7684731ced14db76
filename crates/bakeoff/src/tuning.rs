//! `bakeoff tune` as parts: the options to try, the stages as runs, the answer.
//! In: a filesystem's description and the command line. Out: results for the search in the crate `tune`, which decides; text and JSON.

mod answer;
mod goals;
mod options;
mod stages;

pub use answer::{Answer, StageView, Tuned};
pub use options::{Subject, Tried, try_out};
pub use stages::{Stages, what};
