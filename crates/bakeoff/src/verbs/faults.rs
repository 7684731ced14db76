//! `bakeoff faults`: what each contender reports, returns wrong and keeps when its disk fails.
//! In: contenders and faults. Out: sentences and a table, or JSON.

use crate::args::FaultsArgs;
use crate::failure::Failure;
use crate::fault_table::{self, AllFaults};
use crate::served_disk::{self, Asked};
use crate::session::{STOPPED, stop_on_signals};
use disk::Disk;
use records::Contender;
use reliability::ReliabilityError;
use reliability::faults::{self, FAULTS, Harmed, KnownFault, Round};
use runner::Stop;
use staging::Stage;

/// Harms and tells.
pub fn faults(args: &FaultsArgs) -> Result<u8, Failure> {
    let known = named(&args.faults)?;
    let asked = served_disk::asked(&args.on, &[], Some("disks are only harmed"))?;
    let stop = stop_on_signals()?;
    let one = |contender: &Contender| of_one(contender, &asked, &known, args.rounds, &stop);
    let Some((contenders, refused)) = served_disk::each(&asked, one) else { return Ok(STOPPED) };
    let all = AllFaults { contenders, refused };
    served_disk::tell(&args.on, &all, &fault_table::findings(&all))?;
    served_disk::agree(all.contenders.iter().map(|one| (one.contender.as_str(), one.contradictions.as_slice())))?;
    match all.contenders.is_empty() {
        true => Err(Failure::new("no contender could be harmed; the reasons stand above")),
        false => Ok(0),
    }
}

/// The faults of these names; all where none is named.
fn named(names: &[String]) -> Result<Vec<&'static KnownFault>, Failure> {
    if names.is_empty() {
        return Ok(FAULTS.iter().collect());
    }
    let of = |name: &String| {
        let all: Vec<&str> = FAULTS.iter().map(|fault| fault.name).collect();
        faults::known(name)
            .ok_or_else(|| Failure::usage(format!("--fault {name}: there is none of this name; {}", all.join(", "))))
    };
    names.iter().map(of).collect()
}

fn of_one(
    contender: &Contender,
    asked: &Asked,
    known: &[&'static KnownFault],
    rounds: u32,
    stop: &Stop,
) -> Result<Harmed, ReliabilityError> {
    let label = &contender.label;
    let mut harmed = Harmed {
        contender: label.clone(),
        seed: asked.seed,
        kernel: reliability::kernel(),
        mount_options: vec![],
        faults: vec![],
        contradictions: vec![],
    };
    let mut class = records::Durability::unknown();
    for fault in known {
        eprintln!("{label}: {}", fault.name);
        let mut found: Vec<Round> = Vec::new();
        for round in 0..if fault.is_random() { rounds } else { 1 } {
            if stop() {
                return Err(ReliabilityError::Stopped);
            }
            let once = |stage: &mut Stage<'_>, disk: &mut Disk| {
                harmed.mount_options.clone_from(&stage.found().mount_options);
                class.clone_from(&stage.found().durability);
                faults::harm(stage, disk, fault, asked.seed.wrapping_add(u64::from(round)))
            };
            found.push(served_disk::with(contender, &asked.filesystems, asked.bytes, once)?);
        }
        harmed.faults.push(faults::of_rounds(fault, found));
    }
    harmed.against(&class);
    Ok(harmed)
}
