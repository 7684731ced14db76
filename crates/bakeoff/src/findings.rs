//! Findings in a terminal: sentences, and tables that fit its width.
//! In: [`Findings`], from which a page is made as well. Out: text.

use crate::failure::Failure;
use crate::text;
use report::{Findings, Row};
use std::path::Path;

/// Narrowest and widest column of a contender: cells are not cut, names are.
const COLUMN: (usize, usize) = (15, 24);

/// Everything, for a terminal.
pub fn printed(findings: &Findings, width: usize) -> String {
    let mut shown: String = findings.answers.iter().map(|sentence| text::wrapped(sentence, width, "", "  ")).collect();
    shown.push('\n');
    let names =
        1 + findings.groups.iter().flat_map(|group| &group.rows).map(|row| indented(row).len()).max().unwrap_or(0);
    let cells = findings.groups.iter().flat_map(|group| &group.rows).flat_map(|row| &row.cells);
    let widest = cells.map(|cell| text::harmless(&cell.text).chars().count()).max().unwrap_or(0);
    let column = (widest + 1).clamp(COLUMN.0, COLUMN.1);
    let few = (width.saturating_sub(names) / column).max(1);
    for from in (0..findings.columns.len()).step_by(few) {
        let to = (from + few).min(findings.columns.len());
        shown.push_str(&table(findings, from..to, (names, column)));
        shown.push('\n');
    }
    shown + &findings.notes.iter().map(|note| text::wrapped(note, width, "", "  ")).collect::<String>()
}

/// Writes them as a page.
///
/// # Errors
/// The file is there already, or cannot be written.
pub fn write_page(findings: &Findings, path: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("--html {}: {error}", path.display()));
    let mut file = std::fs::File::create_new(path).map_err(failed)?;
    std::io::Write::write_all(&mut file, report::findings_page(findings).as_bytes()).map_err(failed)
}

fn indented(row: &Row) -> String {
    format!("{}{}", if row.minor { "    " } else { "  " }, row.name)
}

/// The table of some columns.
fn table(findings: &Findings, columns: std::ops::Range<usize>, (names, column): (usize, usize)) -> String {
    let mut lines = String::new();
    let mut line = |name: &str, cells: &[String]| {
        let cells: String =
            cells.iter().map(|cell| format!("{:>column$}", text::shortened(cell, column - 1))).collect();
        lines.push_str(format!("{name:<names$}{cells}").trim_end());
        lines.push('\n');
    };
    let heading = headings(&findings.columns[columns.clone()]);
    for (at, group) in findings.groups.iter().enumerate() {
        match at {
            // The first group's name is in the same line as the contenders' names.
            0 => heading.iter().enumerate().for_each(|(at, names)| {
                line(if at + 1 == heading.len() { &group.name } else { "" }, names);
            }),
            _ => line(&group.name, &[]),
        }
        for row in &group.rows {
            let cells: Vec<String> = row.cells[columns.clone()].iter().map(|cell| text::harmless(&cell.text)).collect();
            line(&indented(row), &cells);
        }
    }
    lines
}

/// Contenders' names, one word per line, so that long names stay distinct.
fn headings(names: &[String]) -> Vec<Vec<String>> {
    let words = |name: &String| text::harmless(name).split(' ').map(String::from).collect::<Vec<_>>();
    let names: Vec<Vec<String>> = names.iter().map(words).collect();
    let high = names.iter().map(Vec::len).max().unwrap_or(1);
    let word = |name: &Vec<String>, line: usize| line.checked_sub(high - name.len()).map(|at| name[at].clone());
    (0..high).map(|line| names.iter().map(|name| word(name, line).unwrap_or_default()).collect()).collect()
}

#[cfg(test)]
mod tests;
