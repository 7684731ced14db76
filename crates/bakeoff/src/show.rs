//! Showing a run: the terminal's tables, and the report folder.
//! In: an open ledger and a run's id. Out: text on standard output, files in a folder.

use crate::failure::Failure;
use crate::published;
use ledger::Ledger;
use records::TrialStatus;
use report::{Material, View, terminal};
use std::path::{Path, PathBuf};

/// Tables and verdict of a run on standard output.
pub fn verdict(ledger: &Ledger, id: &str) -> Result<(), Failure> {
    let view = View::of(&Material::read(ledger, Some(id))?)?;
    print!("{}", terminal::show(&view, terminal::Style::of_stdout()));
    Ok(())
}

/// Writes the report folder, with published figures beside one's own where that is asked for, and returns the path of its
/// page.
pub fn report(
    ledger: &Ledger,
    id: &str,
    folder: &Path,
    formats: &[report::Format],
    with_published: bool,
) -> Result<PathBuf, Failure> {
    let material = Material::read(ledger, Some(id))?;
    let mut view = View::of(&material)?;
    if with_published {
        view.published = published::views(&material, &view.table)?;
    }
    let all = report::Format::ALL;
    report::write_view(&material, &view, folder, if formats.is_empty() { &all } else { formats })?;
    let page = folder.join("index.html");
    Ok(std::fs::canonicalize(&page).unwrap_or(page))
}

/// Whether no trial of the run gave a sample.
pub fn measured_nothing(ledger: &Ledger, id: &str) -> Result<bool, Failure> {
    Ok(ledger.trials(id)?.iter().all(|trial| trial.status == TrialStatus::Failed))
}
