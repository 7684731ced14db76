//! What a watcher saw, before anybody has thought about what it means.
//! In: lines of eBPF or strace. Out: calls with numbers and texts, births and ends of threads, in order of time.

/// Nanoseconds, since its birth, in which a thread was on no processor. All 0 where a watcher does not see that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OffCpu {
    /// It could have run, and others did.
    pub queued: u64,
    /// It waited for the kernel: for a device, for memory.
    pub blocked: u64,
    /// It slept.
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

    /// All of it.
    pub fn in_all(self) -> u64 {
        self.queued + self.blocked + self.asleep
    }
}

/// A call as it was seen.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Seen {
    /// The kernel's number of the thread.
    pub thread: i32,
    /// Nanoseconds of the watcher's clock when it began and when it returned.
    pub start: u64,
    pub end: u64,
    /// When the watcher let it go on into the call, and when it had let it go on from the call before; 0 where that is not seen.
    pub entered: u64,
    pub released: u64,
    /// The processor on which it returned; 0 where that is not seen.
    pub cpu: u32,
    /// Number of the call, as in `libc::SYS_*`.
    pub call: i64,
    /// Arguments, as the kernel got them.
    pub arguments: [i64; 6],
    /// Paths and other texts, in the order of the arguments.
    pub texts: Vec<String>,
    /// Numbers that stood in memory: the two ends of a pipe, a network address.
    pub numbers: Vec<i64>,
    /// What it returned; an error as its negative number.
    pub result: i64,
    /// How long the thread had been on no processor when the call began, and when it returned.
    pub off_at_start: OffCpu,
    pub off_at_end: OffCpu,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A call returned.
    Call(Box<Seen>),
    /// A thread was born.
    Birth { at: u64, parent: i32, child: i32, flags: u64 },
    /// A thread ended.
    End { at: u64, thread: i32, off: OffCpu },
}

impl Event {
    /// The moment that puts events of different threads into order. Who tells others something has told it when it began:
    /// they may return before it does. Everything else is done when it returns.
    pub fn moment(&self, tells: impl Fn(&Seen) -> bool) -> u64 {
        match self {
            Event::Call(seen) if tells(seen) => seen.start,
            Event::Call(seen) => seen.end,
            Event::Birth { at, .. } | Event::End { at, .. } => *at,
        }
    }
}
