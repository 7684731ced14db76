//! Kernel counters, and what changed between two snapshots of them.
//! In: /proc/diskstats, /proc/stat, /proc/loadavg, /proc/pressure, CPU frequencies. Out: [`Evidence`].
//! A snapshot costs well under a millisecond, so one is taken before and one after every phase.

use crate::block::{BlockDevice, Sysfs as _};
use crate::in_memory;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Instant;

/// What is watched: the device under test, and the devices below it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Watch {
    /// Name of the device under test in /proc/diskstats; absent where the work uses none (tmpfs, network).
    pub device: Option<String>,
    /// Names of the other devices of its volume, which are counted with it.
    #[serde(default)]
    pub members: Vec<String>,
    /// Names of the devices below it, whose traffic counts as its own: the disk of a partition, the disk under a loop image.
    #[serde(rename = "beneath")]
    pub below: Vec<String>,
    /// The device is in memory, so that traffic of other devices does not affect it.
    pub in_memory: bool,
}

impl Watch {
    /// Watches a device, and finds the devices below it.
    pub fn device(device: &BlockDevice) -> Watch {
        let file = device.backing_file.as_ref().and_then(|file| std::fs::File::open(file).ok());
        Watch {
            device: Some(device.name.clone()),
            members: Vec::new(),
            below: device.below().into_iter().map(|device| device.name).collect(),
            in_memory: file.is_some_and(in_memory::is_in_memory) || device.name.starts_with("zram"),
        }
    }

    /// Watches one more device of the same volume.
    pub fn add_member(&mut self, device: &BlockDevice) {
        let more = Watch::device(device);
        self.members.push(device.name.clone());
        let known = more.below.into_iter().filter(|name| !self.below.contains(name));
        self.below.extend(known.collect::<Vec<_>>());
        self.in_memory &= more.in_memory;
    }

    /// Names of all devices of the volume.
    pub fn devices(&self) -> impl Iterator<Item = &String> {
        self.device.iter().chain(&self.members)
    }

    /// Watches the system only.
    pub fn system() -> Watch {
        Watch::default()
    }
}

/// One snapshot of all counters.
#[derive(Debug, Clone)]
pub struct Snapshot {
    taken: Instant,
    disks: BTreeMap<String, Traffic>,
    cpu: SystemCpu,
    pressure: Pressure,
    load: Option<f64>,
    frequencies_khz: Vec<u64>,
    forks: u64,
}

/// Activity of a device, in requests, bytes and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Traffic {
    /// Requests read.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Requests written.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Requests discarded.
    pub discards: u64,
    /// Bytes discarded.
    pub discarded_bytes: u64,
    /// Flushes of the device's cache.
    pub flushes: u64,
    /// Requests merged before they reached the device.
    pub merges: u64,
    /// Time during which at least one request was in flight, in nanoseconds.
    pub busy_ns: u64,
    /// Total time of all reads, each from start to completion, in nanoseconds.
    #[serde(default)]
    pub read_ns: u64,
    /// The same of writes; a write that requests a flush includes the flush time.
    #[serde(default)]
    pub write_ns: u64,
    /// The same of flushes.
    #[serde(default)]
    pub flush_ns: u64,
}

impl Traffic {
    /// Activity of the device of this name since boot, without the other counters, so that it is cheap.
    pub fn of(name: &str) -> Option<Traffic> {
        disks().remove(name)
    }

    /// Bytes read and written.
    pub fn bytes(&self) -> u64 {
        self.read_bytes + self.written_bytes
    }

    /// Combines each counter with the same of another.
    fn joined(self, other: Traffic, join: fn(u64, u64) -> u64) -> Traffic {
        Traffic {
            reads: join(self.reads, other.reads),
            read_bytes: join(self.read_bytes, other.read_bytes),
            writes: join(self.writes, other.writes),
            written_bytes: join(self.written_bytes, other.written_bytes),
            discards: join(self.discards, other.discards),
            discarded_bytes: join(self.discarded_bytes, other.discarded_bytes),
            flushes: join(self.flushes, other.flushes),
            merges: join(self.merges, other.merges),
            busy_ns: join(self.busy_ns, other.busy_ns),
            read_ns: join(self.read_ns, other.read_ns),
            write_ns: join(self.write_ns, other.write_ns),
            flush_ns: join(self.flush_ns, other.flush_ns),
        }
    }
}

