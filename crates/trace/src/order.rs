//! The necessary order, and no more: which calls of other threads must precede a call.
//! In: each action with the resources it uses, in the recorded order. Out: the actions that must finish before it. The method is that of
//! "ROOT: replaying multithreaded traces with resource-oriented ordering" (SOSP 2013): actions on one name, one file, one open file or one
//! folder's list are repeated in the same order; actions without a common resource do not wait for each other. Compatible uses (reads; new
//! names in one folder) are not ordered among themselves.

use crate::names::Node;
use std::collections::HashMap;

/// A resource that actions share.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Resource {
    /// A name in a folder.
    Name(Node, String),
    /// The list of a folder.
    Listing(Node),
    /// The content of a file.
    Data(Node),
    /// An open file description, and its position.
    Handle(u32),
}

/// How an action uses a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Reads it.
    Reads,
    /// Changes it in a way compatible with other changes of this kind.
    Adds,
    /// Changes it.
    Changes,
}

#[derive(Debug)]
struct Stage {
    kind: Use,
    /// The last action of each thread in this stage.
    now: HashMap<u32, u32>,
    /// Those of the stage before.
    before: Vec<u32>,
}

/// The properties of an action that matter for its order.
#[derive(Debug, Clone, Copy)]
struct Done {
    thread: u32,
    end: u64,
}

/// Actions of other threads known to precede a thread: the most that are worth keeping.
const KNOWN_LIMIT: usize = 4096;

/// The order under construction.
#[derive(Debug, Default)]
pub struct Order {
    stages: HashMap<Resource, Stage>,
    done: Vec<Done>,
    /// For each thread, the last action of each other thread that precedes it anyway.
    known: HashMap<u32, HashMap<u32, u32>>,
}

impl Order {
    /// Number of the next action.
    pub fn next(&self) -> u32 {
        self.done.len() as u32
    }

    /// Adds the next action: its thread, start and end, the resources it uses, and actions that it follows in any case.
    pub fn add(
        &mut self,
        thread: u32,
        (start, end): (u64, u64),
        uses: &[(Resource, Use)],
        follows: &[u32],
    ) -> Vec<u32> {
        let number = self.next();
        let mut after = follows.to_vec();
        for (resource, kind) in uses {
            let stage = self.stages.entry(resource.clone()).or_insert_with(|| Stage {
                kind: *kind,
                now: HashMap::new(),
                before: Vec::new(),
            });
            if stage.kind != *kind || *kind == Use::Changes {
                stage.before = stage.now.drain().map(|(_, last)| last).collect();
                stage.kind = *kind;
            }
            stage.now.insert(thread, number);
            // Reads and writes of a file's content that overlapped in time may overlap again.
            let side_by_side =
                |other: &u32| matches!(resource, Resource::Data(_)) && self.done[*other as usize].end > start;
            after.extend(stage.before.iter().filter(|other| **other != number && !side_by_side(other)));
        }
        self.done.push(Done { thread, end });
        self.without_known(thread, after)
    }

    /// A thread starts with this action of another.
    pub fn begin(&mut self, thread: u32, by: u32) {
        let parent = self.done[by as usize].thread;
        let mut known = self.known.get(&parent).cloned().unwrap_or_default();
        known.insert(parent, by);
        self.known.insert(thread, known);
    }

    /// A thread has waited for the end of another, and so for everything that preceded that one.
    pub fn joined(&mut self, thread: u32, ended: u32) {
        let theirs = self.known.get(&ended).cloned().unwrap_or_default();
        let known = self.known.entry(thread).or_default();
        for (other, last) in theirs {
            let mine = known.entry(other).or_insert(last);
            *mine = (*mine).max(last);
        }
        if known.len() > KNOWN_LIMIT {
            known.clear();
        }
    }

    fn without_known(&mut self, thread: u32, after: Vec<u32>) -> Vec<u32> {
        if after.is_empty() {
            return after;
        }
        let known = self.known.entry(thread).or_default();
        let mut last: HashMap<u32, u32> = HashMap::new();
        for other in after {
            let whose = self.done[other as usize].thread;
            if whose != thread && known.get(&whose).is_none_or(|known| *known < other) {
                let latest = last.entry(whose).or_insert(other);
                *latest = (*latest).max(other);
            }
        }
        known.extend(last.iter().map(|(whose, other)| (*whose, *other)));
        let mut after: Vec<u32> = last.into_values().collect();
        after.sort_unstable();
        after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> Resource {
        Resource::Data(1)
    }

    #[test]
    fn readings_wait_for_the_write_before_them_and_not_for_each_other() {
        let mut order = Order::default();
        assert!(order.add(0, (0, 1), &[(data(), Use::Changes)], &[]).is_empty());
        assert_eq!(order.add(1, (2, 3), &[(data(), Use::Reads)], &[]), [0]);
        assert_eq!(order.add(2, (2, 3), &[(data(), Use::Reads)], &[]), [0]);
        assert_eq!(order.add(0, (4, 5), &[(data(), Use::Changes)], &[]), [1, 2]);
    }

    #[test]
    fn overlapping_calls_are_not_ordered() {
        let mut order = Order::default();
        order.add(0, (0, 10), &[(data(), Use::Changes)], &[]);
        assert!(order.add(1, (5, 11), &[(data(), Use::Changes)], &[]).is_empty());
        let name = || Resource::Name(0, "a".into());
        order.add(0, (12, 20), &[(name(), Use::Changes)], &[]);
        assert_eq!(order.add(1, (15, 21), &[(name(), Use::Reads)], &[]), [2]);
    }

    #[test]
    fn new_names_in_one_folder_go_side_by_side_and_a_listing_waits_for_them() {
        let mut order = Order::default();
        let listing = || Resource::Listing(0);
        order.add(0, (0, 1), &[(listing(), Use::Adds)], &[]);
        assert!(order.add(1, (2, 3), &[(listing(), Use::Adds)], &[]).is_empty());
        assert_eq!(order.add(2, (4, 5), &[(listing(), Use::Reads)], &[]), [0, 1]);
    }

    #[test]
    fn an_order_that_the_start_of_a_thread_implies_is_not_repeated() {
        let mut order = Order::default();
        order.add(0, (0, 1), &[(data(), Use::Changes)], &[]);
        let start = order.next();
        order.add(0, (1, 2), &[], &[]);
        order.begin(1, start);
        assert!(order.add(1, (3, 4), &[(data(), Use::Reads)], &[]).is_empty());
    }
}
