//! One published run, judged again: what the gallery shows of it.
//! In: its records and its statement. Out: [`Judged`], or how its ledger contradicts the statement.

use super::disk;
use super::stated::{Ranked, Stated, Verdict};
use crate::claims::{self, Ground};
use judge::{Backend, Certainty, ClaimOutcome, Pair, Relation, Table};
use ledger::import::Imported;
use literature::Published;
use records::Machine;
use report::Material;
use std::collections::{BTreeMap, BTreeSet};

/// Most lines of one run in a gallery.
const MOST_LINES: usize = 400;
/// Letters of a heading at most.
const TITLE: usize = 200;

/// Work that is the same on every machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WorkKey {
    /// Name of the workload.
    pub name: String,
    /// Scale.
    pub scale: String,
    /// Every option with its value.
    pub settings: BTreeMap<String, String>,
    /// Heading.
    pub title: String,
}

/// A line of a ranking that is the same on every machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LineKey {
    /// Index into [`Judged::works`].
    pub work: usize,
    /// Operation.
    pub operation: String,
    /// Cache state.
    pub cache: String,
    /// Where the kernels ran.
    pub backend: Backend,
    /// Age of the filesystems; empty: fresh.
    pub age: String,
}

/// A line with its contenders.
#[derive(Debug, Clone)]
pub struct RankedLine {
    /// Which.
    pub key: LineKey,
    /// In words.
    pub title: String,
    /// Whether it is the sum of others.
    pub sum: bool,
    /// The contenders, best first: name, how many times worse than the best, and relation to it.
    pub contenders: Vec<(String, f64, Option<Relation>)>,
}

/// Two contenders of a line, for pooling.
#[derive(Debug, Clone)]
pub struct PairOf {
    /// Index into [`Judged::lines`].
    pub line: usize,
    /// Names of the contenders.
    pub contenders: [String; 2],
    /// The logarithm of the ratio: how much worse the second is.
    pub pair: Pair,
}

/// A published run.
#[derive(Debug, Clone)]
pub struct Judged {
    /// Its id.
    pub id: String,
    /// The day on which it started.
    pub day: String,
    /// Class of its disk.
    pub disk: String,
    /// The disk in words.
    pub model: String,
    /// The machine in words.
    pub machine: String,
    /// Identifies the machine as far as published data can.
    pub machine_key: String,
    /// Series of its kernels.
    pub kernels: BTreeSet<String>,
    /// Filesystems that competed.
    pub filesystems: BTreeSet<String>,
    /// Work.
    pub works: Vec<WorkKey>,
    /// Its rankings.
    pub lines: Vec<RankedLine>,
    /// Its contenders, two and two.
    pub pairs: Vec<PairOf>,
    /// Outcomes of the published claims that it could test: index of the claim, and the outcome.
    pub claims: Vec<(usize, ClaimOutcome)>,
    /// The recommended contender.
    pub take: Option<String>,
    /// How certain that is.
    pub certainty: Option<Certainty>,
    /// Blocks.
    pub blocks: u32,
    /// Its ledger, compressed.
    pub ledger: Vec<u8>,
}

