//! A pivot: the best value of an axis for each group of contenders, then the groups with their best values.
//! In: a view with its axes and the judge's table. Out: a [`PivotView`] for each axis, judged separately by the same rules.
//! As in published scheduler comparisons: the best scheduler per filesystem, then filesystems with theirs.

use super::cells::{Ranked, shown};
use super::course::{CourseView, course};
use super::story::{are, undecided};
use super::{AxisView, FigureView, Standing, View};
use judge::{Backend, Cell, Contender, Durability, Judgement, Operation, Table};
use serde::Serialize;

/// What is added to the name of a twin, which no table shows.
const AGAIN: &str = " (again)";

/// One axis, by groups and then across them.
#[derive(Debug, Clone, Serialize)]
pub struct PivotView {
    /// Index into [`View::axes`].
    pub axis: usize,
    /// One for each operation that has figures of two values.
    pub rows: Vec<PivotRow>,
    /// In how many operations which value is the best or tied: a sentence for each group, then one for the groups.
    pub summary: Vec<String>,
    /// Verdicts on values within groups.
    pub within: Vec<String>,
    /// Verdicts on groups, each at its best value.
    pub across: Vec<String>,
    /// Smallest difference that counts, a share.
    pub smallest_effect: f64,
    /// What changes from the first value to the last, where the values have an order.
    pub course: Option<CourseView>,
    /// What each other value costs against the usual one: of a stack only, since layers are not chosen for speed.
    #[serde(skip)]
    pub(super) prices: Vec<Price>,
}

/// How many times slower one group is with a value than with the usual one, judged as a pair.
#[derive(Debug, Clone, Copy)]
pub(super) struct Price {
    value: usize,
    /// Index into [`PivotView::rows`].
    row: usize,
    group: usize,
    ratio: f64,
    /// Largest ratio that is possible; None: unbounded.
    at_most: Option<f64>,
    is_shown: bool,
}

/// How far the best value of a group can be trusted.
pub const CHOSEN: &str =
    "Each best value is chosen by the samples that also judge it, which flatters it a little where several are close.";

impl PivotView {
    /// Its lines by workload.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &[PivotRow]> {
        self.rows.chunk_by(|one, next| one.workload == next.workload)
    }

    /// Whether a value is shown to be worse than another anywhere.
    pub(super) fn shows_a_difference(&self) -> bool {
        self.rows.iter().flat_map(|row| row.groups.iter().flatten().flatten()).any(is_behind)
    }
}

/// One operation.
#[derive(Debug, Clone, Serialize)]
pub struct PivotRow {
    /// Index into [`View::workloads`].
    pub workload: usize,
    /// Index into [`super::WorkloadView::rows`].
    pub row: usize,
    /// For each group of the axis its values, in order.
    pub groups: Vec<Vec<Option<PivotCell>>>,
    /// For each group its best value, compared with those of the other groups.
    pub best: Vec<Option<PivotBest>>,
}

/// A figure within its group, or a group's best among the groups.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PivotCell {
    /// Index into [`View::contenders`].
    pub contender: usize,
    /// The figure.
    pub figure: FigureView,
    /// Its standing.
    pub standing: Standing,
    /// How many times worse than the best of those that it is compared with.
    pub ratio: Option<f64>,
    /// 95 % interval of that.
    pub ratio_interval: Option<(f64, f64)>,
}

/// The best value of a group.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PivotBest {
    /// Index into [`AxisView::values`].
    pub value: usize,
    /// Its figure among the groups.
    pub cell: PivotCell,
}

/// Every axis of a run, judged; an axis that cannot be judged is left out.
pub(super) fn pivots(view: &View) -> Vec<PivotView> {
    (0..view.axes.len()).filter_map(|axis| Pivot { view, axis: &view.axes[axis] }.judged(axis)).collect()
}

