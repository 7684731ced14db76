//! Memory of the engine on a fileset of ten million files, and the time until its first operation.
//! In: a place in memory. Out: peak resident bytes of the agent and of its worker; milliseconds.
//! The files are really made, in an order without memory, where the machine has room for their inodes.

use crate::ours;
use crate::places::Place;
use crate::table::{Spread, spread};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Files of the fileset.
pub const FILES: u64 = 10_000_000;

/// Kernel memory that an empty file in tmpfs takes, roughly: inode, dentry, and its place in the directory.
const BYTES_A_FILE: u64 = 1200;

/// What was measured.
pub struct Memory {
    /// Files that were really created.
    pub created: u64,
    /// Peak resident bytes of the process that needed most.
    pub peak: u64,
}

/// Create files of the fileset and watch the agent's memory.
pub fn measure(place: &Place) -> Result<Memory, String> {
    let available = available().unwrap_or(0);
    // Half of what is free may be used: others work here, too.
    let created = (available / 2 / BYTES_A_FILE).min(FILES);
    let (peak, done) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut agent = ours::ten_million(&place.path, FILES, created)?;
    let pid = agent.pid();
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                peak.fetch_max(highest(pid), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let result = agent.perform(0);
        done.store(true, Ordering::Relaxed);
        result
    });
    result?;
    Ok(Memory { created, peak: peak.load(Ordering::Relaxed) })
}

/// Highest resident size of a process and its children so far, in bytes.
fn highest(pid: u32) -> u64 {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let all = children.split_whitespace().filter_map(|p| p.parse().ok()).chain([pid]);
    all.filter_map(|p| kib(&format!("/proc/{p}/status"), "VmHWM:")).max().unwrap_or(0)
}

fn available() -> Option<u64> {
    kib("/proc/meminfo", "MemAvailable:")
}

fn kib(file: &str, key: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|l| l.starts_with(key))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|k| k * 1024)
}

/// Seconds from starting the agent to the end of its first operation, over some starts.
pub fn start(place: &Place) -> Result<Spread, String> {
    std::fs::write(place.path.join("0"), vec![0u8; 1 << 20]).map_err(|e| format!("writing a file to look at: {e}"))?;
    let times: Result<Vec<f64>, String> = (0..9).map(|_| ours::start(&place.path)).collect();
    spread(&times?).ok_or_else(|| "the agent was never started".into())
}
