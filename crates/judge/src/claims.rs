//! Compares published claims with measurements.
//! In: a table and [`Claim`]s. Out: a [`ClaimVerdict`] for each: holds, reversed, no difference shown, not testable and why.
//! Published factors are shown next to measured ones and never enter the statistics.

use crate::judgement::{Interval, Relation};
use crate::rank::{Fit, Versus};
use crate::series::Series;
use crate::short;
use crate::table::{Operation, Table};
use crate::words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// The claimed relation.
    pub relation: ClaimRelation,
    /// Right contender.
    pub right: String,
    /// Published factor, if there is one.
    pub factor: Option<f64>,
    /// In words.
    pub statement: String,
}

/// Claimed relation of left and right.
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

/// A claim compared with measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimVerdict {
    /// Its id.
    pub id: String,
    /// The result.
    pub outcome: ClaimOutcome,
    /// Measured factor: how many times worse right is than left.
    pub measured: Option<f64>,
    /// 95 % interval of it.
    pub interval: Option<Interval>,
    /// Published factor.
    pub published: Option<f64>,
    /// Whether the interval contains the published factor, if both exist.
    pub factor_agrees: Option<bool>,
    /// In a sentence.
    pub text: String,
    /// The cells that support it: indices into [`crate::Table::cells`].
    pub cells: Vec<usize>,
}

/// Result of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimOutcome {
    /// As claimed.
    Holds,
    /// The other way round (for a claim of equality: they differ).
    Reversed,
    /// The samples show no difference (for a claim of equality: they are inconclusive).
    NoDifferenceShown,
    /// Why it cannot be tested here.
    NotTestable(String),
}

/// A claim that can be tested, with what was measured.
struct Tested {
    operation: usize,
    versus: Versus,
    cells: Vec<usize>,
    remark: String,
}

/// Compares claims with a table; the verdicts are those of the table itself.
pub fn judge_claims(table: &Table, claims: &[Claim]) -> Vec<ClaimVerdict> {
    let series: Vec<Series> = table.cells.iter().map(Series::of).collect();
    let fit = Fit::of(table, &series);
    claims.iter().map(|claim| verdict(table, claim, test(table, &fit, claim))).collect()
}

fn test(table: &Table, fit: &Fit, claim: &Claim) -> Result<Tested, String> {
    let contender = |name: &str| {
        let found = table.contenders.iter().position(|c| c.name.eq_ignore_ascii_case(name) && c.twin_of.is_none());
        let found = found.ok_or_else(|| format!("{name} is not in this run"))?;
        match &table.contenders[found].failed {
            Some(why) => Err(format!("{name} was not measured: {why}")),
            None => Ok(found),
        }
    };
    let (left, right) = (contender(&claim.left)?, contender(&claim.right)?);
    if table.contenders[left].backend != table.contenders[right].backend {
        return Err("left and right ran on different backends".into());
    }
    let (operation, remark) = operation(table, claim)?;
    if short::operations(table).contains(&operation) {
        return Err(short::WORDS.into());
    }
    if table.contenders[left].age.name != table.contenders[right].age.name {
        return Err("left and right are of different ages".into());
    }
    let row =
        fit.row_of(operation, left).or_else(|| fit.row_of(operation, right)).ok_or("no samples of this operation")?;
    for (contender, name) in [(left, &claim.left), (right, &claim.right)] {
        if !fit.rows[row].members.iter().any(|member| member.contender == contender) {
            return Err(format!("no samples of {name}"));
        }
    }
    let versus = fit.versus(row, left, right).ok_or("too few samples of each for an interval")?;
    let cells = (0..table.cells.len())
        .filter(|&cell| table.cells[cell].operation == operation)
        .filter(|&cell| [left, right].contains(&table.cells[cell].contender))
        .collect();
    Ok(Tested { operation, versus, cells, remark })
}

