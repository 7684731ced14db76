//! Content of a disk: the blocks that were written; all others are zeros.
//! In: writes at any offset. Out: reads. A copy shares each block with its original until one of them changes it.

use std::collections::HashMap;
use std::sync::Arc;

/// Size of a block in bytes.
pub const PAGE: usize = 4096;

/// The content of a disk.
#[derive(Debug, Clone, Default)]
pub struct Blocks {
    pages: HashMap<u64, Arc<[u8; PAGE]>>,
}

impl Blocks {
    /// Reads from an offset, in bytes.
    pub fn read(&self, offset: u64, into: &mut [u8]) {
        for (page, within, piece) in pieces(offset, into.len()) {
            let part = &mut into[piece.clone()];
            match self.pages.get(&page) {
                Some(known) => part.copy_from_slice(&known[within..within + piece.len()]),
                None => part.fill(0),
            }
        }
    }

    /// Writes at an offset, in bytes.
    pub fn write(&mut self, offset: u64, data: &[u8]) {
        for (page, within, piece) in pieces(offset, data.len()) {
            let known = self.pages.entry(page).or_insert_with(|| Arc::new([0; PAGE]));
            let end = within + piece.len();
            match <&[u8; PAGE]>::try_from(&data[piece.clone()]) {
                // A whole block is replaced without copying its old content.
                Ok(whole) => *known = Arc::new(*whole),
                Err(_) => Arc::make_mut(known)[within..end].copy_from_slice(&data[piece]),
            }
        }
    }

    /// Fills this many bytes with zeros.
    pub fn clear(&mut self, offset: u64, length: u64) {
        let end = offset.saturating_add(length);
        let (first, last) = (offset.div_ceil(PAGE as u64), end / PAGE as u64);
        if first < last && last - first > self.pages.len() as u64 {
            self.pages.retain(|page, _| !(first..last).contains(page));
        } else {
            (first..last).for_each(|page| drop(self.pages.remove(&page)));
        }
        let whole = first * PAGE as u64..last * PAGE as u64;
        if whole.start >= whole.end {
            self.write(offset, &vec![0; length as usize]);
            return;
        }
        self.write(offset, &vec![0; (whole.start - offset) as usize]);
        self.write(whole.end, &vec![0; (end - whole.end) as usize]);
    }

    /// Whether a block is stored.
    pub(crate) fn has(&self, page: u64) -> bool {
        self.pages.contains_key(&page)
    }

    /// The stored blocks, in no particular order.
    pub(crate) fn pages(&self) -> impl Iterator<Item = (u64, &[u8; PAGE])> {
        self.pages.iter().map(|(page, content)| (*page, &**content))
    }

    /// Flips one bit of a block.
    pub(crate) fn flip(&mut self, page: u64, bit: usize) {
        if let Some(known) = self.pages.get_mut(&page) {
            Arc::make_mut(known)[bit / 8] ^= 1 << (bit % 8);
        }
    }

    /// Bytes stored.
    pub fn kept(&self) -> u64 {
        (self.pages.len() * PAGE) as u64
    }
}

/// The blocks that a range touches: number of the block, offset within it, and the part of the range that it contains.
fn pieces(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= length {
            return None;
        }
        let absolute = offset + at as u64;
        let within = (absolute % PAGE as u64) as usize;
        let end = (at + PAGE - within).min(length);
        let piece = at..end;
        at = end;
        Some((absolute / PAGE as u64, within, piece))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(blocks: &Blocks, offset: u64, length: usize) -> Vec<u8> {
        let mut data = vec![9; length];
        blocks.read(offset, &mut data);
        data
    }

    #[test]
    fn written_data_is_read_back_and_the_rest_is_zeros() {
        let mut blocks = Blocks::default();
        let data: Vec<u8> = (0..10_000u32).map(|at| (at % 251) as u8 + 1).collect();
        blocks.write(4000, &data);
        assert_eq!(read(&blocks, 4000, 10_000), data);
        assert_eq!(read(&blocks, 3990, 10), [0; 10]);
        assert_eq!(read(&blocks, 14_000, 4096), [0; 4096]);
    }

    #[test]
    fn a_copy_keeps_what_it_was_a_copy_of() {
        let mut blocks = Blocks::default();
        blocks.write(0, &[1; 8192]);
        let before = blocks.clone();
        blocks.write(512, &[2; 512]);
        assert_eq!(read(&before, 0, 8192), [1; 8192]);
        assert_eq!(read(&blocks, 511, 3), [1, 2, 2]);
    }

    #[test]
    fn clearing_touches_no_byte_beside_its_range() {
        for (offset, length) in [(0, 4096), (100, 50), (100, 9000), (4096, 8192), (4000, 200), (8192, 4), (5, 0)] {
            let mut blocks = Blocks::default();
            blocks.write(0, &[7; 20_000]);
            blocks.clear(offset, length);
            let expected: Vec<u8> =
                (0..20_000).map(|at| if (offset..offset + length).contains(&at) { 0 } else { 7 }).collect();
            assert_eq!(read(&blocks, 0, 20_000), expected, "{length} bytes at {offset}");
        }
    }
}
