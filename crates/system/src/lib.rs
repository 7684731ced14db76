//! This machine: hardware, kernel, block devices, counters, noise, and the commands run on it.
//! In: /proc, /sys and the programs of this machine. Out: values that can be kept in the ledger.
//! It knows nothing of workloads, filesystems or statistics.

pub mod block;
pub mod calls;
pub mod cause;
pub mod command;
pub mod copied;
pub mod counters;
pub mod create;
pub mod doctor;
pub mod folders;
pub mod in_memory;
pub mod input;
pub mod journal;
mod layout;
pub mod loops;
pub mod machine;
pub mod mapped;
mod memory_limit;
pub mod mounts;
pub mod names;
pub mod noise;
pub mod occupants;
pub mod openers;
pub mod own_mounts;
pub mod presence;
pub mod process;
pub mod scratch_folders;
pub mod tail;
mod tied;
pub mod tool_environment;
pub mod touched;
pub mod trust;
mod way;

pub use block::{BlockDevice, Sysfs};
pub use calls::Call;
pub use command::{Command, CommandError};
pub use counters::{Activity, Evidence, Snapshot, Watch};
pub use doctor::{Check, Level};
pub use journal::{Journal, Record};
pub use loops::{FileId, Loop, Target};
pub use machine::Machine;
pub use noise::Remark;
pub use openers::{Opener, Wanted};
pub use tail::Tail;
pub use trust::{Untrusted, callers_open_files, callers_path, owned_path};

/// Writes a line to standard error; if that is closed or has no reader, only the line is lost.
pub fn note(line: &str) {
    use std::io::Write;
    // No other place could report the failure.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Reads a small text file of /proc or /sys without its trailing newline; None where it is missing or unreadable.
pub(crate) fn text(path: impl AsRef<std::path::Path>) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim_end().to_string())
}

/// As [`text`], parsed.
pub(crate) fn number<T: std::str::FromStr>(path: impl AsRef<std::path::Path>) -> Option<T> {
    text(path)?.trim().parse().ok()
}
