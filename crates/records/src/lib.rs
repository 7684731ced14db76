//! Plain types: requests, actions, findings and measurements. Every other crate shares them.
//! In: filled in by the crates that request, inspect or measure. Out: stored in the ledger unchanged, and read back unchanged.
//! This crate inspects, judges and displays nothing; an unknown field of a record is an error on reading.

pub mod ageing;
pub mod cause;
pub mod cold;
pub mod contender;
pub mod custody;
pub mod device;
pub mod durability;
pub mod facts;
pub mod feature;
pub mod machine;
pub mod observed;
pub mod outcome;
pub mod plan;
pub mod program;
pub mod run;
pub mod size;
pub mod together;

pub use cause::Cause;
pub use cold::{ColdStart, ColdWay};
pub use contender::{Contender, DEVICE, DIRECTORY, Difference, FRESH, Nearest, TWIN, USED};
pub use device::{BlockDevice, Number, Queue};
pub use durability::{DataMode, Durability, Journaling};
pub use feature::Feature;
pub use machine::{Cpu, Machine, Virtualisation};
pub use observed::{AgedState, Backend, Closing, Found, FreeSpace, Kept, OptionFound, Restored, Usage};
pub use plan::{Ages, Place, PlannedContender, ResolvedPlan, Sampling, Shard, Turns, Until, Work};
pub use run::{
    CommandRecord, ContenderRecord, DiskLateness, Evidence, Merged, NewRun, Origin, Part, PhaseRecord, RunRecord,
    RunStatus, TrialRecord, TrialStatus, WorkRecord,
};
pub use size::show_bytes;
pub use together::{ClientOutcome, Percentiles, Together};
