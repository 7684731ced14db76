//! Work on whole files: one item a file, the steps of the group carried out on each.
//! In: a worker's task. Out: its tally.
//! Files are taken by computed index, or in readdir order (`crate::readdir`).

pub mod rare;

use crate::content::{Generator, Source};
use crate::dirs::Directories;
use crate::hash::{below, mix, mix_all, mix_bytes};
use crate::names::{Files, Name};
use crate::ops::{Act, Op, Ops, salt};
use crate::order::Course;
use crate::pace::Pacer;
use crate::region::{Buffer, read_skew};
use crate::sys::{self, Answer, Errno, Fd};
use crate::tally::Tally;
use crate::worker::{Task, version};
use workload::program::{Io, SyncCall};

/// Bytes of one read or write call, unless the program sets another size.
const CALL_BYTES: u64 = 128 << 10;

/// State for steps on files besides the tally.
pub struct FileWork<'a> {
    /// The task.
    pub task: &'a Task<'a>,
    /// The operations.
    pub ops: Ops,
    /// The files of this worker.
    pub files: Files,
    /// Handles on their directories.
    pub dirs: Directories,
    io: Io,
    targets: Vec<(String, Option<Fd>)>,
    ids: (u32, u32),
    buffer: Buffer,
    generator: Generator,
    checker: Generator,
    verify: bool,
    since_sync: u64,
    direct_refused: bool,
    /// Whether each directory has any files; computed on first use.
    pub in_use: Option<Vec<bool>>,
}

/// The current file.
pub struct Item {
    /// Its index; a hash of its name if it is not in the fileset.
    pub index: u64,
    /// Its identity.
    pub identity: u64,
    /// Identity in its content. It differs for a clone or copy, whose content carries the source's until it is overwritten.
    writer: u64,
    /// Its name.
    pub name: Name,
    /// Number of its directory.
    pub directory: u64,
    /// Target directory, if it was renamed.
    moved_to: Option<Fd>,
    fd: Option<Fd>,
    direct: bool,
    version: u64,
    generation: u64,
    bytes: u64,
}

impl Item {
    /// An empty item.
    pub fn new() -> Item {
        Item {
            index: 0,
            identity: 0,
            writer: 0,
            name: Name::new(),
            directory: 0,
            moved_to: None,
            fd: None,
            direct: false,
            version: 0,
            generation: 0,
            bytes: 0,
        }
    }
}

/// Why an item was not completed.
pub enum Trouble {
    /// A step failed; it is counted.
    Failed,
    /// The file was gone before the first step, which is no error if workers share the files they find.
    Gone,
}

