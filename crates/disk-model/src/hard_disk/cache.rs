//! The write cache: data that was acknowledged and is not on the platters yet.
//! In: writes. Out: one piece after the other; of those near the head, the one with the shortest positioning time.
//!
//! Its capacity is a number of sectors and a number of pieces. A write that continues a piece extends it. A write over cached data replaces
//! it and keeps its age, so that a flush that waits for the old data waits for the new.

use std::collections::{BTreeMap, BTreeSet};

/// Largest size of a piece in sectors: a read that arrives during its write waits for all of it.
const LONGEST: u64 = 512;

/// A piece of the cache; its first sector is the key in [`WriteCache::pieces`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub end: u64,
    /// The number of the first write in it.
    pub number: u64,
    /// When its last data arrived in the cache.
    pub since: u64,
}

/// The cache.
#[derive(Debug)]
pub(super) struct WriteCache {
    size: u64,
    most: usize,
    sectors: u64,
    pieces: BTreeMap<u64, Piece>,
    by_number: BTreeSet<(u64, u64)>,
    /// The piece being written, and its first sector.
    writing: Option<(u64, Piece)>,
    next_number: u64,
}

impl WriteCache {
    pub fn new(size: u64, most: usize) -> WriteCache {
        let (pieces, by_number) = (BTreeMap::new(), BTreeSet::new());
        WriteCache { size, most, sectors: 0, pieces, by_number, writing: None, next_number: 0 }
    }

    /// Whether it can ever hold this much.
    pub fn takes(&self, sectors: u64) -> bool {
        sectors <= self.size
    }

    /// Whether it has space now.
    pub fn has_room(&self, sectors: u64) -> bool {
        self.sectors + sectors <= self.size && self.pieces.len() + usize::from(self.writing.is_some()) < self.most
    }

    /// Whether it is more than half full.
    pub fn is_half_full(&self) -> bool {
        2 * self.sectors > self.size || 2 * self.pieces.len() > self.most
    }

    /// The number of the next write.
    pub fn next_number(&self) -> u64 {
        self.next_number
    }

    /// Whether all writes with lower numbers are on the platters.
    pub fn is_clean_before(&self, number: u64) -> bool {
        let cached = self.by_number.first().is_some_and(|(first, _)| *first < number);
        !cached && self.writing.is_none_or(|(_, writing)| writing.number >= number)
    }

    /// Whether one piece, possibly the one being written, contains all of these sectors.
    pub fn has(&self, start: u64, end: u64) -> bool {
        let is_in = |(from, piece): (u64, Piece)| from <= start && piece.end >= end;
        let near = self.pieces.range(..=start).next_back().map(|(from, piece)| (*from, *piece));
        near.into_iter().chain(self.writing).any(is_in)
    }

    /// The oldest piece.
    pub fn oldest(&self) -> Option<(u64, Piece)> {
        self.by_number.first().map(|(_, start)| (*start, self.pieces[start]))
    }

    fn insert(&mut self, start: u64, piece: Piece) {
        self.sectors += piece.end - start;
        self.by_number.insert((piece.number, start));
        self.pieces.insert(start, piece);
    }

    fn remove(&mut self, start: u64) -> Option<Piece> {
        let piece = self.pieces.remove(&start)?;
        self.by_number.remove(&(piece.number, start));
        self.sectors -= piece.end - start;
        Some(piece)
    }

    /// Adds a write, which has fully arrived at `since`.
    pub fn add(&mut self, start: u64, end: u64, since: u64) {
        let mut new = Piece { end, number: self.next_number, since };
        self.next_number += 1;
        while let Some((at, old)) = self.pieces.range(..end).next_back().map(|(at, old)| (*at, *old)) {
            if old.end <= start {
                break;
            }
            self.remove(at);
            new.number = new.number.min(old.number);
            if old.end > end {
                self.insert(end, old);
            }
            if at < start {
                self.insert(at, Piece { end: start, ..old });
            }
        }
        self.join(start, new);
    }

