//! The page cache of a phase's files: reads them into it, and counts their cached pages.
//! In: a program and a phase. Out: bytes read, or bytes cached. Never while a phase's clock runs.
//! Counting opens files, which loads their inodes into memory: for a fully uncached start, count, then drop caches once more.

use crate::dirs::Directories;
use crate::kinds;
use crate::names::{Files, Name};
use crate::prepare::owners;
use crate::region::Buffer;
use crate::sys::{self, Answer, Errno, Fd};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};
use workload::message::Reply;
use workload::program::{Group, Program};

/// Most files sampled when counting: if none of 300 evenly spread files is cached, at most one in a hundred of
/// all files is (3/n, with 95 % confidence).
const SAMPLE: u64 = 300;

/// Bytes of one read when warming.
const CHUNK: usize = 1 << 20;

/// Callback for each open file.
pub type Visit<'a> = dyn FnMut(Fd) -> Answer<()> + 'a;

/// Reads the files of a phase once.
pub fn warm(program: &Program, phase: usize) -> Result<Reply, String> {
    let deadline = Instant::now() + Duration::from_secs(program.limit_of(phase));
    let mut buffer = Buffer::new(CHUNK).map_err(|e| format!("no memory to read files into: {e}"))?;
    let mut bytes = 0;
    let mut read_all = |fd: Fd| {
        loop {
            let n = sys::read(fd, &mut buffer)?;
            bytes += n as u64;
            if n == 0 {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(Errno::TIMEDOUT);
            }
        }
    };
    visit_phase(program, phase, u64::MAX, &mut read_all)
        .map_err(|reason| format!("warming the files of the phase: {reason}"))?;
    Ok(Reply::Warmed { bytes })
}

/// Counts the bytes of a phase's files that are cached.
pub fn count(program: &Program, phase: usize) -> Result<Reply, String> {
    let page = sys::page_size();
    let mut pages = 0;
    let mut unknown = false;
    let mut look = |fd: Fd| {
        let answer = match sys::cached_pages(fd) {
            Err(Errno::NOSYS | Errno::PERM) => sys::stat_open(fd).and_then(|s| sys::resident_pages(fd, s.size)),
            other => other,
        };
        match answer {
            Ok(found) => pages += found,
            // The filesystem does not use the page cache, or does not report it.
            Err(_) => unknown = true,
        }
        Ok(())
    };
    let files = visit_phase(program, phase, SAMPLE, &mut look);
    let files = files.map_err(|reason| format!("counting cached pages: {reason}"))?;
    Ok(Reply::Cached { bytes: (!unknown).then_some(pages * page), files })
}

/// Visits at most `limit` files of a phase, evenly spread. Returns how many were visited.
fn visit_phase(program: &Program, phase: usize, limit: u64, visit: &mut Visit) -> Result<u64, String> {
    let root = sys::open_work(program)?;
    let mut visited = 0;
    let mut seen = Vec::new();
    for group in &program.phases[phase].groups {
        if seen.contains(&(group.over, group.first, group.count)) {
            continue;
        }
        seen.push((group.over, group.first, group.count));
        visited += kinds::of(group.over).visit(program, group, root.as_raw_fd(), limit, visit)?;
    }
    Ok(visited)
}

/// Visits files of a fileset; `whole`: all that it may draw from or list, whatever the group's range.
pub fn visit_fileset(
    program: &Program,
    group: &Group,
    (fileset, whole): (usize, bool),
    root: Fd,
    limit: u64,
    visit: &mut Visit,
) -> Result<u64, String> {
    let all = owners(program, group, fileset);
    let share = (limit / all.len().max(1) as u64).max(1);
    let mut visited = 0;
    for files in &all {
        let first = if whole { 0 } else { group.first.min(files.count) };
        let last = if whole { files.count } else { group.count.map_or(files.count, |c| (first + c).min(files.count)) };
        visited += visit_files(files, first, last, share, root, visit)?;
    }
    Ok(visited)
}

fn visit_files(files: &Files, first: u64, last: u64, limit: u64, root: Fd, visit: &mut Visit) -> Result<u64, String> {
    let count = last - first;
    let looked_at = count.min(limit);
    let mut handles = Directories::new(root, files);
    let mut name = Name::new();
    let mut visited = 0;
    for number in 0..looked_at {
        let index = first + (u128::from(number) * u128::from(count) / u128::from(looked_at)) as u64;
        files.name(index, &mut name);
        let opened = handles
            .get(files.directory_of(index, &name), files)
            .and_then(|directory| sys::open(directory, name.c(), libc::O_RDONLY, 0));
        match opened {
            // Files that the phase has yet to create cannot be cached.
            Err(Errno::NOENT) => continue,
            Err(e) => return Err(format!("opening {}: {e}", files.path(index))),
            Ok(fd) => {
                let answer = visit(fd);
                let _ = sys::close(fd);
                answer.map_err(|e| format!("reading {}: {e}", files.path(index)))?;
                visited += 1;
            }
        }
    }
    Ok(visited)
}
