//! Shows a run: the terminal's tables, and the report folder.
//! In: an open ledger and a run's id. Out: text on standard output, files in a folder.

use crate::failure::Failure;
use crate::{measured, published};
use ledger::Ledger;
use report::{Material, View, terminal};
use std::path::{Path, PathBuf};

/// Most letters of a run's id in a file name; our own ids have 20.
const ID_LIMIT: usize = 64;

/// A run with the content of its report.
pub struct Shown {
    pub material: Material,
    pub view: View,
}

impl Shown {
    /// A run by its id or a prefix of it, or the latest (`None`).
    pub fn read(ledger: &Ledger, run: Option<&str>) -> Result<Shown, Failure> {
        let material = Material::read(ledger, run)?;
        let view = measured::beside(&material, View::of(&material)?);
        Ok(Shown { material, view })
    }

    /// The same, with every contender compared with the one of this name.
    pub fn against(ledger: &Ledger, run: Option<&str>, name: Option<&str>) -> Result<Shown, Failure> {
        let mut shown = Shown::read(ledger, run)?;
        name.map_or(Ok(()), |name| shown.view.hold_against(name))?;
        Ok(shown)
    }
}

/// The answer of a run on standard output.
pub fn verdict(view: &View) {
    print!("{}", terminal::answer(view, terminal::Style::of_stdout()));
}

/// Writes the report folder, on request with published figures next to the run's own, and returns the path of its page.
pub fn report(
    shown: &mut Shown,
    folder: &Path,
    formats: &[report::Format],
    with_published: bool,
) -> Result<PathBuf, Failure> {
    let Shown { material, view } = shown;
    if with_published {
        view.published = published::views(material, &view.table)?;
    }
    let formats = if formats.is_empty() { report::Format::ALL } else { formats };
    report::write_view(material, view, folder, formats)?;
    let page = folder.join("index.html");
    Ok(std::fs::canonicalize(&page).unwrap_or(page))
}

/// The page of a run's report in its current state, with published figures next to the run's own.
pub fn page(ledger: &Ledger, id: &str) -> Result<String, Failure> {
    let Shown { material, mut view } = Shown::read(ledger, Some(id))?;
    view.published = published::views(&material, &view.table)?;
    Ok(report::html::page(&material, &view, &report::chart::chart_data(&material, &view))?)
}

/// The folder of a run's report, with a default name.
///
/// # Errors
/// As [`named_after`].
pub fn report_folder(named: Option<&Path>, id: &str) -> Result<PathBuf, Failure> {
    named.map_or_else(|| named_after("bakeoff-report-", id, ""), |folder| Ok(folder.to_owned()))
}

/// The name of a file or folder for a run.
///
/// # Errors
/// The id, which may come from a foreign ledger, is not a plain name.
pub fn named_after(before: &str, id: &str, after: &str) -> Result<PathBuf, Failure> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    if id.is_empty() || id.len() > ID_LIMIT || !id.chars().all(plain) {
        let shown: String = id.chars().take(ID_LIMIT).collect();
        return Err(Failure::new(format!("the run's id \"{shown}\" cannot be a file name; name a file with -o")));
    }
    Ok(format!("{before}{id}{after}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_id_that_stays_in_its_folder_becomes_a_name() {
        assert_eq!(
            named_after("bakeoff-", "20261120-160843-3f2a", ".json").ok(),
            Some("bakeoff-20261120-160843-3f2a.json".into())
        );
        for id in ["", "../x", "/etc/passwd", "a/b", "a b", "x\u{1b}[2J", &"x".repeat(65)] {
            assert!(named_after("bakeoff-", id, ".json").is_err(), "{id}");
        }
    }
}
