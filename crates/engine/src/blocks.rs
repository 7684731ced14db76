//! Work on blocks of files or of the raw device, by system calls.
//! In: a worker's task. Out: its tally.
//! Other ways to move the same blocks (`stdio`, `uring`, `mapped`) use the state prepared here.

use crate::content::{GRAIN, Generator, Source};
use crate::dirs::Directories;
use crate::files::check_grains;
use crate::hash::{below, mix, mix_all};
use crate::names::{Files, Name};
use crate::ops::{self, Act, Op, Ops, salt};
use crate::order::Course;
use crate::pace::Pacer;
use crate::region::{Buffer, WRITE_SKEW, read_skew};
use crate::space::{Place, Space};
use crate::sys::{self, Answer, Errno, Fd};
use crate::tally::Tally;
use crate::worker::{Task, version};
use workload::program::{Content, Io, Order, Step, SyncCall, any, has};

/// Most files that one worker keeps open.
const OPEN_FILES: u64 = 1024;

/// Block size from which a separate clock reading excludes the generation of data from the write's latency.
pub const LARGE_FILL: usize = 4096;

/// What work on blocks needs besides the tally.
pub struct BlockWork<'a> {
    /// The task.
    pub task: &'a Task<'a>,
    /// The operations.
    pub ops: Ops,
    /// Positions of the blocks.
    pub space: Space,
    /// The order of this worker's blocks.
    pub course: Course,
    /// One block.
    pub buffer: Buffer,
    /// Generates the data to write.
    pub generator: Generator,
    /// Bytes of a block.
    pub block: u64,
    /// Settings.
    pub io: Io,
    /// The files; None on a device.
    pub files: Option<Files>,
    dirs: Option<Directories>,
    open: Vec<Option<(u64, Fd)>>,
    flags: i32,
    /// Flags of each read and write call.
    pub call_flags: i32,
    truncate_first: bool,
    checker: Generator,
    verify: bool,
    modifies: bool,
    /// Whether any step writes.
    pub writes: bool,
    since_sync: u64,
    direct_refused: bool,
}

impl<'a> BlockWork<'a> {
    /// Work on the blocks of files.
    pub fn of_files(task: &'a Task<'a>, fileset: usize, block: u64, length: Option<u64>) -> Result<Self, String> {
        let files = task.files(fileset);
        let space = Space::of_files(&files, block, length)?;
        let course = task.course(space.blocks(), fileset);
        BlockWork::new(task, Some(files), (space, course, block), task.program.filesets[fileset].content)
    }

    /// Work on the first `length` bytes of the device.
    pub fn of_device(task: &'a Task<'a>, block: u64, length: u64) -> Result<Self, String> {
        let space = Space::of_device(block, length);
        let course = task.course_shared(space.blocks(), task.share_of_all());
        let mut work = BlockWork::new(task, None, (space, course, block), Content::default())?;
        work.open_device()?;
        Ok(work)
    }

    /// Prepares everything that is possible before the clock starts.
    fn new(
        task: &'a Task<'a>,
        files: Option<Files>,
        (space, course, block): (Space, Course, u64),
        content: Content,
    ) -> Result<Self, String> {
        let group = task.group();
        let writes = has(&group.steps, &Step::Write);
        let skew = match (group.io.direct, writes) {
            (true, _) => 0,
            (false, true) => WRITE_SKEW,
            (false, false) => read_skew(block),
        };
        let buffer =
            Buffer::skewed(block as usize, skew).map_err(|e| format!("no memory for a block of {block} bytes: {e}"))?;
        Ok(BlockWork {
            ops: Ops::new(group),
            dirs: files.as_ref().map(|f| Directories::new(task.root, f)),
            open: vec![None; space.files().clamp(1, OPEN_FILES) as usize],
            flags: open_flags(group),
            call_flags: ops::call_flags(&group.io),
            truncate_first: group.io.create && truncates_while_working(task.program, group),
            generator: Generator::new(task.program.seed, content),
            checker: Generator::new(task.program.seed, content),
            verify: content.verify,
            writes,
            modifies: has(&group.steps, &Step::Modify),
            io: group.io,
            since_sync: 0,
            direct_refused: false,
            task,
            space,
            course,
            buffer,
            block,
            files,
        })
    }

