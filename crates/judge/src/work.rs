//! Whether contenders did the same work, and whether the requested work reached the device.
//! In: the counts of work in a table's cells. Out: a [`WorkDoubt`] for each phase in which these counts contradict a verdict.
//! A filesystem may do the same work with fewer bytes, so only an order of magnitude is a doubt, and only above the sizes of journals,
//! metadata and small files stored inside their inodes.

use crate::table::{Cell, Contender, Operation, Table};
use crate::words;
use serde::{Deserialize, Serialize};

/// A doubt from this factor on.
const TIMES: f64 = 10.0;
/// Fewest bytes of the larger side, for counts of devices and filesystems: journals and metadata stay below.
const LEAST_STORED: f64 = (16 << 20) as f64;
/// The same for bytes written by system calls of programs, which do not depend on the filesystem.
const LEAST_WRITTEN: f64 = (1 << 20) as f64;
/// The same for bytes that programs printed.
const LEAST_PRINTED: f64 = (64 << 10) as f64;
/// The same for files that programs left. Filesystems may keep some files of their own.
const LEAST_FILES: f64 = 100.0;
/// Bytes below which a device or a program did almost nothing.
const NOTHING: f64 = (64 << 10) as f64;
/// Bytes below which a device may have received only metadata.
const METADATA: f64 = (1 << 20) as f64;
/// A count smaller by this factor is almost nothing, whatever its size.
const NOTHING_TIMES: f64 = 1000.0;
/// A program that runs for a fixed time does less on a slow filesystem. One that skips its work ends earlier: in less than this share of
/// the other's time.
const SOONER: f64 = 0.5;
/// If each call is durable, a device may write this many times the bytes of the calls before the calls no longer explain it.
const AMPLIFIED: f64 = 100.0;
/// Contenders that a sentence names.
const NAMED: usize = 3;

/// Counts of work of one phase of a contender, from the workload and the machine: medians over the passes that count. What was not counted is absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Work {
    /// Name of the phase.
    pub phase: String,
    /// The phase ran a program of the user: only these counts show what it did.
    pub program: bool,
    /// Its duration in seconds, until durable where it wrote.
    pub seconds: Option<f64>,
    /// Bytes that write calls accepted.
    pub written: Option<f64>,
    /// Bytes that read calls returned.
    pub read: Option<f64>,
    /// Bytes that the device received until all was durable.
    pub device_written: Option<f64>,
    /// Bytes that the device delivered after a cold start.
    pub device_read: Option<f64>,
    /// Bytes of those written that were new and still present at the end, so that the device must have received them.
    pub due_to_device: Option<f64>,
    /// Bytes of those read that were in no cache at the start, so that the device must have delivered them.
    pub due_from_device: Option<f64>,
    /// Bytes by which the filesystem grew.
    pub kept: Option<f64>,
    /// Files and directories that exist at the end and not at the start.
    pub files: Option<f64>,
    /// Bytes that the program printed.
    pub printed: Option<f64>,
}

/// A phase in which the counts of work contradict a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkDoubt {
    /// Which kind.
    pub kind: DoubtKind,
    /// Name of the workload.
    pub workload: String,
    /// Name of the phase.
    pub phase: String,
    /// The rows that the phase is part of, the phase's own first: indices into [`Table::operations`].
    pub operations: Vec<usize>,
    /// Contenders that were compared.
    pub among: Vec<usize>,
    /// Those that did less than was due, or less than others.
    pub less: Vec<usize>,
    /// The sentence.
    pub text: String,
}

/// Kinds of doubts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DoubtKind {
    /// The contenders did not do the same work: there is no verdict on it.
    UnequalWork,
    /// Most of what was written never reached the device: the verdict follows the sentence.
    NotStored,
    /// Most of what was read never came from the device: the verdict follows the sentence.
    NotFetched,
}

impl WorkDoubt {
    /// Whether there is no verdict on the work.
    pub fn withholds(&self) -> bool {
        self.kind == DoubtKind::UnequalWork
    }

    /// Whether it is about one of these contenders in this line.
    pub fn touches(&self, operation: usize, contender: usize) -> bool {
        self.operations.contains(&operation) && self.among.contains(&contender)
    }
}

