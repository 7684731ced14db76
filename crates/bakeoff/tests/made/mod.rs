//! A ledger with a made-up run, written through the ledger's own interface: known times, for tests of the output.
//! In: contenders with their times. Out: a ledger file. None of its figures was measured.

#![allow(dead_code, reason = "each test file uses the part that it needs")]

use ledger::{
    Access, ContenderRecord, Evidence, Ledger, NewRun, Origin, PhaseRecord, RunStatus, TrialRecord, WorkRecord,
};
use records::plan::{Place, ResolvedPlan, Sampling, Until};
use records::{BlockDevice, Closing, Contender, Found, Machine};
use std::collections::BTreeMap;
use std::path::Path;
use workload::facts::{PhaseFacts, TotalFacts};
use workload::outcome::{CpuTime, PhaseOutcome};
use workload::program::{Cache, Figure};

/// One contender: its name, and the seconds of its phases, returned and (for writes) durable.
pub struct Made {
    pub name: &'static str,
    /// Create: returned, durable.
    pub create: (f64, f64),
    /// Random reads.
    pub read: f64,
    /// Creating in hashed directories; in one directory it takes a second.
    pub hashed: f64,
    /// Relative scatter of times.
    pub scatter: f64,
    /// The modelled disk, if any.
    pub disk: Option<&'static str>,
}

impl Made {
    /// A contender whose phases all take `seconds`, and twice that until durable.
    pub fn of(name: &'static str, seconds: f64) -> Self {
        Self { name, create: (seconds, 2.0 * seconds), read: seconds, hashed: 1.0, scatter: 0.005, disk: None }
    }
}

/// Stores a run of these contenders in a ledger; returns its id.
pub fn keep(path: &Path, contenders: &[Made], blocks: u32) -> String {
    let mut ledger = Ledger::open(path, Access::Write).expect("the ledger opens");
    let works = vec![small_files(), directories()];
    let new = NewRun {
        title: "made up".into(),
        plan: Some(plan(blocks)),
        seed: 7,
        machine: Some(Machine::default()),
        merged: None,
        version: "test".into(),
        command_line: vec!["bakeoff".into(), "run".into()],
        origin: Origin::Measured,
        works,
    };
    let records: Vec<ContenderRecord> = contenders
        .iter()
        .enumerate()
        .map(|(index, made)| ContenderRecord {
            index: index as u32,
            label: made.name.into(),
            asked: Some(Contender {
                axes: made.disk.iter().map(|disk| ("disk".into(), (*disk).into())).collect(),
                ..Contender::plain(made.name)
            }),
            twin_of: None,
            error: None,
            cause: None,
        })
        .collect();
    let run = ledger.begin_run(&new, &records).expect("the run begins");
    for block in 0..blocks {
        for (index, made) in contenders.iter().enumerate() {
            let noise = 1.0 + made.scatter * (f64::from((block * 5 + index as u32 * 3) % 7) / 7.0);
            for (work, phases) in [("small-files", small(made, noise)), ("directories", dirs(made, noise))] {
                ledger.keep_trial(&run, &trial(block, index as u32, work, phases)).expect("the trial is kept");
            }
        }
    }
    ledger.end_run(&run, RunStatus::Finished, "all blocks were run", 60.0).expect("the run ends");
    run
}

fn plan(blocks: u32) -> ResolvedPlan {
    ResolvedPlan {
        title: "made up".into(),
        place: Place::Directories(Vec::new()),
        terms: records::custody::Terms::default(),
        contenders: Vec::new(),
        works: Vec::new(),
        cold: records::ColdWay::Remount,
        turns: records::Turns::Trial,
        split: false,
        sampling: Sampling {
            samples: Some(blocks),
            precision: 0.05,
            budget_seconds: None,
            screen_first: false,
            until: Until::Precision,
            blocks: (3, 30),
            repeat_disturbed: true,
            steady: false,
        },
        seed: 7,
        shard: None,
        ages: None,
        filesystems: Vec::new(),
        notes: Vec::new(),
    }
}

