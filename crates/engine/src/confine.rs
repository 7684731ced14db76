//! Holds users' programs together, so that they can be ended completely, including all their descendants.
//! In: a process that is about to run one. Out: process ids and a /proc of its own, signals to all of its descendants, resource usage.
//! As root, and where users may create namespaces, the kernel ends them all with their first process. Otherwise they are found one by
//! one, as children of a subreaper.
#![allow(unsafe_code)]

use crate::mounts;
use crate::process::{Ending, Event};
use std::path::Path;
use workload::outcome::CpuTime;

/// How programs are held together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// In a PID namespace: the end of its first process ends them all.
    Namespace,
    /// The same within a user namespace, in which mounts cannot be removed.
    UserNamespace,
    /// As adopted descendants of a subreaper.
    Adoption,
}

/// Prepares this single-threaded process, so that its next child is the first process of a namespace.
pub fn separate() -> Hold {
    // SAFETY: both take no arguments.
    let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
    let spaces = libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC;
    // SAFETY: takes a number; this process has one thread and shares its memory with no other.
    if unsafe { libc::unshare(spaces) } == 0 {
        return Hold::Namespace;
    }
    // SAFETY: as above.
    if unsafe { libc::unshare(spaces | libc::CLONE_NEWUSER) } < 0 {
        return Hold::Adoption;
    }
    // Maps user and group to themselves; without these lines they would be `nobody`.
    let lines = [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{user} {user} 1")),
        ("gid_map", format!("{group} {group} 1")),
    ];
    for (file, line) in lines {
        let _ = std::fs::write(format!("/proc/self/{file}"), line);
    }
    Hold::UserNamespace
}

/// Limit on open files for programs, as in a login shell.
const OPEN_FILES: u64 = 1024;

/// Makes this process the holder: in a session without terminal, with a /proc that only shows held processes, and with priority over them.
/// `root`: the folder of the programs. `unneeded`: mounts below this path, except the root's, are detached.
pub fn settle(hold: Hold, root: &Path, unneeded: &str) {
    // SAFETY: all of these take numbers, or C strings and structures that outlive the calls. Refused calls are ignored.
    unsafe {
        libc::setsid();
        libc::umask(0o022);
        let mut files = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut files) == 0 {
            files.rlim_cur = files.rlim_max.min(OPEN_FILES);
            libc::setrlimit(libc::RLIMIT_NOFILE, &files);
        }
        let first = libc::sched_param { sched_priority: 1 };
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &first);
        if hold == Hold::Adoption {
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
            // If it died with its parent, it could not end the others; it checks for its parent itself.
            libc::prctl(libc::PR_SET_PDEATHSIG, 0);
            return;
        }
        // Mounts that cannot be detached here disappear when they are unmounted outside.
        let kind = if hold == Hold::UserNamespace { libc::MS_SLAVE } else { libc::MS_PRIVATE };
        let none = std::ptr::null();
        if libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | kind, std::ptr::null()) == 0 {
            mounts::leave(unneeded, root);
            let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
            libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), flags, std::ptr::null());
        }
    }
}

/// Sends a signal to all held processes.
pub fn signal_all(hold: Hold, signal: i32) {
    if hold != Hold::Adoption {
        // SAFETY: takes numbers; the first process of a namespace only reaches processes in it.
        unsafe { libc::kill(-1, signal) };
        return;
    }
    for process in held(hold) {
        // SAFETY: takes numbers; a child that has not been waited for keeps its number.
        unsafe { libc::kill(process, signal) };
    }
}

/// Ids of the held processes, including zombies.
pub fn held(hold: Hold) -> Vec<i32> {
    // SAFETY: takes no arguments.
    let own = unsafe { libc::getpid() };
    if hold == Hold::Adoption {
        return descendants(own);
    }
    // If /proc could not be mounted again, it shows all processes, with other ids.
    if own != 1 || !std::fs::read_link("/proc/self").is_ok_and(|own| own == Path::new("1")) {
        return Vec::new();
    }
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(|number| *number != own).collect()
}

/// Descendants of a single-threaded process.
fn descendants(of: i32) -> Vec<i32> {
    let (mut found, mut at) = (vec![of], 0);
    while let Some(process) = found.get(at) {
        let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
        found.extend(children.split_whitespace().filter_map(|number| number.parse::<i32>().ok()));
        at += 1;
    }
    found.split_off(1)
}

