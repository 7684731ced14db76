//! Devices and filesystems: custody, images, mkfs, mount, read-back, schedulers, caches.
//! In: a [`Contender`] and a place to put it (`Where`). Out: a `Stage` to work on, and what was [`Found`] there.
//! It knows nothing of statistics or reports. Only what it made itself is ever removed.
//!
//! The way through it, which the next step adds:
//!
//! ```text
//! let registry = Registry::embedded()?;                 // + add_folder(user's folder)
//! let contenders = Contenders::known(&registry)?;       // .get("ext4+bfq")? .add_file(...)
//! let journal = host::Journal::new();                   // .drain() -> Vec<host::Record>
//! let place = Where::Image { bytes, folder } | Where::Device { path, erase } | Where::Directory(path);
//! let mut ground = Ground::open(&registry, &place, &journal)?;   // custody; nothing formatted yet
//! ground.check(&contender)?;                            // sizes, tools, kernel support: before anything is touched
//! let mut stage: Stage = ground.stage(&contender)?;     // or ground.stage_raw(bytes)?
//! stage.root() -> &Path; stage.device() -> Option<&BlockDevice>; stage.watch() -> host::Watch;
//! stage.found() -> &Found; stage.enter() -> &[String]; stage.durable() -> &Durable;
//! stage.sync()?; stage.drop_caches()? -> Dropped; stage.remount()?; stage.usage()? -> Usage;
//! stage.settle(limit) -> Settled; stage.close()? -> Closing;      // Drop cleans too
//! lab::systems(&registry, &journal) -> Vec<System>; lab::commands_for(&registry, &contender, &place)? -> Vec<String>;
//! lab::leftovers(&[scratch folders]) -> Vec<Leftover>; lab::clean(&leftovers, &journal) -> Vec<Cleaned>;
//! ```

mod contender;
mod durability;
mod error;
mod filesystem;
mod found;
mod registry;
mod scheduler;
#[allow(dead_code)]
mod template;

pub use contender::{Contender, Contenders};
pub use durability::{DataMode, Durability, Journaling};
pub use error::LabError;
pub use filesystem::Filesystem;
pub use found::{Closing, Durable, Found, Settled, Usage};
pub use registry::Registry;
pub use scheduler::Schedulers;

/// Name of the pseudo contender that is the raw device beneath.
pub const DEVICE: &str = "device";
/// Name of the pseudo contender that is a plain directory.
pub const DIRECTORY: &str = "directory";
