//! Communication between the clients of a run, over any transport: MPI, or threads in tests.
//! In: called by all of them in the same order. Out: bytes of the first, bytes of all, agreement, clock offsets.
//! Waits sleep between polls: on a machine with many clients a spinning rank takes processor time from the engines.

/// Difference between one client's clock and the first client's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offset {
    /// Its clock minus the first client's, in nanoseconds.
    pub ns: i64,
    /// Half of the shortest round trip in nanoseconds: the error bound.
    pub error_ns: u64,
}

/// A note from one client to another while a phase runs; the second word is the number of the phase, which identifies late notes.
pub type Note = [u64; 4];

/// All clients of a run, as seen by one of them.
pub trait Fellows {
    /// Number of this client, from 0.
    fn rank(&self) -> u32;

    /// Number of clients.
    fn size(&self) -> u32;

    /// Sends the first client's bytes to all.
    fn broadcast(&self, bytes: &mut Vec<u8>);

    /// Whether `yes` is true at all clients; waits until every client has called it.
    fn all(&self, yes: bool) -> bool;

    /// The bytes of all, by rank, at the first client; empty elsewhere. `meanwhile` is called from time to time until they have arrived.
    fn gather(&self, bytes: &[u8], meanwhile: &mut dyn FnMut()) -> Vec<Vec<u8>>;

    /// Compares this clock with the first client's; the clients take turns.
    fn offset(&self) -> Offset;

    /// Sends a note.
    fn tell(&self, rank: u32, note: Note);

    /// The next note received, and its sender.
    fn received(&self) -> Option<(u32, Note)>;
}

/// CLOCK_MONOTONIC in nanoseconds, the clock of the agreed start.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
