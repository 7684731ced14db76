//! A made-up run, for tests only: contenders, workloads, twins, failures and unstable cells through the ledger's API.
//! In: how large it is to be. Out: an open ledger and the run's id. None of its figures was ever measured.

#![allow(dead_code)]

mod draw;
mod phases;
mod works;

use draw::Draw;
use ledger::outcome::Ceiling;
use ledger::{
    Access, CommandRecord, ContenderRecord, Ledger, NewRun, Origin, RunStatus, TrialRecord, TrialStatus, WorkRecord,
};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A ledger in a folder of its own.
pub struct Bench {
    pub folder: tempfile::TempDir,
    pub ledger: Ledger,
    pub run: String,
}

/// How large the made-up run is.
#[derive(Clone, Copy)]
pub struct Size {
    pub contenders: usize,
    pub blocks: u32,
}

/// Names with their speed against the first; the last are only there in large runs.
const CONTENDERS: [(&str, f64); 12] = [
    ("ext4", 1.0),
    ("xfs", 0.97),
    ("btrfs", 0.62),
    ("ext2", 1.01),
    ("ext3", 0.71),
    ("zfs", 0.33),
    ("xfs rmapbt=0 logbsize=256k", 1.04),
    ("btrfs nodatacow", 0.88),
    ("ext4 data=writeback barrier=0", 1.22),
    ("f2fs", 0.93),
    ("nilfs2", 0.51),
    ("jfs", 0.80),
];

/// A run of six contenders and four blocks.
pub fn usual() -> Bench {
    made_up(Size { contenders: 6, blocks: 4 })
}

/// A run with a twin of the first contender, one contender that fails at the start, one failed trial, and one
/// disturbed trial that was repeated.
pub fn made_up(size: Size) -> Bench {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path: PathBuf = folder.path().join("bakeoff.db");
    let mut ledger = Ledger::open(&path, Access::Write).expect("a fresh ledger opens");
    let works = works::all();
    let contenders = contenders(size.contenders);
    let run = ledger.begin_run(&new_run(works.clone()), &contenders).expect("the run begins");
    ledger.set_ceiling(&run, &ceiling()).expect("the ceiling is kept");
    let mut draw = Draw::new(7);
    for block in 0..size.blocks {
        for contender in contenders.iter().filter(|contender| contender.error.is_none()) {
            for work in &works {
                keep(&mut ledger, &run, &mut draw, block, contender, work);
            }
        }
    }
    ledger.set_status(&run, RunStatus::Finished, Some("every figure is precise to 5 %")).expect("the run ends");
    Bench { folder, ledger, run }
}

fn keep(ledger: &mut Ledger, run: &str, draw: &mut Draw, block: u32, contender: &ContenderRecord, work: &WorkRecord) {
    let mut trial = trial(draw, block, contender, work);
    if block == 1 && contender.index == 2 && work.name == "mail" {
        trial.status = TrialStatus::Failed;
        trial.reason = Some("writing new/17: No space left on device (ENOSPC) at offset 4096".into());
        trial.phases.truncate(1);
    }
    if block == 0 && contender.index == 1 && work.name == "small-files" {
        let again = TrialRecord { attempt: 1, ..trial.clone() };
        trial.status = TrialStatus::Disturbed;
        trial.reason = Some("12 % of CPU time was stolen".into());
        ledger.keep_trial(run, &trial).expect("the disturbed trial is kept");
        trial = again;
    }
    ledger.keep_trial(run, &trial).expect("the trial is kept");
}

