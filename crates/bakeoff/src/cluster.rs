//! A plan over several machines, carried out by a scheduler that is there already: no scheduler and no coordinator of our own.
//! In: a resolved plan, a folder that all machines see. Out: the job's files; what its tasks have measured, put together.
//! Tasks know each other through that folder alone: each execution of a part of the plan has a ledger of its own there.

pub mod executions;
pub mod job;
pub mod kubernetes;
pub mod slurm;
