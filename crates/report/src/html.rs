//! The page: one file that needs no network, for screens of any size, paper, keyboards and screen readers.
//! In: a view, its material and chart values. Out: HTML; the library escapes all external text.

mod clients;
mod costs;
mod course;
mod features;
mod forest;
mod machines;
mod overview;
mod pivot;
mod rest;
mod section;

use crate::ReportError;
use crate::chart::{CHARTS, ChartData, LIBRARY};
use crate::number;
use crate::page_head::page_head;
use crate::view::{CoursePoint, Material, RowView, View, WorkloadView, plural};
use judge::{NoteKind, duration};
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("../assets/page.css");
const SCRIPT: &str = include_str!("../assets/page.js");
/// The page runs only its own scripts and loads nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// Links of a page that is one of several; a standalone page has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Links {
    /// Addresses and their texts, at the top of the page.
    pub top: Vec<(String, String)>,
    /// Prefix of the address of a cell's evidence; the name of the cell, `workload/operation/contender` with reserved characters encoded, follows it.
    pub why: Option<String>,
}

impl Links {
    /// The address of the evidence of a cell.
    fn why(&self, workload: &WorkloadView, row: &RowView, contender: &str) -> Option<String> {
        let cell = format!("{}/{}/{contender}", workload.name, row.key);
        self.why.as_ref().map(|before| format!("{before}{}", crate::pages::encoded(&cell)))
    }
}

/// The page of a run.
///
/// # Errors
/// Values that JSON cannot carry.
pub fn page(material: &Material, view: &View, charts: &ChartData) -> Result<String, ReportError> {
    linked_page(material, view, charts, &Links::default())
}

/// The page of a run as one of several.
///
/// # Errors
/// As [`page`].
pub fn linked_page(material: &Material, view: &View, charts: &ChartData, links: &Links) -> Result<String, ReportError> {
    let values = serde_json::to_string(charts)
        .map_err(|error| ReportError::Drawing { chart: "the page's charts".into(), answer: error.to_string() })?;
    let compares = view.compares();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (page_head(&view.run.title, &view.run.version, Some(POLICY), &[STYLE], &html! {
                noscript { style { ".chart, .controls, .tabs { display: none; }" } }
            }))
            body {
                a.skip href="#answer" { "To the answer" }
                (contents(view))
                header.top { (crate::pages::way(&links.top)) (head(view)) }
                main {
                    (answer(view))
                    @if compares {
                        (forest::forest(view))
                        (overview::overview(view, links))
                    }
                    (reliable(view))
                    (controls(view))
                    @for workload in &view.workloads { (section::section(view, workload, charts, links)) }
                    (pivot::scalings(view, charts))
                    (pivot::pivots(view, charts))
                    (clients::scores(view))
                    (clients::clients(view))
                    (machines::machines(view))
                    (costs::costs(view))
                    (features::features(view))
                    (rest::rest(material, view))
                }
                (foot(view))
                script type="application/json" id="values" { (PreEscaped(embedded(&values))) }
                script { (PreEscaped(LIBRARY)) }
                script { (PreEscaped(CHARTS)) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    Ok(page.into_string())
}

/// JSON within a page: without characters that could end its element.
fn embedded(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

fn head(view: &View) -> Markup {
    let run = &view.run;
    html! {
        p.quiet.asked { (run.title) }
        h1 id="answer" { (view.answer.headline) }
        @if let Some(origin) = &run.origin { p.warn { "Not measured here: " (origin) "." } }
    }
}

/// The answer: a line for each workload, further facts, how reliable it is and what is open.
fn answer(view: &View) -> Markup {
    let answer = &view.answer;
    let run = &view.run;
    let took = run.seconds.map(|seconds| format!(", {}", duration(seconds))).unwrap_or_default();
    html! {
        section.answer aria-label="Answer" {
            @if !answer.workloads.is_empty() {
                dl { @for workload in &answer.workloads { dt { (workload.title) } dd { (workload.text) "." } } }
            }
            @for beside in &answer.besides { p { (beside) } }
            @for one in &view.variants {
                @if !one.sentences.is_empty() {
                    details { summary { "Variants of the work on " (one.name) } ul { @for note in &one.sentences { li { (note) } } } }
                }
            }
            p {
                strong { (answer.confidence) }
                @if let Some(open) = &answer.open {
                    @match open.split_once(": bakeoff ") {
                        Some((text, command)) => { " " (text) ": " code.command { "bakeoff " (command) } },
                        None => { " " (open) }
                    }
                }
            }
            (against(view))
            @for one in view.variants.iter().filter(|one| !one.rows.is_empty()) {
                (held_against(&format!("Times slower than at {}, {}", one.levels[0], one.name), &one.levels, one.rows.iter().map(|row| {
                    (row.title.clone(), row.points.as_slice())
                })))
            }
        }
        p.quiet.small {
            (plural(view.contenders.len(), "contender")) ", " (plural(view.workloads.len(), "workload")) ", "
            (plural(view.counts.done, "trial")) " in " (plural(view.counts.blocks as usize, "round")) (took) ". "
            "Run " span.mono { (run.id) } ", begun " time.whole datetime=(run.began) { (run.began.replace('T', " ").replace('Z', " UTC")) } "."
        }
    }
}

/// Each contender compared with the one in use, line by line.
fn against(view: &View) -> Markup {
    let Some(found) = view.against.as_ref().filter(|found| !found.rows.is_empty()) else { return html! {} };
    let names: Vec<String> = found.others.iter().map(|&place| view.contenders[place].name.clone()).collect();
    let rows = found.rows.iter().map(|row| {
        let workload = &view.workloads[row.workload];
        (format!("{}: {}", workload.title, workload.rows[row.row].title), row.points.as_slice())
    });
    held_against(&format!("Times slower than {}", found.name), &names, rows)
}

/// A table of ratios with their intervals.
fn held_against<'a>(
    caption: &str,
    columns: &[String],
    rows: impl Iterator<Item = (String, &'a [Option<CoursePoint>])>,
) -> Markup {
    let shown = |point: &Option<CoursePoint>| match point {
        None => "-".to_owned(),
        Some(CoursePoint { times, interval: Some((low, high)), .. }) => {
            let [times, low, high] = [*times, *low, *high].map(number::times);
            format!("{times}x ({low} to {high})")
        }
        Some(point) => format!("{}x", number::times(point.times)),
    };
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) " (95 % interval); below 1 it is faster" }
                thead { tr { th scope="col" { "Step" } @for name in columns { th.n scope="col" { (name) } } } }
                tbody { @for (title, points) in rows { tr {
                    th scope="row" { (title) }
                    @for point in points { td.n { (shown(point)) } }
                } } }
            }
        }
    }
}

