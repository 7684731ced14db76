//! Judges samples: intervals, ties, the stopping rule, verdicts, mixes, comparisons and claims.
//! In: a [`Table`] of samples and facts about each cell. Out: statements, as data and in sentences.
//! Pure functions, independent of files, devices and the rest of the project.
//!
//! The main ways in: [`judge`] for tables and verdicts, [`decide`] after every block, [`plan_budget`] beforehand,
//! [`compare`] and [`compare_contenders`], [`pairs`] and [`pooled`] over many runs, [`judge_mix`], [`judge_claims`], [`steady_state`].

mod able;
mod answer;
mod assess;
mod budget;
mod change;
mod choice;
mod claims;
mod compare;
mod decision;
mod evidence;
mod figure;
mod judgement;
mod looks;
mod mix;
mod notes;
mod numbers;
mod pairs;
mod passes;
mod pooled;
mod proportion;
mod rank;
mod row;
mod scatter;
mod series;
mod sessions;
mod short;
mod steady;
mod stolen;
mod stopping_rule;
mod table;
mod verdict;
mod words;
mod work;

pub use decision::{
    BudgetPlan, Decision, FAILURES_IN_A_ROW, Needed, Open, Policy, RESOLUTION, Reason, SteadyState, Unsettled, Until,
};
pub use judgement::{Estimand, Figure, Interval, Judgement, Note, NoteKind, Ranking, Relation, Sentence, Standing};
pub use table::{
    Age, Backend, Cell, Contender, Direction, Durability, Facts, MARGIN, MAX_CONTENDERS, MAX_OPERATIONS, MAX_SAMPLES,
    Operation, OperationId, Sample, Table, TableError,
};

pub use answer::answer;
pub use assess::judge;
pub use budget::{duration, plan_budget};
pub use change::{MachineChange, machine_changes, machine_differs};
pub use claims::{Claim, ClaimOutcome, ClaimRelation, ClaimVerdict, judge_claims};
pub use compare::{Change, Compared, Comparison, FailOn, FailOnError, Side, compare, compare_contenders};
pub use figure::MIN_SAMPLES;
pub use looks::Looks;
pub use mix::{Mix, MixError, MixJudgement, MixTime, judge_mix};
pub use numbers::{median, normal_quantile, t_critical};
pub use pairs::{MOST_PAIRED, Pair, pairs};
pub use passes::{MOST_PASSES, SCREEN_MOST, SCREEN_PASSES, SCREEN_SECONDS, passes};
pub use pooled::{Pooled, Span, Study, pooled};
pub use proportion::proportion;
pub use rank::RULES;
pub use sessions::ANOTHER_TIME;
pub use short::operations as too_short;
pub use steady::steady_state;
pub use stolen::costs;
pub use stopping_rule::decide;
pub use verdict::{
    Answer, Avoid, Cannot, Certainty, Choice, Confidence, Grade, GroupAnswer, LessSafe, Remaining, SafetyClass,
    Shortfall, WorkloadAnswer,
};
pub use words::{factor, list};
pub use work::{DoubtKind, Work, WorkDoubt};