    fn join(&mut self, start: u64, new: Piece) {
        let before = self.pieces.range(..start).next_back().map(|(at, old)| (*at, *old));
        match before.filter(|(at, old)| old.end == start && new.end - at <= LONGEST) {
            Some((at, old)) => {
                self.remove(at);
                self.insert(at, Piece { end: new.end, number: old.number.min(new.number), since: new.since });
            }
            None => self.insert(start, new),
        }
    }

    /// The pieces nearest to a sector, half of them at or after it and half before it, that have fully arrived and have numbers below `before`.
    pub fn near(&self, sector: u64, window: usize, now: u64, before: u64) -> impl Iterator<Item = (u64, Piece)> {
        let behind = self.pieces.range(sector..).take(window / 2);
        let ahead = self.pieces.range(..sector).rev().take(window / 2);
        let is_good = move |piece: &Piece| piece.since <= now && piece.number < before;
        behind.chain(ahead).map(|(start, piece)| (*start, *piece)).filter(move |(_, piece)| is_good(piece))
    }

    /// Removes a piece, to write it.
    pub fn begin(&mut self, start: u64) -> Option<Piece> {
        let piece = self.remove(start)?;
        self.sectors += piece.end - start;
        self.writing = Some((start, piece));
        Some(piece)
    }

    /// The piece being written is on the platters.
    pub fn finish(&mut self) {
        if let Some((start, piece)) = self.writing.take() {
            self.sectors -= piece.end - start;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(cache: &WriteCache) -> Vec<(u64, u64, u64)> {
        cache.pieces.iter().map(|(start, piece)| (*start, piece.end, piece.number)).collect()
    }

    #[test]
    fn an_adjacent_write_joins_and_an_overlapping_one_replaces() {
        let mut cache = WriteCache::new(10_000, 10);
        cache.add(100, 200, 1);
        cache.add(200, 300, 2);
        assert_eq!(pieces(&cache), [(100, 300, 0)]);
        cache.add(150, 160, 3);
        assert_eq!(pieces(&cache), [(100, 160, 0), (160, 300, 0)]);
        cache.add(0, 1000, 4);
        assert_eq!((pieces(&cache), cache.sectors), (vec![(0, 1000, 0)], 1000));
        cache.add(1000, 1001, 5);
        assert_eq!(pieces(&cache).len(), 2, "a piece grows only so far");
    }

    #[test]
    fn room_is_of_sectors_and_of_pieces_and_comes_back_when_they_are_written() {
        let mut cache = WriteCache::new(100, 2);
        cache.add(0, 60, 0);
        assert!(cache.has_room(40) && !cache.has_room(41) && !cache.takes(101));
        cache.add(70, 80, 0);
        assert!(!cache.has_room(1), "two pieces are all");
        let piece = cache.begin(0).expect("it is there");
        assert_eq!((piece.end, cache.has_room(1), cache.is_clean_before(1)), (60, false, false));
        cache.finish();
        assert!(cache.has_room(90) && cache.is_clean_before(1) && !cache.is_clean_before(2));
    }

    #[test]
    fn the_window_is_bounded_and_looks_both_ways() {
        let mut cache = WriteCache::new(100_000, 100);
        (0..50).for_each(|at| cache.add(at * 1000, at * 1000 + 8, at));
        let near: Vec<u64> = cache.near(20_000, 6, 100, u64::MAX).map(|(start, _)| start / 1000).collect();
        assert_eq!(near, [20, 21, 22, 19, 18, 17]);
        let near: Vec<u64> = cache.near(20_000, 6, 100, 20).map(|(start, _)| start / 1000).collect();
        assert_eq!(near, [19, 18, 17]);
        let near: Vec<u64> = cache.near(20_000, 6, 20, u64::MAX).map(|(start, _)| start / 1000).collect();
        assert_eq!(near, [20, 19, 18, 17]);
    }
}
