//! The kind of work in a trace: how many files of which sizes are created, read, inspected and removed, and the work on blocks of large files.
//! In: a [`Trace`]. Out: a [`Profile`], numbers for writing a workload. The order of files is not kept.

use crate::trace::{Action, Call, Trace, files};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Calls on one open file from which on it may count as a large one with work on blocks.
const MANY: u64 = 32;

/// The kind of work in a trace.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Profile {
    /// Calls and bytes of each kind, without waiting.
    pub calls: BTreeMap<&'static str, (u64, u64)>,
    /// Files of the initial tree, their bytes, and the folders that contain them.
    pub found: (u64, u64, u64),
    /// Depth of the deepest folder, initial or created.
    pub depth: u64,
    /// Files created or rewritten.
    pub made: Made,
    /// Files read from start to end, and their bytes.
    pub read: (u64, u64),
    /// Distinct files among them.
    pub read_different: u64,
    /// Work on blocks of large files.
    pub blocks: Blocks,
    /// Inspected names: stat, access, readlink.
    pub looks: u64,
    /// Complete listings of folders.
    pub lists: u64,
    /// Removed names.
    pub removed: u64,
    /// Renamed names.
    pub renamed: u64,
    /// Share of the time that was the program's own, in percent.
    pub think_percent: u64,
    /// Average number of threads that work at once; at least 1.
    pub at_once: u64,
}

/// Created files.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Made {
    /// Their number.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those synced before they were closed.
    pub synced: u64,
    /// Created folders.
    pub folders: u64,
}

/// Work on blocks of large files.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Blocks {
    /// Reads and writes.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Those that started where the previous one on the same file had ended.
    pub in_order: u64,
    /// Syncs between them.
    pub syncs: u64,
    /// The end of the furthest access, summed over all files.
    pub reach: u64,
}

/// One open file from its opening to its close.
#[derive(Debug, Default)]
struct Session {
    path: String,
    made: bool,
    reads: u64,
    writes: u64,
    read_bytes: u64,
    written_bytes: u64,
    syncs: u64,
    in_order: u64,
    at: u64,
    next: u64,
    reach: u64,
}

impl Session {
    fn moved(&mut self, offset: Option<u64>, bytes: u64, writes: bool) {
        let from = offset.unwrap_or(self.at);
        self.in_order += u64::from(from == self.next);
        self.next = from + bytes;
        self.reach = self.reach.max(self.next);
        if offset.is_none() {
            self.at = self.next;
        }
        if writes {
            (self.writes, self.written_bytes) = (self.writes + 1, self.written_bytes + bytes);
        } else {
            (self.reads, self.read_bytes) = (self.reads + 1, self.read_bytes + bytes);
        }
    }

    /// Work on blocks: many calls that jump, or change existing data.
    fn is_of_blocks(&self) -> bool {
        let calls = self.reads + self.writes;
        let jumps = calls - self.in_order.min(calls);
        calls >= MANY && (jumps * 4 >= calls || self.writes > 0 && !self.made || self.syncs > 2)
    }
}

impl Profile {
    /// The profile of a trace.
    pub fn of(trace: &Trace) -> Profile {
        let mut profile = Profile::default();
        profile.found(trace);
        let mut open: HashMap<u32, Session> = HashMap::new();
        let mut read: HashSet<String> = HashSet::new();
        for action in &trace.actions {
            profile.count(action);
            if let Some(ended) = step(&mut open, action) {
                profile.add(ended, &mut read);
            }
        }
        let mut left: Vec<(u32, Session)> = open.into_iter().collect();
        left.sort_by_key(|(handle, _)| *handle);
        left.into_iter().for_each(|(_, session)| profile.add(session, &mut read));
        profile.read_different = read.len() as u64;
        profile.times(trace);
        profile
    }

    fn found(&mut self, trace: &Trace) {
        let mut folders: HashSet<&str> = HashSet::new();
        for (path, size) in files(&trace.tree) {
            folders.insert(path.rsplit_once('/').map_or("", |(folder, _)| folder));
            self.found = (self.found.0 + 1, self.found.1 + size, 0);
        }
        let depths = trace.tree.iter().map(|entry| entry.path.matches('/').count() as u64);
        self.depth = depths.max().unwrap_or(0);
        self.found.2 = folders.len() as u64;
    }

    fn count(&mut self, action: &Action) {
        let name = action.call.name();
        let done = action.result >= 0;
        if name == "wait" {
            return;
        }
        let moves = matches!(name, "read" | "write" | "copy");
        let of = self.calls.entry(name).or_default();
        *of = (of.0 + 1, of.1 + if moves { action.result.max(0) as u64 } else { 0 });
        match &action.call {
            Call::Stat { .. } | Call::Access { .. } | Call::ReadLink { .. } => self.looks += 1,
            Call::List { .. } if action.result == 0 => self.lists += 1,
            Call::Unlink { .. } if done => self.removed += 1,
            Call::Rename { .. } if done => self.renamed += 1,
            Call::MakeFolder { path, .. } if done => {
                self.made.folders += 1;
                self.depth = self.depth.max(path.matches('/').count() as u64 + 1);
            }
            _ => {}
        }
    }

