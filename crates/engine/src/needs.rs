//! Whether the root's filesystem supports what a program needs: tried on temporary files.
//! In: a program that was checked. Out: for each unsupported phase, why, in a sentence.
//! Tried and never looked up: support depends on the filesystem's options, its kernel and its device.

use crate::files::rare::{ACL, ATTRIBUTE, acl};
use crate::ops::{RWF_ATOMIC, RWF_DONTCACHE};
use crate::region::Buffer;
use crate::sys::{self, Answer, Errno, Fd};
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::os::fd::AsRawFd;
use workload::message::Lack;
use workload::program::{Need, Program};

/// Names of the temporary files.
const FIRST: &CStr = c".bakeoff-try";
const SECOND: &CStr = c".bakeoff-try-again";
/// Bytes of the first: several blocks of any filesystem.
const LENGTH: usize = 256 << 10;

/// Phases of a program that its root does not support.
///
/// # Errors
/// The trial itself fails.
pub fn lacking(program: &Program) -> Result<Vec<Lack>, String> {
    let needed = || program.phases.iter().enumerate().map(|(index, phase)| (index, phase.all_needs()));
    // One of several clients tries for all, since they would remove each other's files.
    let first = program.client.is_none_or(|client| client.number == 0);
    if !first || needed().all(|(_, needs)| needs.is_empty()) {
        return Ok(Vec::new());
    }
    let root = sys::open_work(program).map_err(|reason| format!("testing its features: {reason}"))?;
    let mut known: BTreeMap<Need, Option<String>> = BTreeMap::new();
    let mut lacking = Vec::new();
    for (phase, needs) in needed() {
        for need in needs {
            let why = known.entry(need).or_insert_with(|| lacks(need, program, root.as_raw_fd()));
            if let Some(why) = why {
                lacking.push(Lack { phase, why: format!("no {}: {why}", need.title()) });
                break;
            }
        }
    }
    Ok(lacking)
}

/// Why something is unsupported; None if it is supported.
fn lacks(need: Need, program: &Program, root: Fd) -> Option<String> {
    if let Need::Tool(tool) = need {
        let known = program.tools.contains_key(&tool);
        return (!known).then(|| "it has no tool for this here".into());
    }
    let tried = with_files(need, root);
    let _ = sys::unlink(root, FIRST);
    let _ = sys::unlink(root, SECOND);
    tried.err().map(|errno| errno.to_string())
}

fn with_files(need: Need, root: Fd) -> Answer<()> {
    if need == Need::Tmpfile {
        let fd = sys::open(root, c".", libc::O_TMPFILE | libc::O_WRONLY, 0o600)?;
        let linked = sys::link_open(fd, root, FIRST);
        return sys::close(fd).and(linked);
    }
    let direct = if matches!(need, Need::AtomicWrites(_)) { libc::O_DIRECT } else { 0 };
    let file = sys::open(root, FIRST, libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC, 0o600)?;
    let tried = written(file).and_then(|()| {
        let again = sys::open(root, FIRST, libc::O_RDWR | direct, 0)?;
        let tried = on_file(need, root, again);
        sys::close(again).and(tried)
    });
    sys::close(file).and(tried)
}

fn written(file: Fd) -> Answer<()> {
    let buffer = [0x5a; LENGTH];
    let mut done = 0;
    while done < LENGTH {
        done += sys::write(file, &buffer[done..])?;
    }
    sys::fsync(file)
}

fn on_file(need: Need, root: Fd, file: Fd) -> Answer<()> {
    match need {
        Need::Reflink => {
            let clone = sys::open(root, SECOND, libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC, 0o600)?;
            let cloned = sys::clone_file(clone, file);
            sys::close(clone).and(cloned)
        }
        Need::Fallocate => sys::allocate(file, 0, 0, 2 * LENGTH as u64),
        Need::PunchHole => {
            sys::allocate(file, libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, 0, LENGTH as u64 / 2)
        }
        Need::Xattr => sys::set_attribute(file, ATTRIBUTE, b"value"),
        Need::HardLink => sys::link(root, FIRST, root, SECOND),
        Need::Acl => sys::set_attribute(file, ACL, &acl()),
        Need::AtomicWrites(bytes) => write_flagged(file, usize::try_from(bytes).unwrap_or(usize::MAX), RWF_ATOMIC),
        Need::Uncached => write_flagged(file, LENGTH, RWF_DONTCACHE),
        Need::Tmpfile | Need::Tool(_) => Ok(()),
    }
}

/// Writes the first bytes with a flag; a failed allocation also counts as the system's error.
fn write_flagged(file: Fd, bytes: usize, flag: i32) -> Answer<()> {
    let mut buffer = Buffer::skewed(bytes, 0)?;
    buffer[..bytes].fill(0xa5);
    match sys::write_at_flagged(file, &buffer[..bytes], 0, flag)? {
        written if written == bytes => Ok(()),
        _ => Err(Errno::IO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::program::VolumeTool;

    #[test]
    fn an_unmet_need_has_the_systems_answer_and_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let opened = sys::open_root(folder.path()).expect("open");
        let root = opened.as_raw_fd();
        // No device writes a block of 1 MiB and 1 byte atomically.
        let refused = with_files(Need::AtomicWrites((1 << 20) + 1), root);
        assert!(refused.is_err());
        assert_eq!(with_files(Need::Fallocate, root), Ok(()));
        assert_eq!(lacks(Need::HardLink, &program(), root), None);
        let empty = Program { root: folder.path().into(), ..program() };
        let why = lacks(Need::Tool(VolumeTool::Rollback), &empty, root).expect("no tool is named");
        assert!(why.contains("no tool for this"), "{why}");
        assert_eq!(lacks(Need::Fallocate, &empty, root), None);
        assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 0);
    }

    fn program() -> Program {
        Program {
            workload: "w".into(),
            seed: 1,
            root: Default::default(),
            root_inode: None,
            device: None,
            client: None,
            durable: Default::default(),
            tools: BTreeMap::new(),
            filesets: Vec::new(),
            phases: Vec::new(),
            error_limit: 0,
            time_limit: 60,
        }
    }
}
