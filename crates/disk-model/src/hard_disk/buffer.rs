//! The read buffer, and reading ahead.
//! In: what was read. Out: what need not be read again.
//!
//! The one policy: what a read asks for goes into a segment, and as long as the head has nothing else to do it goes on reading what follows, until the
//! segment holds as much as it can beyond what was asked for last. What passes before the first sector that was asked for is not kept. A read that begins in
//! a segment takes from it what is there; the segment that was used least lately makes room for a new one.

/// Sectors that follow each other in the buffer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Segment {
    pub start: u64,
    pub end: u64,
    used: u64,
}

/// The head reads ahead.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    pub segment: usize,
    /// When the head stood before the sector at the segment's end.
    pub time: u64,
    /// It stops before this sector.
    pub limit: u64,
}

/// All segments.
#[derive(Debug)]
pub(super) struct ReadBuffer {
    segments: Vec<Segment>,
    size: u64,
    uses: u64,
    pub stream: Option<Stream>,
}

impl ReadBuffer {
    pub fn new(segments: usize, size: u64) -> ReadBuffer {
        ReadBuffer { segments: vec![Segment::default(); segments], size, uses: 0, stream: None }
    }

    /// The segment that has this sector, or whose end it is.
    pub fn find(&self, sector: u64) -> Option<usize> {
        let has = |segment: &Segment| segment.end > segment.start && (segment.start..=segment.end).contains(&sector);
        self.segments.iter().position(has)
    }

    pub fn get(&self, segment: usize) -> Segment {
        self.segments[segment]
    }

    /// Marks a segment as used, and lets reading ahead go on beyond `end`, which was asked for.
    pub fn hit(&mut self, segment: usize, end: u64) {
        self.uses += 1;
        self.segments[segment].used = self.uses;
        if let Some(stream) = self.stream.as_mut().filter(|stream| stream.segment == segment) {
            stream.limit = stream.limit.max(end + self.size);
        }
    }

    /// Sectors from `start` to `end` were read until `time`; from here on the head reads ahead.
    pub fn read(&mut self, start: u64, end: u64, time: u64) {
        let segment = self.find(start).unwrap_or_else(|| self.oldest());
        let known = self.segments[segment];
        let begins =
            if known.end > known.start && (known.start..=known.end).contains(&start) { known.start } else { start };
        self.segments[segment] = Segment { start: begins, end, used: 0 };
        self.stream = Some(Stream { segment, time, limit: end + self.size });
        self.hit(segment, end);
        self.trim(segment);
    }

    /// Reading ahead came to `end`, before which the head stood at `time`.
    pub fn advance(&mut self, end: u64, time: u64) {
        if let Some(stream) = self.stream.as_mut() {
            stream.time = time;
            let segment = stream.segment;
            self.segments[segment].end = end;
            self.trim(segment);
        }
    }

    fn trim(&mut self, segment: usize) {
        let segment = &mut self.segments[segment];
        // As much again stays behind what was asked for, for readers that come back to it.
        segment.start = segment.start.max(segment.end.saturating_sub(2 * self.size));
    }

    fn oldest(&self) -> usize {
        let used = |at: &usize| self.segments[*at].used;
        (0..self.segments.len()).min_by_key(used).unwrap_or(0)
    }

    /// Sectors were written; what the buffer has of them is old.
    pub fn forget(&mut self, start: u64, end: u64) {
        for at in 0..self.segments.len() {
            let segment = &mut self.segments[at];
            if segment.start >= end || segment.end <= start {
                continue;
            }
            segment.end = start.max(segment.start);
            if self.stream.is_some_and(|stream| stream.segment == at) {
                self.stream = None;
            }
        }
    }
}
