//! Many clients in parallel: each MPI rank holds one engine's process, and the first rank answers the runner for all.
//! In: requests of the agent protocol at a socket. Out: each passed to every client, their outcomes merged as those of one engine.
//! Uses MPI only through [`Fellows`]. A rank does no work itself, so an engine that dies fails one trial and not the MPI job.

mod asked;
mod door;
mod fellows;
mod leader;
mod member;
mod merge;
#[cfg(feature = "mpi")]
mod mpi;
mod run;

pub use fellows::{Fellows, Note, Offset};
#[cfg(feature = "mpi")]
pub use mpi::ByMpi;
pub use run::{Start, run};

/// Environment variable with the path of the first client's socket, for the runner.
pub use workload::message::CLIENTS_AT;
