//! Plain types: what was asked for, what was done, what was found and measured. Every other crate shares them.
//! In: filled in by whoever asks, looks or measures. Out: kept in the ledger as they are, and read as they are.
//! Nothing here looks at a machine, judges or shows anything; a field that a record does not know is an error when it is read.

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
