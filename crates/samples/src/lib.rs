//! Puts the trials of a ledger on the judge's scales: one table a run.
//! In: a run's record, its contenders and trials. Out: a [`judge::Table`], with everything known about each cell.
//! The only place where figures are taken from trials, so that the stopping rule and the report judge the same table.

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
pub use sessions::{Change, Sessions, sessions};
pub use share::Time;
pub use starts::cache_below;
pub use undone::{judged, undone};
pub use variants::{Variants, only_variants, variants};
