//! One workload in the page: its sentences, and for each operation a chart with the table behind it.
//! In: a workload of the view and the chart values. Out: HTML.

use super::Links;
use super::overview::{spoken, weighs};
use crate::chart::{ChartCell, ChartData, ChartRow};
use crate::number;
use crate::view::{CellView, FigureView, RowView, View, WorkloadView};
use indexmap::IndexMap;
use maud::{Markup, html};

pub(super) fn section(view: &View, workload: &WorkloadView, charts: &ChartData, links: &Links) -> Markup {
    let settings: Vec<String> = workload.settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let content = html! {
        p.settings {
            span.mono { (workload.name) } @if !scale_in_name(workload) { ", scale " (workload.scale) }
            @if !settings.is_empty() { ": " (settings.join(", ")) }
        }
        @if !workload.about.is_empty() { p.small { (workload.about) } }
        @for note in &workload.notes { p.warn.small { "All of these: " (note.text) "." } }
        @if !workload.sentences.is_empty() {
            details.screen {
                summary { "The verdict in full" }
                ul { @for line in &workload.sentences { li { (line.text) } } }
            }
        }
        div.charts {
            @for row in &workload.rows {
                @let id = format!("{}/{}", workload.slug, row.slug);
                @let place = charts.rows.iter().position(|chart| chart.id == id);
                (figure(view, (workload, row), place.map(|place| (place, &charts.rows[place])), links))
            }
        }
    };
    super::folded(&workload.slug, &workload.title, &content)
}

/// Whether the name already contains the scale, because the run has the workload at several.
fn scale_in_name(workload: &WorkloadView) -> bool {
    workload.scale.is_empty() || workload.name.contains(&workload.scale)
}

fn figure(
    view: &View,
    (workload, row): (&WorkloadView, &RowView),
    chart: Option<(usize, &ChartRow)>,
    links: &Links,
) -> Markup {
    let id = format!("{}-{}", workload.slug, row.slug);
    html! {
        figure id=(id) {
            figcaption {
                h4 { (row.title) }
                span.unit { (caption(row)) }
                @if let Some((_, chart)) = chart { (tabs(view, &id, chart)) }
            }
            @if let Some((place, chart)) = chart {
                @if !chart.cells.is_empty() {
                    div.chart id={ (id) "-chart" } data-row=(place) role="img" aria-label=(in_words(view, row)) {}
                }
            }
            @let notes = notes(view, row);
            @if !notes.is_empty() { ul.notes { @for note in notes { li { (note) } } } }
            @let published: Vec<_> = view
                .published
                .iter()
                .filter(|figure| figure.workload == workload.name && figure.operation == row.key)
                .collect();
            @if !published.is_empty() {
                details {
                    summary { "Published" span.quiet { " elsewhere, on other machines and in other years" } }
                    ul.plain { @for figure in published { li { (figure.text) span.quiet { " (" (figure.source) ")" } } } }
                }
            }
            details {
                summary { "Figures" span.quiet { " of " (row.title) } }
                (table(view, (workload, row), chart.map(|(_, chart)| chart), links))
            }
        }
    }
}

fn caption(row: &RowView) -> String {
    let what = match (row.durable, row.returned_matters) {
        (true, true) => ", until durable; ticks below: until returned",
        (true, false) => ", until durable",
        _ => "",
    };
    let cache = match row.cache.as_str() {
        "" => String::new(),
        "cold" => ", from cold caches".into(),
        "warm" => ", from warm caches".into(),
        "as-found" => ", caches as found".into(),
        other => format!(", {other}"),
    };
    format!("{}{cache}{what}", row.unit.words)
}

fn tabs(view: &View, id: &str, chart: &ChartRow) -> Markup {
    let any = |has: fn(&ChartCell) -> bool| chart.cells.iter().any(has);
    let mut kinds: Vec<(String, String, bool)> = [
        ("figures", "Figures", true),
        ("latency", "Latency", any(|cell| cell.latency.is_some())),
        ("time", "Over time", any(|cell| cell.series.is_some())),
        ("stalls", "Longest calls", any(|cell| cell.series.as_ref().is_some_and(|series| !series.longest.is_empty()))),
        ("cpu", "CPU", any(|cell| cell.cpu.is_some())),
    ]
    .map(|(kind, label, there)| (kind.to_owned(), label.to_owned(), there))
    .into();
    kinds.extend(view.axes.iter().enumerate().map(|(number, axis)| {
        let measured =
            |member: &Option<usize>| member.is_some_and(|place| chart.cells.iter().any(|cell| cell.c == place));
        let at = |value: usize| axis.groups.iter().any(|group| measured(&group.members[value]));
        let values = (0..axis.values.len()).filter(|value| at(*value)).count();
        (format!("axis:{number}"), format!("By {}", axis.name), values >= 2)
    }));
    html! {
        span.tabs role="group" aria-label={ "Charts of " (chart.title) } data-of={ (id) "-chart" } {
            @for (kind, label, _) in kinds.iter().filter(|(_, _, there)| *there) {
                button type="button" value=(kind) aria-pressed=(if kind == "figures" { "true" } else { "false" }) { (label) }
            }
        }
    }
}

