//! The gallery's data: judged runs, with every name stored once and numbered.
//! In: judged runs, refused ones, published claims. Out: a [`Gallery`], and the ledgers by id.

use super::disk;
use super::gather::Refused;
use super::judged::{Judged, LineKey, WorkKey};
use super::literature;
use super::pool::{self, Word};
use crate::failure::Failure;
use ::literature::Published;
use indexmap::IndexSet;
use judge::{Certainty, ClaimOutcome, Relation, Study};
use report::gallery::{Entry, Gallery, Line, Work};
use std::collections::BTreeMap;
use std::hash::Hash;

/// Highest ratio to the best that the page shows, in hundredths.
const FURTHEST: f64 = 1e8;

/// All numbered names, in order of first occurrence.
#[derive(Default)]
struct Names {
    disks: IndexSet<String>,
    kernels: IndexSet<String>,
    filesystems: IndexSet<String>,
    contenders: IndexSet<String>,
    machines: IndexSet<String>,
    works: IndexSet<WorkKey>,
    lines: IndexSet<LineKey>,
}

/// Merges judged runs.
///
/// # Errors
/// Never in practice: the published data is compiled in.
pub fn whole(judged: &[Judged], refused: &[Refused], published: &[Published]) -> Result<Gallery, Failure> {
    let mut names = Names::sorted(judged);
    let sources = literature::sources()?;
    let mut claims = literature::claims(published, &sources);
    let (mut entries, mut words, mut titles) = (Vec::new(), Vec::new(), BTreeMap::new());
    for (at, one) in judged.iter().enumerate() {
        let (entry, own) = names.entry(one, &mut titles);
        entries.push(entry);
        words.extend(own);
        for (claim, outcome) in &one.claims {
            let number = match outcome {
                ClaimOutcome::Holds => 0,
                ClaimOutcome::Reversed => 1,
                ClaimOutcome::NoDifferenceShown => 2,
                ClaimOutcome::NotTestable(_) => continue,
            };
            claims[*claim].tested.push((at, number));
        }
    }
    let (pools, is_whole) = pool::pools(&words);
    let line = |(number, key): (usize, LineKey)| {
        let (title, sum) = titles.get(&number).cloned().unwrap_or_default();
        Line { work: key.work, title, sum }
    };
    Ok(Gallery {
        made_by: env!("CARGO_PKG_VERSION").into(),
        disks: names.disks.into_iter().collect(),
        kernels: names.kernels.into_iter().collect(),
        filesystems: names.filesystems.into_iter().collect(),
        contenders: names.contenders.into_iter().collect(),
        works: works(&names.works.into_iter().collect::<Vec<_>>()),
        lines: names.lines.into_iter().enumerate().map(line).collect(),
        entries,
        pools,
        claims,
        sources: sources.into_iter().map(|(_, source)| source).collect(),
        refused: refused.iter().map(|refused| (refused.name(), refused.why.clone())).collect(),
        cut: !is_whole,
    })
}

/// The number of a name; a new name is added.
fn number<K: Eq + Hash + Clone>(names: &mut IndexSet<K>, name: &K) -> usize {
    names.get_index_of(name).unwrap_or_else(|| names.insert_full(name.clone()).0)
}

impl Names {
    /// Names for the page's filters, in a natural order.
    fn sorted(judged: &[Judged]) -> Self {
        let mut names = Names::default();
        let sorted = |mut all: Vec<String>| {
            all.sort();
            all.dedup();
            all
        };
        let disks = sorted(judged.iter().map(|one| one.disk.clone()).collect());
        let mut kernels = sorted(judged.iter().flat_map(|one| one.kernels.iter().cloned()).collect());
        let number = |series: &str| series.split('.').map(|part| part.parse::<u32>().unwrap_or(0)).collect::<Vec<_>>();
        kernels.sort_by_key(|series| std::cmp::Reverse(number(series)));
        let filesystems = sorted(judged.iter().flat_map(|one| one.filesystems.iter().cloned()).collect());
        let contenders =
            judged.iter().flat_map(|one| &one.lines).flat_map(|line| line.contenders.iter().map(|one| one.0.clone()));
        names.contenders.extend(sorted(contenders.collect()));
        names.disks.extend(disks);
        names.kernels.extend(kernels);
        names.filesystems.extend(filesystems);
        names
    }

