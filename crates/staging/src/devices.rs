//! Devices: which ones may be erased, images in place of one, loop devices, and their settings in sysfs.
//! In: paths that the user gave. Out: devices that are held, images that are attached.
//! The cleanup records of what was created are in [`crate::ownership`].

pub(crate) mod custody;
pub(crate) mod image;
pub(crate) mod loops;
pub(crate) mod parts;
pub(crate) mod setting;
pub(crate) mod wipe;
