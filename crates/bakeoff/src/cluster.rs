//! A plan over several machines, run by an existing scheduler: Bakeoff has no scheduler or coordinator of its own.
//! In: a resolved plan, a folder that all machines share. Out: the job's files; the merged results of its tasks.
//! Tasks communicate through that folder only: each execution of a part has its own ledger there.

pub mod executions;
pub mod job;
pub mod kubernetes;
pub mod slurm;
