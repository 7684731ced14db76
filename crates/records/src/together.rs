//! Several clients in parallel in one pass of a phase: how closely they began together, when each was done, and each one's own figures.
//! In: merged from the outcomes of all clients. Out: part of a [`crate::outcome::PhaseOutcome`].
//! Times are by the first client's clock, from the first start of any client on.

use serde::{Deserialize, Serialize};

/// The clients of a pass.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Together {
    /// From the first start to the last one, in nanoseconds.
    pub skew_ns: u64,
    /// Largest possible difference between the clocks of clients, as measured: half of the shortest round trip, in nanoseconds.
    pub clock_error_ns: u64,
    /// When the first client was done, in nanoseconds.
    pub first_done_ns: u64,
    /// When the last client was done, in nanoseconds.
    pub last_done_ns: u64,
    /// Number of the client that was done last.
    pub slowest: u32,
    /// How long all clients were working: from the last start until the first was done, in nanoseconds.
    pub all_at_work_ns: u64,
    /// Items completed while all clients were working.
    pub all_at_work_items: f64,
    /// Bytes moved while all clients were working.
    pub all_at_work_bytes: f64,
    /// Bytes that were sent to the first client for this pass.
    pub gathered_bytes: u64,
    /// One per client, by number.
    pub clients: Vec<ClientOutcome>,
}

/// One client's part in a pass.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientOutcome {
    /// Name of its machine.
    pub host: String,
    /// When its first worker began, in nanoseconds.
    pub began_ns: u64,
    /// When its last call had returned, in nanoseconds.
    pub returned_ns: u64,
    /// When all its written data was durable, in nanoseconds; absent if nothing was written.
    pub durable_ns: Option<u64>,
    /// Items completed.
    pub items: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Latency of an item, one per group of the phase; absent if none was completed.
    pub latency: Vec<Option<Percentiles>>,
}

/// A distribution of latencies in a few numbers, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Percentiles {
    /// Number of values.
    pub count: u64,
    /// Half of them are no larger.
    pub p50_ns: u64,
    /// 99 % of them are no larger.
    pub p99_ns: u64,
    /// 99.9 % of them are no larger.
    pub p999_ns: u64,
    /// The largest.
    pub max_ns: u64,
    /// The exact mean.
    pub mean_ns: f64,
}
