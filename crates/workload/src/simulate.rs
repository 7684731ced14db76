//! Simulates the files of a workload through its phases.
//! In: groups in order, each simulated by its kind of work. Out: items and bytes of each, or why it cannot be done.
//! Only numbers are kept, so a workload of 2^40 files takes no longer.

use crate::error::Problem;
use crate::fileset::{self, mean_bytes, most_bytes};
use crate::program::{Fileset, Group, Layout, Step, any};
use std::collections::BTreeMap;

/// The work of a group, all its workers together, one pass.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub items: u64,
    pub bytes_written: u64,
    pub bytes_read: u64,
}

/// State of one fileset at one moment, for each owner.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct State {
    /// Existing files: those with the lowest numbers.
    pub files: u64,
    /// Bytes from the start, end to end, that were written, if the fileset is used by blocks.
    pub bytes: Option<u64>,
    /// Owners: more than one for a fileset per worker.
    pub owners: u64,
    /// Its directories exist.
    pub directories: bool,
}

pub(crate) struct World<'a> {
    pub filesets: &'a [Fileset],
    pub states: Vec<State>,
    /// Files, mean bytes and most bytes that were renamed into directories outside all filesets.
    pub elsewhere: (u64, u64, u64),
    /// The root was prepared for snapshots.
    pub prepared: bool,
    /// Snapshots by number, with the state of the files in each.
    pub snapshots: BTreeMap<u64, Vec<State>>,
    /// Number of the lost device.
    pub lost: Option<u64>,
}

impl<'a> World<'a> {
    pub fn new(filesets: &'a [Fileset]) -> Self {
        let there =
            |fileset: &Fileset| fileset.directory.is_empty() && fileset.layout == Layout::Flat && !fileset.per_worker;
        let states =
            filesets.iter().map(|fileset| State { directories: there(fileset), owners: 1, ..State::default() });
        World {
            filesets,
            states: states.collect(),
            elsewhere: (0, 0, 0),
            prepared: false,
            snapshots: BTreeMap::new(),
            lost: None,
        }
    }

    /// Directories of all filesets, whether they exist yet or not.
    pub fn directories(&self) -> u64 {
        let each = |(fileset, state): (&Fileset, &State)| fileset::directories(fileset).saturating_mul(state.owners);
        self.filesets.iter().zip(&self.states).map(each).fold(0, u64::saturating_add)
    }

    /// Files, mean bytes and most bytes that exist now.
    pub fn present(&self) -> (u64, u64, u64) {
        let mut sum = self.elsewhere;
        for (fileset, state) in self.filesets.iter().zip(&self.states) {
            let mean = state.bytes.unwrap_or_else(|| mean_bytes(fileset, state.files));
            let most = state.bytes.unwrap_or_else(|| most_bytes(fileset, state.files));
            sum.0 = sum.0.saturating_add(state.files.saturating_mul(state.owners));
            sum.1 = sum.1.saturating_add(mean.saturating_mul(state.owners));
            sum.2 = sum.2.saturating_add(most.saturating_mul(state.owners));
        }
        sum
    }

    /// Owners of a fileset, as found or set by a group with its workers.
    pub fn owners(&mut self, group: &Group, index: usize) -> u64 {
        if self.filesets[index].per_worker {
            self.states[index].owners = u64::from(group.workers);
        }
        self.states[index].owners
    }
}

/// The error for a range beyond the existing items.
pub(crate) fn beyond(group: &Group, there: u64, what: &str, name: &str) -> Problem {
    let last = group.first.saturating_add(group.count.unwrap_or(1));
    Problem::new(format!(
        "it uses {what} {} to {} of fileset `{name}`, which has {there}",
        group.first,
        last.saturating_sub(1)
    ))
    .help("use fewer files: lower `count` or `first`")
}

/// Whether files are created.
pub(crate) fn creates(steps: &[Step]) -> bool {
    any(steps, &|step| matches!(step, Step::Create | Step::LinkTmpfile))
}

/// Whether files are removed or moved by the steps.
pub(crate) fn leaves_less(steps: &[Step]) -> bool {
    share_left(steps, 1.0) < 1.0 || any(steps, &|step| *step == Step::Rmdir)
}

/// Share of the items that are still in their fileset after the steps.
pub(crate) fn share_left(steps: &[Step], mut left: f64) -> f64 {
    for step in steps {
        left = match step {
            Step::Unlink | Step::Rename(_) => 0.0,
            Step::Create | Step::LinkTmpfile => 1.0,
            Step::Share(percent, inner) => {
                let share = f64::from(*percent) / 100.0;
                left * (1.0 - share) + share_left(inner, left) * share
            }
            _ => left,
        };
    }
    left
}

/// How often a step is done per item, with shares counted as fractions.
pub(crate) fn times(steps: &[Step], wanted: &Step) -> f64 {
    let each = |step: &Step| match step {
        Step::Share(percent, inner) => f64::from(*percent) / 100.0 * times(inner, wanted),
        step if step == wanted => 1.0,
        _ => 0.0,
    };
    steps.iter().map(each).sum()
}