/// Whether the verdict on this row for this contender is withheld.
pub fn is_withheld(doubts: &[WorkDoubt], operation: usize, contender: usize) -> bool {
    doubts.iter().any(|doubt| doubt.withholds() && doubt.touches(operation, contender))
}

/// One contender's counts of a phase.
#[derive(Clone, Copy)]
struct Counted<'a> {
    contender: usize,
    work: &'a Work,
}

/// A doubt about a phase: which contenders did less, and the sentence.
struct Found {
    kind: DoubtKind,
    less: Vec<usize>,
    text: String,
}

/// All doubts of a table, each phase once for each kind.
pub fn doubts(table: &Table) -> Vec<WorkDoubt> {
    let mut doubts: Vec<WorkDoubt> = Vec::new();
    if table.cells.iter().all(|cell| cell.facts.work.is_empty()) {
        return doubts;
    }
    // Rows of one phase come first, so that a sentence names the phase and not a sum that includes it.
    let mut order: Vec<usize> = (0..table.operations.len()).collect();
    order.sort_by_key(|&at| (table.operations[at].secondary, table.operations[at].summary));
    for operation in order {
        for group in groups(table, operation) {
            for (phase, counted) in phases(&group) {
                let among: Vec<usize> = group.iter().map(|cell| cell.contender).collect();
                note(&mut doubts, table, (operation, &phase, &counted), &among);
            }
        }
    }
    doubts
}

/// Adds the doubts about a phase, or adds the row to a known doubt.
fn note(doubts: &mut Vec<WorkDoubt>, table: &Table, found: (usize, &str, &[Counted]), among: &[usize]) {
    let (operation, phase, counted) = found;
    let workload = &table.operations[operation].id.workload;
    for Found { kind, less, text } in find(table, operation, counted) {
        let same = |doubt: &&mut WorkDoubt| {
            doubt.kind == kind && doubt.workload == *workload && doubt.phase == phase && doubt.among == among
        };
        if let Some(known) = doubts.iter_mut().find(same) {
            known.operations.push(operation);
            continue;
        }
        let (workload, phase, among) = (workload.clone(), phase.to_owned(), among.to_vec());
        doubts.push(WorkDoubt { kind, workload, phase, operations: vec![operation], among, less, text });
    }
}

/// Cells of a row by ranking: one backend, one age.
fn groups(table: &Table, operation: usize) -> Vec<Vec<&Cell>> {
    let mut groups: Vec<Vec<&Cell>> = Vec::new();
    let place = |cell: &Cell| {
        let contender = &table.contenders[cell.contender];
        (contender.backend, contender.age.name.clone())
    };
    for cell in table.cells.iter().filter(|cell| cell.operation == operation && !cell.facts.work.is_empty()) {
        match groups.iter_mut().find(|group| place(group[0]) == place(cell)) {
            Some(group) => group.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    groups
}

/// The phases of some cells, each with the counts of its contenders.
fn phases<'a>(group: &[&'a Cell]) -> Vec<(String, Vec<Counted<'a>>)> {
    let mut phases: Vec<(String, Vec<Counted>)> = Vec::new();
    for cell in group {
        for work in &cell.facts.work {
            let counted = Counted { contender: cell.contender, work };
            match phases.iter_mut().find(|(name, _)| *name == work.phase) {
                Some((_, all)) => all.push(counted),
                None => phases.push((work.phase.clone(), vec![counted])),
            }
        }
    }
    phases
}

fn find(table: &Table, operation: usize, counted: &[Counted]) -> Vec<Found> {
    let line = Line { contenders: &table.contenders, operation: &table.operations[operation] };
    if let Some(unequal) = line.unequal(counted) {
        return vec![unequal];
    }
    line.not_stored(counted).into_iter().chain(line.not_fetched(counted)).collect()
}

/// What sentences are made from.
struct Line<'a> {
    contenders: &'a [Contender],
    operation: &'a Operation,
}

/// A count of programs' work, which should be about the same for all contenders.
struct Count {
    of: fn(&Work) -> Option<f64>,
    least: f64,
    words: &'static str,
    shown: fn(f64) -> String,
}

const COUNTS: [Count; 4] = [
    Count { of: |work| work.written, least: LEAST_WRITTEN, words: "wrote", shown: almost },
    Count { of: |work| work.read, least: LEAST_STORED, words: "read", shown: almost },
    Count { of: |work| work.printed, least: LEAST_PRINTED, words: "printed", shown: almost },
    Count { of: |work| work.files, least: LEAST_FILES, words: "made", shown: files },
];

