//! A made-up run, for tests only: contenders, workloads, twins, failures and unstable cells through the ledger's API.
//! In: its size. Out: an open ledger and the run's id. None of its figures was ever measured.

#![allow(dead_code)]

mod draw;
pub mod kinds;
mod phases;
pub mod works;

use draw::Draw;
use ledger::outcome::Ceiling;
use ledger::{
    Access, CommandRecord, ContenderRecord, Ledger, NewRun, Origin, RunStatus, TrialRecord, TrialStatus, WorkRecord,
};
use records::plan::{Place, ResolvedPlan, Sampling, Until};
use records::{
    BlockDevice, Closing, Contender, Cpu, DataMode, Durability, Found, Journaling, Machine, OptionFound, Usage,
    Virtualisation,
};
use report::{Material, View};
use std::path::PathBuf;

/// A ledger in a folder of its own.
pub struct Bench {
    pub folder: tempfile::TempDir,
    pub ledger: Ledger,
    pub run: String,
}

/// The size of the made-up run.
#[derive(Clone, Copy)]
pub struct Size {
    pub contenders: usize,
    pub blocks: u32,
}

/// Names with their speed relative to the first; the last ones are only in large runs.
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

/// One contender of a made-up run.
pub struct Entry {
    pub label: String,
    pub asked: Contender,
    pub speed: f64,
}

impl Entry {
    pub fn new(label: &str, speed: f64, asked: Contender) -> Self {
        Self { label: label.into(), asked, speed }
    }

    fn known((label, speed): (&str, f64)) -> Self {
        let mut words = label.split(' ').map(str::to_owned);
        let asked = Contender {
            filesystem: words.next().unwrap_or_default(),
            mkfs: words.collect(),
            mount: "noatime".into(),
            scheduler: Some("none".into()),
            ..Contender::default()
        };
        Self::new(label, speed, asked)
    }
}

/// A run with a twin of the first contender, one contender that fails at the start, one failed trial, and one
/// disturbed trial that was repeated.
pub fn made_up(size: Size) -> Bench {
    let entries: Vec<Entry> = CONTENDERS.into_iter().take(size.contenders).map(Entry::known).collect();
    made_of(&entries, works::all(), size.blocks)
}

/// Twelve contenders through six workloads, and the raw device.
pub fn large(blocks: u32) -> Bench {
    let entries: Vec<Entry> = CONTENDERS.into_iter().map(Entry::known).collect();
    let parallel = works::scaled().into_iter().take(1);
    made_of(&entries, works::all().into_iter().chain(parallel).collect(), blocks)
}

/// Three filesystems, each with three schedulers: bfq costs xfs a third and the others a tenth.
pub fn with_schedulers(blocks: u32) -> Bench {
    let mut entries = Vec::new();
    for (filesystem, speed) in [("ext4", 1.0), ("xfs", 0.9), ("btrfs", 0.6)] {
        for (scheduler, factor) in [("none", 1.0), ("mq-deadline", 1.005), ("bfq", 0.9)] {
            let factor = if (filesystem, scheduler) == ("xfs", "bfq") { 0.66 } else { factor };
            let axes = [("scheduler".to_owned(), scheduler.to_owned())].into();
            let asked = Contender { scheduler: Some(scheduler.into()), axes, ..Contender::plain(filesystem) };
            entries.push(Entry::new(&format!("{filesystem}+{scheduler}"), speed * factor, asked));
        }
    }
    made_of(&entries, works::all().into_iter().take(2).collect(), blocks)
}

/// Two filesystems of three fills, and the same work by one to eight processes.
pub fn filled_and_scaled(blocks: u32) -> Bench {
    let mut entries = Vec::new();
    for (filesystem, speed) in [("ext4", 1.0), ("xfs", 0.9)] {
        for (fill, factor) in [(0.0, 1.0), (0.4, 0.95), (0.8, 0.6)] {
            let label = if fill == 0.0 { filesystem.into() } else { format!("{filesystem} {}% full", fill * 100.0) };
            let asked = Contender { fill: Some(fill), ..Contender::plain(filesystem) };
            entries.push(Entry::new(&label, speed * factor, asked));
        }
    }
    made_of(&entries, works::scaled(), blocks)
}

