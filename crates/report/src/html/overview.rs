//! The overview: operations by contenders as ratios to the best, ties visible.
//! In: a view. Out: one table.

use super::Links;
use crate::number;
use crate::view::{CellView, RowView, Standing, View, WorkloadView};
use judge::NoteKind;
use maud::{Markup, html};

/// Ratios that a bar shows at most.
const LONGEST: f64 = 5.0;

pub(super) fn overview(view: &View, links: &Links) -> Markup {
    html! {
        section aria-labelledby="overview" {
            h2 id="overview" { "Overview" }
            p.quiet { "How many times slower than the best of each line; green: as good as the best." }
            div.scroll tabindex="0" role="region" aria-labelledby="overview" {
                table.overview {
                    thead { tr {
                        th scope="col" { "Operation" }
                        @for &place in &view.answer.order {
                            @let contender = &view.contenders[place];
                            @if contender.error.is_none() {
                                th.n scope="col" data-c=(place) {
                                    (contender.name)
                                    @if !contender.badge.is_empty() { br; span.badge { (contender.badge) } }
                                }
                            }
                        }
                    } }
                    @for workload in &view.workloads {
                        tbody {
                            tr.section { th colspan=(view.contenders.len() + 1) scope="rowgroup" { (workload.title) } }
                            @for row in &workload.rows {
                                tr {
                                    th scope="row" { a href={ "#" (workload.slug) "-" (row.slug) } { (row.title) } }
                                    @for &place in &view.answer.order {
                                        @if view.contenders[place].error.is_none() { (ratio_cell(view, (workload, row, &row.cells[place]), links)) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
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
    let told = format!("{}: {ratio} times{}, {value}", spoken(cell.standing), number::range(cell.ratio_interval));
    let bar = cell.ratio.map_or(0.0, |ratio| (ratio.min(LONGEST) / LONGEST * 100.0).round());
    html! {
        td.n.front[front] data-c=(cell.contender) title=(told) {
            @match links.why(workload, row, &view.contenders[cell.contender].name) {
                Some(way) => a.why href=(way) { (cell.standing.mark()) (ratio) },
                None => { (cell.standing.mark()) (ratio) }
            }
            @let notes = notes(cell);
            @if !notes.is_empty() {
                sup { a href={ "#" (workload.slug) "-" (row.slug) } title=(notes) aria-label={ "Note: " (notes) } { "*" } }
            }
            span.bar style={ "width:" (bar) "%" } {}
        }
    }
}

/// What may change the meaning of a figure. That it scatters, or was disturbed, is in its interval; its safety stands below its name.
pub(super) fn weighs(kind: NoteKind) -> bool {
    !matches!(kind, NoteKind::Unstable | NoteKind::Outlier | NoteKind::Disturbed | NoteKind::Durability)
}

fn notes(cell: &CellView) -> String {
    let notes = cell.notes.iter().filter(|note| weighs(note.kind)).map(|note| note.text.as_str());
    notes.collect::<Vec<_>>().join("; ")
}

/// What a screen reader says of it.
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
