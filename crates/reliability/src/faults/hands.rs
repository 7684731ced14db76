//! Whoever reads and writes while the disk is harmed, and looks at what is left: with a root at hand, and without a word of the disk below.
//! In: a root, and whoever is told that it lives. Out: what was read and [`Worked`], and what was [`Looked`] at afterwards.
//!
//! It works in this process, or in one beside a stage elsewhere.

use super::files::{self, Counts};
use super::work::{self, Worked};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::{Duration, Instant};

/// What stands there once the disk is whole again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Looked {
    /// Of the files that stood there before.
    pub after: Counts,
    /// Of those that had been acknowledged.
    pub kept: Counts,
}

/// Reads every so manyth file, and then works. `lives` is told before each call, and answers whether to make it.
pub(crate) fn at_work(root: &Path, every: usize, lives: &mut dyn FnMut() -> bool) -> Worked {
    let (mut read, mut slowest) = (Counts::default(), Duration::ZERO);
    for known in files::all(root).iter().step_by(every) {
        if lives() {
            let began = Instant::now();
            read.add(files::look([known]));
            slowest = slowest.max(began.elapsed());
        }
    }
    let worked = work::work(root, lives);
    Worked { read, slowest: slowest.max(worked.slowest), ..worked }
}

/// Looks at all files that stood there, and at those that were acknowledged.
pub(crate) fn look(root: &Path, acknowledged: &[u32]) -> Looked {
    let kept: Vec<files::Known> = acknowledged.iter().map(|number| work::made(root, *number)).collect();
    Looked { after: files::look(&files::all(root)), kept: files::look(&kept) }
}