    fn open_device(&mut self) -> Result<(), String> {
        let device = self.task.program.device.as_ref().ok_or("the program names no device")?;
        let name = crate::dirs::path(&device.to_string_lossy());
        let fd = sys::open(libc::AT_FDCWD, &name, self.flags, 0)
            .map_err(|e| format!("opening {} for reading: {e}", device.display()))?;
        self.open[0] = Some((0, fd));
        Ok(())
    }

    /// Processes the blocks in order, one call for each step.
    pub fn by_calls(&mut self, tally: &mut Tally, pacer: &mut Pacer) {
        let list = std::mem::take(&mut self.ops.list);
        let mut position = self.course.from;
        let mut more = self.course.from < self.course.to;
        while more && tally.running() {
            let Some(due) = pacer.wait(tally) else { break };
            let start = tally.now;
            let place = self.space.place(self.course.item(position));
            if self.steps(&list, place, position, tally) {
                if let Some(histogram) = self.ops.item {
                    tally.span(histogram, start);
                }
                pacer.done(tally, self.ops.response, due);
                tally.items(1);
            }
            match self.course.after(position, self.task.repeats()) {
                Some(next) => position = next,
                None => more = false,
            }
        }
        self.ops.list = list;
        self.close_all(tally);
    }

    /// Carries out the steps on one block; false if one failed.
    #[inline]
    fn steps(&mut self, list: &[Op], place: Place, position: u64, tally: &mut Tally) -> bool {
        for op in list {
            if let Act::Share(percent, number, inner) = &op.act {
                let chosen = mix_all(&[self.task.program.seed, *number, position]);
                if below(chosen, 100) < u64::from(*percent) && !self.steps(inner, place, position, tally) {
                    return false;
                }
                continue;
            }
            if self.io.read_percent.is_some() && !self.is_chosen(&op.act, position) {
                continue;
            }
            if let Err(errno) = self.act(op, place, position, tally) {
                tally.skip();
                tally.fail(op.name, self.path(place.file), Some(place.offset), errno);
                return false;
            }
        }
        true
    }

    /// Whether an operation is chosen at this position of a mix of reads and writes.
    pub fn is_chosen(&self, act: &Act, position: u64) -> bool {
        let reads = below(mix_all(&[self.task.program.seed, 0x3c5, position]), 100)
            < u64::from(self.io.read_percent.unwrap_or(100));
        match act {
            Act::Read => reads,
            Act::Write | Act::Modify => !reads,
            _ => true,
        }
    }

    #[inline]
    fn act(&mut self, op: &Op, place: Place, position: u64, tally: &mut Tally) -> Answer<()> {
        match op.act {
            Act::Read => self.read(place, tally)?,
            Act::Write => self.write(place, position, tally)?,
            Act::Modify => {
                self.modify();
                return Ok(());
            }
            Act::Sync(call) => {
                let fd = self.fd(place, tally)?;
                self.sync(call, fd)?;
            }
            Act::Allocate { mode } => sys::allocate(self.fd(place, tally)?, mode, place.offset, place.length as u64)?,
            _ => return Err(Errno::INVAL),
        }
        tally.lap(op.histogram);
        self.fold(op.histogram, place, tally);
        if self.verify && matches!(op.act, Act::Read) {
            self.check_buffer(place, tally);
            tally.skip();
        }
        self.sync_if_due(place, tally)
    }

    /// Adds one block's operation to the hash of the work.
    #[inline]
    pub fn fold(&self, histogram: usize, place: Place, tally: &mut Tally) {
        let what = (place.file << 40) ^ place.offset ^ ((place.length as u64) << 20);
        tally.fold(mix(what ^ salt(histogram)));
    }

