//! The end of a stream, for error messages.
//! In: a stream, which a thread reads to its end, so that its writer never blocks. Out: its last bytes, as text.
//! However long the stream, no more than the requested size is kept.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Polling interval for the end of the stream.
const LOOK: Duration = Duration::from_millis(1);

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

    /// The last `most` bytes of what was kept; invalid UTF-8 is shown as replacement characters.
    pub fn last(&self, most: usize) -> String {
        let kept = self.kept.lock().unwrap_or_else(|poison| poison.into_inner());
        let bytes: Vec<u8> = kept.iter().skip(kept.len().saturating_sub(most)).copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Everything that was kept.
    pub fn text(&self) -> String {
        self.last(usize::MAX)
    }

    /// All kept text once the stream has ended: its last bytes may arrive after the writer's exit. A process that still has the stream open
    /// keeps it from ending, so this waits no longer than `limit`.
    pub fn text_at_end(&self, limit: Duration) -> String {
        let end = Instant::now() + limit;
        while !self.has_ended() && Instant::now() < end {
            std::thread::sleep(LOOK);
        }
        self.text()
    }

    /// Whether the stream has ended, so that no more bytes arrive.
    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_stream_its_end_is_kept() {
        let tail = Tail::of(&[b"x".repeat(100_000), b"the end".to_vec()].concat().leak()[..], 9);
        assert_eq!((tail.text_at_end(Duration::from_secs(60)).as_str(), tail.last(3).as_str()), ("xxthe end", "end"));
    }

    #[test]
    fn a_stream_that_another_process_keeps_open_is_not_waited_for() {
        let (stream, mut writer) = std::io::pipe().expect("a pipe");
        let tail = Tail::of(stream, 9);
        std::io::Write::write_all(&mut writer, b"words").expect("written");
        let text = tail.text_at_end(Duration::from_millis(200));
        assert!(!tail.has_ended() && "words".starts_with(&text), "{text}");
    }
}
