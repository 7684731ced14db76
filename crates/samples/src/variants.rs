//! Variants of the work as contenders: one large directory or hashed ones, one process or four, each within one contender.
//! In: a run's workloads and the judge's table of it. Out: a table for the same judge, for each contender that did an operation in several variants.
//! Used by the stopping rule and by the report: a run of one contender ends once it is known which variant to take.

use crate::cells::work_name;
use judge::{Cell, Contender, Durability, Facts, Needed, Operation, OperationId, Table};
use records::facts::PhaseFacts;
use records::{RunRecord, WorkRecord};
use std::collections::BTreeMap;

/// The variants of one contender for the same operations.
#[derive(Debug, Clone)]
pub struct Variants {
    /// The contender: an index into the table of the run.
    pub contender: usize,
    /// Its variants as contenders, and the operations that were done in several of them.
    pub table: Table,
    /// Whether the variants are levels of one number, lowest first: the fill level, the number of threads.
    pub ordered: bool,
    /// Workloads and the variant that each gives samples of, an index into [`Variants::table`].
    workloads: Vec<(usize, String)>,
}

impl Variants {
    /// Trials that the run needs, if the judge asks for more of these variants.
    pub fn needed(&self, next: &[Needed]) -> Vec<Needed> {
        let asked = |way: usize| next.iter().any(|needed| needed.contender == way);
        let workloads = self.workloads.iter().filter(|(way, _)| asked(*way));
        workloads.map(|(_, workload)| Needed { contender: self.contender, workload: workload.clone() }).collect()
    }

    /// The variant with this label, which is added if missing.
    fn way(&mut self, label: &str, weaker: bool) -> usize {
        let label = if weaker { format!("{label} !") } else { label.to_owned() };
        self.table.contender(&label).unwrap_or_else(|| {
            let durability = Durability { ordered: weaker.then_some(false), ..Durability::default() };
            self.table.contenders.push(Contender { name: label, durability, ..Contender::default() });
            self.table.contenders.len() - 1
        })
    }
}

/// One variant of an operation.
struct Way {
    label: String,
    /// Name of the workload in the judge's table, and the row in it.
    workload: String,
    row: usize,
    /// Whether a crash may destroy data that is written in place.
    weaker: bool,
}

/// The variants of one operation.
type Ways = Vec<Way>;

/// The variants of all contenders; empty if only contenders were varied.
pub fn variants(run: &RunRecord, table: &Table) -> Vec<Variants> {
    let several = |(_, ways): &((String, String, String), Ways)| ways.len() > 1;
    let named = |((work, operation, cache), mut ways): ((String, String, String), Ways)| {
        // If one variant has no level, they have no order.
        if ways.iter().all(|way| level(&way.label).is_some()) {
            let at = |way: &Way| level(&way.label).unwrap_or_default();
            ways.sort_by(|one, other| at(one).total_cmp(&at(other)));
        }
        (OperationId::new(&work, &operation, &cache), ways)
    };
    let ways: Vec<(OperationId, Ways)> = ways(run, table).into_iter().filter(several).map(named).collect();
    let contenders = (0..table.contenders.len()).filter(|&at| table.contenders[at].twin_of.is_none());
    contenders.map(|contender| turned(table, &ways, contender)).filter(|one| one.table.contenders.len() > 1).collect()
}

/// The variants of the only contender of a run, if it has no more.
pub fn only_variants(run: &RunRecord, table: &Table) -> Option<Variants> {
    let mut own = table.contenders.iter().filter(|contender| contender.twin_of.is_none());
    match (own.next(), own.next()) {
        (Some(_), None) => variants(run, table).into_iter().next(),
        _ => None,
    }
}

fn ways(run: &RunRecord, table: &Table) -> BTreeMap<(String, String, String), Ways> {
    let works = &run.new.works;
    let mut ways: BTreeMap<(String, String, String), Ways> = BTreeMap::new();
    for work in works {
        let workload = work_name(works, work);
        for facts in work.phases.iter().filter(|facts| !facts.preparation && facts.own.is_none()) {
            let id = OperationId::new(&workload, &facts.named(), &facts.cache_label);
            let Some(row) = table.operations.iter().position(|operation| operation.id == id) else { continue };
            let key = (work.name.clone(), facts.operation.clone(), facts.cache_label.clone());
            let label = label(works, work, facts);
            let known = ways.entry(key).or_default();
            if !known.iter().any(|way| way.label == label) {
                let weaker = !work.weaker_in_place.is_empty();
                known.push(Way { label, workload: workload.clone(), row, weaker });
            }
        }
    }
    ways
}

