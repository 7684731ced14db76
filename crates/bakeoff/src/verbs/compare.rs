//! `bakeoff compare A B`: two runs, or two contenders, operation by operation.
//! In: two names. Out: better, worse, same or unresolved for each; with --fail-on, exit status 4 on a regression.

use crate::args::CompareArgs;
use crate::failure::Failure;
use crate::json::{self, Answer};
use crate::text;
use judge::{Change, Compared, Comparison, FailOn, Side, Table};
use ledger::{Access, Ledger};
use report::{Material, View};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// Exit status of a regression that --fail-on asked about.
const REGRESSION: u8 = 4;

/// One side: a run's table, and one contender of it where that was named.
struct Named {
    name: String,
    /// The run's id.
    run: String,
    table: Table,
    contender: Option<usize>,
}

/// `bakeoff compare --json`.
#[derive(Serialize, JsonSchema)]
pub struct Answered {
    /// What B is compared with.
    a: OneSide,
    /// What is judged.
    b: OneSide,
    /// Operation by operation.
    comparison: Comparison,
    /// Share by which B may be worse (`--fail-on`); null where that was not asked.
    fail_on: Option<f64>,
    /// Rows of the comparison, by index, that are worse by more than that: a regression, exit status 4.
    failures: Vec<usize>,
}

/// What was compared.
#[derive(Serialize, JsonSchema)]
struct OneSide {
    /// The run's id.
    run: String,
    /// A contender of it; null where whole runs are compared.
    contender: Option<String>,
}

impl Answer for Answered {
    const SCHEMA: &'static str = "bakeoff-compare";
}

impl Answered {
    fn of(comparison: &Comparison, a: &Named, b: &Named, gate: Option<FailOn>) -> Answered {
        let side = |named: &Named| OneSide {
            run: named.run.clone(),
            contender: named.contender.map(|index| named.table.contenders[index].name.clone()),
        };
        let failed = gate.map(|gate| comparison.failures(&gate)).unwrap_or_default();
        let rows = comparison.rows.iter().enumerate();
        let failures = rows.filter(|(_, row)| failed.contains(row)).map(|(index, _)| index).collect();
        let fail_on = gate.map(|gate| gate.worse);
        Answered { a: side(a), b: side(b), comparison: comparison.clone(), fail_on, failures }
    }
}

