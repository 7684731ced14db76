//! One chart of everything: for each operation, how many times slower than the best every contender is, with its interval.
//! In: a view. Out: a card for each operation, all on one logarithmic scale with no ink at 1 but the best.
//! A mark is filled where a difference is shown, hollow where it is undecided, ringed where the best is proven; contenders are identified
//! by the names next to their lines, not by colour.

use super::Line;
use crate::chart::round;
use crate::number;
use crate::view::{CellView, RowView, Standing, View};
use maud::{Markup, html};

/// The drawing's width, the minimum of a card, so that text keeps its size; and the space at the right for the figure.
const WIDTH: f64 = 330.0;
const FIGURES: f64 = 46.0;
/// Height of a contender's line and of the axis.
const LINE: f64 = 18.0;
const AXIS: f64 = 20.0;
/// The scale ends here: larger ratios are cut with an arrow.
const MOST: f64 = 20.0;
/// Proven to be slower by more than this: drawn in the warning's colour.
const FAR: f64 = 1.5;
/// Fewest and most characters of the name column, by the longest name; and the width of one.
const LETTERS: [usize; 2] = [12, 20];
const LETTER: f64 = 6.9;

/// Width of a figure of the axis.
const TICK: f64 = 30.0;

/// Values that the axis is marked at.
const MARKS: [f64; 8] = [1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0];

/// The scale of all cards.
struct Scale {
    most: f64,
    /// Characters of names, and the width of their column.
    letters: usize,
    names: f64,
}

impl Scale {
    /// Up to the largest ratio of all, and not beyond [`MOST`]; intervals never stretch it.
    fn of(view: &View) -> Self {
        let cells = view.workloads.iter().flat_map(|workload| &workload.rows).flat_map(|row| &row.cells);
        let furthest = cells.filter_map(|cell| cell.ratio).fold(1.5, f64::max);
        let longest = view.contenders.iter().map(|contender| contender.name.chars().count()).max().unwrap_or(0);
        let letters = longest.clamp(LETTERS[0], LETTERS[1]);
        let most = MARKS.iter().copied().find(|mark| *mark >= furthest).unwrap_or(MOST);
        Scale { most, letters, names: letters as f64 * LETTER }
    }

    /// Marks, and whether there is room for the figure of each after the previous one.
    fn labelled(&self, marks: &[f64]) -> Vec<(f64, bool)> {
        let mut last = f64::NEG_INFINITY;
        let mut labelled = |mark: f64| {
            let (x, _) = self.at(mark);
            let has_label = x - last >= TICK;
            last = if has_label { x } else { last };
            (mark, has_label)
        };
        marks.iter().map(|mark| labelled(*mark)).collect()
    }

    /// Position of a ratio, and whether it is beyond the scale.
    fn at(&self, ratio: f64) -> (f64, bool) {
        let share = (ratio.max(1e-3).ln() / self.most.ln()).clamp(-0.06, 1.0);
        (self.names + 10.0 + share * (WIDTH - self.names - FIGURES - 14.0), ratio > self.most)
    }
}

pub(super) fn forest(view: &View) -> Markup {
    let scale = Scale::of(view);
    html! {
        section.everything aria-labelledby="picture" {
            h2 id="picture" { @if view.counts_instructions() { "Times the instructions of the best" } @else { "Times slower than the best" } }
            p.quiet.small {
                "Points are estimates, lines 95 % intervals; an arrow means beyond the scale. Green band: as good as the best (within "
                (number::percent(view.smallest_effect)) "). Filled: slower, or likely so; orange: by more than " (FAR) "x, proven. "
                "Hollow: can't tell from the best yet. Blue: as good as the best, ringed if it is the only one."
            }
            @for (heading, rows) in super::parts(view) {
                @let rows: Vec<_> = rows.into_iter().filter(|(_, row, _)| compared(row)).collect();
                @if !rows.is_empty() {
                    h3 { (heading) }
                    div.cards {
                        @for (workload, row, title) in rows { (card(view, (workload, row, title), &scale)) }
                    }
                }
            }
        }
    }
}

fn compared(row: &RowView) -> bool {
    row.cells.iter().filter(|cell| cell.ratio.is_some()).count() > 1
}

