//! A winner for a stated mix of operations: the time that the mix takes each contender.
//! In: a table and a [`Mix`]. Out: a [`MixJudgement`].
//! Times are added within each block before they are compared, so that the noise that operations share is not counted twice.

use crate::assess;
use crate::judgement::{Estimand, Figure, Interval, Ranking, Sentence};
use crate::series::Series;
use crate::stolen;
use crate::table::{Cell, Direction, Facts, Operation, OperationId, Sample, Seconds, Table};
use crate::words;
use crate::work::Work;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use thiserror::Error;

/// Most parts of a mix.
const MAX_PARTS: usize = 64;

/// Parts of a mix: `create=1,read-random=10,delete=1`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Mix {
    /// Name of the operation (`workload/operation` where workloads share the name), and how often it is done.
    pub parts: Vec<(String, f64)>,
    /// Its name in a sentence; empty: a list of its parts.
    #[serde(default)]
    pub name: String,
}

/// Why a mix cannot be judged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MixError {
    /// It cannot be read.
    #[error("cannot understand the mix \"{given}\": write create=1,read-random=10,delete=1")]
    Unreadable {
        /// The text.
        given: String,
    },
    /// An operation is not in the table.
    #[error("cannot add \"{name}\" to the mix: the table has only {known}")]
    NoSuchOperation {
        /// The name.
        name: String,
        /// The operations of the table.
        known: String,
    },
    /// A name fits more than one operation.
    #[error("\"{name}\" in the mix is ambiguous: write one of {candidates}")]
    Ambiguous {
        /// The name.
        name: String,
        /// The operations that match.
        candidates: String,
    },
    /// The units do not add up to a time.
    #[error("cannot add up \"{name}\": {unit} is neither a time nor a number of items a second")]
    NoTime {
        /// The operation.
        name: String,
        /// Its unit.
        unit: String,
    },
}

/// The time that a mix takes each contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixJudgement {
    /// The time of each contender that has all operations.
    pub times: Vec<MixTime>,
    /// Contenders that lack an operation, and which.
    pub left_out: Vec<(usize, String)>,
    /// One ranking for each backend; `operation` is that of the first part.
    pub rankings: Vec<Ranking>,
    /// The verdict.
    pub sentences: Vec<Sentence>,
}

/// The time that a mix takes one contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixTime {
    /// Index into [`crate::Table::contenders`].
    pub contender: usize,
    /// Seconds for the mix, by times that are corrected for stolen processor time.
    pub seconds: f64,
    /// 95 % interval, in seconds.
    pub interval: Option<Interval>,
    /// Share of the time that each part takes, in the order of the mix.
    pub shares: Vec<f64>,
}

impl Mix {
    /// Reads `create=1,read-random=10,delete=1`.
    ///
    /// # Errors
    /// It is written in another way, empty, or a count is not positive.
    pub fn parse(given: &str) -> Result<Self, MixError> {
        let error = || MixError::Unreadable { given: given.into() };
        let mut parts = Vec::new();
        for part in given.split(',') {
            let (name, count) = part.split_once('=').ok_or_else(error)?;
            let count: f64 = count.trim().parse().map_err(|_| error())?;
            if name.trim().is_empty() || !count.is_finite() || count <= 0.0 || parts.len() == MAX_PARTS {
                return Err(error());
            }
            parts.push((name.trim().to_string(), count));
        }
        Ok(Mix { parts, name: String::new() })
    }
}

