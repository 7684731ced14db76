//! Two runs, or two contenders, side by side.
//! In: [`Compared`], already judged. Out: a page, which needs no script.

use crate::findings::Tone;
use maud::{Markup, html};

/// Ratios beyond this, up or down, are drawn at the edge.
const EDGE: f64 = 8.0;

/// A comparison, as it is shown.
#[derive(Debug, Clone, Default)]
pub struct Compared {
    /// The baseline of the comparison.
    pub a: CompareChoice,
    /// What is judged.
    pub b: CompareChoice,
    /// All choices for either side.
    pub choices: Vec<CompareChoice>,
    /// The result, in a sentence or two.
    pub meaning: String,
    /// Differences up to this share count as the same.
    pub margin: f64,
    /// Operations by workload.
    pub sections: Vec<Section>,
    /// What only one of the two has, or what is too short.
    pub unmatched: Vec<String>,
}

/// A choice for comparison: a run, or a contender of one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompareChoice {
    /// As in requests: `RUN` or `RUN:CONTENDER`.
    pub value: String,
    /// As shown.
    pub label: String,
}

/// Operations under a heading.
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// The heading.
    pub heading: String,
    /// A line each.
    pub lines: Vec<Line>,
}

/// One operation.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// What it is.
    pub operation: String,
    /// Median of A, with its unit.
    pub a: String,
    /// Median of B.
    pub b: String,
    /// How many times slower B is: the estimate, and its interval where there is one.
    pub ratio: f64,
    /// Ends of the interval that decides.
    pub interval: Option<(f64, f64)>,
    /// Both in digits.
    pub shown: String,
    /// The verdict on B, in a word or two.
    pub change: &'static str,
    /// Its tone.
    pub tone: Tone,
    /// Addresses of the evidence of both figures.
    pub why: (String, String),
}

/// The page.
pub fn compared(page: &Compared) -> String {
    let (first, rest) = page.meaning.split_once(". ").unwrap_or((&page.meaning, ""));
    let heading = html! {
        p.quiet.asked { "A: " (page.a.label) br; "B: " (page.b.label) }
        h1 { (first) @if !rest.is_empty() { "." } }
        @if !rest.is_empty() { p { (rest) } }
    };
    let main = html! {
        (choose(page))
        p.quiet {
            "Medians. Times: how many times slower B is than A (below 1: faster), with the interval that decides. Differences within "
            (crate::number::percent(page.margin)) " count as the same."
        }
        @for section in &page.sections { (table(section)) }
        @if !page.unmatched.is_empty() {
            details { summary { "Not compared: present in only one of the two, or too short" } ul { @for what in &page.unmatched { li { (what) } } } }
        }
    };
    super::framed("Compared", &[("./".into(), "All runs".into())], &heading, &main)
}

fn choose(page: &Compared) -> Markup {
    let select = |name: &str, chosen: &CompareChoice| {
        html! {
            label {
                span { (name.to_uppercase()) }
                select name=(name) {
                    @for choice in &page.choices {
                        option value=(choice.value) selected[choice.value == chosen.value] { (choice.label) }
                    }
                }
            }
        }
    };
    html! {
        form.choose method="get" action="compare" {
            (select("a", &page.a)) (select("b", &page.b))
            button type="submit" { "Compare" }
            a href={ "compare?a=" (super::encoded(&page.b.value)) "&b=" (super::encoded(&page.a.value)) } { "Swap A and B" }
        }
    }
}

fn table(section: &Section) -> Markup {
    html! {
        h2 { (section.heading) }
        div.scroll tabindex="0" role="region" aria-label=(section.heading) {
            table.compared {
                thead { tr {
                    th scope="col" { "Operation" } th.n scope="col" { "A" } th.n scope="col" { "B" }
                    th.line scope="col" { span.ends { span { "B faster" } span { "B slower" } } }
                    th scope="col" { "Times" } th scope="col" { "B is" }
                } }
                tbody {
                    @for line in &section.lines {
                        tr {
                            th scope="row" { (line.operation) }
                            td.n { a.why href=(line.why.0) { (line.a) } }
                            td.n { a.why href=(line.why.1) { (line.b) } }
                            td.line { (picture(line)) }
                            td.whole { (line.shown) }
                            td.whole class=(line.tone.class()) { (line.change) }
                        }
                    }
                }
            }
        }
    }
}

/// Position of a ratio on a logarithmic line from 1/EDGE to EDGE, in percent.
fn place(ratio: f64) -> f64 {
    let at = (ratio.max(f64::MIN_POSITIVE).ln() / EDGE.ln()).clamp(-1.0, 1.0);
    ((at + 1.0) * 500.0).round() / 10.0
}

fn picture(line: &Line) -> Markup {
    let (low, high) = line.interval.unwrap_or((line.ratio, line.ratio));
    let (low, high) = (place(low), place(high));
    html! {
        span.times aria-hidden="true" class=(line.tone.class()) {
            span.one {}
            span.interval style={ "left:" (low) "%;width:" (((high - low) * 10.0).round() / 10.0) "%" } {}
            span.mark style={ "left:" (place(line.ratio)) "%" } {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_lie_on_a_logarithmic_line() {
        assert_eq!(
            (place(1.0), place(EDGE), place(1.0 / EDGE), place(1e9), place(0.0)),
            (50.0, 100.0, 0.0, 100.0, 0.0)
        );
        assert!(place(2.0) - 50.0 == 50.0 - place(0.5));
    }
}
