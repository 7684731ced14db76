//! Disks that a user does not have, in virtual time: when a described disk would be done with each request.
//! In: a description ([`Model`]), and requests with the times of their arrival ([`Device`]). Out: when each is done.
//!
//! There is no clock, no thread and no data here: whoever uses it sleeps until [`Device::next`] and answers what [`Device::advance`] returns. The same
//! requests at the same times are done at the same times, for the same seed. How the disks work is said in docs/disks.md.
#![forbid(unsafe_code)]

mod description;
mod device;
mod error;
mod flash;
mod geometry;
mod hard_disk;
mod model;
mod seek;

pub use device::{Device, Kind, Request, Ticket};
pub use error::ModelError;
pub use model::{Model, named, shipped};
