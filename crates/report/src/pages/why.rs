//! The evidence of a figure, down to its samples.
//! In: [`WhyPage`]. Out: a page, which needs no script.

use crate::number;
use crate::view::{Point, Why};
use maud::{Markup, html};

/// Width and height of the picture of the samples, and its margins, in units of its own.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 150.0;
const LEFT: f64 = 64.0;
const LOW: f64 = 26.0;
const TOP: f64 = 10.0;
/// Labels of blocks below the picture at most.
const LABELS: u32 = 12;

/// The evidence of a cell, with links.
#[derive(Debug, Clone)]
pub struct WhyPage {
    /// The evidence.
    pub why: Why,
    /// The navigation links.
    pub top: Vec<(String, String)>,
    /// The same operation of other contenders: addresses and names.
    pub others: Vec<(String, String)>,
}

/// The page.
pub fn why(page: &WhyPage) -> String {
    let why = &page.why;
    let heading = html! {
        p.quiet.asked { (why.title) }
        h1 { (why.facts.first().map_or("not measured", String::as_str)) }
    };
    let main = html! {
        @if !page.others.is_empty() {
            p { span.quiet { "The same of: " } @for (at, (address, name)) in page.others.iter().enumerate() { @if at > 0 { ", " } a href=(address) { (name) } } }
        }
        ul.facts { @for fact in why.facts.iter().skip(1) { li { (fact) } } }
        h2 { "Samples" }
        (picture(why))
        (table(why))
    };
    super::framed(&why.title, &page.top, &heading, &main)
}

/// Every sample by its block: filled where it counts, hollow where it was set aside, a cross where it was disturbed.
fn picture(why: &Why) -> Markup {
    let values = why.points.iter().map(|point| point.value);
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if !(low.is_finite() && high.is_finite()) {
        return html! {};
    }
    let blocks = why.points.iter().map(|point| point.block + 1).max().unwrap_or(1);
    let span = if high > low { high - low } else { high.abs().max(1.0) };
    let y = |value: f64| one_digit(TOP + (HEIGHT - TOP - LOW) * (1.0 - (value - low) / span));
    let x = |block: u32| one_digit(LEFT + (WIDTH - LEFT) * (f64::from(block) + 0.5) / f64::from(blocks));
    let step = blocks.div_ceil(LABELS).max(1) as usize;
    html! {
        svg.samples viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label="Samples by round; the table below has every one" {
            @for value in if high > low { vec![low, high] } else { vec![low] } {
                line.grid x1=(LEFT) x2=(WIDTH) y1=(y(value)) y2=(y(value)) {}
                text.tick x=(LEFT - 8.0) y=(y(value) + 4.0) text-anchor="end" { (number::plain(value)) " " (why.unit) }
            }
            @for block in (0..blocks).step_by(step) {
                text.tick x=(x(block)) y=(HEIGHT - 6.0) text-anchor="middle" { @if block == 0 { "round " } (block + 1) }
            }
            @for point in &why.points { (mark(point, x(point.block), y(point.value))) }
        }
    }
}

fn mark(point: &Point, x: f64, y: f64) -> Markup {
    html! {
        circle.hollow[!point.counts] cx=(x) cy=(y) r="4.5" {}
        @if point.disturbed { path.disturbed d=(format!("M{} {}l10 10m0 -10l-10 10", x - 5.0, y - 5.0)) {} }
    }
}

fn one_digit(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn table(why: &Why) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Samples" {
            table {
                caption { "Trials in the order in which they ran; a filled point counts, a hollow one was set aside, a crossed one was disturbed." }
                thead { tr { @for (at, heading) in why.headings.iter().enumerate() { th.n[at < 6] scope="col" { (heading) } } } }
                tbody {
                    @for sample in &why.samples {
                        tr { @for (at, text) in sample.iter().enumerate() { td.n[at < 6] { (text) } } }
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
    fn every_sample_is_a_mark_and_a_line() {
        let point = |block, value, counts, disturbed| Point { block, value, counts, disturbed };
        let words = |text: &str| std::array::from_fn(|_| text.to_owned());
        let why_of = Why {
            title: "Small files, create, ext4".into(),
            facts: vec!["median 5 k/s".into(), "note: <b>odd</b>".into()],
            headings: words("heading"),
            samples: vec![words("1"), words("2")],
            points: vec![point(0, 5.0, true, false), point(1, 7.0, false, true)],
            unit: "k/s",
        };
        let page =
            why(&WhyPage { why: why_of.clone(), top: Vec::new(), others: vec![("why?cell=x".into(), "xfs".into())] });
        assert_eq!((page.matches("<circle").count(), page.matches("class=\"disturbed\"").count()), (2, 1));
        assert!(page.contains("&lt;b&gt;odd") && page.contains("why?cell=x") && !page.contains("NaN"), "{page}");
        let same = why(&WhyPage {
            why: Why { points: vec![point(0, 5.0, true, false)], ..why_of },
            top: Vec::new(),
            others: Vec::new(),
        });
        assert!(!same.contains("NaN") && same.contains("<circle"), "{same}");
    }
}