/// One filesystem that writes in place and one that does not, and work by one to eight processes; with eight a crash may destroy data
/// written in place.
pub fn weaker_in_place(blocks: u32) -> Bench {
    let entries = ["ext4", "btrfs"].map(|label| Entry::new(label, 1.0, Contender::plain(label)));
    let mut works = works::scaled();
    works[3].weaker_in_place = vec!["processes".into()];
    made_of(&entries, works, blocks)
}

/// Two filesystems, of which the faster one does not keep data in order.
pub fn one_that_keeps_data(blocks: u32) -> Bench {
    let entries =
        [("ext4", 1.0), ("ext2", 1.5)].map(|(label, speed)| Entry::new(label, speed, Contender::plain(label)));
    made_of(&entries, works::all().into_iter().take(2).collect(), blocks)
}

/// One filesystem at several axis values, each with its speed, through these workloads.
pub fn on_axes(places: &[(&[(&str, &str)], f64)], works: Vec<WorkRecord>, blocks: u32) -> Bench {
    on_axes_where(places, works, blocks, &|_| {})
}

/// The same, with a change to each trial.
pub fn on_axes_where(
    places: &[(&[(&str, &str)], f64)],
    works: Vec<WorkRecord>,
    blocks: u32,
    each: &dyn Fn(&mut TrialRecord),
) -> Bench {
    let entries: Vec<Entry> = (places.iter())
        .map(|(places, speed)| {
            let mut asked = Contender::plain("ext4");
            places.iter().for_each(|(name, value)| axes::put(&mut asked, name, value));
            Entry::new(&axes::label(&asked), *speed, asked)
        })
        .collect();
    made_with(&entries, works, blocks, (&|_| {}, each))
}

/// A filesystem, and the raw device below it.
pub fn beside_raw_device(blocks: u32) -> Bench {
    made_of(&contenders_of(&[("ext4", 1.0), (records::DEVICE, 1.2)]), works::all(), blocks)
}

fn contenders_of(all: &[(&str, f64)]) -> Vec<Entry> {
    all.iter().map(|(name, speed)| Entry::new(name, *speed, Contender::plain(name))).collect()
}

/// One filesystem with two limits of memory.
pub fn limited(blocks: u32) -> Bench {
    let entries = [("ext4 memory=512M", 1.0), ("ext4 memory=2G", 1.2)].map(Entry::known);
    made_of(&entries, works::all().into_iter().take(1).collect(), blocks)
}

fn made_of(entries: &[Entry], works: Vec<WorkRecord>, blocks: u32) -> Bench {
    made_with(entries, works, blocks, (&|_| {}, &|_| {}))
}

/// Special parts of a kind of run: in its head, and in each trial.
type Own<'o> = (&'o dyn Fn(&mut NewRun), &'o dyn Fn(&mut TrialRecord));

fn made_with(entries: &[Entry], works: Vec<WorkRecord>, blocks: u32, own: Own) -> Bench {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path: PathBuf = folder.path().join("bakeoff.db");
    let mut ledger = Ledger::open(&path, Access::Write).expect("a fresh ledger opens");
    let contenders = contenders(entries);
    let mut new = new_run(works.clone());
    own.0(&mut new);
    let run = ledger.begin_run(&new, &contenders).expect("the run begins");
    ledger.set_ceiling(&run, &ceiling()).expect("the ceiling is kept");
    let mut draw = Draw::new(7);
    let is_raw = |entry: &Entry| entry.asked.filesystem == records::DEVICE;
    // A raw device does its own work only, and alone.
    let does =
        |entry: &Entry, work: &WorkRecord| !entries.iter().any(is_raw) || is_raw(entry) == (work.name == "device");
    for block in 0..blocks {
        for contender in contenders.iter().filter(|contender| contender.error.is_none()) {
            let entry = &entries[contender.twin_of.unwrap_or(contender.index) as usize];
            for work in works.iter().filter(|work| does(entry, work)) {
                let mut made = trial(&mut draw, block, (contender, entry), work);
                own.1(&mut made);
                keep(&mut ledger, &run, made);
            }
        }
    }
    ledger.end_run(&run, RunStatus::Finished, "every figure is precise to 5 %", 60.0).expect("the run ends");
    Bench { folder, ledger, run }
}

