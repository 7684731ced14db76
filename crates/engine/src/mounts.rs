//! Mounts in the namespace of a command, which starts as a copy of the machine's.
//! In: the machine's mounts. Out: copies that are not needed are detached, since each keeps its device in use while the command lives.
//! The copies are private, so that later mounts do not appear in them; unmounts outside are repeated here.
#![allow(unsafe_code)]

use crate::process::Event;
use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::AsRawFd;
use std::path::Path;

/// The kernel's list of a namespace's mounts.
const LIST: &str = "/proc/self/mountinfo";
/// Path below which each run has its mountpoints.
pub const RUNS: &str = "/run/bakeoff/";

/// The machine's mounts, for processes that have left its namespace.
pub struct Outside {
    list: Option<File>,
    /// Mounts at the time when the namespace was copied.
    copied: String,
}

impl Outside {
    /// The mounts that this process sees now, and their changes.
    pub fn here() -> Outside {
        let mut list = File::open(LIST).ok();
        let mut copied = String::new();
        let _ = list.as_mut().map(|file| file.read_to_string(&mut copied));
        Outside { list, copied }
    }

    /// For [`crate::process::wait_for`]: whether the mounts changed.
    pub fn changes(&self) -> (i32, Event) {
        (self.list.as_ref().map_or(-1, AsRawFd::as_raw_fd), Event::Changed)
    }

    /// Detaches copies of mounts that no longer exist outside. In a user namespace this is refused: Linux locks copied mounts there.
    pub fn follow(&self) {
        let Some(mut file) = self.list.as_ref() else { return };
        let mut outside = String::new();
        let read = file.rewind().and_then(|()| file.read_to_string(&mut outside));
        if read.is_err() || outside.is_empty() {
            return;
        }
        let outside: Vec<Mount> = mounts(&outside).collect();
        let copied: Vec<Mount> = mounts(&self.copied).collect();
        let inside = std::fs::read_to_string(LIST).unwrap_or_default();
        let gone = mounts(&inside).filter(|mount| copied.contains(mount) && !outside.contains(mount));
        detach(gone.map(|mount| mount.point));
    }
}

/// Detaches mounts below a path that are not needed here, such as those of other runs, which change often. `root`: the folder of the programs.
pub fn leave(below: &str, root: &Path) {
    let inside = std::fs::read_to_string(LIST).unwrap_or_default();
    let points = mounts(&inside).map(|mount| mount.point);
    detach(points.filter(|point| point.starts_with(below) && !root.starts_with(point)));
}

/// A mount, in the kernel's notation.
#[derive(PartialEq)]
struct Mount<'a> {
    device: &'a str,
    root: &'a str,
    point: &'a str,
}

fn mounts(list: &str) -> impl Iterator<Item = Mount<'_>> {
    list.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(2);
        Some(Mount { device: fields.next()?, root: fields.next()?, point: fields.next()? })
    })
}

/// Detaches these mounts in this namespace; they are released once none of their files is open.
fn detach<'a>(points: impl Iterator<Item = &'a str>) {
    for point in points.filter_map(|point| CString::new(unescaped(point)).ok()) {
        // SAFETY: a C string that outlives the call. A refused unmount is ignored.
        unsafe { libc::umount2(point.as_ptr(), libc::MNT_DETACH) };
    }
}

/// Blanks and some others are encoded as three octal digits. (`system::mounts` decodes them too; the engine contains no host code.)
fn unescaped(point: &str) -> Vec<u8> {
    let (mut plain, mut rest) = (Vec::new(), point.as_bytes());
    while let [first, after @ ..] = rest {
        let code = after.get(..3).and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 8).ok());
        let code = code.filter(|_| *first == b'\\');
        plain.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_read_with_their_blanks() {
        let list = "42 27 7:0 / /mnt/a\\040b\\134 rw shared:1 - xfs /dev/loop0 rw\nodd line\n43 27 0:5 /sub /mnt/0401 rw - tmpfs x rw\n";
        let found: Vec<Mount> = mounts(list).collect();
        assert_eq!(found.len(), 2);
        assert_eq!(unescaped(found[0].point), b"/mnt/a b\\");
        assert_eq!((found[1].root, unescaped(found[1].point).as_slice()), ("/sub", b"/mnt/0401".as_slice()));
        assert!(found[0] != found[1]);
    }
}
