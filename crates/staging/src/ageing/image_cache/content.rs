//! The content of an image as a hash: equal for equal content, wherever its holes are.
//! In: an open file or device. Out: its hash.
//! The pages that were read are dropped from the page cache again.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// Unit of hashing: pieces of zeros count as holes, so that a copy may have other holes and still be equal.
const PIECE: usize = 64 << 10;

/// Content of a hole.
static ZEROS: [u8; PIECE] = [0; PIECE];

/// Drops a file's pages from the page cache.
pub(super) fn forget(file: &File) {
    // Only advice.
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}

/// BLAKE3 of a file or device: of every piece that is not all zeros, with its offset.
pub(super) fn hash(mut file: &File) -> std::io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0u8; 16 * PIECE];
    let mut at = 0u64;
    while let Some(data) = next_data(file, at)? {
        // Pieces have fixed offsets, so that the same content is cut in the same way wherever its holes are.
        at = data.max(at) / PIECE as u64 * PIECE as u64;
        file.seek(SeekFrom::Start(at))?;
        let mut filled = 0;
        while filled < buffer.len() {
            match file.read(&mut buffer[filled..])? {
                0 => break,
                n => filled += n,
            }
        }
        if filled == 0 {
            break;
        }
        for piece in buffer[..filled].chunks(PIECE) {
            if *piece != ZEROS[..piece.len()] {
                hasher.update(&at.to_le_bytes());
                hasher.update(piece);
            }
            at += piece.len() as u64;
        }
    }
    forget(file);
    Ok(hasher.finalize().to_hex().to_string())
}

/// Offset of the next data that is not a hole; a device has no holes, and rejects a seek for data.
fn next_data(file: &File, from: u64) -> std::io::Result<Option<u64>> {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(from)) {
        Ok(data) => Ok(Some(data)),
        Err(rustix::io::Errno::NXIO) => Ok(None),
        Err(rustix::io::Errno::INVAL) => Ok(Some(from)),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file(letter: u8, at: u64) -> File {
        let mut file = tempfile::tempfile().expect("a file");
        file.set_len(8 << 20).expect("sparse");
        file.seek(SeekFrom::Start(at)).expect("sought");
        file.write_all(&[letter; 200_000]).expect("written");
        file
    }

    #[test]
    fn holes_and_zeros_are_the_same_and_place_counts() {
        let mut sparse = file(7, 3 << 20);
        let first = hash(&sparse).expect("hashed");
        let mut content = Vec::new();
        sparse.rewind().expect("sought");
        sparse.read_to_end(&mut content).expect("read");
        let mut full = tempfile::tempfile().expect("a file");
        full.write_all(&content).expect("written");
        assert_eq!(hash(&full).expect("hashed"), first);
        assert_ne!(hash(&file(7, 4 << 20)).expect("hashed"), first);
        assert_ne!(hash(&file(8, 3 << 20)).expect("hashed"), first);
    }
}