impl Line<'_> {
    /// Programs that did not do the same work on all filesystems.
    fn unequal(&self, counted: &[Counted]) -> Option<Found> {
        let programs: Vec<Counted> = counted.iter().copied().filter(|one| one.work.program).collect();
        COUNTS.iter().find_map(|count| self.fewer(&programs, count)).or_else(|| self.idle_device(&programs))
    }

    fn fewer(&self, programs: &[Counted], count: &Count) -> Option<Found> {
        let value = |one: &Counted| (count.of)(one.work);
        let (most, amount) = most(programs, value).filter(|(_, amount)| *amount >= count.least)?;
        let is_less = |one: &&Counted| {
            value(one).is_some_and(|found| {
                found * TIMES < amount && (is_nothing(found, amount) || was_sooner(one.work, most.work))
            })
        };
        let less: Vec<(usize, f64)> =
            programs.iter().filter(is_less).filter_map(|one| Some((one.contender, value(one)?))).collect();
        self.unequal_work(less, (most.contender, amount), count.words, count.shown)
    }

    /// If counts of calls show no difference (old results, mapped files, io_uring), a device that received almost nothing does.
    fn idle_device(&self, programs: &[Counted]) -> Option<Found> {
        let value = |one: &Counted| one.work.device_written;
        let (most, amount) = most(programs, value).filter(|(_, amount)| *amount >= LEAST_STORED)?;
        let explained = |work: &Work| work.written.is_some_and(|written| written * AMPLIFIED >= amount);
        let is_idle = |one: &&Counted| {
            value(one).is_some_and(|found| {
                found < METADATA && found * TIMES < amount && !(explained(one.work) && explained(most.work))
            })
        };
        let less: Vec<(usize, f64)> =
            programs.iter().filter(is_idle).filter_map(|one| Some((one.contender, value(one)?))).collect();
        self.unequal_work(less, (most.contender, amount), "had its device write", almost)
    }

    fn unequal_work(
        &self,
        less: Vec<(usize, f64)>,
        (most, amount): (usize, f64),
        verb: &str,
        shown: fn(f64) -> String,
    ) -> Option<Found> {
        let first = less.first()?;
        let least = less.iter().map(|found| found.1).fold(first.1, f64::max);
        let text = format!(
            "The contenders did not do the same work in {}: {} {verb} {}, {} {}. There is no verdict on it.",
            words::phrase(self.operation),
            self.name(most),
            shown(amount),
            self.names(&less),
            shown(least)
        );
        Some(Found { kind: DoubtKind::UnequalWork, less: less.into_iter().map(|found| found.0).collect(), text })
    }

    /// Bytes that were written and did not reach the device.
    fn not_stored(&self, counted: &[Counted]) -> Option<Found> {
        let absolute = |one: &Counted| {
            let due = one.work.due_to_device.filter(|due| *due >= LEAST_STORED)?;
            let took = one.work.device_written.filter(|took| took * TIMES < due)?;
            Some((one.contender, due, took))
        };
        let (most, largest) = most(counted, |one: &Counted| one.work.kept).map_or((None, 0.0), |m| (Some(m.0), m.1));
        let share = |work: &Work| Some((work.device_written?, work.written.filter(|written| *written > 0.0)?));
        // A program's temporary files need not reach the device: if another contender's filesystem grew, the files are not temporary.
        let compared = |one: &Counted| {
            let most = most.filter(|_| one.work.program && largest >= LEAST_STORED)?;
            let (theirs, of_theirs) = share(most.work)?;
            let (took, written) = share(one.work).filter(|(_, written)| *written >= LEAST_STORED)?;
            let smaller = one.work.kept? * TIMES < largest && took * TIMES < written;
            (smaller && took / written * TIMES < theirs / of_theirs).then_some((one.contender, written, took))
        };
        let less: Vec<(usize, f64, f64)> =
            counted.iter().filter_map(|one| absolute(one).or_else(|| compared(one))).collect();
        let (due, took) = ends(&less)?;
        let names: Vec<(usize, f64)> = less.iter().map(|one| (one.0, one.2)).collect();
        let text = format!(
            "In {} most of the data never reached the device: {} wrote {}, of which the device took {} (compressed, deduplicated or left out as zeros).",
            words::phrase(self.operation),
            self.names(&names),
            bytes(due),
            almost(took)
        );
        Some(Found { kind: DoubtKind::NotStored, less: less.into_iter().map(|one| one.0).collect(), text })
    }

    /// Bytes that were read and did not come from the device.
    fn not_fetched(&self, counted: &[Counted]) -> Option<Found> {
        let absolute = |one: &Counted| {
            let due = one.work.due_from_device.filter(|due| *due >= LEAST_STORED)?;
            let found = one.work.device_read.filter(|found| found * TIMES < due)?;
            Some((one.contender, due, found))
        };
        let share = |work: &Work| Some((work.device_read?, work.read.filter(|read| *read > 0.0)?));
        let most = most(counted, |one: &Counted| one.work.device_read).filter(|(_, read)| *read >= LEAST_STORED);
        let compared = |one: &Counted| {
            let (theirs, of_theirs) = share(most.filter(|_| one.work.program)?.0.work)?;
            let (found, read) = share(one.work).filter(|(_, read)| *read >= LEAST_STORED)?;
            (found / read * TIMES < theirs / of_theirs).then_some((one.contender, read, found))
        };
        let less: Vec<(usize, f64, f64)> =
            counted.iter().filter_map(|one| absolute(one).or_else(|| compared(one))).collect();
        let (due, found) = ends(&less)?;
        let names: Vec<(usize, f64)> = less.iter().map(|one| (one.0, one.2)).collect();
        let text = format!(
            "In {} most of the data never came from the device: {} read {}, of which the device delivered {} (holes, unwritten extents, compressed data or a cache).",
            words::phrase(self.operation),
            self.names(&names),
            bytes(due),
            almost(found)
        );
        Some(Found { kind: DoubtKind::NotFetched, less: less.into_iter().map(|one| one.0).collect(), text })
    }

    /// Name of a contender; of the first entry, if it was entered twice.
    fn name(&self, contender: usize) -> &str {
        let found = &self.contenders[contender];
        found.twin_of.as_ref().unwrap_or(&found.name)
    }

    /// Contenders, each once.
    fn names(&self, found: &[(usize, f64)]) -> String {
        let mut names: Vec<&str> = Vec::new();
        for (contender, _) in found {
            if !names.contains(&self.name(*contender)) {
                names.push(self.name(*contender));
            }
        }
        match names.len() {
            many if many > NAMED => format!("{} and {} others", names[..NAMED - 1].join(", "), many - NAMED + 1),
            _ => words::list(&names),
        }
    }
}