fn trial(draw: &mut Draw, block: u32, contender: &ContenderRecord, work: &WorkRecord) -> TrialRecord {
    let original = contender.twin_of.unwrap_or(contender.index) as usize;
    let speed = CONTENDERS[original].1;
    let label = CONTENDERS[original].0;
    let began = 1_795_000_000_000 + i64::from(block) * 600_000 + i64::from(contender.index) * 20_000;
    TrialRecord {
        block,
        position: contender.index,
        attempt: 0,
        contender: contender.index,
        workload: work.name.clone(),
        scale: work.scale.clone(),
        began_ms: began,
        ended_ms: began + 18_000,
        status: TrialStatus::Done,
        reason: None,
        found: found(label),
        closing: json!({"unmount_seconds": 0.02, "check_seconds": 0.4, "check": "clean", "space_bytes": 4_718_592}),
        remarks: vec![],
        phases: work
            .phases
            .iter()
            .enumerate()
            .flat_map(|(at, facts)| phases::passes(draw, at, facts, label, speed))
            .collect(),
        commands: vec![
            CommandRecord {
                line: format!("mkfs.{} /dev/loop0", label.split(' ').next().unwrap_or("ext4")),
                status: Some(0),
                output: "Creating filesystem with 262144 4k blocks and 65536 inodes".into(),
                elapsed_ns: 120_000_000,
            },
            CommandRecord {
                line: "mount -o noatime /dev/loop0 /run/bakeoff/mount".into(),
                status: Some(0),
                output: String::new(),
                elapsed_ns: 9_000_000,
            },
        ],
    }
}

fn contenders(count: usize) -> Vec<ContenderRecord> {
    let record = |index: usize, label: &str, twin_of: Option<u32>, error: Option<&str>| ContenderRecord {
        index: index as u32,
        label: label.into(),
        asked: json!({"filesystem": label.split(' ').next(), "mkfs": [], "mount": "noatime", "scheduler": "none"}),
        twin_of,
        error: error.map(str::to_owned),
    };
    let mut records: Vec<_> =
        CONTENDERS.iter().take(count).enumerate().map(|(at, (label, _))| record(at, label, None, None)).collect();
    records.push(record(count, "ext4, again", Some(0), None));
    let error = "mkfs.reiserfs is not there; install reiserfsprogs, and give it a kernel older than 6.13";
    records.push(record(count + 1, "reiserfs", None, Some(error)));
    records
}

fn found(label: &str) -> Value {
    let cow = label.starts_with("btrfs") || label.starts_with("zfs") || label.starts_with("nilfs");
    let data = match label {
        label if label.starts_with("ext2") || label.contains("writeback") => "writeback",
        _ if cow => "atomic",
        _ => "ordered",
    };
    json!({
        "mount_options": ["rw", "noatime"],
        "durability": {
            "flushes": !label.contains("barrier=0"),
            "data": data,
            "journal": if cow { "trees" } else { "metadata" },
            "checksums_data": cow && !label.contains("nodatacow"),
            "checksums_metadata": true,
            "copy_on_write": cow && !label.contains("nodatacow"),
        },
        "scheduler": "none",
        "mkfs_seconds": 0.12,
        "mount_seconds": 0.03,
    })
}

fn new_run(works: Vec<WorkRecord>) -> NewRun {
    NewRun {
        title: "Which filesystem is best on this disk?".into(),
        plan: json!({"samples": {"blocks": 4}, "device": {"image": "8 GiB"}}),
        seed: 4_261_912,
        machine: json!({
            "kernel": "6.18.5", "distribution": "Debian GNU/Linux 12", "virtualisation": "kvm",
            "cpu": {"model": "A processor of 2 cores", "cores": 2}, "memory_bytes": 25_769_803_776u64,
            "device": {"model": "loop image", "scheduler": "none", "write_cache": "write back"},
            "tools": {"mkfs.ext4": "1.47.0", "mkfs.xfs": "6.1.0", "mkfs.btrfs": "6.2"},
        }),
        version: "0.1.0".into(),
        command_line: ["bakeoff", "run", "--fs", "ext4,xfs", "--image", "8G"].map(str::to_owned).to_vec(),
        origin: Origin::Measured,
        works,
    }
}

fn ceiling() -> Ceiling {
    Ceiling {
        generate_bytes_per_second: 6.1e9,
        write_bytes_per_second: 3.9e9,
        clock_read_ns: 18.2,
        record_ns: 24.9,
        clock: "tsc".into(),
        clock_error: 0.000_02,
    }
}
