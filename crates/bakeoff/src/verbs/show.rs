//! `bakeoff show`: the answer of a run, or its tables and figures, in the requested form.
//! In: a run's id, or none for the latest. Out: text on standard output.

use crate::args::ShowArgs;
use crate::failure::Failure;
use crate::json::{self, Answer};
use crate::show::Shown;
use crate::{mix_report, out, published};
use jiff::Timestamp;
use ledger::{Access, Ledger};
use report::terminal;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// Shows a run.
pub fn show(path: &Path, args: &ShowArgs) -> Result<u8, Failure> {
    let ledger = Ledger::open(path, Access::Read)?;
    if args.runs {
        return runs(&ledger, args.json);
    }
    let Shown { material, view } = Shown::against(&ledger, args.run.as_deref(), args.against.as_deref())?;
    let style = terminal::Style::of_stdout();
    let data = if args.json {
        Some(report::export::results(&material, &view)?)
    } else if let Some(asked) = &args.csv {
        // The command line accepts no other names.
        let table = report::export::CSV.iter().find(|(name, _)| name == asked);
        table.map(|(_, table)| table(&material, &view))
    } else if args.markdown {
        Some(report::export::markdown(&view))
    } else {
        None
    };
    if let Some(data) = data {
        out::data(&data);
        return Ok(0);
    }
    let text = if let Some(mix) = &args.mix {
        mix_report::rendered(mix, &material, &view)?
    } else if args.published {
        published::rendered(&material, &view)?
    } else if let Some(axis) = &args.pivot {
        terminal::pivot(&view, axis, style)?
    } else if let Some(cell) = &args.why {
        terminal::why(&material, &view, cell, style)?
    } else if args.full {
        terminal::show(&view, style)
    } else {
        terminal::answer(&view, style)
    };
    print!("{text}");
    Ok(0)
}

/// `bakeoff show --runs --json`.
#[derive(Serialize, JsonSchema)]
pub struct Runs {
    /// The runs of the ledger, the latest last.
    runs: Vec<OneRun>,
}

/// A run of a ledger.
#[derive(Serialize, JsonSchema)]
struct OneRun {
    /// Its id.
    id: String,
    /// When it began: RFC 3339, UTC.
    began: String,
    /// `open`, `interrupted` or `finished`.
    status: String,
    /// Its question in a line.
    title: String,
}

impl Answer for Runs {
    const SCHEMA: &'static str = "bakeoff-runs";
}

fn runs(ledger: &Ledger, as_json: bool) -> Result<u8, Failure> {
    let began = |ms: i64| Timestamp::from_millisecond(ms).unwrap_or_default();
    let all = ledger.runs()?;
    if as_json {
        let one = |run: &ledger::RunRecord| OneRun {
            id: run.id.clone(),
            began: began(run.began_ms).to_string(),
            status: run.status.name().into(),
            title: run.new.title.clone(),
        };
        json::print(&Runs { runs: all.iter().map(one).collect() })?;
        return Ok(0);
    }
    for run in &all {
        let began = began(run.began_ms).strftime("%Y-%m-%d %H:%M UTC");
        println!("{}  {began}  {:<11}  {}", run.id, run.status.name(), run.new.title);
    }
    Ok(0)
}
