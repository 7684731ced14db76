//! The end of what a stream says, for error messages.
//! In: a stream, which a thread reads to its end, so that whoever writes to it never waits. Out: its last bytes, as text.
//! However much is said, no more is kept than was asked for.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The last bytes of a stream.
#[derive(Debug, Clone)]
pub struct Tail {
    kept: Arc<Mutex<VecDeque<u8>>>,
    ended: Arc<AtomicBool>,
}

impl Tail {
    /// Reads a stream to its end, and keeps its last `most` bytes.
    pub fn of(stream: impl Read + Send + 'static, most: usize) -> Tail {
        let tail = Tail { kept: Arc::default(), ended: Arc::default() };
        let reading = tail.clone();
        std::thread::spawn(move || reading.read(stream, most));
        tail
    }

    fn read(&self, mut stream: impl Read, most: usize) {
        let mut part = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut part) {
            let mut kept = self.kept.lock().unwrap_or_else(|poison| poison.into_inner());
            kept.extend(&part[..count]);
            let surplus = kept.len().saturating_sub(most);
            kept.drain(..surplus);
        }
        self.ended.store(true, Ordering::Release);
    }

    /// The last `most` bytes of what was kept; what is no text is shown as such.
    pub fn last(&self, most: usize) -> String {
        let kept = self.kept.lock().unwrap_or_else(|poison| poison.into_inner());
        let bytes: Vec<u8> = kept.iter().skip(kept.len().saturating_sub(most)).copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Everything that was kept.
    pub fn text(&self) -> String {
        self.last(usize::MAX)
    }

    /// Whether the stream has ended, so that nothing more is on its way.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_stream_its_end_is_kept() {
        let tail = Tail::of(&[b"x".repeat(100_000), b"the end".to_vec()].concat().leak()[..], 9);
        while !tail.has_ended() {
            std::thread::yield_now();
        }
        assert_eq!((tail.text().as_str(), tail.last(3).as_str()), ("xxthe end", "end"));
    }
}
