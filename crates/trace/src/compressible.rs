//! How much of a folder's data a compressor would save, from a sample of its files.
//! In: a folder and its files. Out: a share in percent.

use crate::trace::{Entry, files};
use flate2::{Compression, write::DeflateEncoder};
use std::io::{Read, Write};
use std::path::Path;

/// Number of sampled files, evenly spread.
const FILES: usize = 1000;
/// Sampled bytes of each.
const BYTES: u64 = 64 << 10;

/// The share of a folder's data that the fastest deflate saves, in percent; files count by their size.
pub fn percent(folder: &Path, entries: &[Entry]) -> u8 {
    let files: Vec<(&str, u64)> = files(entries).filter(|(_, size)| *size > 0).collect();
    let step = files.len().div_ceil(FILES).max(1);
    let (mut whole, mut saved) = (0.0, 0.0);
    for (path, size) in files.iter().step_by(step) {
        let Ok(file) = system::input::open(&folder.join(path)) else { continue };
        let mut data = Vec::new();
        if file.take(BYTES).read_to_end(&mut data).is_err() || data.is_empty() {
            continue;
        }
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::fast());
        let left = packed.write_all(&data).and_then(|()| packed.finish()).map_or(data.len(), |bytes| bytes.len());
        whole += *size as f64;
        saved += *size as f64 * (1.0 - left as f64 / data.len() as f64).max(0.0);
    }
    if whole > 0.0 { (100.0 * saved / whole).round() as u8 } else { 0 }
}
