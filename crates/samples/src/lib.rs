//! Converts the trials of a ledger to the judge's input: one table per run.
//! In: a run's record, its contenders and trials. Out: a [`judge::Table`], with all facts about each cell.
//! Figures are computed from trials only here, so that the stopping rule and the report judge the same table.

mod cells;
mod figures;
mod sessions;
mod share;
mod starts;
mod undone;
mod variants;
mod work;

pub use cells::{CPU, RETURNED, counted, table, work_name};
pub use figures::{cpu_percent, durable, headline, returned};
pub use sessions::{Change, Rate, Sessions, differences, rates, sessions};
pub use share::Time;
pub use starts::cache_below;
pub use undone::{judged, undone};
pub use variants::{Variants, only_variants, variants};
