//! The machine as found when a run began: enough that others can judge or repeat it.
//! In: /proc, /sys and /etc, read by `system`. Out: plain values. Unknown facts are absent, never guessed.

use crate::feature::Probed;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// This machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Name of the host.
    pub hostname: String,
    /// Kernel release, such as 6.12.9.
    pub kernel: String,
    /// Kernel version line.
    pub kernel_version: String,
    /// Instruction set: x86_64, aarch64.
    pub architecture: String,
    /// Distribution, by its own name.
    pub distribution: String,
    /// The processors.
    pub cpu: Cpu,
    /// Bytes of memory that the kernel manages.
    pub memory_bytes: u64,
    /// Bytes of swap.
    pub swap_bytes: u64,
    /// What this machine runs on.
    pub virtualisation: Virtualisation,
    /// Boot parameters.
    pub boot_parameters: String,
    /// Id of this boot.
    pub boot_id: String,
    /// Control groups that this process is in.
    pub cgroups: Vec<String>,
    /// Memory limit of its control group, in bytes; absent if there is none.
    pub memory_limit_bytes: Option<u64>,
    /// CPU limit of its control group (`quota period`, in microseconds); absent if there is none.
    pub cpu_limit: Option<String>,
    /// Settings under /proc/sys/vm, such as those for writeback of dirty pages.
    pub settings: Vec<(String, String)>,
    /// Whether the run had root rights.
    pub root: bool,
    /// Versions of the programs that make, mount and check the contenders' filesystems, by program.
    pub tools: BTreeMap<String, String>,
    /// The devices that the work runs on, each with all devices below it, the topmost first: name and description.
    pub device: Vec<(String, String)>,
    /// Features of the filesystems, probed when the run began, if requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<Probed>,
}

impl Machine {
    /// A description in words: processor, threads, memory, kernel.
    pub fn about(&self) -> String {
        let (threads, memory) = (self.cpu.threads, crate::show_bytes(self.memory_bytes));
        let model = if self.cpu.model.is_empty() { String::new() } else { format!("{}, ", self.cpu.model) };
        format!("{model}{threads} threads, {memory}, kernel {}", self.kernel)
    }

    /// Its memory in whole GiB; machines with the same value count as alike.
    pub fn memory_gib(&self) -> u64 {
        const GIB: u64 = 1 << 30;
        (self.memory_bytes + GIB / 2) / GIB
    }

    /// Kind of virtual machine; None if it is none, or unknown.
    pub fn guest(&self) -> Option<&str> {
        Some(self.virtualisation.kind.as_str()).filter(|kind| !["", "none"].contains(kind))
    }
}

/// Processors.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// Model, as the processor reports it.
    pub model: String,
    /// Logical processors that are online.
    pub threads: u32,
    /// Physical cores; absent where the kernel does not report them.
    pub cores: Option<u32>,
    /// Sockets; absent where the kernel does not report them.
    pub sockets: Option<u32>,
    /// Frequency governor of the first processor; absent where frequencies are not managed here.
    pub governor: Option<String>,
    /// Whether turbo frequencies are allowed.
    pub turbo: Option<bool>,
    /// Whether several threads share a core.
    pub smt: Option<bool>,
    /// Mitigations against processor faults, by fault.
    pub mitigations: Vec<(String, String)>,
    /// Kernel's time source.
    pub clocksource: Option<String>,
}

/// What a machine runs on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Virtualisation {
    /// `none`, or the hypervisor's name as far as known (`kvm`, `microsoft`, `vmware`, `xen`, `unknown`).
    pub kind: String,
    /// What identified it.
    pub told_by: String,
    /// Sign of a container around this process; absent if there is none.
    pub container: Option<String>,
    /// Vendor and product names from the firmware.
    pub product: Option<String>,
    /// Loaded guest drivers: virtio_*, hv_*, vmw_*, xen*.
    pub guest_modules: Vec<String>,
}
