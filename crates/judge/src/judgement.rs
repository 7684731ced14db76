//! The statements that a table supports, as data: figures, rankings, relations, notes, sentences.
//! In: made by [`crate::judge`]. Out: read by reports and by the runner; serializable as JSON.
//! Every statement carries the cells that support it, so that `show --why` can name the trials.

use crate::table::Backend;
use crate::work::WorkDoubt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The judgement of one table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// One for each cell of the table that has a value, in the table's order.
    pub figures: Vec<Figure>,
    /// One for each operation, backend and age that has figures, in the table's order.
    pub rankings: Vec<Ranking>,
    /// One for each operation and contender that was measured at several ages: its ages compared with each other. These statements are a
    /// family of their own.
    #[serde(default)]
    pub ageing: Vec<Ranking>,
    /// Noise of this machine today, from the A/A pair: a share, 0.02 for 2 %. `None` without a pair.
    pub noise_floor: Option<f64>,
    /// The margin: smaller differences count as none. A share, 0.03 unless the table has another.
    pub smallest_effect: f64,
    /// Comparisons that are corrected together.
    pub comparisons: usize,
    /// Phases in which contenders did not do the same work, or in which the work did not reach the device.
    #[serde(default)]
    pub doubts: Vec<WorkDoubt>,
    /// Operations whose figures are too short to rank: indices into [`crate::Table::operations`].
    #[serde(default)]
    pub too_short: Vec<usize>,
    /// The verdict in sentences.
    pub sentences: Vec<Sentence>,
    /// Notes that concern the whole table.
    pub notes: Vec<Note>,
}

/// The figure of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Index into [`crate::Table::cells`].
    pub cell: usize,
    /// Index into [`crate::Table::operations`].
    pub operation: usize,
    /// Index into [`crate::Table::contenders`].
    pub contender: usize,
    /// Independent samples: trials (blocks and formats), of mounts and passes within them the median.
    pub samples: usize,
    /// All measured values, passes included.
    pub values: usize,
    /// Median of the samples, in the operation's unit.
    pub median: f64,
    /// Arithmetic mean of the samples.
    pub mean: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Relative standard deviation over samples, a share; `None` below two samples.
    pub rsd: Option<f64>,
    /// 95 % interval; `None` below two samples.
    pub interval: Option<Interval>,
    /// Relative standard deviation above 5 %: show min to max.
    pub unstable: bool,
    /// Samples that are outliers (modified z by the median absolute deviation above 14.8), by trial. Never dropped.
    pub outliers: Vec<i64>,
    /// Change over all blocks by a fitted line, a share; `None` where none is shown.
    pub drift: Option<f64>,
    /// Values that are missing (not positive or not finite).
    pub missing: usize,
    /// Notes on this figure, in few words.
    pub notes: Vec<Note>,
}

/// A 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// What it is an interval of.
    pub of: Estimand,
}

/// What an interval is an interval of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Estimand {
    /// The median, by order statistics.
    Median,
    /// The geometric mean, by Student's t on logarithms.
    GeometricMean,
    /// The ratio of two geometric means, by Student's t on log ratios.
    Ratio,
    /// The mean of a sum, by Student's t.
    Mean,
}

/// Ranking of the contenders of one backend and age in one operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ranking {
    /// Index into [`crate::Table::operations`].
    pub operation: usize,
    /// Backend of all of these.
    pub backend: Backend,
    /// Age of all of these, in words; empty: fresh, or a comparison of ages.
    #[serde(default)]
    pub age: String,
    /// Index of the contender with the best estimate.
    pub best: usize,
    /// Whether the best is shown to be better than every other.
    pub won: bool,
    /// The others against the best, nearest first.
    pub others: Vec<Standing>,
    /// The margin: smaller differences count as none, a share.
    pub smallest_effect: f64,
    /// Level of a single comparison at this look for "beyond doubt", after correction for all rows and for repeated looks.
    pub level: f64,
}