fn keep(ledger: &mut Ledger, run: &str, mut trial: TrialRecord) {
    let (block, contender) = (trial.block, trial.contender);
    if block == 1 && contender == 2 && trial.workload == "mail" {
        trial.status = TrialStatus::Failed;
        trial.reason = Some("writing new/17: No space left on device (ENOSPC) at offset 4096".into());
        trial.phases.truncate(1);
    }
    if block == 0 && contender == 1 && trial.workload == "small-files" {
        let again = TrialRecord { attempt: 1, ..trial.clone() };
        trial.status = TrialStatus::Disturbed;
        trial.reason = Some("12 % of CPU time was stolen".into());
        ledger.keep_trial(run, &trial).expect("the disturbed trial is kept");
        trial = again;
    }
    ledger.keep_trial(run, &trial).expect("the trial is kept");
}

fn trial(
    draw: &mut Draw,
    block: u32,
    (contender, entry): (&ContenderRecord, &Entry),
    work: &WorkRecord,
) -> TrialRecord {
    let label = entry.label.as_str();
    let workers = work.settings.get("processes").and_then(|count| count.parse::<f64>().ok()).unwrap_or(1.0);
    let speed = entry.speed * workers.powf(0.7);
    let began = 1_795_000_000_000 + i64::from(block) * 600_000 + i64::from(contender.index) * 20_000;
    TrialRecord {
        began_ms: began,
        ended_ms: began + 18_000,
        seconds: Some(18.0),
        found: Some(found(label)),
        closing: Some(Closing {
            unmount_seconds: Some(0.02),
            check_seconds: Some(0.4),
            written_bytes: Some(3 << 30),
            ..Closing::default()
        }),
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
        ..TrialRecord::begun((block, contender.index), contender.index, &work.name, &work.scale)
    }
}

fn contenders(entries: &[Entry]) -> Vec<ContenderRecord> {
    let record = |index: usize, label: &str, asked: &Contender, twin_of: Option<u32>| ContenderRecord {
        index: index as u32,
        label: label.into(),
        asked: Some(asked.clone()),
        twin_of,
        error: None,
        cause: None,
    };
    let mut records: Vec<_> =
        entries.iter().enumerate().map(|(at, entry)| record(at, &entry.label, &entry.asked, None)).collect();
    records.push(record(entries.len(), &format!("{}, again", entries[0].label), &entries[0].asked, Some(0)));
    let error = "mkfs.reiserfs is not there; install reiserfsprogs, and give it a kernel older than 6.13";
    let absent = record(entries.len() + 1, "reiserfs", &Contender::plain("reiserfs"), None);
    records.push(ContenderRecord { error: Some(error.into()), ..absent });
    records
}

fn found(label: &str) -> Found {
    let cow = label.starts_with("btrfs") || label.starts_with("zfs") || label.starts_with("nilfs");
    let data = match label {
        label if label.starts_with("ext2") || label.contains("writeback") => DataMode::Writeback,
        _ if cow => DataMode::Atomic,
        _ => DataMode::Ordered,
    };
    Found {
        mount_options: vec!["rw".into(), "noatime".into()],
        durability: Durability {
            flushes: Some(!label.contains("barrier=0")),
            data,
            journal: if cow { Journaling::Trees } else { Journaling::Metadata },
            checksums_data: Some(cow && !label.contains("nodatacow")),
            checksums_metadata: Some(true),
            copy_on_write: Some(cow && !label.contains("nodatacow")),
        },
        scheduler: Some("none".into()),
        options: options(label),
        device: Some(BlockDevice { size_bytes: 8 << 30, ..BlockDevice::default() }),
        empty: Usage {
            total_bytes: (8 << 30) - (100 << 20),
            used_bytes: 28 << 20,
            available_bytes: 7 << 30,
            inodes: (!cow).then_some(524_288),
            inodes_free: None,
        },
        mkfs_seconds: Some(0.12),
        mount_seconds: Some(0.03),
        ..Found::nothing()
    }
}

