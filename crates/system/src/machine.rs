//! The machine: facts kept with every run so that others can judge or repeat it.
//! In: /proc, /sys, /etc. Out: [`Machine`].
//! Unknown facts are absent, never guessed.

pub use records::{Cpu, Machine, Virtualisation};
use std::collections::BTreeMap;
use std::path::Path;

/// Inspects this machine.
pub fn describe() -> Machine {
    let system = rustix::system::uname();
    let owned = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    Machine {
        hostname: owned(system.nodename()),
        kernel: owned(system.release()),
        kernel_version: owned(system.version()),
        architecture: owned(system.machine()),
        distribution: distribution(),
        cpu: cpu(),
        memory_bytes: memory("MemTotal:"),
        swap_bytes: memory("SwapTotal:"),
        virtualisation: virtualisation(),
        boot_parameters: crate::text("/proc/cmdline").unwrap_or_default(),
        boot_id: crate::process::boot_id(),
        cgroups: crate::text("/proc/self/cgroup")
            .map(|text| text.lines().map(str::to_string).collect())
            .unwrap_or_default(),
        memory_limit_bytes: cgroup_value("memory.max").and_then(|text| text.parse().ok()),
        cpu_limit: cgroup_value("cpu.max").filter(|text| !text.starts_with("max")),
        settings: settings(),
        root: crate::process::is_root(),
        // The contenders and their device are not known here.
        tools: BTreeMap::new(),
        device: Vec::new(),
        features: Vec::new(),
    }
}

fn distribution() -> String {
    let release = crate::text("/etc/os-release").or_else(|| crate::text("/usr/lib/os-release"));
    let named = release.and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
        Some(line.trim_matches('"').to_string())
    });
    let debian = crate::text("/etc/debian_version");
    match (named, debian) {
        (Some(name), Some(point)) if name.contains("Debian") => format!("{name} {point}"),
        (Some(name), _) => name,
        (None, _) => "unknown".into(),
    }
}

/// A line of /proc/meminfo, in bytes; 0 where it is missing.
pub(crate) fn memory(key: &str) -> u64 {
    let kib = crate::text("/proc/meminfo").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    });
    kib.unwrap_or(0) * 1024
}

fn cpu() -> Cpu {
    let info = crate::text("/proc/cpuinfo").unwrap_or_default();
    let first = |key: &str| {
        info.lines()
            .find(|line| line.starts_with(key))
            .and_then(|line| line.split_once(':'))
            .map(|(_, value)| value.trim().to_string())
    };
    let pairs = topology();
    let sockets: std::collections::BTreeSet<_> = pairs.iter().map(|(socket, _)| socket).collect();
    let cores: std::collections::BTreeSet<_> = pairs.iter().collect();
    Cpu {
        model: first("model name")
            .or_else(|| first("CPU implementer").map(|id| format!("arm64 implementer {id}")))
            .unwrap_or_else(|| "unknown".into()),
        threads: std::thread::available_parallelism().map_or(1, |count| count.get() as u32),
        cores: (!cores.is_empty()).then_some(cores.len() as u32),
        sockets: (!sockets.is_empty()).then_some(sockets.len() as u32),
        governor: crate::text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        turbo: turbo(),
        smt: crate::number::<u8>("/sys/devices/system/cpu/smt/active").map(|active| active == 1),
        mitigations: named_files("/sys/devices/system/cpu/vulnerabilities"),
        clocksource: crate::text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    }
}

/// Socket and core of every processor that is online.
fn topology() -> Vec<(u32, u32)> {
    let Ok(entries) = std::fs::read_dir("/sys/devices/system/cpu") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let folder = entry.path().join("topology");
            let socket: i64 = crate::number(folder.join("physical_package_id"))?;
            Some((socket.max(0) as u32, crate::number(folder.join("core_id"))?))
        })
        .collect()
}

fn turbo() -> Option<bool> {
    let off: Option<u8> = crate::number("/sys/devices/system/cpu/intel_pstate/no_turbo");
    let boost: Option<u8> = crate::number("/sys/devices/system/cpu/cpufreq/boost");
    off.map(|off| off == 0).or(boost.map(|on| on == 1))
}

/// The small files of a folder, by name.
fn named_files(folder: &str) -> Vec<(String, String)> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found: Vec<(String, String)> = entries
        .flatten()
        .filter_map(|entry| {
            let value = crate::text(entry.path())?;
            Some((entry.file_name().to_string_lossy().into_owned(), value))
        })
        .collect();
    found.sort();
    found
}

