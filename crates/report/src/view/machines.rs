//! The machines of a run that was merged from shards: whether they are alike, and what holds over all of them.
//! In: the run's material, judged machine by machine. Out: a [`MachinesView`]; none if all blocks are of one machine.
//! Contenders are compared within machines, and the ratios are pooled (`judge::pooled`); figures never are.

use super::{Material, plural};
use judge::{OperationId, Pair, Pooled, Study, Table};
use records::outcome::Ceiling;
use records::{Machine, Merged, Part, TrialRecord};
use serde::Serialize;
use std::collections::BTreeMap;

/// Most machines that are judged individually.
const MOST_MACHINES: usize = 100;
/// Machines whose ceilings differ by more than this share are not alike.
const ALIKE: f64 = 0.10;
/// Noise of one machine by its twin that is so many times another's is reported.
const NOISIER: f64 = 3.0;
/// Noise below which it is not reported: a share.
const QUIET: f64 = 0.02;

/// The machines, and the ratios over them.
#[derive(Debug, Clone, Serialize)]
pub struct MachinesView {
    /// One each, in the order of their first shards.
    pub machines: Vec<MachineView>,
    /// How they differ, in sentences; empty where they do not.
    pub unlike: Vec<String>,
    /// Ratios to the best of each operation, pooled over machines.
    pub pooled: Vec<PooledView>,
}

/// One machine.
#[derive(Debug, Clone, Serialize)]
pub struct MachineView {
    /// Its host name, or a letter if that is not known or not unique.
    pub name: String,
    /// Processor, memory and kernel.
    pub about: String,
    /// Its shards, from 1.
    pub shards: Vec<u32>,
    /// Blocks that it measured.
    pub blocks: usize,
    /// Noise by its twin, a share; null where it has none.
    pub noise_floor: Option<f64>,
    /// Bytes a second that it writes to memory, the upper limit of any figure; null where that was not measured.
    pub ceiling: Option<f64>,
}

/// A ratio over the machines.
#[derive(Debug, Clone, Serialize)]
pub struct PooledView {
    /// Workload.
    pub workload: String,
    /// Operation.
    pub operation: String,
    /// Its cache state.
    pub cache: String,
    /// The operation in words.
    pub title: String,
    /// The contender that is compared.
    pub contender: String,
    /// The best of this operation over all machines.
    pub best: String,
    /// How many times worse it is.
    pub pooled: Pooled,
    /// The same on each machine that compared both: its name, and the ratio.
    pub each: Vec<(String, f64)>,
}

/// A machine with its results.
struct Group<'a> {
    parts: Vec<&'a Part>,
    trials: Vec<TrialRecord>,
}

/// Judged by itself.
struct Judged {
    table: Table,
    pairs: Vec<Pair>,
    noise: Option<f64>,
}

/// See [`MachinesView`].
pub(super) fn machines(material: &Material) -> Option<MachinesView> {
    let merged = material.run.new.merged.as_ref()?;
    let groups = groups(merged, &material.trials);
    if groups.len() < 2 {
        return None;
    }
    let judged: Vec<Option<Judged>> = groups.iter().take(MOST_MACHINES).map(|group| judged(material, group)).collect();
    let names = names(&groups);
    let machines: Vec<MachineView> = groups
        .iter()
        .zip(&names)
        .enumerate()
        .map(|(at, (group, name))| machine(name, group, judged.get(at).and_then(Option::as_ref)))
        .collect();
    let unlike = unlike(&machines, &groups);
    Some(MachinesView { pooled: pooled(&judged, &names), unlike, machines })
}

/// A machine by its host's name, its processor's model and threads, and its memory in GiB.
type Key = (String, String, u32, u64);
/// A property in which two machines may differ.
type Fact = fn(&Machine) -> String;

/// Parts by the machine that they were measured on: equal hosts with the same name are one machine.
fn groups<'a>(merged: &'a Merged, trials: &[TrialRecord]) -> Vec<Group<'a>> {
    let mut groups: Vec<(Option<Key>, Group)> = Vec::new();
    for part in &merged.parts {
        let key = part.machine.as_ref().map(key);
        match groups.iter_mut().find(|(known, _)| *known == key && key.is_some()) {
            Some((_, group)) => group.parts.push(part),
            None => groups.push((key, Group { parts: vec![part], trials: Vec::new() })),
        }
    }
    let mut groups: Vec<Group> = groups.into_iter().map(|(_, group)| group).collect();
    for trial in trials {
        let own = |group: &&mut Group| group.parts.iter().any(|part| trial.block % merged.of == part.index);
        if let Some(group) = groups.iter_mut().find(own) {
            group.trials.push(trial.clone());
        }
    }
    groups
}

