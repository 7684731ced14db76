//! Types in which importers describe what they read: passes with counts and times.
//! In: names, counts, times. Out: records as the ledger keeps them, without evidence, since none was gathered.

use super::Imported;
use crate::sound::LATEST_MS;
use records::facts::PhaseFacts;
use records::outcome::{CpuTime, GroupOutcome, Histogram, PhaseOutcome};
use records::program::{Cache, Figure};
use records::{ContenderRecord, Evidence, NewRun, Origin, PhaseRecord, RunRecord, RunStatus, TrialRecord, WorkRecord};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// Scale of imported workloads.
const SCALE: &str = "as imported";
/// Longest accepted time, in seconds: a hundred years.
const LONGEST: f64 = 3.2e9;

/// One pass as a file describes it.
#[derive(Debug, Clone, Default)]
pub(super) struct Pass {
    pub name: String,
    pub title: String,
    pub operation: String,
    pub items_lead: bool,
    pub writes: bool,
    pub items: u64,
    pub bytes: u64,
    pub seconds: f64,
    /// CPU time of the workers, user and kernel, in seconds.
    pub cpu: Option<(f64, f64)>,
    pub latency: Option<Histogram>,
    pub remarks: Vec<String>,
}

impl Pass {
    /// Whether a result can be computed from it.
    pub fn is_measured(&self) -> bool {
        self.seconds.is_finite()
            && self.seconds > 0.0
            && self.seconds < LONGEST
            && (if self.items_lead { self.items } else { self.bytes }) > 0
    }

    fn record(&self, place: usize) -> PhaseRecord {
        let elapsed = nanoseconds(self.seconds);
        let cpu = self.cpu.unwrap_or_default();
        let (read, written) = if self.writes { (0, self.bytes) } else { (self.bytes, 0) };
        let group = GroupOutcome {
            name: "all".into(),
            items: self.items,
            returned_ns: elapsed,
            bytes_read: read,
            bytes_written: written,
            workers_ns: Vec::new(),
            latency: self.latency.iter().map(|histogram| ("item".to_owned(), histogram.clone())).collect(),
            lead_ns: 0,
            pace: None,
        };
        let outcome = PhaseOutcome {
            phase: place,
            items: self.items,
            bytes_read: read,
            bytes_written: written,
            returned_ns: elapsed,
            cpu: CpuTime { user_ns: nanoseconds(cpu.0), system_ns: nanoseconds(cpu.1) },
            groups: vec![group],
            remarks: self.remarks.clone(),
            ..PhaseOutcome::default()
        };
        PhaseRecord {
            operation: self.operation.clone(),
            evidence: Evidence { observed_ns: elapsed, ..Evidence::default() },
            ..PhaseRecord::new(&self.name, Cache::AsFound, self.figure(), outcome)
        }
    }

    fn figure(&self) -> Figure {
        if self.items_lead { Figure::ItemsPerSecond } else { Figure::BytesPerSecond }
    }

    fn facts(&self) -> PhaseFacts {
        PhaseFacts {
            name: self.name.clone(),
            title: self.title.clone(),
            doing: self.title.to_lowercase(),
            operation: self.operation.clone(),
            cache_label: "as-found".into(),
            figure: self.figure(),
            ..PhaseFacts::default()
        }
    }
}

/// One contender's run of the whole work.
#[derive(Debug, Clone, Default)]
pub(super) struct Round {
    pub contender: String,
    pub began_ms: Option<i64>,
    pub passes: Vec<Pass>,
    /// Remarks for every result of the round.
    pub remarks: Vec<String>,
}

/// Facts about the source, once per file.
pub(super) struct Source<'a> {
    pub program: String,
    pub file: &'a str,
    pub workload: &'a str,
    pub title: String,
}

/// A run from the rounds of a file, numbered per contender.
pub(super) fn imported(source: &Source, rounds: Vec<Round>) -> Result<Imported, String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
    let mut labels: Vec<String> = Vec::new();
    let mut facts: Vec<PhaseFacts> = Vec::new();
    let mut blocks: BTreeMap<String, u32> = BTreeMap::new();
    let mut trials = Vec::new();
    for (position, mut round) in rounds.into_iter().enumerate() {
        round.passes.retain(Pass::is_measured);
        if round.passes.is_empty() {
            continue;
        }
        let known = labels.iter().position(|label| *label == round.contender);
        let contender = known.unwrap_or_else(|| {
            labels.push(round.contender.clone());
            labels.len() - 1
        });
        for pass in &round.passes {
            if !facts.iter().any(|known| known.name == pass.name) {
                facts.push(pass.facts());
            }
        }
        let block = blocks.entry(round.contender.clone()).or_default();
        let began = round.began_ms.unwrap_or(now).clamp(0, LATEST_MS / 2);
        let place = |pass: &Pass| facts.iter().position(|known| known.name == pass.name).unwrap_or_default();
        trials.push(trial(source, &round, (*block, position as u32, contender as u32, began), place));
        *block += 1;
    }
    if trials.is_empty() {
        return Err("it has no figure".into());
    }
    let began_ms = trials.iter().map(|trial| trial.began_ms).min().unwrap_or(now);
    let ended_ms = trials.iter().map(|trial| trial.ended_ms).max();
    let work = WorkRecord {
        name: source.workload.into(),
        scale: SCALE.into(),
        title: source.title.clone(),
        phases: facts,
        ..WorkRecord::default()
    };
    let contenders = labels.into_iter().enumerate().map(|(index, label)| ContenderRecord {
        index: index as u32,
        label,
        ..ContenderRecord::default()
    });
    Ok(Imported { contenders: contenders.collect(), run: run(source, work, began_ms, ended_ms), trials })
}

fn run(source: &Source, work: WorkRecord, began_ms: i64, ended_ms: Option<i64>) -> RunRecord {
    RunRecord {
        id: String::new(),
        began_ms,
        ended_ms,
        seconds: None,
        status: RunStatus::Finished,
        ending: Some(format!("imported from {}", source.file)),
        new: NewRun {
            title: format!("{}, read from {}", source.program, source.file),
            plan: None,
            seed: 0,
            machine: None,
            merged: None,
            version: env!("CARGO_PKG_VERSION").into(),
            command_line: vec![],
            origin: Origin::Foreign { program: source.program.clone(), file: source.file.into() },
            works: vec![work],
        },
        ceiling: None,
    }
}

fn trial(
    source: &Source,
    round: &Round,
    (block, position, contender, began_ms): (u32, u32, u32, i64),
    place: impl Fn(&Pass) -> usize,
) -> TrialRecord {
    let seconds: f64 = round.passes.iter().map(|pass| pass.seconds).sum();
    TrialRecord {
        began_ms,
        ended_ms: began_ms.saturating_add((seconds * 1e3) as i64),
        remarks: round.remarks.clone(),
        phases: round.passes.iter().map(|pass| pass.record(place(pass))).collect(),
        ..TrialRecord::begun((block, position), contender, source.workload, SCALE)
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    // The cast saturates; NaN becomes 0, which the ledger treats as not measured.
    (seconds.clamp(0.0, LONGEST) * 1e9).round() as u64
}
