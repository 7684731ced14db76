//! The course over an ordered axis: each value compared with the first, such as each kernel with the oldest.
//! In: an axis, and the pivot's table with its values as contenders. Out: a [`CourseView`]: operations that changed, and the rest in words.
//! Each value is compared with the first one for which a group has a figure, by the rules of `bakeoff compare`.

use super::story::undecided;
use super::{AxisView, View, plural};
use crate::number;
use judge::{Change, Comparison, Side, Table};
use serde::Serialize;

/// Most changes that the sentence names; the rest is counted.
const NAMED: usize = 3;

/// One ordered axis, followed from its first value to its last.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CourseView {
    /// Operations in which a later value is better or worse than the first, at least likely.
    pub rows: Vec<CourseRow>,
    /// What changed, or that no change is shown; then a summary of all other operations.
    pub summary: String,
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CourseRow {
    /// Index into [`View::workloads`].
    pub workload: usize,
    /// Index into [`super::WorkloadView::rows`].
    pub row: usize,
    /// For each group of the axis its values, in order; empty for a group with fewer than two.
    pub lines: Vec<Vec<Option<CoursePoint>>>,
}

/// A value of a group, compared with the group's first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CoursePoint {
    /// How many times worse than the first; below 1 it is better.
    pub times: f64,
    /// Interval of that; absent for the first, and where there are too few samples.
    pub interval: Option<(f64, f64)>,
    /// The verdict against the first; absent for the first itself.
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

    /// How many times better or worse it can be at most; None if it is unbounded.
    fn at_most(&self) -> Option<f64> {
        match (self.change, self.interval) {
            (None, _) => Some(1.0),
            (Some(_), interval) => interval.map(|(low, high)| high.max(1.0 / low)).filter(|most| most.is_finite()),
        }
    }
}

/// Follows an axis whose values have an order. `table` has its values as contenders, `at` the group and the position in `places` of each of
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
    let several = axis.groups.len() > 1;
    let followed: Vec<Followed> = (rows.iter())
        .flat_map(|row| row.lines.iter().zip(&axis.groups).map(move |(line, group)| (row, line, group)))
        .filter(|(_, line, _)| !line.is_empty())
        .map(|(row, line, group)| {
            let title = &view.workloads[row.workload].rows[row.row].title;
            let with = if several { format!(" with {}", group.name) } else { String::new() };
            Followed { title: format!("\"{title}\"{with}"), points: line }
        })
        .collect();
    let lived = axis.name.starts_with("age");
    let (name, at) = if lived { (String::new(), "when ") } else { (format!("{} ", axis.name), "with ") };
    let words = Words { name, at, counts: view.counts_instructions() };
    let summary = summary(&words, &axis.values, &followed);
    rows.retain(|row| row.lines.iter().flatten().flatten().any(CoursePoint::has_changed));
    Some(CourseView { rows, summary })
}

/// For each operation of the table its values, each compared with the first of them.
pub(super) fn points(values: usize, table: &Table) -> Vec<Vec<Option<CoursePoint>>> {
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

pub(super) fn point(table: &Table, operation: usize, compared: &Comparison) -> Option<CoursePoint> {
    let row = compared.rows.iter().find(|row| row.operation == table.operations[operation].id)?;
    let interval = row.interval.map(|interval| (interval.low, interval.high));
    row.ratio.is_finite().then_some(CoursePoint { times: row.ratio, interval, change: Some(row.change) })
}

/// One line, from its first value to its last.
pub(super) struct Followed<'a> {
    /// Its name in a sentence.
    pub title: String,
    pub points: &'a [Option<CoursePoint>],
}

impl Followed<'_> {
    fn known(&self) -> impl DoubleEndedIterator<Item = (usize, &CoursePoint)> {
        self.points.iter().enumerate().filter_map(|(value, point)| Some((value, point.as_ref()?)))
    }

    fn furthest(&self) -> Option<(usize, &CoursePoint)> {
        let changed = self.known().filter(|(_, point)| point.has_changed());
        changed.max_by(|a, b| a.1.distance().total_cmp(&b.1.distance()))
    }

    /// The value from which on all changed in the same direction as the largest change, unless that is only the last.
    fn from(&self) -> Option<usize> {
        let (_, furthest) = self.furthest()?;
        let alike = |point: &CoursePoint| point.has_changed() && (point.times > 1.0) == (furthest.times > 1.0);
        let lasting: Vec<usize> =
            self.known().rev().take_while(|(_, point)| alike(point)).map(|(value, _)| value).collect();
        lasting.last().copied().filter(|_| lasting.len() > 1)
    }
}

