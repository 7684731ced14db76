//! What the clients of a run do together, whatever carries it: MPI, or threads in tests.
//! In: called by all of them in the same order. Out: bytes of the first, bytes of all, agreement, clocks held against each other.
//! Whoever waits sleeps between looks, since on a machine with many clients a rank that spins takes the processor from engines.

/// By how much one client's clock differs from the first one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offset {
    /// Its clock less the first one's, in nanoseconds.
    pub ns: i64,
    /// Half of the shortest way there and back: what it may be off by, in nanoseconds.
    pub error_ns: u64,
}

/// A few words that one client sends to another while a phase runs; the second is the number of the phase, so that late ones are known.
pub type Note = [u64; 4];

/// All clients of a run, as one of them sees them.
pub trait Fellows {
    /// Which one this is, from 0.
    fn rank(&self) -> u32;

    /// How many there are.
    fn size(&self) -> u32;

    /// Gives the first one's bytes to all.
    fn broadcast(&self, bytes: &mut Vec<u8>);

    /// Whether all say yes; nobody goes on before all have said something.
    fn all(&self, yes: bool) -> bool;

    /// The bytes of all, by rank, at the first one; nothing elsewhere. `meanwhile` is called now and then until they are there.
    fn gather(&self, bytes: &[u8], meanwhile: &mut dyn FnMut()) -> Vec<Vec<u8>>;

    /// Holds this one's clock against the first one's, all of them in turn.
    fn offset(&self) -> Offset;

    /// Sends a note.
    fn tell(&self, rank: u32, note: Note);

    /// The next note that was sent here, and by whom.
    fn told(&self) -> Option<(u32, Note)>;
}

/// CLOCK_MONOTONIC in nanoseconds, on whose scale engines begin.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
