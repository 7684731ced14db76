//! Files and directories in listed order: readdir order, following writers, and work on directories themselves.
//! In: a worker's file work. Out: its tally.
//! Directories are divided by number, the entries of a single directory by a hash of the name.

use crate::dirs::{self, Kind, Listing};
use crate::files::{FileWork, Item, Trouble};
use crate::hash::{below, mix, mix_bytes};
use crate::names::Name;
use crate::ops::{Act, Op, salt};
use crate::pace::Pacer;
use crate::shared::Common;
use crate::sys::{self, Answer, Errno, Fd};
use crate::tally::Tally;
use std::sync::atomic::Ordering::Acquire;

/// Pause of a follower that found nothing.
const FOLLOW_PAUSE_NS: u64 = 1_000_000;

/// Result of one directory.
struct Swept {
    found: u64,
}

impl FileWork<'_> {
    /// Files in readdir order, directory by directory.
    pub fn by_readdir(&mut self, limit: u64, tally: &mut Tally, pacer: &mut Pacer) {
        let mut left = limit;
        let filled = self.files.is_by_directory() && self.task.fills(self.files.fileset);
        loop {
            for directory in self.own_directories() {
                match self.sweep(directory, &mut left, tally, pacer) {
                    Ok(_) => {}
                    // Directories were filled in order until space ran out: after the first missing one there are none.
                    Err(Errno::NOENT) if filled => {
                        tally.skip();
                        break;
                    }
                    Err(Errno::NOENT) if !self.is_in_use(directory) => tally.skip(),
                    Err(errno) => {
                        tally.skip();
                        tally.fail("readdir", self.directory_path(directory), None, errno);
                    }
                }
                if left == 0 || !tally.running() {
                    break;
                }
            }
            if !self.task.repeats() || !tally.running() {
                return;
            }
            left = limit;
            tally.skip();
        }
    }

    /// Files in readdir order, until the other groups are done and nothing is left.
    pub fn by_following(&mut self, tally: &mut Tally, pacer: &mut Pacer) {
        let mut left = u64::MAX;
        while tally.running() {
            let last = self.task.shared.common(Common::Producers).load(Acquire) == 0;
            let mut found = 0;
            for directory in self.own_directories() {
                match self.sweep(directory, &mut left, tally, pacer) {
                    Ok(swept) => found += swept.found,
                    Err(Errno::NOENT) => {}
                    Err(errno) => tally.fail("readdir", self.directory_path(directory), None, errno),
                }
            }
            if found == 0 && last {
                return;
            }
            if found == 0 {
                crate::clock::sleep_until(crate::clock::kernel_ns() + FOLLOW_PAUSE_NS);
                tally.skip();
            }
        }
    }

    /// Directories of this worker: all if it has its own, or if there is only one.
    fn own_directories(&self) -> impl Iterator<Item = u64> + use<> {
        let (count, share) = (self.files.directories(), self.task.share(self.files.fileset));
        let (step, first) = if count > 1 { (share.workers, share.worker) } else { (1, 0) };
        (first..count).step_by(step as usize)
    }

    /// Whether a directory has any files; called for missing directories.
    fn is_in_use(&mut self, directory: u64) -> bool {
        let files = &self.files;
        self.in_use.get_or_insert_with(|| files.directories_in_use())[directory as usize]
    }

    /// Whether a numbered directory of [`FileWork::on_directories`] has a file in or below it.
    fn is_numbered_in_use(&mut self, number: u64) -> bool {
        let middle = self.files.middle_directories();
        if self.files.base_holds_files() {
            return number == 0 || self.is_in_use(number);
        }
        match number.checked_sub(1) {
            None => true,
            Some(n) if n < middle => {
                let below = self.files.directories() / middle;
                (n * below..(n + 1) * below).any(|directory| self.is_in_use(directory))
            }
            Some(n) => self.is_in_use(n - middle),
        }
    }

    fn is_own(&self, name: &[u8]) -> bool {
        let share = self.task.share(self.files.fileset);
        self.files.directories() > 1 || share.workers <= 1 || below(mix(mix_bytes(name)), share.workers) == share.worker
    }

    fn directory_path(&self, directory: u64) -> String {
        let mut name = Name::new();
        self.files.directory_name(directory, &mut name);
        format!("{}/{}", self.files.base, name.text()).trim_matches('/').to_owned()
    }

    /// opendir, readdir and the steps on each entry, closedir.
    fn sweep(&mut self, directory: u64, left: &mut u64, tally: &mut Tally, pacer: &mut Pacer) -> Answer<Swept> {
        let fd = sys::open_directory(self.task.root, &dirs::path(&self.directory_path(directory)))?;
        let answer = self.sweep_open(fd, directory, left, tally, pacer);
        let _ = sys::close(fd);
        answer
    }

    fn sweep_open(
        &mut self,
        fd: Fd,
        directory: u64,
        left: &mut u64,
        tally: &mut Tally,
        pacer: &mut Pacer,
    ) -> Answer<Swept> {
        let (mut listing, mut item) = (Listing::new(), Item::new());
        let mut swept = Swept { found: 0 };
        loop {
            let more = listing.fetch(fd)?;
            tally.lap(self.ops.readdir);
            if !more {
                return Ok(swept);
            }
            while let Some((name, kind)) = listing.next() {
                if *left == 0 || !tally.running() {
                    return Ok(swept);
                }
                let is_file = match kind {
                    Kind::Directory => false,
                    Kind::Other => true,
                    Kind::Unknown => sys::stat(fd, name).is_ok_and(|s| s.mode & libc::S_IFMT != libc::S_IFDIR),
                };
                if is_file && self.is_own(name.to_bytes()) {
                    self.take_listed(name.to_bytes(), directory, &mut item);
                    swept.found += self.one_listed(&mut item, tally, pacer);
                    *left -= 1;
                }
            }
        }
    }

    /// Carries out the steps on one listed file; 1 if it existed, 0 if another worker took it.
    fn one_listed(&mut self, item: &mut Item, tally: &mut Tally, pacer: &mut Pacer) -> u64 {
        let Some(due) = pacer.wait(tally) else { return 0 };
        let start = tally.now;
        match self.perform(item, tally) {
            Ok(()) => {
                if let Some(histogram) = self.ops.item {
                    tally.span(histogram, start);
                }
                pacer.done(tally, self.ops.response, due);
                tally.items(1);
                1
            }
            Err(Trouble::Failed) => 1,
            Err(Trouble::Gone) => 0,
        }
    }

    /// Steps on directories: the base, the middle ones, and those with files.
    ///
    /// Items are numbered from the top down, so that parents are created first; rmdir goes from the bottom up.
    pub fn on_directories(&mut self, tally: &mut Tally, pacer: &mut Pacer) {
        let ops = std::mem::take(&mut self.ops.list);
        let removes = ops.iter().any(|op| matches!(op.act, Act::Rmdir));
        let count = self.directories_above() + self.files.directories();
        let course = self.task.course(count, self.files.fileset);
        let mut position = course.from;
        let mut more = course.from < course.to;
        while more && tally.running() {
            let Some(due) = pacer.wait(tally) else { break };
            let start = tally.now;
            let item = course.item(position);
            let number = if removes { count - 1 - item } else { item };
            if let Some(items) = self.one_directory(&ops, number, tally) {
                if let Some(histogram) = self.ops.item {
                    tally.span(histogram, start);
                }
                pacer.done(tally, self.ops.response, due);
                tally.items(items);
            }
            match course.after(position, self.task.repeats()) {
                Some(next) => position = next,
                None => more = false,
            }
        }
        self.ops.list = ops;
    }

    /// The base and the middle directories, unless the base is itself one of those with files.
    fn directories_above(&self) -> u64 {
        if self.files.base_holds_files() { 0 } else { 1 + self.files.middle_directories() }
    }

    /// Carries out the steps on one directory; returns the listed entries, or 1. None if a step failed.
    fn one_directory(&mut self, ops: &[Op], number: u64, tally: &mut Tally) -> Option<u64> {
        let path = self.numbered_directory(number);
        let mut items = 1;
        for op in ops {
            match self.directory_step(op, &path, tally) {
                Ok(listed) => items = listed.unwrap_or(items),
                // Never created, since no name maps to it: nothing to do, and no failure.
                Err(Errno::NOENT) if !self.is_numbered_in_use(number) => {
                    tally.skip();
                    return None;
                }
                Err(errno) => {
                    tally.skip();
                    tally.fail(op.name, path, None, errno);
                    return None;
                }
            }
            tally.lap(op.histogram);
            tally.fold(mix(mix_bytes(path.as_bytes()) ^ salt(op.histogram)));
        }
        Some(items)
    }

    fn numbered_directory(&self, number: u64) -> String {
        let mut name = Name::new();
        match (number.checked_sub(self.directories_above()), number.checked_sub(1)) {
            (Some(n), _) => self.files.directory_name(n, &mut name),
            (None, Some(n)) => self.files.middle_name(n, &mut name),
            (None, None) => {}
        }
        format!("{}/{}", self.files.base, name.text()).trim_matches('/').to_owned()
    }

    fn directory_step(&mut self, op: &Op, below_root: &str, tally: &mut Tally) -> Answer<Option<u64>> {
        let root = self.task.root;
        let path = dirs::path(below_root);
        match &op.act {
            Act::Mkdir => match sys::mkdir(root, &path) {
                Err(Errno::NOENT) => dirs::make_path(root, below_root)?,
                answer => dirs::exists_is_fine(answer)?,
            },
            Act::Rmdir => sys::rmdir(root, &path)?,
            Act::Stat => std::hint::black_box(sys::stat(root, &path).map(|_| ()))?,
            Act::LookUp => sys::look_up(root, &path)?,
            Act::Chmod => sys::chmod(root, &path, 0o755)?,
            Act::Chown => sys::chown(root, &path, sys::own_ids())?,
            Act::SyncDirectory | Act::Sync(_) => {
                let fd = sys::open_directory(root, &path)?;
                let answer = sys::fsync(fd);
                sys::close(fd)?;
                answer?;
            }
            Act::List => {
                let fd = sys::open_directory(root, &path)?;
                let answer = list_all(fd, tally);
                sys::close(fd)?;
                return answer.map(Some);
            }
            _ => return Err(Errno::INVAL),
        }
        Ok(None)
    }
}

fn list_all(fd: Fd, tally: &mut Tally) -> Answer<u64> {
    let mut listing = Listing::new();
    let mut entries = 0;
    while listing.fetch(fd)? {
        while let Some((name, _)) = listing.next() {
            entries += 1;
            tally.fold(mix_bytes(name.to_bytes()));
        }
        if !tally.running() {
            break;
        }
    }
    Ok(entries)
}
