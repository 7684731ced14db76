//! Compares two runs or two contenders; also the gate that fails a build.
//! In: two tables, or two contenders of one. Out: a [`Comparison`].
//! A ratio above 1 always means that the right-hand side is worse. Runs share no blocks, so their samples are compared as two groups;
//! contenders of one run are judged as in its own table.

use crate::evidence::Evidence;
use crate::judgement::{Interval, Relation};
use crate::numbers::median;
use crate::rank::{ALPHA, Fit, Versus, Worth};
use crate::row::Member;
use crate::series::Series;
use crate::short;
use crate::table::{Backend, Cell, Contender, Operation, OperationId, Table};
use crate::words;
use crate::work::{self, WorkDoubt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// One side of a comparison: a contender of a table.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// Its table.
    pub table: &'a crate::Table,
    /// Index of the contender in it.
    pub contender: usize,
}

/// Two runs or two contenders, operation by operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// One for each operation (and contender, where runs are compared) that both have.
    pub rows: Vec<Compared>,
    /// Smallest difference that counts as one.
    pub smallest_effect: f64,
    /// Doubts about the work, a sentence each, before everything else. If the two did not do the same work, the operation is not among the rows.
    pub doubts: Vec<String>,
    /// Operations that only one of the two has, or that are too short to rank.
    pub unmatched: Vec<String>,
    /// In sentences.
    pub sentences: Vec<String>,
}

/// One operation of a comparison: B against A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// Which operation.
    pub operation: OperationId,
    /// Contender of A.
    pub a: String,
    /// Contender of B.
    pub b: String,
    /// Median of A, in the operation's unit.
    pub a_median: f64,
    /// Median of B.
    pub b_median: f64,
    /// Samples of A and of B.
    pub samples: (usize, usize),
    /// How many times worse B is than A (below 1: better).
    pub ratio: f64,
    /// Interval of the ratio, the one that decides what is likely.
    pub interval: Option<Interval>,
    /// Interval corrected for all rows: its ends hold for all rows together, beyond doubt.
    pub corrected: Option<Interval>,
    /// Result for B.
    pub change: Change,
    /// Whether the two differ in data safety.
    pub unequal_durability: bool,
    /// Samples of either that were disturbed.
    pub disturbed: usize,
}

/// Result for B against A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// B is better, beyond doubt.
    Better,
    /// B is likely better.
    LikelyBetter,
    /// B is worse, beyond doubt.
    Worse,
    /// B is likely worse.
    LikelyWorse,
    /// As good: the whole interval lies within the margin.
    Same,
    /// Undecided.
    Unresolved,
}

/// What makes a comparison fail: `worse:5%`, `likely:5%`, and either with `,inconclusive`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FailOn {
    /// B is worse by more than this share ...
    pub worse: f64,
    /// ... beyond doubt, or, where this is set, likely.
    pub likely: bool,
    /// An inconclusive comparison fails, too.
    pub inconclusive: bool,
}

/// A `--fail-on` that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "cannot understand --fail-on \"{given}\": write worse:5% or likely:5% (a share from 0 % to 1000 %), and \
     append ,inconclusive to fail also if the result is inconclusive"
)]
pub struct FailOnError {
    /// What was given.
    pub given: String,
}

/// One row before correction.
struct Raw {
    row: Compared,
    phrase: String,
    found: Found,
}

/// Comparison of two cells.
enum Found {
    /// Too few samples.
    Nothing,
    /// Cells of one run: judged with the rest of its table.
    Judged(Versus),
    /// Cells of two runs, judged with the other rows of the comparison.
    Apart(Evidence),
}

/// What both sides of a comparison within one run share.
struct Known {
    left: Option<Fit>,
    margin: f64,
}

impl Known {
    fn of(a: &Table, b: &Table) -> Self {
        let series = || a.cells.iter().map(Series::of).collect::<Vec<_>>();
        Known { left: std::ptr::eq(a, b).then(|| Fit::of(a, &series())), margin: a.margin().max(b.margin()) }
    }
}

