//! Weighs samples: intervals, ties, the stopping rule, verdicts, mixes, comparisons and claims.
//! In: a [`Table`] of samples with what is known about each cell. Out: statements, as data and in sentences.
//! Pure functions; files, devices and the rest of the project are unknown here.
//!
//! The functions, all of them pure:
//! `judge(&Table) -> Result<Judgement, TableError>`,
//! `decide(&Table, &Policy) -> Result<Decision, TableError>`,
//! `plan_budget(&Table, &Policy) -> Result<BudgetPlan, TableError>`,
//! `steady_state(&[f64]) -> SteadyState`,
//! `Mix::parse(&str)`, `judge_mix(&Table, &Mix) -> Result<MixJudgement, MixError>`,
//! `compare(&Table, &Table) -> Comparison` (runs, contenders matched by name),
//! `compare_contenders(Side, Side) -> Comparison`, `FailOn::parse(&str)`, `Comparison::failures(&FailOn)`,
//! `judge_claims(&Table, &[Claim]) -> Vec<ClaimVerdict>`.

mod comparison;
mod decide;
mod decision;
mod figure;
mod judgement;
mod notes;
mod numbers;
mod rank;
mod row;
mod series;
mod steady;
mod table;
mod weigh;
mod words;

pub use comparison::{
    Change, Claim, ClaimOutcome, ClaimRelation, ClaimVerdict, Compared, Comparison, FailOn, FailOnError, Mix, MixError,
    MixJudgement, MixTime, Side,
};
pub use decision::{BudgetPlan, Decision, Needed, Open, Policy, Reason, SteadyState, Until};
pub use judgement::{Estimand, Figure, Interval, Judgement, Note, NoteKind, Ranking, Relation, Sentence, Standing};
pub use table::{
    Backend, Cell, Contender, Direction, Durability, Facts, MAX_CONTENDERS, MAX_OPERATIONS, MAX_SAMPLES, Operation,
    OperationId, Sample, Table, TableError,
};

pub use decide::decide;
pub use steady::steady_state;
pub use weigh::judge;