/// The operation of a claim, in the cache state that the claim names. If the operation has a single state, that one is used and named.
fn operation(table: &Table, claim: &Claim) -> Result<(usize, String), String> {
    let (name, figure) = match claim.operation.strip_suffix(" cpu") {
        Some(name) => (name, "cpu"),
        None => (claim.operation.as_str(), ""),
    };
    let fits = |operation: &Operation| {
        let id = &operation.id;
        id.workload == claim.workload
            && ((id.operation == name && id.figure == figure)
                || (id.operation == claim.operation && id.figure.is_empty()))
    };
    let found: Vec<usize> = (0..table.operations.len()).filter(|&at| fits(&table.operations[at])).collect();
    let cache = |at: usize| table.operations[at].id.cache.as_str();
    if let Some(&exact) = found.iter().find(|&&at| cache(at) == claim.cache) {
        return Ok((exact, String::new()));
    }
    match found.as_slice() {
        [] => Err(format!("{} {} was not measured", claim.workload, claim.operation)),
        [only] if claim.cache.is_empty() || cache(*only).is_empty() => Ok((*only, String::new())),
        [only] => Ok((*only, format!(" (measured {}, claimed {})", cache(*only), claim.cache))),
        _ if claim.cache.is_empty() => Err("measured in several cache states, and the claim names none".into()),
        _ => Err(format!("not measured with cache {}", claim.cache)),
    }
}

fn verdict(table: &Table, claim: &Claim, tested: Result<Tested, String>) -> ClaimVerdict {
    let claimed = statement(claim);
    let tested = match tested {
        Ok(tested) => tested,
        Err(why) => {
            return ClaimVerdict {
                id: claim.id.clone(),
                text: format!("{claimed}: not testable here, {why}."),
                outcome: ClaimOutcome::NotTestable(why),
                measured: None,
                interval: None,
                published: claim.factor,
                factor_agrees: None,
                cells: Vec::new(),
            };
        }
    };
    let Versus { evidence: found, interval, relation, .. } = tested.versus;
    let differs = relation.is_worse();
    let outcome = match claim.relation {
        ClaimRelation::Equal if differs => ClaimOutcome::Reversed,
        ClaimRelation::Equal if relation == Relation::Tie => ClaimOutcome::Holds,
        ClaimRelation::Equal => ClaimOutcome::NoDifferenceShown,
        _ if differs && found.log > 0.0 => ClaimOutcome::Holds,
        _ if differs => ClaimOutcome::Reversed,
        _ => ClaimOutcome::NoDifferenceShown,
    };
    let factor = found.log.exp();
    let published = claim.factor.map(|factor| format!(", published {}", words::factor(factor))).unwrap_or_default();
    let text = format!(
        "{claimed}: {}; for {} measured {}{}{published}{}.",
        outcome_words(&outcome, claim.relation, relation),
        words::phrase(&table.operations[tested.operation]),
        words::factor(factor),
        words::range(&interval),
        tested.remark
    );
    ClaimVerdict {
        id: claim.id.clone(),
        outcome,
        measured: Some(factor),
        interval: Some(interval),
        published: claim.factor,
        factor_agrees: claim.factor.map(|factor| interval.low <= factor && factor <= interval.high),
        text,
        cells: tested.cells,
    }
}

fn statement(claim: &Claim) -> String {
    let factor = claim.factor.map(|factor| format!(" by {} times", words::factor(factor))).unwrap_or_default();
    match claim.relation {
        ClaimRelation::Faster => format!("{} faster than {}{factor}", claim.left, claim.right),
        ClaimRelation::Equal => format!("{} equal to {}", claim.left, claim.right),
        ClaimRelation::Less => format!("{} needs less than {}{factor}", claim.left, claim.right),
    }
}

fn outcome_words(outcome: &ClaimOutcome, claimed: ClaimRelation, found: Relation) -> String {
    let likely = if found == Relation::LikelyWorse { "likely " } else { "" };
    match (outcome, claimed) {
        (ClaimOutcome::Holds, ClaimRelation::Equal) => "holds (they are as good as each other)".into(),
        (ClaimOutcome::Holds, _) => format!("{likely}holds"),
        (ClaimOutcome::Reversed, ClaimRelation::Equal) => format!("{likely}does not hold (they differ)"),
        (ClaimOutcome::Reversed, _) => format!("{likely}reversed"),
        _ if found == Relation::Tie => "does not hold (they are as good as each other)".into(),
        _ => "can't tell yet".into(),
    }
}
