//! Positions of the blocks of a fileset's files, laid end to end, or of a device.
//! In: a block's number. Out: file, offset, length; a block never crosses from one file into the next.
//! Computed; only files of unequal sizes need a table, so their number is limited.

use crate::names::Files;

/// Most files of unequal sizes whose blocks can be numbered (8 bytes each are stored).
pub const UNEQUAL_FILES: u64 = 1_000_000;

/// Position of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Index of the file.
    pub file: u64,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Length in bytes; less than a block only at the end of a file.
    pub length: usize,
}

/// All blocks that a group may touch.
#[derive(Debug, Clone)]
pub struct Space {
    block: u64,
    shape: Shape,
    blocks: u64,
}

#[derive(Debug, Clone)]
enum Shape {
    /// A single run of bytes.
    Whole { length: u64 },
    /// Files of equal size except the last.
    Equal { size: u64, per_file: u64, last: u64, files: u64 },
    /// First block of each file, and the end.
    Table { first: Vec<u64>, sizes: Vec<u64> },
}

impl Space {
    /// The blocks of a device's first `length` bytes; a partial last block is left out.
    pub fn of_device(block: u64, length: u64) -> Space {
        Space { block, shape: Shape::Whole { length }, blocks: length / block }
    }

    /// The blocks of files, of all or of the first `limit` bytes.
    pub fn of_files(files: &Files, block: u64, limit: Option<u64>) -> Result<Space, String> {
        let mut space = match files.common_size() {
            Some(size) => {
                let last = if files.count == 0 { 0 } else { files.size(files.count - 1, 0) };
                let per_file = size.div_ceil(block);
                let blocks = per_file * files.count.saturating_sub(1) + last.div_ceil(block);
                Space { block, shape: Shape::Equal { size, per_file, last, files: files.count }, blocks }
            }
            None if files.count > UNEQUAL_FILES => {
                return Err(format!(
                    "blocks over {} files of unequal sizes: at most {UNEQUAL_FILES} can be numbered; give all files one size",
                    files.count
                ));
            }
            None => {
                let sizes: Vec<u64> = (0..files.count).map(|i| files.size(i, 0)).collect();
                let mut first = vec![0];
                first.extend(sizes.iter().scan(0, |at, size| {
                    *at += size.div_ceil(block);
                    Some(*at)
                }));
                let blocks = first.last().copied().unwrap_or(0);
                Space { block, shape: Shape::Table { first, sizes }, blocks }
            }
        };
        if let Some(limit) = limit {
            space.limit(limit);
        }
        Ok(space)
    }

    /// Leaves out the blocks that begin beyond this many bytes.
    fn limit(&mut self, bytes: u64) {
        let (mut low, mut high) = (0, self.blocks);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.bytes_before(middle) < bytes { low = middle + 1 } else { high = middle }
        }
        self.blocks = low;
    }

    fn bytes_before(&self, number: u64) -> u64 {
        let place = self.place(number);
        let files_before = match &self.shape {
            Shape::Whole { .. } => 0,
            Shape::Equal { size, .. } => place.file * size,
            Shape::Table { sizes, .. } => sizes[..place.file as usize].iter().sum(),
        };
        files_before + place.offset
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Position of a block; `number` is below the number of blocks.
    #[inline]
    pub fn place(&self, number: u64) -> Place {
        match &self.shape {
            Shape::Whole { length } => self.within(0, number, *length),
            Shape::Equal { size, per_file, last, files } => {
                let (file, within) =
                    if number < *per_file { (0, number) } else { (number / per_file, number % per_file) };
                self.within(file, within, if file + 1 == *files { *last } else { *size })
            }
            Shape::Table { first, sizes } => {
                let file = first.partition_point(|f| *f <= number) - 1;
                self.within(file as u64, number - first[file], sizes[file])
            }
        }
    }

    #[inline]
    fn within(&self, file: u64, number: u64, size: u64) -> Place {
        let offset = number * self.block;
        Place { file, offset, length: (size - offset).min(self.block) as usize }
    }

    /// Bytes from the beginning of a block to the end of its file.
    pub fn bytes_left(&self, place: Place) -> u64 {
        let size = match &self.shape {
            Shape::Whole { length } => *length,
            Shape::Equal { last, files, .. } if place.file + 1 == *files => *last,
            Shape::Equal { size, .. } => *size,
            Shape::Table { sizes, .. } => sizes[place.file as usize],
        };
        size - place.offset
    }

    /// Number of files.
    pub fn files(&self) -> u64 {
        match &self.shape {
            Shape::Whole { .. } => 1,
            Shape::Equal { files, .. } => *files,
            Shape::Table { sizes, .. } => sizes.len() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::program::{Content, Fileset, Layout, Names, Size};

    fn files(count: u64, size: Size) -> Files {
        let set = Fileset {
            name: "f".into(),
            directory: String::new(),
            files: count,
            per_worker: false,
            layout: Layout::Flat,
            names: Names::Decimal,
            size,
            content: Content::default(),
            copies: None,
        };
        Files::new(1, 0, &set, 0, 1)
    }

    #[test]
    fn blocks_cover_every_byte_of_every_file_once() {
        for size in
            [Size::Uniform(10_000, 10_000), Size::Uniform(1, 9_000), Size::Total { bytes: 30_001, largest: 12_000 }]
        {
            let files = files(5, size);
            let space = Space::of_files(&files, 4096, None).unwrap();
            let mut at = vec![0; files.count as usize];
            for number in 0..space.blocks() {
                let place = space.place(number);
                assert_eq!(place.offset, at[place.file as usize]);
                assert!(place.length > 0);
                at[place.file as usize] += place.length as u64;
            }
            assert_eq!(at, (0..files.count).map(|i| files.size(i, 0)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn only_the_first_bytes_are_used_when_asked() {
        let files = files(0, Size::Total { bytes: 10 << 20, largest: 4 << 20 });
        let space = Space::of_files(&files, 1 << 20, Some(5 << 20)).unwrap();
        assert_eq!(space.blocks(), 5);
        assert_eq!(space.place(4), Place { file: 1, offset: 0, length: 1 << 20 });
    }

    #[test]
    fn a_device_is_cut_into_whole_blocks() {
        assert_eq!(Space::of_device(4096, 10_000).blocks(), 2);
    }
}
