//! What serving a disk costs by itself: the time that it adds to a request, and the most that goes through.
//! In: a served disk that answers as fast as can be. Out: [`Ceiling`], measured once in each process.

use crate::devices::image;
use crate::error::StagingError;
use crate::ownership::cleanup_journal::Mark;
use crate::served::ServedFolder;
use rustix::fs::OFlags;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use system::Journal;

/// Size of the disk that is measured.
const BYTES: u64 = 64 << 20;
/// Bytes of a small request and of a large one.
const BLOCK: usize = 4096;
const PIECE: usize = 1 << 20;
/// How long reads are counted, alone and with others.
const ALONE: Duration = Duration::from_millis(60);
const TOGETHER: Duration = Duration::from_millis(120);
/// Readers at a time.
const READERS: u64 = 8;

/// What serving a disk allows on this machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ceiling {
    /// Added to each request: the median of one read at a time.
    pub added: Duration,
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
        let folder = ServedFolder::open(2 * BYTES, None, journal)?;
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

    /// In words, after a name.
    pub fn in_words(&self) -> String {
        format!(
            "adds {} us to each request and allows {:.0} reads and {} a second at most",
            self.added.as_micros(),
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
    let mut each = Vec::new();
    reading(&file, 1, ALONE, |took| each.push(took))?;
    each.sort_unstable();
    let added = each.get(each.len() / 2).copied().unwrap_or_default();
    let count = AtomicU64::new(0);
    let began = Instant::now();
    std::thread::scope(|scope| {
        let (file, count) = (&file, &count);
        let counted = move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        };
        let readers: Vec<_> =
            (1..=READERS).map(|seed| scope.spawn(move || reading(file, seed, TOGETHER, counted))).collect();
        readers.into_iter().try_for_each(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    let operations = count.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
    Ok(Ceiling { added, operations, bytes })
}

/// Reads blocks here and there for so long; tells how long each took.
fn reading(file: &File, seed: u64, lasts: Duration, mut told: impl FnMut(Duration)) -> io::Result<()> {
    let (began, mut block, mut place) = (Instant::now(), Aligned::new(BLOCK), seed);
    while began.elapsed() < lasts {
        // Knuth's multiplier: any spread will do.
        place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = (place >> 33) % (BYTES / BLOCK as u64) * BLOCK as u64;
        let one = Instant::now();
        file.read_exact_at(block.bytes(), at)?;
        told(one.elapsed());
    }
    Ok(())
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
