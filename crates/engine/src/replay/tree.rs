//! The initial tree of a recorded program, created again.
//! In: a trace's entries. Out: folders, files of their sizes with generated contents, links.

use super::{Root, read};
use crate::content::{Generator, Source};
use crate::ops::Ops;
use crate::sys::Errno;
use crate::worker::{Task, version};
use rustix::fs::{AtFlags, Mode, OFlags, fchmod, linkat, mkdirat, openat, symlinkat};
use trace::{Entry, EntryKind};
use workload::program::{Content, Replay};

/// Bytes of one write.
const PIECE: usize = 1 << 20;

/// Creates the tree, as one worker's share.
pub fn lay_out(task: &Task, replay: &Replay) -> Result<(), String> {
    let trace = read(replay)?;
    let root = Root::enter(task)?;
    let ops = Ops::new(task.group());
    let content = Content { compressible_percent: trace.header.compressible_before.min(100), ..Content::default() };
    let mut generator = Generator::new(task.program.seed, content);
    let mut buffer = vec![0; PIECE];
    task.wait_for_start();
    let mut tally = task.tally(&ops);
    for (number, entry) in trace.tree.iter().enumerate() {
        if !tally.running() {
            break;
        }
        let source = Source { file: number as u64 + 1, version: version(task.phase, task.pass, number as u64) };
        match make(&root, entry, source, &mut generator, &mut buffer) {
            Ok(bytes) => tally.written(bytes as usize),
            Err(error) => tally.fail("lay-out", entry.path.clone(), None, error),
        }
        tally.lap(ops.list[0].histogram);
        tally.items(1);
    }
    tally.finish();
    Ok(())
}

fn make(
    root: &Root,
    entry: &Entry,
    source: Source,
    generator: &mut Generator,
    buffer: &mut [u8],
) -> Result<u64, Errno> {
    let (at, path) = (&root.fd, entry.path.as_str());
    match &entry.kind {
        EntryKind::Folder => mkdirat(at, path, Mode::from_raw_mode(entry.mode | 0o700)).map(|()| 0),
        EntryKind::Symlink(text) => symlinkat(root.link_text(text), at, path).map(|()| 0),
        EntryKind::Link(of) => linkat(at, of.as_str(), at, path, AtFlags::empty()).map(|()| 0),
        EntryKind::File(size) => {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = openat(at, path, flags, Mode::from_raw_mode(0o600))?;
            let mut done = 0;
            while done < *size {
                let piece = (size - done).min(buffer.len() as u64) as usize;
                generator.fill(&mut buffer[..piece], source, done);
                done += rustix::io::write(&file, &buffer[..piece])? as u64;
            }
            fchmod(&file, Mode::from_raw_mode(entry.mode)).map(|()| *size)
        }
    }
}
