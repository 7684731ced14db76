//! What is asked and what is answered: the workload and plan language, and the types that travel between parts.
//! In: TOML written by people. Out: checked plans, flat programs, and the outcome types that come back.
//! Knows nothing of devices, filesystems or statistics.

pub mod axes;
pub mod contender;
pub mod error;
pub mod facts;
pub mod message;
pub mod outcome;
pub mod plan;
pub mod program;
pub mod quantity;

pub use contender::Contender;
pub use error::{LanguageError, Result, nearest};
pub use facts::{Compiled, Estimate, PhaseFacts};
pub use plan::{Fresh, Place, Plan, PlannedWork, Sampling, Until};