/// Whether a value of an axis was better than another anywhere, in a sentence: where the difference is largest, or that none is shown.
/// `is_equal`: another sentence states that the values are equal over whole workloads.
pub(super) fn matters(view: &View, pivot: &PivotView, is_equal: bool) -> String {
    let axis = &view.axes[pivot.axis];
    // For kernels the question is what a newer one changed, not which is the best.
    if let Some(course) = pivot.course.as_ref().filter(|_| axis.name == "kernel") {
        return course.summary.clone();
    }
    let mut lines = 0;
    let mut open = 0;
    let mut most: Option<(f64, String)> = None;
    for row in &pivot.rows {
        for (group, values) in axis.groups.iter().zip(&row.groups).filter(|found| found.1.iter().flatten().count() >= 2)
        {
            lines += 1;
            let cells = || values.iter().flatten();
            open += usize::from(cells().any(is_open));
            let Some((at, ratio)) = furthest(values, is_behind) else { continue };
            if most.as_ref().is_none_or(|most| ratio > most.0) {
                let title = &view.workloads[row.workload].rows[row.row].title;
                let among = if axis.groups.len() > 1 { format!(" with {}", group.name) } else { String::new() };
                let times = crate::number::times(ratio);
                most =
                    Some((ratio, format!("{} is {times}x {} in \"{title}\"{among}", axis.values[at], view.slower())));
            }
        }
    }
    let of = super::plural(lines, "line");
    let rest = if open > 0 { format!("; {open} of {of} {} undecided", are(open)) } else { String::new() };
    match most {
        Some((_, most)) if is_equal => format!("In single steps {} matters: {most}{rest}.", axis.name),
        Some((_, most)) => format!("{} matters: {most}{rest}.", axis.name),
        None if open == 0 => format!("{} makes no difference in {of}.", axis.name),
        None => {
            let worth = at_most(view, pivot).map_or_else(String::new, |times| {
                format!(" Over all steps the choice is worth at most {}x.", crate::number::times(times))
            });
            format!("{}: no difference is shown in {of}; {}.{worth}", axis.name, undecided(open, lines))
        }
    }
}

/// What each value of an axis costs against its usual value, a sentence for each: over all steps of a workload, or in its largest step where it
/// has no sum. Groups that lose least come first. Empty where the usual value takes no part.
pub(super) fn costs(view: &View, pivot: &PivotView) -> Vec<String> {
    let axis = &view.axes[pivot.axis];
    let Some(usual) = axis.values.iter().position(|value| value == axes::usual(&axis.name)) else { return Vec::new() };
    let is_sum = |row: &PivotRow| view.workloads[row.workload].rows[row.row].phases.len() > 1;
    let counts = |row: &&PivotRow| {
        is_sum(row) || !pivot.rows.iter().any(|other| other.workload == row.workload && is_sum(other))
    };
    let of_value = |value: usize| {
        let rows = pivot.rows.iter().enumerate().filter(|(_, row)| counts(row));
        let prices = |row: usize| pivot.prices.iter().filter(move |price| (price.value, price.row) == (value, row));
        let lines: Vec<String> = rows.filter_map(|(at, row)| cost(view, axis, row, prices(at).collect())).collect();
        (!lines.is_empty()).then(|| format!("{} costs {}.", axis.values[value], lines.join("; ")))
    };
    (0..axis.values.len()).filter(|value| *value != usual).filter_map(of_value).collect()
}

/// The cost of a value in one row: `ext4 at most 1.1x, xfs 1.3x in "small-files, all steps"`.
fn cost(view: &View, axis: &AxisView, row: &PivotRow, mut prices: Vec<&Price>) -> Option<String> {
    prices.sort_by(|one, other| one.ratio.total_cmp(&other.ratio));
    let text = |price: &&Price| {
        let name = &axis.groups[price.group].name;
        match price.at_most {
            Some(high) if !price.is_shown && high <= 1.0 => format!("{name} nothing"),
            Some(high) if !price.is_shown => format!("{name} at most {}x", crate::number::times(high)),
            _ => format!("{name} {}x{}", crate::number::times(price.ratio), if price.is_shown { "" } else { "?" }),
        }
    };
    let names: Vec<String> = prices.iter().map(text).collect();
    let workload = &view.workloads[row.workload];
    let of = if view.workloads.len() > 1 { format!(" of {}", workload.title) } else { String::new() };
    (!names.is_empty()).then(|| format!("{} in \"{}\"{of}", names.join(", "), workload.rows[row.row].title))
}

