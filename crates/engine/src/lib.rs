//! Performs a program in a directory as fast as the kernel lets it, in a process of its own, behind the agent seam.
//! In: requests of `workload::message`, as JSON lines. Out: replies, as JSON lines.
//! Knows nothing of devices, filesystems or statistics.

mod ager;
mod blocks;
mod cached;
mod ceiling;
mod check;
mod clock;
mod content;
mod dirs;
mod draw;
mod durable;
mod extents;
mod files;
mod gather;
mod histogram;
mod history;
mod listed;
mod mapped;
mod names;
mod ops;
mod order;
mod pace;
mod phase;
mod places;
mod prepare;
mod process;
mod protocol;
mod region;
mod shared;
mod space;
mod stamp;
mod streams;
mod survey;
mod sys;
mod tally;
mod tree;
mod uring;
mod worker;

pub use protocol::agent;
