//! The runs of a ledger: search, selection, and comparison of two.
//! In: [`Runs`]. Out: a page, which needs no script.

use crate::view::plural;
use maud::{Markup, html};

/// The shown part of the runs of a ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Runs {
    /// Name of the ledger.
    pub ledger: String,
    /// The search text; empty: none.
    pub search: String,
    /// Number of runs found.
    pub found: usize,
    /// Position of the first shown run among those found, from 0.
    pub first: usize,
    /// The shown runs, the latest first.
    pub lines: Vec<RunLine>,
    /// Runs on one page.
    pub a_page: usize,
}

/// One run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunLine {
    /// Its id.
    pub id: String,
    /// When it began, formatted for readers.
    pub began: String,
    /// `open`, `interrupted` or `finished`.
    pub status: String,
    /// Its question in a line.
    pub title: String,
    /// Its contenders and workloads.
    pub about: String,
}

/// The page.
pub fn runs(runs: &Runs) -> String {
    let heading = html! {
        p.quiet.asked { "Ledger " span.mono { (runs.ledger) } }
        h1 { @if runs.search.is_empty() { (plural(runs.found, "run")) } @else { (plural(runs.found, "run")) " with “" (runs.search) "”" } }
    };
    let main = html! {
        form.search method="get" action="./" role="search" {
            label for="q" { "Search" }
            input id="q" type="search" name="q" value=(runs.search) maxlength="200" placeholder="xfs small-files 2026-11";
            button type="submit" { "Search" }
            @if !runs.search.is_empty() { a href="./" { "All runs" } }
        }
        @if runs.lines.is_empty() {
            p.quiet { @if runs.search.is_empty() { "The ledger holds no run yet; " span.mono { "bakeoff run" } " makes one." } @else { "No run matches all of these words." } }
        } @else {
            (list(runs))
        }
    };
    super::framed(&format!("Runs of {}", runs.ledger), &[], &heading, &main)
}

fn list(runs: &Runs) -> Markup {
    html! {
        form method="get" action="compare" {
            ol.runs {
                @for (at, run) in runs.lines.iter().enumerate() {
                    li {
                        span.pick {
                            label { input type="radio" name="a" value=(run.id) checked[at == 1 || runs.lines.len() == 1]; "A" }
                            label { input type="radio" name="b" value=(run.id) checked[at == 0]; "B" }
                        }
                        div {
                            a href={ "run?id=" (super::encoded(&run.id)) } { (run.title) }
                            p.quiet.small { (run.began) " · " span class=(run.status) { (run.status) } " · " span.mono { (run.id) } }
                            @if !run.about.is_empty() { p.quiet.small { (run.about) } }
                        }
                    }
                }
            }
            p.act { button type="submit" { "Compare A with B" } }
        }
        (turning(runs))
    }
}

/// Links to newer and older runs.
fn turning(runs: &Runs) -> Markup {
    let to = |first: usize| format!("./?q={}&first={first}", super::encoded(&runs.search));
    let after = runs.first + runs.lines.len();
    html! {
        @if runs.first > 0 || after < runs.found {
            nav.way aria-label="More runs" {
                @if runs.first > 0 { a href=(to(runs.first.saturating_sub(runs.a_page))) { "Newer" } " " }
                span.quiet { (runs.first + 1) " to " (after) " of " (runs.found) } " "
                @if after < runs.found { a href=(to(after)) { "Older" } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_anybody_is_shown_and_cannot_act() {
        let line = RunLine { id: "20261120-1".into(), title: "<script>x</script>".into(), ..RunLine::default() };
        let shown = Runs { ledger: "b.db".into(), found: 3, first: 1, lines: vec![line], a_page: 1, ..Runs::default() };
        let page = runs(&shown);
        assert!(page.contains("&lt;script&gt;") && !page.contains("<script"), "{page}");
        assert!(page.contains("2 to 2 of 3") && page.contains("first=0") && page.contains("first=2"), "{page}");
    }
}
