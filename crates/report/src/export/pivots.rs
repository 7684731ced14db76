//! Pivots as tables: values of an axis within each group, then the groups with their best values.
//! In: a view and one of its pivots. Out: text for readers, and CSV with every figure.

use super::tables::{Column, Sheet, csv_lines};
use crate::number;
use crate::view::{AxisView, PivotCell, PivotRow, PivotView, RowView, View, WorkloadView};

/// A pivot for readers: for each operation and group the values, then the groups with their best.
pub fn pivot_sheets(view: &View, axis: &AxisView, pivot: &PivotView) -> [Sheet; 2] {
    let marks = "Medians; ▲ best of its line, = as good as the best, ? can't tell yet.".to_owned();
    let named = |line: &PivotRow| format!("{}: {}", view.workloads[line.workload].title, view.row(line).named());
    let figure = |line: &PivotRow, cell: &PivotCell| {
        let shown = view.row(line).show(&cell.figure);
        format!("{}{shown}", cell.standing.mark())
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
    let notes = |note: &[String]| std::iter::once(marks.clone()).chain(note.iter().cloned()).collect();
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

/// What a line of the CSV is made from.
struct Line<'a> {
    workload: &'a WorkloadView,
    row: &'a RowView,
    axis: &'a str,
    against: &'static str,
    group: &'a str,
    value: &'a str,
    contender: &'a str,
    cell: &'a PivotCell,
}

fn columns<'a>() -> [Column<Line<'a>>; 17] {
    [
        ("workload", |line| line.workload.name.clone()),
        ("scale", |line| line.workload.scale.clone()),
        ("operation", |line| line.row.key.clone()),
        ("axis", |line| line.axis.to_owned()),
        ("held_against", |line| line.against.into()),
        ("group", |line| line.group.to_owned()),
        ("value", |line| line.value.to_owned()),
        ("contender", |line| line.contender.to_owned()),
        ("unit", |line| line.row.base_unit.clone()),
        ("median", |line| number::exact(line.cell.figure.median)),
        ("interval_low", |line| number::low(line.cell.figure.interval)),
        ("interval_high", |line| number::high(line.cell.figure.interval)),
        ("trials", |line| line.cell.figure.trials.to_string()),
        ("standing", |line| line.cell.standing.name().into()),
        ("ratio_to_best", |line| number::maybe(line.cell.ratio)),
        ("ratio_low", |line| number::low(line.cell.ratio_interval)),
        ("ratio_high", |line| number::high(line.cell.ratio_interval)),
    ]
}

/// A pivot with every figure in base units: lines compared with the `values` of their group, and lines of each group's best compared with
/// the other `groups`.
pub fn pivot_csv<'a>(view: &'a View, axis: &'a AxisView, pivot: &'a PivotView) -> String {
    let mut lines = Vec::new();
    for line in &pivot.rows {
        let mut put = |against, group: usize, value: usize, cell: &'a PivotCell| {
            lines.push(Line {
                workload: &view.workloads[line.workload],
                row: view.row(line),
                axis: &axis.name,
                against,
                group: &axis.groups[group].name,
                value: &axis.values[value],
                contender: &view.contenders[cell.contender].name,
                cell,
            });
        };
        for (group, values) in line.groups.iter().enumerate() {
            let cells = values.iter().enumerate().filter_map(|(value, cell)| Some((value, cell.as_ref()?)));
            cells.for_each(|(value, cell)| put("values", group, value, cell));
        }
        for (group, best) in line.best.iter().enumerate() {
            best.iter().for_each(|best| put("groups", group, best.value, &best.cell));
        }
    }
    csv_lines(&columns(), lines)
}
