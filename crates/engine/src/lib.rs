//! Performs a program in a directory as fast as the kernel lets it, in a process of its own, behind the agent seam.
//! In: requests of `workload::message`, as JSON lines. Out: replies, as JSON lines.
//! Knows nothing of devices, filesystems or statistics.

mod blocks;
mod cached;
mod ceiling;
mod check;
mod clock;
mod content;
mod dirs;
mod draw;
mod durable;
mod files;
mod gather;
mod histogram;
mod listed;
mod mapped;
mod names;
mod ops;
mod order;
mod pace;
mod phase;
mod prepare;
mod process;
mod protocol;
mod region;
mod shared;
mod space;
mod stamp;
mod streams;
mod sys;
mod tally;
mod uring;
mod worker;

pub use protocol::agent;
