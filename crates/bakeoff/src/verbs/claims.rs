//! `bakeoff claims`: what has been published, held against what was measured here.
//! In: a run, and a claims file (the published one, or a user's of the same form). Out: a verdict for each claim.

use crate::args::ClaimsArgs;
use crate::failure::Failure;
use judge::{Claim, ClaimOutcome, ClaimRelation, ClaimVerdict};
use ledger::{Access, Ledger};
use report::{Material, View};
use serde::Deserialize;
use std::path::Path;

const PUBLISHED: &str = include_str!("../../../../published/claims.csv");
/// Largest claims file, in bytes, and most claims in it.
const FILE_LIMIT: u64 = 4 << 20;
const CLAIMS_LIMIT: usize = 10_000;

/// One line of a claims file; the columns of `published/claims.csv`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: String,
    source: String,
    #[serde(rename = "device")]
    _device: String,
    workload: String,
    operation: String,
    cache: String,
    left: String,
    relation: String,
    right: String,
    factor: Option<f64>,
    statement: String,
}

/// Prints what became of each claim: those that could be tested first.
pub fn claims(path: &Path, args: &ClaimsArgs) -> Result<u8, Failure> {
    let claims = match &args.file {
        Some(file) => parse(&read(file)?, &file.display().to_string())?,
        None => parse(PUBLISHED, "published/claims.csv")?,
    };
    let ledger = Ledger::open(path, Access::Read)?;
    let material = Material::read(&ledger, args.run.as_deref())?;
    let view = View::of(&material)?;
    let verdicts = judge::judge_claims(&view.table, &claims);
    let testable = |verdict: &&ClaimVerdict| !matches!(verdict.outcome, ClaimOutcome::NotTestable(_));
    println!("Claims held against run {}\n", material.run.id);
    for (claim, verdict) in claims.iter().zip(&verdicts).filter(|(_, verdict)| testable(verdict)) {
        println!("{}", told(claim, verdict));
    }
    let tested = verdicts.iter().filter(testable).count();
    println!("Not testable in this run: {} of {}", claims.len() - tested, claims.len());
    for (claim, verdict) in claims.iter().zip(&verdicts) {
        if let ClaimOutcome::NotTestable(why) = &verdict.outcome {
            println!("  {:<34} {why}", claim.id);
        }
    }
    Ok(0)
}

fn told(claim: &Claim, verdict: &ClaimVerdict) -> String {
    let outcome = match verdict.outcome {
        ClaimOutcome::Holds => "HOLDS",
        ClaimOutcome::Reversed => "REVERSED",
        ClaimOutcome::NoDifferenceShown => "NO DIFFERENCE SHOWN",
        ClaimOutcome::NotTestable(_) => "NOT TESTABLE",
    };
    let published = claim.factor.map_or_else(|| "no factor published".into(), |factor| format!("published {factor}x"));
    let measured = match (verdict.measured, verdict.interval) {
        (Some(factor), Some(interval)) => {
            format!("measured {factor:.2}x ({:.2} to {:.2})", interval.low, interval.high)
        }
        (Some(factor), None) => format!("measured {factor:.2}x, too few samples for an interval"),
        (None, _) => "not measured".into(),
    };
    format!(
        "{outcome}: {}\n  {} ({}); {published}, {measured}\n  {}\n",
        claim.statement, claim.id, claim.source, verdict.text
    )
}

fn read(path: &Path) -> Result<String, Failure> {
    let fail = |why: String| Failure::new(format!("reading the claims {}: {why}", path.display()));
    let size = std::fs::metadata(path).map_err(|error| fail(error.to_string()))?.len();
    if size > FILE_LIMIT {
        return Err(fail(format!("it has {size} bytes, the limit is {FILE_LIMIT}")));
    }
    std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))
}

fn parse(text: &str, file: &str) -> Result<Vec<Claim>, Failure> {
    let mut claims = Vec::new();
    for (number, line) in csv::Reader::from_reader(text.as_bytes()).into_deserialize::<Line>().enumerate() {
        let fail = |why: String| Failure::new(format!("{file}, claim {}: {why}", number + 1));
        if number >= CLAIMS_LIMIT {
            return Err(fail(format!("more than {CLAIMS_LIMIT} claims")));
        }
        let line = line.map_err(|error| fail(error.to_string()))?;
        let relation = match line.relation.as_str() {
            "faster" => ClaimRelation::Faster,
            "equal" => ClaimRelation::Equal,
            "less" => ClaimRelation::Less,
            other => return Err(fail(format!("the relation `{other}` is none of faster, equal, less"))),
        };
        claims.push(Claim {
            id: line.id,
            source: line.source,
            workload: line.workload,
            operation: line.operation,
            cache: line.cache,
            left: line.left,
            relation,
            right: line.right,
            factor: line.factor,
            statement: line.statement,
        });
    }
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_claims_are_all_understood() {
        let claims = parse(PUBLISHED, "published/claims.csv").expect("they parse");
        assert!(claims.len() >= 40, "{}", claims.len());
        assert!(claims.iter().any(|claim| claim.factor.is_none()), "a missing factor stays missing");
    }

    #[test]
    fn a_line_with_an_unknown_relation_is_named() {
        let text = PUBLISHED.replacen(",faster,", ",quicker,", 1);
        let error = parse(&text, "mine.csv").expect_err("refused").text;
        assert!(error.contains("claim 1") && error.contains("quicker"), "{error}");
    }
}
