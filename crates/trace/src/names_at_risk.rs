//! Names that may be gone after a power cut according to POSIX, though the program synced the file.
//! In: a trace. Out: each such name, and the name that its file has then.
//!
//! fsync(2) of a file makes its content durable, but its name only once the folder with the name is synced, too. ext4, XFS and btrfs make
//! the name of a new file durable with the file, so a program that omits the fsync of the folder passes there.

use crate::names::{Found, Names, Node};
use crate::trace::{Call, Trace};
use libc as c;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A name created after the last fsync of its folder, of a file that the program synced, or of a folder with such a file in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameAtRisk {
    /// Path relative to the recorded folder.
    pub name: String,
    /// The name from which it was renamed, which it has then instead; None: it has none.
    pub former: Option<String>,
}

/// Names at risk when the program ended, in alphabetical order; for a folder at risk only the folder, not its content.
///
/// Names that belonged to another file when their folder was last synced are omitted: after a cut they name that file, whose content no
/// trace has. So are O_TMPFILE, msync(2) and everything else that a trace does not contain.
pub fn names_at_risk(trace: &Trace) -> Vec<NameAtRisk> {
    let mut watched = Watched::of(trace);
    for action in trace.actions.iter().filter(|action| action.result >= 0) {
        watched.take(&action.call);
    }
    watched.at_risk()
}

fn has(flags: u32, flag: i32) -> bool {
    flags & flag as u32 == flag as u32
}

/// The names now, and when their folders were last synced.
struct Watched {
    names: Names,
    open: HashMap<u32, Node>,
    /// Synced files.
    synced: HashSet<Node>,
    /// Names changed since the last fsync of their folder, with the nodes that they had then.
    changed: HashMap<Node, BTreeMap<String, Option<Node>>>,
}

impl Watched {
    fn of(trace: &Trace) -> Watched {
        let names = Names::of(&trace.tree);
        Watched { names, open: HashMap::new(), synced: HashSet::new(), changed: HashMap::new() }
    }

    fn take(&mut self, call: &Call) {
        match call {
            Call::Open { path, flags, handle, .. } => self.open(path, *flags, *handle),
            Call::Fsync { handle } | Call::Fdatasync { handle } => {
                if let Some(node) = self.open.get(handle) {
                    self.synced.insert(*node);
                    self.changed.remove(node);
                }
            }
            Call::Sync | Call::Syncfs { .. } => self.changed.clear(),
            Call::MakeFolder { path, .. } => {
                let found = self.changing(path);
                self.names.make_folder(&found);
            }
            Call::Symlink { text, path } => {
                let found = self.changing(path);
                self.names.make_symlink(&found, text);
            }
            Call::Unlink { path } | Call::RemoveFolder { path } => {
                let found = self.changing(path);
                self.names.remove(&found);
            }
            Call::Link { from, to } => {
                let found = self.changing(to);
                if let Some(node) = self.names.find(from, false).node {
                    self.names.name(&found, node);
                }
            }
            Call::Rename { from, to, flags } => self.rename(from, to, *flags),
            _ => {}
        }
    }

    fn open(&mut self, path: &str, flags: u32, handle: u32) {
        let unnamed = has(flags, c::O_TMPFILE);
        let exclusive = has(flags, c::O_CREAT | c::O_EXCL);
        let found = self.names.find(path, !has(flags, c::O_NOFOLLOW) && !exclusive);
        let node = match found.node {
            _ if unnamed => self.names.make_file(&Found::default()),
            Some(node) => node,
            None => {
                if has(flags, c::O_CREAT) {
                    self.change(&found);
                }
                self.names.make_file(&found)
            }
        };
        let writes = has(flags, c::O_WRONLY) || has(flags, c::O_RDWR);
        if writes && has(flags, c::O_DSYNC) {
            self.synced.insert(node);
        }
        self.open.insert(handle, node);
    }

