//! Devices: which ones may be erased, images in place of one, loop devices, and their settings in sysfs.
//! In: paths that a person named. Out: devices that are held, images that are attached.
//! What is written down about them, so that it can be removed later, is [`crate::ownership`]'s.

pub(crate) mod custody;
pub(crate) mod image;
pub(crate) mod loops;
pub(crate) mod parts;
pub(crate) mod setting;
pub(crate) mod wipe;
