//! Requests and results: the workload and plan language, and the types exchanged between parts.
//! In: TOML written by users. Out: checked plans, flat programs, and the outcome types.
//! Knows nothing of devices, filesystems or statistics.

pub mod age_profiles;
pub mod ageing;
pub mod axes;
pub mod catalogue;
pub mod command;
mod compile;
mod data;
pub mod error;
mod fileset;
mod kinds;
pub mod message;
pub mod names;
mod patience;
pub mod plan;
mod plan_syntax;
pub mod product;
pub mod quantity;
mod scope;
mod simulate;
mod steps;
mod syntax;
mod tree;
mod validate;
mod work;
pub mod workload;
pub mod written;

pub use records::facts::{Compiled, Estimate, PhaseFacts};
pub use records::plan::Until;
pub use records::{Contender, contender, facts, outcome, program};

pub use catalogue::WorkCatalogue;
pub use error::{LanguageError, Result, did_you_mean, nearest};
pub use names::Known;
pub use plan::{Place, Plan, PlannedWork, Sampling};
pub use plan_syntax::{parse_aliases, parse_contenders};
pub use product::{AxisFacts, AxisProduct, Exclusion, SettingFacts};
pub use workload::{OptionFacts, Workload};
