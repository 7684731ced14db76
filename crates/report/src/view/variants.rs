//! Variants of the work, compared within each contender by the same judge: one large directory against hashed ones, one process against four.
//! In: a run's works and the judge's table of it. Out: a [`VariantsView`] for each contender that did an operation in several ways.

use super::course::{self, CoursePoint, Followed, Words};
use judge::{GroupAnswer, OperationId, Table};
use records::RunRecord;
use records::facts::PER_OPERATION;
use samples::Variants;
use serde::Serialize;

/// The variants of the work of one contender, compared with each other.
#[derive(Debug, Clone, Serialize, Default)]
pub struct VariantsView {
    /// The contender: an index into the judge's table.
    #[serde(skip)]
    pub contender: usize,
    /// Its name.
    pub name: String,
    /// Which variant to take, in a sentence; absent if nothing is known, or if there is no choice, as with the fill level.
    pub take: Option<String>,
    /// How they compare, operation by operation.
    pub sentences: Vec<String>,
    /// What changes from the lowest level to the highest, in a sentence, if they are levels of one number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub course: Option<String>,
    /// The levels, if they are levels of one number: `50 %`, `99 %`; else empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
    /// Each operation at its levels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<LevelRow>,
}

/// One operation at several levels, each compared with the lowest.
#[derive(Debug, Clone, Serialize)]
pub struct LevelRow {
    /// The operation.
    pub title: String,
    /// One for each level, absent where it was not measured.
    pub points: Vec<Option<CoursePoint>>,
}

/// The variants of all contenders; empty if only contenders were varied.
pub(super) fn variants(run: &RunRecord, table: &Table) -> Vec<VariantsView> {
    samples::variants(run, table)
        .iter()
        .filter_map(|one| if one.ordered { levels(table, one) } else { choices(table, one) })
        .collect()
}

/// Levels of one number, lowest first: what changes, and from which level on. Levels that are settings can also be chosen.
fn levels(table: &Table, variants: &Variants) -> Option<VariantsView> {
    let turned = &variants.table;
    let values: Vec<String> = turned.contenders.iter().map(|level| level.name.clone()).collect();
    let points = course::points(values.len(), turned);
    let alike = |id: &OperationId| turned.operations.iter().filter(|other| other.id.operation == id.operation).count();
    let title = |operation: &judge::Operation| match operation.id.operation.replace('-', " ") {
        name if alike(&operation.id) > 1 => format!("{name} ({}, {})", operation.id.workload, operation.id.cache),
        name => name,
    };
    let rows: Vec<LevelRow> = (turned.operations.iter().zip(points))
        .map(|(operation, points)| LevelRow { title: title(operation), points })
        .collect();
    let followed: Vec<Followed> =
        rows.iter().map(|row| Followed { title: format!("\"{}\"", row.title), points: &row.points }).collect();
    let counts = turned.operations.iter().any(|operation| operation.unit == PER_OPERATION);
    let words = Words { name: String::new(), at: "at ", counts };
    let name = table.contenders[variants.contender].name.clone();
    let course = Some(format!("{name}: {}", super::story::lower(&course::summary(&words, &values, &followed))));
    let view = if values.iter().all(|value| value.contains('=')) {
        choices(table, variants)?
    } else {
        VariantsView { contender: variants.contender, name, ..VariantsView::default() }
    };
    Some(VariantsView { course, levels: values, rows, ..view })
}

/// Variants to choose from.
fn choices(table: &Table, variants: &Variants) -> Option<VariantsView> {
    let (turned, contender) = (&variants.table, variants.contender);
    let judged = judge::judge(turned).ok()?;
    let answer = judge::answer(turned).ok()?;
    let name = table.contenders[contender].name.clone();
    let take = answer.groups.first().and_then(|group| {
        let choice = group.take.as_ref()?;
        let label = |at: usize| turned.contenders[at].name.as_str();
        let others: Vec<&str> = choice.rivals.iter().map(|&rival| label(rival)).collect();
        let rest = if others.is_empty() { String::new() } else { format!("; {} may do as well", others.join(", ")) };
        let bound = super::answer::bound(turned, group, choice);
        let taken = label(choice.shortfall.contender);
        let doing = only(turned).map_or_else(String::new, |operation| format!(" in \"{operation}\""));
        Some(format!("On {name} take {taken}: {bound}{doing}{rest}{}.", less_safe(turned, group)))
    });
    let sentences = judged.sentences.into_iter().map(|sentence| sentence.text).collect();
    Some(VariantsView { contender, name, take, sentences, ..VariantsView::default() })
}

/// The operation that was done in several variants, if it is a single one.
fn only(turned: &Table) -> Option<&str> {
    match turned.operations.as_slice() {
        [operation] => Some(&operation.phrase),
        _ => None,
    }
}

/// Variants after which a crash may destroy data: how much faster they are, where that is shown.
fn less_safe(turned: &Table, group: &GroupAnswer) -> String {
    let note = group.less_safe.iter().map(|one| {
        let name = &turned.contenders[one.contender].name;
        match one.operation {
            Some(operation) => {
                let (times, doing) = (crate::number::times(one.ratio), &turned.operations[operation].id.operation);
                format!("; {name} is up to {times}x faster in \"{doing}\", but a crash may destroy data")
            }
            None => format!("; with {name} a crash may destroy data"),
        }
    });
    note.collect()
}