fn options(label: &str) -> Vec<OptionFound> {
    let option = |asked: &str, found: Option<&str>, by: &str| OptionFound {
        asked: asked.into(),
        found: found.map(str::to_owned),
        by: by.into(),
    };
    match label.contains("rmapbt") {
        false => Vec::new(),
        true => vec![
            option("mkfs -m rmapbt=0", Some("rmapbt=0"), "xfs_info"),
            option("mkfs -l size=64m", None, "xfs_info shows the log in blocks of the filesystem"),
            option("mount logbsize=256k", Some("logbsize=256k"), "mountinfo"),
        ],
    }
}

fn new_run(works: Vec<WorkRecord>) -> NewRun {
    NewRun {
        title: "Which filesystem is best on this disk?".into(),
        plan: Some(plan()),
        seed: 4_261_912,
        machine: Some(machine()),
        merged: None,
        version: "0.1.0".into(),
        command_line: ["bakeoff", "run", "--fs", "ext4,xfs", "--image", "8G"].map(str::to_owned).to_vec(),
        origin: Origin::Measured,
        works,
    }
}

fn plan() -> ResolvedPlan {
    ResolvedPlan {
        title: String::new(),
        place: Place::Image { bytes: 8 << 30, scratch: "/var/tmp".into() },
        terms: records::custody::Terms::default(),
        contenders: Vec::new(),
        works: Vec::new(),
        cold: records::ColdWay::Remount,
        turns: records::Turns::Trial,
        split: false,
        sampling: Sampling {
            samples: None,
            precision: 0.05,
            budget_seconds: None,
            screen_first: false,
            until: Until::Precision,
            blocks: (3, 30),
            repeat_disturbed: true,
            steady: false,
        },
        seed: 4_261_912,
        shard: None,
        ages: None,
        filesystems: Vec::new(),
        notes: Vec::new(),
    }
}

fn machine() -> Machine {
    let tools = [("mkfs.ext4", "1.47.0"), ("mkfs.xfs", "6.1.0"), ("mkfs.btrfs", "6.2")];
    Machine {
        kernel: "6.18.5".into(),
        distribution: "Debian GNU/Linux 12".into(),
        virtualisation: Virtualisation { kind: "kvm".into(), ..Virtualisation::default() },
        cpu: Cpu { model: "A processor of 2 cores".into(), cores: Some(2), ..Cpu::default() },
        memory_bytes: 25_769_803_776,
        device: vec![("loop0".into(), "loop image, scheduler none, cache write back".into())],
        tools: tools.map(|(name, version)| (name.to_owned(), version.to_owned())).into(),
        ..Machine::default()
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

/// Filesystems, each with its speed, on three kernels whose names are not in order: on the newest one xfs takes 1.5 times as long, ext4 the
/// same time.
pub fn on_kernels(filesystems: &[(&str, f64)], blocks: u32) -> Bench {
    let mut entries = Vec::new();
    for &(filesystem, speed) in filesystems {
        for (kernel, factor) in [("debian:6.12", 1.0), ("debian:7.2", 0.66), ("debian:6.6", 1.0)] {
            let factor = if filesystem == "ext4" { 1.0 } else { factor };
            let axes = [("kernel".to_owned(), kernel.to_owned())].into();
            let asked = Contender { kernel: Some(kernel.into()), axes, ..Contender::plain(filesystem) };
            entries.push(Entry::new(&format!("{filesystem} on {kernel}"), speed * factor, asked));
        }
    }
    made_of(&entries, works::all().into_iter().take(2).collect(), blocks)
}

/// A run as read and judged.
pub fn viewed(bench: &Bench) -> (Material, View) {
    let material = Material::read(&bench.ledger, Some(&bench.run)).expect("the run is read");
    let view = View::of(&material).expect("the run is judged");
    (material, view)
}

/// Keeps a file for inspection by hand.
pub fn leave(name: &str, content: impl AsRef<[u8]>) {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(path, content).expect("it can be looked at afterwards");
}