/// Judges a mix. A time counts for one execution of its operation, a rate for one of its items (or bytes).
///
/// # Errors
/// A part names no operation, or more than one, or one whose figure is neither a time nor a rate.
pub fn judge_mix(table: &Table, mix: &Mix) -> Result<MixJudgement, MixError> {
    let mut parts = Vec::with_capacity(mix.parts.len());
    for (name, count) in &mix.parts {
        let operation = find(table, mix, name)?;
        let Operation { unit, .. } = &table.operations[operation];
        let seconds = Seconds::of(unit);
        let seconds = seconds.ok_or_else(|| MixError::NoTime { name: name.clone(), unit: unit.trim().into() })?;
        parts.push((operation, *count, seconds));
    }
    let first = parts.first().map(|part| part.0).ok_or_else(|| MixError::Unreadable { given: String::new() })?;
    let (mixed, shares, left_out) = mixed(table, &parts, &mix.name);
    let row = mixed.operations.len() - 1;
    let assessed = assess::assess(&mixed);
    let of_mix = |figure: &&Figure| figure.operation == row;
    let times = assessed.figures.iter().filter(of_mix).map(|figure| MixTime {
        contender: figure.contender,
        seconds: figure.median,
        interval: figure
            .interval
            .map(|i| Interval { of: if i.of == Estimand::Median { i.of } else { Estimand::GeometricMean }, ..i }),
        shares: shares[figure.contender].clone(),
    });
    let times = times.collect();
    let cells: Vec<usize> =
        (0..table.cells.len()).filter(|&cell| parts.iter().any(|part| part.0 == table.cells[cell].operation)).collect();
    let mut sentences: Vec<Sentence> = words::sentences_of(&mixed, &assessed, &|operation| operation == row);
    for sentence in &mut sentences {
        sentence.operation = None;
        sentence.cells = cells.clone();
    }
    let mut rankings: Vec<Ranking> = assessed.rankings.into_iter().filter(|ranking| ranking.operation == row).collect();
    rankings.iter_mut().for_each(|ranking| ranking.operation = first);
    Ok(MixJudgement { times, left_out, rankings, sentences })
}

/// Whether an operation matches this name: its own, with or without its cache state, with or without its workload.
fn goes_by(operation: &Operation, name: &str) -> bool {
    let id = &operation.id;
    let short =
        [id.operation.clone(), format!("{} {}", id.operation, id.cache), format!("{}:{}", id.operation, id.cache)];
    let full = short.iter().map(|short| format!("{}/{short}", id.workload));
    !operation.secondary && (short.iter().any(|s| s == name) || full.into_iter().any(|f| f == name))
}

/// The operation of a part. If several match, that of the one workload which has all parts, and there the one that starts cold.
fn find(table: &Table, mix: &Mix, name: &str) -> Result<usize, MixError> {
    let mut found: Vec<usize> =
        (0..table.operations.len()).filter(|&at| goes_by(&table.operations[at], name)).collect();
    let workload = |at: usize| table.operations[at].id.workload.as_str();
    let has_all = |at: &usize| {
        let of_it = || table.operations.iter().filter(|operation| operation.id.workload == workload(*at));
        mix.parts.iter().all(|part| of_it().any(|operation| goes_by(operation, &part.0)))
    };
    if found.len() > 1 {
        let whole: Vec<usize> = found.iter().copied().filter(has_all).collect();
        let same = whole.iter().all(|&at| workload(at) == workload(whole[0]));
        let cold: Vec<usize> = whole.iter().copied().filter(|&at| table.operations[at].id.cache == "cold").collect();
        match (same, whole.len(), cold.as_slice()) {
            (true, 1, _) => found = whole,
            (true, _, [only]) => found = vec![*only],
            _ => {}
        }
    }
    let name_all = |operations: &mut dyn Iterator<Item = &Operation>| {
        let names: Vec<String> = operations
            .filter(|operation| !operation.secondary)
            .map(|operation| format!("{}/{} {}", operation.id.workload, operation.id.operation, operation.id.cache))
            .collect();
        names.join(", ")
    };
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(MixError::NoSuchOperation { name: name.into(), known: name_all(&mut table.operations.iter()) }),
        many => {
            let candidates = name_all(&mut many.iter().map(|&at| &table.operations[at]));
            Err(MixError::Ambiguous { name: name.into(), candidates })
        }
    }
}

type Mixed = (Table, Vec<Vec<f64>>, Vec<(usize, String)>);