    #[inline]
    fn read(&mut self, place: Place, tally: &mut Tally) -> Answer<()> {
        let fd = self.fd(place, tally)?;
        let mut done = 0;
        while done < place.length {
            let (buffer, at) = (&mut self.buffer[done..place.length], place.offset + done as u64);
            let n = match self.call_flags {
                0 => sys::read_at(fd, buffer, at)?,
                flags => sys::read_at_flagged(fd, buffer, at, flags & !ops::RWF_ATOMIC)?,
            };
            if n == 0 {
                // The file is shorter than what was written to it: lost data, not a regular end of file.
                return Err(Errno::NODATA);
            }
            done += n;
        }
        tally.read(done);
        Ok(())
    }

    /// Checks the block that was read into the buffer.
    pub fn check_buffer(&mut self, place: Place, tally: &mut Tally) {
        if !self.verify {
            return;
        }
        if let Some(files) = &self.files {
            let path = || files.path(place.file);
            let bytes = &self.buffer[..place.length];
            check_grains(bytes, place.offset, files.contents(place.file), &mut self.checker, tally, &path);
        }
    }

    /// Checks data that was read, if its content carries stamps.
    pub fn check(&mut self, bytes: &[u8], place: Place, tally: &mut Tally) {
        if let (true, Some(files)) = (self.verify, &self.files) {
            let path = || files.path(place.file);
            check_grains(bytes, place.offset, files.contents(place.file), &mut self.checker, tally, &path);
        }
    }

    /// The content that a block must have.
    pub fn source(&self, place: Place, position: u64) -> Source {
        let file = self.files.as_ref().map_or(0, |f| f.writer(place.file));
        // Blocks that split a grain share its version, so that the grain is consistent.
        let position = if self.block.is_multiple_of(GRAIN as u64) { position } else { 0 };
        Source { file, version: version(self.task.phase, self.task.pass, position) }
    }

    #[inline]
    fn write(&mut self, place: Place, position: u64, tally: &mut Tally) -> Answer<()> {
        if self.make_block(place, position) {
            tally.skip();
        }
        let fd = self.fd(place, tally)?;
        let mut done = 0;
        while done < place.length {
            let (buffer, at) = (&self.buffer[done..place.length], place.offset + done as u64);
            let n = match self.call_flags {
                0 => sys::write_at(fd, buffer, at)?,
                flags => sys::write_at_flagged(fd, buffer, at, flags)?,
            };
            if n == 0 {
                return Err(Errno::NOSPC);
            }
            done += n;
        }
        tally.written(done);
        Ok(())
    }

    /// Generates a block's content in the buffer; true if that took long enough to be excluded from the latency.
    #[inline]
    pub fn make_block(&mut self, place: Place, position: u64) -> bool {
        // A block that was read and modified is written back, unless stamps require verifiable data.
        if self.modifies && !self.verify {
            return false;
        }
        let source = self.source(place, position);
        self.generator.fill(&mut self.buffer[..place.length], source, place.offset);
        place.length >= LARGE_FILL
    }

    /// Changes one byte of the block in the buffer.
    pub fn modify(&mut self) {
        let byte = &mut self.buffer[0];
        *byte = byte.wrapping_add(1);
    }

    /// The descriptor of a block's file, opened on first use.
    #[inline]
    pub fn fd(&mut self, place: Place, tally: &mut Tally) -> Answer<Fd> {
        let slot = if place.file == 0 { 0 } else { (place.file % self.open.len() as u64) as usize };
        match self.open[slot] {
            Some((file, fd)) if file == place.file => Ok(fd),
            _ => self.open_file(place, slot, tally),
        }
    }

