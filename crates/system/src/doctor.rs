//! The doctor: whether this machine is fit for measuring.
//! In: settings and load of this machine, the folder or device to measure. Out: a list of [`Check`]s.
//! Each check states the finding and the advice; nothing is changed.

use crate::block::{BlockDevice, Sysfs as _};
use crate::counters::{Snapshot, Watch};
use crate::machine::{self, Machine};
use crate::touched;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Good, or not applicable here.
    Ok,
    /// Results will be noisier, or need a caveat.
    Warn,
    /// Results will mislead, or the work will not fit.
    Bad,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// What was checked.
    pub name: String,
    /// How bad it is.
    pub level: Level,
    /// What was found.
    pub finding: String,
    /// What to do about it; empty for nothing.
    pub advice: String,
}

/// Time for which the machine is watched.
const WATCHED: Duration = Duration::from_millis(1000);

/// Free space in bytes below which even the quick plan's images hardly fit.
const LITTLE_SPACE: u64 = 4 << 30;

/// Background programs that read or write whole disks, by their command names (cut at 15 characters, as the kernel does).
const BUSYBODIES: [&str; 14] = [
    "fstrim",
    "updatedb",
    "mlocate",
    "plocate",
    "mandb",
    "apt-get",
    "apt",
    "dpkg",
    "unattended-upgr",
    "packagekitd",
    "tracker-miner-f",
    "baloo_file",
    "rsync",
    "restic",
];

/// Runs all checks; takes about a second.
pub fn examine(scratch: &Path, device: Option<&BlockDevice>) -> Vec<Check> {
    let machine = machine::describe();
    let below = BlockDevice::under(scratch);
    let device = device.or(below.as_ref());
    let mut checks = vec![
        root(&machine),
        governor(&machine),
        turbo(&machine),
        smt(&machine),
        virtualisation(&machine),
        balloon(),
        clock(&machine),
        swap(&machine),
        huge_pages(),
        memory_limit(&machine),
        space(scratch),
        busybodies(),
    ];
    checks.extend(device.map(scheduler));
    checks.extend(device.map(write_cache));
    checks.extend(watched(device));
    checks
}

fn check(name: &str, level: Level, finding: impl Into<String>, advice: impl Into<String>) -> Check {
    Check { name: name.into(), level, finding: finding.into(), advice: advice.into() }
}

fn root(machine: &Machine) -> Check {
    if machine.root {
        return check("root", Level::Ok, "run by root", "");
    }
    let advice =
        "run as root (sudo) to compare filesystems on images or a device, to drop caches and to set schedulers";
    check("root", Level::Warn, "not run by root: only an existing directory can be measured", advice)
}

