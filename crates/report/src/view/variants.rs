//! Variants of the work, compared within each contender by the same judge: one large directory against hashed ones, one process against four.
//! In: a run's works and the judge's table of it. Out: a [`VariantsView`] for each contender that did an operation in several ways.

use judge::{Cell, Contender, Operation, Table};
use records::facts::PhaseFacts;
use records::{RunRecord, WorkRecord};
use serde::Serialize;
use std::collections::BTreeMap;

/// What one contender's variants of the work say of each other.
#[derive(Debug, Clone, Serialize)]
pub struct VariantsView {
    /// The contender: an index into the judge's table.
    #[serde(skip)]
    pub contender: usize,
    /// Its name.
    pub name: String,
    /// Which variant to take, in a sentence; absent where nothing can be said.
    pub take: Option<String>,
    /// How they stand, operation by operation.
    pub sentences: Vec<String>,
}

/// The ways in which one operation was done: label, and the row of the judge's table.
type Ways = Vec<(String, usize)>;

/// All contenders' variants; empty where nothing but contenders was varied.
pub(super) fn variants(run: &RunRecord, table: &Table) -> Vec<VariantsView> {
    let several = |(_, ways): &((String, String, String), Ways)| ways.len() > 1;
    let named = |((work, operation, cache), ways): ((String, String, String), Ways)| {
        (format!("{work} {operation} ({cache})"), ways)
    };
    let ways: Vec<(String, Ways)> = ways(run, table).into_iter().filter(several).map(named).collect();
    if ways.is_empty() {
        return Vec::new();
    }
    let contenders = (0..table.contenders.len()).filter(|&at| table.contenders[at].twin_of.is_none());
    contenders.filter_map(|contender| of_contender(table, &ways, contender)).collect()
}

fn ways(run: &RunRecord, table: &Table) -> BTreeMap<(String, String, String), Ways> {
    let works = &run.new.works;
    let mut ways: BTreeMap<(String, String, String), Ways> = BTreeMap::new();
    for work in works {
        let heading = samples::work_name(works, work);
        for facts in work.phases.iter().filter(|facts| !facts.preparation && facts.own.is_none()) {
            let id = judge::OperationId::new(&heading, &facts.named(), &facts.cache_label);
            let Some(row) = table.operations.iter().position(|operation| operation.id == id) else { continue };
            let key = (work.name.clone(), facts.operation.clone(), facts.cache_label.clone());
            let label = label(works, work, facts);
            let known = ways.entry(key).or_default();
            if !known.iter().any(|way| way.0 == label) {
                known.push((label, row));
            }
        }
    }
    ways
}

/// What is peculiar to a way: the phase's variant, and the settings in which works of the same name differ.
fn label(works: &[WorkRecord], work: &WorkRecord, facts: &PhaseFacts) -> String {
    let like = || works.iter().filter(|other| other.name == work.name);
    let differs = |name: &str, value: &str| like().any(|other| other.settings.get(name).is_none_or(|own| own != value));
    let settings = work.settings.iter().filter(|(name, value)| differs(name, value));
    let mut parts: Vec<String> = facts.variant.iter().cloned().collect();
    parts.extend(settings.map(|(name, value)| format!("{name}={value}")));
    if parts.is_empty() { work.scale.clone() } else { parts.join(" ") }
}

fn of_contender(table: &Table, ways: &[(String, Ways)], contender: usize) -> Option<VariantsView> {
    let turned = turned(table, ways, contender);
    if turned.contenders.len() < 2 {
        return None;
    }
    let judged = judge::judge(&turned).ok()?;
    let answer = judge::answer(&turned).ok()?;
    let name = table.contenders[contender].name.clone();
    let choice = answer.groups.first().and_then(|group| group.take.as_ref());
    let take = choice.map(|choice| {
        let label = &turned.contenders[choice.shortfall.contender].name;
        let others: Vec<&str> = choice.rivals.iter().map(|&rival| turned.contenders[rival].name.as_str()).collect();
        let rest = if others.is_empty() { String::new() } else { format!("; {} may do as well", others.join(", ")) };
        let bound = match choice.shortfall.at_most {
            close if close < 1.0 + turned.margin() => "as good as the best in everything".to_owned(),
            far => format!("never more than {}x behind the best", crate::number::times(far)),
        };
        format!("On {name} take {label}: {bound}{rest}.")
    });
    let sentences = judged.sentences.into_iter().map(|sentence| sentence.text).collect();
    Some(VariantsView { contender, name, take, sentences })
}

/// The table with one contender's variants as contenders.
fn turned(table: &Table, ways: &[(String, Ways)], contender: usize) -> Table {
    let mut turned = Table { margin: table.margin, ..Table::default() };
    for (name, ways) in ways {
        let measured = |row: usize| table.cell(row, contender).filter(|cell| !cell.samples.is_empty());
        let known: Vec<(&String, &Cell)> =
            ways.iter().filter_map(|(label, row)| Some((label, measured(*row)?))).collect();
        let [(_, first), ..] = known.as_slice() else { continue };
        if known.len() < 2 {
            continue;
        }
        let operation = turned.operations.len();
        let like = &table.operations[first.operation];
        turned.operations.push(Operation { secondary: false, phrase: name.clone(), ..like.clone() });
        for (label, cell) in known {
            let index = turned.contender(label).unwrap_or_else(|| {
                turned.contenders.push(Contender { name: label.clone(), ..Contender::default() });
                turned.contenders.len() - 1
            });
            turned.cells.push(Cell { operation, contender: index, ..cell.clone() });
        }
    }
    turned
}
