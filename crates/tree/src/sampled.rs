//! What the sampled files are like: compressible, duplicates, attributes.
//! In: the samples of a scan. Out: shares in the [`Profile`]. It ends at a given time, with the sample that it has then.

use crate::open::Folder;
use crate::profile::{Profile, Sampled};
use crate::samples::{Chosen, Samples};
use flate2::{Compression, write::DeflateEncoder};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FileType, SeekFrom, fgetxattr, flistxattr, fstat, seek};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::time::Instant;

/// Most bytes that are read at one place.
const PIECE: usize = 64 << 10;
/// Largest list of attribute names (`XATTR_LIST_MAX` in linux/limits.h).
const NAMES: usize = 64 << 10;

/// Inspects all samples; unreadable files are counted in [`crate::LeftOut::unsampled`].
pub fn inspect(folder: &Folder, samples: Samples, end: Instant, profile: &mut Profile) {
    let mut reader = Reader { folder, end, failed: 0, random: StdRng::seed_from_u64(2), buffer: vec![0; PIECE] };
    // Each sample gets an equal part of the time that the ones before it left.
    let share = |stages: u32| Instant::now() + end.saturating_duration_since(Instant::now()) / stages;
    let represented = samples.data.represented();
    reader.end = share(3);
    profile.compressible = reader.compressible(samples.data.into_files(), &represented);
    reader.end = share(2);
    (profile.attributes, profile.attribute_bytes) = reader.attributes(samples.files.into_files());
    reader.end = share(1);
    profile.duplicate = reader.duplicates(&samples.by_size.into_files());
    profile.left_out.unsampled = reader.failed;
}

struct Reader<'a> {
    folder: &'a Folder,
    end: Instant,
    failed: u64,
    random: StdRng,
    buffer: Vec<u8>,
}

impl Reader<'_> {
    fn is_over(&self) -> bool {
        Instant::now() >= self.end
    }

    /// A regular file that stores data; None if it is none any more, or cannot be opened.
    fn open(&mut self, path: &[u8]) -> Option<std::fs::File> {
        let regular = |file: &OwnedFd| {
            let is_regular =
                fstat(file).is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == FileType::RegularFile);
            is_regular && system::input::is_of_the_kernel(file.as_fd()).is_ok_and(|kernel| !kernel)
        };
        let file = self.folder.file(path).ok().filter(regular);
        self.failed += u64::from(file.is_none());
        file.map(std::fs::File::from)
    }

    /// Up to a piece of the file from an offset, in the buffer; its length, or None after an error.
    fn read(&mut self, file: &std::fs::File, offset: u64) -> Option<usize> {
        let mut length = 0;
        while length < self.buffer.len() {
            match file.read_at(&mut self.buffer[length..], offset + length as u64) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(_) => {
                    self.failed += 1;
                    return None;
                }
            }
        }
        Some(length)
    }

    /// The share that the fastest deflate saves of the data that the pieces represent.
    fn compressible(&mut self, files: impl Iterator<Item = Chosen>, represented: &dyn Fn(u64) -> f64) -> Sampled {
        let (mut all, mut saved, mut pieces) = (0.0, 0.0, 0);
        for Chosen { bytes, path } in files {
            if self.is_over() {
                break;
            }
            let offset = self.random.random_range(0..=bytes.saturating_sub(PIECE as u64));
            let Some(file) = self.open(&path) else { continue };
            // A hole is no data.
            if seek(&file, SeekFrom::Hole(offset)) == Ok(offset) {
                continue;
            }
            let Some(length @ 1..) = self.read(&file, offset) else { continue };
            let data = &self.buffer[..length];
            let mut packed = DeflateEncoder::new(Vec::new(), Compression::fast());
            let left = packed.write_all(data).and_then(|()| packed.finish()).map_or(length, |packed| packed.len());
            all += represented(bytes);
            saved += represented(bytes) * (1.0 - left as f64 / length as f64).max(0.0);
            pieces += 1;
        }
        Sampled { share: (pieces > 0).then(|| saved / all), looked_at: pieces }
    }

    fn attributes(&mut self, files: impl Iterator<Item = Chosen>) -> (Sampled, u64) {
        let (mut seen, mut with, mut all_bytes) = (0, 0u64, 0u64);
        let mut names = vec![0u8; NAMES];
        for Chosen { path, .. } in files {
            if self.is_over() {
                break;
            }
            let Some(file) = self.open(&path) else { continue };
            // A filesystem without attributes has none.
            let length = flistxattr(&file, &mut names[..]).unwrap_or(0);
            let own = names[..length].split(|byte| *byte == 0).filter(|name| name.starts_with(b"user."));
            let bytes = |name| fgetxattr(&file, name, &mut self.buffer[..]).map_or(0, |bytes| bytes as u64);
            let sizes: Vec<u64> = own.map(bytes).collect();
            seen += 1;
            with += u64::from(!sizes.is_empty());
            all_bytes += sizes.iter().sum::<u64>();
        }
        let share = (seen > 0).then(|| with as f64 / seen as f64);
        (Sampled { share, looked_at: seen }, all_bytes / with.max(1))
    }

    /// Files are ordered by size; only those that share it can be copies.
    fn duplicates(&mut self, files: &[Chosen]) -> Sampled {
        let (mut all, mut repeated, mut compared) = (0u64, 0u64, 0);
        for same in files.chunk_by(|a, b| a.bytes == b.bytes) {
            if self.is_over() {
                break;
            }
            let mut seen = HashSet::new();
            for Chosen { bytes, path } in same {
                let is_copy = match same.len() {
                    1 => false,
                    _ => match self.fingerprint(path, *bytes) {
                        Some(fingerprint) => !seen.insert(fingerprint),
                        None => continue,
                    },
                };
                all = all.saturating_add(*bytes);
                repeated = repeated.saturating_add(if is_copy { *bytes } else { 0 });
                compared += 1;
            }
        }
        Sampled { share: (all > 0).then(|| repeated as f64 / all as f64), looked_at: compared }
    }

    /// A hash of the first and the last piece of a file.
    fn fingerprint(&mut self, path: &[u8], bytes: u64) -> Option<u64> {
        let file = self.open(path)?;
        let mut hash = DefaultHasher::new();
        let first = self.read(&file, 0)?;
        self.buffer[..first].hash(&mut hash);
        if bytes > PIECE as u64 {
            let last = self.read(&file, bytes - PIECE as u64)?;
            self.buffer[..last].hash(&mut hash);
        }
        Some(hash.finish())
    }
}
