//! Processes and threads: fork, wait, kill, gates, CPU time.
//! In: the work of a child. Out: how it ended, and its resource usage.
//! The agent itself never has a second thread, so that a fork copies a complete and consistent process.
#![allow(unsafe_code)]

use crate::sys::{self, Errno};
use std::sync::atomic::{AtomicU64, Ordering};
use workload::outcome::CpuTime;

/// A forked child.
pub struct Child {
    pid: i32,
    pidfd: i32,
    ended: Option<Ending>,
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With this exit status.
    Exit(i32),
    /// By this signal.
    Signal(i32),
}

/// Forks a child that carries out `work`, exits with its status, and dies with its parent.
pub fn fork(work: impl FnOnce() -> i32) -> Result<Child, Errno> {
    let parent = own_id();
    // SAFETY: the agent has one thread only, so the child's memory and locks are whole.
    match unsafe { libc::fork() } {
        -1 => Err(sys::last_errno()),
        0 => {
            die_with(parent);
            let status = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(70);
            // SAFETY: ends the process without running the parent's exit handlers or flushing its streams.
            unsafe { libc::_exit(status) }
        }
        pid => {
            // SAFETY: takes numbers only.
            let pidfd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as i32;
            Ok(Child { pid, pidfd, ended: None })
        }
    }
}

/// The id of this process.
pub fn own_id() -> i32 {
    // SAFETY: takes no arguments.
    unsafe { libc::getpid() }
}

/// Lets this process die with its parent, which has this id; at once if it has died already.
pub fn die_with(parent: i32) {
    // SAFETY: takes numbers only. The parent may have died before, hence the check; if it is outside the child's namespace, its id
    // is 0, and the child has to check for itself (see `confine::Handle`).
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if ![parent, 0].contains(&libc::getppid()) {
            libc::_exit(0);
        }
    }
}

impl Ending {
    /// From a status of wait(2).
    pub fn of(status: i32) -> Ending {
        if libc::WIFSIGNALED(status) {
            return Ending::Signal(libc::WTERMSIG(status));
        }
        Ending::Exit(libc::WEXITSTATUS(status))
    }
}

impl Child {
    /// Its process id.
    pub fn id(&self) -> i32 {
        self.pid
    }

    /// Whether it has ended, and how; never blocks.
    pub fn poll(&mut self) -> Option<Ending> {
        if self.ended.is_none() {
            let mut status = 0;
            // SAFETY: the kernel fills one integer.
            let r = unsafe { libc::waitpid(self.pid, &mut status, libc::WNOHANG) };
            if r == self.pid {
                self.ended = Some(Ending::of(status));
            } else if r < 0 && sys::last_errno() != Errno::INTR {
                self.ended = Some(Ending::Exit(71));
            }
        }
        self.ended
    }

    /// Sends SIGKILL.
    pub fn kill(&mut self) {
        if self.poll().is_none() {
            // SAFETY: the child has not been waited for, so the number is still its own.
            unsafe { libc::kill(self.pid, libc::SIGKILL) };
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.pidfd >= 0 {
            let _ = crate::sys::close(self.pidfd);
        }
    }
}

/// Waits until one of the running children ends, or for this many milliseconds.
pub fn wait_for_any(children: &[Child], milliseconds: u64) {
    let mut polls: Vec<libc::pollfd> = children
        .iter()
        .filter(|c| c.ended.is_none() && c.pidfd >= 0)
        .map(|c| libc::pollfd { fd: c.pidfd, events: libc::POLLIN, revents: 0 })
        .collect();
    // Without pidfds (before Linux 5.3) the wait is short, and waitpid is called more often.
    let blind = children.iter().any(|c| c.pidfd < 0);
    let timeout = if blind { milliseconds.min(5) } else { milliseconds } as i32;
    // SAFETY: the kernel reads and writes `polls.len()` structures.
    unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, timeout) };
}

/// An event to wait for.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// The file is readable.
    Readable,
    /// The contents of a /proc file changed.
    Changed,
}

