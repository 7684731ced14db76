//! Findings that are not figures of a run: sentences, and a table of observations for each contender.
//! In: [`Findings`]. Out: one HTML file that needs no network; the terminal draws the same.

use crate::page_head::page_head;
use maud::{DOCTYPE, Markup, html};

const STYLE: &str = include_str!("../assets/page.css");
const OWN_STYLE: &str = include_str!("../assets/findings.css");

/// Findings, ready to show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// The question, as a heading.
    pub title: String,
    /// The answer, a sentence each, the most important first.
    pub answers: Vec<String>,
    /// The contenders.
    pub columns: Vec<String>,
    /// The rows, under headings.
    pub groups: Vec<Group>,
    /// What readers must know in addition, a paragraph each.
    pub notes: Vec<String>,
}

/// Rows under a heading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Group {
    /// The heading.
    pub name: String,
    /// The rows.
    pub rows: Vec<Row>,
}

/// One row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// What it is about, in a word or two.
    pub name: String,
    /// The same in a sentence, where there is one.
    pub about: Option<String>,
    /// Whether it is a detail of the row above.
    pub minor: bool,
    /// A cell for each contender.
    pub cells: Vec<Cell>,
}

/// One cell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    /// In a word or two.
    pub text: String,
    /// Its tone.
    pub tone: Tone,
    /// The observation, in a sentence.
    pub seen: Option<String>,
}

/// The tone of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    /// Neutral.
    #[default]
    Plain,
    /// As it should be.
    Good,
    /// Undesirable, but reported.
    Warning,
    /// Broken.
    Broken,
}

impl Cell {
    /// A neutral cell.
    pub fn plain(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }
}

impl Tone {
    pub(crate) fn class(self) -> &'static str {
        match self {
            Tone::Plain => "plain",
            Tone::Good => "good",
            Tone::Warning => "warning",
            Tone::Broken => "broken",
        }
    }
}

/// A page without scripts, which loads nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// The page.
pub fn page(findings: &Findings) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (page_head(&findings.title, env!("CARGO_PKG_VERSION"), Some(POLICY), &[STYLE, OWN_STYLE], &html! {}))
            body {
                header.top {
                    p.quiet.asked { (findings.title) }
                    h1 { (findings.answers.first().map_or("", String::as_str)) }
                }
                main {
                    section.answer aria-label="Answer" { @for line in findings.answers.iter().skip(1) { p { (line) } } }
                    (table(findings))
                    (seen(findings))
                    section.notes aria-label="Notes" { @for note in &findings.notes { p.quiet.small { (note) } } }
                }
                footer { p { "Made by Bakeoff " (env!("CARGO_PKG_VERSION")) "." } }
            }
        }
    };
    page.into_string()
}

fn table(findings: &Findings) -> Markup {
    html! {
        div.findings tabindex="0" role="region" aria-label="Table" {
            table {
                thead { tr { th scope="col" {} @for name in &findings.columns { th scope="col" { (name) } } } }
                @for group in &findings.groups {
                    tbody {
                        tr.group { th scope="rowgroup" colspan=(findings.columns.len() + 1) { (group.name) } }
                        @for row in &group.rows {
                            tr.minor[row.minor] {
                                th scope="row" {
                                    (row.name)
                                    @if let Some(about) = &row.about { span.about { (about) } }
                                }
                                @for cell in &row.cells { td class=(cell.tone.class()) { (cell.text) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The observations where something was broken.
fn seen(findings: &Findings) -> Markup {
    let rows = || findings.groups.iter().flat_map(|group| &group.rows);
    let shown = |row: &Row| row.cells.iter().any(|cell| cell.seen.is_some());
    html! {
        @if rows().any(shown) {
            section aria-labelledby="seen" {
                h2 id="seen" { "What was seen" }
                @for row in rows().filter(|row| shown(row)) {
                    h3 { (row.name) }
                    dl.seen {
                        @for (name, cell) in findings.columns.iter().zip(&row.cells) {
                            @if let Some(seen) = &cell.seen { dt { (name) } dd { (seen) } }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_holds_all_that_was_found_and_nothing_that_could_act() {
        let cell = Cell { text: "broken 3 %".into(), tone: Tone::Broken, seen: Some("<b>data</b> is gone".into()) };
        let row = Row { name: "fsync".into(), about: Some("data is there".into()), minor: false, cells: vec![cell] };
        let findings = Findings {
            title: "Power cuts".into(),
            answers: vec!["ext2 did NOT keep it.".into(), "More.".into()],
            columns: vec!["ext2 <script>".into()],
            groups: vec![Group { name: "Promised".into(), rows: vec![row] }],
            notes: vec!["1,000 states.".into()],
        };
        let page = page(&findings);
        for note in
            ["<h1>ext2 did NOT keep it.</h1>", "class=\"broken\"", "&lt;b&gt;data&lt;/b&gt; is gone", "1,000 states."]
        {
            assert!(page.contains(note), "{note}");
        }
        assert!(!page.contains("<script"), "nothing of it can act");
    }
}
