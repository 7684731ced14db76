//! Files of a published run: its ledger, anonymous and compressed, in one folder that can be added to a gallery.
//! In: a run's records, or the bytes of such a file, treated as hostile. Out: bytes, or the text that they hold, within a limit.

use crate::import::{self, FILE_LIMIT, Imported};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::io::{Read, Write};

/// Name of a published run's ledger; `bakeoff import` reads it.
pub const LEDGER_FILE: &str = "ledger.json.gz";
/// Name of the file with its results.
pub const RESULTS_FILE: &str = "results.json";
/// Largest compressed ledger that is read, in bytes.
pub const PACKED_LIMIT: u64 = 64 << 20;
/// Magic number of a gzip file (RFC 1952).
const SIGN: [u8; 2] = [0x1f, 0x8b];

/// Whether bytes begin like a gzip file.
pub(crate) fn is_packed(beginning: &[u8]) -> bool {
    beginning.starts_with(&SIGN)
}

/// A run's ledger as one compressed file. The same records give the same bytes: it holds no time or name.
///
/// # Errors
/// Never in practice: it is written to memory.
pub fn packed(imported: &Imported) -> std::io::Result<Vec<u8>> {
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    out.write_all(import::document(imported).to_string().as_bytes())?;
    out.finish()
}

/// Decompresses a file.
///
/// # Errors
/// It is damaged, or larger than any ledger that is read.
pub fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut held = Vec::new();
    let most = FILE_LIMIT + 1;
    GzDecoder::new(bytes)
        .take(most)
        .read_to_end(&mut held)
        .map_err(|error| format!("it cannot be unpacked: {error}"))?;
    match held.len() as u64 {
        length if length < most => Ok(held),
        _ => Err(format!("it is larger than {} MiB when unpacked", FILE_LIMIT >> 20)),
    }
}