/// A limit of this process's control group: version 2, where it is mounted.
fn cgroup_value(file: &str) -> Option<String> {
    let groups = crate::text("/proc/self/cgroup")?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
        .iter()
        .find_map(|root| crate::text(Path::new(root).join(group.trim_start_matches('/')).join(file)))
}

const SETTINGS: [&str; 10] = [
    "/proc/sys/vm/dirty_ratio",
    "/proc/sys/vm/dirty_background_ratio",
    "/proc/sys/vm/dirty_bytes",
    "/proc/sys/vm/dirty_background_bytes",
    "/proc/sys/vm/dirty_expire_centisecs",
    "/proc/sys/vm/dirty_writeback_centisecs",
    "/proc/sys/vm/vfs_cache_pressure",
    "/proc/sys/vm/swappiness",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/mm/transparent_hugepage/shmem_enabled",
];

fn settings() -> Vec<(String, String)> {
    SETTINGS.iter().filter_map(|path| Some((path.to_string(), crate::text(path)?))).collect()
}

fn virtualisation() -> Virtualisation {
    let product = product();
    let (kind, told_by) = hypervisor(product.as_deref());
    Virtualisation { kind, told_by, container: container(), product, guest_modules: guest_modules() }
}

/// Whether this machine runs on a hypervisor.
pub fn is_virtual() -> bool {
    hypervisor(product().as_deref()).0 != "none"
}

fn product() -> Option<String> {
    let names: Vec<String> = ["sys_vendor", "product_name"]
        .iter()
        .filter_map(|name| crate::text(format!("/sys/class/dmi/id/{name}")))
        .filter(|name| !name.is_empty())
        .collect();
    (!names.is_empty()).then(|| names.join(" "))
}

/// Marks that systemd or the container engine leaves.
fn container() -> Option<String> {
    let named = crate::text("/run/systemd/container").filter(|kind| !kind.is_empty());
    let marks = ["/.dockerenv", "/run/.containerenv"];
    named.or_else(|| marks.iter().find(|file| Path::new(file).exists()).map(|file| file.to_string()))
}

/// As systemd-detect-virt, but without needing systemd: the kernel's own report, then firmware, then guest drivers, then the CPU flag.
fn hypervisor(product: Option<&str>) -> (String, String) {
    let shown = |kind: &str, by: &str| (kind.to_string(), by.to_string());
    if let Some(kind) = crate::text("/sys/hypervisor/type") {
        return (kind, "/sys/hypervisor/type".into());
    }
    let makers = [
        ("KVM", "kvm"),
        ("QEMU", "qemu"),
        ("Amazon EC2", "amazon"),
        ("Google", "google"),
        ("VMware", "vmware"),
        ("VirtualBox", "oracle"),
        ("innotek", "oracle"),
        ("Microsoft Corporation Virtual", "microsoft"),
        ("Xen", "xen"),
        ("Parallels", "parallels"),
    ];
    let named = product.and_then(|product| makers.iter().find(|(maker, _)| product.contains(maker)));
    if let Some((_, kind)) = named {
        return shown(kind, "firmware");
    }
    if Path::new("/sys/module/kvm_pvm").exists() || clock_is("kvm-clock") {
        return shown("kvm", "guest drivers of the kernel");
    }
    if clock_is("hyperv") {
        return shown("microsoft", "clock sources of the kernel");
    }
    let flagged = crate::text("/proc/cpuinfo").is_some_and(|info| {
        info.lines().any(|line| line.starts_with("flags") && line.split_whitespace().any(|flag| flag == "hypervisor"))
    });
    if flagged {
        return shown("unknown", "the processor's hypervisor flag");
    }
    shown("none", "no sign of a hypervisor")
}

fn clock_is(name: &str) -> bool {
    crate::text("/sys/devices/system/clocksource/clocksource0/available_clocksource")
        .is_some_and(|clocks| clocks.contains(name))
}

fn guest_modules() -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/sys/module") else {
        return Vec::new();
    };
    let guest = |name: &String| ["virtio", "hv_", "vmw", "xen", "vbox"].iter().any(|start| name.starts_with(start));
    let mut modules: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).filter(guest).collect();
    modules.sort();
    modules
}
