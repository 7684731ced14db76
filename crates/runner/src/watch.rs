//! What a run tells about itself while it goes on.
//! In: news from the runner. Out: whatever the watcher makes of it (a progress display, a log, nothing).
//! The runner does not know how anything is shown.

use records::TrialRecord;

/// One piece of news.
#[derive(Debug)]
pub enum News<'a> {
    /// The run begins or goes on.
    Began {
        /// Its id.
        run: &'a str,
        /// Trials planned at most, and trials already in the ledger.
        trials: (usize, usize),
    },
    /// Something that is neither a trial nor a result, in few words.
    Remark(&'a str),
    /// A contender takes no part (any more).
    ContenderOut {
        /// Its label.
        label: &'a str,
        /// Why, with the way out.
        why: &'a str,
    },
    /// A trial begins.
    TrialBegan {
        /// Block, from 0.
        block: u32,
        /// Label of the contender.
        contender: &'a str,
        /// Name of the workload.
        workload: &'a str,
    },
    /// Another contender's turn begins, within a trial that began before.
    Turn {
        /// Label of the contender.
        contender: &'a str,
        /// Name of the workload.
        workload: &'a str,
    },
    /// A trial is at this step (making, mounting, a phase's title ...).
    Step(&'a str),
    /// Progress within a phase: items, of how many, bytes.
    Progress(u64, Option<u64>, u64),
    /// A trial ended and is in the ledger.
    TrialEnded {
        /// Label of the contender.
        contender: &'a str,
        /// The trial.
        trial: &'a TrialRecord,
        /// Trials done, and planned at most.
        done: (usize, usize),
    },
    /// A block ended; what the judge says of going on.
    BlockEnded {
        /// Block, from 0.
        block: u32,
        /// In a sentence.
        decision: &'a str,
        /// Everything that was measured so far.
        table: &'a judge::Table,
    },
}

/// Somebody who watches a run, and may stop it.
pub trait Watcher {
    /// Takes a piece of news.
    fn news(&mut self, news: News);
}

/// A watcher that does nothing with what it hears.
#[derive(Debug, Default)]
pub struct Unwatched;

impl Watcher for Unwatched {
    fn news(&mut self, _: News) {}
}
