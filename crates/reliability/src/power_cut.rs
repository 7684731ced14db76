//! Power cuts: which guarantees a contender keeps, and what else it loses, when the power fails.
//! In: a stage on a disk served by Bakeoff. Out: a [`Survived`] for each contender, from many legal states after a cut.
//!
//! Work runs on a fresh filesystem while the disk is recorded. Then states that a cut may leave are loaded into the disk one after the
//! other, mounted and inspected. This is independent of how results are shown.

mod beyond_posix;
mod campaign;
mod diary;
mod ground;
pub(crate) mod hands;
mod in_guest;
pub(crate) mod instances;
pub(crate) mod kept;
mod program;
mod program_account;
mod promise_account;
mod promise_work;
mod promises;
mod result;
mod tally;

pub use beyond_posix::{BeyondPosix, Look};
pub use campaign::{Cuts, Watcher, Work, cut};
pub use ground::Ground;
pub use kept::{KeptState, LookedAgain};
pub use program::Program;
pub use promises::{Chosen, Later};
pub use result::{
    Example, Figures, Given, Mounts, ProgramResult, PromiseResult, Rate, Strength, Survived, VariantResult,
    torn_in_words,
};
