//! Power cuts: what a contender keeps of what it promised, and what it loses of the rest, when the power goes.
//! In: a stage on a disk that Bakeoff serves itself. Out: a [`Survived`] for each contender, made of many states that are legal after a cut.
//!
//! Work goes over a fresh filesystem while the disk is recorded; then states that a cut may leave are put in the disk's place one after the other,
//! mounted and looked at. It knows nothing of how results are shown.

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