fn key(machine: &Machine) -> Key {
    (machine.hostname.clone(), machine.cpu.model.clone(), machine.cpu.threads, machine.memory_gib())
}

fn judged(material: &Material, group: &Group) -> Option<Judged> {
    let table = samples::table(&material.run, &material.contenders, &group.trials);
    // A machine that cannot be judged by itself has no ratios; the run as a whole has the reason.
    let noise = judge::judge(&table).ok()?.noise_floor;
    let pairs = judge::pairs(&table).ok()?;
    Some(Judged { table, pairs, noise })
}

/// Host names if they are unique, else letters.
fn names(groups: &[Group]) -> Vec<String> {
    let host =
        |group: &Group| group.parts[0].machine.as_ref().map(|machine| machine.hostname.clone()).unwrap_or_default();
    let hosts: Vec<String> = groups.iter().map(host).collect();
    let is_unique = |name: &String| !name.is_empty() && hosts.iter().filter(|other| *other == name).count() == 1;
    let own = |(at, name): (usize, &String)| if is_unique(name) { name.clone() } else { letter(at) };
    hosts.iter().enumerate().map(own).collect()
}

fn letter(at: usize) -> String {
    match u8::try_from(at) {
        Ok(at) if at < 26 => format!("machine {}", char::from(b'A' + at)),
        _ => format!("machine {}", at + 1),
    }
}