/// A cheap snapshot of one device's completed and pending requests, for callers that wait until the device is idle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity(String);

impl Activity {
    /// Reads a device by its name; None where it does not exist.
    pub fn of(name: &str) -> Option<Activity> {
        // A partition's folder is there too.
        crate::text(std::path::Path::new("/sys/class/block").join(name.replace('/', "!")).join("stat")).map(Activity)
    }

    /// Whether requests are in flight: the ninth field of block/stat.rst.
    pub fn is_busy(&self) -> bool {
        self.0.split_whitespace().nth(8).is_some_and(|in_flight| in_flight != "0")
    }
}

/// CPU time of the whole system, over all processors, in nanoseconds (the kernel counts in ticks of 10 ms).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SystemCpu {
    /// In user mode, niced included.
    pub user_ns: u64,
    /// In the kernel, its threads included.
    pub system_ns: u64,
    /// In interrupts, hard and soft.
    pub irq_ns: u64,
    /// Idle while I/O was pending.
    pub iowait_ns: u64,
    /// Idle.
    pub idle_ns: u64,
    /// Ready to run while the hypervisor ran another guest.
    pub steal_ns: u64,
}

impl SystemCpu {
    /// Time in which the processors worked.
    pub fn busy_ns(&self) -> u64 {
        self.user_ns + self.system_ns + self.irq_ns
    }

    /// All time there was.
    pub fn total_ns(&self) -> u64 {
        self.busy_ns() + self.iowait_ns + self.idle_ns + self.steal_ns
    }

    /// Combines each time with the same of another.
    fn joined(&self, other: &SystemCpu, join: fn(u64, u64) -> u64) -> SystemCpu {
        SystemCpu {
            user_ns: join(self.user_ns, other.user_ns),
            system_ns: join(self.system_ns, other.system_ns),
            irq_ns: join(self.irq_ns, other.irq_ns),
            iowait_ns: join(self.iowait_ns, other.iowait_ns),
            idle_ns: join(self.idle_ns, other.idle_ns),
            steal_ns: join(self.steal_ns, other.steal_ns),
        }
    }
}

/// Time during which some task waited for a resource, in nanoseconds; absent where the kernel does not count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pressure {
    /// For a processor.
    pub cpu_ns: Option<u64>,
    /// For I/O.
    pub io_ns: Option<u64>,
    /// For memory.
    pub memory_ns: Option<u64>,
}

/// What happened between two snapshots.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Evidence {
    /// Time between the snapshots, in nanoseconds.
    pub elapsed_ns: u64,
    /// The device under test; absent where there is none.
    pub device: Option<Traffic>,
    /// The devices below it, by name.
    #[serde(rename = "beneath")]
    pub below: BTreeMap<String, Traffic>,
    /// Devices unrelated to the test that moved data, by name; empty for a device in memory.
    pub foreign: BTreeMap<String, Traffic>,
    /// CPU of the whole system.
    pub cpu: SystemCpu,
    /// Waiting for resources.
    pub pressure: Pressure,
    /// Load average over one minute at the end; absent where /proc does not show it.
    pub load: Option<f64>,
    /// Mean frequency of the processors at both snapshots, in kHz; absent where it is not shown here.
    pub frequency_khz: Option<(u64, u64)>,
    /// Processes that were started anywhere on this machine.
    pub forks: u64,
}

