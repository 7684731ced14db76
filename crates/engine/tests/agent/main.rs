//! The engine through its protocol: a separate agent process runs programs, and its replies and files are compared with the programs.
//! One binary, since each would be compiled with optimisation again; `truth`, which measures, is separate.

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
