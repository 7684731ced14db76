//! Devices and filesystems: custody, images, mkfs, mount, read-back, schedulers, caches.
//! In: a [`Contender`] and a place to put it ([`Where`]). Out: a [`Stage`] to work on, and what was [`Found`] there.
//! It knows nothing of statistics or reports. Only what it made itself is ever removed.

mod aged;
mod beneath;
mod cache;
mod caches;
mod clean;
mod contender;
mod custody;
mod daemon;
mod directory;
mod durability;
mod error;
pub mod features;
mod filesystem;
mod ground;
mod guest;
mod handing;
mod image;
mod leftover;
mod life;
mod limits;
mod looking;
mod loops;
mod mark;
mod named;
mod options;
mod owned;
mod planned;
mod putting_up;
mod queue;
mod readback;
mod registry;
mod removal;
mod replay;
mod scheduler;
mod setting;
mod stage;
mod state;
mod systems;
mod template;
mod tools;

pub use aged::AgedCopy;
pub use cache::{AgedCache, AgedImage, Cached};
pub use caches::Dropped;
pub use clean::{Cleaned, clean, forget};
pub use contender::Contenders;
pub use error::StagingError;
pub use filesystem::Filesystem;
pub use ground::{Ground, Where};
pub use guest::lacks as guests_lack;
pub use guest::{AgentLine, GuestStage, check_kernel_name, fetch_kernel, is_guest, kernel_is_here, serve};
pub use leftover::{Leftover, Stranger, Survey, first_seen, survey};
pub use named::{Exclusion, NamedSetting};
pub use options::check as check_options;
pub use planned::commands_for;
pub use registry::Registry;
pub use replay::commits;
pub use scheduler::{SchedulerFound, Schedulers, schedulers_found};
pub use stage::{Settled, Stage};
pub use systems::{System, Tool, guest_kernel, systems, version_commands};

pub use records::program::Durable;
pub use records::{
    AgedState, Backend, Closing, Contender, DEVICE, DIRECTORY, DataMode, Durability, Found, FreeSpace, Journaling,
    Kept, OptionFound, Restored, Usage,
};
