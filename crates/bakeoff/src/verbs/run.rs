//! `bakeoff run`: runs a plan, from names on the command line to a verdict.
//! In: [`RunArgs`]. Out: trials in the ledger, a verdict, a report; claims and a mix on request.

use crate::args::{ClaimsArgs, RunArgs};
use crate::failure::Failure;
use crate::session::STOPPED;
use crate::verbs::claims;
use crate::{contenders, estimate, features, mix_report, resolve, session, text};
use ledger::{Access, Ledger};
use report::{Material, View};
use std::path::Path;

/// Resolves the command line, and runs the plan.
pub fn run(ledger: &Path, args: &RunArgs) -> Result<u8, Failure> {
    let (plan, catalogue) = resolve::plan(&args.what)?;
    if let Some(asked) = &args.mix {
        mix_report::check(asked, &plan)?;
    }
    if let Some(line) = contenders::in_guests(&plan.contenders) {
        eprint!("{}", text::wrapped(&line, text::width(), "", "  "));
    }
    for note in &plan.notes {
        eprint!("{}", text::wrapped(note, text::width(), "", "  "));
    }
    if let Some(budget) = estimate::budget(&plan) {
        eprint!("{}", text::wrapped(&budget, text::width(), "", "  "));
    }
    let filesystems = catalogue.filesystems.may_run();
    let features = if args.features { features::of_plan(&plan, &filesystems)? } else { Vec::new() };
    let status = session::begin(ledger, &plan, &filesystems, &features, &args.output)?;
    if status == STOPPED {
        return Ok(status);
    }
    if let Some(asked) = &args.mix {
        let material = Material::read(&Ledger::open(ledger, Access::Read)?, None)?;
        print!("\n{}", mix_report::rendered(asked, &material, &View::of(&material)?)?);
    }
    if let Some(file) = &args.what.claims {
        let file = crate::claims::own(file).map(Path::to_path_buf);
        println!();
        claims::claims(ledger, &ClaimsArgs { run: None, file, json: false })?;
    }
    Ok(status)
}
