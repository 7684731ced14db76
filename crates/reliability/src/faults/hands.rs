//! Reads and writes while the disk is faulty, and inspects the result. Works on a mounted root and does not know the disk below.
//! In: a root, and a callback before each call. Out: what was read and [`Worked`], and the final inspection, [`Looked`].
//!
//! Runs in this process, or in a process next to a remote stage.

use super::files::{self, Counts};
use super::work::{self, Worked};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::{Duration, Instant};

/// Files found on the repaired disk.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Looked {
    /// The original files.
    pub after: Counts,
    /// The acknowledged files.
    pub kept: Counts,
}

/// Reads every n-th file, and then works. `lives` is called before each call and returns whether to make it.
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

/// Inspects all original files and the acknowledged ones.
pub(crate) fn look(root: &Path, acknowledged: &[u32]) -> Looked {
    let kept: Vec<files::Known> = acknowledged.iter().map(|number| work::made(root, *number)).collect();
    Looked { after: files::look(&files::all(root)), kept: files::look(&kept) }
}