impl Judged {
    /// Judges a run.
    ///
    /// # Errors
    /// Its ledger cannot be judged, or gives another verdict than stated under the same rules: as a clause.
    pub fn of(imported: Imported, stated: &Stated, ledger: Vec<u8>, published: &[Published]) -> Result<Self, String> {
        let Imported { run, contenders, trials } = imported;
        let material = Material::new(run, contenders, trials);
        let table = samples::table(&material.run, &material.contenders, &material.trials);
        let verdict =
            Verdict::of(&table).map_err(|failure| format!("its ledger cannot be judged: {}", failure.text))?;
        // Other rules may give another verdict; the one shown is ours.
        if let Some(difference) = stated.verdict.difference(&verdict).filter(|_| stated.judge == judge::RULES) {
            return Err(format!("{difference} (according to its file, bakeoff {} judged it)", stated.bakeoff));
        }
        let (disk, model) = disk::disk(&material);
        let called = called(&material);
        let works = works(&material);
        let (lines, operations) = lines(&table, &verdict, &called, &material, &works);
        Ok(Self {
            id: material.run.id.clone(),
            day: jiff::Timestamp::from_millisecond(material.run.began_ms)
                .unwrap_or_default()
                .strftime("%Y-%m-%d")
                .to_string(),
            machine: material.run.new.machine.as_ref().map_or_else(|| "several machines".into(), machine),
            machine_key: machine_key(&material),
            kernels: kernels(&material),
            filesystems: filesystems(&material),
            pairs: pairs(&table, &lines, &operations, &called)?,
            claims: tested(&material, &table, published),
            take: verdict.take.map(|name| called.get(&name).cloned().unwrap_or(name)),
            certainty: verdict.certainty,
            blocks: material.trials.iter().map(|trial| trial.block + 1).max().unwrap_or(0),
            disk,
            model,
            works,
            lines,
            ledger,
        })
    }
}

/// Names of contenders by label: without the disk, if the names are still unique.
fn called(material: &Material) -> BTreeMap<String, String> {
    let asked = material.contenders.iter().filter(|contender| contender.twin_of.is_none());
    let named: Vec<(String, String)> = asked
        .filter_map(|contender| Some((contender.label.clone(), claims::called(contender.asked.as_ref()?))))
        .collect();
    let often = |called: &str| named.iter().filter(|(_, other)| other == called).count() > 1;
    named
        .iter()
        .map(|(label, called)| (label.clone(), if often(called) { label.clone() } else { called.clone() }))
        .collect()
}

fn works(material: &Material) -> Vec<WorkKey> {
    let work = |work: &records::WorkRecord| WorkKey {
        name: work.name.clone(),
        scale: work.scale.clone(),
        settings: work.settings.clone(),
        title: if work.title.is_empty() { work.name.clone() } else { work.title.chars().take(TITLE).collect() },
    };
    material.run.new.works.iter().map(work).collect()
}

/// The lines of a verdict, and the table's operation of each.
fn lines(
    table: &Table,
    verdict: &Verdict,
    called: &BTreeMap<String, String>,
    material: &Material,
    works: &[WorkKey],
) -> (Vec<RankedLine>, Vec<usize>) {
    let records = &material.run.new.works;
    let names: Vec<String> = records.iter().map(|work| samples::work_name(records, work)).collect();
    let (mut lines, mut operations) = (Vec::new(), Vec::new());
    for ranked in verdict.rankings.iter().take(MOST_LINES) {
        let id = |id: &judge::OperationId| {
            id.workload == ranked.workload
                && id.operation == ranked.operation
                && id.cache == ranked.cache
                && id.figure.is_empty()
        };
        let place = table.operations.iter().position(|operation| id(&operation.id));
        let work = names.iter().position(|name| *name == ranked.workload).filter(|at| *at < works.len());
        let (Some(place), Some(work)) = (place, work) else { continue };
        lines.push(line(table, ranked, called, (place, work)));
        operations.push(place);
    }
    (lines, operations)
}

fn line(
    table: &Table,
    ranked: &Ranked,
    called: &BTreeMap<String, String>,
    (place, work): (usize, usize),
) -> RankedLine {
    let operation = &table.operations[place];
    let alike = table.operations.iter().filter(|other| other.phrase == operation.phrase && !other.secondary).count();
    let cache = if alike > 1 { ranked.cache.as_str() } else { "" };
    let parts = [operation.doing(), cache, ranked.backend.guest(), ranked.age.as_str()];
    let name = |name: &String| called.get(name).unwrap_or(name).clone();
    RankedLine {
        key: LineKey {
            work,
            operation: ranked.operation.clone(),
            cache: ranked.cache.clone(),
            backend: ranked.backend,
            age: ranked.age.clone(),
        },
        title: parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "),
        sum: operation.summary,
        contenders: ranked.contenders.iter().map(|one| (name(&one.contender), one.times, one.relation)).collect(),
    }
}