impl Evidence {
    /// Adds later evidence; what happened between the two is left out.
    pub fn and(mut self, later: Evidence) -> Evidence {
        let sum = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
        let add = |traffic: Traffic, other: Traffic| traffic.joined(other, u64::saturating_add);
        for (all, more) in [(&mut self.below, later.below), (&mut self.foreign, later.foreign)] {
            for (name, traffic) in more {
                let known = all.entry(name).or_default();
                *known = add(*known, traffic);
            }
        }
        Evidence {
            elapsed_ns: self.elapsed_ns.saturating_add(later.elapsed_ns),
            device: self.device.zip(later.device).map(|(one, other)| add(one, other)),
            below: self.below,
            foreign: self.foreign,
            cpu: self.cpu.joined(&later.cpu, u64::saturating_add),
            pressure: Pressure {
                cpu_ns: sum(self.pressure.cpu_ns, later.pressure.cpu_ns),
                io_ns: sum(self.pressure.io_ns, later.pressure.io_ns),
                memory_ns: sum(self.pressure.memory_ns, later.pressure.memory_ns),
            },
            load: later.load,
            frequency_khz: self.frequency_khz.zip(later.frequency_khz).map(|(first, last)| (first.0, last.1)),
            forks: self.forks.saturating_add(later.forks),
        }
    }

    /// Replaces the device's traffic by its total from the first part to the last, such as read-ahead still in flight at the end of a part.
    /// The devices below did that work as well.
    pub fn with_all_of(mut self, device: Option<Traffic>) -> Evidence {
        if let (Some(seen), Some(all)) = (self.device, device) {
            let between = all.joined(seen, u64::saturating_sub);
            self.below.values_mut().for_each(|traffic| *traffic = traffic.joined(between, u64::saturating_add));
            self.device = Some(all);
        }
        self
    }
}

impl Snapshot {
    /// Reads the counters now.
    pub fn take() -> Snapshot {
        let (cpu, forks) = system();
        Snapshot {
            disks: disks(),
            cpu,
            forks,
            pressure: Pressure { cpu_ns: pressure("cpu"), io_ns: pressure("io"), memory_ns: pressure("memory") },
            load: crate::text("/proc/loadavg").and_then(|text| text.split_whitespace().next()?.parse().ok()),
            frequencies_khz: frequencies(),
            taken: Instant::now(),
        }
    }

    /// When it was taken.
    pub fn taken(&self) -> Instant {
        self.taken
    }

    /// Activity of a device since boot.
    pub fn traffic(&self, name: &str) -> Option<Traffic> {
        self.disks.get(name).copied()
    }

    /// What happened since an earlier snapshot.
    pub fn since(&self, before: &Snapshot, watch: &Watch) -> Evidence {
        let change = |name: &String| {
            let after = self.disks.get(name)?;
            Some(after.joined(before.disks.get(name).copied().unwrap_or_default(), u64::saturating_sub))
        };
        let own = |name: &String| watch.devices().any(|device| device == name) || watch.below.contains(name);
        let difference = |after: Option<u64>, before: Option<u64>| Some(after?.saturating_sub(before?));
        Evidence {
            elapsed_ns: self.taken.duration_since(before.taken).as_nanos() as u64,
            device: watch.devices().filter_map(change).reduce(|one, other| one.joined(other, u64::saturating_add)),
            below: watch.below.iter().filter_map(|name| Some((name.clone(), change(name)?))).collect(),
            foreign: self
                .disks
                .keys()
                .filter(|name| !watch.in_memory && !own(name) && !is_relative(name, watch))
                .filter_map(|name| Some((name.clone(), change(name)?)))
                .filter(|(_, traffic)| traffic.bytes() > 0)
                .collect(),
            cpu: self.cpu.joined(&before.cpu, u64::saturating_sub),
            pressure: Pressure {
                cpu_ns: difference(self.pressure.cpu_ns, before.pressure.cpu_ns),
                io_ns: difference(self.pressure.io_ns, before.pressure.io_ns),
                memory_ns: difference(self.pressure.memory_ns, before.pressure.memory_ns),
            },
            load: self.load,
            frequency_khz: mean(&before.frequencies_khz).zip(mean(&self.frequencies_khz)),
            forks: self.forks.saturating_sub(before.forks),
        }
    }
}

/// A partition of a watched disk is counted with the disk.
fn is_relative(name: &str, watch: &Watch) -> bool {
    watch
        .devices()
        .chain(&watch.below)
        .any(|own| std::path::Path::new("/sys/class/block").join(own).join(name).exists())
}

