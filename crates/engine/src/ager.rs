//! The ager: carries out a history in a directory, so that the filesystem is aged.
//! In: `workload::ageing::Ageing`. Out: `workload::ageing::Aged`, with progress on the way.
//! The order of the history never changes: an operation that runs out of space is skipped and counted, and its file is removed.

use crate::clock::kernel_ns;
use crate::content::{Generator, Source};
use crate::dirs::{self, exists_is_fine};
use crate::hash::mix;
use crate::history::{Life, Step};
use crate::names::Name;
use crate::places::Places;
use crate::process::cpu_of_process;
use crate::region::{Buffer, WRITE_SKEW};
use crate::survey::Scores;
use crate::sys::{self, Answer, Errno, Fd};
use crate::{durable, extents};
use std::collections::HashMap;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::time::Duration;
use workload::ageing::{Aged, Ageing, FOLDER};
use workload::message::{Message as _, Reply};
use workload::program::Content;

/// Bytes of one write.
const CHUNK: usize = 1 << 20;

/// Most directories kept open.
const HANDLES: usize = 512;

/// Most operations between two write-backs, however few bytes they wrote.
const SYNC_OPERATIONS: u64 = 5_000;

/// When space runs out, everything is written back and the operation is retried, at most once in this many operations.
const SPACE_PATIENCE: u64 = 512;

/// Checks of the layout during churn.
const CHECKS: u64 = 8;

/// Files whose extents are read in each check.
const CHECKED: usize = 2_000;

/// Change between two checks below which the layout has converged.
const CONVERGED: f64 = 0.1;

/// Carries out a history.
pub fn age(asked: &Ageing, output: &mut dyn Write) -> io::Result<Reply> {
    let started = kernel_ns();
    let cpu = || cpu_of_process().user_ns + cpu_of_process().system_ns;
    let cpu_before = cpu();
    let refused = |reason: String| Ok(Reply::Failed { phase: 0, partial: None, reason, killed: false });
    let root = match sys::open_root(&asked.root) {
        Ok(root) => root,
        Err(reason) => return refused(format!("ageing: {reason}")),
    };
    let mut ager = match Ager::new(asked, root.as_raw_fd(), started) {
        Ok(ager) => ager,
        Err(reason) => return refused(format!("ageing {}: {reason}", asked.root.display())),
    };
    let lived = ager.live(output)?;
    let lived = lived.and_then(|()| ager.write_back());
    ager.handles.close();
    let mut aged = ager.aged;
    aged.elapsed_ns = kernel_ns() - started;
    aged.cpu_ns = cpu().saturating_sub(cpu_before);
    match lived {
        Ok(()) => Ok(Reply::Aged(Box::new(aged))),
        Err(reason) => refused(format!("ageing {}: {reason}", asked.root.display())),
    }
}

struct Ager<'a> {
    asked: &'a Ageing,
    places: Places,
    handles: Handles,
    generator: Generator,
    buffer: Buffer,
    aged: Aged,
    started: u64,
    unsynced: (u64, u64),
    shown: u64,
    /// Number of the last operation that ran out of space.
    no_space_last: Option<u64>,
}

