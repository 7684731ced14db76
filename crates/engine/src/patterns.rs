//! Data that compresses as text or logs do: a stock of either, from which grains are copied.
//! In: a pattern, a place in its stock, a key. Out: bytes that no other key has.
//! The stocks follow from nothing but this code, so the same work writes the same bytes on every machine.

use crate::hash::{below, mix};
use std::io::Write;
use std::sync::OnceLock;
use workload::program::Pattern;

/// Length of a stock, in bytes: many times what compressors of filesystems see at once (128 KiB by default).
const LENGTH: usize = 4 << 20;
/// Words of the made-up language, as a power of two.
const WORDS_LOG2: u64 = 13;
/// Digits of the key that every grain begins with, so that no two are the same.
const MARK: usize = 16;

/// The stock of a pattern, made when first asked for; this takes some 30 ms.
pub fn stock(pattern: Pattern) -> &'static [u8] {
    static TEXT: OnceLock<Vec<u8>> = OnceLock::new();
    static LOGS: OnceLock<Vec<u8>> = OnceLock::new();
    match pattern {
        Pattern::Text => TEXT.get_or_init(text),
        Pattern::Logs => LOGS.get_or_init(logs),
    }
}

/// Fills the beginning of a grain from the stock, at a place that may be of any size, and marks it with its key.
pub fn fill(out: &mut [u8], stock: &[u8], at: u64, key: u64) {
    let at = (at % stock.len() as u64) as usize;
    let first = out.len().min(stock.len() - at);
    out[..first].copy_from_slice(&stock[at..at + first]);
    let rest = out.len() - first;
    out[first..].copy_from_slice(&stock[..rest]);
    let mut mark = [0; MARK];
    // Sixteen hexadecimal digits always fit.
    let _ = write!(&mut mark[..], "{key:016x}");
    let marked = out.len().min(MARK);
    out[..marked].copy_from_slice(&mark[..marked]);
}

/// Random numbers from a counter.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 += 1;
        below(mix(self.0), bound)
    }

    /// A rank below 2^`bits`; rank n is drawn in proportion to 1/n (Zipf's law).
    fn rank(&mut self, bits: u64) -> u64 {
        let octave = self.below(bits);
        (1 << octave) + self.below(1 << octave)
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// A word by its rank: frequent ones are short.
fn word(rank: u64) -> String {
    let mut draws = Draws(rank << 16);
    let syllables = 1 + (rank.ilog2() as u64 + draws.below(4)) / 5;
    let mut word = String::new();
    for _ in 0..syllables {
        word += draws.of(&["b", "c", "d", "f", "g", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr", "th", "w"]);
        word += draws.of(&["a", "e", "i", "o", "u", "ea", "ou"]);
    }
    word + draws.of(&["", "", "n", "s", "r", "ed", "t"])
}

/// Paragraphs of sentences.
fn text() -> Vec<u8> {
    let words: Vec<String> = (0..1 << WORDS_LOG2).map(|rank: u64| word(rank.max(1))).collect();
    let mut draws = Draws(0x7465_7874 << 32);
    let mut out = String::with_capacity(LENGTH + 4096);
    while out.len() < LENGTH {
        for place in 0..6 + draws.below(14) {
            let word = &words[draws.rank(WORDS_LOG2) as usize];
            match place {
                0 => out.extend(word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1))),
                _ => out.push_str(word),
            }
            out.push_str(if draws.below(9) == 0 { ", " } else { " " });
        }
        out.push_str(&words[draws.rank(WORDS_LOG2) as usize]);
        out.push_str(if draws.below(6) == 0 { ".\n\n" } else { ". " });
    }
    out.truncate(LENGTH);
    out.into_bytes()
}

/// Lines of a web server in the combined format.
fn logs() -> Vec<u8> {
    let mut draws = Draws(0x6c6f_6773 << 32);
    let mut out = Vec::with_capacity(LENGTH + 4096);
    let mut seconds = 0;
    while out.len() < LENGTH {
        seconds += draws.below(3);
        let client = mix(draws.rank(12));
        let path = match draws.below(10) {
            0..4 => format!("/static/{}.{}", word(draws.rank(8)), draws.of(&["js", "css", "png", "svg"])),
            4..8 => format!("/api/v1/{}/{}", draws.of(&["orders", "users", "items", "carts"]), draws.rank(16)),
            _ => format!("/search?q={}&page={}", word(draws.rank(WORDS_LOG2)), draws.rank(4)),
        };
        let method = draws.of(&["GET", "GET", "GET", "GET", "HEAD", "POST"]);
        let status = draws.of(&["200", "200", "200", "200", "200", "304", "302", "404", "500"]);
        let agent = draws.of(&[
            "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)",
            "curl/8.8.0",
        ]);
        // Writing to memory does not fail.
        let _ = writeln!(
            out,
            "10.{}.{}.{} - - [14/Mar/2026:{:02}:{:02}:{:02} +0000] \"{method} {path} HTTP/1.1\" {status} {} \"-\" \"{agent}\"",
            client >> 48 & 7,
            client >> 40 & 255,
            client >> 32 & 255,
            seconds / 3600 % 24,
            seconds / 60 % 60,
            seconds % 60,
            draws.rank(16),
        );
    }
    out.truncate(LENGTH);
    out
}