/// What distinguishes a variant: the phase's variant, and the settings in which workloads of the same name differ.
fn label(works: &[WorkRecord], work: &WorkRecord, facts: &PhaseFacts) -> String {
    let like = || works.iter().filter(|other| other.name == work.name);
    let differs = |name: &str, value: &str| like().any(|other| other.settings.get(name).is_none_or(|own| own != value));
    let settings = work.settings.iter().filter(|(name, value)| differs(name, value));
    let mut parts: Vec<String> = facts.variant.iter().cloned().collect();
    parts.extend(settings.map(|(name, value)| format!("{name}={value}")));
    if parts.is_empty() { work.scale.clone() } else { parts.join(" ") }
}

/// The table with one contender's variants as contenders.
fn turned(table: &Table, ways: &[(OperationId, Ways)], contender: usize) -> Variants {
    let turned = Table { margin: table.margin, sessions: table.sessions.clone(), ..Table::default() };
    let mut variants = Variants { contender, table: turned, ordered: false, workloads: Vec::new() };
    for (id, ways) in ways {
        let measured = |row: usize| table.cell(row, contender).filter(|cell| !cell.samples.is_empty());
        let known: Vec<(&Way, &Cell)> = ways.iter().filter_map(|way| Some((way, measured(way.row)?))).collect();
        let [(_, first), ..] = known.as_slice() else { continue };
        if known.len() < 2 {
            continue;
        }
        let operation = variants.table.operations.len();
        let like = &table.operations[first.operation];
        let phrase = format!("{} {} ({})", id.workload, id.operation, id.cache);
        variants.table.operations.push(Operation { id: id.clone(), secondary: false, phrase, ..like.clone() });
        for (way, cell) in &known {
            let weaker = way.weaker && table.contenders[contender].durability.copy_on_write != Some(true);
            let index = variants.way(&way.label, weaker);
            let place = (index, way.workload.clone());
            if !variants.workloads.contains(&place) {
                variants.workloads.push(place);
            }
            // Variants of one trial share its time.
            let together = known.iter().filter(|(other, _)| other.workload == way.workload).count();
            let trial_seconds = cell.facts.trial_seconds.map(|seconds| seconds / together as f64);
            // Variants of different sizes do different amounts of work.
            let facts = Facts { trial_seconds, work: Vec::new(), ..cell.facts.clone() };
            variants.table.cells.push(Cell { operation, contender: index, facts, ..(*cell).clone() });
        }
    }
    let levels: Option<Vec<f64>> = variants.table.contenders.iter().map(|way| level(&way.name)).collect();
    variants.ordered = levels.is_some_and(|levels| levels.is_sorted());
    variants
}

/// Position of a variant on a numeric scale: `95 %`, `threads=4`, `block=64 KiB`. Several settings at once have none.
fn level(label: &str) -> Option<f64> {
    let label = label.trim_end_matches(" !");
    let value = label.split_once('=').map_or(label, |(_, value)| value);
    let digits = value.find(|sign: char| !sign.is_ascii_digit() && sign != '.').unwrap_or(value.len());
    let (number, unit) = value.split_at(digits);
    let factor = match unit.trim() {
        "" | "%" | "B" => 1.0,
        "K" | "KiB" => 1024.0,
        "M" | "MiB" => 1024.0 * 1024.0,
        "G" | "GiB" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_numbers_with_or_without_a_name_and_a_unit() {
        let of = |label| level(label);
        assert_eq!(
            [of("95 %"), of("threads=4"), of("4"), of("threads=2 !")],
            [Some(95.0), Some(4.0), Some(4.0), Some(2.0)]
        );
        assert_eq!([of("block=64 KiB"), of("block=1M")], [Some(65_536.0), Some(1_048_576.0)]);
        assert_eq!([of("one thread"), of("wal"), of("threads=4 size=2"), of("")], [None; 4]);
    }
}