/// One contender against the best.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Index into [`crate::Table::contenders`].
    pub contender: usize,
    /// How many times worse than the best: 1.6 for a time 1.6 times as long or a rate of 1/1.6.
    pub ratio: f64,
    /// Interval of the ratio: 95 % of such intervals contain the truth. `None` where the samples allow none.
    pub interval: Option<Interval>,
    /// Blocks (or pairs of samples) that the ratio is based on.
    pub samples: usize,
    /// The verdict.
    pub relation: Relation,
    /// p-value before correction, where there is one.
    pub p: Option<f64>,
    /// Whether the two differ in durability: then the figure is never shown without that badge.
    pub unequal_durability: bool,
}

/// The verdict on two contenders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// Worse than the best, after correction for all statements of the table and for repeated looks.
    Worse,
    /// Likely worse: of all differences that a table calls likely, one in twenty is false; a later look may revise it.
    LikelyWorse,
    /// As good: the whole interval is within the margin.
    Tie,
    /// The interval is too wide for a verdict.
    Unresolved,
    /// One sample each: no verdict is possible.
    TooFew,
}

/// A note on a figure or a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Which kind, for reports that mark cells.
    pub kind: NoteKind,
    /// In few words.
    pub text: String,
}

/// Kinds of notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoteKind {
    /// Relative standard deviation above 5 %.
    Unstable,
    /// Outliers are among the samples.
    Outlier,
    /// The figure drifts over the blocks.
    Drift,
    /// Samples fall in two groups.
    TwoModes,
    /// Samples of one contender resemble the preceding ones: the contender carries a state from block to block.
    Resemblance,
    /// Disturbed trials are among the samples.
    Disturbed,
    /// A cache served part of a cold start, or the start was warm.
    Cache,
    /// The start was to be warm, but the device delivered part of the bytes.
    NotWarm,
    /// It did not do the same work as others, or the work did not reach its device.
    Work,
    /// Within 20 % of the data generator's ceiling.
    Ceiling,
    /// A safety is given up that another contender in the same ranking keeps.
    Durability,
    /// Values are missing, or trials failed.
    Missing,
    /// Too few samples for an interval.
    FewSamples,
    /// Any other remark of the caller.
    Remark,
}

/// One sentence of the verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sentence {
    /// The sentence.
    pub text: String,
    /// The operation that it is about: an index into [`crate::Table::operations`], if it is about one.
    pub operation: Option<usize>,
    /// The cells that support it: indices into [`crate::Table::cells`].
    pub cells: Vec<usize>,
}

impl Sentence {
    /// The trials that support the sentence, each once: what `show --why` lists.
    pub fn trials(&self, table: &crate::Table) -> Vec<i64> {
        let cells = self.cells.iter().filter_map(|&cell| table.cells.get(cell));
        let mut trials: Vec<i64> = cells.flat_map(|cell| cell.samples.iter().map(|sample| sample.trial)).collect();
        trials.sort_unstable();
        trials.dedup();
        trials
    }
}

impl Interval {
    /// The interval of the ratio's inverse.
    pub fn turned(self) -> Self {
        Interval { low: 1.0 / self.high, high: 1.0 / self.low, of: self.of }
    }
}

impl Relation {
    /// Whether a difference is shown, beyond doubt or likely.
    pub fn is_worse(self) -> bool {
        matches!(self, Relation::Worse | Relation::LikelyWorse)
    }
}

impl Judgement {
    /// The figure of an operation and a contender.
    pub fn figure(&self, operation: usize, contender: usize) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.operation == operation && figure.contender == contender)
    }

    /// The rankings of an operation, one for each backend and age.
    pub fn rankings_of(&self, operation: usize) -> impl Iterator<Item = &Ranking> {
        self.rankings.iter().filter(move |ranking| ranking.operation == operation)
    }
}

impl Ranking {
    /// All that were ranked, the best first.
    pub fn members(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.best).chain(self.others.iter().map(|standing| standing.contender))
    }

    /// The best and its ties.
    pub fn front(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.best).chain(
            self.others.iter().filter(|standing| standing.relation == Relation::Tie).map(|standing| standing.contender),
        )
    }
}
