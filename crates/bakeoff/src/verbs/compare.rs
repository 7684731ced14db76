//! `bakeoff compare A B`: two runs, or two contenders, operation by operation.
//! In: two names. Out: better, worse, same or unresolved for each; with --fail-on, exit status 4 on a regression.

use crate::args::CompareArgs;
use crate::failure::Failure;
use judge::{Change, Comparison, FailOn, Side, Table};
use ledger::{Access, Ledger};
use report::{Material, View};
use std::path::Path;

/// Exit status of a regression that --fail-on asked about.
const REGRESSION: u8 = 4;

/// One side: a run's table, and one contender of it where that was named.
struct Named {
    name: String,
    table: Table,
    contender: Option<usize>,
}

/// Compares, prints, and judges by `--fail-on`.
pub fn compare(path: &Path, args: &CompareArgs) -> Result<u8, Failure> {
    let gate = args.fail_on.as_deref().map(FailOn::parse).transpose().map_err(Failure::usage)?;
    let ledger = Ledger::open(path, Access::Read)?;
    let (a, b) = (side(&ledger, &args.a)?, side(&ledger, &args.b)?);
    let comparison = match (a.contender, b.contender) {
        (Some(first), Some(second)) => judge::compare_contenders(
            Side { table: &a.table, contender: first },
            Side { table: &b.table, contender: second },
        ),
        (None, None) => judge::compare(&a.table, &b.table),
        _ => {
            let text =
                format!("{} is a run and {} a contender, or the other way round; name two of a kind", a.name, b.name);
            return Err(Failure::usage(text));
        }
    };
    if comparison.rows.is_empty() {
        return Err(Failure::new(format!("{} and {} have no operation of one contender in common", a.name, b.name)));
    }
    print!("{}", shown(&comparison, &a.name, &b.name));
    let Some(gate) = gate else { return Ok(0) };
    let failures = comparison.failures(&gate);
    if failures.is_empty() {
        println!("\nNothing is worse by more than {:.1} % beyond doubt.", gate.worse * 100.0);
        return Ok(0);
    }
    println!("\nWorse by more than {:.1} % beyond doubt: {}", gate.worse * 100.0, failures.len());
    Ok(REGRESSION)
}

/// `RUN`, `CONTENDER` (of the latest run) or `RUN:CONTENDER`.
fn side(ledger: &Ledger, name: &str) -> Result<Named, Failure> {
    let (run, contender) = match name.split_once(':') {
        Some((run, contender)) => (Some(run), Some(contender)),
        None if ledger.run(Some(name)).is_ok() => (Some(name), None),
        None => (None, Some(name)),
    };
    let material = Material::read(ledger, run)?;
    let table = View::of(&material)?.table;
    let Some(label) = contender else { return Ok(Named { name: name.into(), table, contender: None }) };
    let index = table.contender(label).ok_or_else(|| {
        let labels = table.contenders.iter().filter(|contender| contender.twin_of.is_none());
        let labels: Vec<&str> = labels.map(|contender| contender.name.as_str()).collect();
        Failure::usage(format!(
            "{name} is neither a run of this ledger nor a contender of run {}, which has {}",
            material.run.id,
            labels.join(", ")
        ))
    })?;
    Ok(Named { name: name.into(), table, contender: Some(index) })
}

fn shown(comparison: &Comparison, a: &str, b: &str) -> String {
    let mut text = format!("{b} against {a}\n\n");
    let wide = comparison.rows.iter().map(|row| title(row).chars().count()).max().unwrap_or(0);
    for row in &comparison.rows {
        let change = match row.change {
            Change::Better => "better",
            Change::Worse => "WORSE",
            Change::Same => "same",
            Change::Unresolved => "unresolved",
        };
        // A ratio above 1 means that B is worse.
        let interval = row.interval.map_or_else(
            || "no interval: too few samples".into(),
            |interval| format!("{:.2} to {:.2}", interval.low, interval.high),
        );
        let samples = format!("{} and {} samples", row.samples.0, row.samples.1);
        text.push_str(&format!(
            "{:<wide$}  {change:<10}  {:.2} times the cost ({interval}), {samples}\n",
            title(row),
            row.ratio
        ));
    }
    for operation in &comparison.unmatched {
        text.push_str(&format!("only in one of the two: {operation}\n"));
    }
    if !comparison.sentences.is_empty() {
        text.push('\n');
    }
    for sentence in &comparison.sentences {
        text.push_str(&format!("{sentence}\n"));
    }
    text
}

fn title(row: &judge::Compared) -> String {
    let id = &row.operation;
    let figure = if id.figure.is_empty() { String::new() } else { format!(", {}", id.figure) };
    let who = if row.a == row.b { format!(" [{}]", row.a) } else { String::new() };
    format!("{}/{} ({}{figure}){who}", id.workload, id.operation, id.cache)
}