/// The table with one more operation, the mix, whose samples are the sums by block: scatter is estimated from the whole table, and the
/// correction covers all of its statements. Also the shares of the parts, and the contenders that lack one.
fn mixed(table: &Table, parts: &[(usize, f64, Seconds)], name: &str) -> Mixed {
    let names: Vec<String> =
        parts.iter().map(|p| format!("{} x {}", p.1, table.operations[p.0].id.operation)).collect();
    let operation = Operation {
        id: OperationId::new("mix", &names.join(" + "), ""),
        phrase: if name.is_empty() { format!("the mix {}", names.join(" + ")) } else { name.into() },
        unit: "s".into(),
        direction: Direction::LowerIsBetter,
        secondary: false,
        summary: false,
        unranked: false,
    };
    let mut out = table.clone();
    out.operations.push(operation);
    let row = table.operations.len();
    let mut shares = vec![Vec::new(); table.contenders.len()];
    let mut left_out = Vec::new();
    let series = stolen::series(table, |operation| parts.iter().any(|part| part.0 == operation));
    let of_cell: HashMap<(usize, usize), &Series> =
        table.cells.iter().zip(&series).map(|(cell, series)| ((cell.operation, cell.contender), series)).collect();
    for (contender, shares) in shares.iter_mut().enumerate() {
        let cells: Vec<Option<&Cell>> = parts.iter().map(|part| table.cell(part.0, contender)).collect();
        // A contender with none of the parts, such as the raw device, is not meant to be compared.
        if cells.iter().all(Option::is_none) {
            continue;
        }
        if let Some(lacking) =
            cells.iter().position(|cell| cell.is_none_or(|c| !c.samples.iter().any(Sample::is_measured)))
        {
            left_out.push((contender, table.operations[parts[lacking].0].id.operation.clone()));
            continue;
        }
        let by_block: Vec<Vec<(u32, f64)>> = cells
            .iter()
            .flatten()
            .zip(parts)
            .map(|(cell, (_, count, seconds))| times(of_cell[&(cell.operation, cell.contender)], *count, *seconds))
            .collect();
        let (samples, sums) = add(&by_block);
        if samples.is_empty() {
            left_out.push((contender, "a round in which all were measured".into()));
            continue;
        }
        let total: f64 = sums.iter().sum();
        *shares = sums.iter().map(|sum| sum / total).collect();
        // Phases of several workloads may share a name.
        let of_part = |cell: &&Cell| {
            let workload = &table.operations[cell.operation].id.workload;
            let named = |work: &Work| Work { phase: format!("{workload}/{}", work.phase), ..work.clone() };
            cell.facts.work.iter().map(named).collect::<Vec<_>>()
        };
        let work = cells.iter().flatten().flat_map(of_part).collect();
        let facts = Facts { work, ..Facts::default() };
        out.cells.push(Cell { operation: row, contender, samples, facts });
    }
    (out, shares, left_out)
}

fn times(series: &Series, count: f64, seconds: Seconds) -> Vec<(u32, f64)> {
    let time = |log: f64| match seconds {
        Seconds::Times(unit) => count * log.exp() * unit,
        Seconds::PerSecond => count / log.exp(),
    };
    series.blocks.iter().map(|&(block, log)| (block, time(log))).collect()
}

/// Adds the parts in the blocks that have all of them: one sample a block, and the sum of each part.
fn add(parts: &[Vec<(u32, f64)>]) -> (Vec<Sample>, Vec<f64>) {
    let mut samples = Vec::new();
    let mut sums = vec![0.0; parts.len()];
    for &(block, _) in &parts[0] {
        let in_block: Vec<f64> =
            parts.iter().filter_map(|part| part.iter().find(|found| found.0 == block).map(|found| found.1)).collect();
        if in_block.len() < parts.len() {
            continue;
        }
        sums.iter_mut().zip(&in_block).for_each(|(sum, time)| *sum += time);
        samples.push(Sample { trial: i64::from(block), block, value: in_block.iter().sum(), ..Sample::default() });
    }
    (samples, sums)
}
