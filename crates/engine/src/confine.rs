//! Holding other people's programs together, so that they can be ended whole: with everything that they start, wherever it moves.
//! In: a process that is about to run one. Out: process numbers and a /proc of its own, signals to all of its descendants, their account.
//! As root, and where users may make namespaces, the kernel itself ends them all with their first process. Elsewhere they are found one by
//! one, as children of the process that adopts orphans.
#![allow(unsafe_code)]

use crate::mounts;
use crate::process::{Ending, Event};
use std::path::Path;
use workload::outcome::CpuTime;

/// How programs are held together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// In a namespace of process numbers: its first process ends them all.
    Namespace,
    /// The same within a namespace of users, in which what is mounted cannot be taken off.
    UserNamespace,
    /// As descendants that were adopted.
    Adoption,
}

/// Prepares this process, which has one thread, so that the next one that it forks is the first of a namespace.
pub fn separate() -> Hold {
    // SAFETY: both take nothing.
    let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
    let spaces = libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC;
    // SAFETY: takes a number; this process has one thread and shares its memory with nobody who would notice.
    if unsafe { libc::unshare(spaces) } == 0 {
        return Hold::Namespace;
    }
    // SAFETY: as above.
    if unsafe { libc::unshare(spaces | libc::CLONE_NEWUSER) } < 0 {
        return Hold::Adoption;
    }
    // Everybody stays who they are; without these lines everybody would be nobody.
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

/// Open files that programs may have, as in a login shell.
const OPEN_FILES: u64 = 1024;

/// Makes this process the one that holds: in a session without terminal, with a /proc that shows what is held and nothing else, never made to
/// wait by what it holds. `root`: where the programs work. `unneeded`: mounts below this path, except the root's, are let go of.
pub fn settle(hold: Hold, root: &Path, unneeded: &str) {
    // SAFETY: all of these take numbers, or C strings and structures that outlive the calls. What is refused is done without.
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
            // Killed with its parent it could end nobody; it looks for its parent itself.
            libc::prctl(libc::PR_SET_PDEATHSIG, 0);
            return;
        }
        // What may not be taken off here goes when it goes outside.
        let kind = if hold == Hold::UserNamespace { libc::MS_SLAVE } else { libc::MS_PRIVATE };
        let none = std::ptr::null();
        if libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | kind, std::ptr::null()) == 0 {
            mounts::leave(unneeded, root);
            let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
            libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), flags, std::ptr::null());
        }
    }
}

/// Sends a signal to everything that is held.
pub fn signal_all(hold: Hold, signal: i32) {
    if hold != Hold::Adoption {
        // SAFETY: takes numbers; the first process of a namespace reaches what is in it and nothing else.
        unsafe { libc::kill(-1, signal) };
        return;
    }
    for process in held(hold) {
        // SAFETY: takes numbers; a child that has not been waited for keeps its number.
        unsafe { libc::kill(process, signal) };
    }
}

/// Numbers of the processes that are held, ended ones that nobody waited for among them.
pub fn held(hold: Hold) -> Vec<i32> {
    // SAFETY: takes nothing.
    let own = unsafe { libc::getpid() };
    if hold == Hold::Adoption {
        return descendants(own);
    }
    // Where /proc could not be mounted anew, it shows everybody by other numbers.
    if own != 1 || !std::fs::read_link("/proc/self").is_ok_and(|own| own == Path::new("1")) {
        return Vec::new();
    }
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(|number| *number != own).collect()
}

/// Children, and theirs, of a process with one thread.
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

/// What waiting found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// This one ended.
    Ended(i32, Ending),
    /// There are some, and all of them run.
    AllRun,
    /// There is none.
    Nobody,
}

/// Waits for any child without waiting.
pub fn reap() -> Waited {
    let mut status = 0;
    // SAFETY: the kernel fills one integer.
    match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG | libc::__WALL) } {
        0 => Waited::AllRun,
        process if process > 0 => Waited::Ended(process, Ending::of(status)),
        _ => Waited::Nobody,
    }
}

/// What all children that were waited for used, and what they had waited for in turn.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// Processor time.
    pub cpu: CpuTime,
    /// Most memory of any one process, in bytes.
    pub peak_memory: u64,
    /// Context switches.
    pub switches: u64,
    /// Bytes that read calls returned and that write calls accepted; absent where the kernel does not count them.
    pub io: Option<(u64, u64)>,
}

/// Reads that account.
pub fn usage() -> Usage {
    // SAFETY: zero is a valid value of this plain structure, and the kernel fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    Usage {
        cpu: crate::process::cpu_of(&usage),
        peak_memory: usage.ru_maxrss as u64 * 1024,
        switches: (usage.ru_nvcsw + usage.ru_nivcsw) as u64,
        io: io_of_children(),
    }
}

/// What the children that have ended read and wrote: the kernel adds it to this process, whose own part is that of its only thread.
fn io_of_children() -> Option<(u64, u64)> {
    let counts = |path: &str| {
        let text = std::fs::read_to_string(path).ok()?;
        let count = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        count("rchar:").zip(count("wchar:"))
    };
    // The whole is read first, so that what reading it takes is no part of the difference.
    let (all, own) = (counts("/proc/self/io")?, counts("/proc/thread-self/io")?);
    Some((all.0.saturating_sub(own.0), all.1.saturating_sub(own.1)))
}

/// Whether the process that forked this one, of that number, is gone; never in a namespace of its own, which ends with its first process.
pub fn is_orphan(hold: Hold, parent: i32) -> bool {
    // SAFETY: takes nothing.
    hold == Hold::Adoption && unsafe { libc::getppid() } != parent
}

/// A process by a handle that never comes to mean another one.
pub struct Handle(i32);

impl Handle {
    /// Of a process; of this one, if none is named. Before Linux 5.3 there is none, and nothing is ever known of it.
    pub fn of(process: Option<i32>) -> Handle {
        // SAFETY: getpid takes nothing, the call takes numbers.
        Handle(unsafe { libc::syscall(libc::SYS_pidfd_open, process.unwrap_or_else(|| libc::getpid()), 0) } as i32)
    }

    /// Whether there is one.
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
