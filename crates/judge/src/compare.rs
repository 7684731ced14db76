//! Two runs or two contenders held against each other, and the gate that fails a build.
//! In: two tables, or two contenders of one. Out: a [`Comparison`].
//! Runs share no blocks, so their samples are compared as two groups; contenders of one run are paired by block.

use crate::comparison::{Change, Compared, Comparison, FailOn, FailOnError, Side};
use crate::figure::LEVEL;
use crate::judgement::Relation;
use crate::numbers::median;
use crate::rank::{ALPHA, Evidence, Looks, relation};
use crate::row::{Member, Prior};
use crate::series::Series;
use crate::table::{Backend, Table};
use crate::weigh::{self, Floor};
use crate::words;

/// One row before correction.
struct Raw {
    row: Compared,
    phrase: String,
    evidence: Option<Evidence>,
    smallest: f64,
    looks: Option<Looks>,
}

/// Compares two runs: every contender and operation that both have, B against A.
///
/// The runs' own stopping rules did not look at this comparison, so each row has the full 5 %, corrected for all rows.
pub fn compare(a: &Table, b: &Table) -> Comparison {
    let mut raws = Vec::new();
    let mut unmatched = Vec::new();
    let floors = (weigh::floor_of(a), weigh::floor_of(b));
    for (left, contender) in a.contenders.iter().enumerate().filter(|(_, c)| c.twin_of.is_none()) {
        match b.contender(&contender.name) {
            Some(right) => pair(
                Side { table: a, contender: left },
                Side { table: b, contender: right },
                &floors,
                &mut raws,
                &mut unmatched,
            ),
            None => unmatched.push(format!("{} is only in the first", contender.name)),
        }
    }
    for contender in b.contenders.iter().filter(|c| c.twin_of.is_none() && a.contender(&c.name).is_none()) {
        unmatched.push(format!("{} is only in the second", contender.name));
    }
    finish(raws, unmatched)
}

/// Compares two contenders, of one run (paired by block) or of two.
pub fn compare_contenders(a: Side, b: Side) -> Comparison {
    let (mut raws, mut unmatched) = (Vec::new(), Vec::new());
    let floors = (weigh::floor_of(a.table), weigh::floor_of(b.table));
    pair(a, b, &floors, &mut raws, &mut unmatched);
    finish(raws, unmatched)
}

fn pair(a: Side, b: Side, floors: &(Floor, Floor), raws: &mut Vec<Raw>, unmatched: &mut Vec<String>) {
    let (first, second) = (&a.table.contenders[a.contender], &b.table.contenders[b.contender]);
    if first.backend != second.backend {
        let words = |backend: Backend| match backend {
            Backend::Host => "on the host",
            Backend::Kvm => "in a virtual machine",
            Backend::Emulation => "in an emulated machine",
        };
        let (left, right) = (words(first.backend), words(second.backend));
        unmatched.push(format!("{} ran {left} and {} {right}: not comparable", first.name, second.name));
        return;
    }
    let same_run = std::ptr::eq(a.table, b.table);
    for (index, operation) in a.table.operations.iter().enumerate().filter(|(_, operation)| !operation.secondary) {
        let other = b.table.operations.iter().position(|found| found.id == operation.id);
        let cells = (a.table.cell(index, a.contender), other.and_then(|other| b.table.cell(other, b.contender)));
        let (Some(left), Some(right)) = cells else {
            unmatched.push(format!("{} of {} and {}", words::phrase(operation), first.name, second.name));
            continue;
        };
        let (left_series, right_series) = (Series::of(left), Series::of(right));
        let (mine, theirs) = (
            Member::new(a.contender, &left_series, operation.direction),
            Member::new(b.contender, &right_series, operation.direction),
        );
        if mine.trials.is_empty() || theirs.trials.is_empty() {
            unmatched.push(format!("{} of {} and {}", words::phrase(operation), first.name, second.name));
            continue;
        }
        let none = Prior { variance: 0.0, df: 0.0 };
        let evidence = if same_run {
            Evidence::of(&mine, &theirs, none)
        } else {
            Evidence::unpaired(&mine.trials, &theirs.trials)
        };

        let centre = |series: &Series| {
            median(&series.trials.iter().map(|trial| trial.log).collect::<Vec<_>>()).unwrap_or(f64::NAN).exp()
        };
        let log = evidence.map_or(theirs.effect - mine.effect, |found| found.log);
        let smallest = floors.0.smallest(index).max(floors.1.smallest(other.unwrap_or(index)));
        raws.push(Raw {
            row: Compared {
                operation: operation.id.clone(),
                a: first.name.clone(),
                b: second.name.clone(),
                a_median: centre(&left_series),
                b_median: centre(&right_series),
                samples: (mine.trials.len(), theirs.trials.len()),
                ratio: log.exp(),
                interval: evidence.map(|found| found.interval(LEVEL, 1.0)),
                corrected: None,
                change: Change::Unresolved,
            },
            phrase: format!("{}: {}", words::phrase(operation), sides(&first.name, &second.name)),
            evidence,
            smallest,
            looks: same_run.then(|| Looks::of(a.table)),
        });
    }
}

