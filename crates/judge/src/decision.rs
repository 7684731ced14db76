//! Decisions about continuing, budgets and steady state, as data.
//! In: made by [`crate::decide`], [`crate::plan_budget`] and [`crate::steady_state`]. Out: read by the runner.
//! Indices point into the table that was judged.

use serde::{Deserialize, Serialize};

/// After failed trials of one workload in this many consecutive blocks, a contender does not run that workload again, and the run does not
/// wait for it. Two failures could have one temporary cause.
pub const FAILURES_IN_A_ROW: u32 = 3;

/// Default resolution: a leader that is behind no rival by more than this share is good enough.
pub const RESOLUTION: f64 = 0.10;

/// The choice is good enough once no other contender can be less far behind than the chosen one by more than this share.
pub(crate) const REGRET: f64 = 0.30;

/// How a plan is to be sampled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// Blocks that always run, at least 1.
    pub min_blocks: u32,
    /// Most blocks.
    pub max_blocks: u32,
    /// Half-width of a 95 % interval that is precise enough, as a share of the figure.
    pub precision: f64,
    /// What the run must resolve.
    pub until: Until,
    /// A leader that is behind no rival by more than this share is good enough: nothing more is run to separate them.
    pub resolution: f64,
    /// Seconds that are left to spend; `None`: as many as it takes.
    pub seconds_left: Option<f64>,
}

/// What a run must resolve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// All figures as precise as requested, and every rival resolved.
    Precision,
    /// Every rival of the best of each operation resolved: worse, or better by no more than the resolution.
    #[default]
    Winner,
    /// Exactly `max_blocks` blocks.
    Blocks,
}

impl Default for Policy {
    fn default() -> Self {
        let (min_blocks, max_blocks, precision, resolution) = (3, 30, 0.05, RESOLUTION);
        Policy { min_blocks, max_blocks, precision, until: Until::default(), resolution, seconds_left: None }
    }
}

/// Whether another block is run, and of what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Trials that the next block needs; empty: stop.
    pub next: Vec<Needed>,
    /// Why it continues or stops.
    pub reason: Reason,
    /// In one sentence.
    pub text: String,
    /// Figures that are not yet resolved.
    pub open: Vec<Open>,
    /// Blocks that are probably still needed; `None` without an estimate of the spread.
    pub blocks_left: Option<u32>,
    /// Seconds that those blocks would take, where the time of a trial is known.
    pub seconds_left: Option<f64>,
}

impl Decision {
    /// Whether another block is to be run.
    pub fn goes_on(&self) -> bool {
        !self.next.is_empty()
    }
}

/// One trial of the next block: this contender, put through this workload.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Needed {
    /// Index into [`crate::Table::contenders`].
    pub contender: usize,
    /// Name of the workload.
    pub workload: String,
}

/// Why a run continues or stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The minimum number of blocks is not reached.
    Minimum,
    /// Figures are open.
    Open,
    /// Everything requested is resolved.
    Resolved,
    /// The maximum number of blocks is reached.
    Cap,
    /// The budget is spent, or does not suffice for another block.
    Budget,
    /// Nothing can be measured.
    Nothing,
}

/// A figure that is not resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Open {
    /// Index into [`crate::Table::operations`].
    pub operation: usize,
    /// Index into [`crate::Table::contenders`].
    pub contender: usize,
    /// Half-width of its interval as a share of the figure, where there is one.
    pub half_width: Option<f64>,
    /// Blocks that are probably still needed, where an estimate exists.
    pub blocks_left: Option<u32>,
    /// Why it is open.
    pub why: Unsettled,
}

/// Why a figure is open.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unsettled {
    /// It has too few samples for an interval.
    TooFew,
    /// The half-width of its interval, a share, is above the requested precision.
    Imprecise(f64),
    /// It is not separated from this contender, the best so far: an index into [`crate::Table::contenders`].
    Against(usize),
    /// It is the worst row of its contender, and its exact shortfall decides which contender to take.
    Choice,
}

/// What a budget will buy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BudgetPlan {
    /// Seconds that one block of everything takes.
    pub block_seconds: f64,
    /// Whole blocks that fit.
    pub blocks: u32,
    /// Seconds until everything is resolved or the cap is reached, where an estimate exists.
    pub seconds_for_all: Option<f64>,
    /// Half-width of a figure's 95 % interval after that, at 5 % scatter between trials: a share.
    pub half_width: Option<f64>,
    /// Smallest difference of two contenders that is then detected with a power of 80 %, at 5 % scatter: a share.
    pub smallest_shown: Option<f64>,
    /// Figures that are likely to stay open.
    pub open: Vec<Open>,
    /// In one or two sentences.
    pub text: String,
}

/// Whether rounds have reached the steady state of SNIA's Performance Test Specification.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SteadyState {
    /// Reached: the window begins at this round (from 0), and this is the mean over it.
    Reached {
        /// First of the five rounds.
        from: usize,
        /// Their mean.
        mean: f64,
    },
    /// Not yet: run another round.
    NotYet {
        /// (max - min) / mean of the last rounds, where there are five.
        range: Option<f64>,
        /// Change of the fitted line over the last rounds as a share of their mean, where there are five.
        slope: Option<f64>,
    },
    /// Not reached after 25 rounds.
    Never,
}