/// A line of the picture and of the overview: its workload, the row and what it is called.
type Line<'a> = (&'a WorkloadView, &'a RowView, String);

/// Lines under their headings: of several workloads the sums come first, then the steps of each.
fn parts(view: &View) -> Vec<(&str, Vec<Line<'_>>)> {
    let several = view.workloads.len() > 1;
    let mut parts = vec![("Whole workloads", Vec::new())];
    for workload in &view.workloads {
        let (wholes, steps): (Vec<&RowView>, Vec<&RowView>) =
            workload.rows.iter().partition(|row| several && view.is_sum(row));
        let whole = |row: &RowView| format!("{}, {}", workload.title, row.title);
        parts[0].1.extend(wholes.into_iter().map(|row| (workload, row, whole(row))));
        parts.push((&workload.title, steps.into_iter().map(|row| (workload, row, row.title.clone())).collect()));
    }
    parts.retain(|(_, lines)| !lines.is_empty());
    parts
}

/// A collapsible section, under its heading.
fn folded(id: &str, heading: &str, content: &Markup) -> Markup {
    html! {
        section aria-labelledby=(id) {
            details.fold {
                summary { h2 id=(id) { (heading) } }
                (content)
            }
        }
    }
}

fn reliable(view: &View) -> Markup {
    html! {
        section.rests aria-labelledby="rests-title" {
            h3 id="rests-title" { "How reliable is this?" }
            p {
                "Every contender ran once in each round, in an order shuffled by seed " span.mono { (view.run.seed) } ". "
                "Figures are medians with 95 % intervals; differences below " (number::percent(view.smallest_effect))
                " count as a tie"
                @if let Some(noise) = view.noise_floor {
                    ", and the same contender entered twice differed from itself by " (number::percent(noise))
                }
                ". Phases that write are timed until the data is durable."
                @if let Some(ending) = &view.run.ending { " The run ended: " (why_it_ended(ending)) "." }
            }
            @if !view.warnings.is_empty() {
                ul { @for warning in &view.warnings { li { (warning) } } }
            }
            (troubles(view))
        }
    }
}

/// Why a run ended; comparisons that were open then are left to the answer, which counts them by its own rule.
fn why_it_ended(ending: &str) -> &str {
    let end = [" with ", "; ", ". "].iter().filter_map(|sign| ending.find(sign)).min();
    end.map_or(ending, |end| &ending[..end]).trim_end_matches('.')
}

