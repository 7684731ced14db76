//! The search for the best options of a filesystem for some work: what to measure next, and what the results allow to claim.
//! In: a [`Space`] of options, a time budget, and the results of each stage. Out: the next [`Stage`], at the end a [`Decision`].
//! Pure functions: files, devices and runs belong to the caller.
//!
//! A search has one goal or several (speed, space, ...): each result is a ratio to the baseline in every goal. With several, a stage keeps
//! sets that no other beats in all of them, and the decision is on each of the last ones.
//!
//! Stages: a pilot for the time of one trial, a screening design (Plackett and Burman, 1946), a race by successive halving, and a
//! confirmation on rounds of its own, the only one that supports a claim.

mod decision;
mod design;
mod race;
mod search;
mod shares;
mod space;

pub use decision::{Decision, choices, decide};
pub use design::{Effect, Effects, MOST_FACTORS, effects, plackett_burman, screen};
pub use race::{Measured, Scores};
pub use search::{Budget, Confirmed, Outcome, Search, Stage, StageKind, Terms};
pub use space::{Factor, MOST_VALUES, Set, Space, is_within};
