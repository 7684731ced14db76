//! One of several clients that run a program in parallel, and which workers are its own.
//! In: made by the coordinator of the clients. Out: read by the engine of each.
//! Workers are numbered over all clients, so the owner of a file does not depend on how many run on a machine.

use super::{Group, Program};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Which client of how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// From 0.
    pub number: u32,
    /// Number of clients.
    pub of: u32,
    /// Distance in clients to the one whose share a shifted group takes.
    pub shift: u32,
}

impl Program {
    /// Number of clients that run it.
    pub fn clients(&self) -> u32 {
        self.client.map_or(1, |client| client.of.max(1))
    }

    /// Numbers of the workers of a group that belong to this client.
    pub fn own_workers(&self, group: &Group) -> Range<u32> {
        let each = group.workers / self.clients();
        let number = self.client.map_or(0, |client| client.number);
        number * each..(number + 1) * each
    }

    /// The worker whose share a worker takes: its own, unless the group is shifted.
    pub fn acts_as(&self, group: &Group, worker: u32) -> u32 {
        if !group.shifted || group.workers < 2 {
            return worker;
        }
        let by = self.client.map_or(1, |client| client.shift.saturating_mul(group.workers / self.clients()));
        ((u64::from(worker) + u64::from(by)) % u64::from(group.workers)) as u32
    }
}
