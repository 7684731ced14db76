//! `bakeoff show`: the answer of a run, or its tables and figures, in the form asked for.
//! In: a run's id, or none for the latest. Out: text on standard output.

use crate::args::ShowArgs;
use crate::failure::Failure;
use crate::{mix_report, out, published};
use jiff::Timestamp;
use ledger::{Access, Ledger};
use report::{Material, View, terminal};
use std::path::Path;

/// Shows a run.
pub fn show(path: &Path, args: &ShowArgs) -> Result<u8, Failure> {
    let ledger = Ledger::open(path, Access::Read)?;
    if args.runs {
        return runs(&ledger);
    }
    let material = Material::read(&ledger, args.run.as_deref())?;
    let view = View::of(&material)?;
    let style = terminal::Style::of_stdout();
    let data = if args.json {
        Some(report::export::results(&material, &view)?)
    } else if args.csv {
        Some(report::export::samples_csv(&material, &view))
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
        mix_report::told(mix, &material, &view)?
    } else if args.published {
        published::told(&material, &view)?
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

fn runs(ledger: &Ledger) -> Result<u8, Failure> {
    for run in ledger.runs()? {
        let began = Timestamp::from_millisecond(run.began_ms).unwrap_or_default();
        let status = format!("{:?}", run.status).to_lowercase();
        println!("{}  {}  {status:<11}  {}", run.id, began.strftime("%Y-%m-%d %H:%M UTC"), run.new.title);
    }
    Ok(0)
}
