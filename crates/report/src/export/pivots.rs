//! Pivots as tables: values of an axis within each group, then the groups with their best values.
//! In: a view and one of its pivots. Out: text as people read it, and CSV with every figure.

use super::tables::{Sheet, csv_line, mark};
use crate::number;
use crate::view::{AxisView, PivotCell, PivotRow, PivotView, RowView, View};

/// A pivot as people read it: for each operation and group the values, then the groups with their best.
pub fn pivot_sheets(view: &View, axis: &AxisView, pivot: &PivotView) -> [Sheet; 2] {
    let marks = "Medians; ▲ best of its line, = as good as the best, ? can't tell yet.".to_owned();
    let named = |line: &PivotRow| {
        let (workload, row) = (&view.workloads[line.workload], pivot_row(view, line));
        let until = if row.durable { ", until durable" } else { "" };
        let less = if row.higher_is_better { "" } else { ", less is better" };
        format!("{}: {} ({}{until}{less})", workload.title, row.title, row.unit.sign)
    };
    let figure = |line: &PivotRow, cell: &PivotCell| {
        let shown = pivot_row(view, line).unit.show(cell.figure.median, cell.figure.half_width());
        format!("{}{shown}", mark(cell.standing))
    };
    let (mut within, mut across) = (Vec::new(), Vec::new());
    for line in &pivot.rows {
        for (group, values) in axis.groups.iter().zip(&line.groups) {
            if values.iter().flatten().count() >= 2 {
                let cells = values.iter().map(|cell| cell.as_ref().map_or("–".into(), |cell| figure(line, cell)));
                within.push([named(line), group.name.clone()].into_iter().chain(cells).collect());
            }
        }
        let best = line.best.iter().map(|best| match best {
            Some(best) => format!("{} ({})", figure(line, &best.cell), axis.values[best.value]),
            None => "–".into(),
        });
        across.push(std::iter::once(named(line)).chain(best).collect());
    }
    let headings = |first: &[&str], rest: &mut dyn Iterator<Item = String>| {
        first.iter().map(|heading| (*heading).to_owned()).chain(rest).collect()
    };
    let notes = |said: &[String]| std::iter::once(marks.clone()).chain(said.iter().cloned()).collect();
    [
        Sheet {
            title: format!("Which {}", axis.name),
            headings: headings(&["Operation", "With"], &mut axis.values.iter().cloned()),
            lines: within,
            notes: notes(&pivot.within),
        },
        Sheet {
            title: format!("Each with its best {}", axis.name),
            headings: headings(&["Operation"], &mut axis.groups.iter().map(|group| group.name.clone())),
            lines: across,
            notes: notes(&pivot.across),
        },
    ]
}

fn pivot_row<'a>(view: &'a View, line: &PivotRow) -> &'a RowView {
    &view.workloads[line.workload].rows[line.row]
}

const PIVOT_COLUMNS: [&str; 17] = [
    "workload",
    "scale",
    "operation",
    "axis",
    "held_against",
    "group",
    "value",
    "contender",
    "unit",
    "median",
    "interval_low",
    "interval_high",
    "trials",
    "standing",
    "ratio_to_best",
    "ratio_low",
    "ratio_high",
];

/// A pivot with every figure in base units: lines held against the `values` of their group, and lines of each group's
/// best held against the other `groups`.
pub fn pivot_csv(view: &View, axis: &AxisView, pivot: &PivotView) -> String {
    let mut text = csv_line(&PIVOT_COLUMNS);
    for line in &pivot.rows {
        for (group, values) in line.groups.iter().enumerate() {
            for (value, cell) in values.iter().enumerate() {
                if let Some(cell) = cell {
                    text.push_str(&csv_line(&pivot_line(view, axis, line, ("values", group, value), cell)));
                }
            }
        }
        for (group, best) in line.best.iter().enumerate() {
            if let Some(best) = best {
                text.push_str(&csv_line(&pivot_line(view, axis, line, ("groups", group, best.value), &best.cell)));
            }
        }
    }
    text
}

fn pivot_line(
    view: &View,
    axis: &AxisView,
    line: &PivotRow,
    (against, group, value): (&str, usize, usize),
    cell: &PivotCell,
) -> Vec<String> {
    let exact = |value: Option<f64>| value.map(number::exact).unwrap_or_default();
    let (workload, row) = (&view.workloads[line.workload], pivot_row(view, line));
    vec![
        workload.name.clone(),
        workload.scale.clone(),
        row.key.clone(),
        axis.name.clone(),
        against.into(),
        axis.groups[group].name.clone(),
        axis.values[value].clone(),
        view.contenders[cell.contender].name.clone(),
        row.base_unit.clone(),
        number::exact(cell.figure.median),
        exact(cell.figure.interval.map(|interval| interval.0)),
        exact(cell.figure.interval.map(|interval| interval.1)),
        cell.figure.trials.to_string(),
        cell.standing.name().into(),
        exact(cell.ratio),
        exact(cell.ratio_interval.map(|interval| interval.0)),
        exact(cell.ratio_interval.map(|interval| interval.1)),
    ]
}
