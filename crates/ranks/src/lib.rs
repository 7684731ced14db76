//! Many clients side by side: each MPI rank holds one engine's process, and the first of them answers the runner for all.
//! In: requests of the agent seam at a socket. Out: each given to every client, their outcomes put together as those of one engine.
//! Knows MPI only through [`Fellows`]; a rank does no work itself, so an engine that dies takes down one trial and nobody's job.

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

/// Where the runner finds the first client, in its environment: the path of a socket.
pub use workload::message::CLIENTS_AT;