/// Figures of each contender that scatter, were disturbed and so on: contender by problem.
fn troubles(view: &View) -> Markup {
    const KINDS: [(NoteKind, &str); 8] = [
        (NoteKind::Unstable, "Scatter by more than 5 %"),
        (NoteKind::Disturbed, "Disturbed"),
        (NoteKind::Outlier, "With outliers"),
        (NoteKind::Drift, "Drift"),
        (NoteKind::TwoModes, "Two modes"),
        (NoteKind::Cache, "Partly from a cache"),
        (NoteKind::NotWarm, "Not warm"),
        (NoteKind::Work, "Different work than others"),
    ];
    let cells =
        |place: usize| view.workloads.iter().flat_map(|workload| &workload.rows).map(move |row| &row.cells[place]);
    let count = |place: usize, kind: NoteKind| {
        cells(place).filter(|cell| cell.notes.iter().any(|note| note.kind == kind)).count()
    };
    let shared =
        |kind: NoteKind| view.workloads.iter().flat_map(|workload| &workload.notes).any(|note| note.kind == kind);
    let places = || (0..view.contenders.len()).filter(|&place| view.contenders[place].error.is_none());
    let kinds: Vec<_> =
        KINDS.into_iter().filter(|(kind, _)| !shared(*kind) && places().any(|place| count(place, *kind) > 0)).collect();
    html! {
        @if !kinds.is_empty() {
            div.scroll { table.troubles {
                caption { "Figures with a problem, by contender" }
                thead { tr {
                    th scope="col" { "Contender" }
                    @for (_, title) in &kinds { th.n scope="col" { (title) } }
                    th.n scope="col" { "Figures" }
                } }
                tbody { @for place in places() { tr {
                    th scope="row" { (view.contenders[place].name) }
                    @for (kind, _) in &kinds { td.n { (count(place, *kind)) } }
                    td.n { (cells(place).filter(|cell| cell.figure.is_some()).count()) }
                } } }
            } }
        }
    }
}

fn contents(view: &View) -> Markup {
    html! {
        nav.contents aria-label="Contents" {
            ul {
                li { a href="#answer" { "Answer" } }
                @if view.compares() { li { a href="#overview" { "Overview" } } }
                @for workload in &view.workloads { li { a href={ "#" (workload.slug) } { (workload.title) } } }
                @for scaling in &view.scalings { li { a href={ "#" (scaling.slug) } { (scaling.title) ", by " (scaling.setting) } } }
                @if !view.pivots.is_empty() { li { a href="#axes" { "By axis" } } }
                @if view.machines.is_some() { li { a href="#machines" { "Machines" } } }
                @if !view.costs.is_empty() { li { a href="#costs" { "Other costs" } } }
                li { a href="#contenders" { "Contenders" } }
                @if !view.run.features.is_empty() { li { a href="#features" { "Features" } } }
                li { a href="#machine" { "Machine" } }
                li { a href="#commands" { "Commands" } }
                li { a href="#again" { "Do it again" } }
            }
        }
    }
}

fn controls(view: &View) -> Markup {
    html! {
        div.controls role="group" aria-label="What the charts show" {
            fieldset {
                legend { "Contenders" }
                @for (place, contender) in view.contenders.iter().enumerate() {
                    @if contender.error.is_none() {
                        label.chip title=(contender.name) {
                            input type="checkbox" checked value=(place) autocomplete="off";
                            span.swatch style={ "--swatch:" (swatch(contender.slot)) } {}
                            span.name { (contender.name) }
                        }
                    }
                }
            }
            label { span.quiet { "Sort " } select name="sort" autocomplete="off" {
                option value="answer" { "as in the answer" }
                option value="best" { "best first" }
                option value="name" { "by name" }
                @for axis in &view.axes { option value={ "axis:" (axis.name) } { "by " (axis.name) } }
            } }
            @if !view.pivots.is_empty() {
                label { span.quiet { "Pivot " } select name="pivot" autocomplete="off" {
                    option value="" { "off" }
                    @for pivot in &view.pivots { option value=(pivot.axis) { "on " (view.axes[pivot.axis].name) } }
                } }
            }
            label { span.quiet { "Scale " } select name="scale" autocomplete="off" {
                option value="linear" { "linear" }
                option value="log" { "logarithmic" }
            } }
            label { span.quiet { "Cut " } select name="cut" autocomplete="off" {
                option value="0" { "nothing" }
                option value="2" { "above 2 × the middle" }
                option value="5" { "above 5 × the middle" }
            } }
        }
    }
}

/// The light palette of `assets/charts.js`, which is readable on light and dark backgrounds.
fn swatch(slot: usize) -> &'static str {
    const COLOURS: [&str; 12] = [
        "#0072b2", "#d55e00", "#009e73", "#c2608f", "#4ba6d8", "#d99300", "#4b3f9e", "#882255", "#8a8a28", "#7a4a21",
        "#3d9d92", "#777777",
    ];
    COLOURS[slot % COLOURS.len()]
}

fn foot(view: &View) -> Markup {
    html! {
        footer {
            p {
                "Made by Bakeoff " (view.run.version) ". ▲ best beyond doubt, = as good as the best, "
                "~ likely slower, ? can't tell yet. CPU is that of the workers, in percent of one core."
            }
            p { "Charts are drawn by Apache ECharts, Apache License 2.0, Copyright 2017-2026 The Apache Software Foundation." }
        }
    }
}
