//! The effect of switching: every contender compared with the one in use now.
//! In: a view and the name of that contender. Out: an [`AgainstView`], and an answer that begins with it.

use super::course::CoursePoint;
use super::{RowView, View};
use crate::ReportError;
use crate::number;
use judge::{Change, Side, list};
use serde::Serialize;

/// Most lines that a sentence names.
const NAMED: usize = 3;

/// Contenders compared with one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgainstView {
    /// The baseline.
    pub name: String,
    /// The others, the best choice first: indices into [`View::contenders`].
    pub others: Vec<usize>,
    /// One for each line that has a figure of the baseline and of another contender.
    pub rows: Vec<AgainstRow>,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgainstRow {
    /// Index into [`View::workloads`].
    pub workload: usize,
    /// Index into [`super::WorkloadView::rows`].
    pub row: usize,
    /// One for each of [`AgainstView::others`]; absent where there is no figure.
    pub points: Vec<Option<CoursePoint>>,
}

impl View {
    /// Compares all contenders with the one of this name, and begins the answer with the effect of switching to the best of them.
    ///
    /// # Errors
    /// No contender with figures has this name; the message lists those that have figures.
    pub fn hold_against(&mut self, asked: &str) -> Result<(), ReportError> {
        let order: Vec<usize> = (0..self.contenders.len()).filter(|&place| self.has_figures(place)).collect();
        let named = |place: &&usize| self.contenders[**place].name.eq_ignore_ascii_case(asked);
        let Some(&baseline) = order.iter().find(named) else {
            let known: Vec<&str> = order.iter().map(|&place| self.contenders[place].name.as_str()).collect();
            let why = format!("the run has figures of {}", known.join(", "));
            return Err(ReportError::NoSuch { part: "contender", asked: crate::safe::terminal(asked), why });
        };
        let others: Vec<usize> = order.into_iter().filter(|&place| place != baseline).collect();
        let rows = self.rows_against(baseline, &others);
        let against = AgainstView { name: self.contenders[baseline].name.clone(), others, rows };
        self.answer_against(&against);
        self.against = Some(against);
        Ok(())
    }

    fn rows_against(&self, baseline: usize, others: &[usize]) -> Vec<AgainstRow> {
        let side = |place: usize| Side { table: &self.table, contender: self.contenders[place].index };
        let compared: Vec<judge::Comparison> =
            others.iter().map(|&other| judge::compare_contenders(side(baseline), side(other))).collect();
        let points = |row: &RowView| -> Vec<Option<CoursePoint>> {
            compared.iter().map(|one| super::course::point(&self.table, row.operation, one)).collect()
        };
        let all = self.workloads.iter().enumerate().flat_map(|(workload, found)| {
            found.rows.iter().enumerate().map(move |(row, found)| (workload, row, points(found)))
        });
        let known = all.filter(|(_, _, points)| points.iter().any(Option::is_some));
        known.map(|(workload, row, points)| AgainstRow { workload, row, points }).collect()
    }

    fn answer_against(&mut self, against: &AgainstView) {
        let taken = self.answer.take.clone();
        let is_taken = |place: &usize| taken.as_deref() == Some(&self.contenders[*place].name);
        // The contender to take, or else the one that is least far behind in its worst line.
        let Some(at) = against.others.iter().position(is_taken).or_else(|| least_behind(self, against)) else {
            self.answer.headline = format!("{} is the only contender: there is nothing to switch to.", against.name);
            return;
        };
        let (old, new) = (against.name.clone(), self.contenders[against.others[at]].name.clone());
        let class = |name: &str| self.contenders.iter().find(|one| one.name == name).map(|one| one.durability.class());
        let weaker = class(&new).filter(|new| !new.keeps_data() && class(&old).is_some_and(|old| old.keeps_data()));
        let (sentence, take) = Switch::of(self, against, at).verdict(&old, &new, weaker.map(super::answer::loss));
        // Doubts about the work come before any verdict.
        let headline = self.answer.doubts.iter().take(1).cloned().chain([sentence]).collect::<Vec<_>>().join(" ");
        let before = std::mem::replace(&mut self.answer.headline, headline);
        self.answer.besides.insert(0, before);
        if take != taken {
            (self.answer.at_most, self.answer.certainty, self.answer.rivals) = (None, None, Vec::new());
        }
        self.answer.take = take;
    }
}