/// The chart in words, for screen readers.
fn in_words(view: &View, row: &RowView) -> String {
    let note = row.cells.iter().filter_map(|cell| {
        let figure = cell.figure.as_ref()?;
        let name = &view.contenders[cell.contender].name;
        Some(format!("{name} {}, {}", show(row, figure.median, figure), spoken(cell.standing)))
    });
    format!(
        "{} in {}: {}. The table below has every figure.",
        row.title,
        row.unit.words,
        note.collect::<Vec<_>>().join("; ")
    )
}

fn notes(view: &View, row: &RowView) -> Vec<String> {
    let mut notes: IndexMap<&str, Vec<&str>> = IndexMap::new();
    for cell in &row.cells {
        let name = view.contenders[cell.contender].name.as_str();
        let mut texts: Vec<&str> =
            cell.notes.iter().filter(|note| weighs(note.kind)).map(|note| note.text.as_str()).collect();
        if view.contenders[cell.contender].error.is_none() {
            texts.extend(cell.missing.as_deref());
        }
        texts.into_iter().for_each(|text| notes.entry(text).or_default().push(name));
    }
    let measured = row.cells.iter().filter(|cell| cell.figure.is_some()).count();
    let whose = |names: &[&str]| {
        if names.len() > 1 && names.len() == measured { "all".to_owned() } else { names.join(", ") }
    };
    notes.into_iter().map(|(text, names)| format!("{}: {text}", whose(&names))).collect()
}

fn show(row: &RowView, value: f64, figure: &FigureView) -> String {
    row.unit.show(value, figure.half_width())
}

fn table(view: &View, (workload, row): (&WorkloadView, &RowView), chart: Option<&ChartRow>, links: &Links) -> Markup {
    let unit = row.unit.sign;
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "Figures of " (row.title) } {
            table {
                thead { tr {
                    th scope="col" { "Contender" }
                    th.n scope="col" { "Median, " (unit) }
                    th.n scope="col" { "95 % interval" }
                    th.n scope="col" { "Range" }
                    th.n scope="col" { "Trials" }
                    th.n scope="col" { "Times the best" }
                    @if row.durable { th.n scope="col" { "Returned, " (unit) } }
                    @if row.device.is_some() { th.n scope="col" { "Of the device" } }
                    th.n scope="col" { "CPU, %" }
                    th.n scope="col" { "p50" } th.n scope="col" { "p99" } th.n scope="col" { "Longest" }
                } }
                tbody { @for cell in &row.cells { (line(view, (workload, row, cell), chart, links)) } }
            }
        }
    }
}

fn line(
    view: &View,
    (workload, row, cell): (&WorkloadView, &RowView, &CellView),
    chart: Option<&ChartRow>,
    links: &Links,
) -> Markup {
    let name = &view.contenders[cell.contender].name;
    let way = links.why(workload, row, name);
    let name = html! { @match way { Some(way) => a href=(way) { (name) }, None => { (name) } } };
    let Some(figure) = &cell.figure else {
        let reason = cell.missing.as_deref().unwrap_or("not measured");
        return html! { tr data-c=(cell.contender) { th scope="row" { (name) } td colspan="11" { (reason) } } };
    };
    let between = |(low, high): (f64, f64)| format!("{} to {}", show(row, low, figure), show(row, high, figure));
    let none = || "–".to_owned();
    let latency = chart.and_then(|chart| chart.cells.iter().find(|found| found.c == cell.contender));
    let latency = latency.and_then(|found| found.latency.as_ref());
    let percentile = |wanted: f64| {
        let found = latency.and_then(|latency| latency.percentiles.iter().find(|(p, _)| *p == wanted));
        found.map_or_else(none, |(_, ns)| number::Unit::of_nanoseconds(*ns as f64))
    };
    let ratio = cell.ratio.map_or_else(none, |ratio| number::ratio(ratio) + &number::range(cell.ratio_interval));
    html! {
        tr data-c=(cell.contender) {
            th scope="row" { (name) }
            td.n { span aria-hidden="true" { (cell.standing.mark()) } (show(row, figure.median, figure)) }
            td.n { (figure.interval.map_or_else(none, between)) }
            td.n { (between((figure.min, figure.max))) }
            td.n { (figure.trials) }
            td.n { (ratio) }
            @if row.durable { td.n { (cell.returned.map_or_else(none, |returned| show(row, returned.median, &returned))) } }
            @if row.device.is_some() { td.n { (cell.of_device.map_or_else(none, number::percent)) } }
            td.n { (cell.cpu.map_or_else(none, |cpu| number::plain(cpu.median))) }
            td.n { (percentile(50.0)) } td.n { (percentile(99.0)) } td.n { (percentile(100.0)) }
        }
    }
}
