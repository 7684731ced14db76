//! The course over an ordered axis: what each value costs against the first, such as each kernel against the oldest.
//! In: an axis, and the pivot's table with its values as contenders. Out: a [`CourseView`]: operations that changed, and the rest in words.
//! Each value is held against the first one that a group has a figure of, by the rules of `bakeoff compare`.

use super::{AxisView, View, plural};
use crate::number;
use judge::{Change, Comparison, Side, Table};
use serde::Serialize;

/// Changes that the sentence names; the rest is counted.
const NAMED: usize = 3;

/// One ordered axis, followed from its first value to its last.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CourseView {
    /// Operations of which a later value is better or worse than the first, likely at least.
    pub rows: Vec<CourseRow>,
    /// What changed, or that nothing is shown to change; then what is said of all other operations.
    pub summary: String,
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CourseRow {
    /// Index into [`View::workloads`].
    pub workload: usize,
    /// Index into [`super::WorkloadView::rows`].
    pub row: usize,
    /// For each group of the axis its values, in order; none of a group that has fewer than two.
    pub lines: Vec<Vec<Option<CoursePoint>>>,
}

/// A value of a group, held against the group's first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CoursePoint {
    /// How many times worse than the first; below 1 it is better.
    pub times: f64,
    /// Interval of that; absent for the first, and where there are too few samples.
    pub interval: Option<(f64, f64)>,
    /// What may be said of it against the first; absent for the first itself.
    pub change: Option<Change>,
}

impl CoursePoint {
    const FIRST: CoursePoint = CoursePoint { times: 1.0, interval: None, change: None };

    fn has_changed(&self) -> bool {
        self.change.is_some_and(|change| !matches!(change, Change::Same | Change::Unresolved))
    }

    /// How far from the first, either way.
    fn distance(&self) -> f64 {
        self.times.ln().abs()
    }

    /// How many times better or worse it can be at most; None where nothing bounds it.
    fn at_most(&self) -> Option<f64> {
        match (self.change, self.interval) {
            (None, _) => Some(1.0),
            (Some(_), interval) => interval.map(|(low, high)| high.max(1.0 / low)).filter(|most| most.is_finite()),
        }
    }
}

/// Follows an axis whose values have an order. `table` has its values as contenders, `at` the group and the place in `places` of each of
/// its operations; a place is a workload and a row of the view.
pub(super) fn course(
    view: &View,
    axis: &AxisView,
    table: &Table,
    at: &[(usize, usize)],
    places: &[(usize, usize)],
) -> Option<CourseView> {
    if !axis.ordered || axis.values.len() < 2 {
        return None;
    }
    let found = points(axis.values.len(), table);
    let mut rows: Vec<CourseRow> = places
        .iter()
        .map(|(workload, row)| CourseRow { workload: *workload, row: *row, lines: vec![Vec::new(); axis.groups.len()] })
        .collect();
    for ((group, place), line) in at.iter().zip(found) {
        if line.iter().flatten().count() >= 2 {
            rows[*place].lines[*group] = line;
        }
    }
    rows.retain(|row| row.lines.iter().any(|line| !line.is_empty()));
    if rows.is_empty() {
        return None;
    }
    let summary = summary(view, axis, &rows);
    rows.retain(|row| row.lines.iter().flatten().flatten().any(CoursePoint::has_changed));
    Some(CourseView { rows, summary })
}

/// For each operation of the table its values, each held against the first of them.
fn points(values: usize, table: &Table) -> Vec<Vec<Option<CoursePoint>>> {
    let has =
        |operation: usize, value: usize| table.cell(operation, value).is_some_and(|cell| !cell.samples.is_empty());
    let first_of = |operation: usize| (0..values).find(|value| has(operation, *value));
    let mut found = vec![vec![None; values]; table.operations.len()];
    for first in 0..values {
        let mine: Vec<usize> = (0..found.len()).filter(|operation| first_of(*operation) == Some(first)).collect();
        if mine.is_empty() {
            continue;
        }
        mine.iter().for_each(|operation| found[*operation][first] = Some(CoursePoint::FIRST));
        let against =
            |value| judge::compare_contenders(Side { table, contender: first }, Side { table, contender: value });
        let later: Vec<(usize, Comparison)> = (first + 1..values).map(|value| (value, against(value))).collect();
        for operation in mine {
            for (value, compared) in &later {
                found[operation][*value] = point(table, operation, compared);
            }
        }
    }
    found
}