    fn add(&mut self, session: Session, read: &mut HashSet<String>) {
        if session.is_of_blocks() {
            let blocks = &mut self.blocks;
            blocks.reads += session.reads;
            blocks.writes += session.writes;
            blocks.bytes += session.read_bytes + session.written_bytes;
            blocks.in_order += session.in_order;
            blocks.syncs += session.syncs;
            blocks.reach += session.reach;
        } else if session.writes > 0 {
            self.made.files += 1;
            self.made.bytes += session.written_bytes;
            self.made.synced += u64::from(session.syncs > 0);
        } else if session.reads > 0 {
            self.read = (self.read.0 + 1, self.read.1 + session.read_bytes);
            read.insert(session.path);
        }
    }

    fn times(&mut self, trace: &Trace) {
        let own: u64 = trace.actions.iter().map(|action| action.think_ns).sum();
        let waits = |action: &&Action| action.call.name() != "wait";
        let calls: u64 = trace.actions.iter().filter(waits).map(|action| action.took_ns).sum();
        let all = (own + calls).max(1);
        self.think_percent = (own as f64 / all as f64 * 100.0).round() as u64;
        self.at_once = (all as f64 / trace.header.elapsed_ns.max(1) as f64).round().max(1.0) as u64;
    }
}

/// Follows an open file; returns the session that this action ends.
fn step(open: &mut HashMap<u32, Session>, action: &Action) -> Option<Session> {
    let bytes = action.result.max(0) as u64;
    match &action.call {
        Call::Open { path, flags, handle, .. } if action.result >= 0 => {
            let anew = libc::O_CREAT | libc::O_TRUNC;
            let session = Session { path: path.clone(), made: flags & anew as u32 != 0, ..Session::default() };
            return open.insert(*handle, session);
        }
        Call::Close { handle } => return open.remove(handle),
        Call::Read { handle, .. } if bytes > 0 => open.get_mut(handle)?.moved(None, bytes, false),
        Call::ReadAt { handle, offset, .. } if bytes > 0 => open.get_mut(handle)?.moved(Some(*offset), bytes, false),
        Call::Map { handle, offset, length } => open.get_mut(handle)?.moved(Some(*offset), *length, false),
        Call::Write { handle, .. } if bytes > 0 => open.get_mut(handle)?.moved(None, bytes, true),
        Call::WriteAt { handle, offset, .. } if bytes > 0 => open.get_mut(handle)?.moved(Some(*offset), bytes, true),
        Call::CopyRange { from, to, .. } | Call::SendFile { from, to, .. } => {
            open.get_mut(from)?.moved(None, bytes, false);
            open.get_mut(to)?.moved(None, bytes, true);
        }
        Call::Seek { handle, .. } if action.result >= 0 => open.get_mut(handle)?.at = bytes,
        Call::Fsync { handle } | Call::Fdatasync { handle } => open.get_mut(handle)?.syncs += 1,
        _ => {}
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Header;

    fn trace(calls: Vec<(Call, i64)>) -> Trace {
        let action = |(call, result)| Action { thread: 0, think_ns: 1, took_ns: 3, result, call, after: Vec::new() };
        let header = Header { threads: 1, handles: 9, elapsed_ns: 4, ..Header::default() };
        Trace { header, tree: Vec::new(), actions: calls.into_iter().map(action).collect() }
    }

    fn opened(handle: u32, flags: i32) -> (Call, i64) {
        (Call::Open { path: format!("d/{handle}"), flags: flags as u32, mode: 0, handle }, 3)
    }

    #[test]
    fn made_files_and_read_files_are_counted_separately() {
        let profile = Profile::of(&trace(vec![
            opened(0, libc::O_CREAT | libc::O_WRONLY),
            (Call::Write { handle: 0, length: 100 }, 100),
            (Call::Fsync { handle: 0 }, 0),
            (Call::Close { handle: 0 }, 0),
            opened(1, libc::O_RDONLY),
            (Call::Read { handle: 1, length: 4096 }, 100),
            (Call::Read { handle: 1, length: 4096 }, 0),
            (Call::Close { handle: 1 }, 0),
            (Call::Unlink { path: "d/0".into() }, 0),
            (Call::Unlink { path: "d/0".into() }, -2),
        ]));
        assert_eq!(profile.made, Made { files: 1, bytes: 100, synced: 1, folders: 0 });
        assert_eq!((profile.read, profile.read_different, profile.removed), ((1, 100), 1, 1));
        assert_eq!(profile.calls["unlink"], (2, 0));
        assert_eq!(profile.think_percent, 25);
    }

    #[test]
    fn many_calls_that_jump_about_are_work_on_blocks() {
        let mut calls = vec![opened(0, libc::O_RDWR)];
        calls.extend((0..40).map(|n| (Call::WriteAt { handle: 0, offset: n * 7919 % 97 * 4096, length: 4096 }, 4096)));
        calls.extend((0..10).map(|n| (Call::ReadAt { handle: 0, offset: n * 4096, length: 4096 }, 4096)));
        calls.push((Call::Fdatasync { handle: 0 }, 0));
        let profile = Profile::of(&trace(calls));
        assert_eq!((profile.blocks.reads, profile.blocks.writes, profile.blocks.syncs), (10, 40, 1));
        assert_eq!(profile.blocks.bytes, 50 * 4096);
        assert!(profile.blocks.in_order >= 9 && profile.blocks.in_order < 20, "{}", profile.blocks.in_order);
        assert_eq!(profile.made.files, 0);
    }
}
