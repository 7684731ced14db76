//! The overview: operations by contenders as ratios to the best, ties visible.
//! In: a view. Out: one table.

use super::Links;
use crate::number;
use crate::view::{CellView, RowView, Standing, View, WorkloadView};
use judge::NoteKind;
use maud::{Markup, html};

/// Most contenders that are named as slower.
const NAMED: usize = 3;

pub(super) fn overview(view: &View, links: &Links) -> Markup {
    let shown: Vec<usize> =
        (0..view.contenders.len()).filter(|&place| view.contenders[place].error.is_none()).collect();
    html! {
        section aria-labelledby="overview" {
            h2 id="overview" { "Overview" }
            p.quiet { "How many times slower than the best of each line; green: as good as the best. Words only where the result is proven." }
            div.scroll tabindex="0" role="region" aria-labelledby="overview" {
                table.overview {
                    thead { tr {
                        th scope="col" { "Operation" }
                        @for &place in &shown {
                            @let contender = &view.contenders[place];
                            th.n scope="col" data-c=(place) {
                                (contender.name)
                                @if !contender.badge.is_empty() { br; span.badge { (contender.badge) } }
                            }
                        }
                        th.proven scope="col" { "Proven" }
                    } }
                    @for (heading, rows) in super::parts(view) {
                        tbody {
                            tr.section { th colspan=(shown.len() + 2) scope="rowgroup" { (heading) } }
                            @for (workload, row, title) in rows {
                                tr {
                                    th scope="row" { a href={ "#" (workload.slug) "-" (row.slug) } { (title) } }
                                    @for &place in &shown { (ratio_cell(view, (workload, row, &row.cells[place]), links)) }
                                    td.proven { (proven(view, row)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What is settled about a line, in few words; empty where nothing is.
fn proven(view: &View, row: &RowView) -> String {
    let names = |wanted: Standing| -> Vec<&str> {
        let cells = row.cells.iter().filter(|cell| cell.standing == wanted);
        cells.map(|cell| view.contenders[cell.contender].name.as_str()).collect()
    };
    let (best, ties, worse) = (names(Standing::Best), names(Standing::Tie), names(Standing::Worse));
    let parts = [
        (!best.is_empty()).then(|| format!("{} best", judge::list(&best))),
        (ties.len() > 1).then(|| format!("{} equal", judge::list(&ties))),
        match worse.as_slice() {
            [] => None,
            few if few.len() <= NAMED => Some(format!("{} slower", judge::list(few))),
            many => Some(format!("{} slower", super::plural(many.len(), "contender"))),
        },
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn ratio_cell(view: &View, found: (&WorkloadView, &RowView, &CellView), links: &Links) -> Markup {
    let (workload, row, cell) = found;
    let Some(figure) = &cell.figure else {
        let reason = cell.missing.as_deref().unwrap_or("not measured");
        return html! { td.n.missing data-c=(cell.contender) title=(reason) { "–" } };
    };
    let front = matches!(cell.standing, Standing::Best | Standing::Tie);
    let ratio = cell.ratio.map_or_else(|| "–".into(), number::aligned_ratio);
    let value = format!("{} {}", row.show(figure), row.unit.sign);
    let text = format!("{}: {ratio} times{}, {value}", spoken(cell.standing), number::range(cell.ratio_interval));
    html! {
        td.n.front[front] data-c=(cell.contender) title=(text) {
            @match links.why(workload, row, &view.contenders[cell.contender].name) {
                Some(way) => a.why href=(way) { (cell.standing.mark()) (ratio) },
                None => { (cell.standing.mark()) (ratio) }
            }
            @let notes = notes(cell);
            @if !notes.is_empty() {
                sup { a href={ "#" (workload.slug) "-" (row.slug) } title=(notes) aria-label={ "Note: " (notes) } { "*" } }
            }
        }
    }
}

/// Notes that may change the meaning of a figure. Scatter and disturbance are part of its interval; its safety is below its name.
pub(super) fn weighs(kind: NoteKind) -> bool {
    !matches!(kind, NoteKind::Unstable | NoteKind::Outlier | NoteKind::Disturbed | NoteKind::Durability)
}

fn notes(cell: &CellView) -> String {
    let notes = cell.notes.iter().filter(|note| weighs(note.kind)).map(|note| note.text.as_str());
    notes.collect::<Vec<_>>().join("; ")
}

/// The text for a screen reader.
pub(super) fn spoken(standing: Standing) -> &'static str {
    match standing {
        Standing::Best => "best",
        Standing::Tie => "as good as the best",
        Standing::Leading => "ahead, not proven",
        Standing::Unresolved => "can't tell yet",
        Standing::Likely => "likely worse",
        Standing::Worse => "worse",
        Standing::Alone => "nothing to compare with",
    }
}