    fn rename(&mut self, from: &str, to: &str, flags: u32) {
        let (old, new) = (self.names.find(from, false), self.names.find(to, false));
        let Some(node) = old.node.filter(|node| new.node != Some(*node)) else { return };
        self.change(&old);
        self.change(&new);
        match new.node.filter(|_| flags & c::RENAME_EXCHANGE != 0) {
            Some(other) => self.names.name(&old, other),
            None => self.names.remove(&old),
        }
        self.names.name(&new, node);
    }

    /// Records that a name changes now.
    fn changing(&mut self, path: &str) -> Found {
        let found = self.names.find(path, false);
        self.change(&found);
        found
    }

    fn change(&mut self, found: &Found) {
        if let Some((folder, name)) = found.passed.last() {
            let was = self.names.inside(*folder).and_then(|inside| inside.get(name)).copied();
            self.changed.entry(*folder).or_default().entry(name.clone()).or_insert(was);
        }
    }

    fn at_risk(&self) -> Vec<NameAtRisk> {
        let (mut at_risk, mut passed) = (Vec::new(), HashSet::new());
        let mut left = vec![(0, String::new())];
        while let Some((folder, path)) = left.pop() {
            if !passed.insert(folder) {
                continue;
            }
            for (name, node) in self.names.inside(folder).into_iter().flatten() {
                let inner = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
                match self.changed.get(&folder).and_then(|changed| changed.get(name)) {
                    None => left.push((*node, inner)),
                    Some(Some(was)) if was == node => left.push((*node, inner)),
                    Some(Some(_)) => {}
                    Some(None) if self.is_cared_for(*node) => at_risk.extend(self.named(inner, *node)),
                    Some(None) => {}
                }
            }
        }
        at_risk.sort_by(|one: &NameAtRisk, other| one.name.cmp(&other.name));
        at_risk
    }

    /// Whether it was synced, or is a folder with a synced file in it.
    fn is_cared_for(&self, node: Node) -> bool {
        let (mut left, mut passed) = (vec![node], HashSet::new());
        while let Some(node) = left.pop().filter(|node| passed.insert(*node)) {
            match self.names.inside(node) {
                Some(inside) => left.extend(inside.values().filter(|inner| !passed.contains(*inner))),
                None if self.synced.contains(&node) => return true,
                None => {}
            }
        }
        false
    }

