//! The read buffer, and read-ahead.
//! In: what was read. Out: what need not be read again.
//!
//! There is one policy. A read's sectors go into a segment, and while the head is otherwise idle it reads on, until the segment holds as
//! much as it can after the latest requested sector. Sectors that pass before the first requested one are not kept. A read that starts in a
//! segment takes from it what is there. A new segment replaces the least recently used one.

/// Consecutive sectors in the buffer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Segment {
    pub start: u64,
    pub end: u64,
    used: u64,
}

/// An active read-ahead.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    pub segment: usize,
    /// When the head was at the start of the sector at the segment's end.
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

    /// The segment that contains this sector, or ends directly before it.
    pub fn find(&self, sector: u64) -> Option<usize> {
        let has = |segment: &Segment| segment.end > segment.start && (segment.start..=segment.end).contains(&sector);
        self.segments.iter().position(has)
    }

    pub fn get(&self, segment: usize) -> Segment {
        self.segments[segment]
    }

    /// Marks a segment as used, and extends read-ahead past `end`, the end of the request.
    pub fn hit(&mut self, segment: usize, end: u64) {
        self.uses += 1;
        self.segments[segment].used = self.uses;
        if let Some(stream) = self.stream.as_mut().filter(|stream| stream.segment == segment) {
            stream.limit = stream.limit.max(end + self.size);
        }
    }

    /// Sectors from `start` to `end` were read until `time`; then read-ahead starts.
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

    /// Read-ahead has reached `end`, whose start the head reached at `time`.
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
        // As much again is kept before the requested sectors, for repeated reads.
        segment.start = segment.start.max(segment.end.saturating_sub(2 * self.size));
    }

    fn oldest(&self) -> usize {
        let used = |at: &usize| self.segments[*at].used;
        (0..self.segments.len()).min_by_key(used).unwrap_or(0)
    }

    /// Drops overwritten sectors from the buffer.
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
