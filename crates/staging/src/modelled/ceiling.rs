//! What serving a disk costs by itself: the way of a request there and back, and the most that goes through.
//! In: a served disk that answers as fast as can be. Out: [`Ceiling`], measured once in each process.

use crate::devices::image;
use crate::error::StagingError;
use crate::ownership::cleanup_journal::Mark;
use crate::served::{ServedFolder, Serving};
use disk::{ByLength, PathCost};
use disk_model::Kind;
use rustix::fs::OFlags;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use system::Journal;

/// Size of the disk that is measured.
const BYTES: u64 = 64 << 20;
/// Bytes of a small request and of a large one.
const BLOCK: usize = 4096;
const PIECE: usize = 1 << 20;
/// Requests of each kind are timed in so many batches. The smallest median of a batch counts: what other work adds for a while is not the way.
const BATCHES: usize = 5;
/// Small and large requests of a batch.
const SMALL_ONES: u64 = 60;
const LARGE_ONES: u64 = 6;
/// A pause before each: as between requests of a disk that takes its time, processors and threads are asleep then and must wake up.
const PAUSE: Duration = Duration::from_micros(100);
/// How long reads are counted with others.
const TOGETHER: Duration = Duration::from_millis(120);
/// Readers at a time.
const READERS: u64 = 8;

/// What serving a disk allows on this machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ceiling {
    /// What the way to it and back costs.
    pub path: PathCost,
    /// Reads of 4 KiB a second, by eight at a time.
    pub operations: f64,
    /// Bytes written a second, 1 MiB at a time.
    pub bytes: f64,
}

impl Ceiling {
    /// This machine's, measured the first time.
    ///
    /// # Errors
    /// No disk can be served here, or it cannot be read.
    pub fn here(journal: &Journal) -> Result<Ceiling, StagingError> {
        static KNOWN: OnceLock<Ceiling> = OnceLock::new();
        if let Some(known) = KNOWN.get() {
            return Ok(*known);
        }
        let folder = ServedFolder::open(2 * BYTES, Serving::OnModelsWay, journal)?;
        let mut mark = Mark::new(false)?;
        let image = image::attach(journal, &mut mark, folder.path(), 1, BYTES, 0)?;
        let path = &image.device.path;
        let measured = measure(path).map_err(|error| StagingError::file("measure", path, error));
        image.remove(journal, &mut mark)?;
        // It holds its file open, and the folder could not be unmounted.
        drop(image);
        folder.close()?;
        let measured = measured?;
        Ok(*KNOWN.get_or_init(|| measured))
    }

    /// What one read of 4 KiB takes there and back.
    pub fn read_alone(&self) -> Duration {
        self.path.of(Kind::Read, BLOCK as u64)
    }

    /// In words, after a name.
    pub fn in_words(&self) -> String {
        format!(
            "the round trip of a 4 KiB read takes {} us; at most {:.0} reads and {} a second",
            self.read_alone().as_micros(),
            self.operations,
            records::show_bytes(self.bytes as u64)
        )
    }
}

fn measure(device: &Path) -> io::Result<Ceiling> {
    let file = File::options().read(true).write(true).custom_flags(OFlags::DIRECT.bits() as i32).open(device)?;
    let mut piece = Aligned::new(PIECE);
    let began = Instant::now();
    for at in 0..BYTES / PIECE as u64 {
        file.write_all_at(piece.bytes(), at * PIECE as u64)?;
    }
    let bytes = BYTES as f64 / began.elapsed().as_secs_f64();
    let mut block = Aligned::new(BLOCK);
    let mut places = Places(1);
    let mut small = |request: fn(&File, &mut [u8], u64) -> io::Result<()>| {
        way(SMALL_ONES, || request(&file, block.bytes(), places.next(BLOCK)))
    };
    let (small_read, small_write) = (small(read)?, small(write)?);
    let flush = small(flush)?;
    let mut large = |request: fn(&File, &mut [u8], u64) -> io::Result<()>| {
        way(LARGE_ONES, || request(&file, piece.bytes(), places.next(PIECE)))
    };
    let (large_read, large_write) = (large(read)?, large(write)?);
    let line = |small, large| ByLength::through((BLOCK as u64, small), (PIECE as u64, large));
    let path = PathCost {
        read: line(small_read, large_read),
        write: line(small_write, large_write),
        flush_ns: flush.as_nanos() as u64,
    };
    let began = Instant::now();
    let count: u64 = std::thread::scope(|scope| {
        let readers: Vec<_> = (1..=READERS)
            .map(|seed| {
                scope.spawn({
                    let file = &file;
                    move || reading(file, seed, TOGETHER)
                })
            })
            .collect();
        let joined = readers.into_iter().map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.sum::<io::Result<u64>>()
    })?;
    let operations = count as f64 / began.elapsed().as_secs_f64();
    Ok(Ceiling { path, operations, bytes })
}

fn read(file: &File, data: &mut [u8], at: u64) -> io::Result<()> {
    file.read_exact_at(data, at)
}

fn write(file: &File, data: &mut [u8], at: u64) -> io::Result<()> {
    file.write_all_at(data, at)
}

fn flush(file: &File, _: &mut [u8], _: u64) -> io::Result<()> {
    file.sync_data()
}

/// What one request takes: the smallest median of some batches.
fn way(requests: u64, mut request: impl FnMut() -> io::Result<()>) -> io::Result<Duration> {
    let mut least = Duration::MAX;
    for _ in 0..BATCHES {
        let mut each = Vec::new();
        for _ in 0..requests {
            std::thread::sleep(PAUSE);
            let began = Instant::now();
            request()?;
            each.push(began.elapsed());
        }
        each.sort_unstable();
        least = least.min(each[each.len() / 2]);
    }
    Ok(least)
}

/// Places here and there on the disk.
struct Places(u64);

impl Places {
    /// A place for so many bytes.
    fn next(&mut self, bytes: usize) -> u64 {
        // Knuth's multiplier: any spread will do.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % (BYTES / bytes as u64) * bytes as u64
    }
}

/// Reads blocks here and there for so long; how many.
fn reading(file: &File, seed: u64, lasts: Duration) -> io::Result<u64> {
    let (began, mut block, mut places, mut count) = (Instant::now(), Aligned::new(BLOCK), Places(seed), 0);
    while began.elapsed() < lasts {
        file.read_exact_at(block.bytes(), places.next(BLOCK))?;
        count += 1;
    }
    Ok(count)
}

/// Memory that direct I/O takes.
struct Aligned {
    memory: Vec<u8>,
    length: usize,
}

impl Aligned {
    fn new(length: usize) -> Aligned {
        Aligned { memory: vec![1; length + BLOCK], length }
    }

    fn bytes(&mut self) -> &mut [u8] {
        let start = self.memory.as_ptr().align_offset(BLOCK).min(BLOCK);
        &mut self.memory[start..start + self.length]
    }
}