/// Lines that count: for a workload with a sum only that.
fn whole<'a>(view: &'a View, against: &'a AgainstView) -> impl Iterator<Item = &'a AgainstRow> {
    let has_sum =
        |one: &AgainstRow| against.rows.iter().any(|other| other.workload == one.workload && is_sum(view, other));
    against.rows.iter().filter(move |one| is_sum(view, one) || !has_sum(one))
}

fn is_sum(view: &View, one: &AgainstRow) -> bool {
    view.is_sum(&view.workloads[one.workload].rows[one.row])
}

/// The contender that is least far behind in its worst line, among those that keep data as safely, if there are any.
fn least_behind(view: &View, against: &AgainstView) -> Option<usize> {
    let keeps = |at: &usize| view.contenders[against.others[*at]].durability.class().keeps_data();
    let all = || 0..against.others.len();
    let some_keep = all().any(|at| keeps(&at));
    let worst =
        |at: usize| whole(view, against).filter_map(|row| row.points[at]).map(|point| point.times).reduce(f64::max);
    let able = all().filter(|at| !some_keep || keeps(at)).map(|at| (at, worst(at).unwrap_or(f64::INFINITY)));
    able.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
}

/// What one contender does better and worse than the old one, whole workloads where they have sums.
struct Switch {
    better: Vec<String>,
    worse: Vec<String>,
    open: usize,
    same: usize,
}

impl Switch {
    fn of(view: &View, against: &AgainstView, at: usize) -> Switch {
        let mut found = Switch { better: Vec::new(), worse: Vec::new(), open: 0, same: 0 };
        for one in whole(view, against) {
            let Some(point) = one.points[at] else { continue };
            let workload = &view.workloads[one.workload];
            let step = || format!("\"{}\"", workload.rows[one.row].title);
            let title = if is_sum(view, one) { workload.title.clone() } else { step() };
            let times = if point.times < 1.0 { 1.0 / point.times } else { point.times };
            let (low, high) = point.interval.unwrap_or((point.times, point.times));
            let (low, high) = if point.times < 1.0 { (1.0 / high, 1.0 / low) } else { (low, high) };
            let [times, low, high] = [times, low, high].map(number::times);
            let likely = matches!(point.change, Some(Change::LikelyBetter | Change::LikelyWorse));
            let text = format!("{}{times}x ({low} to {high}) in {title}", if likely { "likely " } else { "" });
            match point.change {
                Some(Change::Better | Change::LikelyBetter) => found.better.push(text),
                Some(Change::Worse | Change::LikelyWorse) => found.worse.push(text),
                Some(Change::Same) => found.same += 1,
                Some(Change::Unresolved) | None => found.open += 1,
            }
        }
        found
    }

    /// Whether to switch from the old to the new one, and which contender that means; `loss` is what the new one may lose that the old one keeps.
    fn verdict(&self, old: &str, new: &str, loss: Option<&str>) -> (String, Option<String>) {
        let (better, worse) = (format!("faster {}", named(&self.better)), format!("slower {}", named(&self.worse)));
        let rest = self.rest();
        let (stay, switch) = (Some(old.to_owned()), Some(new.to_owned()));
        match (self.better.is_empty(), self.worse.is_empty(), loss) {
            (true, true, _) if self.same + self.open == 0 => {
                (format!("{old} and {new} have no comparable line."), None)
            }
            (true, true, _) if self.open > 0 => {
                (format!("For now, stay with {old}: {new} is not shown to be faster{rest}."), stay)
            }
            (true, true, _) => (format!("Stay with {old}: {new} is as fast, and no faster."), stay),
            (true, false, _) => (format!("Stay with {old}: {new} is {worse}{rest}."), stay),
            (false, true, None) => (format!("Switch from {old} to {new}: {better}{rest}."), switch),
            (false, true, Some(loss)) => (format!("Stay with {old}: {new} is {better}, but {loss}{rest}."), stay),
            (false, false, _) => (format!("From {old} to {new}: {better}, but {worse}{rest}."), None),
        }
    }

    fn rest(&self) -> String {
        let parts = [(self.same, "level"), (self.open, "undecided")];
        let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("; {count} {what}"));
        parts.collect()
    }
}

fn named(all: &[String]) -> String {
    let shown: Vec<&str> = all.iter().take(NAMED).map(String::as_str).collect();
    match all.len().saturating_sub(NAMED) {
        0 => list(&shown),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