fn trial(block: u32, contender: u32, workload: &str, phases: Vec<PhaseRecord>) -> TrialRecord {
    let named = |name: &str| BlockDevice { name: name.into(), ..BlockDevice::default() };
    let found = Found {
        mount_options: vec!["rw".into()],
        device: Some(BlockDevice { backing_file: Some("/var/tmp/a.img".into()), ..named("loop3") }),
        below: vec![BlockDevice { rotational: true, ..named("sda") }],
        ..Found::nothing()
    };
    TrialRecord {
        began_ms: i64::from(block) * 60_000,
        ended_ms: i64::from(block) * 60_000 + 20_000,
        found: Some(found),
        closing: Some(Closing::default()),
        phases,
        ..TrialRecord::begun((block, contender), contender, workload, "quick")
    }
}

fn small(made: &Made, noise: f64) -> Vec<PhaseRecord> {
    vec![
        phase(0, "create", "create", made.create.0 * noise, Some(made.create.1 * noise)),
        phase(1, "read-random", "read-random", made.read * noise, None),
    ]
}

fn dirs(made: &Made, noise: f64) -> Vec<PhaseRecord> {
    vec![
        phase(0, "create-flat", "create", noise, Some(noise * 1.001)),
        phase(1, "create-hashed", "create", made.hashed * noise, Some(made.hashed * noise * 1.001)),
    ]
}

fn phase(at: usize, name: &str, operation: &str, returned: f64, durable: Option<f64>) -> PhaseRecord {
    let ns = |seconds: f64| (seconds * 1e9) as u64;
    let outcome = PhaseOutcome {
        phase: at,
        items: 1_000,
        bytes_read: if durable.is_none() { 1 << 20 } else { 0 },
        bytes_written: if durable.is_some() { 1 << 20 } else { 0 },
        returned_ns: ns(returned),
        durable_ns: durable.map(ns),
        cpu: CpuTime { user_ns: ns(returned * 0.1), system_ns: ns(returned * 0.3) },
        work_hash: 1,
        ..PhaseOutcome::default()
    };
    PhaseRecord {
        name: name.into(),
        operation: operation.into(),
        cache: Cache::Cold,
        figure: Figure::ItemsPerSecond,
        preparation: false,
        outcome,
        evidence: Evidence { dropped: Some(true), observed_ns: ns(returned), ..Evidence::default() },
    }
}

fn small_files() -> WorkRecord {
    let facts = vec![facts("create", "create", "cold", None), facts("read-random", "read-random", "cold", None)];
    let total = TotalFacts {
        name: "total".into(),
        title: "all steps".into(),
        doing: "all work on small files together".into(),
        operation: "total".into(),
        cache_label: "cold".into(),
        of: vec!["create".into(), "read-random".into()],
        part: false,
    };
    work("small-files", facts, vec![total])
}

fn directories() -> WorkRecord {
    let variants = ["flat", "hashed"];
    let facts = variants.map(|variant| facts(&format!("create-{variant}"), "create", "as-found", Some(variant)));
    work("directories", facts.to_vec(), vec![])
}

fn work(name: &str, phases: Vec<PhaseFacts>, totals: Vec<TotalFacts>) -> WorkRecord {
    let settings = BTreeMap::new();
    WorkRecord {
        name: name.into(),
        scale: "quick".into(),
        title: name.into(),
        about: String::new(),
        weaker_in_place: Vec::new(),
        settings,
        phases,
        totals,
    }
}

fn facts(name: &str, operation: &str, cache: &str, variant: Option<&str>) -> PhaseFacts {
    PhaseFacts {
        name: name.into(),
        title: name.into(),
        doing: format!("doing {name}"),
        operation: operation.into(),
        cache_label: cache.into(),
        variant: variant.map(str::to_owned),
        figure: Figure::ItemsPerSecond,
        figure_group: None,
        share_of: None,
        preparation: false,
        unranked: false,
        own: None,
        needs: Vec::new(),
    }
}
