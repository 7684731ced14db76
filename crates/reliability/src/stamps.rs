//! Content that identifies each sector: its file, version and index.
//! In: a file's number, a version, sectors. Out: bytes to write; and for bytes that were read, what each sector is.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Bytes of a sector.
pub(crate) const SECTOR: usize = 512;
/// The first bytes of every stamped sector.
pub(crate) const MAGIC: [u8; 8] = *b"BAKEOFF!";
/// Most bytes of a file that are inspected.
const READ_LIMIT: u64 = 1 << 20;

/// File, version and index of a sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Number of the file.
    pub file: u32,
    /// How often it was overwritten.
    pub version: u32,
    /// Offset in the file, in sectors.
    pub index: u32,
}

/// Content of a sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sector {
    /// Only zeros.
    Zeros,
    /// An intact stamped sector.
    Ours(Stamp),
    /// Not a stamped sector.
    Garbage,
}

/// The bytes of a stamped sector.
fn stamped(stamp: Stamp) -> [u8; SECTOR] {
    let mut bytes = [0; SECTOR];
    bytes[..8].copy_from_slice(&MAGIC);
    for (place, word) in [stamp.file, stamp.version, stamp.index].into_iter().enumerate() {
        bytes[8 + 4 * place..12 + 4 * place].copy_from_slice(&word.to_le_bytes());
    }
    // The rest is computed from the head, so that a torn or mixed sector is detected (splitmix64).
    let mut state = u64::from(stamp.file) << 40 ^ u64::from(stamp.version) << 20 ^ u64::from(stamp.index);
    for chunk in bytes[20..].chunks_mut(8) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        chunk.copy_from_slice(&(mixed ^ (mixed >> 31)).to_le_bytes()[..chunk.len()]);
    }
    bytes
}

/// Consecutive sectors of a file.
pub(crate) fn sectors(file: u32, version: u32, places: std::ops::Range<u32>) -> Vec<u8> {
    places.flat_map(|index| stamped(Stamp { file, version, index })).collect()
}

fn sector_of(bytes: &[u8]) -> Sector {
    if bytes.iter().all(|byte| *byte == 0) {
        return Sector::Zeros;
    }
    let word = |at: usize| bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map(u32::from_le_bytes);
    let (Some(file), Some(version), Some(index)) = (word(8), word(12), word(16)) else { return Sector::Garbage };
    let stamp = Stamp { file, version, index };
    if bytes == stamped(stamp).as_slice() { Sector::Ours(stamp) } else { Sector::Garbage }
}

/// The sectors of a file, the last one possibly partial; None if there is no such file.
///
/// # Errors
/// The system's error.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<Sector>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(READ_LIMIT).read_to_end(&mut bytes)?;
    Ok(Some(bytes.chunks(SECTOR).map(sector_of).collect()))
}

/// Writes sectors of a version into a file, which is created if missing. `flags`: further flags for open.
///
/// # Errors
/// The system's error.
pub(crate) fn write(
    path: &Path,
    file: u32,
    version: u32,
    places: std::ops::Range<u32>,
    flags: i32,
) -> io::Result<File> {
    let open = OpenOptions::new().write(true).create(true).truncate(false).custom_flags(flags).open(path)?;
    open.write_all_at(&sectors(file, version, places.clone()), u64::from(places.start) * SECTOR as u64)?;
    Ok(open)
}

/// Syncs a file or folder.
///
/// # Errors
/// The system's error.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sector_is_known_by_its_bytes_and_no_other_is_taken_for_it() {
        let stamp = Stamp { file: 7, version: 3, index: 250 };
        let bytes = stamped(stamp);
        assert_eq!(sector_of(&bytes), Sector::Ours(stamp));
        assert_eq!(sector_of(&[0; SECTOR]), Sector::Zeros);
        let mut torn = bytes;
        torn[400] ^= 1;
        assert_eq!(sector_of(&torn), Sector::Garbage);
        assert_eq!(sector_of(&bytes[..100]), Sector::Garbage);
        assert_eq!(sector_of(&[1; 3]), Sector::Garbage);
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        assert_eq!(read(&path).expect("looked for"), None);
        write(&path, 1, 0, 0..4, 0).expect("written");
        write(&path, 1, 1, 1..2, 0).expect("written");
        let found = read(&path).expect("read").expect("there");
        let versions: Vec<u32> =
            found.iter().map(|sector| if let Sector::Ours(stamp) = sector { stamp.version } else { 99 }).collect();
        assert_eq!(versions, [0, 1, 0, 0]);
    }
}
