//! Runs a program in a directory as fast as the kernel allows, in a separate process, behind the agent protocol.
//! In: requests of `workload::message`, as JSON lines. Out: replies, as JSON lines.
//! Knows nothing of devices, filesystems or statistics.

mod aged_files;
mod ager;
mod blocks;
mod cached;
mod ceiling;
mod check;
mod clock;
mod collect;
mod command;
mod confine;
mod content;
mod dirs;
mod durable;
mod extents;
mod files;
mod fio;
mod hash;
mod histogram;
mod history;
mod instructions;
mod kinds;
mod mapped;
mod mounts;
mod movers;
mod names;
mod needs;
mod ops;
mod order;
mod pace;
mod patterns;
mod phase;
mod places;
mod prepare;
mod printed;
mod process;
mod protocol;
mod readdir;
mod region;
mod replay;
mod sandbox;
mod shared;
mod space;
mod stamp;
mod stdio;
mod survey;
mod sys;
mod tally;
mod uring;
mod worker;

pub use command::user_ids;
pub use histogram::{merged, percentiles};
pub use protocol::agent;