impl<'a> FileWork<'a> {
    /// Prepares everything that is possible before the clock starts.
    pub fn new(task: &'a Task<'a>, files: Files) -> Answer<FileWork<'a>> {
        let group = task.group();
        let content = task.program.filesets[files.fileset].content;
        let call = if group.io.call_bytes == 0 { CALL_BYTES } else { group.io.call_bytes };
        let ops = Ops::new(group);
        // No call moves more than the largest file, so small files do not need the buffer of large reads.
        let skew = if group.io.direct { 0 } else { read_skew(call.min(files.largest())) };
        Ok(FileWork {
            dirs: Directories::new(task.root, &files),
            targets: ops.targets.iter().map(|t| (files.sibling(t), None)).collect(),
            ops,
            files,
            io: group.io,
            ids: sys::own_ids(),
            buffer: Buffer::skewed(call as usize, skew)?,
            generator: Generator::new(task.program.seed, content),
            checker: Generator::new(task.program.seed, content),
            verify: content.verify,
            since_sync: 0,
            direct_refused: false,
            in_use: None,
            task,
        })
    }

    /// Files by computed index.
    pub fn by_index(&mut self, course: &Course, tally: &mut Tally, pacer: &mut Pacer) {
        let mut item = Item::new();
        let mut position = course.from;
        let mut more = course.from < course.to;
        while more && tally.running() {
            let Some(due) = pacer.wait(tally) else { break };
            let start = tally.now;
            self.take(course.item(position), position, &mut item);
            if self.perform(&mut item, tally).is_ok() {
                if let Some(histogram) = self.ops.item {
                    tally.span(histogram, start);
                }
                pacer.done(tally, self.ops.response, due);
                tally.items(1);
            }
            match course.after(position, self.task.repeats()) {
                Some(next) => position = next,
                None => more = false,
            }
        }
    }

    #[inline]
    fn take(&mut self, index: u64, position: u64, item: &mut Item) {
        item.index = index;
        item.identity = self.files.identity(index);
        item.writer = self.files.writer(index);
        self.files.name(index, &mut item.name);
        item.directory = self.files.directory_of(index, &item.name);
        item.version = version(self.task.phase, self.task.pass, position);
        item.generation = 0;
        item.bytes = 0;
        item.moved_to = None;
    }

    /// Takes a file from a readdir listing.
    pub fn take_listed(&mut self, name: &[u8], directory: u64, item: &mut Item) {
        item.name = Name::from(name);
        let index = self.files.index_of(name);
        item.index = index.unwrap_or_else(|| mix_bytes(name));
        item.identity = match index {
            Some(index) => self.files.identity(index),
            None => mix_all(&[mix_bytes(name), directory]),
        };
        item.writer = index.map_or(item.identity, |index| self.files.writer(index));
        item.directory = directory;
        item.version = version(self.task.phase, self.task.pass, item.index & 0xff_ffff_ffff);
        item.generation = 0;
        item.bytes = 0;
        item.moved_to = None;
    }

    /// Carries out the steps on one file.
    #[inline]
    pub fn perform(&mut self, item: &mut Item, tally: &mut Tally) -> Result<(), Trouble> {
        // The list is moved out and back so that steps may change `self`; this costs two moves of a pointer.
        let list = std::mem::take(&mut self.ops.list);
        let result = self.steps(&list, item, tally, true);
        self.ops.list = list;
        if let Some(fd) = item.fd.take() {
            // A failed item, or one whose steps never close: the descriptor must not outlive it.
            let _ = sys::close(fd);
        }
        result
    }

    #[inline]
    fn steps(&mut self, ops: &[Op], item: &mut Item, tally: &mut Tally, outermost: bool) -> Result<(), Trouble> {
        for (number, op) in ops.iter().enumerate() {
            if let Act::Share(percent, number, inner) = &op.act {
                if below(mix(item.identity ^ mix(self.task.program.seed ^ *number)), 100) < u64::from(*percent) {
                    self.steps(inner, item, tally, false)?;
                }
                continue;
            }
            let answer = self.act(op, item, tally);
            match answer {
                Ok(()) => tally.fold(mix(item.identity ^ salt(op.histogram) ^ item.bytes)),
                Err(Errno::NOENT) if self.task.follows() && outermost && number == 0 => {
                    tally.skip();
                    return Err(Trouble::Gone);
                }
                Err(errno) => {
                    tally.skip();
                    let file = self.path_of(item);
                    let offset = matches!(op.act, Act::Read | Act::Write).then_some(item.bytes);
                    tally.fail(op.name, file, offset, errno);
                    return Err(Trouble::Failed);
                }
            }
        }
        Ok(())
    }

    fn path_of(&self, item: &Item) -> String {
        let mut directory = Name::new();
        self.files.directory_name(item.directory, &mut directory);
        let parts = [self.files.base.clone(), directory.text(), item.name.text()];
        parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join("/")
    }

    #[inline]
    fn place(&mut self, item: &Item) -> Answer<Fd> {
        match item.moved_to {
            Some(fd) => Ok(fd),
            None => self.dirs.get(item.directory, &self.files),
        }
    }

    #[inline]
    fn act(&mut self, op: &Op, item: &mut Item, tally: &mut Tally) -> Answer<()> {
        match &op.act {
            Act::Open { flags, anew } => {
                let place = self.place(item)?;
                item.fd = Some(self.open(place, item, *flags, tally)?);
                if *anew {
                    item.generation = item.version;
                }
            }
            Act::Read if self.verify => return self.read_and_check(op, item, tally),
            Act::Read => self.read(item, tally)?,
            Act::Write => self.write(item, tally)?,
            Act::Close => self.close(item, tally)?,
            Act::Unlink => sys::unlink(self.place(item)?, item.name.c())?,
            Act::Stat => {
                let status = sys::stat(self.place(item)?, item.name.c())?;
                std::hint::black_box(status.size);
            }
            Act::LookUp => sys::look_up(self.place(item)?, item.name.c())?,
            other => self.rare(other, item, tally)?,
        }
        tally.lap(op.histogram);
        Ok(())
    }

    #[inline]
    fn open(&mut self, place: Fd, item: &mut Item, flags: i32, tally: &mut Tally) -> Answer<Fd> {
        let flags = if self.direct_refused { flags & !libc::O_DIRECT } else { flags };
        match sys::open(place, item.name.c(), flags, 0o600) {
            Err(Errno::INVAL) if flags & libc::O_DIRECT != 0 => {
                self.direct_refused = true;
                tally.remark("the filesystem refused O_DIRECT; files went through the page cache".into());
                self.open(place, item, flags, tally)
            }
            answer => {
                item.direct = flags & libc::O_DIRECT != 0;
                item.bytes = 0;
                answer
            }
        }
    }

    /// Reads to the end. A short read is the end of a regular file, so no further call follows.
    #[inline]
    fn read(&mut self, item: &mut Item, tally: &mut Tally) -> Answer<()> {
        let fd = item.fd.ok_or(Errno::BADF)?;
        item.bytes = 0;
        loop {
            let n = sys::read(fd, &mut self.buffer)?;
            item.bytes += n as u64;
            tally.read(n);
            if n < self.buffer.len() {
                return Ok(());
            }
        }
    }

    /// As above; the data is checked outside the latency, which is that of each call.
    fn read_and_check(&mut self, op: &Op, item: &mut Item, tally: &mut Tally) -> Answer<()> {
        let fd = item.fd.ok_or(Errno::BADF)?;
        item.bytes = 0;
        loop {
            let n = sys::read(fd, &mut self.buffer)?;
            tally.lap(op.histogram);
            let path = || self.files.path(item.index);
            check_grains(&self.buffer[..n], item.bytes, [item.writer, item.identity], &mut self.checker, tally, &path);
            tally.skip();
            item.bytes += n as u64;
            tally.read(n);
            if n < self.buffer.len() {
                return Ok(());
            }
        }
    }

    #[inline]
    fn write(&mut self, item: &mut Item, tally: &mut Tally) -> Answer<()> {
        let fd = item.fd.ok_or(Errno::BADF)?;
        let size = self.size_of(item);
        let source = Source { file: item.writer, version: item.version };
        item.bytes = 0;
        while item.bytes < size {
            let mut length = (size - item.bytes).min(self.buffer.len() as u64) as usize;
            if item.direct && !length.is_multiple_of(DIRECT_GRAIN) {
                if length > DIRECT_GRAIN {
                    length -= length % DIRECT_GRAIN;
                } else {
                    // The end of a file is no whole block; only this part goes through the page cache.
                    sys::set_direct(fd, false)?;
                    item.direct = false;
                }
            }
            self.generator.fill(&mut self.buffer[..length], source, item.bytes);
            let mut done = 0;
            while done < length {
                let n = sys::write(fd, &self.buffer[done..length])?;
                if n == 0 {
                    return Err(Errno::NOSPC);
                }
                done += n;
                item.bytes += n as u64;
                tally.written(n);
            }
        }
        Ok(())
    }

    #[inline]
    fn close(&mut self, item: &mut Item, tally: &mut Tally) -> Answer<()> {
        let fd = item.fd.ok_or(Errno::BADF)?;
        if self.io.fsync_on_close || self.io.sync_every.is_some() {
            self.sync_if_due(fd, tally)?;
        }
        item.fd = None;
        sys::close(fd)
    }

    fn sync_if_due(&mut self, fd: Fd, tally: &mut Tally) -> Answer<()> {
        self.since_sync += 1;
        let call = match self.io.sync_every {
            Some((call, every)) if self.since_sync >= every => call,
            _ if self.io.fsync_on_close => SyncCall::Fsync,
            _ => return Ok(()),
        };
        self.since_sync = 0;
        tally.skip();
        self.sync(call, Some(fd))?;
        tally.lap(self.ops.sync);
        Ok(())
    }

    fn sync(&self, call: SyncCall, fd: Option<Fd>) -> Answer<()> {
        match call {
            SyncCall::Fsync => sys::fsync(fd.ok_or(Errno::BADF)?),
            SyncCall::Fdatasync => sys::fdatasync(fd.ok_or(Errno::BADF)?),
            SyncCall::Syncfs => sys::syncfs(self.task.root),
        }
    }

    fn target(&mut self, number: usize) -> Answer<Fd> {
        let (path, fd) = &mut self.targets[number];
        if let Some(fd) = fd {
            return Ok(*fd);
        }
        let opened = sys::open_directory(self.task.root, &crate::dirs::path(path))?;
        *fd = Some(opened);
        Ok(opened)
    }
}

/// Granularity of direct I/O in bytes: the largest logical block of disks.
pub const DIRECT_GRAIN: usize = 4096;

/// Checks every grain read from `offset` on; of a truncated grain the part that was read. Content of either of the two files is valid.
pub fn check_grains(
    bytes: &[u8],
    offset: u64,
    files: [u64; 2],
    checker: &mut Generator,
    tally: &mut Tally,
    path: &dyn Fn() -> String,
) {
    let grain = crate::content::GRAIN;
    let skip = (grain - (offset % grain as u64) as usize) % grain;
    for (number, block) in bytes.get(skip..).unwrap_or_default().chunks(grain).enumerate() {
        let at = offset + (skip + number * grain) as u64;
        let wrong = crate::stamp::check(block, files, at / grain as u64, checker).err();
        tally.checked(wrong.map(|w| format!("{} at offset {at}: {w}", path())));
    }
}
