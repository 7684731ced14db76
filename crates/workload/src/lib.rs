//! What is asked and what is answered: the workload and plan language, and the types that travel between parts.
//! In: TOML written by people. Out: checked plans, flat programs, and the outcome types that come back.
//! Knows nothing of devices, filesystems or statistics.

pub mod message;
pub mod outcome;
pub mod program;
