//! Made-up runs of special kinds: many clients, several machines, modelled disks and guests.
//! In: the number of blocks. Out: a [`Bench`] whose trials have the additional records of such runs.

use super::{Bench, Entry, contenders_of, machine, made_with, works};
use ledger::WorkRecord;
use records::{
    Backend, ClientOutcome, Contender, Cpu, DiskLateness, Machine, Merged, Part, Percentiles, PhaseRecord, Together,
    TrialRecord,
};

/// The same work by one, two and four clients on two machines, of which the last one is the slowest.
pub fn with_clients(blocks: u32) -> Bench {
    let works: Vec<WorkRecord> = works::scaled()
        .into_iter()
        .take(3)
        .map(|mut work| {
            let clients = work.settings.remove("processes").expect("so many");
            work.scale = format!("quick, clients {clients}");
            work.settings.insert("clients".into(), clients);
            work
        })
        .collect();
    let clients =
        |trial: &TrialRecord| trial.scale.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(1);
    let each = |trial: &mut TrialRecord| {
        let clients = clients(trial);
        // Several clients do slightly more than one.
        for phase in &mut trial.phases {
            together(phase, clients);
        }
    };
    made_with(&contenders_of(&[("ext4", 1.0), ("xfs", 0.7)]), works, blocks, (&|_| {}, &each))
}

fn together(phase: &mut PhaseRecord, clients: u32) {
    let outcome = &mut phase.outcome;
    let all = outcome.returned_ns;
    let (skew, first) = (170_000 * u64::from(clients), all - all / 10);
    let one = |number: u32| ClientOutcome {
        host: format!("node{}", number % 2),
        began_ns: if number == 0 { 0 } else { skew },
        returned_ns: if number + 1 == clients { all } else { first },
        durable_ns: outcome.durable_ns,
        items: outcome.items / u64::from(clients),
        bytes_read: outcome.bytes_read / u64::from(clients),
        bytes_written: outcome.bytes_written / u64::from(clients),
        latency: vec![Some(Percentiles { count: 10, p50_ns: 40_000, p99_ns: 90_000, ..Percentiles::default() })],
    };
    outcome.together = Some(Box::new(Together {
        skew_ns: skew,
        clock_error_ns: 20_000,
        first_done_ns: first,
        last_done_ns: all,
        slowest: clients - 1,
        all_at_work_ns: first - skew,
        all_at_work_items: outcome.items as f64 * 0.85,
        all_at_work_bytes: (outcome.bytes_read + outcome.bytes_written) as f64 * 0.85,
        gathered_bytes: 3_000 * u64::from(clients),
        clients: (0..clients).map(one).collect(),
    }));
}

/// Every other block ran on another machine, which has another processor.
pub fn on_machines(contenders: usize, blocks: u32) -> Bench {
    let part = |index: u32| Part {
        index,
        run: format!("shard-{index}"),
        finished: true,
        machine: Some(Machine {
            hostname: format!("node{index}"),
            cpu: Cpu { model: format!("processor {index}"), ..Cpu::default() },
            ..machine()
        }),
        ceiling: None,
    };
    let entries = contenders_of(&[("ext4", 1.0), ("xfs", 0.97), ("btrfs", 0.62)][..contenders]);
    let merged = |run: &mut ledger::NewRun| run.merged = Some(Merged { of: 2, parts: vec![part(0), part(1)] });
    made_with(&entries, works::all().into_iter().take(2).collect(), blocks, (&merged, &|_| {}))
}

/// Rounds that resumed five hours later from one round on, and ran on a disk of half its speed from another.
pub fn at_times(blocks: u32, later: Option<u32>, slower: Option<u32>) -> Bench {
    const HOURS: i64 = 5 * 3_600_000;
    let entries = contenders_of(&[("ext4", 1.0), ("xfs", 0.9), ("btrfs", 0.62)]);
    let each = |trial: &mut TrialRecord| {
        if later.is_some_and(|later| trial.block >= later) {
            (trial.began_ms, trial.ended_ms) = (trial.began_ms + HOURS, trial.ended_ms + HOURS);
        }
        if slower.is_some_and(|slower| trial.block >= slower) {
            for outcome in trial.phases.iter_mut().map(|phase| &mut phase.outcome) {
                outcome.returned_ns *= 2;
                outcome.durable_ns = outcome.durable_ns.map(|elapsed| 2 * elapsed);
            }
        }
    };
    let works =
        works::all().into_iter().filter(|work| work.name == "small-files" || work.name == "sequential").collect();
    made_with(&entries, works, blocks, (&|_| {}, &each))
}

/// A filesystem, its values on axes, and its speed.
type Placed<'p> = (&'p str, &'p [(&'p str, &'p str)], f64);

/// Contenders on a modelled disk, each with its values on axes and its speed; in every second trial the disk was late by this share of its
/// own time, where it did any I/O.
pub fn on_modelled(places: &[Placed<'_>], works: Vec<WorkRecord>, blocks: u32, late: Option<f64>) -> Bench {
    let entries: Vec<Entry> = (places.iter())
        .map(|(filesystem, places, speed)| {
            let mut asked = Contender::plain(filesystem);
            axes::put(&mut asked, "disk", "hdd-7200");
            places.iter().for_each(|(name, value)| axes::put(&mut asked, name, value));
            Entry::new(&axes::label(&asked), *speed, asked)
        })
        .collect();
    let each = |trial: &mut TrialRecord| {
        let share = if trial.block.is_multiple_of(2) { late } else { late.map(|late| late / 4.0) };
        for phase in &mut trial.phases {
            phase.evidence.disk_late = share.map(|share| DiskLateness {
                requests: 100,
                share,
                unreachable: 0.0,
                avoidable: 0.0,
                median_ns: 12_000,
                p99_ns: 40_000,
            });
        }
    };
    made_with(&entries, works, blocks, (&|_| {}, &each))
}

/// Contenders on this machine and in guests: each with its speed and the backend of its guest.
pub fn in_guests(who: &[(&str, f64, Option<Backend>)], blocks: u32) -> Bench {
    let entries: Vec<Entry> = who
        .iter()
        .map(|(name, speed, backend)| {
            let mut asked = Contender::plain(name);
            if backend.is_some() {
                axes::put(&mut asked, "kernel", "debian:6.12");
            }
            Entry::new(&axes::label(&asked), *speed, asked)
        })
        .collect();
    let backends: Vec<Option<Backend>> = who.iter().map(|one| one.2).collect();
    let each = |trial: &mut TrialRecord| {
        // The control has the backend of the first contender.
        let backend = backends.get(trial.contender as usize).copied().unwrap_or(backends[0]);
        if let Some(found) = &mut trial.found {
            found.backend = backend;
        }
    };
    made_with(&entries, works::all().into_iter().take(2).collect(), blocks, (&|_| {}, &each))
}
