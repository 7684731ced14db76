//! The varied axes: for each axis its best value in each group, then the groups with theirs; and work over one number.
//! In: a view. Out: tables, and the places of their charts.

use super::overview::spoken;
use crate::chart::ChartData;
use crate::number;
use crate::view::{AxisView, CHOSEN, PivotCell, PivotRow, PivotView, RowView, ScalingView, View};
use maud::{Markup, html};

/// The tables of every axis.
pub(super) fn pivots(view: &View, charts: &ChartData) -> Markup {
    if view.pivots.is_empty() {
        return html! {};
    }
    let content = html! {
        p.quiet {
            "What was varied, for contenders that differ in nothing else. Each of these tables is judged separately, with one correction for "
            "all its comparisons. " (CHOSEN)
        }
        @for pivot in &view.pivots { (tables(view, &view.axes[pivot.axis], pivot, charts)) }
    };
    super::folded("axes", "By axis", &content)
}

fn tables(view: &View, axis: &AxisView, pivot: &PivotView, charts: &ChartData) -> Markup {
    let id = format!("by-{}", crate::view::slug(&axis.name));
    html! {
        div data-pivot=(pivot.axis) {
            @if let Some(course) = &pivot.course {
                h3 id={ (id) "-course" } { "What changes from " (axis.name) " to " (axis.name) }
                (super::course::course(axis, pivot.axis, course, charts, view.counts_instructions()))
            }
            h3 id=(id) { "Which " (axis.name) }
            ul.remarks { @for text in &pivot.summary { li { (text) } } }
            p.quiet.small { "How many times worse than the best of each line; the best and those that show no difference from it are marked." }
            div.scroll tabindex="0" role="region" aria-labelledby=(id) { (within(view, axis, pivot)) }
            (sentences(&pivot.within))
            @if !pivot.across.is_empty() {
                h3 id={ (id) "-best" } { "Each with its best " (axis.name) }
                div.scroll tabindex="0" role="region" aria-labelledby={ (id) "-best" } { (across(view, axis, pivot)) }
                (sentences(&pivot.across))
            }
        }
    }
}

fn sentences(note: &[String]) -> Markup {
    html! {
        @if !note.is_empty() {
            details.screen {
                summary { "The same in " (note.len()) " sentences" }
                ul.remarks { @for text in note { li { (text) } } }
            }
        }
    }
}

fn within(view: &View, axis: &AxisView, pivot: &PivotView) -> Markup {
    html! {
        table.overview {
            thead { tr {
                th scope="col" { "Operation" }
                th scope="col" { "With" }
                @for value in &axis.values { th.n scope="col" { (value) } }
            } }
            @for part in pivot.parts() {
                tbody {
                    tr.section { th colspan=(axis.values.len() + 2) scope="rowgroup" { (view.workloads[part[0].workload].title) } }
                    @for line in part {
                        @let groups: Vec<usize> = several(line);
                        @for (place, group) in groups.iter().enumerate() {
                            tr {
                                @if place == 0 { th scope="row" rowspan=(groups.len()) { (title(view, line)) } }
                                th.inner scope="row" { (axis.groups[*group].name) }
                                @for cell in &line.groups[*group] { (ratio(view.row(line), cell.as_ref(), None)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn across(view: &View, axis: &AxisView, pivot: &PivotView) -> Markup {
    html! {
        table.overview {
            thead { tr {
                th scope="col" { "Operation" }
                @for group in &axis.groups { th.n scope="col" { (group.name) } }
            } }
            @for part in pivot.parts() {
                tbody {
                    tr.section { th colspan=(axis.groups.len() + 1) scope="rowgroup" { (view.workloads[part[0].workload].title) } }
                    @for line in part {
                        tr {
                            th scope="row" { (title(view, line)) }
                            @for best in &line.best {
                                (ratio(view.row(line), best.as_ref().map(|best| &best.cell), best.as_ref().map(|best| axis.values[best.value].as_str())))
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Groups with figures of at least two values.
fn several(line: &PivotRow) -> Vec<usize> {
    (0..line.groups.len()).filter(|group| line.groups[*group].iter().flatten().count() >= 2).collect()
}

fn title(view: &View, line: &PivotRow) -> Markup {
    let (workload, row) = (&view.workloads[line.workload], view.row(line));
    html! { a href={ "#" (workload.slug) "-" (row.slug) } { (row.title) } }
}

fn ratio(row: &RowView, cell: Option<&PivotCell>, with: Option<&str>) -> Markup {
    let Some(cell) = cell else {
        return html! { td.n.missing title="not measured" { "–" } };
    };
    let front = matches!(cell.standing, crate::view::Standing::Best | crate::view::Standing::Tie);
    let shown = cell.ratio.map_or_else(|| "–".into(), number::aligned_ratio);
    let value = format!("{} {}", row.show(&cell.figure), row.unit.sign);
    let text = format!("{}: {shown} times{}, {value}", spoken(cell.standing), number::range(cell.ratio_interval));
    html! {
        td.n.front[front] title=(text) {
            (cell.standing.mark()) (shown)
            span.figure { (value) }
            @if let Some(with) = with { span.figure { (with) } }
        }
    }
}

/// The same work over one number: a chart and the table behind it for each operation.
pub(super) fn scalings(view: &View, charts: &ChartData) -> Markup {
    html! {
        @for scaling in &view.scalings {
            section aria-labelledby=(scaling.slug) {
                h2 id=(scaling.slug) { (scaling.title) ", by " (scaling.setting) }
                p.quiet { "The same work with " (scaling.setting) " " (scaling.values.join(", ")) "." }
                @if !scaling.sentences.is_empty() { ul { @for note in &scaling.sentences { li { (note) } } } }
                div.charts {
                    @for (place, chart) in charts.scalings.iter().enumerate() {
                        @if chart.id.split('/').next() == Some(scaling.slug.as_str()) {
                            figure id=(chart.id.replace('/', "-")) {
                                figcaption { h4 { (chart.title) } span.unit { (chart.unit.words) ", by " (chart.setting) } }
                                div.chart data-scaling=(place) role="img" aria-label={ (chart.title) " by " (chart.setting) ". The table below has every figure." } {}
                                details {
                                    summary { "Figures" span.quiet { " of " (chart.title) } }
                                    (scaled(view, scaling, charts, place))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn scaled(view: &View, scaling: &ScalingView, charts: &ChartData, place: usize) -> Markup {
    let chart = &charts.scalings[place];
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "Figures of " (chart.title) } { table {
            thead { tr {
                th scope="col" { "Contender" }
                @for value in &scaling.values { th.n scope="col" { (scaling.setting) " " (value) ", " (chart.unit.sign) } }
            } }
            tbody { @for (number, contender) in view.contenders.iter().enumerate() {
                tr data-c=(number) {
                    th scope="row" { (contender.name) }
                    @for at in &chart.rows {
                        @let cell = charts.rows[*at].cells.iter().find(|cell| cell.c == number);
                        td.n { (cell.map_or_else(|| "–".to_owned(), |cell| {
                            let half = cell.interval.map(|(low, high)| (high - low) / 2.0);
                            chart.unit.show(cell.median, half)
                        })) }
                    }
                }
            } }
        } }
    }
}