/// What is compared so far.
#[derive(Default)]
struct Pairs {
    raws: Vec<Raw>,
    doubts: Vec<String>,
    unmatched: Vec<String>,
}

/// Compares two runs: every contender and operation that both have, B against A.
///
/// The runs' own stopping rules did not look at this comparison, so each row has the full 5 %, corrected for all rows.
pub fn compare(a: &Table, b: &Table) -> Comparison {
    let mut pairs = Pairs::default();
    let known = Known::of(a, b);
    for (left, contender) in a.contenders.iter().enumerate().filter(|(_, c)| c.twin_of.is_none()) {
        match b.contender(&contender.name) {
            Some(right) => {
                pair(Side { table: a, contender: left }, Side { table: b, contender: right }, &known, &mut pairs)
            }
            None => pairs.unmatched.push(format!("{} is only in the first", contender.name)),
        }
    }
    for contender in b.contenders.iter().filter(|c| c.twin_of.is_none() && a.contender(&c.name).is_none()) {
        pairs.unmatched.push(format!("{} is only in the second", contender.name));
    }
    finish(pairs, known.margin)
}

/// Compares two contenders, of one run (paired by block) or of two.
pub fn compare_contenders(a: Side, b: Side) -> Comparison {
    let mut pairs = Pairs::default();
    let known = Known::of(a.table, b.table);
    pair(a, b, &known, &mut pairs);
    finish(pairs, known.margin)
}

fn pair(a: Side, b: Side, known: &Known, pairs: &mut Pairs) {
    let Pairs { raws, doubts, unmatched } = pairs;
    let (first, second) = (&a.table.contenders[a.contender], &b.table.contenders[b.contender]);
    if first.backend != second.backend {
        let words = |backend: Backend| if backend == Backend::Host { "on the host" } else { backend.guest() };
        let (left, right) = (words(first.backend), words(second.backend));
        unmatched.push(format!("{} ran {left} and {} {right}: not comparable", first.name, second.name));
        return;
    }
    for (index, operation) in a.table.operations.iter().enumerate().filter(|(_, operation)| !operation.secondary) {
        let other = b.table.operations.iter().position(|found| found.id == operation.id);
        let cells = (a.table.cell(index, a.contender), other.and_then(|other| b.table.cell(other, b.contender)));
        let (Some(left), Some(right)) = cells else {
            unmatched.push(format!("{} of {} and {}", words::phrase(operation), first.name, second.name));
            continue;
        };
        if short::is_too_short(operation, [left, right].into_iter()) {
            unmatched.push(format!(
                "{} of {} and {} ({})",
                words::phrase(operation),
                first.name,
                second.name,
                short::WORDS
            ));
            continue;
        }
        let (left_series, right_series) = (Series::of(left), Series::of(right));
        let (mine, theirs) = (
            Member::new(a.contender, &left_series, operation.direction),
            Member::new(b.contender, &right_series, operation.direction),
        );
        if mine.trials.is_empty() || theirs.trials.is_empty() {
            unmatched.push(format!("{} of {} and {}", words::phrase(operation), first.name, second.name));
            continue;
        }
        let found = doubts_of(operation, (first, left), (second, right));
        doubts.extend(found.iter().map(|doubt| doubt.text.clone()));
        if found.iter().any(WorkDoubt::withholds) {
            continue;
        }
        let found = match &known.left {
            Some(fit) => {
                let row = fit.row_of(index, a.contender).filter(|row| fit.row_of(index, b.contender) == Some(*row));
                row.and_then(|row| fit.versus(row, a.contender, b.contender)).map(Found::Judged)
            }
            None => Evidence::unpaired(&mine.trials, &theirs.trials).map(Found::Apart),
        };
        let found = found.unwrap_or(Found::Nothing);
        let centre = |series: &Series| {
            median(&series.trials.iter().map(|trial| trial.log).collect::<Vec<_>>()).unwrap_or(f64::NAN).exp()
        };
        let log = found.evidence().map_or(theirs.effect - mine.effect, |found| found.log);
        raws.push(Raw {
            row: Compared {
                operation: operation.id.clone(),
                a: first.name.clone(),
                b: second.name.clone(),
                a_median: centre(&left_series),
                b_median: centre(&right_series),
                samples: (mine.trials.len(), theirs.trials.len()),
                ratio: log.exp(),
                interval: None,
                corrected: None,
                change: Change::Unresolved,
                unequal_durability: first.durability.differs(&second.durability),
                disturbed: left.disturbed() + right.disturbed(),
            },
            phrase: format!("{}: {}", words::phrase(operation), sides(&first.name, &second.name)),
            found,
        });
    }
}