fn governor(machine: &Machine) -> Check {
    match machine.cpu.governor.as_deref() {
        None => check("governor", Level::Ok, "frequencies are not managed by this kernel", ""),
        Some("performance") => check("governor", Level::Ok, "performance", ""),
        Some(other) => check(
            "governor",
            Level::Warn,
            format!("{other}: the clock follows the load"),
            "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        ),
    }
}

fn turbo(machine: &Machine) -> Check {
    match machine.cpu.turbo {
        None => check("turbo", Level::Ok, "not shown by this kernel", ""),
        Some(false) => check("turbo", Level::Ok, "off", ""),
        Some(true) => check(
            "turbo",
            Level::Warn,
            "on: the clock depends on heat and on the number of busy cores",
            "for the steadiest figures: echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo (or echo 0 into cpufreq/boost)",
        ),
    }
}

fn smt(machine: &Machine) -> Check {
    match machine.cpu.smt {
        Some(true) => check(
            "smt",
            Level::Warn,
            "on: two threads share a core, so the second adds less throughput",
            "for the steadiest figures: echo off | sudo tee /sys/devices/system/cpu/smt/control",
        ),
        Some(false) => check("smt", Level::Ok, "off", ""),
        None => check("smt", Level::Ok, "not shown by this kernel", ""),
    }
}

fn virtualisation(machine: &Machine) -> Check {
    let found = &machine.virtualisation;
    let container = found.container.as_ref().map(|sign| format!(", in a container ({sign})")).unwrap_or_default();
    if found.kind == "none" {
        return check("virtualisation", Level::Ok, format!("none{container}"), "");
    }
    let finding = format!("{} (source: {}){container}", found.kind, found.told_by);
    let advice = "the host may cache I/O, share disks and steal CPU time: compare contenders only within a run, and check the steal time of each phase";
    check("virtualisation", Level::Warn, finding, advice)
}

fn balloon() -> Check {
    let Some(device) = touched::taken_back_by() else {
        return check("balloon", Level::Ok, "no memory balloon", "");
    };
    let advice = format!(
        "for the steadiest figures, during a run: echo {device} | sudo tee /sys/bus/virtio/drivers/virtio_balloon/unbind (and bind afterwards)"
    );
    let finding = "memory balloon: the host reclaims free memory and returns it slowly; some memory writes take two to seven times as long";
    check("balloon", Level::Warn, finding, advice)
}

fn clock(machine: &Machine) -> Check {
    let slow = ["acpi_pm", "hpet", "jiffies", "refined-jiffies", "pit"];
    match machine.cpu.clocksource.as_deref() {
        None => check("clock", Level::Ok, "not shown by this kernel", ""),
        Some(source) if slow.contains(&source) => check(
            "clock",
            Level::Bad,
            format!("{source}: each clock read costs microseconds, which every latency includes"),
            "boot with clocksource=tsc if the processor supports it",
        ),
        Some(source) => check("clock", Level::Ok, source, ""),
    }
}

fn swap(machine: &Machine) -> Check {
    let used = machine.swap_bytes.saturating_sub(machine::memory("SwapFree:"));
    if machine.swap_bytes == 0 {
        check("swap", Level::Ok, "none", "")
    } else if used > 64 << 20 {
        let finding = format!("{} MiB in use: pages may be swapped during a phase", used >> 20);
        check("swap", Level::Warn, finding, "sudo swapoff -a during the run, if memory allows it")
    } else {
        check("swap", Level::Ok, "present, but hardly used", "")
    }
}

fn huge_pages() -> Check {
    let setting = crate::text("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let chosen = setting.split(['[', ']']).nth(1).unwrap_or("not shown by this kernel").to_string();
    check("huge pages", Level::Ok, format!("transparent huge pages: {chosen}"), "")
}

fn memory_limit(machine: &Machine) -> Check {
    match (machine.memory_limit_bytes, &machine.cpu_limit) {
        (None, None) => check("limits", Level::Ok, "this process's control group has no limit", ""),
        (memory, cpu) => {
            let memory = memory.map(|bytes| format!("memory {} MiB", bytes >> 20));
            let cpu = cpu.as_ref().map(|limit| format!("cpu {limit}"));
            let found: Vec<String> = memory.into_iter().chain(cpu).collect();
            let finding = format!("this process's control group is limited: {}", found.join(", "));
            check(
                "limits",
                Level::Warn,
                finding,
                "run outside the container or raise its limits: they include the page cache",
            )
        }
    }
}

fn space(scratch: &Path) -> Check {
    match rustix::fs::statvfs(scratch) {
        Err(error) => check(
            "space",
            Level::Bad,
            format!("cannot inspect {}: {error}", scratch.display()),
            "name an existing folder",
        ),
        Ok(found) => {
            let free = found.f_bavail * found.f_frsize;
            let finding = format!("{:.1} GiB free in {}", free as f64 / (1u64 << 30) as f64, scratch.display());
            if free < LITTLE_SPACE {
                check("space", Level::Bad, finding, "free at least 4 GiB, or name another folder for images")
            } else {
                check("space", Level::Ok, finding, "")
            }
        }
    }
}

fn busybodies() -> Check {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return check("services", Level::Ok, "processes are not shown here", "");
    };
    let mut found: Vec<String> = entries
        .flatten()
        .filter_map(|entry| crate::text(entry.path().join("comm")))
        .filter(|name| BUSYBODIES.contains(&name.as_str()))
        .collect();
    found.sort();
    found.dedup();
    if found.is_empty() {
        check("services", Level::Ok, "no resync, rebuild or scrub is running", "")
    } else {
        let finding = format!("running: {}", found.join(", "));
        check("services", Level::Warn, finding, "wait until they end, or stop them during the run")
    }
}

fn scheduler(device: &BlockDevice) -> Check {
    let chosen = device.queue.scheduler.as_deref().unwrap_or("none");
    let finding = format!("{} uses {chosen}; it could use {}", device.name, device.queue.schedulers.join(", "));
    check("scheduler", Level::Ok, finding, "")
}

fn write_cache(device: &BlockDevice) -> Check {
    match device.queue.settings.get("write_cache").map(String::as_str) {
        Some("write back") => {
            check("write cache", Level::Ok, format!("{} has one, and the kernel sends flushes", device.name), "")
        }
        Some(_) => {
            check("write cache", Level::Ok, format!("{} reports none, so the kernel sends no flushes", device.name), "")
        }
        None => check("write cache", Level::Ok, format!("{} does not report it", device.name), ""),
    }
}

/// Load, steal and traffic during a second in which this program is idle.
fn watched(device: Option<&BlockDevice>) -> Vec<Check> {
    let watch = device.map_or_else(Watch::system, Watch::device);
    let before = Snapshot::take();
    std::thread::sleep(WATCHED);
    let evidence = Snapshot::take().since(&before, &watch);
    let total = evidence.cpu.total_ns().max(1) as f64;
    let busy = evidence.cpu.busy_ns() as f64 / total;
    let steal = evidence.cpu.steal_ns as f64 / total;
    let moved: u64 = evidence.device.map_or(0, |traffic| traffic.bytes())
        + evidence.foreign.values().map(|traffic| traffic.bytes()).sum::<u64>();
    let level = |bad: bool| if bad { Level::Warn } else { Level::Ok };
    vec![
        check(
            "load",
            level(busy > 0.10),
            format!("processors {:.0} % busy with other work, load {:.2}", busy * 100.0, evidence.load.unwrap_or(0.0)),
            if busy > 0.10 { "stop other programs during the run" } else { "" },
        ),
        check(
            "steal",
            level(steal > crate::noise::STEAL_SHARE),
            format!("{:.1} % of the processors' time goes to other guests", steal * 100.0),
            if steal > crate::noise::STEAL_SHARE { "measure at another time or on another host" } else { "" },
        ),
        check(
            "traffic",
            level(moved as f64 > crate::noise::FOREIGN_RATE),
            format!(
                "{:.2} MB/s in total on all devices while no run is active",
                moved as f64 / 1e6 / WATCHED.as_secs_f64()
            ),
            if moved as f64 > crate::noise::FOREIGN_RATE {
                "find the writer with `iotop` or `pidstat -d` and stop it"
            } else {
                ""
            },
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finding_that_is_not_good_has_advice() {
        let checks = examine(Path::new("/tmp"), None);
        assert!(checks.len() >= 12);
        for check in checks {
            assert!(!check.finding.is_empty(), "{}", check.name);
            assert!(check.level == Level::Ok || !check.advice.is_empty(), "{}", check.name);
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_bad() {
        assert_eq!(space(Path::new("/no/such/folder")).level, Level::Bad);
    }
}
