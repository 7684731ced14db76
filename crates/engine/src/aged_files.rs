//! Work on the aged files next to the root: a whole tree, directory by directory in readdir order.
//! In: a worker's task. Out: its tally.
//! Names come from the directories themselves, so any tree will do; it is only read.

use crate::dirs::{Kind, Listing};
use crate::hash::{mix, mix_bytes};
use crate::ops::{Act, Op, Ops};
use crate::region::{Buffer, read_skew};
use crate::sys::{self, Answer, Errno, Fd};
use crate::tally::Tally;
use crate::worker::Task;
use std::ffi::{CStr, CString};
use workload::ageing::FOLDER;

/// Bytes of one read, unless the program sets another size.
const CALL_BYTES: u64 = 128 << 10;

/// Most nested directories.
const DEPTH: usize = 256;

/// Carries out the steps on every file of the tree.
pub fn work(task: &Task) -> Result<(), String> {
    let aged = CString::new(format!("../{FOLDER}")).unwrap_or_default();
    let top = sys::open_directory(task.root, &aged).map_err(|e| match e {
        Errno::NOENT => "this filesystem was not aged, so there are no aged files to read".to_owned(),
        e => format!("opening the aged files: {e}"),
    })?;
    let call = task.group().io.call_bytes;
    let call = if call == 0 { CALL_BYTES } else { call };
    let skew = if task.group().io.direct { 0 } else { read_skew(call) };
    let buffer = Buffer::skewed(call as usize, skew).map_err(|e| format!("no memory for the I/O buffer: {e}"))?;
    let mut work = Tree { ops: Ops::new(task.group()), buffer, left: task.group().count.unwrap_or(u64::MAX) };
    task.wait_for_start();
    let mut tally = task.tally(&work.ops);
    work.directory(top, &mut String::new(), 0, &mut tally);
    let _ = sys::close(top);
    tally.finish();
    Ok(())
}

struct Tree {
    ops: Ops,
    buffer: Buffer,
    left: u64,
}

impl Tree {
    /// One directory: its files in listed order, then the directories below it.
    fn directory(&mut self, fd: Fd, above: &mut String, depth: usize, tally: &mut Tally) {
        let mut listing = Listing::new();
        let mut below: Vec<CString> = Vec::new();
        loop {
            let more = listing.fetch(fd);
            tally.lap(self.ops.readdir);
            match more {
                Ok(true) => {}
                Ok(false) => break,
                Err(e) => return tally.fail("readdir", above.clone(), None, e),
            }
            while let Some((name, kind)) = listing.next() {
                let kind = match kind {
                    Kind::Unknown => match sys::stat(fd, name).map(|status| status.mode & libc::S_IFMT) {
                        Ok(libc::S_IFDIR) => Kind::Directory,
                        _ => Kind::Other,
                    },
                    known => known,
                };
                if kind == Kind::Directory {
                    below.push(name.to_owned());
                } else if self.left > 0 && tally.running() {
                    self.left -= 1;
                    self.file(fd, name, above, tally);
                }
            }
        }
        for name in below.into_iter().filter(|_| depth < DEPTH) {
            if self.left == 0 || !tally.running() {
                return;
            }
            let length = above.len();
            above.push_str(&name.to_string_lossy());
            above.push('/');
            match sys::open_directory(fd, &name) {
                Ok(child) => {
                    self.directory(child, above, depth + 1, tally);
                    let _ = sys::close(child);
                }
                Err(e) => tally.fail("readdir", above.clone(), None, e),
            }
            above.truncate(length);
        }
    }

    fn file(&mut self, directory: Fd, name: &CStr, above: &str, tally: &mut Tally) {
        let start = tally.now;
        let list = std::mem::take(&mut self.ops.list);
        let mut open = None;
        let mut bytes = 0;
        let mut failed = false;
        for op in &list {
            if let Err(e) = self.step(op, directory, name, (&mut open, &mut bytes), tally) {
                tally.skip();
                tally.fail(op.name, format!("{above}{}", name.to_string_lossy()), None, e);
                failed = true;
                break;
            }
            tally.lap(op.histogram);
        }
        self.ops.list = list;
        if let Some(fd) = open {
            let _ = sys::close(fd);
        }
        if !failed {
            tally.fold(mix(mix_bytes(above.as_bytes()) ^ mix(mix_bytes(name.to_bytes()) ^ bytes)));
            if let Some(histogram) = self.ops.item {
                tally.span(histogram, start);
            }
            tally.items(1);
        }
    }

    fn step(
        &mut self,
        op: &Op,
        directory: Fd,
        name: &CStr,
        (open, bytes): (&mut Option<Fd>, &mut u64),
        tally: &mut Tally,
    ) -> Answer<()> {
        match &op.act {
            Act::Open { flags, .. } => *open = Some(sys::open(directory, name, *flags, 0)?),
            Act::Read => {
                let fd = open.ok_or(Errno::BADF)?;
                loop {
                    let n = sys::read(fd, &mut self.buffer)?;
                    *bytes += n as u64;
                    tally.read(n);
                    if n < self.buffer.len() {
                        break;
                    }
                }
            }
            Act::Close => {
                if let Some(fd) = open.take() {
                    sys::close(fd)?;
                }
            }
            Act::Stat => {
                std::hint::black_box(sys::stat(directory, name)?.size);
            }
            // Programs with other steps on aged files are refused in advance.
            _ => return Err(Errno::INVAL),
        }
        Ok(())
    }
}