fn machine(name: &str, group: &Group, judged: Option<&Judged>) -> MachineView {
    let mut blocks: Vec<u32> = group.trials.iter().map(|trial| trial.block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    MachineView {
        name: name.into(),
        about: group.parts[0].machine.as_ref().map(Machine::about).unwrap_or_else(|| "details unknown".into()),
        shards: group.parts.iter().map(|part| part.index + 1).collect(),
        blocks: blocks.len(),
        noise_floor: judged.and_then(|judged| judged.noise),
        ceiling: group
            .parts
            .iter()
            .find_map(|part| part.ceiling.as_ref())
            .map(|ceiling: &Ceiling| ceiling.write_bytes_per_second),
    }
}

/// Differences of machines that should be alike: hardware, ceilings, and noise by the twin.
fn unlike(machines: &[MachineView], groups: &[Group]) -> Vec<String> {
    let mut sentences = Vec::new();
    let facts: [(&str, Fact); 5] = [
        ("processor", |machine| format!("{}, {} threads", machine.cpu.model, machine.cpu.threads)),
        ("memory", |machine| format!("{} GiB", machine.memory_gib())),
        ("kernel", |machine| machine.kernel.clone()),
        ("virtualisation", |machine| machine.virtualisation.kind.clone()),
        ("disk", |machine| machine.device.iter().map(|(_, device)| device.clone()).collect::<Vec<_>>().join("; ")),
    ];
    for (what, fact) in facts {
        let mut known: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (group, machine) in groups.iter().zip(machines) {
            if let Some(found) = &group.parts[0].machine {
                known.entry(fact(found)).or_default().push(&machine.name);
            }
        }
        if known.len() > 1 {
            let each: Vec<String> =
                known.iter().take(4).map(|(fact, names)| format!("{fact} on {}", some(names))).collect();
            sentences.push(format!("They differ in their {what}: {}.", each.join("; ")));
        }
    }
    let by = |pick: fn(&MachineView) -> Option<f64>| {
        let mut known: Vec<(f64, &str)> =
            machines.iter().filter_map(|one| Some((pick(one)?, one.name.as_str()))).collect();
        known.sort_by(|one, other| one.0.total_cmp(&other.0));
        known.first().copied().zip(known.last().copied())
    };
    if let Some(((low, slow), (high, fast))) =
        by(|one| one.ceiling).filter(|((low, _), (high, _))| low * (1.0 + ALIKE) < *high)
    {
        sentences.push(format!(
            "{slow} writes to memory at {:.0} % of the pace of {fast}: their ceilings differ.",
            low / high * 100.0
        ));
    }
    let noisy = by(|one| one.noise_floor).filter(|((low, _), (high, _))| *high > QUIET && *high > NOISIER * low);
    if let Some(((low, quiet), (high, noisy))) = noisy {
        sentences.push(format!(
            "Noise of the control: {:.1} % on {noisy}, {:.1} % on {quiet}.",
            high * 100.0,
            low * 100.0
        ));
    }
    sentences
}

fn some(names: &[&str]) -> String {
    let more = names.len().saturating_sub(3);
    let first = names.iter().take(3).copied().collect::<Vec<_>>().join(", ");
    if more == 0 { first } else { format!("{first} and {more} more") }
}

/// Results of each machine for two contenders.
type Words = BTreeMap<[usize; 2], Vec<(usize, Study)>>;

fn pooled(judged: &[Option<Judged>], names: &[String]) -> Vec<PooledView> {
    let mut found = Vec::new();
    let Some(first) = judged.iter().flatten().next() else { return found };
    for operation in first.table.operations.iter().filter(|operation| operation.id.figure.is_empty()) {
        let words = words(judged, &operation.id);
        let ratios: BTreeMap<[usize; 2], Pooled> = words
            .iter()
            .filter_map(|(pair, words)| {
                Some((*pair, judge::pooled(&words.iter().map(|(_, study)| *study).collect::<Vec<_>>())?))
            })
            .collect();
        let Some(best) = best(&ratios) else { continue };
        for (pair, ratio) in ratios.iter().filter(|(pair, _)| pair.contains(&best)) {
            // A pair holds how much worse its second is.
            let turned = pair[1] == best;
            let other = if turned { pair[0] } else { pair[1] };
            let name = |contender: usize| first.table.contenders[contender].name.clone();
            let each = words[pair].iter().map(|(machine, study)| {
                (names[*machine].clone(), if turned { (-study.log).exp() } else { study.log.exp() })
            });
            found.push(PooledView {
                workload: operation.id.workload.clone(),
                operation: operation.id.operation.clone(),
                cache: operation.id.cache.clone(),
                title: operation.doing().into(),
                contender: name(other),
                best: name(best),
                pooled: if turned { turn(*ratio) } else { *ratio },
                each: each.collect(),
            });
        }
    }
    found
}

/// The results of each machine for an operation.
fn words(judged: &[Option<Judged>], id: &OperationId) -> Words {
    let mut words = Words::new();
    for (machine, one) in judged.iter().enumerate() {
        let Some(one) = one else { continue };
        let Some(at) = one.table.operations.iter().position(|operation| operation.id == *id) else { continue };
        for pair in one.pairs.iter().filter(|pair| pair.operation == at) {
            let study = Study { machine, log: pair.log, error: pair.error, df: pair.df };
            words.entry(pair.contenders).or_default().push((machine, study));
        }
    }
    words
}

/// The contender that is ahead of the others overall; None where no two were compared.
fn best(ratios: &BTreeMap<[usize; 2], Pooled>) -> Option<usize> {
    let mut behind: BTreeMap<usize, f64> = BTreeMap::new();
    for (pair, found) in ratios {
        *behind.entry(pair[0]).or_default() -= found.ratio.ln();
        *behind.entry(pair[1]).or_default() += found.ratio.ln();
    }
    behind.into_iter().min_by(|one, other| one.1.total_cmp(&other.1)).map(|(contender, _)| contender)
}

/// The inverse ratio.
fn turn(found: Pooled) -> Pooled {
    let span = |span: judge::Span| judge::Span { low: 1.0 / span.high, high: 1.0 / span.low };
    Pooled { ratio: 1.0 / found.ratio, interval: span(found.interval), prediction: found.prediction.map(span), ..found }
}

/// A range of ratios in words; ends beyond a hundredfold are only named as beyond it.
pub(crate) fn span_words(span: judge::Span) -> String {
    let low = if span.low < 0.01 { "under 0.01".into() } else { crate::number::ratio(span.low) };
    let high = if span.high > 100.0 { "over 100".into() } else { crate::number::ratio(span.high) };
    format!("{low} to {high}")
}

impl MachinesView {
    /// How many there are and how to read their figures: a sentence.
    pub fn sentence(&self) -> String {
        let alike = if self.unlike.is_empty() { "no difference between them is known" } else { "they differ" };
        format!(
            "The rounds come from {}, and {alike}: contenders are compared within each machine, and ratios are pooled, but figures \
             and their ranges include the differences between the machines.",
            plural(self.machines.len(), "machine")
        )
    }
}