/// Whether both did the same work, and whether the work reached their devices. For two runs both may be the same contender.
fn doubts_of(operation: &Operation, a: (&Contender, &Cell), b: (&Contender, &Cell)) -> Vec<WorkDoubt> {
    let name = |side: &str, contender: &Contender| match a.0.name == b.0.name {
        true => format!("{} of the {side} run", contender.name),
        false => contender.name.clone(),
    };
    let named = |side: &str, contender: &Contender| Contender {
        name: name(side, contender),
        twin_of: None,
        alternative_of: None,
        age: Default::default(),
        ..contender.clone()
    };
    let cells = [a.1, b.1].into_iter().enumerate();
    work::doubts(&Table {
        contenders: vec![named("first", a.0), named("second", b.0)],
        operations: vec![operation.clone()],
        cells: cells.map(|(contender, cell)| Cell { operation: 0, contender, ..cell.clone() }).collect(),
        ..Table::default()
    })
}

fn sides(first: &str, second: &str) -> String {
    if first == second { first.into() } else { format!("{second} against {first}") }
}

/// Applies Holm's step-down over all rows of two runs, then adds words. The runs' own stopping rules did not look at this comparison.
fn finish(pairs: Pairs, margin: f64) -> Comparison {
    let Pairs { mut raws, doubts, unmatched } = pairs;
    let p = |raw: &Raw| if let Found::Apart(found) = &raw.found { Some(found.p) } else { None };
    let mut order: Vec<usize> = (0..raws.len()).filter(|&at| p(&raws[at]).is_some()).collect();
    order.sort_by(|&a, &b| p(&raws[a]).unwrap_or(1.0).total_cmp(&p(&raws[b]).unwrap_or(1.0)));
    let rows = order.len();
    let mut proven = vec![false; raws.len()];
    for (step, &at) in order.iter().enumerate() {
        if p(&raws[at]).is_none_or(|p| p > ALPHA / (rows - step) as f64) {
            break;
        }
        proven[at] = true;
    }
    for (raw, proven) in raws.iter_mut().zip(proven) {
        let (shown, beyond, relation) = match &raw.found {
            Found::Nothing => continue,
            Found::Judged(versus) => (versus.interval, versus.beyond, versus.relation),
            Found::Apart(found) => {
                let shown = found.interval(ALPHA);
                let worth = Worth { least: margin, margin };
                let relation = worth.relation(found, shown, (proven, found.p <= ALPHA));
                (shown, found.interval(ALPHA / rows as f64), relation)
            }
        };
        let log = raw.found.evidence().map_or(0.0, |found| found.log);
        (raw.row.interval, raw.row.corrected) = (Some(shown), Some(beyond));
        raw.row.change = change(relation, log);
    }
    let sentences = doubts.iter().cloned().chain(raws.iter().map(sentence)).collect();
    let rows = raws.into_iter().map(|raw| raw.row).collect();
    Comparison { rows, smallest_effect: margin, doubts, unmatched, sentences }
}

