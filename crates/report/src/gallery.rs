//! The gallery: one page of many published runs, and the ledgers behind its figures.
//! In: [`Gallery`], numbered lists without duplicates, and the ledgers' bytes. Out: a folder that any browser or web server can show.
//! No content of an entry reaches the page as markup: the page's script inserts all of it as text.

use crate::ReportError;
use crate::export::write_files;
use crate::view::plural;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;
use std::path::{Path, PathBuf};

const STYLE: &str = include_str!("../assets/gallery.css");
const PROGRAM: &str = include_str!("../assets/gallery.js");
/// The page loads nothing, and runs only its own script.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Everything that the page shows.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Gallery {
    /// Version of the program that made it.
    pub made_by: String,
    /// Classes of disks, by name.
    pub disks: Vec<String>,
    /// Series of kernels, such as 6.12.
    pub kernels: Vec<String>,
    /// Filesystems.
    pub filesystems: Vec<String>,
    /// Contenders, by their names without the disk.
    pub contenders: Vec<String>,
    /// Work, at a scale and with settings.
    pub works: Vec<Work>,
    /// Rows that rank contenders.
    pub lines: Vec<Line>,
    /// Published runs whose judgement matches what they state.
    pub entries: Vec<Entry>,
    /// Ratios over entries.
    pub pools: Vec<Pool>,
    /// Published claims and their verdicts.
    pub claims: Vec<Claim>,
    /// Figures that others published, as entries of their own.
    pub sources: Vec<Source>,
    /// Refused runs, with the reason.
    pub refused: Vec<(String, String)>,
    /// Whether lists of ratios had to be cut to keep the page small.
    pub cut: bool,
}

/// Work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Work {
    /// Name of the workload.
    pub name: String,
    /// Scale.
    pub scale: String,
    /// Heading.
    pub title: String,
    /// How it differs from other work of the same name and scale; empty where there is none.
    pub settings: String,
}

/// One line: an operation of some work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Index into [`Gallery::works`].
    pub work: usize,
    /// What is done, in words.
    pub title: String,
    /// Whether it is the sum of the other lines of its work.
    pub sum: bool,
}

/// A published run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Entry {
    /// Its id.
    pub id: String,
    /// The day on which it began.
    pub day: String,
    /// Index into [`Gallery::disks`].
    pub disk: usize,
    /// The disk, in words.
    pub model: String,
    /// The machine, in words.
    pub machine: String,
    /// Number of its machine, as far as it is known: entries with the same number are of one machine.
    pub number: usize,
    /// Indices into [`Gallery::kernels`].
    pub kernels: Vec<usize>,
    /// Indices into [`Gallery::filesystems`].
    pub filesystems: Vec<usize>,
    /// Indices into [`Gallery::works`].
    pub works: Vec<usize>,
    /// Which contender to take, in words.
    pub answer: String,
    /// How certain that is, in words.
    pub certainty: String,
    /// Blocks.
    pub blocks: u32,
    /// For each of its lines the index into [`Gallery::lines`], then for each of its contenders three numbers: index into
    /// [`Gallery::contenders`], times worse than the best in hundredths, and the verdict, an index into the page's list of relations.
    pub ranks: Vec<Vec<u32>>,
}

/// A ratio over entries: an array to save space, since there are many.
#[derive(Debug, Clone, Serialize)]
pub struct Pool(
    /// Index of the class of disk; -1 for all.
    pub i32,
    /// Index of the series of kernels; -1 for all.
    pub i32,
    /// Index of the line.
    pub usize,
    /// Index of the first contender.
    pub usize,
    /// Index of the second contender.
    pub usize,
    /// How many times worse the second is, the interval of that, and the prediction for a further machine, which may be missing.
    pub Vec<f64>,
    /// Runs.
    pub usize,
    /// Machines.
    pub usize,
);

/// A published claim.
#[derive(Debug, Clone, Serialize)]
pub struct Claim {
    /// Its id.
    pub id: String,
    /// In words.
    pub text: String,
    /// Index into [`Gallery::sources`].
    pub source: Option<usize>,
    /// Kind of device that it is about.
    pub device: String,
    /// Its verdict in each entry that could test it: index into [`Gallery::entries`], and 0 for holds, 1 for reversed, 2 for no difference shown.
    pub tested: Vec<(usize, u8)>,
}

