//! Mounts as the kernel lists them, in this namespace and in every other visible one.
//! In: /proc/PID/mountinfo. Out: [`Mount`].
//! Devices are compared by number, never by name.

use records::Number;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// One line of mountinfo.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mount {
    /// Id of the mount.
    pub id: u32,
    /// Device number of the filesystem; not that of a block device for btrfs, tmpfs and the like.
    pub number: Number,
    /// Directory within the filesystem that is mounted.
    pub root: PathBuf,
    /// Where it is mounted.
    pub point: PathBuf,
    /// Options of this mount: rw, noatime ...
    pub options: Vec<String>,
    /// Filesystem type.
    pub kind: String,
    /// What was mounted: a device node, a pool, a word.
    pub source: String,
    /// Options of the filesystem, the same for all its mounts.
    pub super_options: Vec<String>,
    /// The namespace that lists it: `self`, or the process that belongs to it.
    pub seen_by: String,
}

/// The mounts of this thread's namespace, which is the process's unless the thread has entered one of its own.
pub fn here() -> Vec<Mount> {
    let seen_by_self = |mount| Mount { seen_by: "self".into(), ..mount };
    listed("thread-self").into_iter().map(seen_by_self).collect()
}

/// The mounts that a process sees.
pub fn of_process(pid: u32) -> Vec<Mount> {
    listed(&pid.to_string())
}

/// The mounts of all processes' namespaces, as far as they are readable; each namespace once per root directory, since a process sees only
/// mounts below its own root.
pub fn everywhere() -> Vec<Mount> {
    let view = |process: &str| {
        let link = |name: &str| std::fs::read_link(format!("/proc/{process}/{name}")).ok();
        Some((link("ns/mnt")?, link("root")?))
    };
    let mut seen = BTreeSet::new();
    seen.extend(view("thread-self"));
    let mut found = here();
    for pid in crate::process::ids() {
        // Without root other users' processes are not readable, and some end meanwhile.
        if let Some(view) = view(&pid.to_string())
            && seen.insert(view)
        {
            found.extend(of_process(pid));
        }
    }
    found
}

/// The mount that this path is on.
pub fn of_path(path: &Path) -> Option<Mount> {
    let path = path.canonicalize().ok()?;
    let mut best: Option<Mount> = None;
    for mount in here() {
        let longer = best.as_ref().is_none_or(|best| mount.point.as_os_str().len() >= best.point.as_os_str().len());
        // Of two mounts on one point the later covers the earlier.
        if path.starts_with(&mount.point) && longer {
            best = Some(mount);
        }
    }
    best
}

/// The mount at exactly this point; the topmost of several.
pub fn at(point: &Path) -> Option<Mount> {
    here().into_iter().rev().find(|mount| mount.point == point)
}

fn listed(process: &str) -> Vec<Mount> {
    crate::text(format!("/proc/{process}/mountinfo"))
        .map(|text| text.lines().filter_map(|line| parse(line, process)).collect())
        .unwrap_or_default()
}

/// proc(5): id, parent, major:minor, root, point, options, optional fields, -, type, source, super options.
fn parse(line: &str, process: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let before: Vec<&str> = before.split(' ').collect();
    let after: Vec<&str> = after.split(' ').collect();
    let options = |text: &str| text.split(',').map(unescaped).collect();
    Some(Mount {
        id: before.first()?.parse().ok()?,
        number: Number::parse(before.get(2)?)?,
        root: unescaped(before.get(3)?).into(),
        point: unescaped(before.get(4)?).into(),
        options: options(before.get(5)?),
        kind: after.first()?.to_string(),
        source: unescaped(after.get(1)?),
        super_options: after.get(2).map(|text| options(text)).unwrap_or_default(),
        seen_by: process.to_string(),
    })
}

/// Blanks, tabs, newlines and backslashes appear as three octal digits.
fn unescaped(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at] == b'\\')
            .then(|| bytes.get(at + 1..at + 4))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        out.push(code.unwrap_or(bytes[at]));
        at += if code.is_some() { 4 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_with_its_escapes_and_optional_fields() {
        let line = r"42 27 7:0 /sub /mnt/a\040b rw,noatime shared:1 master:2 - xfs /dev/loop0 rw,logbsize=256k,noquota";
        let mount = parse(line, "self").expect("a good line");
        assert_eq!(mount.number, Number { major: 7, minor: 0 });
        assert_eq!(mount.root, Path::new("/sub"));
        assert_eq!(mount.point, Path::new("/mnt/a b"));
        assert_eq!(mount.options, ["rw", "noatime"]);
        assert_eq!(mount.kind, "xfs");
        assert_eq!(mount.super_options, ["rw", "logbsize=256k", "noquota"]);
    }

    #[test]
    fn the_root_is_mounted_here() {
        assert!(here().iter().any(|mount| mount.point == Path::new("/")));
        let proc = of_path(Path::new("/proc/self/status")).expect("somewhere");
        assert_eq!(proc.kind, "proc");
    }
}