fn sides(first: &str, second: &str) -> String {
    if first == second { first.into() } else { format!("{second} against {first}") }
}

/// Holm's step-down over all rows, then words.
fn finish(mut raws: Vec<Raw>, unmatched: Vec<String>) -> Comparison {
    let mut order: Vec<usize> = (0..raws.len()).filter(|&at| raws[at].evidence.is_some()).collect();
    let p = |at: usize| raws[at].evidence.map_or(1.0, |found| found.p);
    order.sort_by(|&a, &b| p(a).total_cmp(&p(b)));
    let rows = order.len();
    let level = |raw: &Raw, share: f64| raw.looks.map_or(ALPHA / share, |looks| looks.level(ALPHA / share));
    let mut rejected = vec![false; raws.len()];
    for (step, &at) in order.iter().enumerate() {
        if p(at) > level(&raws[at], (rows - step) as f64) {
            break;
        }
        rejected[at] = true;
    }
    for (raw, rejected) in raws.iter_mut().zip(rejected) {
        let level = 1.0 - level(raw, rows.max(1) as f64);
        raw.row.corrected = raw.evidence.map(|found| found.interval(level, 1.0));
        raw.row.change = change(raw, rejected);
    }
    let sentences = raws.iter().map(sentence).collect();
    let smallest_effect = raws.iter().map(|raw| raw.smallest).fold(weigh::SMALLEST, f64::max);
    Comparison { rows: raws.into_iter().map(|raw| raw.row).collect(), smallest_effect, unmatched, sentences }
}

fn change(raw: &Raw, rejected: bool) -> Change {
    let Some(found) = raw.evidence else { return Change::Unresolved };
    if rejected && found.log.abs() >= raw.smallest.ln_1p() {
        return if found.log > 0.0 { Change::Worse } else { Change::Better };
    }
    match relation(Some(&found), false, 1.0, raw.smallest) {
        Relation::Tie => Change::Same,
        _ => Change::Unresolved,
    }
}

fn sentence(raw: &Raw) -> String {
    let range = raw.row.interval.map(|i| format!(" ({} to {})", words::factor(i.low), words::factor(i.high)));
    let range = range
        .unwrap_or_else(|| format!(" ({} and {} samples allow no interval)", raw.row.samples.0, raw.row.samples.1));
    let ratio = words::factor(raw.row.ratio);
    let said = match raw.row.change {
        Change::Better => format!("better, costs {ratio} times as much{range}"),
        Change::Worse => format!("worse, costs {ratio} times as much{range}"),
        Change::Same => format!("same, {ratio}{range}"),
        Change::Unresolved => format!("unresolved, {ratio}{range}"),
    };
    format!("{} is {said}.", raw.phrase)
}

impl FailOn {
    /// Reads `worse:5%`.
    ///
    /// # Errors
    /// It is written in another way.
    pub fn parse(given: &str) -> Result<Self, FailOnError> {
        let error = || FailOnError { given: given.into() };
        let share = given.trim().strip_prefix("worse:").ok_or_else(error)?.trim();
        let share = share.strip_suffix('%').ok_or_else(error)?.trim();
        let percent: f64 = share.parse().map_err(|_| error())?;
        if !(0.0..=1000.0).contains(&percent) {
            return Err(error());
        }
        Ok(FailOn { worse: percent / 100.0 })
    }
}

impl Comparison {
    /// Rows in which B is shown to be worse, by an estimate of at least what the gate says.
    pub fn failures(&self, gate: &FailOn) -> Vec<&Compared> {
        let fails = |row: &&Compared| row.change == Change::Worse && row.ratio >= 1.0 + gate.worse;
        self.rows.iter().filter(fails).collect()
    }
}