/// Words for the values of a course.
pub(super) struct Words {
    /// What they are values of, followed by a space: `kernel `; or empty.
    pub name: String,
    /// The word before a value: `with `, `at `, `when `.
    pub at: &'static str,
    /// Whether figures are counts of instructions.
    pub counts: bool,
}

/// What changed from the first value to the last, the largest change first, and what is known of all other lines.
pub(super) fn summary(words: &Words, values: &[String], lines: &[Followed]) -> String {
    let (mut changed, others): (Vec<&Followed>, Vec<&Followed>) =
        lines.iter().partition(|line| line.furthest().is_some());
    let most = |line: &Followed| line.furthest().map_or(0.0, |(_, point)| point.distance());
    changed.sort_by(|a, b| most(b).total_cmp(&most(a)));
    let named: Vec<String> = changed.iter().take(NAMED).map(|line| change_of(words, values, line)).collect();
    let more = match changed.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and {}", plural(more, "more line")),
    };
    let points = |line: &&Followed| line.points.iter().flatten().copied().collect::<Vec<_>>();
    let is_open = |line: &&&Followed| points(line).iter().any(|point| point.change == Some(Change::Unresolved));
    let open = others.iter().filter(is_open).count();
    let bound = others.iter().flat_map(points).map(|point| point.at_most()).collect::<Option<Vec<f64>>>();
    let bound = bound.and_then(|all| all.into_iter().reduce(f64::max));
    let between = format!("between {}{} and {}", words.name, values[0], values[values.len() - 1]);
    match (named.is_empty(), others.len()) {
        (true, count) => {
            format!("No change is shown in {} {between}{}.", plural(count, "line"), rest((open, count), bound))
        }
        (false, 0) => format!("Changed {between}: {}{more}.", named.join("; ")),
        (false, count) => format!(
            "Changed {between}: {}{more}. No change is shown in {}{}.",
            named.join("; "),
            plural(count, "other line"),
            rest((open, count), bound)
        ),
    }
}

/// The largest possible change of lines without a shown change, and how many of all are undecided.
fn rest((open, all): (usize, usize), bound: Option<f64>) -> String {
    let most = match bound {
        Some(bound) if bound < 2.0 => format!(", at most {} each", number::percent(bound - 1.0)),
        Some(bound) => format!(", at most {}x each", number::times(bound)),
        None => String::new(),
    };
    if open > 0 { format!("{most}; {}", undecided(open, all)) } else { most }
}

/// The largest change of a line, and from which value on it lasts: `"delete" 2.0x slower at 99 % than at 50 %, from 95 % on`.
fn change_of(words: &Words, values: &[String], line: &Followed) -> String {
    let (Some((value, point)), Some((first, _))) = (line.furthest(), line.known().next()) else { return String::new() };
    let likely = matches!(point.change, Some(Change::LikelyBetter | Change::LikelyWorse));
    let (times, word) = match (point.times < 1.0, words.counts) {
        (true, true) => (1.0 / point.times, "fewer instructions"),
        (true, false) => (1.0 / point.times, "faster"),
        (false, true) => (point.times, "the instructions"),
        (false, false) => (point.times, "slower"),
    };
    // Grammar: twice the instructions of one, twice slower than one.
    let than = if words.counts && point.times >= 1.0 { "of" } else { "than" };
    let (likely, times, at) = (if likely { "likely " } else { "" }, number::times(times), words.at);
    let lasting = line.from().map_or_else(String::new, |from| format!(", from {} on", values[from]));
    format!("{} {likely}{times}x {word} {at}{} {than} {at}{}{lasting}", line.title, values[value], values[first])
}
