//! The stamp of verified content in every 4 KiB: where and when it was written.
//! In: a grain and its expected content. Out: the stamp written, or what is wrong with the data read, in words.
//! The rest of the grain is determined by the stamp, so every byte can be checked without stored data.

use crate::content::{GRAIN, Generator, Source};
use crate::hash::mix_all;

const MAGIC: u64 = u64::from_le_bytes(*b"bakeoff1");

/// Length of the stamp: magic, file, grain, version, and a sum over them.
const LENGTH: usize = 40;

fn words(source: Source, grain: u64) -> [u64; 5] {
    let sum = mix_all(&[MAGIC, source.file, grain, source.version]);
    [MAGIC, source.file, grain, source.version, sum]
}

/// Writes the stamp at the beginning of a grain.
pub fn write(grain_bytes: &mut [u8], source: Source, grain: u64) {
    for (bytes, word) in grain_bytes[..LENGTH].chunks_exact_mut(8).zip(words(source, grain)) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
}

/// Checks one grain, or its beginning at the end of a file; returns what is wrong. `scratch` generates the expected content. Content of
/// either file is valid: a clone has its own data, and its source's.
pub fn check(bytes: &[u8], files: [u64; 2], grain: u64, scratch: &mut Generator) -> Result<(), String> {
    debug_assert!(bytes.len() <= GRAIN);
    if bytes.len() < LENGTH {
        return check_short(bytes, files[0], grain)
            .or_else(|wrong| check_short(bytes, files[1], grain).map_err(|_| wrong));
    }
    let mut found = [0u64; 5];
    for (word, chunk) in found.iter_mut().zip(bytes[..LENGTH].chunks_exact(8)) {
        *word = u64::from_le_bytes(chunk.try_into().unwrap_or_default());
    }
    let [magic, found_file, found_grain, version, sum] = found;
    if magic != MAGIC {
        let blank = bytes.iter().all(|b| *b == 0);
        return Err(if blank {
            "only zeros".into()
        } else {
            "no stamp, so the beginning of the block is damaged".into()
        });
    }
    if mix_all(&[magic, found_file, found_grain, version]) != sum {
        return Err("a damaged stamp".into());
    }
    if !files.contains(&found_file) || found_grain != grain {
        let whose = if files.contains(&found_file) { "the same file" } else { "another file" };
        return Err(format!("what was written to block {found_grain} of {whose}"));
    }
    let mut expected = [0u8; GRAIN];
    scratch.fill(&mut expected, Source { file: found_file, version }, grain * GRAIN as u64);
    compare(bytes, &expected)
}

/// The version of a grain this short is cut off, so only the words before it can be checked.
fn check_short(bytes: &[u8], file: u64, grain: u64) -> Result<(), String> {
    const KNOWN: usize = 24;
    let mut expected = [0u8; LENGTH];
    for (bytes, word) in expected.chunks_exact_mut(8).zip(words(Source { file, version: 0 }, grain)) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    compare(&bytes[..bytes.len().min(KNOWN)], &expected)
}

fn compare(found: &[u8], expected: &[u8]) -> Result<(), String> {
    let differ = || found.iter().zip(expected).enumerate().filter(|(_, (a, b))| a != b);
    match differ().next() {
        None => Ok(()),
        Some((at, (a, b))) => {
            Err(format!("byte {at} of the block is {a:#04x} instead of {b:#04x} ({} bytes differ)", differ().count()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::program::Content;

    fn generator() -> Generator {
        Generator::new(3, Content { verify: true, ..Content::default() })
    }

    fn written() -> Vec<u8> {
        let mut bytes = vec![0; GRAIN];
        generator().fill(&mut bytes, Source { file: 8, version: 5 }, 2 * GRAIN as u64);
        bytes
    }

    #[test]
    fn written_data_passes_the_check() {
        assert_eq!(check(&written(), [8; 2], 2, &mut generator()), Ok(()));
    }

    #[test]
    fn every_flipped_byte_is_found() {
        for at in 0..GRAIN {
            let mut bytes = written();
            bytes[at] ^= 0x10;
            assert!(check(&bytes, [8; 2], 2, &mut generator()).is_err(), "byte {at}");
        }
    }

    #[test]
    fn the_end_of_a_file_is_checked_as_far_as_it_goes() {
        for length in [1, 24, 40, 41, 1000, 4095] {
            let mut bytes = written();
            bytes.truncate(length);
            assert_eq!(check(&bytes, [8; 2], 2, &mut generator()), Ok(()), "{length} bytes");
            let last = if length < LENGTH { 0 } else { length - 1 };
            bytes[last] ^= 1;
            assert!(check(&bytes, [8; 2], 2, &mut generator()).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn a_block_in_the_wrong_place_is_named() {
        let wrong = check(&written(), [8; 2], 3, &mut generator()).unwrap_err();
        assert!(wrong.contains("block 2 of the same file"), "{wrong}");
    }
}