fn is_open(cell: &PivotCell) -> bool {
    matches!(cell.standing, Standing::Unresolved | Standing::Leading)
}

fn is_behind(cell: &PivotCell) -> bool {
    matches!(cell.standing, Standing::Worse | Standing::Likely)
}

/// How far a value can be behind its best at most over all steps of a workload, in any group; None where part of that is unbounded.
fn at_most(view: &View, pivot: &PivotView) -> Option<f64> {
    let is_sum = |row: &&PivotRow| view.workloads[row.workload].rows[row.row].phases.len() > 1;
    let cells = pivot.rows.iter().filter(is_sum).flat_map(|row| row.groups.iter().flatten().flatten());
    let behind =
        cells.map(|cell| cell.ratio_interval.map_or(cell.ratio.filter(|ratio| *ratio <= 1.0), |bounds| Some(bounds.1)));
    behind.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
}

/// The value that is furthest behind, and its ratio.
fn furthest(values: &[Option<PivotCell>], counts: impl Fn(&PivotCell) -> bool) -> Option<(usize, f64)> {
    let known = values
        .iter()
        .enumerate()
        .filter_map(|(at, cell)| Some((at, cell.as_ref().filter(|cell| counts(cell))?.ratio?)));
    known.max_by(|a, b| a.1.total_cmp(&b.1))
}

struct Pivot<'a> {
    view: &'a View,
    axis: &'a AxisView,
}

/// A row of the view: workload, row, and the operation of the judge's table.
type Place = (usize, usize, usize);