impl<'a> Ager<'a> {
    fn new(asked: &'a Ageing, root: Fd, started: u64) -> Result<Ager<'a>, String> {
        exists_is_fine(sys::mkdir(root, &dirs::path(FOLDER))).map_err(|e| format!("creating {FOLDER}: {e}"))?;
        let base = sys::open_directory(root, &dirs::path(FOLDER)).map_err(|e| format!("opening {FOLDER}: {e}"))?;
        Ok(Ager {
            asked,
            places: Places::new(&asked.history),
            handles: Handles { base, open: HashMap::new() },
            generator: Generator::new(asked.history.seed, Content::default()),
            buffer: Buffer::skewed(CHUNK, WRITE_SKEW).map_err(|e| format!("no memory for a buffer: {e}"))?,
            aged: Aged::default(),
            started,
            unsynced: (0, 0),
            shown: started,
            no_space_last: None,
        })
    }

    fn live(&mut self, output: &mut dyn Write) -> io::Result<Result<(), String>> {
        let history = &self.asked.history;
        let mut life = Life::new(history);
        let expected = history.filled + history.churn.as_ref().map_or(0, |churn| churn.bytes);
        let every = history.churn.as_ref().map_or(u64::MAX, |churn| (churn.bytes / CHECKS).max(1));
        let mut next_check = every;
        while let Some(step) = life.step() {
            if history.rewritten {
                continue;
            }
            if let Err(reason) = self.one(step, life.held(), expected, output)? {
                return Ok(Err(reason));
            }
            if life.churned() >= next_check {
                next_check += every;
                if let Err(reason) = self.check(&mut life) {
                    return Ok(Err(reason));
                }
            }
        }
        (self.aged.files, self.aged.bytes) = (life.files(), life.bytes());
        if history.rewritten {
            let expected = self.aged.bytes;
            let mut held = 0;
            let places = self.places;
            for step in life.into_rewriting(&places) {
                held += step.bytes();
                if let Err(reason) = self.one(step, held, expected, output)? {
                    return Ok(Err(reason));
                }
            }
        }
        Ok(Ok(()))
    }

    /// One operation, followed by write-back, time limit and progress.
    fn one(&mut self, step: Step, held: u64, expected: u64, output: &mut dyn Write) -> io::Result<Result<(), String>> {
        if let Err(reason) = self.perform(step, held) {
            return Ok(Err(reason));
        }
        self.aged.operations += 1;
        self.aged.history_hash = mix(self.aged.history_hash ^ step.hash());
        self.unsynced.0 += 1;
        if (self.unsynced.1 >= self.asked.sync_bytes || self.unsynced.0 >= SYNC_OPERATIONS)
            && let Err(reason) = self.write_back()
        {
            return Ok(Err(reason));
        }
        let now = kernel_ns();
        if now - self.started > self.asked.time_limit.saturating_mul(1_000_000_000) {
            return Ok(Err(format!("it ran past its time limit of {} s", self.asked.time_limit)));
        }
        if now - self.shown >= 1_000_000_000 {
            self.shown = now;
            let (items, bytes) = (self.aged.written, self.aged.written);
            Reply::Progress { phase: 0, items, of: Some(expected), bytes }.send(output)?;
        }
        Ok(Ok(()))
    }

    fn write_back(&mut self) -> Result<(), String> {
        self.unsynced = (0, 0);
        let left = Duration::from_secs(self.asked.time_limit);
        match durable::make(&self.asked.durable, self.handles.base, left) {
            // A full filesystem may also fail here; data that it could not write is missing, and counted as lost.
            Err(undone) if undone.errno == Some(Errno::NOSPC) => {
                self.aged.no_space += 1;
                Ok(())
            }
            other => other.map_err(|undone| format!("writing back: {}", undone.reason)),
        }
    }

    /// Carries out a step, or counts why it is skipped.
    fn perform(&mut self, step: Step, held: u64) -> Result<(), String> {
        let mut answer = self.act(step);
        if answer == Err(Errno::NOSPC) && self.may_try_again() {
            // Space of deleted files may only become free after the write-back.
            self.write_back()?;
            if matches!(step, Step::Create { .. }) {
                let _ = self.remove(file_of(step));
            }
            answer = self.act(step);
        }
        match answer {
            Ok(()) => {
                self.aged.written += step.bytes();
                self.unsynced.1 += step.bytes();
                Ok(())
            }
            Err(Errno::NOSPC | Errno::DQUOT) => {
                self.aged.no_space += 1;
                self.aged.no_space_at.get_or_insert(held);
                self.no_space_last = Some(self.aged.operations);
                // Removes the file, which frees space; later steps of the history on it are then skipped, too.
                match self.remove(file_of(step)) {
                    Ok(()) | Err(Errno::NOENT | Errno::NOSPC | Errno::DQUOT) => Ok(()),
                    Err(e) => Err(format!("removing a file after the space ran out: {e}")),
                }
            }
            Err(Errno::NOENT) if self.aged.no_space > 0 => {
                self.aged.skipped += 1;
                Ok(())
            }
            Err(e) => Err(format!("{step:?}: {e}")),
        }
    }

    fn may_try_again(&self) -> bool {
        self.no_space_last.is_none_or(|last| self.aged.operations >= last + SPACE_PATIENCE)
    }

    fn act(&mut self, step: Step) -> Answer<()> {
        let mut name = Name::new();
        let file = file_of(step);
        self.places.file_name(file, &mut name);
        let directory = self.handles.get(self.places.directory(file), &self.places)?;
        match step {
            Step::Create { bytes, .. } => {
                let fd = sys::open(directory, name.c(), libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY, 0o644)?;
                self.write_and_close(fd, file, 0, bytes)
            }
            Step::Append { from, bytes, .. } | Step::Overwrite { from, bytes, .. } => {
                let fd = sys::open(directory, name.c(), libc::O_WRONLY, 0)?;
                self.write_and_close(fd, file, from, bytes)
            }
            Step::Truncate { bytes, .. } => {
                let fd = sys::open(directory, name.c(), libc::O_WRONLY, 0)?;
                let answer = sys::truncate(fd, bytes);
                sys::close(fd).and(answer)
            }
            Step::Rename { to, .. } => {
                let mut new = Name::new();
                self.places.file_name(to, &mut new);
                // Opening the second may close the first if many are open, so both are fetched again.
                self.handles.get(self.places.directory(to), &self.places)?;
                let from = self.handles.get(self.places.directory(file), &self.places)?;
                let into = self.handles.get(self.places.directory(to), &self.places)?;
                sys::rename(from, name.c(), into, new.c())
            }
            Step::Delete { .. } => sys::unlink(directory, name.c()),
        }
    }

    fn remove(&mut self, file: u32) -> Answer<()> {
        let mut name = Name::new();
        self.places.file_name(file, &mut name);
        let directory = self.handles.get(self.places.directory(file), &self.places)?;
        sys::unlink(directory, name.c())
    }

    fn write_and_close(&mut self, fd: Fd, file: u32, from: u64, bytes: u64) -> Answer<()> {
        let source = Source { file: mix(u64::from(file)), version: self.aged.operations + 1 };
        let mut done = 0;
        let mut answer = Ok(());
        while done < bytes && answer.is_ok() {
            let length = (bytes - done).min(CHUNK as u64) as usize;
            self.generator.fill(&mut self.buffer[..length], source, from + done);
            let mut within = 0;
            while within < length {
                match sys::write_at(fd, &self.buffer[within..length], from + done + within as u64) {
                    Ok(0) => answer = Err(Errno::NOSPC),
                    Ok(n) => {
                        within += n;
                        continue;
                    }
                    Err(e) => answer = Err(e),
                }
                break;
            }
            done += length as u64;
        }
        sys::close(fd).and(answer)
    }

    /// Checks how the layout has changed; ends the churn if it has converged and the history ends then.
    fn check(&mut self, life: &mut Life) -> Result<(), String> {
        self.write_back()?;
        let mut scores = Scores::default();
        let files: Vec<u32> = life.sample(CHECKED).collect();
        for file in files {
            let mut name = Name::new();
            self.places.file_name(file, &mut name);
            let fd = self
                .handles
                .get(self.places.directory(file), &self.places)
                .and_then(|directory| sys::open(directory, name.c(), libc::O_RDONLY, 0));
            // Files that ran out of space do not exist.
            let Ok(fd) = fd else { continue };
            let found = sys::stat_open(fd).and_then(|status| Ok((status.size, extents::of(fd)?.pieces)));
            let _ = sys::close(fd);
            match found {
                Ok((size, pieces)) => scores.add(size, pieces),
                // The filesystem does not report extents; the survey reports that.
                Err(_) => return Ok(()),
            }
        }
        let Some(now) = scores.extents_per_file() else { return Ok(()) };
        let before = self.aged.extents.last().copied();
        self.aged.extents.push(now);
        let converged = before.is_some_and(|before| (now - before).abs() <= CONVERGED * before);
        if converged && self.aged.converged_after.is_none() {
            self.aged.converged_after = Some(life.churned());
            if self.asked.history.churn.as_ref().is_some_and(|churn| churn.until_converged) {
                life.end_churn();
            }
        } else if !converged {
            self.aged.converged_after = None;
        }
        Ok(())
    }
}

fn file_of(step: Step) -> u32 {
    match step {
        Step::Create { file, .. }
        | Step::Append { file, .. }
        | Step::Overwrite { file, .. }
        | Step::Truncate { file, .. }
        | Step::Rename { file, .. }
        | Step::Delete { file } => file,
    }
}

/// Open directories.
struct Handles {
    base: Fd,
    open: HashMap<u32, Fd>,
}

impl Handles {
    /// The handle of a directory; creates it and its parents if they are missing.
    fn get(&mut self, directory: u32, places: &Places) -> Answer<Fd> {
        if let Some(fd) = self.open.get(&directory) {
            return Ok(*fd);
        }
        if self.open.len() >= HANDLES {
            self.forget();
        }
        let above = match places.parent(directory) {
            Some(parent) => self.get(parent, places)?,
            None => self.base,
        };
        let mut name = Name::new();
        places.directory_name(directory, &mut name);
        let fd = match sys::open_directory(above, name.c()) {
            Err(Errno::NOENT) => {
                exists_is_fine(sys::mkdir(above, name.c()))?;
                sys::open_directory(above, name.c())?
            }
            other => other?,
        };
        self.open.insert(directory, fd);
        Ok(fd)
    }

    fn forget(&mut self) {
        for (_, fd) in self.open.drain() {
            let _ = sys::close(fd);
        }
    }

    fn close(&mut self) {
        self.forget();
        let _ = sys::close(self.base);
    }
}