fn card(view: &View, (workload, row, title): Line<'_>, scale: &Scale) -> Markup {
    let cells: Vec<&CellView> = row.cells.iter().filter(|cell| cell.ratio.is_some()).collect();
    let height = LINE * cells.len() as f64 + AXIS;
    let (left, _) = scale.at(1.0);
    let (band, _) = scale.at(1.0 + view.smallest_effect);
    let marks: Vec<f64> = MARKS.iter().copied().filter(|mark| *mark <= scale.most).collect();
    html! {
        figure.card.sum[view.is_sum(row)] {
            figcaption { a href={ "#" (workload.slug) "-" (row.slug) } { (title) } }
            svg viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label={ (title) ": " (spoken(view, &cells)) } {
                rect.band x=(round(left - 4.0)) y="0" width=(round(band - left + 8.0)) height=(round(height - AXIS)) {}
                text.tick x="0" y=(round(height - 4.0)) { "less is better" }
                @for (mark, has_label) in scale.labelled(&marks) {
                    @let (x, _) = scale.at(mark);
                    line.grid x1=(round(x)) y1="0" x2=(round(x)) y2=(round(height - AXIS + 3.0)) {}
                    @if has_label { text.tick x=(round(x)) y=(round(height - 4.0)) text-anchor="middle" { (mark) "x" } }
                }
                @for (line, cell) in cells.iter().enumerate() { (mark(view, cell, line, scale)) }
            }
        }
    }
}

fn mark(view: &View, cell: &CellView, line: usize, scale: &Scale) -> Markup {
    let y = LINE * (line as f64 + 0.5);
    let ratio = cell.ratio.unwrap_or(1.0);
    let (x, beyond) = scale.at(ratio);
    let (low, high) = cell.ratio_interval.unwrap_or((ratio, ratio));
    let ((from, _), (to, cut)) = (scale.at(low), scale.at(high));
    let contender = &view.contenders[cell.contender];
    let class = match cell.standing {
        Standing::Best | Standing::Tie => "front",
        Standing::Worse if low > FAR => "far",
        Standing::Worse | Standing::Likely => "slower",
        Standing::Leading | Standing::Unresolved | Standing::Alone => "open",
    };
    let figure = if cell.standing == Standing::Best { "best".into() } else { format!("{}x", number::times(ratio)) };
    let right = WIDTH - 2.0;
    html! {
        g class=(class) data-c=(cell.contender) tabindex="-1" {
            title { (contender.name) ": " (described(cell)) }
            rect.hit x="0" y=(round(y - LINE / 2.0)) width=(WIDTH) height=(LINE) {}
            text.name x="0" y=(round(y + 4.0)) { (short(&contender.name, scale.letters)) }
            @if cell.ratio_interval.is_some() {
                line.interval x1=(round(from)) y1=(round(y)) x2=(round(to)) y2=(round(y)) {}
                @if cut { path.arrow d={ "M" (round(to - 5.0)) " " (round(y - 4.0)) " L" (round(to)) " " (round(y)) " L" (round(to - 5.0)) " " (round(y + 4.0)) } {} }
            }
            @if beyond {
                path.arrow d={ "M" (round(x - 6.0)) " " (round(y - 5.0)) " L" (round(x)) " " (round(y)) " L" (round(x - 6.0)) " " (round(y + 5.0)) " Z" } {}
            } @else {
                circle.mark cx=(round(x)) cy=(round(y)) r="4.5" {}
                @if cell.standing == Standing::Best { circle.ring cx=(round(x)) cy=(round(y)) r="7.5" {} }
            }
            text.value x=(round(right)) y=(round(y + 4.0)) text-anchor="end" { (figure) }
        }
    }
}

fn described(cell: &CellView) -> String {
    let ratio = cell.ratio.map_or_else(String::new, |ratio| format!("{}x slower than the best", number::ratio(ratio)));
    match cell.standing {
        Standing::Best | Standing::Leading => super::overview::spoken(cell.standing).to_owned(),
        standing => format!("{ratio}{}, {}", number::range(cell.ratio_interval), super::overview::spoken(standing)),
    }
}

fn spoken(view: &View, cells: &[&CellView]) -> String {
    let each = cells.iter().map(|cell| format!("{} {}", view.contenders[cell.contender].name, described(cell)));
    each.collect::<Vec<_>>().join("; ")
}

fn short(name: &str, room: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= room { name.into() } else { format!("{}…", letters[..room - 1].iter().collect::<String>()) }
}
