//! Published claims held against measurements.
//! In: a table and [`Claim`]s. Out: a [`ClaimVerdict`] for each: holds, reversed, no difference shown, not testable and why.
//! Published factors stand beside measured ones and never enter the statistics.

use crate::comparison::{Claim, ClaimOutcome, ClaimRelation, ClaimVerdict};
use crate::figure::LEVEL;
use crate::judgement::Relation;
use crate::rank::{ALPHA, Evidence, Looks, relation};
use crate::row::{self, Prior, Row};
use crate::series::Series;
use crate::table::{Operation, Table};
use crate::weigh::{self, Floor};
use crate::words;

/// A claim that can be tested, with what was measured.
struct Tested {
    operation: usize,
    evidence: Evidence,
    smallest: f64,
    cells: Vec<usize>,
    remark: String,
}

/// Holds claims against a table; Holm's correction is over all that can be tested.
pub fn judge_claims(table: &Table, claims: &[Claim]) -> Vec<ClaimVerdict> {
    let series: Vec<Series> = table.cells.iter().map(Series::of).collect();
    let rows = row::rows(table, &series);
    let priors = row::priors(&rows);
    let floor = weigh::floor_of(table);
    let tested: Vec<Result<Tested, String>> =
        claims.iter().map(|claim| test(table, &rows, &priors, &floor, claim)).collect();
    let mut order: Vec<usize> = (0..tested.len()).filter(|&at| tested[at].is_ok()).collect();
    let p = |at: usize| tested[at].as_ref().map_or(1.0, |tested| tested.evidence.p);
    order.sort_by(|&a, &b| p(a).total_cmp(&p(b)));
    let count = order.len();
    let looks = Looks::of(table);
    let mut rejected = vec![false; claims.len()];
    for (step, &at) in order.iter().enumerate() {
        if p(at) > looks.level(ALPHA / (count - step) as f64) {
            break;
        }
        rejected[at] = true;
    }
    let judged = claims.iter().zip(tested).zip(rejected);
    judged.map(|((claim, tested), rejected)| verdict(table, claim, tested, rejected)).collect()
}

fn test(table: &Table, rows: &[Row], priors: &[Prior], floor: &Floor, claim: &Claim) -> Result<Tested, String> {
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
    if table.contenders[left].age.name != table.contenders[right].age.name {
        return Err("left and right are of different ages".into());
    }
    let mine = &table.contenders[left];
    let fits = |row: &Row| row.operation == operation && row.backend == mine.backend && row.age == mine.age.name;
    let row = rows.iter().position(fits);
    let row = row.ok_or("no samples of this operation")?;
    let member = |contender: usize, name: &str| {
        let found = rows[row].members.iter().find(|member| member.contender == contender);
        found.ok_or_else(|| format!("no samples of {name}"))
    };
    let (first, second) = (member(left, &claim.left)?, member(right, &claim.right)?);
    let evidence = Evidence::of(first, second, priors[row]);
    let evidence = evidence.ok_or("fewer than three samples of each, which allow no interval")?;
    let cells = (0..table.cells.len())
        .filter(|&cell| table.cells[cell].operation == operation)
        .filter(|&cell| [left, right].contains(&table.cells[cell].contender))
        .collect();
    Ok(Tested { operation, evidence, smallest: floor.smallest(operation), cells, remark })
}

/// The operation of a claim: of several cache states the one that it names; the only one there is counts, and is said.
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

fn verdict(table: &Table, claim: &Claim, tested: Result<Tested, String>, rejected: bool) -> ClaimVerdict {
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
    let found = tested.evidence;
    let differs = rejected && found.log.abs() >= tested.smallest.ln_1p();
    let tie = relation(Some(&found), false, 1.0, tested.smallest) == Relation::Tie;
    let outcome = match claim.relation {
        ClaimRelation::Equal if differs => ClaimOutcome::Reversed,
        ClaimRelation::Equal if tie => ClaimOutcome::Holds,
        ClaimRelation::Equal => ClaimOutcome::NoDifferenceShown,
        _ if differs && found.log > 0.0 => ClaimOutcome::Holds,
        _ if differs => ClaimOutcome::Reversed,
        _ => ClaimOutcome::NoDifferenceShown,
    };
    let interval = found.interval(LEVEL, 1.0);
    let factor = found.log.exp();
    let published = claim.factor.map(|factor| format!(", published {}", words::factor(factor))).unwrap_or_default();
    let text = format!(
        "{claimed}: {}; for {} measured {} ({} to {}){published}{}.",
        said(&outcome, claim.relation, tie),
        words::phrase(&table.operations[tested.operation]),
        words::factor(factor),
        words::factor(interval.low),
        words::factor(interval.high),
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

fn said(outcome: &ClaimOutcome, relation: ClaimRelation, tie: bool) -> &'static str {
    match (outcome, relation) {
        (ClaimOutcome::Holds, ClaimRelation::Equal) => "holds, no difference shown",
        (ClaimOutcome::Holds, _) => "holds",
        (ClaimOutcome::Reversed, ClaimRelation::Equal) => "does not hold, they differ",
        (ClaimOutcome::Reversed, _) => "reversed",
        (_, ClaimRelation::Equal) => "the samples do not tell",
        _ if tie => "no difference shown",
        _ => "no difference shown, and the interval is wide",
    }
}