/// What one source has published.
#[derive(Debug, Clone, Serialize)]
pub struct Source {
    /// Its title.
    pub title: String,
    /// When it was published.
    pub year: String,
    /// The hardware measured on.
    pub hardware: String,
    /// Its figures: workload, operation with cache, filesystem with options, value with unit.
    pub figures: Vec<[String; 4]>,
}

impl Gallery {
    /// A ratio with as many digits as a page shows.
    pub fn rounded(value: f64) -> f64 {
        let digits = 10f64.powi(3 - value.abs().max(1e-9).log10().floor() as i32);
        (value * digits).round() / digits
    }
}

/// Path of an entry's ledger within the site; ids are letters, digits and dashes.
pub fn ledger_name(id: &str) -> String {
    format!("ledgers/{id}.json.gz")
}

/// Writes the site: the page and the ledgers by the ids of their entries. The files of an earlier gallery are replaced.
///
/// # Errors
/// A folder that cannot be written or holds something else.
pub fn write(
    folder: &Path,
    gallery: &Gallery,
    ledgers: Vec<(String, Vec<u8>)>,
    stamp: &str,
) -> Result<PathBuf, ReportError> {
    let page = ("index.html".to_owned(), page(gallery)?.into_bytes());
    let ledgers = ledgers.into_iter().map(|(id, bytes)| (ledger_name(&id), bytes));
    // The folder treats two galleries as two reports, so that no file of the earlier one remains.
    write_files(folder, &format!("gallery {stamp}"), &std::iter::once(page).chain(ledgers).collect::<Vec<_>>())?;
    Ok(folder.join("index.html"))
}

/// The page, as one file.
///
/// # Errors
/// Never in practice: all of it is text and numbers.
pub fn page(gallery: &Gallery) -> Result<String, ReportError> {
    // Escaped so that nothing within the script looks like its end.
    let refused =
        |error: serde_json::Error| ReportError::Judging { run: "of the gallery".into(), answer: error.to_string() };
    let data = serde_json::to_string(gallery).map_err(refused)?.replace('<', "\\u003c");
    let entries = gallery.entries.len();
    let body = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="color-scheme" content="light dark";
                title { "Bakeoff: which filesystem is best" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (head(gallery, entries))
                (main())
                script type="application/json" id="data" { (PreEscaped(data)) }
                script { (PreEscaped(PROGRAM)) }
            }
        }
    };
    Ok(body.into_string())
}

fn head(gallery: &Gallery, entries: usize) -> Markup {
    let machines = gallery.entries.iter().map(|entry| entry.number).collect::<std::collections::BTreeSet<_>>().len();
    html! {
        header {
            h1 { "Which filesystem is best?" }
            p {
                (plural(entries, "published run")) " of Bakeoff on " (plural(machines, "machine")) ", each judged again from its database when this page was made. \
                Machines are never compared with each other: only ratios between contenders of one run are pooled."
            }
            noscript { p class="refused" { "This page needs scripts for its filters; please allow them. The databases are in the folder ledgers next to it." } }
        }
    }
}

fn main() -> Markup {
    html! {
        main {
            section id="filters" aria-label="Filters" {}
            p id="chosen" aria-live="polite" {}
            section {
                h2 { "Work by filesystem" }
                div id="choices" {}
                div id="matrix" {}
            }
            section id="detail" {
                h2 { "One line of work" }
                div id="work" {}
                div id="pooled" {}
            }
            section { h2 { "Runs" } div id="runs" {} }
            section { h2 { "Published claims" } div id="claims" {} }
            section { h2 { "Published by others" } div id="sources" {} }
            section id="refusals" hidden { h2 { "Refused" } div id="refused" {} }
        }
        footer {
            p { "Add a run: " code { "bakeoff publish --run RUN --out FOLDER" } " previews and writes an anonymous copy; "
                code { "bakeoff gallery FOLDER --out SITE" } " makes this page. "
                "To read a database: " code { "bakeoff import FILE" } "." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_an_entry_cannot_end_the_script_that_contains_it() {
        let entry = Entry { model: "</script><script>alert(1)</script><!--".into(), ..Entry::default() };
        let page = page(&Gallery { entries: vec![entry], ..Gallery::default() }).expect("a page");
        assert!(!page.contains("alert(1)</script>") && page.contains("\\u003c/script>"), "{page}");
    }

    #[test]
    fn ratios_keep_four_digits() {
        assert_eq!([1.23456, 123.456, 0.0123456].map(Gallery::rounded), [1.235, 123.5, 0.01235]);
    }
}
