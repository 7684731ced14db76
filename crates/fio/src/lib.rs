//! Job files of fio as work of ours: run unchanged by fio itself ([`unchanged`]), or translated into our own steps ([`translated`]).
//! In: the text of a job file. Out: a workload as it is written, or the lines that cannot be run in a folder, and why.

mod job_file;
mod meaning;
mod numbers;
mod run;
mod translate;

pub use job_file::{Job, JobFile, Problem, Setting};
pub use run::{Way, identifier, unchanged};
pub use translate::{Translation, translated};
