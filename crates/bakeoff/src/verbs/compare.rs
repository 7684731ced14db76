//! `bakeoff compare A B`: two runs, or two contenders, operation by operation.
//! In: two names. Out: better, worse, same or unresolved for each; with --fail-on, exit status 4 on a regression.

use crate::args::CompareArgs;
use crate::comparing::{self, Named, meaning, times};
use crate::failure::Failure;
use crate::json::{self, Answer};
use crate::session::INCONCLUSIVE;
use crate::text;
use judge::{Compared, Comparison, FailOn, Table};
use ledger::{Access, Ledger};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// Letters of an operation's name next to its figures: with these the longest line fits 80 columns.
const TITLE: usize = 19;
/// Exit status of a regression, with --fail-on.
const REGRESSION: u8 = 4;

/// `bakeoff compare --json`.
#[derive(Serialize, JsonSchema)]
pub struct Answered {
    /// What B is compared with.
    a: OneSide,
    /// What is judged.
    b: OneSide,
    /// Operation by operation.
    comparison: Comparison,
    /// How the machine changed between the two runs, in a sentence; null if no rate proves a change.
    machine: Option<String>,
    /// Share by which B may be worse (`--fail-on`); null without that option.
    fail_on: Option<f64>,
    /// Rows of the comparison, by index, that are worse by more than that: a regression, exit status 4.
    failures: Vec<usize>,
    /// Rows in which it is undecided whether B is worse by more than that; exit status 5 if `--fail-on` has `inconclusive` and there are no failures.
    inconclusive: Vec<usize>,
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
            run: named.run().to_owned(),
            contender: named.contender.map(|index| named.table.contenders[index].name.clone()),
        };
        let numbers = |found: Vec<&Compared>| {
            let rows = comparison.rows.iter().enumerate();
            rows.filter(|(_, row)| found.contains(row)).map(|(index, _)| index).collect()
        };
        let failures = gate.map(|gate| numbers(comparison.failures(&gate))).unwrap_or_default();
        let inconclusive = gate.map(|gate| numbers(comparison.inconclusive(&gate))).unwrap_or_default();
        let fail_on = gate.map(|gate| gate.worse);
        let machine = comparing::machine(a, b);
        Answered { a: side(a), b: side(b), comparison: comparison.clone(), machine, fail_on, failures, inconclusive }
    }
}

/// Compares, prints, and judges by `--fail-on`.
pub fn compare(path: &Path, args: &CompareArgs) -> Result<u8, Failure> {
    let gate = args.fail_on.as_deref().map(FailOn::parse).transpose().map_err(Failure::usage)?;
    let ledger = Ledger::open(path, Access::Read)?;
    let (comparison, a, b) = comparing::compared(&ledger, &args.a, &args.b)?;
    if args.json {
        let answered = Answered::of(&comparison, &a, &b, gate);
        json::print(&answered)?;
        return Ok(status(gate, answered.failures.len(), answered.inconclusive.len()));
    }
    print!("{}", shown(&comparison, &a, &b));
    if args.unmatched {
        print!("{}", unmatched(&comparison));
    }
    let Some(gate) = gate else { return Ok(0) };
    let (failures, open) = (comparison.failures(&gate), comparison.inconclusive(&gate));
    print!("{}", judged(&comparison, &gate));
    Ok(status(Some(gate), failures.len(), open.len()))
}

