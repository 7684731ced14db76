//! fio's job files as work: run by fio from a newly written file of the checked options ([`run_by_fio`]), or translated into steps of
//! Bakeoff's own engine ([`translated`]). In: the text of a job file. Out: a workload in its written form, or the lines that cannot
//! run in a folder, and why.

mod job_file;
mod lines;
mod map;
mod meaning;
mod names;
mod numbers;
mod options;
mod run;
mod translate;

pub use job_file::{Job, JobFile, Problem, Setting};
pub use map::Map;
pub use run::{Way, identifier, remarks, run_by_fio};
pub use translate::{Translation, translated};