    /// An entry, and its results for pooling.
    fn entry(&mut self, one: &Judged, titles: &mut BTreeMap<usize, (String, bool)>) -> (Entry, Vec<Word>) {
        let works: Vec<usize> = one.works.iter().map(|work| number(&mut self.works, work)).collect();
        let disk = number(&mut self.disks, &one.disk);
        let machine = number(&mut self.machines, &one.machine_key);
        let kernels: Vec<usize> = one.kernels.iter().map(|series| number(&mut self.kernels, series)).collect();
        let (mut lines, mut ranks) = (Vec::new(), Vec::new());
        for line in &one.lines {
            let number = number(&mut self.lines, &LineKey { work: works[line.key.work], ..line.key.clone() });
            titles.entry(number).or_insert_with(|| (line.title.clone(), line.sum));
            lines.push(number);
            ranks.push(self.rank(number, &line.contenders));
        }
        let apart = disk::is_apart(&one.disk);
        let words = one.pairs.iter().map(|found| {
            let numbers = [0, 1].map(|at| number(&mut self.contenders, &found.contenders[at]));
            let (contenders, sign) =
                if numbers[0] <= numbers[1] { (numbers, 1.0) } else { ([numbers[1], numbers[0]], -1.0) };
            let study = Study { machine, log: sign * found.pair.log, error: found.pair.error, df: found.pair.df };
            Word { disk, apart, kernels: kernels.clone(), line: lines[found.line], contenders, study }
        });
        let words: Vec<Word> = words.filter(|word| word.contenders[0] != word.contenders[1]).collect();
        let entry = Entry {
            id: one.id.clone(),
            day: one.day.clone(),
            disk,
            model: one.model.clone(),
            machine: one.machine.clone(),
            number: machine,
            filesystems: one.filesystems.iter().map(|name| number(&mut self.filesystems, name)).collect(),
            kernels,
            works,
            answer: one.take.as_ref().map_or_else(|| "can't tell yet".into(), |name| format!("take {name}")),
            certainty: certainty(one.certainty).into(),
            blocks: one.blocks,
            ranks,
        };
        (entry, words)
    }

    fn rank(&mut self, line: usize, contenders: &[(String, f64, Option<Relation>)]) -> Vec<u32> {
        let mut rank = vec![line as u32];
        for (name, times, relation) in contenders {
            let hundredths = (times * 100.0).round().clamp(0.0, FURTHEST);
            rank.extend([number(&mut self.contenders, name) as u32, hundredths as u32, relation_number(*relation)]);
        }
        rank
    }
}

/// The number of a relation in the page's list.
fn relation_number(relation: Option<Relation>) -> u32 {
    match relation {
        None => 0,
        Some(Relation::Worse) => 1,
        Some(Relation::LikelyWorse) => 2,
        Some(Relation::Tie) => 3,
        Some(Relation::Unresolved) => 4,
        Some(Relation::TooFew) => 5,
    }
}

fn certainty(certainty: Option<Certainty>) -> &'static str {
    match certainty {
        None => "",
        Some(Certainty::Open) => "another may be as good",
        Some(Certainty::Likely) => "likely",
        Some(Certainty::BeyondDoubt) => "beyond doubt",
    }
}

/// Works, each with the settings that differ from others of the same name and scale.
fn works(keys: &[WorkKey]) -> Vec<Work> {
    let one = |key: &WorkKey| {
        let alike: Vec<&WorkKey> =
            keys.iter().filter(|other| other.name == key.name && other.scale == key.scale).collect();
        let differs = |name: &&String| alike.iter().any(|other| other.settings.get(*name) != key.settings.get(*name));
        let settings = key.settings.keys().filter(differs).map(|name| format!("{name} {}", key.settings[name]));
        Work {
            name: key.name.clone(),
            scale: key.scale.clone(),
            title: key.title.clone(),
            settings: settings.collect::<Vec<_>>().join(", "),
        }
    };
    keys.iter().map(one).collect()
}
