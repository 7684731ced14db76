//! Every parser of what others wrote, behind one function of bytes each: what the fuzzer drives and the corpus test replays.
//! In: bytes. Out: nothing; what must hold is asserted, so that a parser that breaks a promise panics here.
//! A refusal is as good as an answer, as long as it says something and comes in bounded time and memory.

mod jobs;
mod language;
mod ledgers;
mod literature;
mod messages;
mod requests;
mod results;
pub mod seeds;
mod traces;

/// A parser, or a few that read the same form.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, and that of its folder in `fuzz/corpus`.
    pub name: &'static str,
    /// What is fed to it.
    pub run: fn(&[u8]),
    /// Largest input that is made for it, in bytes: large ones are slow, and say little that smaller ones do not.
    pub largest: usize,
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target { name: "plan", run: language::plan, largest: 2048 },
    Target { name: "contenders", run: language::contenders, largest: 2048 },
    Target { name: "workload", run: language::workload, largest: 4096 },
    Target { name: "age", run: language::age, largest: 1024 },
    Target { name: "filesystem", run: language::filesystem, largest: 4096 },
    Target { name: "options", run: language::options, largest: 512 },
    Target { name: "words", run: language::words, largest: 128 },
    Target { name: "fio", run: results::fio, largest: 4096 },
    Target { name: "jobs", run: jobs::file, largest: 4096 },
    Target { name: "bonnie", run: results::bonnie, largest: 2048 },
    Target { name: "dd", run: results::dd, largest: 2048 },
    Target { name: "portable", run: ledgers::portable, largest: 8192 },
    Target { name: "ledger", run: ledgers::file, largest: 131_072 },
    Target { name: "rows", run: ledgers::rows, largest: 1024 },
    Target { name: "histogram", run: ledgers::histogram, largest: 4096 },
    Target { name: "literature", run: literature::all, largest: 2048 },
    Target { name: "messages", run: messages::lines, largest: 4096 },
    Target { name: "request", run: requests::head, largest: 1024 },
    Target { name: "trace", run: traces::lines, largest: 4096 },
];

/// A refusal in words: one line or a few, never nothing and never the whole input again.
fn assert_said(what: &str, refusal: &str) {
    assert!(!refusal.trim().is_empty(), "{what} was refused without a word");
    assert!(refusal.len() <= MOST_SAID, "the refusal of {what} has {} bytes", refusal.len());
}

/// Longest refusal, in bytes.
const MOST_SAID: usize = 4096;