/// iostats.rst of the kernel: fields 4 to 20 of /proc/diskstats; sectors are 512 bytes, times milliseconds.
fn disks() -> BTreeMap<String, Traffic> {
    let text = crate::text("/proc/diskstats").unwrap_or_default();
    let lines = text.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let value = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        let one = Traffic {
            reads: value(3),
            read_bytes: value(5) * 512,
            writes: value(7),
            written_bytes: value(9) * 512,
            discards: value(14),
            discarded_bytes: value(16) * 512,
            flushes: value(18),
            merges: value(4) + value(8),
            busy_ns: value(12) * 1_000_000,
            read_ns: value(6) * 1_000_000,
            write_ns: value(10) * 1_000_000,
            flush_ns: value(19) * 1_000_000,
        };
        Some((fields.get(2)?.to_string(), one))
    });
    lines.collect()
}

/// proc(5), /proc/stat: user nice system idle iowait irq softirq steal; guest time is within user time.
fn system() -> (SystemCpu, u64) {
    let text = crate::text("/proc/stat").unwrap_or_default();
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let first = text.lines().next().unwrap_or_default();
    let ticks: Vec<u64> = first.split_whitespace().skip(1).filter_map(|text| text.parse().ok()).collect();
    let value = |at: usize| ticks.get(at).copied().unwrap_or(0) * tick_ns;
    let forks = text.lines().find_map(|line| line.strip_prefix("processes ")?.trim().parse().ok());
    let cpu = SystemCpu {
        user_ns: value(0) + value(1),
        system_ns: value(2),
        idle_ns: value(3),
        iowait_ns: value(4),
        irq_ns: value(5) + value(6),
        steal_ns: value(7),
    };
    (cpu, forks.unwrap_or(0))
}

/// psi.rst of the kernel: the total of the `some` line, in microseconds.
fn pressure(resource: &str) -> Option<u64> {
    let text = crate::text(format!("/proc/pressure/{resource}"))?;
    let total = text.lines().find(|line| line.starts_with("some"))?.rsplit_once("total=")?.1;
    total.trim().parse::<u64>().ok().map(|microseconds| microseconds * 1000)
}

/// Reads at most 16 processors: reading a frequency can interrupt that processor.
fn frequencies() -> Vec<u64> {
    (0..16)
        .map_while(|cpu| crate::number(format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq")))
        .collect()
}

fn mean(values: &[u64]) -> Option<u64> {
    (!values.is_empty()).then(|| values.iter().sum::<u64>() / values.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes_and_counters_do_not_run_backwards() {
        let before = Snapshot::take();
        std::thread::sleep(std::time::Duration::from_millis(30));
        let evidence = Snapshot::take().since(&before, &Watch::system());
        assert!(evidence.elapsed_ns >= 30_000_000);
        assert!(evidence.cpu.total_ns() > 0);
        assert_eq!(evidence.device, None);
    }

    #[test]
    fn a_file_that_is_written_through_shows_in_the_traffic_of_its_disk() {
        let mut file = tempfile::NamedTempFile::new_in(std::env::current_dir().expect("here")).expect("a file");
        let Some(device) = BlockDevice::under(file.path()) else {
            prerequisites::leave_out("block_device", "this folder is on no block device");
            return;
        };
        let before = Snapshot::take();
        std::io::Write::write_all(&mut file, &[7; 1 << 20]).expect("written");
        file.as_file().sync_all().expect("synced");
        let evidence = Snapshot::take().since(&before, &Watch::device(&device));
        assert!(evidence.device.expect("watched").written_bytes >= 1 << 20);
    }

    #[test]
    fn a_device_that_is_not_there_is_absent_and_not_zero() {
        let watch = Watch { device: Some("no-such-disk".into()), ..Watch::default() };
        let evidence = Snapshot::take().since(&Snapshot::take(), &watch);
        assert_eq!(evidence.device, None);
    }

    #[test]
    fn evidence_survives_the_ledger() {
        let evidence = Snapshot::take().since(&Snapshot::take(), &Watch::system());
        let text = serde_json::to_string(&evidence).expect("it can be written");
        assert_eq!(serde_json::from_str::<Evidence>(&text).expect("it can be read"), evidence);
    }
}
