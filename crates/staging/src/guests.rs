//! Guests: contenders on a kernel other than the host's, in a QEMU virtual machine.
//! In: a target and a contender that names a kernel. Out: a [`crate::Remote`] stage over [`Serial`]; in the guest, [`boot`] starts the
//! process that answers. Both sides run the same staging code: a guest is another place for it, not another way to stage.

mod archive;
mod boot;
mod console;
mod content;
mod debian;
mod kept;
mod kernel;
mod kernel_file;
mod machine;
mod modules;
mod monitor;
mod probe;
mod slim;
mod stage;
mod vmlinux;

pub use boot::boot;
pub(crate) use boot::{DISK, disks};
pub use debian::{DebianKernel, DebianKernels, UnreadSuite, debian_kernels, kernels_here, kernels_known};
pub use kernel::{fetch_kernel, is_guest, kernel_at_hand, kernel_called, kernel_is_here, kernel_release};
pub use stage::{Guests, Serial, kvm_opens, lacks, memory_of};
pub(crate) use stage::{check, check_absent, planned};