/// The contender with most of something, and how much.
fn most<'a>(counted: &[Counted<'a>], value: impl Fn(&Counted) -> Option<f64>) -> Option<(Counted<'a>, f64)> {
    let known = counted.iter().filter_map(|one| Some((*one, value(one)?)));
    known.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The largest amount due, and the largest amount done.
fn ends(less: &[(usize, f64, f64)]) -> Option<(f64, f64)> {
    let most = |of: fn(&(usize, f64, f64)) -> f64| less.iter().map(of).fold(0.0, f64::max);
    (!less.is_empty()).then(|| (most(|one| one.1), most(|one| one.2)))
}

fn is_nothing(found: f64, amount: f64) -> bool {
    found < NOTHING.min(amount / TIMES) || found * NOTHING_TIMES < amount
}

fn was_sooner(less: &Work, more: &Work) -> bool {
    less.seconds.zip(more.seconds).is_none_or(|(less, more)| less < more * SOONER)
}

/// "105 MB"; "almost nothing" for small amounts.
fn almost(amount: f64) -> String {
    match amount {
        a if a < 1.0 => "nothing".into(),
        a if a < NOTHING => format!("almost nothing ({})", bytes(a)),
        a => bytes(a),
    }
}

fn files(count: f64) -> String {
    if count < 1.0 { "none".into() } else { format!("{count:.0} files and folders") }
}

/// Bytes in three digits at most, with decimal units.
fn bytes(amount: f64) -> String {
    let (value, unit) = match amount {
        a if a < 1e3 => return format!("{a:.0} B"),
        a if a < 1e6 => (a / 1e3, "kB"),
        a if a < 1e9 => (a / 1e6, "MB"),
        a => (a / 1e9, "GB"),
    };
    if value < 10.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}
