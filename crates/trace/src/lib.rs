//! Traces: what a program did to the files of a folder, recorded once, to be replayed on every contender.
//! In: a command that is watched with eBPF or strace ([`record`]), or a trace file. Out: a [`Trace`]: the tree as it was at the start, and each
//! call with its thread, its arguments, its result, the time of the program's own before it, and the calls of other threads that it must come after.
//! No contents are kept. Recording, the format and the order live here; the engine replays.

mod actions;
mod bpf;
mod calls;
mod check;
mod compressible;
mod cost;
mod descriptors;
mod events;
mod file;
mod names;
mod names_at_risk;
mod numbers;
mod order;
mod processes;
mod profile;
mod recorder;
mod strace;
mod syscalls;
mod trace;
mod tree;
mod waiting;

pub use file::{checksum, from_lines, is_trace_file, packed, read};
pub use names_at_risk::{NameAtRisk, names_at_risk};
pub use profile::{Blocks, Made, Profile};
pub use recorder::{Recorded, Recording, Watcher, record, record_while};
pub use trace::{Action, Call, Entry, EntryKind, Header, Overhead, Sleep, Trace, files};