/// Waits until one of these events happens to an open file, or for this many milliseconds; returns which did. Negative descriptors are ignored.
pub fn wait_for<const N: usize>(files: [(i32, Event); N], milliseconds: i32) -> Result<[bool; N], Errno> {
    let mut polls = files.map(|(fd, event)| {
        let events = if let Event::Readable = event { libc::POLLIN } else { libc::POLLPRI };
        libc::pollfd { fd, events, revents: 0 }
    });
    // SAFETY: the kernel reads and writes `N` structures.
    if unsafe { libc::poll(polls.as_mut_ptr(), N as libc::nfds_t, milliseconds) } < 0 {
        let errno = sys::last_errno();
        return if errno == Errno::INTR { Ok([false; N]) } else { Err(errno) };
    }
    Ok(polls.map(|poll| poll.revents != 0))
}

/// Gives this thread its own descriptor table, so that workers share no lock on it.
pub fn own_descriptor_table() -> bool {
    // SAFETY: takes a number only; descriptors stay valid, as copies.
    unsafe { libc::unshare(libc::CLONE_FILES) == 0 }
}

/// Runs a function with real-time priority, so that it starts on time. If that is refused, it runs with normal priority.
pub fn on_time<T>(what: impl FnOnce() -> T) -> T {
    let (first, usual) = (libc::sched_param { sched_priority: 1 }, libc::sched_param { sched_priority: 0 });
    // SAFETY: takes numbers and a structure that outlives the call; the process had the usual policy before.
    let raised = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &first) == 0 };
    let done = what();
    if raised {
        // SAFETY: as above.
        unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &usual) };
    }
    done
}

/// Sleeps until the word is no longer `value`, at most a second.
pub fn wait_while(word: &AtomicU64, value: u32) {
    let second = libc::timespec { tv_sec: 1, tv_nsec: 0 };
    // SAFETY: the kernel reads 32 bits at the low half of a live word, and one structure.
    unsafe { libc::syscall(libc::SYS_futex, low_half(word), libc::FUTEX_WAIT, value, &second, 0, 0) };
}

/// Wakes all that wait on the word.
pub fn wake(word: &AtomicU64) {
    // SAFETY: the kernel uses the address as a key only.
    unsafe { libc::syscall(libc::SYS_futex, low_half(word), libc::FUTEX_WAKE, i32::MAX, 0, 0, 0) };
}

fn low_half(word: &AtomicU64) -> *const u32 {
    let start: *const u32 = std::ptr::from_ref(word).cast();
    if cfg!(target_endian = "little") { start } else { start.wrapping_add(1) }
}

/// Waits until the word is set by [`open_gate`].
pub fn wait_at_gate(word: &AtomicU64) {
    while word.load(Ordering::Acquire) == 0 {
        wait_while(word, 0);
    }
}

/// Opens a gate.
pub fn open_gate(word: &AtomicU64) {
    word.store(1, Ordering::Release);
    wake(word);
}

/// CPU time of this whole process so far.
pub fn cpu_of_process() -> CpuTime {
    cpu(libc::RUSAGE_SELF)
}

/// CPU time of this thread so far.
pub fn cpu_of_thread() -> CpuTime {
    cpu(libc::RUSAGE_THREAD)
}

/// How often this thread was preempted.
pub fn preemptions_of_thread() -> u64 {
    usage(libc::RUSAGE_THREAD).ru_nivcsw as u64
}

fn cpu(who: i32) -> CpuTime {
    cpu_of(&usage(who))
}

fn usage(who: i32) -> libc::rusage {
    // SAFETY: zero is a valid value of this plain structure, and the kernel fills it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(who, &mut usage);
        usage
    }
}

/// CPU time of a resource usage.
pub fn cpu_of(usage: &libc::rusage) -> CpuTime {
    let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
    CpuTime { user_ns: ns(usage.ru_utime), system_ns: ns(usage.ru_stime) }
}
