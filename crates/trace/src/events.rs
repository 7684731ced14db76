//! Recorded events, before interpretation.
//! In: lines of eBPF or strace. Out: calls with numbers and texts, births and ends of threads, in order of time.

/// Nanoseconds that a thread spent off the processor since its birth. All 0 if a watcher does not record that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OffCpu {
    /// Runnable, while others ran.
    pub queued: u64,
    /// Blocked in the kernel: for a device or for memory.
    pub blocked: u64,
    /// Asleep.
    pub asleep: u64,
}

impl OffCpu {
    /// From an earlier moment to this one.
    pub fn since(self, earlier: OffCpu) -> OffCpu {
        OffCpu {
            queued: self.queued.saturating_sub(earlier.queued),
            blocked: self.blocked.saturating_sub(earlier.blocked),
            asleep: self.asleep.saturating_sub(earlier.asleep),
        }
    }

    /// The sum.
    pub fn in_all(self) -> u64 {
        self.queued + self.blocked + self.asleep
    }
}

/// A recorded call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Seen {
    /// The kernel's number of the thread.
    pub thread: i32,
    /// Nanoseconds on the watcher's clock when it started and when it returned.
    pub start: u64,
    pub end: u64,
    /// When the watcher let the thread enter the call, and when it had released it from the call before; 0 if not recorded.
    pub entered: u64,
    pub released: u64,
    /// The processor on which it returned; 0 if not recorded.
    pub cpu: u32,
    /// Calls of the thread up to its start that the watcher did not record, though it looked at them; 0 if it does not look.
    pub unwatched: u64,
    /// Number of the call, as in `libc::SYS_*`.
    pub call: i64,
    /// Arguments as the kernel received them.
    pub arguments: [i64; 6],
    /// Paths and other texts, in the order of the arguments.
    pub texts: Vec<String>,
    /// Numbers from memory: the two ends of a pipe, a network address.
    pub numbers: Vec<i64>,
    /// The result; an error as its negative number.
    pub result: i64,
    /// Off-processor time of the thread when the call started, and when it returned.
    pub off_at_start: OffCpu,
    pub off_at_end: OffCpu,
}

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A call returned.
    Call(Box<Seen>),
    /// A thread was born.
    Birth { at: u64, parent: i32, child: i32, flags: u64 },
    /// A thread ended, after so many calls that the watcher did not record.
    End { at: u64, thread: i32, off: OffCpu, unwatched: u64 },
}

impl Event {
    /// The moment that orders events of different threads. A call that signals others counts from its start, since they may return before
    /// it does. Everything else counts from its return.
    pub fn moment(&self, signals: impl Fn(&Seen) -> bool) -> u64 {
        match self {
            Event::Call(seen) if signals(seen) => seen.start,
            Event::Call(seen) => seen.end,
            Event::Birth { at, .. } | Event::End { at, .. } => *at,
        }
    }
}
