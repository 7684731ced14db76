//! Comparisons of two runs or contenders, mixes and claims, as data.
//! In: made by [`crate::compare`], [`crate::judge_mix`] and [`crate::judge_claims`]. Out: read by reports and verbs.
//! A ratio above 1 always means that the right-hand side is worse.

use crate::judgement::{Interval, Ranking, Sentence};
use crate::table::OperationId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// One side of a comparison: a contender of a table.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// Its table.
    pub table: &'a crate::Table,
    /// Index of the contender in it.
    pub contender: usize,
}

/// Two runs or two contenders, operation by operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// One for each operation (and contender, where runs are compared) that both have.
    pub rows: Vec<Compared>,
    /// Smallest difference that is called one.
    pub smallest_effect: f64,
    /// Operations that only one of the two has.
    pub unmatched: Vec<String>,
    /// In sentences.
    pub sentences: Vec<String>,
}

/// One operation of a comparison: B against A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// Which operation.
    pub operation: OperationId,
    /// Contender of A.
    pub a: String,
    /// Contender of B.
    pub b: String,
    /// Median of A, in the operation's unit.
    pub a_median: f64,
    /// Median of B.
    pub b_median: f64,
    /// Samples of A and of B.
    pub samples: (usize, usize),
    /// How many times worse B is than A (below 1: better).
    pub ratio: f64,
    /// Interval of the ratio, the one that decides what is likely.
    pub interval: Option<Interval>,
    /// Interval corrected for all rows: each end is what may be said of all rows together, beyond doubt.
    pub corrected: Option<Interval>,
    /// What may be said of B.
    pub change: Change,
    /// Whether the two differ in what they do for the safety of data.
    pub unequal_durability: bool,
    /// Samples of either that were disturbed.
    pub disturbed: usize,
}

/// What may be said of B against A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// B is better, beyond doubt.
    Better,
    /// B is likely better.
    LikelyBetter,
    /// B is worse, beyond doubt.
    Worse,
    /// B is likely worse.
    LikelyWorse,
    /// As good: the whole interval lies within the margin.
    Same,
    /// The samples do not tell.
    Unresolved,
}

/// What makes a comparison fail: `worse:5%`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FailOn {
    /// B is worse by more than this share, beyond doubt.
    pub worse: f64,
}

/// A `--fail-on` that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("cannot understand --fail-on \"{given}\": write worse:5% (a share from 0 % to 1000 %)")]
pub struct FailOnError {
    /// What was given.
    pub given: String,
}

/// Parts of a mix: `create=1,read-random=10,delete=1`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Mix {
    /// Name of the operation (`workload/operation` where workloads share the name), and how many times it is done.
    pub parts: Vec<(String, f64)>,
    /// What it is called in a sentence; empty: by its parts.
    #[serde(default)]
    pub name: String,
}

/// Why a mix cannot be judged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MixError {
    /// It cannot be read.
    #[error("cannot understand the mix \"{given}\": write create=1,read-random=10,delete=1")]
    Unreadable {
        /// What was given.
        given: String,
    },
    /// An operation is not in the table.
    #[error("cannot mix in \"{name}\": the table has {known}")]
    NoSuchOperation {
        /// The name.
        name: String,
        /// What there is.
        known: String,
    },
    /// A name fits more than one operation.
    #[error("cannot tell which operation \"{name}\" of the mix is: {candidates}")]
    Ambiguous {
        /// The name.
        name: String,
        /// Which it could be.
        candidates: String,
    },
    /// The units do not add up to a time.
    #[error("cannot add up \"{name}\": {unit} is neither a time nor a number of items a second")]
    NoTime {
        /// The operation.
        name: String,
        /// Its unit.
        unit: String,
    },
}

/// The time that a mix takes each contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixJudgement {
    /// Time of each contender that has all operations; index of the contender, seconds, interval.
    pub times: Vec<MixTime>,
    /// Contenders that lack an operation, and which.
    pub left_out: Vec<(usize, String)>,
    /// How they stand, one ranking for each backend; `operation` is that of the first part.
    pub rankings: Vec<Ranking>,
    /// The verdict.
    pub sentences: Vec<Sentence>,
}

/// The time that a mix takes one contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixTime {
    /// Index into [`crate::Table::contenders`].
    pub contender: usize,
    /// Seconds for the mix.
    pub seconds: f64,
    /// 95 % interval, in seconds.
    pub interval: Option<Interval>,
    /// Share of the time that each part takes, in the order of the mix.
    pub shares: Vec<f64>,
}

/// A published statement: `left` is `relation` than `right` by `factor` in an operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Its id in `claims.csv`.
    pub id: String,
    /// Where it was published.
    pub source: String,
    /// Workload.
    pub workload: String,
    /// Operation; `operation cpu` for claims about CPU.
    pub operation: String,
    /// Cache state; empty: any.
    pub cache: String,
    /// Left contender.
    pub left: String,
    /// What it is said to be.
    pub relation: ClaimRelation,
    /// Right contender.
    pub right: String,
    /// How many times, where it was said.
    pub factor: Option<f64>,
    /// In words.
    pub statement: String,
}

/// What a claim says of left and right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimRelation {
    /// Left is better.
    Faster,
    /// Neither is.
    Equal,
    /// Left needs less (CPU, space).
    Less,
}

/// A claim held against measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimVerdict {
    /// Its id.
    pub id: String,
    /// What became of it.
    pub outcome: ClaimOutcome,
    /// Measured factor: how many times worse right is than left.
    pub measured: Option<f64>,
    /// 95 % interval of it.
    pub interval: Option<Interval>,
    /// Published factor.
    pub published: Option<f64>,
    /// Whether the interval contains the published factor, where both are there.
    pub factor_agrees: Option<bool>,
    /// In a sentence.
    pub text: String,
    /// Indices into [`crate::Table::cells`] that it rests on.
    pub cells: Vec<usize>,
}

/// What became of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimOutcome {
    /// As claimed.
    Holds,
    /// The other way round (for a claim of equality: they differ).
    Reversed,
    /// The samples show no difference (for a claim of equality: they do not tell).
    NoDifferenceShown,
    /// Why it cannot be tested here.
    NotTestable(String),
}
