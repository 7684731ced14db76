//! Variants of the work, compared within each contender by the same judge: one large directory against hashed ones, one process against four.
//! In: a run's works and the judge's table of it. Out: a [`VariantsView`] for each contender that did an operation in several ways.

use judge::{Cell, Contender, Durability, GroupAnswer, Operation, Table};
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

/// One of the ways in which an operation was done.
struct Way {
    label: String,
    /// Row of the judge's table.
    row: usize,
    /// Whether a crash may destroy data where it is written in place.
    weaker: bool,
}

/// The ways in which one operation was done.
type Ways = Vec<Way>;

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
            if !known.iter().any(|way| way.label == label) {
                known.push(Way { label, row, weaker: !work.weaker_in_place.is_empty() });
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
    let take = answer.groups.first().and_then(|group| {
        let choice = group.take.as_ref()?;
        let label = |at: usize| turned.contenders[at].name.as_str();
        let others: Vec<&str> = choice.rivals.iter().map(|&rival| label(rival)).collect();
        let rest = if others.is_empty() { String::new() } else { format!("; {} may do as well", others.join(", ")) };
        let bound = super::answer::bound(&turned, group, choice);
        let taken = label(choice.shortfall.contender);
        let doing = only(&turned).map_or_else(String::new, |operation| format!(" in \"{operation}\""));
        Some(format!("On {name} take {taken}: {bound}{doing}{rest}{}.", less_safe(&turned, group)))
    });
    let sentences = judged.sentences.into_iter().map(|sentence| sentence.text).collect();
    Some(VariantsView { contender, name, take, sentences })
}

/// What was done in several ways, where that is one operation.
fn only(turned: &Table) -> Option<&str> {
    match turned.operations.as_slice() {
        [operation] => Some(&operation.phrase),
        _ => None,
    }
}

/// What is said of variants after which a crash may destroy data: how much faster they are, where that is shown.
fn less_safe(turned: &Table, group: &GroupAnswer) -> String {
    let said = group.less_safe.iter().map(|one| {
        let name = &turned.contenders[one.contender].name;
        match one.operation {
            Some(operation) => {
                let (times, doing) = (crate::number::times(one.ratio), &turned.operations[operation].id.operation);
                format!("; {name} is up to {times}x faster in \"{doing}\", but a crash may destroy data")
            }
            None => format!("; with {name} a crash may destroy data"),
        }
    });
    said.collect()
}

/// The table with one contender's variants as contenders.
fn turned(table: &Table, ways: &[(String, Ways)], contender: usize) -> Table {
    let mut turned = Table { margin: table.margin, ..Table::default() };
    for (name, ways) in ways {
        let measured = |row: usize| table.cell(row, contender).filter(|cell| !cell.samples.is_empty());
        let known: Vec<(&Way, &Cell)> = ways.iter().filter_map(|way| Some((way, measured(way.row)?))).collect();
        let [(_, first), ..] = known.as_slice() else { continue };
        if known.len() < 2 {
            continue;
        }
        let operation = turned.operations.len();
        let like = &table.operations[first.operation];
        turned.operations.push(Operation { secondary: false, phrase: name.clone(), ..like.clone() });
        for (way, cell) in known {
            let weaker = way.weaker && table.contenders[contender].durability.copy_on_write != Some(true);
            let label = if weaker { format!("{} !", way.label) } else { way.label.clone() };
            let index = turned.contender(&label).unwrap_or_else(|| {
                let durability = Durability { ordered: weaker.then_some(false), ..Durability::default() };
                turned.contenders.push(Contender { name: label, durability, ..Contender::default() });
                turned.contenders.len() - 1
            });
            turned.cells.push(Cell { operation, contender: index, ..cell.clone() });
        }
    }
    turned
}