fn point(table: &Table, operation: usize, compared: &Comparison) -> Option<CoursePoint> {
    let row = compared.rows.iter().find(|row| row.operation == table.operations[operation].id)?;
    let interval = row.interval.map(|interval| (interval.low, interval.high));
    row.ratio.is_finite().then_some(CoursePoint { times: row.ratio, interval, change: Some(row.change) })
}

fn summary(view: &View, axis: &AxisView, rows: &[CourseRow]) -> String {
    let lines: Vec<(&CourseRow, usize)> = rows
        .iter()
        .flat_map(|row| (0..row.lines.len()).map(move |group| (row, group)))
        .filter(|(row, group)| !row.lines[*group].is_empty())
        .collect();
    let points = |line: &(&CourseRow, usize)| line.0.lines[line.1].iter().flatten().copied().collect::<Vec<_>>();
    let (mut changed, others): (Vec<_>, Vec<_>) =
        lines.iter().partition(|line| points(line).iter().any(CoursePoint::has_changed));
    let most = |line: &(&CourseRow, usize)| {
        let all = points(line).into_iter().filter(CoursePoint::has_changed).map(|point| point.distance());
        all.fold(0.0, f64::max)
    };
    changed.sort_by(|a, b| most(b).total_cmp(&most(a)));
    let named: Vec<String> = changed.iter().take(NAMED).map(|(row, group)| told(view, axis, row, *group)).collect();
    let more = match changed.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and {}", plural(more, "more line")),
    };
    let open =
        |line: &&(&CourseRow, usize)| points(line).iter().any(|point| matches!(point.change, Some(Change::Unresolved)));
    let open = others.iter().filter(open).count();
    let bound = others.iter().flat_map(points).map(|point| point.at_most()).collect::<Option<Vec<f64>>>();
    let bound = bound.and_then(|all| all.into_iter().reduce(f64::max));
    let between = format!("between {} {} and {}", axis.name, axis.values[0], axis.values[axis.values.len() - 1]);
    match (named.is_empty(), others.len()) {
        (true, count) => format!("No line of {count} is shown to change {between}{}.", rest(open, bound)),
        (false, 0) => format!("Changed {between}: {}{more}.", named.join("; ")),
        (false, count) => format!(
            "Changed {between}: {}{more}. Of {} no change is shown{}.",
            named.join("; "),
            plural(count, "other line"),
            rest(open, bound)
        ),
    }
}

/// How far lines without a change may have changed at most, and how many of them cannot tell yet.
fn rest(open: usize, bound: Option<f64>) -> String {
    let most = match bound {
        Some(bound) if bound < 2.0 => format!(", by no more than {} each", number::percent(bound - 1.0)),
        Some(bound) => format!(", by no more than {}x each", number::times(bound)),
        None => String::new(),
    };
    if open > 0 { format!("{most}; {open} can't tell yet") } else { most }
}

/// The furthest change of a line: `"create" with ext4, debian:7.3 likely 1.3x slower than debian:6.1`.
fn told(view: &View, axis: &AxisView, row: &CourseRow, group: usize) -> String {
    let line = &row.lines[group];
    let known = || line.iter().enumerate().filter_map(|(value, point)| Some((value, point.as_ref()?)));
    let furthest =
        known().filter(|(_, point)| point.has_changed()).max_by(|a, b| a.1.distance().total_cmp(&b.1.distance()));
    let (Some((value, point)), Some((first, _))) = (furthest, known().next()) else { return String::new() };
    let likely = matches!(point.change, Some(Change::LikelyBetter | Change::LikelyWorse));
    let (times, word) =
        if point.times < 1.0 { (1.0 / point.times, view.faster()) } else { (point.times, view.slower()) };
    let title = &view.workloads[row.workload].rows[row.row].title;
    // Twice the instructions of one, twice slower than one.
    let than = if view.counts_instructions() && point.times >= 1.0 { "of" } else { "than" };
    format!(
        "\"{title}\" with {}, {} {}{}x {word} {than} {}",
        axis.groups[group].name,
        axis.values[value],
        if likely { "likely " } else { "" },
        number::times(times),
        axis.values[first]
    )
}