    #[cold]
    fn open_file(&mut self, place: Place, slot: usize, tally: &mut Tally) -> Answer<Fd> {
        if let Some((_, old)) = self.open[slot].take() {
            self.close(old, tally)?;
        }
        let (Some(files), Some(dirs)) = (&self.files, &mut self.dirs) else { return Err(Errno::BADF) };
        let mut name = Name::new();
        files.name(place.file, &mut name);
        let directory = dirs.get(files.directory_of(place.file, &name), files)?;
        let truncate = if self.truncate_first && place.offset == 0 { libc::O_TRUNC } else { 0 };
        let direct = if self.direct_refused { libc::O_DIRECT } else { 0 };
        let mut flags = (self.flags | truncate) & !direct;
        let mut opened = sys::open(directory, name.c(), flags, 0o600);
        if opened == Err(Errno::INVAL) && flags & libc::O_DIRECT != 0 {
            self.direct_refused = true;
            flags &= !libc::O_DIRECT;
            tally.remark("the filesystem refused O_DIRECT; blocks went through the page cache".into());
            opened = sys::open(directory, name.c(), flags, 0o600);
        }
        let fd = opened?;
        if flags & libc::O_DIRECT != 0 && !self.files_are_whole(place.file) {
            tally.remark(format!(
                "{} does not end at a block boundary, so O_DIRECT cannot write its end",
                files.path(place.file)
            ));
        }
        self.open[slot] = Some((place.file, fd));
        Ok(fd)
    }

    fn files_are_whole(&self, file: u64) -> bool {
        self.files.as_ref().is_none_or(|f| f.size(file, 0).is_multiple_of(512))
    }

    fn close(&mut self, fd: Fd, tally: &mut Tally) -> Answer<()> {
        if self.io.fsync_on_close {
            tally.skip();
            sys::fsync(fd)?;
            tally.lap(self.ops.sync);
        }
        sys::close(fd)
    }

    /// Closes all open files, with the clock running.
    pub fn close_all(&mut self, tally: &mut Tally) {
        for slot in 0..self.open.len() {
            if let Some((file, fd)) = self.open[slot].take()
                && let Err(errno) = self.close(fd, tally)
            {
                tally.fail("close", self.path(file), None, errno);
            }
        }
        tally.skip();
    }

    /// Syncs between operations if the program requests it.
    #[inline]
    pub fn sync_if_due(&mut self, place: Place, tally: &mut Tally) -> Answer<()> {
        let Some((call, every)) = self.io.sync_every else { return Ok(()) };
        self.since_sync += 1;
        if self.since_sync < every {
            return Ok(());
        }
        self.since_sync = 0;
        let fd = self.fd(place, tally)?;
        self.sync(call, fd)?;
        tally.lap(self.ops.sync);
        Ok(())
    }

    fn sync(&self, call: SyncCall, fd: Fd) -> Answer<()> {
        match call {
            SyncCall::Fsync => sys::fsync(fd),
            SyncCall::Fdatasync => sys::fdatasync(fd),
            SyncCall::Syncfs => sys::syncfs(self.task.root),
        }
    }

    /// Path of a file below the root, or of the device, for messages.
    pub fn path(&self, file: u64) -> String {
        match (&self.files, &self.task.program.device) {
            (Some(files), _) => files.path(file),
            (None, Some(device)) => device.display().to_string(),
            (None, None) => String::new(),
        }
    }
}

/// Flags for opening a group's files.
fn open_flags(group: &workload::program::Group) -> i32 {
    let reads = has(&group.steps, &Step::Read);
    let changes = |step: &Step| matches!(step, Step::Write | Step::Fallocate | Step::PunchHole);
    let writes = any(&group.steps, &changes);
    let mapped = group.io.engine == workload::program::Engine::Mmap;
    let access = match (reads || mapped, writes) {
        (true, true) => libc::O_RDWR,
        (false, true) => libc::O_WRONLY,
        _ => libc::O_RDONLY,
    };
    access | ops::flags(&group.io, writes) | if group.io.create { libc::O_CREAT } else { 0 }
}

/// Whether the worker truncates a file at its first block, with the clock running. Otherwise that would destroy data of another worker, or
/// of an earlier round, and files are truncated before the clock starts.
pub fn truncates_while_working(program: &workload::program::Program, group: &workload::program::Group) -> bool {
    let Some(fileset) = group.over.fileset() else { return false };
    let alone = group.workers == 1 || program.filesets[fileset].per_worker;
    let once = group.count.is_none() && group.rate.is_none();
    alone && once && group.order == Order::InOrder && group.io.engine != workload::program::Engine::Mmap
}