impl Found {
    fn evidence(&self) -> Option<&Evidence> {
        match self {
            Found::Nothing => None,
            Found::Judged(versus) => Some(&versus.evidence),
            Found::Apart(found) => Some(found),
        }
    }
}

fn change(relation: Relation, log: f64) -> Change {
    match relation {
        Relation::Worse if log > 0.0 => Change::Worse,
        Relation::Worse => Change::Better,
        Relation::LikelyWorse if log > 0.0 => Change::LikelyWorse,
        Relation::LikelyWorse => Change::LikelyBetter,
        Relation::Tie => Change::Same,
        Relation::Unresolved | Relation::TooFew => Change::Unresolved,
    }
}

fn sentence(raw: &Raw) -> String {
    let Some(interval) = &raw.row.interval else {
        let (a, b) = raw.row.samples;
        return format!("{}: {}, but {a} and {b} samples allow no interval.", raw.phrase, words::slower(raw.row.ratio));
    };
    // "How many times faster" has the interval of the reciprocal.
    let faster = raw.row.ratio < 1.0 && raw.row.change != Change::Same;
    let of_faster = Interval { low: 1.0 / interval.high, high: 1.0 / interval.low, ..*interval };
    let range = words::range(if faster { &of_faster } else { interval });
    let text = match raw.row.change {
        Change::Better => format!("better: {}{range}", words::slower(raw.row.ratio)),
        Change::LikelyBetter => format!("likely better: {}{range}", words::slower(raw.row.ratio)),
        Change::Worse => format!("worse: {}{range}", words::slower(raw.row.ratio)),
        Change::LikelyWorse => format!("likely worse: {}{range}", words::slower(raw.row.ratio)),
        Change::Same => format!("as good{range}"),
        Change::Unresolved => {
            format!("can't tell yet: between {} and {}", words::slower(interval.low), words::slower(interval.high))
        }
    };
    format!("{}: {text}.", raw.phrase)
}

impl FailOn {
    /// Reads `worse:5%`.
    ///
    /// # Errors
    /// It is written in another way.
    pub fn parse(given: &str) -> Result<Self, FailOnError> {
        let error = || FailOnError { given: given.into() };
        let (inconclusive, gate) = match given.split_once(',') {
            Some((gate, second)) if second.trim() == "inconclusive" => (true, gate),
            Some(_) => return Err(error()),
            None => (false, given),
        };
        let (tier, share) = gate.split_once(':').ok_or_else(error)?;
        let likely = match tier.trim() {
            "worse" => false,
            "likely" => true,
            _ => return Err(error()),
        };
        let share = share.trim().strip_suffix('%').ok_or_else(error)?.trim();
        let percent: f64 = share.parse().map_err(|_| error())?;
        if !(0.0..=1000.0).contains(&percent) {
            return Err(error());
        }
        Ok(FailOn { worse: percent / 100.0, likely, inconclusive })
    }
}

impl Comparison {
    /// Rows in which B is worse by more than the gate allows: the whole interval is beyond it (the corrected interval if the gate demands
    /// "beyond doubt").
    pub fn failures(&self, gate: &FailOn) -> Vec<&Compared> {
        let beyond = |interval: Option<Interval>| interval.is_some_and(|interval| interval.low > 1.0 + gate.worse);
        let fails = |row: &&Compared| match row.change {
            Change::Worse => beyond(row.corrected) || gate.likely && beyond(row.interval),
            Change::LikelyWorse => gate.likely && beyond(row.interval),
            _ => false,
        };
        self.rows.iter().filter(fails).collect()
    }

    /// Rows that do not decide whether B is worse by more than the gate allows: the interval reaches beyond it, or there is none.
    pub fn inconclusive(&self, gate: &FailOn) -> Vec<&Compared> {
        let failed = self.failures(gate);
        let reaches = |row: &Compared| row.interval.is_none_or(|interval| interval.high > 1.0 + gate.worse);
        self.rows.iter().filter(|row| reaches(row) && !failed.contains(row)).collect()
    }
}
