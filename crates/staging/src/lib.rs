//! Devices and filesystems: custody, images, mkfs, mount, read-back, schedulers, caches, ageing, guests.
//! In: a [`Contender`] and a place to put it ([`Where`]). Out: a [`Stage`] to work on, and what was [`Found`] there.
//! This crate knows nothing of statistics or reports. It only ever removes what it made itself.

mod ageing;
mod busy;
mod cleanup;
mod devices;
mod error;
pub mod features;
mod filesystems;
mod guests;
mod modelled;
mod ownership;
mod remote;
mod served;
mod stage;
mod staged;
mod systems;

pub use ageing::aged_stage::AgedCopy;
pub use ageing::git_checkout::commits;
pub use ageing::image_cache::{AgedCache, AgedImage, Cached};
pub use cleanup::clean::{Cleaned, clean, forget};
pub use cleanup::leftover::{Leftover, Stranger, Survey, first_seen, survey};
pub use devices::image::{fits as image_fits, room};
pub use devices::parts::{Part, parts};
pub use error::StagingError;
pub use filesystems::description::Filesystem;
pub use filesystems::gone::nearest;
pub use filesystems::mkfs_settings::{Exclusion, NamedSetting};
pub use filesystems::options::check as check_options;
pub use filesystems::registry::Registry;
pub use filesystems::space::{DeviceNeed, FilesToHold, device_need};
pub use filesystems::template::PLACES;
pub use filesystems::tune::{TuneFacts, Typed, typed};
pub use guests::kvm_opens;
pub use guests::lacks as guests_lack;
pub use guests::memory_of as guests_memory;
pub use guests::{DebianKernel, DebianKernels, UnreadSuite, debian_kernels, kernels_here, kernels_known};
pub use guests::{
    Guests, Serial, boot, fetch_kernel, is_guest, kernel_at_hand, kernel_called, kernel_is_here, kernel_release,
};
pub use modelled::{Ceiling, check_disk};
pub use remote::{Asked, Beside, Link, Peer, Pipe, Remote, Transport, serve};
pub use served::{ServedFolder, Serving};
pub use stage::drop_caches::Dropped;
pub use stage::dry_run::{AgedCommands, aged_commands_for, commands_for};
pub use stage::layers::{check as check_layers, fits as layers_fit};
pub use stage::remount::Remountable;
pub use stage::split::{SplitCommands, split_commands};
pub use stage::target::{Target, Where};
pub use stage::volume_tools::{Tools, tools_for};
pub use stage::{Down, Settled, Stage};
pub use staged::{Engine, Line, Setup, Staged};
pub use systems::{System, Tool, guest_kernel, systems, version_commands};

pub use records::program::Durable;
pub use records::{
    AgedState, Backend, Closing, Contender, DEVICE, DIRECTORY, DataMode, Durability, Found, FreeSpace, Journaling,
    Kept, OptionFound, Restored, Usage,
};
