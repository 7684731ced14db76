//! The names in the folder, updated by calls, so that calls on the same file, folder or name can be matched.
//! In: the initial tree, and each call that creates, moves or removes a name. Out: what a path refers to now.

use crate::trace::{Entry, EntryKind};
use std::collections::HashMap;

/// A file, folder or symbolic link; the recorded folder is 0.
pub type Node = usize;
/// Most symbolic links that one path may pass, as in the kernel.
const LINKS_LIMIT: usize = 40;

#[derive(Debug)]
enum Kind {
    Folder(HashMap<String, Node>),
    File,
    Symlink(String),
}

#[derive(Debug)]
struct Known {
    kind: Kind,
    /// Its last name: its folder and its name there.
    at: (Node, String),
}

/// Result of a path lookup.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// Names looked up on the way, each with its folder; the last is the path's own.
    pub passed: Vec<(Node, String)>,
    /// What is there; None: nothing.
    pub node: Option<Node>,
}

/// All names.
#[derive(Debug)]
pub struct Names {
    nodes: Vec<Known>,
}

impl Names {
    /// The names of a tree.
    pub fn of(tree: &[Entry]) -> Names {
        let root = Known { kind: Kind::Folder(HashMap::new()), at: (0, String::new()) };
        let mut names = Names { nodes: vec![root] };
        for entry in tree {
            let found = names.find(&entry.path, false);
            match &entry.kind {
                EntryKind::Folder => drop(names.make_folder(&found)),
                EntryKind::File(_) => drop(names.make_file(&found)),
                EntryKind::Symlink(text) => drop(names.make_symlink(&found, text)),
                EntryKind::Link(of) => {
                    if let Some(node) = names.find(of, false).node {
                        names.name(&found, node);
                    }
                }
            }
        }
        names
    }

    /// Looks up a path relative to the folder; `.` is the folder itself.
    pub fn find(&self, path: &str, follow: bool) -> Found {
        let mut found = Found { passed: Vec::new(), node: Some(0) };
        let mut links = 0;
        let mut rest: Vec<String> = path.split('/').rev().filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let mut folder = 0;
        while let Some(part) = rest.pop() {
            match part.as_str() {
                "." => continue,
                ".." => {
                    folder = self.nodes[folder].at.0;
                    found.node = Some(folder);
                    continue;
                }
                _ => {}
            }
            let next = match &self.nodes[folder].kind {
                Kind::Folder(children) => children.get(&part).copied(),
                _ => None,
            };
            found.passed.push((folder, part));
            found.node = next;
            let Some(node) = next else {
                if !rest.is_empty() {
                    // A name below a missing one.
                    found.passed.push((folder, String::new()));
                }
                return found;
            };
            match &self.nodes[node].kind {
                Kind::Symlink(text) if (follow || !rest.is_empty()) && links < LINKS_LIMIT => {
                    links += 1;
                    if text.starts_with('/') {
                        found.node = None;
                        return found;
                    }
                    rest.extend(text.split('/').rev().filter(|part| !part.is_empty()).map(str::to_owned));
                    found.node = Some(folder);
                }
                _ => folder = node,
            }
        }
        found
    }

    /// The path of a node, relative to the folder.
    pub fn path(&self, node: Node) -> String {
        let mut parts = Vec::new();
        let mut node = node;
        while node != 0 && parts.len() < 4096 {
            let (folder, name) = &self.nodes[node].at;
            parts.push(name.as_str());
            node = *folder;
        }
        parts.reverse();
        if parts.is_empty() { ".".into() } else { parts.join("/") }
    }

    /// Whether a node is a folder.
    pub fn is_folder(&self, node: Node) -> bool {
        matches!(self.nodes[node].kind, Kind::Folder(_))
    }

    /// The content of a folder; None if it is not one.
    pub fn inside(&self, node: Node) -> Option<&HashMap<String, Node>> {
        match &self.nodes[node].kind {
            Kind::Folder(children) => Some(children),
            _ => None,
        }
    }

    fn add(&mut self, found: &Found, kind: Kind) -> Node {
        self.nodes.push(Known { kind, at: (0, String::new()) });
        let node = self.nodes.len() - 1;
        self.name(found, node);
        node
    }

    /// Gives a node the name that was looked up.
    pub fn name(&mut self, found: &Found, node: Node) {
        let Some((folder, name)) = found.passed.last().cloned() else { return };
        if let Kind::Folder(children) = &mut self.nodes[folder].kind {
            children.insert(name.clone(), node);
        }
        self.nodes[node].at = (folder, name);
    }

    /// Creates a folder under the name that was looked up.
    pub fn make_folder(&mut self, found: &Found) -> Node {
        self.add(found, Kind::Folder(HashMap::new()))
    }

    /// Creates a file.
    pub fn make_file(&mut self, found: &Found) -> Node {
        self.add(found, Kind::File)
    }

    /// Creates a symbolic link.
    pub fn make_symlink(&mut self, found: &Found, text: &str) -> Node {
        self.add(found, Kind::Symlink(text.to_owned()))
    }

    /// Removes a name.
    pub fn remove(&mut self, found: &Found) {
        let Some((folder, name)) = found.passed.last() else { return };
        if let Kind::Folder(children) = &mut self.nodes[*folder].kind {
            children.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Names {
        let entry = |path: &str, kind| Entry { path: path.into(), mode: 0o644, kind };
        Names::of(&[
            entry("a", EntryKind::Folder),
            entry("a/b", EntryKind::File(3)),
            entry("c", EntryKind::Symlink("a".into())),
            entry("d", EntryKind::Link("a/b".into())),
            entry("out", EntryKind::Symlink("/etc".into())),
        ])
    }

    #[test]
    fn links_of_both_kinds_lead_to_the_same_file() {
        let names = tree();
        let file = names.find("a/b", true).node;
        assert!(file.is_some());
        assert_eq!(names.find("c/b", true).node, file);
        assert_eq!(names.find("d", true).node, file);
        assert_eq!(names.find("a/../d", true).node, file);
        assert_eq!(names.find("out/passwd", true).node, None);
    }

    #[test]
    fn files_in_a_folder_move_with_it() {
        let mut names = tree();
        let (from, to) = (names.find("a", false), names.find("e", false));
        let folder = from.node.unwrap();
        let file = names.find("a/b", true).node.unwrap();
        names.remove(&from);
        names.name(&to, folder);
        assert_eq!(names.find("a/b", true).node, None);
        assert_eq!(names.find("e/b", true).node, Some(file));
        assert_eq!(names.path(folder), "e");
    }
}