impl Pivot<'_> {
    fn judged(&self, number: usize) -> Option<PivotView> {
        let places = self.places();
        let all: Vec<usize> = (0..self.axis.values.len()).collect();
        let (table, at) = self.within(&places, &all)?;
        let inner = judge::judge(&table).ok()?;
        let mut rows: Vec<PivotRow> = places.iter().map(|place| self.row(place, &at, &inner)).collect();
        let mut across = Vec::new();
        let mut smallest_effect = inner.smallest_effect;
        // If the best changes its backend from row to row, groups cannot be ranked: contenders of different backends never are.
        if self.groups_are_pure()
            && let Some(outer) = self.across(&places, &rows).and_then(|table| judge::judge(&table).ok())
        {
            for (operation, row) in rows.iter_mut().enumerate() {
                for (group, best) in row.best.iter_mut().enumerate() {
                    if let Some(best) = best {
                        best.cell = PivotCell { contender: best.cell.contender, ..cell(&outer, operation, group)? };
                    }
                }
            }
            across = sentences(&outer);
            smallest_effect = smallest_effect.max(outer.smallest_effect);
        } else {
            rows.iter_mut().for_each(|row| row.best.fill(None));
        }
        rows.retain(|row| row.groups.iter().any(|values| values.iter().flatten().count() >= 2));
        let (summary, within) = (self.summary(&rows), sentences(&inner));
        let shown: Vec<(usize, usize)> = places.iter().map(|(workload, row, _)| (*workload, *row)).collect();
        let course = course(self.view, self.axis, &table, &at, &shown);
        let prices = self.prices(&rows);
        (!rows.is_empty()).then_some(PivotView {
            axis: number,
            rows,
            summary,
            within,
            across,
            smallest_effect,
            course,
            prices,
        })
    }

    /// Each value of a stack against the usual one, and no other.
    fn prices(&self, rows: &[PivotRow]) -> Vec<Price> {
        let usual = self.axis.values.iter().position(|value| value == axes::usual(&self.axis.name));
        let Some(usual) = usual.filter(|_| self.axis.name == axes::STACK) else { return Vec::new() };
        let operation = |row: &PivotRow| self.view.workloads[row.workload].rows[row.row].operation;
        let places: Vec<Place> = rows.iter().map(|row| (row.workload, row.row, operation(row))).collect();
        let of_value = |value: usize| {
            let (table, at) = self.within(&places, &[usual, value])?;
            let judged = judge::judge(&table).ok()?;
            let price = |(number, &(group, row)): (usize, &(usize, usize))| {
                let (without, with) = (cell(&judged, number, 0)?, cell(&judged, number, 1)?);
                let at_most = match (with.ratio_interval, without.ratio_interval) {
                    (Some((_, high)), _) => Some(high),
                    (None, Some((low, _))) => Some(1.0 / low),
                    (None, None) => None,
                };
                let is_shown = !is_open(&with) && !is_open(&without);
                Some(Price { value, row, group, ratio: with.ratio? / without.ratio?, at_most, is_shown })
            };
            Some(at.iter().enumerate().filter_map(price).collect::<Vec<Price>>())
        };
        let others = (0..self.axis.values.len()).filter(|value| *value != usual);
        others.filter_map(of_value).flatten().collect()
    }

    fn summary(&self, rows: &[PivotRow]) -> Vec<String> {
        let mut notes = Vec::new();
        for (number, group) in self.axis.groups.iter().enumerate() {
            let shown = |row: &&PivotRow| row.groups[number].iter().flatten().count() >= 2;
            let lines: Vec<Vec<Option<PivotCell>>> =
                rows.iter().filter(shown).map(|row| row.groups[number].clone()).collect();
            notes.extend(counted(&format!("With {}", group.name), &self.axis.values, &lines));
        }
        let best = |row: &PivotRow| row.best.iter().map(|best| best.map(|best| best.cell)).collect::<Vec<_>>();
        let lines: Vec<Vec<Option<PivotCell>>> =
            rows.iter().map(best).filter(|cells| cells.iter().flatten().count() >= 2).collect();
        let names: Vec<String> = self.axis.groups.iter().map(|group| group.name.clone()).collect();
        notes.extend(counted(&format!("Each with its best {}", self.axis.name), &names, &lines));
        notes
    }

    fn places(&self) -> Vec<Place> {
        let workloads = self.view.workloads.iter().enumerate();
        workloads
            .flat_map(|(at, workload)| workload.rows.iter().enumerate().map(move |(row, of)| (at, row, of.operation)))
            .collect()
    }

    /// Index in the judge's table of the contender with a value in a group.
    fn judged_index(&self, group: usize, value: usize) -> Option<usize> {
        let place = self.axis.groups[group].members[value]?;
        Some(self.view.contenders[place].index)
    }

    /// These values as contenders, and each operation of each group as an operation of its own; with the group and the place of each operation.
    fn within(&self, places: &[Place], values: &[usize]) -> Option<(Table, Vec<(usize, usize)>)> {
        let pure = self.values_are_pure();
        let mut table =
            Table { margin: self.view.table.margin, sessions: self.view.table.sessions.clone(), ..Table::default() };
        for &value in values {
            let members: Vec<&Contender> = self.at_value(value).collect();
            table.contenders.push(Contender {
                name: self.axis.values[value].clone(),
                durability: common_durability(&members),
                backend: members.first().map(|first| first.backend).filter(|_| pure).unwrap_or_default(),
                ..Contender::default()
            });
        }
        self.add_twins(&mut table, values.len());
        let mut at = Vec::new();
        for (group, shared) in self.axis.groups.iter().enumerate() {
            if values.iter().filter(|value| shared.members[**value].is_some()).count() < 2
                || !(pure || self.group_is_pure(group))
            {
                continue;
            }
            for (place, (_, _, operation)) in places.iter().enumerate() {
                let judged = &self.view.table.operations[*operation];
                let mut id = judged.id.clone();
                id.operation = format!("{} of {}", id.operation, shared.name);
                let phrase = format!("{} with {}", judged.doing(), shared.name);
                table.operations.push(Operation { id, phrase, ..judged.clone() });
                for (column, value) in values.iter().enumerate() {
                    if let Some(from) = self.judged_index(group, *value) {
                        self.copy_cells(&mut table, (*operation, from), (at.len(), column), values.len() + column);
                    }
                }
                at.push((group, place));
            }
        }
        (!at.is_empty()).then_some((table, at))
    }

    /// Groups as contenders, each at its best value of each operation.
    fn across(&self, places: &[Place], rows: &[PivotRow]) -> Option<Table> {
        if self.axis.groups.len() < 2 {
            return None;
        }
        let groups = self.axis.groups.len();
        let mut table =
            Table { margin: self.view.table.margin, sessions: self.view.table.sessions.clone(), ..Table::default() };
        for (number, group) in self.axis.groups.iter().enumerate() {
            let members: Vec<&Contender> = (0..group.members.len())
                .filter_map(|value| Some(&self.view.table.contenders[self.judged_index(number, value)?]))
                .collect();
            table.contenders.push(Contender {
                name: group.name.clone(),
                durability: common_durability(&members),
                backend: members.first().map(|first| first.backend).unwrap_or_default(),
                ..Contender::default()
            });
        }
        self.add_twins(&mut table, groups);
        self.add_alternatives(&mut table, groups);
        for (number, ((_, _, operation), row)) in places.iter().zip(rows).enumerate() {
            let judged = &self.view.table.operations[*operation];
            let phrase = format!("{}, each with its best {}", judged.doing(), self.axis.name);
            table.operations.push(Operation { phrase, ..judged.clone() });
            for (group, best) in row.best.iter().enumerate() {
                let Some(value) = best.map(|best| best.value) else { continue };
                if let Some(from) = self.judged_index(group, value) {
                    self.copy_cells(&mut table, (*operation, from), (number, group), groups + group);
                }
                let values = self.axis.values.len();
                for (at, other) in (0..values).filter(|&other| other != value).enumerate() {
                    let alternative = 2 * groups + group * (values - 1) + at;
                    let from = self.judged_index(group, other);
                    table.cells.extend(from.and_then(|from| self.copied((*operation, from), (number, alternative))));
                }
            }
        }
        Some(table)
    }

    /// A twin for each contender of a table, empty until a cell with one is copied.
    fn add_twins(&self, table: &mut Table, count: usize) {
        for place in 0..count {
            let of = table.contenders[place].clone();
            let (name, twin_of) = (format!("{}{AGAIN}", of.name), Some(of.name.clone()));
            table.contenders.push(Contender { name, twin_of, ..of });
        }
    }

    /// For each group the alternatives of its best value: in each operation the values that were not picked.
    fn add_alternatives(&self, table: &mut Table, groups: usize) {
        for place in 0..groups {
            let of = table.contenders[place].clone();
            for number in 1..self.axis.values.len() {
                let (name, alternative_of) = (format!("{} (not its best, {number})", of.name), Some(of.name.clone()));
                table.contenders.push(Contender { name, alternative_of, ..of.clone() });
            }
        }
    }

    fn copied(&self, from: (usize, usize), to: (usize, usize)) -> Option<Cell> {
        let found = self.view.table.cell(from.0, from.1).filter(|cell| !cell.samples.is_empty())?;
        Some(Cell { operation: to.0, contender: to.1, ..found.clone() })
    }

    /// Copies a cell, and that of its twin if it has one, so that the noise floor is known here as well.
    fn copy_cells(&self, table: &mut Table, from: (usize, usize), to: (usize, usize), again: usize) {
        let all = &self.view.table;
        table.cells.extend(self.copied(from, to));
        let name = &all.contenders[from.1].name;
        let twin = all.contenders.iter().position(|contender| contender.twin_of.as_ref() == Some(name));
        table.cells.extend(twin.and_then(|twin| self.copied((from.0, twin), (to.0, again))));
    }

    fn row(&self, (workload, row, _): &Place, at: &[(usize, usize)], inner: &Judgement) -> PivotRow {
        let place = self.places().iter().position(|place| (place.0, place.1) == (*workload, *row));
        let cells = &self.view.workloads[*workload].rows[*row].cells;
        let mut groups = Vec::new();
        let mut best = Vec::new();
        for (number, group) in self.axis.groups.iter().enumerate() {
            let operation = at.iter().position(|found| Some(found.1) == place && found.0 == number);
            let values: Vec<Option<PivotCell>> = (0..self.axis.values.len())
                .map(|value| {
                    let contender = group.members[value]?;
                    let judged = operation.and_then(|operation| cell(inner, operation, value));
                    let alone = || {
                        let figure = cells[contender].figure?;
                        let standing = Standing::Alone;
                        Some(PivotCell { contender, figure, standing, ratio: None, ratio_interval: None })
                    };
                    judged.map(|judged| PivotCell { contender, ..judged }).or_else(alone)
                })
                .collect();
            let ranking = operation.and_then(|operation| inner.rankings_of(operation).next());
            let only = || values.iter().position(Option::is_some);
            let value = ranking.map(|ranking| ranking.best).or_else(only);
            best.push(value.and_then(|value| Some(PivotBest { value, cell: values[value]? })));
            groups.push(values);
        }
        PivotRow { workload: *workload, row: *row, groups, best }
    }

    fn at_value(&self, value: usize) -> impl Iterator<Item = &Contender> {
        (0..self.axis.groups.len())
            .filter_map(move |group| Some(&self.view.table.contenders[self.judged_index(group, value)?]))
    }

    fn values_are_pure(&self) -> bool {
        (0..self.axis.values.len()).all(|value| one_backend(self.at_value(value)))
    }

    fn group_is_pure(&self, group: usize) -> bool {
        let members = (0..self.axis.values.len()).filter_map(|value| self.judged_index(group, value));
        one_backend(members.map(|index| &self.view.table.contenders[index]))
    }

    fn groups_are_pure(&self) -> bool {
        (0..self.axis.groups.len()).all(|group| self.group_is_pure(group))
    }
}

