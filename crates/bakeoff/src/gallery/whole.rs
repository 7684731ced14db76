//! The gallery's data: what was judged, with every name said once and numbered.
//! In: judged runs, refused ones, published claims. Out: a [`Gallery`], and the ledgers by id.

use super::disk;
use super::gather::Refused;
use super::judged::{Judged, LineKey, WorkKey};
use super::literature;
use super::pool::{self, Word};
use crate::failure::Failure;
use ::literature::Published;
use judge::{Certainty, ClaimOutcome, Relation, Study};
use report::gallery::{Entry, Gallery, Line, Work};
use std::collections::BTreeMap;

/// Times worse than the best, in hundredths, that the page shows at most.
const FURTHEST: f64 = 1e8;

/// Names, each with its number, in the order in which they were first said.
struct Numbered<K> {
    numbers: BTreeMap<K, usize>,
}

impl<K: Ord + Clone> Numbered<K> {
    fn new() -> Self {
        Self { numbers: BTreeMap::new() }
    }

    fn of(&mut self, key: &K) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(key.clone()).or_insert(next)
    }

    fn say(&mut self, keys: &[K]) {
        for key in keys {
            self.of(key);
        }
    }

    fn all(self) -> Vec<K> {
        let mut all: Vec<(K, usize)> = self.numbers.into_iter().collect();
        all.sort_by_key(|(_, number)| *number);
        all.into_iter().map(|(key, _)| key).collect()
    }
}

/// Everything that is numbered.
struct Names {
    disks: Numbered<String>,
    kernels: Numbered<String>,
    filesystems: Numbered<String>,
    contenders: Numbered<String>,
    machines: Numbered<String>,
    works: Numbered<WorkKey>,
    lines: Numbered<LineKey>,
}

/// Puts judged runs together.
///
/// # Errors
/// Never in practice: what others published is compiled in.
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
        disks: names.disks.all(),
        kernels: names.kernels.all(),
        filesystems: names.filesystems.all(),
        contenders: names.contenders.all(),
        works: works(&names.works.all()),
        lines: names.lines.all().into_iter().enumerate().map(line).collect(),
        entries,
        pools,
        claims,
        sources: sources.into_iter().map(|(_, source)| source).collect(),
        refused: refused.iter().map(|refused| (refused.name(), refused.why.clone())).collect(),
        cut: !is_whole,
    })
}

impl Names {
    /// What readers filter by, in an order that they expect.
    fn sorted(judged: &[Judged]) -> Self {
        let mut names = Names {
            disks: Numbered::new(),
            kernels: Numbered::new(),
            filesystems: Numbered::new(),
            contenders: Numbered::new(),
            machines: Numbered::new(),
            works: Numbered::new(),
            lines: Numbered::new(),
        };
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
        names.contenders.say(&sorted(contenders.collect()));
        names.disks.say(&disks);
        names.kernels.say(&kernels);
        names.filesystems.say(&filesystems);
        names
    }

    /// An entry, and its words on ratios.
    fn entry(&mut self, one: &Judged, titles: &mut BTreeMap<usize, (String, bool)>) -> (Entry, Vec<Word>) {
        let works: Vec<usize> = one.works.iter().map(|work| self.works.of(work)).collect();
        let disk = self.disks.of(&one.disk);
        let machine = self.machines.of(&one.machine_key);
        let kernels: Vec<usize> = one.kernels.iter().map(|series| self.kernels.of(series)).collect();
        let (mut lines, mut ranks) = (Vec::new(), Vec::new());
        for line in &one.lines {
            let number = self.lines.of(&LineKey { work: works[line.key.work], ..line.key.clone() });
            titles.entry(number).or_insert_with(|| (line.title.clone(), line.sum));
            lines.push(number);
            ranks.push(self.rank(number, &line.contenders));
        }
        let apart = disk::is_apart(&one.disk);
        let words = one.pairs.iter().map(|found| {
            let numbers = [0, 1].map(|at| self.contenders.of(&found.contenders[at]));
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
            filesystems: one.filesystems.iter().map(|name| self.filesystems.of(name)).collect(),
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
            rank.extend([self.contenders.of(name) as u32, hundredths as u32, relation_number(*relation)]);
        }
        rank
    }
}

/// The place of a relation in the page's list of them.
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

/// Works with what tells those of one name and scale apart.
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
