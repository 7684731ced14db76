//! Every pair of contenders of a run, as numbers that can be pooled over runs.
//! In: a table. Out: a [`Pair`] for each operation and two contenders that are ranked together.
//! The evidence is the same as that of the table's own verdict.

use crate::evidence::Evidence;
use crate::rank::Fit;
use crate::series::Series;
use crate::table::{Table, TableError};

/// Most contenders of an operation that are compared in pairs.
pub const MOST_PAIRED: usize = 32;

/// Two contenders in one operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// Index into [`Table::operations`].
    pub operation: usize,
    /// Indices into [`Table::contenders`], the lower one first.
    pub contenders: [usize; 2],
    /// Natural logarithm of how many times worse the second is.
    pub log: f64,
    /// Standard error of that.
    pub error: f64,
    /// Degrees of freedom of the standard error.
    pub df: f64,
    /// Blocks (or pairs of samples) that it is based on.
    pub samples: usize,
}

/// Compares the contenders of a table in pairs: the first [`MOST_PAIRED`] of each operation. Secondary figures are left out, and so are
/// pairs with too few samples for an interval.
///
/// # Errors
/// The table contradicts itself or passes a limit.
pub fn pairs(table: &Table) -> Result<Vec<Pair>, TableError> {
    table.check()?;
    let series: Vec<Series> = table.cells.iter().map(Series::of).collect();
    let fit = Fit::of(table, &series);
    let mut pairs = Vec::new();
    for (at, row) in fit.rows.iter().enumerate().filter(|(_, row)| !row.secondary) {
        let members: Vec<_> = row.ranked().take(MOST_PAIRED).collect();
        for (place, first) in members.iter().enumerate() {
            for second in &members[place + 1..] {
                let prior = fit.scatter.prior(at, first.contender, second.contender);
                let Some(found) = Evidence::of(first, second, prior) else { continue };
                let contenders = [first.contender, second.contender];
                let Evidence { log, error, df, samples, .. } = found;
                pairs.push(Pair { operation: row.operation, contenders, log, error, df, samples });
            }
        }
    }
    Ok(pairs)
}