/// Compares, prints, and judges by `--fail-on`.
pub fn compare(path: &Path, args: &CompareArgs) -> Result<u8, Failure> {
    let gate = args.fail_on.as_deref().map(FailOn::parse).transpose().map_err(Failure::usage)?;
    let ledger = Ledger::open(path, Access::Read)?;
    let (a, b) = (side(&ledger, &args.a)?, side(&ledger, &args.b)?);
    // Contenders of one run are paired by block, which the judge tells by their table being one and the same.
    let other = if a.run == b.run { &a.table } else { &b.table };
    let comparison = match (a.contender, b.contender) {
        (Some(first), Some(second)) => judge::compare_contenders(
            Side { table: &a.table, contender: first },
            Side { table: other, contender: second },
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
    if args.json {
        let answered = Answered::of(&comparison, &a, &b, gate);
        json::print(&answered)?;
        return Ok(if answered.failures.is_empty() { 0 } else { REGRESSION });
    }
    print!("{}", shown(&comparison, &a, &b));
    if args.unmatched {
        print!("{}", unmatched(&comparison));
    }
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
    let Some(label) = contender else {
        return Ok(Named { name: name.into(), run: material.run.id, table, contender: None });
    };
    let index = table.contender(label).ok_or_else(|| {
        let labels = table.contenders.iter().filter(|contender| contender.twin_of.is_none());
        let labels: Vec<&str> = labels.map(|contender| contender.name.as_str()).collect();
        Failure::usage(format!(
            "{name} is neither a run of this ledger nor a contender of run {}, which has {}",
            material.run.id,
            labels.join(", ")
        ))
    })?;
    Ok(Named { name: name.into(), run: material.run.id, table, contender: Some(index) })
}

/// Columns: the operation, both medians, the ratio, its interval, what may be said.
fn shown(comparison: &Comparison, a: &Named, b: &Named) -> String {
    let width = text::width();
    let mut said = text::wrapped(&a.name, width, "A  ", "   ");
    said.push_str(&text::wrapped(&b.name, width, "B  ", "   "));
    let margin = comparison.smallest_effect * 100.0;
    said.push_str(&text::wrapped(
        &format!(
            "Medians; times: how many times slower B is than A, below 1 it is faster, with the interval that decides. \
             Differences within {margin:.0} % are called the same."
        ),
        width,
        "",
        "",
    ));
    let mut heading = String::new();
    for row in &comparison.rows {
        let who = if row.a == row.b && a.contender.is_none() { format!(", {}", row.a) } else { String::new() };
        let section = text::harmless(&format!("{}{who}", row.operation.workload));
        if section != heading {
            said.push_str(&format!("\n{section:<26} {:>9} {:>9}  {:>5}  {:<13}\n", "A", "B", "times", "interval"));
            heading = section;
        }
        said.push_str(&line(row, &a.table));
    }
    said.push('\n');
    said.push_str(&text::wrapped(&meaning(comparison, a, b), width, "", "  "));
    if !comparison.unmatched.is_empty() {
        let count = comparison.unmatched.len();
        let what = if count == 1 { "1 thing" } else { &format!("{count} things") };
        said.push_str(&text::wrapped(
            &format!("Not compared: {what} that only one of the two has; --unmatched lists them."),
            width,
            "",
            "  ",
        ));
    }
    said
}

/// What only one of the two has, by name.
fn unmatched(comparison: &Comparison) -> String {
    comparison.unmatched.iter().map(|what| text::wrapped(what, text::width(), "  ", "    ")).collect()
}

/// What it comes to, in a sentence or two: "Switching ext4 -> xfs: no clear gain; up to 2.8x slower (rewriting small files)."
fn meaning(comparison: &Comparison, a: &Named, b: &Named) -> String {
    let gains = |row: &&Compared| matches!(row.change, Change::Better | Change::LikelyBetter);
    let losses = |row: &&Compared| matches!(row.change, Change::Worse | Change::LikelyWorse);
    let furthest = |side: &dyn Fn(&&Compared) -> bool| -> Option<&Compared> {
        let of_side = comparison.rows.iter().filter(|row| side(row));
        of_side.max_by(|x, y| x.ratio.ln().abs().total_cmp(&y.ratio.ln().abs()))
    };
    let told = |row: &Compared, word: &str| {
        let likely = matches!(row.change, Change::LikelyBetter | Change::LikelyWorse);
        let likely = if likely { "likely " } else { "" };
        let who = if a.contender.is_none() { format!(" of {}", row.a) } else { String::new() };
        let ratio = if row.ratio < 1.0 { 1.0 / row.ratio } else { row.ratio };
        let phrase =
            a.table.operations.iter().find(|known| known.id == row.operation).map(|known| known.phrase.clone());
        let doing = phrase.filter(|phrase| !phrase.is_empty()).unwrap_or_else(|| row.operation.operation.clone());
        format!("up to {likely}{}x {word} ({doing}{who})", times(ratio))
    };
    let gain = furthest(&gains).map_or_else(|| "no clear gain".to_owned(), |row| told(row, "faster"));
    let loss = furthest(&losses).map_or_else(|| "no clear loss".to_owned(), |row| told(row, "slower"));
    let names = |named: &Named| named.contender.map_or(&named.name, |at| &named.table.contenders[at].name).clone();
    let count = |wanted: &[Change]| comparison.rows.iter().filter(|row| wanted.contains(&row.change)).count();
    let mut text = format!("Switching {} -> {}: {gain}; {loss}.", names(a), names(b));
    if comparison.rows.iter().any(|row| row.unequal_durability) {
        text.push_str(" The two do not keep data equally safe.");
    }
    let disturbed = comparison.rows.iter().filter(|row| row.disturbed > 0).count();
    if disturbed > 0 {
        text.push_str(&format!(" Disturbed trials are in {disturbed} of {} lines.", comparison.rows.len()));
    }
    text.push_str(&format!(
        " Better in {}, worse in {}, the same in {}, can't tell yet in {}.",
        count(&[Change::Better, Change::LikelyBetter]),
        count(&[Change::Worse, Change::LikelyWorse]),
        count(&[Change::Same]),
        count(&[Change::Unresolved])
    ));
    text
}

fn line(row: &Compared, table: &Table) -> String {
    let unit = table.operations.iter().find(|known| known.id == row.operation).map_or("", |known| known.unit.as_str());
    let change = match row.change {
        Change::Better => "better",
        Change::LikelyBetter => "likely better",
        Change::Worse => "WORSE",
        Change::LikelyWorse => "likely worse",
        Change::Same => "same",
        Change::Unresolved => "can't tell yet",
    };
    let few = format!("{} and {} only", row.samples.0, row.samples.1);
    let interval = row.interval.map_or(few, |interval| format!("{} to {}", times(interval.low), times(interval.high)));
    let id = &row.operation;
    let title = text::harmless(&format!("{} {}", id.operation, id.cache));
    // A long name has a line of its own, so that columns stay where they are.
    let title = if title.chars().count() > 24 { format!("{title}\n{:26}", "") } else { format!("{title:<24}") };
    let (a, b) = (text::quantity(row.a_median, unit), text::quantity(row.b_median, unit));
    format!("  {} {a:>9} {b:>9}  {:>5}  {interval:<13}  {change}\n", title, times(row.ratio))
}

/// A ratio in three digits.
fn times(ratio: f64) -> String {
    match ratio {
        r if r >= 100.0 => format!("{r:.0}"),
        r if r >= 10.0 => format!("{r:.1}"),
        r => format!("{r:.2}"),
    }
}
