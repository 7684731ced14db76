//! Processes by identity: an id alone may be reused, so it is kept together with its start time.
//! In: process ids. Out: whether that very process still lives, and means to end it.
//! A process with another start time is never ended.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal};
use serde::{Deserialize, Serialize};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// Environment variable of everything started here: `PID:START` of the process that started it. It identifies processes that outlive a killed run.
pub const OWNER_VARIABLE: &str = "BAKEOFF_OWNER";

/// One process, identified even after its id is reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Start time in clock ticks since boot (field 22 of /proc/PID/stat).
    pub started: u64,
}

impl Process {
    /// The calling process.
    pub fn current() -> Process {
        let pid = std::process::id();
        Process { pid, started: start_time(pid).unwrap_or(0) }
    }

    /// The process that has this id now; None if there is none.
    pub fn of(pid: u32) -> Option<Process> {
        start_time(pid).map(|started| Process { pid, started })
    }

    /// Whether it still runs; a zombie does not.
    pub fn lives(&self) -> bool {
        start_time(self.pid) == Some(self.started)
    }

    /// Asks it to end, waits for at most `patience`, then kills it. True when it is gone.
    pub fn end(&self, patience: Duration) -> bool {
        self.signal(Signal::TERM);
        if self.gone_within(patience) {
            return true;
        }
        self.signal(Signal::KILL);
        self.gone_within(Duration::from_secs(5))
    }

    /// Waits for at most `patience` for it to be gone.
    pub fn gone_within(&self, patience: Duration) -> bool {
        let end = Instant::now() + patience;
        while self.lives() {
            if Instant::now() >= end {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }

    /// Living processes that this one started, directly or indirectly, identified by their environment.
    ///
    /// Only those of the caller's PID namespace: in another one the same id may belong to another process.
    pub fn orphans(&self) -> Vec<Process> {
        let here = pid_namespace();
        ids()
            .into_iter()
            .filter(|pid| pid_namespace_of(&pid.to_string()) == here && names_owner(*pid, *self))
            .filter_map(Process::of)
            .collect()
    }

    /// Whether `owner` started this process, directly or indirectly, by its environment.
    pub fn was_started_by(&self, owner: Process) -> bool {
        self.lives() && names_owner(self.pid, owner)
    }

    fn signal(&self, signal: Signal) {
        if !self.lives() {
            return;
        }
        if let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) {
            // A process that ended meanwhile returns ESRCH, which is fine.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}

impl std::fmt::Display for Process {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}:{}", self.pid, self.started)
    }
}

/// Ids of all visible processes; none if /proc is missing.
pub fn ids() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// This boot's id, which distinguishes records of an earlier boot; empty where the kernel does not provide it.
pub fn boot_id() -> String {
    crate::text("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// Interval between two checks of a child where the kernel has no pidfd (before Linux 5.3).
const LOOK: Duration = Duration::from_millis(2);

/// Waits for a child to end, for at most `patience`, and reaps it; None if it still runs. Its end wakes the caller at once.
pub fn await_end(child: &mut Child, patience: Duration) -> std::io::Result<Option<ExitStatus>> {
    let end = Instant::now() + patience;
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let handle = id.and_then(|id| rustix::process::pidfd_open(id, PidfdFlags::empty()).ok());
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let left = end.saturating_duration_since(Instant::now());
        match (&handle, Timespec::try_from(left)) {
            _ if left.is_zero() => return Ok(None),
            // A signal ends the wait early; then the child is checked once more.
            (Some(handle), Ok(left)) => _ = poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&left)),
            _ => std::thread::sleep(left.min(LOOK)),
        }
    }
}

/// Reaps an ended child, waiting for it for at most `patience`; false if it does not end.
pub fn reap(child: &mut Child, patience: Duration) -> bool {
    !matches!(await_end(child, patience), Ok(None))
}

/// How a process ended, as text: "exit status 1", "signal 9".
pub fn how_it_ended(status: std::process::ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "unknown status".into(),
    }
}

/// The PID namespace of the caller, as the kernel names it; empty if unknown.
///
/// Process ids are valid only within one namespace: a container has its own.
pub fn pid_namespace() -> String {
    pid_namespace_of("self")
}

fn pid_namespace_of(process: &str) -> String {
    let link = std::fs::read_link(format!("/proc/{process}/ns/pid"));
    link.map(|target| target.to_string_lossy().into_owned()).unwrap_or_default()
}

fn names_owner(pid: u32, owner: Process) -> bool {
    let text = format!("{}={owner}", OWNER_VARIABLE);
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == text.as_bytes())
}

/// The id of this installation, which survives a reboot (machine-id(5)); empty where there is none.
pub fn machine_id() -> String {
    ["/etc/machine-id", "/var/lib/dbus/machine-id"]
        .into_iter()
        .filter_map(crate::text)
        .map(|text| text.trim().to_string())
        .find(|id| id.len() == 32 && id.chars().all(|c| c.is_ascii_hexdigit()))
        .unwrap_or_default()
}

/// Keeps this program and its libraries in memory. Otherwise dropping caches before a phase would evict their idle pages, and reading those
/// back from the disk would disturb the phase like foreign traffic.
pub fn stay_in_memory() {
    // Without root only few pages may be locked; then nothing changes.
    let _ = rustix::mm::mlockall(rustix::mm::MlockAllFlags::CURRENT);
}

/// Largest file size that this process may write (RLIMIT_FSIZE); None without a limit.
pub fn file_size_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Fsize).current
}

/// Whether the caller is root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Field 22 of /proc/PID/stat; None for a process that is gone or a zombie.
fn start_time(pid: u32) -> Option<u64> {
    let stat = crate::text(format!("/proc/{pid}/stat"))?;
    // The name in parentheses may contain spaces and parentheses.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    if matches!(fields.first(), Some(&"Z") | Some(&"X")) {
        return None;
    }
    fields.get(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_another_start_time_does_not() {
        let this = Process::current();
        assert!(this.lives());
        let other = Process { started: this.started + 1, ..this };
        assert!(!other.lives());
    }

    #[test]
    fn a_child_is_ended_by_its_identity_only() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep starts");
        let process = Process::of(child.id()).expect("it runs");
        let stranger = Process { started: process.started + 7, ..process };
        assert!(stranger.end(Duration::from_millis(10)));
        assert!(process.lives());
        assert!(process.end(Duration::from_secs(5)));
        let status = child.wait().expect("it is waited for");
        assert!(!status.success());
    }
}
