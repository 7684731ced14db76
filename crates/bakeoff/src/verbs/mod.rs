//! The verbs of the command line, one file each.
//! In: parsed arguments. Out: an exit status, or a [`crate::failure::Failure`].

pub mod agent;
pub mod claims;
pub mod clean;
pub mod collect;
pub mod compare;
pub mod doctor;
pub mod export;
pub mod faults;
pub mod features;
pub mod gallery;
pub mod import;
pub mod kernels;
pub mod manual;
pub mod plan;
pub mod powercut;
pub mod profile;
pub mod publish;
pub mod ranks;
pub mod record;
pub mod report;
pub mod run;
pub mod serve;
pub mod serve_disk;
pub mod shard;
pub mod show;
pub mod submit;
pub mod systems;
pub mod tune;
pub mod workloads;
