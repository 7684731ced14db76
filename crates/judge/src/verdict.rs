//! The answer to "which one shall I take?", as data.
//! In: made by [`crate::answer`]. Out: read by reports.
//! Indices point into the table that was judged.

use crate::table::Backend;
use serde::{Deserialize, Serialize};

/// The answer of a table: one for each backend and age, the one with most contenders first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Contenders that were ranked together.
    pub groups: Vec<GroupAnswer>,
    /// How reliable all of it is.
    pub confidence: Confidence,
    /// What would settle the open comparisons.
    pub open: Remaining,
}

/// The answer among contenders that are ranked together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupAnswer {
    /// Where their kernel ran.
    pub backend: Backend,
    /// The age of their filesystems; empty: fresh.
    pub age: String,
    /// All of them, those that keep data as expected first, then by the bound of their worst shortfall.
    pub order: Vec<usize>,
    /// Which to take over all workloads: among those that keep data as expected, or among all if none does. `None` if there is no result or
    /// one contender only. The only contender that keeps data as expected has no rival and no shortfall.
    pub take: Option<Choice>,
    /// The contender with the smallest worst ratio to the best as measured so far, and that ratio: a substitute where samples allow no
    /// bound. `None` if no contender was measured in every row.
    pub leading: Option<(usize, f64)>,
    /// The largest shortfall of the chosen contender in any single operation, where workloads were chosen by their sums.
    pub furthest: Option<Shortfall>,
    /// The same within each class of durability that has two contenders or more, the safest first.
    pub by_class: Vec<Choice>,
    /// The answer for each workload, in the table's order.
    pub workloads: Vec<WorkloadAnswer>,
    /// Contenders that are far behind somewhere, the worst first.
    pub avoid: Vec<Avoid>,
    /// Contenders that keep data less safely than the chosen one, and by how much they are faster somewhere.
    pub less_safe: Vec<LessSafe>,
    /// Contenders that could do nothing of some rows which others could do.
    pub cannot: Vec<Cannot>,
    /// The candidates of the choice: those that can do all of it and keep data as expected.
    pub able: Vec<usize>,
}

impl GroupAnswer {
    /// Whether the chosen contender is the only one of several that can do all of it and keeps data as expected: then speed did not decide.
    pub fn is_alone(&self) -> bool {
        self.take.is_some() && self.able.len() == 1 && self.order.len() > 1
    }

    /// Whether a contender was not a candidate because of something that it cannot do.
    pub fn is_for_the_able(&self) -> bool {
        self.cannot.iter().any(|one| !self.able.contains(&one.contender))
    }
}

/// A contender that could do nothing of some rows which others could do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cannot {
    /// Which.
    pub contender: usize,
    /// The rows.
    pub operations: Vec<usize>,
    /// Where it is furthest ahead of the chosen one; `None` if it is ahead nowhere.
    pub operation: Option<usize>,
    /// How many times faster there.
    pub ratio: f64,
}

/// The answer for one workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadAnswer {
    /// Its name.
    pub workload: String,
    /// Which to take for it.
    pub take: Option<Choice>,
    /// Whether the chosen one is the only one of several that can do all of it.
    pub alone: bool,
    /// The operation that is the sum of the others, where there is one: an index into [`crate::Table::operations`].
    pub summary: Option<usize>,
}

/// Which contender to take: the one whose worst shortfall against the best has the smallest upper bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The class within which it was chosen; `None`: among several classes.
    pub class: Option<SafetyClass>,
    /// Which contender to take, and how far it can be behind.
    pub shortfall: Shortfall,
    /// Whether another choice could be better.
    pub certainty: Certainty,
    /// Contenders whose worst shortfall may be smaller.
    pub rivals: Vec<usize>,
}

/// How far one contender is behind the best where it is furthest behind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Shortfall {
    /// Which contender.
    pub contender: usize,
    /// The operation in which the bound is reached.
    pub operation: usize,
    /// How many times slower than the best it was in its worst row; 1 for the best.
    pub ratio: f64,
    /// Upper bound of that, with 95 %; infinite where samples allow no bound.
    pub at_most: f64,
    /// Upper bound at another time, with 95 %: where the table has one session, with the assumed component between times
    /// ([`crate::ANOTHER_TIME`]); with several sessions the same as `at_most`, which covers it.
    pub at_most_later: f64,
    /// Lower bound of its largest shortfall: likely.
    pub at_least: f64,
    /// Lower bound of its largest shortfall: beyond doubt.
    pub at_least_proven: f64,
}

/// How certain a choice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// Another one may be as good or better.
    Open,
    /// Every other one is further behind somewhere than this one can be anywhere, each by its 95 % interval.
    Likely,
    /// The same by the table's 5 %.
    BeyondDoubt,
}

/// A contender to avoid.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Avoid {
    /// Which.
    pub contender: usize,
    /// Where it is furthest behind.
    pub operation: usize,
    /// How many times slower than the best.
    pub ratio: f64,
    /// Beyond doubt, or likely.
    pub certainty: Certainty,
}

/// A contender that keeps data less safely than the one to take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LessSafe {
    /// Which.
    pub contender: usize,
    /// Its class.
    pub class: SafetyClass,
    /// Where it is furthest ahead; `None` where it is ahead nowhere.
    pub operation: Option<usize>,
    /// How many times faster there.
    pub ratio: f64,
}

/// The durability of a contender, in one word. Later is safer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SafetyClass {
    /// Flushes do not reach the device: a crash can lose what fsync promised, and damage the filesystem.
    NoFlushes,
    /// Data is not ordered: a crash can lose or mix up recent contents of files.
    Unordered,
    /// Not known.
    Unknown,
    /// Data is ordered.
    Ordered,
    /// Data is ordered and checksummed.
    Checksummed,
}

/// How reliable an answer is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Confidence {
    /// In one word.
    pub grade: Grade,
    /// Fewest and most samples of a figure.
    pub samples: (usize, usize),
    /// Figures with disturbed samples, and all figures.
    pub disturbed: (usize, usize),
    /// Lines that were corrected for processor time which the hypervisor took away, and all lines.
    #[serde(default)]
    pub corrected: (usize, usize),
    /// Median over the figures of the relative standard deviation, a share.
    pub noise: Option<f64>,
    /// Sessions that have samples, at least 1.
    pub sessions: usize,
    /// Standard deviation between sessions of the logarithm of a ratio, a share; `None` with one session.
    pub between: Option<f64>,
}

/// Confidence in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// Too few samples for any interval.
    #[default]
    None,
    /// A median of fewer than five samples, or a fifth of the figures disturbed, or noise above 10 %, or a quarter of the comparisons open.
    Low,
    /// A median of fewer than ten samples, or anything disturbed, or noise above 5 %, or comparisons open.
    Medium,
    /// None of these.
    High,
}

/// Open comparisons, and what would settle them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Remaining {
    /// Comparisons with the best of a row.
    pub comparisons: usize,
    /// Those in which more samples could change something that matters.
    pub open: usize,
    /// Blocks in addition to those run that will probably settle them; `None` if nothing is open or there is no estimate.
    pub blocks: Option<u32>,
    /// Trials of those blocks.
    pub trials: Option<u32>,
    /// Seconds that they probably take.
    pub seconds: Option<f64>,
}

impl SafetyClass {
    /// Whether a crash loses no more than users expect with a journaling filesystem.
    pub fn keeps_data(self) -> bool {
        self >= SafetyClass::Unknown
    }
}