/// The result of `--fail-on`, in a line or two.
fn judged(comparison: &Comparison, gate: &FailOn) -> String {
    let count = |likely: bool| comparison.failures(&FailOn { likely, ..*gate }).len();
    let (proven, likely) = (count(false), count(true));
    let percent = share(gate.worse);
    let mut text = match (gate.likely, proven, likely) {
        (true, _, 0) => format!("\nNothing is likely worse by more than {percent}.\n"),
        (true, ..) => format!("\nLikely worse by more than {percent}: {likely}\n"),
        (false, 0, 0) => format!("\nNothing is worse by more than {percent}, beyond doubt.\n"),
        // The table's intervals show these as well.
        (false, 0, _) => format!("\nNothing is worse by more than {percent}, beyond doubt; likely: {likely}\n"),
        (false, ..) if likely > proven => {
            format!("\nWorse by more than {percent}, beyond doubt: {proven}; likely: {} more\n", likely - proven)
        }
        (false, ..) => format!("\nWorse by more than {percent}, beyond doubt: {proven}\n"),
    };
    let open = comparison.inconclusive(gate);
    if gate.inconclusive && !open.is_empty() {
        text.push_str(&format!(
            "Can't tell whether worse by more than {percent}: {}. More samples are needed.\n",
            open.len()
        ));
    }
    text
}

/// A share as given: "5.0 %", "0.25 %".
fn share(share: f64) -> String {
    let percent = (share * 1e6).round() / 1e4;
    if (percent * 10.0).fract() == 0.0 { format!("{percent:.1} %") } else { format!("{percent} %") }
}

/// The exit status of a comparison with so many failures and so many undecided rows.
fn status(gate: Option<FailOn>, failures: usize, open: usize) -> u8 {
    match gate {
        Some(_) if failures > 0 => REGRESSION,
        Some(gate) if gate.inconclusive && open > 0 => INCONCLUSIVE,
        _ => 0,
    }
}

/// Columns: the operation, both medians, the ratio, its interval, the change.
fn shown(comparison: &Comparison, a: &Named, b: &Named) -> String {
    let width = text::width();
    let mut printed = text::wrapped(&a.name, width, "A  ", "   ");
    printed.push_str(&text::wrapped(&b.name, width, "B  ", "   "));
    let margin = share(comparison.smallest_effect);
    let legend = format!(
        "Medians; times: how many times slower B is than A (below 1: faster), with the interval that decides. \
         Differences within {margin} count as the same."
    );
    printed.push_str(&text::wrapped(&legend, width, "", ""));
    // A long name gets its own line, so that columns stay aligned.
    let titled = |text: &str, wide: usize| match text.chars().count() > wide {
        true => format!("{text}\n{:wide$}", ""),
        false => format!("{text:<wide$}"),
    };
    let mut heading = String::new();
    for row in &comparison.rows {
        let who = if row.a == row.b && a.contender.is_none() { format!(", {}", row.a) } else { String::new() };
        let section = text::harmless(&format!("{}{who}", row.operation.workload));
        if section != heading {
            let title = titled(&section, TITLE + 2);
            printed.push_str(&format!("\n{title} {:>9} {:>9} {:>6}  interval\n", "A", "B", "times"));
            heading = section;
        }
        printed.push_str(&line(row, &a.table, &titled));
    }
    printed.push('\n');
    printed.push_str(&text::wrapped(&meaning(comparison, a, b), width, "", "  "));
    if !comparison.unmatched.is_empty() {
        let what = report::view::plural(comparison.unmatched.len(), "thing");
        let left_out =
            format!("Not compared: {what} that only one of the two has, or too short; --unmatched lists them.");
        printed.push_str(&text::wrapped(&left_out, width, "", "  "));
    }
    printed
}

/// Operations that are not compared, by name.
fn unmatched(comparison: &Comparison) -> String {
    comparison.unmatched.iter().map(|what| text::wrapped(what, text::width(), "  ", "    ")).collect()
}

fn line(row: &Compared, table: &Table, titled: &dyn Fn(&str, usize) -> String) -> String {
    let unit = table.operations.iter().find(|known| known.id == row.operation).map_or("", |known| known.unit.as_str());
    let change = comparing::change(row.change);
    let interval = comparing::interval(row);
    let id = &row.operation;
    let title = text::harmless(&format!("  {} {}", id.operation, id.cache));
    let title = titled(&title, TITLE + 2);
    let (a, b) = (text::quantity(row.a_median, unit), text::quantity(row.b_median, unit));
    format!("{title} {a:>9} {b:>9} {:>6}  {interval:<13}  {change}\n", times(row.ratio))
}
