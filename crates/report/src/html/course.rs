//! Changes from the first value of an ordered axis to the last: a small chart for each operation that changes, and its table.
//! In: a view, a pivot with its course, and the chart values. Out: HTML.

use crate::chart::{ChartCourse, ChartData, ChartTimes};
use crate::number;
use crate::view::{AxisView, CourseView};
use maud::{Markup, html};

/// The charts of an axis, below their summary.
pub(super) fn course(axis: &AxisView, number: usize, course: &CourseView, charts: &ChartData, counts: bool) -> Markup {
    let mine = charts.courses.iter().enumerate().filter(|(_, chart)| chart.axis == number);
    html! {
        p { (course.summary) }
        @if !course.rows.is_empty() {
            p.quiet.small {
                @if counts {
                    "Instructions of each, as a multiple of those with the first " (axis.name) " of its line, with the interval that decides: above "
                    "the dashed line it takes more, below it fewer."
                } @else {
                    "How many times slower each is than with the first " (axis.name) " of its line, with the interval that decides: above the dashed "
                    "line it is slower, below it faster."
                }
            }
            div.charts.small {
                @for (place, chart) in mine {
                    figure id=(chart.id.replace('/', "-")) {
                        figcaption { h4 { (chart.title) } span.unit { (chart.workload) @if chart.durable { ", until durable" } } }
                        div.chart data-course=(place) role="img" aria-label=(in_words(axis, chart)) {}
                        details {
                            summary { "Figures" span.quiet { " of " (chart.title) " over " (axis.name) } }
                            (table(axis, chart))
                        }
                    }
                }
            }
        }
    }
}

fn with_interval(times: &ChartTimes) -> String {
    times.text.clone() + &number::range(times.interval)
}

/// The chart in words, for screen readers.
fn in_words(axis: &AxisView, chart: &ChartCourse) -> String {
    let lines = axis.groups.iter().zip(&chart.lines).filter(|(_, line)| !line.is_empty());
    let note = lines.map(|(group, line)| {
        let points = axis.values.iter().zip(line).filter_map(|(value, point)| Some((value, point.as_ref()?)));
        let points: Vec<String> = points.map(|(value, times)| format!("{value} {}", times.text)).collect();
        format!("{}: {}", group.name, points.join(", "))
    });
    format!(
        "{}, {}. {}. The table below has every interval.",
        chart.title,
        chart.words,
        note.collect::<Vec<_>>().join("; ")
    )
}

fn table(axis: &AxisView, chart: &ChartCourse) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "Figures of " (chart.title) " over " (axis.name) } { table {
            thead { tr { th scope="col" { "With" } @for value in &axis.values { th.n scope="col" { (value) } } } }
            tbody { @for (group, line) in axis.groups.iter().zip(&chart.lines).filter(|(_, line)| !line.is_empty()) {
                tr {
                    th scope="row" { (group.name) }
                    @for point in line { td.n { (point.as_ref().map_or_else(|| "–".to_owned(), with_interval)) } }
                }
            } }
        } }
    }
}
