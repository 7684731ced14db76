//! A disk served by Bakeoff itself, with a record of its writes and flushes. From the record it derives and offers the states that a power
//! cut may leave. It can also fail as real disks do.
//! In: a folder to serve it in, and the requests of a filesystem on it. Out: the record of writes and flushes, and the disk after a power cut.
//! It is built on FUSE: the disk is a file of a served folder, to which a loop device is attached with direct I/O. It is independent of
//! filesystems.

mod blocks;
mod client;
mod content;
mod control;
mod cut;
mod device;
mod fault;
mod folder;
mod inodes;
mod lateness;
mod pace;
mod path_cost;
mod record;
mod schedule;
mod server;

pub use blocks::{Blocks, PAGE};
pub use client::{Disk, DiskError};
pub use cut::{At, Choice, Kept, State, at, choose};
pub use fault::{Among, Chosen, Fault};
pub use lateness::{KernelTimes, Lateness, Summary, Times};
pub use path_cost::{ByLength, PathCost};
pub use record::{Event, Moment, Record, WriteFacts};
pub use server::{Service, serve};
