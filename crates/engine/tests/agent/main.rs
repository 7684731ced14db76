//! The engine through its seam: an agent in a process of its own is given programs, and what it answers and leaves behind is held against what they say.
//! One binary, since each would be compiled with optimisation anew; `truth`, which measures, is beside it.

#[path = "../common/mod.rs"]
mod common;

mod ageing;
mod blocks;
mod clients;
mod commands;
mod confinement;
mod engines;
mod faults;
mod files;
mod needs;
mod replay;
mod slices;