/// Name of a process.
pub fn name(process: i32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{process}/comm")).ok().map(|name| name.trim_end().to_owned())
}

/// Result of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// This process ended.
    Ended(i32, Ending),
    /// There are children, and all of them run.
    AllRun,
    /// There are no children.
    NoChildren,
}

/// Reaps any child without blocking.
pub fn reap() -> Waited {
    let mut status = 0;
    // SAFETY: the kernel fills one integer.
    match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG | libc::__WALL) } {
        0 => Waited::AllRun,
        process if process > 0 => Waited::Ended(process, Ending::of(status)),
        _ => Waited::NoChildren,
    }
}

/// Resource usage of all reaped children and of their reaped descendants.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// Processor time.
    pub cpu: CpuTime,
    /// Peak memory of any one process, in bytes.
    pub peak_memory: u64,
    /// Context switches.
    pub switches: u64,
    /// Bytes that read calls returned and that write calls accepted; absent if the kernel does not count them.
    pub io: Option<(u64, u64)>,
}

impl Usage {
    /// This usage without a part of it. The peak of memory stays.
    pub fn without(self, part: &Usage) -> Usage {
        let io = self.io.zip(part.io);
        Usage {
            cpu: CpuTime {
                user_ns: self.cpu.user_ns.saturating_sub(part.cpu.user_ns),
                system_ns: self.cpu.system_ns.saturating_sub(part.cpu.system_ns),
            },
            peak_memory: self.peak_memory,
            switches: self.switches.saturating_sub(part.switches),
            io: io.map(|(all, part)| (all.0.saturating_sub(part.0), all.1.saturating_sub(part.1))),
        }
    }
}

/// Reads the resource usage.
pub fn usage() -> Usage {
    Usage { io: io_of_children(), ..usage_of(libc::RUSAGE_CHILDREN) }
}

/// Reads that of this process itself, without what it read and wrote.
pub fn usage_so_far() -> Usage {
    usage_of(libc::RUSAGE_SELF)
}

fn usage_of(who: i32) -> Usage {
    // SAFETY: zero is a valid value of this plain structure, and the kernel fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(who, &mut usage);
        usage
    };
    Usage {
        cpu: crate::process::cpu_of(&usage),
        peak_memory: usage.ru_maxrss as u64 * 1024,
        switches: (usage.ru_nvcsw + usage.ru_nivcsw) as u64,
        io: None,
    }
}

/// Bytes read and written by children that have ended: the kernel adds them to this process, whose own part is that of its only thread.
fn io_of_children() -> Option<(u64, u64)> {
    let counts = |path: &str| {
        let text = std::fs::read_to_string(path).ok()?;
        let count = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        count("rchar:").zip(count("wchar:"))
    };
    // The total is read first, so that reading it is not part of the difference.
    let (all, own) = (counts("/proc/self/io")?, counts("/proc/thread-self/io")?);
    Some((all.0.saturating_sub(own.0), all.1.saturating_sub(own.1)))
}

/// Whether the parent of this process has died; always false in a PID namespace, which ends with its first process.
pub fn is_orphan(hold: Hold, parent: i32) -> bool {
    // SAFETY: takes no arguments.
    hold == Hold::Adoption && unsafe { libc::getppid() } != parent
}

/// A handle that always refers to the same process.
pub struct Handle(i32);

impl Handle {
    /// Handle of a process; of this one if none is given. Before Linux 5.3 there are no handles, and no event is ever reported.
    pub fn of(process: Option<i32>) -> Handle {
        // SAFETY: getpid takes nothing, the call takes numbers.
        Handle(unsafe { libc::syscall(libc::SYS_pidfd_open, process.unwrap_or_else(|| libc::getpid()), 0) } as i32)
    }

    /// Whether the handle exists.
    pub fn is_known(&self) -> bool {
        self.0 >= 0
    }

    /// For [`wait_for`]: whether the process has ended.
    pub fn end(&self) -> (i32, Event) {
        (self.0, Event::Readable)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.0 >= 0 {
            let _ = crate::sys::close(self.0);
        }
    }
}
