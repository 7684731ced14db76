//! Sizes and space of files: largest, sparse, holes, preallocation, reflinks, attributes, ways of opening.
//! In: a folder. Out: answers, by the results of system calls and by the blocks that files really take.

use super::limit::largest;
use super::{Answer, Found};
use records::show_bytes;
use rustix::fs::{FallocateFlags, Mode, OFlags, XattrFlags};
use rustix::io::ReadWriteFlags;
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// The longest file that system calls can address.
const LONGEST: u64 = i64::MAX as u64;
/// The longest value of an extended attribute that the kernel passes on.
const LARGEST_ATTRIBUTE: u64 = 65_536;
/// Bytes that are written to observe their blocks.
const SOME: u64 = 4 << 20;
/// How much later a filesystem may count its blocks: the longest time between two transaction groups of ZFS, and some more.
const LATER: Duration = Duration::from_secs(7);
/// Alignment of direct I/O; no disk has larger sectors.
const ALIGNMENT: usize = 4096;

pub(super) fn probe(root: &Path, found: &mut Found) {
    found.put("file_size", or_unknown(file_size(root)));
    found.put("sparse", or_unknown(sparse(root)));
    found.put("punch", or_unknown(punch(root)));
    found.put("preallocate", or_unknown(preallocate(root)));
    found.put("truncate", or_unknown(truncate(root)));
    found.put("reflink", or_unknown(reflink(root)));
    found.put("clone_fsync", or_unknown(clone_fsync(root)));
    found.put("copy_range", or_unknown(copy_range(root)));
    found.put("xattr", attribute(root));
    found.put("acl", acl(root));
    found.put("direct", direct(root));
    found.put("atomic_writes", or_unknown(atomic(root)));
    found.put("uncached", or_unknown(uncached(root)));
    let open = rustix::fs::open(root, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
    found.put("tmpfile", Answer::of(open, "opening a file without a name"));
}

/// An error of the test is not an answer.
fn or_unknown(tried: std::io::Result<Answer>) -> Answer {
    tried.unwrap_or_else(|error| Answer::unknown(format!("the test failed: {error}")))
}

fn fresh(root: &Path, name: &str) -> std::io::Result<File> {
    File::options().read(true).write(true).create(true).truncate(true).open(root.join(name))
}

/// Bytes of blocks that a file takes once everything is written.
fn taken(file: &File) -> std::io::Result<u64> {
    file.sync_all()?;
    Ok(file.metadata()?.blocks() * 512)
}

/// The count once it is final, else the last one. Some filesystems update the count later than the call returns.
fn once(count: impl Fn() -> std::io::Result<u64>, is_final: impl Fn(u64) -> bool) -> std::io::Result<u64> {
    let began = Instant::now();
    loop {
        let counted = count()?;
        if is_final(counted) || began.elapsed() > LATER {
            return Ok(counted);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn file_size(root: &Path) -> std::io::Result<Answer> {
    let file = fresh(root, "long")?;
    let most = largest(0, LONGEST, |length| rustix::fs::ftruncate(&file, length).is_ok());
    rustix::fs::ftruncate(&file, most)?;
    let how = match file.write_all_at(b"x", most.saturating_sub(1)).and_then(|()| file.sync_all()) {
        Ok(()) => "setting its length, and writing its last byte".into(),
        Err(error) => format!("setting its length; its last byte cannot be written: {error}"),
    };
    std::fs::remove_file(root.join("long"))?;
    Ok(Answer::amount(most, about(most), how))
}

/// A limit in round numbers: one block short of 16 TiB is 16 TiB.
pub(super) fn about(bytes: u64) -> String {
    let rounded =
        (0..64).map(|shift| 1u64 << shift).find(|power| *power > bytes && *power - bytes <= (*power >> 10).max(1));
    match rounded {
        Some(power) if power > LONGEST => "8 EiB".into(),
        Some(power) => size_words(power),
        None => size_words(bytes),
    }
}

/// A size in words, up to EiB.
pub(super) fn size_words(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1 << 60 => format!("{} EiB", (bytes as f64 / (1u64 << 60) as f64).round()),
        bytes if bytes >= 1 << 50 => format!("{} PiB", (bytes as f64 / (1u64 << 50) as f64).round()),
        bytes => show_bytes(bytes),
    }
}

fn sparse(root: &Path) -> std::io::Result<Answer> {
    let file = fresh(root, "sparse")?;
    file.write_all_at(&[7; 4096], 64 << 20)?;
    let blocks = taken(&file)?;
    let how = format!("a file of 64 MiB with 4 KiB at its end takes {}", show_bytes(blocks));
    Ok(if blocks < 1 << 20 { Answer::yes(how) } else { Answer::no(how) })
}

fn punch(root: &Path) -> std::io::Result<Answer> {
    let file = filled(root, "punched")?;
    let before = once(|| taken(&file), |taken| taken >= SOME)?;
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    if let Err(error) = rustix::fs::fallocate(&file, flags, SOME / 4, SOME / 2) {
        return Ok(Answer::no(format!("fallocate(PUNCH_HOLE): {error}")));
    }
    let after = once(|| taken(&file), |after| after + SOME / 4 <= before)?;
    let how = format!("2 of 4 MiB punched out: {} before, {} after", show_bytes(before), show_bytes(after));
    Ok(if after + SOME / 4 <= before { Answer::yes(how) } else { Answer::no(how) })
}

fn preallocate(root: &Path) -> std::io::Result<Answer> {
    let file = fresh(root, "preallocated")?;
    if let Err(error) = rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, SOME) {
        return Ok(Answer::no(format!("fallocate: {error}")));
    }
    let blocks = once(|| taken(&file), |taken| taken >= SOME)?;
    let how = format!("4 MiB allocated without writing take {}", show_bytes(blocks));
    Ok(if blocks >= SOME { Answer::yes(how) } else { Answer::no(how) })
}

fn truncate(root: &Path) -> std::io::Result<Answer> {
    let file = filled(root, "cut")?;
    let before = once(|| taken(&file), |taken| taken >= SOME / 4 * 3)?;
    rustix::fs::ftruncate(&file, SOME / 4)?;
    let after = once(|| taken(&file), |taken| taken <= SOME / 2)?;
    let how = format!("4 MiB truncated to 1 MiB: {} before, {} after", show_bytes(before), show_bytes(after));
    Ok(if after + SOME / 2 <= before { Answer::yes(how) } else { Answer::no(how) })
}

/// A clone that is written to and synced while its source stays unchanged.
fn reflink(root: &Path) -> std::io::Result<Answer> {
    let from = filled(root, "original")?;
    let to = fresh(root, "clone")?;
    if let Err(error) = rustix::fs::ioctl_ficlone(&to, &from) {
        return Ok(Answer::no(format!("FICLONE of a file of 4 MiB: {error}")));
    }
    let (mut source, mut clone) = ([0; 4096], [0; 4096]);
    to.write_all_at(&[7; 4096], 0)?;
    to.sync_all()?;
    from.read_exact_at(&mut source, 0)?;
    to.read_exact_at(&mut clone, 0)?;
    let apart = clone == [7; 4096] && source != clone;
    let how = "FICLONE of a file of 4 MiB, the clone written to and synced";
    Ok(if apart { Answer::yes(how) } else { Answer::no(format!("{how}: this changes its source, too")) })
}

/// A clone with one block written and synced: fsync leaves nothing dirty, and reading after its pages are dropped returns the written data.
fn clone_fsync(root: &Path) -> std::io::Result<Answer> {
    let from = filled(root, "synced-original")?;
    let to = fresh(root, "synced-clone")?;
    if let Err(error) = rustix::fs::ioctl_ficlone(&to, &from) {
        return Ok(Answer::no(format!("clones are unsupported: FICLONE: {error}")));
    }
    to.write_all_at(&[9; 4096], SOME / 2)?;
    let began = Instant::now();
    if let Err(error) = to.sync_all() {
        return Ok(Answer::no(format!("fsync of a clone of 4 MiB that was written to: {error}")));
    }
    let took = began.elapsed().as_secs_f64() * 1000.0;
    rustix::fs::fadvise(&to, 0, None, rustix::fs::Advice::DontNeed)?;
    let mut read = [0; 4096];
    to.read_exact_at(&mut read, SOME / 2)?;
    let how = format!("fsync of a clone of 4 MiB of which 4 KiB were written took {took:.1} ms");
    Ok(if read == [9; 4096] {
        Answer::yes(how)
    } else {
        Answer::no(format!("{how}; reading it back returned different data"))
    })
}

/// copy_file_range, and whether the copy has blocks of its own.
fn copy_range(root: &Path) -> std::io::Result<Answer> {
    let free = || -> std::io::Result<u64> {
        let value = rustix::fs::statvfs(root)?;
        Ok(value.f_bfree * value.f_frsize)
    };
    let gone_since = |before: u64| once(|| Ok(before.saturating_sub(free()?)), |gone| gone >= SOME / 2);
    let before = free()?;
    let from = filled(root, "copied")?;
    // If space is counted in large units, a written file seems to take none either.
    let is_counted = gone_since(before)? >= SOME / 2;
    let to = fresh(root, "copy")?;
    let before = free()?;
    let mut done = 0;
    while done < SOME {
        let mut at = (done, done);
        match rustix::fs::copy_file_range(&from, Some(&mut at.0), &to, Some(&mut at.1), (SOME - done) as usize) {
            Ok(0) => return Ok(Answer::no(format!("copy_file_range ended after {}", show_bytes(done)))),
            Ok(copied) => done += copied as u64,
            Err(error) => return Ok(Answer::no(format!("copy_file_range: {error}"))),
        }
    }
    to.sync_all()?;
    let gone = gone_since(before)?;
    let text = if is_counted && gone < SOME / 2 { "yes, sharing blocks" } else { "yes" };
    let blind = if is_counted || gone >= SOME / 2 {
        ""
    } else {
        ", as writing 4 MiB does: its free space does not show whether blocks are shared"
    };
    let how = format!("copy_file_range of 4 MiB took {}{blind}", show_bytes(gone));
    Ok(Answer { text: text.into(), ..Answer::yes(how) })
}

/// Writes the first bytes of a file that is opened with these flags, in one call with a flag.
fn written_with(root: &Path, (name, open): (&str, OFlags), bytes: usize, flag: u32) -> std::io::Result<bool> {
    let file = rustix::fs::open(root.join(name), OFlags::RDWR | OFlags::CLOEXEC | open, Mode::empty())?;
    let buffer = vec![0x5a; bytes + ALIGNMENT];
    let from = buffer.as_ptr().align_offset(ALIGNMENT);
    let parts = [std::io::IoSlice::new(&buffer[from..from + bytes])];
    let flags = ReadWriteFlags::from_bits_retain(flag);
    Ok(rustix::io::pwritev2(&file, &parts, 0, flags)? == bytes)
}

/// RWF_ATOMIC with direct I/O, in blocks that are powers of two: the largest that is accepted.
fn atomic(root: &Path) -> std::io::Result<Answer> {
    const RWF_ATOMIC: u32 = 0x40;
    filled(root, "atomic")?;
    let mut refused = None;
    let mut most = 0;
    for shift in 9..=20 {
        match written_with(root, ("atomic", OFlags::DIRECT), 1 << shift, RWF_ATOMIC) {
            Ok(_) => most = 1u64 << shift,
            Err(error) => refused = Some(error),
        }
    }
    let why = refused.map(|error| format!(", larger ones: {error}")).unwrap_or_default();
    let how = format!("pwritev2(RWF_ATOMIC) with O_DIRECT of 512 B to 1 MiB{why}");
    Ok(if most == 0 {
        Answer::no(how)
    } else {
        Answer { amount: Some(most), text: show_bytes(most), ..Answer::yes(how) }
    })
}

/// RWF_DONTCACHE: through the page cache, which keeps nothing of it.
fn uncached(root: &Path) -> std::io::Result<Answer> {
    const RWF_DONTCACHE: u32 = 0x80;
    filled(root, "uncached")?;
    let tried = written_with(root, ("uncached", OFlags::empty()), 1 << 16, RWF_DONTCACHE);
    Ok(Answer::of(tried, "pwritev2(RWF_DONTCACHE) of 64 KiB"))
}

/// Bytes that differ in every block, so that they cannot be compressed or deduplicated.
pub(super) fn different(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

fn filled(root: &Path, name: &str) -> std::io::Result<File> {
    let file = fresh(root, name)?;
    file.write_all_at(&different(SOME as usize), 0)?;
    file.sync_all()?;
    Ok(file)
}

fn attribute(root: &Path) -> Answer {
    let path = root.join("attributed");
    if let Err(error) = File::create(&path) {
        return Answer::unknown(error.to_string());
    }
    let set = |length: u64| {
        let value = vec![b'v'; length as usize];
        // Replacing a value may leave less space than a file without one has.
        let _ = rustix::fs::removexattr(&path, "user.bakeoff");
        rustix::fs::setxattr(&path, "user.bakeoff", &value, XattrFlags::empty())
    };
    if let Err(error) = set(1) {
        return Answer::no(format!("setxattr: {error}"));
    }
    let most = largest(1, LARGEST_ATTRIBUTE, |length| set(length).is_ok());
    let how = "one attribute user.bakeoff on a file without others";
    Answer { has: Some(true), ..Answer::amount(most, show_bytes(most), how) }
}

/// The value of `system.posix_acl_access` for a right of user 1 (acl(5); linux/posix_acl_xattr.h: version 2, then tag, rights, id).
fn acl(root: &Path) -> Answer {
    let path = root.join("with-acl");
    if let Err(error) = File::create(&path) {
        return Answer::unknown(error.to_string());
    }
    const NO_ID: u32 = u32::MAX;
    let entries: [(u16, u16, u32); 5] = [(1, 6, NO_ID), (2, 4, 1), (4, 4, NO_ID), (16, 4, NO_ID), (32, 4, NO_ID)];
    let mut value = 2u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        value.extend_from_slice(&tag.to_le_bytes());
        value.extend_from_slice(&rights.to_le_bytes());
        value.extend_from_slice(&id.to_le_bytes());
    }
    let set = rustix::fs::setxattr(&path, "system.posix_acl_access", &value, XattrFlags::empty());
    Answer::of(set, "a POSIX ACL with an entry for another user")
}

fn direct(root: &Path) -> Answer {
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
    let how = "opening with O_DIRECT, and writing and reading 4 KiB";
    let file = match rustix::fs::open(root.join("direct"), flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => File::from(file),
        Err(error) => return Answer::no(format!("open: {error}")),
    };
    let mut room = vec![0u8; 2 * ALIGNMENT];
    let start = room.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
    let block = &mut room[start..start + ALIGNMENT];
    block.fill(7);
    Answer::of(file.write_all_at(block, 0).and_then(|()| file.read_exact_at(block, 0)), how)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_read_as_people_know_them() {
        assert_eq!(about((16 << 40) - 4096), "16 TiB");
        assert_eq!(about(LONGEST), "8 EiB");
        assert_eq!(about(1 << 50), "1 PiB");
        assert_eq!(about(2_194_719_883_264), "2 TiB");
    }

    #[test]
    fn the_folder_of_this_test_answers() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut found = Found::default();
        probe(folder.path(), &mut found);
        let features = found.in_order();
        let of = |key: &str| &features.iter().find(|feature| feature.key == key).expect("asked").answer;
        assert!(of("file_size").amount.is_some_and(|bytes| bytes > 1 << 30), "{:?}", of("file_size"));
        assert_eq!(of("sparse").has, Some(true), "{:?}", of("sparse"));
        assert_eq!(of("grow").text, "?", "what was not asked is not answered");
    }
}
