//! What a contender keeps when things go wrong below it: when the power goes, and when its disk fails.
//! In: a stage on a disk that Bakeoff serves itself. Out: for each contender what was kept, lost, reported, and returned wrong.
//!
//! It knows nothing of how results are shown.

mod error;
pub mod power_cut;
mod stamps;

pub use error::ReliabilityError;
