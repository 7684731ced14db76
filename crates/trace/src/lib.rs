//! Traces: a program's calls on the files of a folder, recorded once, to be replayed on every contender.
//! In: a command recorded with eBPF or strace ([`record`]), or a trace file. Out: a [`Trace`]: the initial tree, and each call with its
//! thread, its arguments, its result, the program's own time before it, and the calls of other threads that must precede it. No contents
//! are stored. This crate records, and defines the format and the order; the engine replays.

mod actions;
mod bpf;
mod calls;
mod check;
mod compressible;
mod cost;
mod descriptors;
mod events;
mod expected;
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

pub use expected::{Expected, expected};
pub use file::{checksum, from_lines, is_trace_file, packed, read};
pub use names_at_risk::{NameAtRisk, names_at_risk};
pub use profile::{Blocks, Made, Profile};
pub use recorder::{Recorded, Recording, Watcher, record, record_while};
pub use trace::{Action, Call, Entry, EntryKind, Header, Overhead, Sleep, Trace, files};
