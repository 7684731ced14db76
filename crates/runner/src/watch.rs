//! News of a run in progress.
//! In: news from the runner. Out: whatever the watcher does with it (a progress display, a log, nothing).
//! The runner does not know how anything is shown.

use records::TrialRecord;
use std::time::Duration;

/// One piece of news.
#[derive(Debug)]
pub enum News<'a> {
    /// The run begins or is resumed.
    Began {
        /// Its id.
        run: &'a str,
        /// Maximum number of planned trials, and trials already in the ledger.
        trials: (usize, usize),
        /// Time of its budget that was spent before.
        spent: Duration,
    },
    /// A short remark that is neither a trial nor a result.
    Remark(&'a str),
    /// A contender takes no further part.
    ContenderOut {
        /// Its label.
        label: &'a str,
        /// Why, with the remedy.
        why: &'a str,
    },
    /// A trial begins.
    TrialBegan {
        /// Round, from 0.
        block: u32,
        /// Label of the contender.
        contender: &'a str,
        /// Name of the workload.
        workload: &'a str,
    },
    /// Another contender's turn begins, within a trial that began earlier.
    Turn {
        /// Label of the contender.
        contender: &'a str,
        /// Name of the workload.
        workload: &'a str,
    },
    /// The current step of a trial (making, mounting, a phase's title ...).
    Step(&'a str),
    /// Progress within a phase: items, of how many, bytes.
    Progress(u64, Option<u64>, u64),
    /// A trial ended and is in the ledger.
    TrialEnded {
        /// Label of the contender.
        contender: &'a str,
        /// The trial.
        trial: &'a TrialRecord,
        /// Trials done, and the maximum number planned.
        done: (usize, usize),
    },
    /// A round ended; the judge's decision about continuing.
    BlockEnded {
        /// Round, from 0.
        block: u32,
        /// As a sentence.
        decision: &'a str,
        /// All measurements so far.
        table: &'a judge::Table,
    },
}

/// A watcher of a run.
pub trait Watcher {
    /// Takes a piece of news.
    fn news(&mut self, news: News);
}

/// A watcher that ignores all news.
#[derive(Debug, Default)]
pub struct Unwatched;

impl Watcher for Unwatched {
    fn news(&mut self, _: News) {}
}