fn pairs(
    table: &Table,
    lines: &[RankedLine],
    operations: &[usize],
    called: &BTreeMap<String, String>,
) -> Result<Vec<PairOf>, String> {
    let name = |contender: usize| {
        let name = &table.contenders[contender].name;
        called.get(name).unwrap_or(name).clone()
    };
    let all = judge::pairs(table).map_err(|error| error.to_string())?;
    let of = |pair: Pair| {
        let contender = &table.contenders[pair.contenders[0]];
        let fits = |line: &RankedLine| line.key.backend == contender.backend && line.key.age == contender.age.name;
        let line = (0..lines.len()).find(|&at| operations[at] == pair.operation && fits(&lines[at]))?;
        Some(PairOf { line, contenders: pair.contenders.map(name), pair })
    };
    Ok(all.into_iter().filter_map(of).collect())
}

fn tested(material: &Material, table: &Table, published: &[Published]) -> Vec<(usize, ClaimOutcome)> {
    let absent = |name: &str| format!("{name} is not in this run");
    let ground = Ground { ages: claims::ages(material), called: claims::other_names(material), absent: &absent };
    let verdicts = claims::held(published, table, &ground).into_iter().map(|verdict| verdict.outcome).enumerate();
    verdicts.filter(|(_, outcome)| !matches!(outcome, ClaimOutcome::NotTestable(_))).collect()
}

/// `6.12` of `6.12.9-amd64`.
fn series(release: &str) -> String {
    let digits = |part: &str| part.chars().take_while(char::is_ascii_digit).collect::<String>();
    let mut parts = release.split('.').map(digits);
    match (parts.next(), parts.next()) {
        (Some(major), Some(minor)) if !major.is_empty() && !minor.is_empty() => format!("{major}.{minor}"),
        _ => "unknown".into(),
    }
}

fn kernels(material: &Material) -> BTreeSet<String> {
    let host = material.run.new.machine.as_ref().map(|machine| machine.kernel.as_str());
    let of = |trial: &records::TrialRecord| {
        let guest = trial.found.as_ref().and_then(|found| found.kernel.as_deref());
        series(guest.or(host).unwrap_or_default())
    };
    material.trials.iter().map(of).collect()
}

fn filesystems(material: &Material) -> BTreeSet<String> {
    let name = |contender: &records::ContenderRecord| {
        let asked = contender.asked.as_ref().filter(|_| contender.twin_of.is_none())?;
        // For a directory the kernel reports the filesystem.
        let found = || {
            material
                .trials
                .iter()
                .filter(|trial| trial.contender == contender.index)
                .find_map(|trial| trial.found.as_ref())
        };
        match asked.filesystem.as_str() {
            records::DIRECTORY => found().map(|found| found.filesystem.clone()),
            records::DEVICE => None,
            name => Some(name.to_owned()),
        }
    };
    material.contenders.iter().filter_map(name).filter(|name| !name.is_empty()).collect()
}

fn machine(machine: &Machine) -> String {
    let guest = machine.guest().map_or_else(String::new, |kind| format!(", virtual machine ({kind})"));
    machine.about() + &guest
}

/// Runs with the same processor and memory count as runs of one machine, whatever their disks: equal machines behave alike, and counting
/// them twice would overstate certainty.
fn machine_key(material: &Material) -> String {
    let machine = material.run.new.machine.as_ref().map(|machine| {
        let (cpu, memory) = (&machine.cpu, machine.memory_gib());
        format!("{} {} {memory} {}", cpu.model, cpu.threads, machine.virtualisation.kind)
    });
    machine.unwrap_or_else(|| material.run.id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_known_by_its_series() {
        let found = ["6.12.9-amd64", "6.18", "5.15.0-107-generic", "", "x.y"].map(series);
        assert_eq!(found, ["6.12", "6.18", "5.15", "unknown", "unknown"]);
    }
}
