//! What is too short to rank: a phase of one item, such as one mkdir, that takes a few milliseconds on every contender, and what a workload
//! declares so.
//! In: the durations in a table's cells. Out: the operations whose figures are shown without a rank.
//! One wake-up of a process or one seek changes such a figure by half, and no user waits for it. A phase of many items is ranked however
//! short it is: its figure is a mean, and its rounds show how far it scatters. Programs of the user are ranked, too.

use crate::table::{Cell, Operation, Table};
use std::collections::BTreeSet;

/// One item is ranked from this many seconds on. `hyperfine` gives its warning about inaccurate results below the same limit.
const RANKED_FROM: f64 = 0.005;
/// The note on such a figure.
pub const WORDS: &str = "too short to rank";

/// Indices of the operations of a table that are too short to rank.
pub fn operations(table: &Table) -> BTreeSet<usize> {
    let of = |operation: usize| table.cells.iter().filter(move |cell| cell.operation == operation);
    let short = |&at: &usize| is_too_short(&table.operations[at], of(at));
    (0..table.operations.len()).filter(short).collect()
}

/// Whether these cells of one operation are too short to be compared.
pub fn is_too_short<'a>(operation: &Operation, cells: impl Iterator<Item = &'a Cell>) -> bool {
    let seconds: Option<Vec<f64>> =
        cells.filter(|cell| !cell.samples.is_empty()).map(|cell| cell.facts.one_item_seconds).collect();
    operation.unranked || seconds.is_some_and(|all| !all.is_empty() && all.iter().all(|seconds| *seconds < RANKED_FROM))
}