/// In how many lines each of these is the best or tied: `With ext4, none is best or tied in 9 of 11 operations, bfq in 2`.
fn counted(subject: &str, names: &[String], lines: &[Vec<Option<PivotCell>>]) -> Option<String> {
    let front = |cell: &PivotCell| matches!(cell.standing, Standing::Best | Standing::Tie);
    let mut counts: Vec<(usize, usize)> = (0..names.len())
        .map(|at| (lines.iter().filter(|line| line[at].as_ref().is_some_and(front)).count(), at))
        .filter(|(count, _)| *count > 0)
        .collect();
    counts.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let of = super::plural(lines.len(), "operation");
    let open = lines.iter().filter(|line| !line.iter().flatten().any(front)).count();
    let open = if open > 0 { format!("; {open} can't tell yet") } else { String::new() };
    let Some(((most, first), others)) = counts.split_first() else {
        return (!lines.is_empty()).then(|| format!("{subject}, can't tell yet in {of}."));
    };
    let others: String = others.iter().map(|(count, at)| format!(", {} in {count}", names[*at])).collect();
    Some(format!("{subject}, {} is best or tied in {most} of {of}{others}{open}.", names[*first]))
}

/// The first sentence about each operation: which is best, and by how much; the costs are in the workload's own table.
fn sentences(judgement: &Judgement) -> Vec<String> {
    let mut lines = std::collections::HashSet::new();
    let first =
        judgement.sentences.iter().filter(|note| note.operation.is_some_and(|operation| lines.insert(operation)));
    first.map(|note| note.text.clone()).collect()
}

fn one_backend<'a>(members: impl Iterator<Item = &'a Contender>) -> bool {
    let backends: Vec<Backend> = members.map(|member| member.backend).collect();
    backends.windows(2).all(|pair| pair[0] == pair[1])
}

/// The common durability of all members; unknown where they differ.
fn common_durability(members: &[&Contender]) -> Durability {
    let first = members.first().map(|first| first.durability).unwrap_or_default();
    if members.iter().all(|member| member.durability == first) { first } else { Durability::default() }
}

fn cell(judgement: &Judgement, operation: usize, contender: usize) -> Option<PivotCell> {
    let figure = shown(judgement.figure(operation, contender)?);
    let Ranked { standing, ratio, ratio_interval } = Ranked::of(judgement, operation, contender);
    Some(PivotCell { contender, figure, standing, ratio, ratio_interval })
}