    /// A name at risk with its former one; None if it cannot be restored, since another file has it now or its folder is gone.
    fn named(&self, name: String, node: Node) -> Option<NameAtRisk> {
        let formerly = |(folder, changed): (&Node, &BTreeMap<String, Option<Node>>)| -> Option<(Node, String)> {
            let (name, _) = changed.iter().find(|(_, was)| **was == Some(node))?;
            Some((*folder, name.clone()))
        };
        let Some((folder, former)) = self.changed.iter().find_map(formerly) else {
            return Some(NameAtRisk { name, former: None });
        };
        let path = self.names.path(folder);
        let is_there = self.names.find(&path, false).node == Some(folder);
        let is_free = self.names.inside(folder).is_some_and(|inside| !inside.contains_key(&former));
        let former = if path == "." { former } else { format!("{path}/{former}") };
        (is_there && is_free).then_some(NameAtRisk { name, former: Some(former) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Action, Entry, EntryKind, Header};

    const CREATE: u32 = (c::O_CREAT | c::O_WRONLY) as u32;

    /// Names at risk after these calls in a folder with the file `there`; with a former name as `name <- former`.
    fn after(calls: &[Call]) -> Vec<String> {
        let action =
            |call: &Call| Action { thread: 0, think_ns: 0, took_ns: 0, result: 0, call: call.clone(), after: vec![] };
        let tree = vec![Entry { path: "there".into(), mode: 0o644, kind: EntryKind::File(1) }];
        let trace = Trace { header: Header::default(), tree, actions: calls.iter().map(action).collect() };
        let in_words = |one: NameAtRisk| match one.former {
            Some(former) => format!("{} <- {former}", one.name),
            None => one.name,
        };
        names_at_risk(&trace).into_iter().map(in_words).collect()
    }

    fn opened(path: &str, flags: u32, handle: u32) -> Call {
        Call::Open { path: path.into(), flags, mode: 0o644, handle }
    }

    /// A new file, synced.
    fn made(path: &str, handle: u32) -> [Call; 2] {
        [opened(path, CREATE, handle), Call::Fsync { handle }]
    }

    /// A synced folder.
    fn synced(path: &str, handle: u32) -> [Call; 2] {
        [opened(path, 0, handle), Call::Fsync { handle }]
    }

    fn renamed(from: &str, to: &str) -> Call {
        Call::Rename { from: from.into(), to: to.into(), flags: 0 }
    }

    const NOTHING: [&str; 0] = [];

    #[test]
    fn a_new_file_is_at_risk_until_its_folder_is_synced_after_it_was_made() {
        assert_eq!(after(&made("a", 0)), ["a"]);
        assert_eq!(after(&[made("a", 0), synced(".", 1)].concat()), NOTHING);
        assert_eq!(after(&[synced(".", 1), made("a", 0)].concat()), ["a"]);
        assert_eq!(after(&[&made("a", 0)[..], &[Call::Sync]].concat()), NOTHING);
        assert_eq!(after(&[&made("a", 0)[..], &[Call::Syncfs { handle: 0 }]].concat()), NOTHING);
        let failed = Action { thread: 0, think_ns: 0, took_ns: 0, result: -5, call: Call::Sync, after: vec![] };
        let mut trace = Trace { header: Header::default(), tree: vec![], actions: vec![] };
        trace.actions.extend(made("a", 0).map(|call| Action { result: 0, call, ..failed.clone() }));
        trace.actions.push(failed);
        assert_eq!(names_at_risk(&trace).len(), 1);
    }

    #[test]
    fn names_that_the_program_did_not_sync_or_make_are_not_at_risk() {
        assert_eq!(after(&[opened("a", CREATE, 0)]), NOTHING);
        assert_eq!(after(&[opened("there", CREATE, 0), Call::Fdatasync { handle: 0 }]), NOTHING);
        assert_eq!(after(&[opened("a", CREATE | c::O_DSYNC as u32, 0)]), ["a"]);
        assert_eq!(after(&[&made("a", 0)[..], &[Call::Unlink { path: "a".into() }]].concat()), NOTHING);
    }

    #[test]
    fn a_renamed_file_has_its_former_name_or_none() {
        let here = [opened("there", 1, 0), Call::Fsync { handle: 0 }];
        assert_eq!(after(&[&here[..], &[renamed("there", "b")]].concat()), ["b <- there"]);
        assert_eq!(after(&[&here[..], &[renamed("there", "b")], &synced(".", 1)].concat()), NOTHING);
        assert_eq!(after(&[&made("a", 0)[..], &[renamed("a", "b")]].concat()), ["b"]);
        let moved = [&made("a", 0)[..], &synced(".", 1), &[renamed("a", "b")]].concat();
        assert_eq!(after(&moved), ["b <- a"]);
        // Another file has the former name, and would need its old content.
        assert_eq!(after(&[moved, made("a", 2).to_vec()].concat()), NOTHING);
        // Another file had the name, and has it again after a cut.
        assert_eq!(after(&[&made("a", 0)[..], &[renamed("a", "there")]].concat()), NOTHING);
    }

    #[test]
    fn a_new_link_is_at_risk_and_the_first_name_is_not() {
        let link = Call::Link { from: "there".into(), to: "b".into() };
        let here = [opened("there", 1, 0), link, Call::Fsync { handle: 0 }];
        assert_eq!(after(&here), ["b"]);
        assert_eq!(after(&[&here[..], &synced(".", 1)].concat()), NOTHING);
    }

    #[test]
    fn a_new_folder_takes_what_is_in_it_along() {
        let folder = [Call::MakeFolder { path: "d".into(), mode: 0o755 }];
        let both = [&folder[..], &made("d/a", 0), &synced("d", 1)].concat();
        assert_eq!(after(&both), ["d"]);
        assert_eq!(after(&[&both[..], &synced(".", 2)].concat()), NOTHING);
        assert_eq!(after(&[&folder[..], &made("d/a", 0), &synced(".", 1)].concat()), ["d/a"]);
        assert_eq!(after(&folder), NOTHING);
    }
}
