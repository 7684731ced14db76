//! `bakeoff powercut`: what each contender keeps of what it promised, and what it loses of the rest, when the power goes.
//! In: contenders. Out: sentences and a table, or JSON.

use crate::args::{PowercutArgs, What};
use crate::catalogue::Catalogue;
use crate::failure::Failure;
use crate::power_cuts::{self, PowerCuts, Refused};
use crate::session::{STOPPED, stop_on_signals};
use crate::{contenders, json, out, place, text};
use reliability::ReliabilityError;
use reliability::power_cut::{self, Cuts, Program, Survived, Work};
use runner::{Place, PlannedContender, Stop};
use staging::{Registry, ServedFolder, Target, Where};
use std::path::PathBuf;
use system::Journal;
use workload::plan::Plan;
use workload::quantity::{parse_bytes, parse_duration};

/// Contenders where none is named: those that distributions install.
const USUAL: [&str; 3] = ["ext4", "xfs", "btrfs"];
/// Memory for each byte of the disk: its content, what was written while it was recorded, and the state that is offered.
const MEMORY_FOR_DISK: u64 = 3;
/// Room for more than the image in the served folder.
const SPARE: u64 = 64 << 20;
/// How often progress is told, in states.
const TOLD: u32 = 100;

/// Cuts and tells.
pub fn powercut(args: &PowercutArgs) -> Result<u8, Failure> {
    let usage = |what: &str, problem: String| Failure::usage(format!("{what}: {problem}"));
    let bytes = parse_bytes(&args.image).map_err(|problem| usage(&format!("--image {}", args.image), problem))?;
    let quiet =
        parse_duration(&args.unsynced).map_err(|problem| usage(&format!("--unsynced {}", args.unsynced), problem))?;
    let seed = args.seed.unwrap_or_else(crate::resolve::fresh_seed);
    let work = program(args)?.map_or(Work::Promises { unsynced: quiet }, Work::Program);
    let cuts = Cuts { work, states: args.states, lying: args.lying_disk, seed };
    let mut catalogue = Catalogue::with(&[], &args.filesystems)?;
    catalogue.filesystems = catalogue.filesystems.may_run();
    let competing = competing(args, &catalogue, bytes)?;
    fits(bytes)?;
    for said in place::clean_folders(&[])? {
        eprintln!("{said}");
    }
    let stop = stop_on_signals()?;
    let (mut survived, mut refused) = (Vec::new(), Vec::new());
    for contender in &competing {
        let label = &contender.asked.label;
        match of_one(contender, &catalogue.filesystems, bytes, &cuts, &stop) {
            Ok(one) => survived.push(one),
            Err(ReliabilityError::Stopped) => return Ok(STOPPED),
            Err(error) => refused.push(Refused { contender: label.clone(), why: error.to_string() }),
        }
    }
    let all = PowerCuts { contenders: survived, refused };
    if args.json {
        json::print(&all)?;
    } else {
        out::data(&power_cuts::told(&all, text::width()));
    }
    match all.contenders.is_empty() {
        true => Err(Failure::new("no contender could be cut; the reasons stand above")),
        false => Ok(0),
    }
}

/// The program whose power is cut, where one is named.
fn program(args: &PowercutArgs) -> Result<Option<Program>, Failure> {
    let words = |option: &str, text: &Option<String>| {
        let Some(text) = text else { return Ok(Vec::new()) };
        let unclear = |error| Failure::usage(format!("{option} '{text}': {error}"));
        shell_words::split(text).map_err(unclear)
    };
    let problem = |problem: String| Failure::usage(format!("--time-limit {}: {problem}", args.time_limit));
    let limit = parse_duration(&args.time_limit).map_err(problem)?;
    let command = words("--command", &args.command)?;
    if command.is_empty() {
        return Ok(None);
    }
    let (prepare, check) = (words("--prepare", &args.prepare)?, words("--check", &args.check)?);
    Ok(Some(Program { prepare, command, check, limit }))
}

fn competing(args: &PowercutArgs, catalogue: &Catalogue, bytes: u64) -> Result<Vec<PlannedContender>, Failure> {
    let fs = if args.fs.is_empty() { USUAL.map(String::from).to_vec() } else { args.fs.clone() };
    let what =
        What { fs, mkfs: args.mkfs.clone(), mount: args.mount.clone(), axis: args.axis.clone(), ..What::default() };
    let place = Place::Image { bytes, scratch: PathBuf::from(crate::scratch::DEFAULT) };
    let (entries, _) = contenders::entries(&what, &Plan::default(), catalogue, &place)?;
    let in_guest = entries.iter().find(|entry| staging::is_guest(entry.asked.kernel.as_deref()));
    match in_guest {
        Some(entry) => Err(Failure::usage(format!(
            "{} runs in a virtual machine, and power cuts are only made on this machine's own kernel: leave it out",
            entry.asked.label
        ))),
        None => Ok(entries),
    }
}

fn fits(bytes: u64) -> Result<(), Failure> {
    let (needed, available) = (bytes.saturating_mul(MEMORY_FOR_DISK), system::in_memory::available());
    if needed <= available {
        return Ok(());
    }
    let (image, needed, free) =
        (records::show_bytes(bytes), records::show_bytes(needed), records::show_bytes(available));
    Err(Failure::usage(format!(
        "--image {image}: the disk is kept in memory and takes up to {needed}, and {free} are free; name a smaller one"
    )))
}

fn of_one(
    contender: &PlannedContender,
    filesystems: &Registry,
    bytes: u64,
    cuts: &Cuts,
    stop: &Stop,
) -> Result<Survived, ReliabilityError> {
    let label = contender.asked.label.as_str();
    let journal = Journal::new();
    let mut folder = ServedFolder::open(&crate::verbs::serve_disk::command(), bytes + SPARE, &journal)?;
    let place = Where::Image { bytes, folder: folder.path().to_owned() };
    eprintln!("{label}: at work on a disk that is recorded");
    let watcher = |states: u32| {
        if states > 0 && states.is_multiple_of(TOLD) {
            eprintln!("{label}: {states} of {} states looked at", cuts.states);
        }
        !stop()
    };
    let survived = {
        let mut target = Target::open(filesystems, &place, &journal)?;
        let mut stage = target.stage(&contender.asked)?;
        let disk = folder.disk().ok_or(ReliabilityError::NoImage)?;
        let survived = power_cut::cut(&mut stage, disk, label, cuts, &watcher)?;
        stage.close()?;
        survived
    };
    folder.close()?;
    Ok(survived)
}
