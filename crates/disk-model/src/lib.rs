//! Simulated disks in virtual time: when a described disk would complete each request.
//! In: a description ([`Model`]), and requests with their times of arrival ([`Device`]). Out: the time when each completes.
//!
//! There is no clock, no thread and no data here: the caller sleeps until [`Device::next`] and answers what [`Device::advance`] returns.
//! With the same seed, the same requests at the same times complete at the same times. docs/disks.md describes the models.
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
