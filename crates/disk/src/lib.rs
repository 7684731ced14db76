//! A disk that Bakeoff serves itself, and everything that was done to it: what a power cut may leave of it can be worked out and offered, and it can be made
//! to fail as disks do.
//! In: a folder to serve it in, and what somebody with a filesystem on it does. Out: the record of writes and flushes, and the disk as a cut leaves it.
//! It is carried by FUSE: the disk is a file of a served folder, to which a loop device is attached with direct I/O. It knows nothing of filesystems.

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
