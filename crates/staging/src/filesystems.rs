//! Filesystems as data: the files in `filesystems/` and `shared/`, and the words of their commands.
//! In: TOML, a contender's options, what a mounted filesystem shows. Out: descriptions, command lines, the options in force.
//! Nothing is made or mounted here.

pub(crate) mod description;
pub(crate) mod durability;
pub(crate) mod feature_tools;
pub(crate) mod gone;
pub(crate) mod mkfs_settings;
pub(crate) mod options;
pub(crate) mod own_devices;
pub(crate) mod readback;
pub(crate) mod registry;
pub(crate) mod several;
pub(crate) mod shared;
pub(crate) mod snapshots;
pub(crate) mod space;
pub(crate) mod template;
pub(crate) mod tools;
pub(crate) mod tune;
