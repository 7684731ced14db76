//! Guests: contenders on another kernel than this machine's, in a virtual machine of QEMU.
//! In: a target and a contender that names a kernel. Out: [`GuestStage`]; in the guest, [`serve`] answers.
//! The same staging code runs on both sides: a guest is another place for it, not another way to stage.

mod archive;
mod content;
mod kernel;
mod machine;
mod message;
mod serve;
mod slim;
mod stage;
mod watched;

pub use kernel::{check_kernel_name, fetch_kernel, is_guest, kernel_is_here};
pub use machine::AgentLine;
pub(crate) use message::DISK;
pub use serve::serve;
pub use stage::GuestStage;
pub use stage::lacks;
pub(crate) use stage::{Guests, check, planned};
