//! `bakeoff faults`: what each contender reports, returns wrong and keeps when its disk fails.
//! In: contenders and faults. Out: sentences and a table, or JSON.

use crate::args::FaultsArgs;
use crate::failure::Failure;
use crate::fault_table::{self, AllFaults};
use crate::served_disk::{self, Asked, Disks};
use crate::session::{STOPPED, stop_on_signals};
use disk::Disk;
use records::{Contender, Durability};
use reliability::ReliabilityError;
use reliability::faults::{self, FAULTS, Ground, Harmed, KnownFault, Round};
use runner::Stop;
use staging::{Stage, Target};

/// Tries of a round in a virtual machine: a busy host may not start one in time.
const TRIES: u32 = 3;
/// Most disks served in turn to a contender in a virtual machine, if the process that serves one is lost; earlier results still count.
const DISKS: u32 = 3;

/// Tests the faults, and prints the results.
pub fn faults(args: &FaultsArgs) -> Result<u8, Failure> {
    let known = named(&args.faults)?;
    let asked = served_disk::asked(&args.on, &args.kernel, Disks::Several, None)?;
    let stop = stop_on_signals()?;
    let one = |contender: &Contender| of_one(contender, &asked, &known, args.rounds, &stop);
    let Some((contenders, refused)) = served_disk::each(&asked, one) else { return Ok(STOPPED) };
    let all = AllFaults { contenders, refused, mounted_by: asked.mounted_by, served_disk: asked.served };
    served_disk::tell(&args.on, &all, &fault_table::findings(&all))?;
    let found = all.contenders.iter().map(|one| (one.contender.as_str(), one.contradictions.as_slice()));
    served_disk::agree(found, served_disk::none_took_part("harmed", &all.refused))
}

/// The faults of these names; all if none is named.
fn named(names: &[String]) -> Result<Vec<&'static KnownFault>, Failure> {
    if names.is_empty() {
        return Ok(FAULTS.iter().collect());
    }
    let of = |name: &String| {
        let all: Vec<&str> = FAULTS.iter().map(|fault| fault.name).collect();
        faults::known(name).ok_or_else(|| Failure::usage(format!("--fault {name}: unknown fault; {}", all.join(", "))))
    };
    names.iter().map(of).collect()
}

/// Tests one contender, fault by fault and round by round.
struct Harming<'a> {
    contender: &'a Contender,
    asked: &'a Asked,
    rounds: u32,
    stop: &'a Stop,
    class: Durability,
    harmed: Harmed,
}

fn of_one(
    contender: &Contender,
    asked: &Asked,
    known: &[&'static KnownFault],
    rounds: u32,
    stop: &Stop,
) -> Result<Harmed, ReliabilityError> {
    let harmed = Harmed {
        contender: contender.label.clone(),
        driver: None,
        seed: asked.seed,
        kernel: reliability::kernel(),
        guest: served_disk::in_guest(contender),
        mount_options: vec![],
        disks: axes::disks_of(contender),
        faults: vec![],
        contradictions: vec![],
    };
    let mut harming = Harming { contender, asked, rounds, stop, class: Durability::unknown(), harmed };
    if harming.harmed.guest {
        // One machine is booted for all rounds; each round runs in a copy of it.
        harming.in_guests(known)?;
    } else {
        harming.all(known, |harming, fault, seed| {
            let once = |stage: &mut Stage<'_>, disk: &mut Disk| harming.once(Ground::here(stage), disk, fault, seed);
            served_disk::with(contender, &asked.filesystems, asked.bytes, once)
        })?;
    }
    let Harming { mut harmed, class, .. } = harming;
    harmed.against(&class);
    Ok(harmed)
}

impl Harming<'_> {
    fn all(
        &mut self,
        known: &[&'static KnownFault],
        mut round: impl FnMut(&mut Self, &KnownFault, u64) -> Result<Round, ReliabilityError>,
    ) -> Result<(), ReliabilityError> {
        for fault in known {
            eprintln!("{}: {}", self.contender.label, fault.name);
            let mut found: Vec<Round> = Vec::new();
            for number in 0..if fault.is_random() { self.rounds } else { 1 } {
                if (self.stop)() {
                    return Err(ReliabilityError::Stopped);
                }
                found.push(round(self, fault, self.asked.seed.wrapping_add(u64::from(number)))?);
            }
            self.harmed.faults.push(faults::of_rounds(fault, found));
        }
        Ok(())
    }

    fn in_guests(&mut self, known: &[&'static KnownFault]) -> Result<(), ReliabilityError> {
        let (filesystems, bytes) = (&self.asked.filesystems, self.asked.bytes);
        let mut disks = 1;
        loop {
            let left = &known[self.harmed.faults.len()..];
            let done = served_disk::on_target(self.contender, filesystems, bytes, |target, disk| {
                self.all(left, |harming, fault, seed| harming.in_guest(target, disk, fault, seed))
            });
            match done {
                Err(ReliabilityError::Disk(error)) if disks < DISKS => {
                    eprintln!("{}: starting again with another disk: {error}", self.contender.label);
                    disks += 1;
                }
                done => return done,
            }
        }
    }

    /// A round in its own guest. A guest that is lost before its disk was harmed is tried again.
    fn in_guest(
        &mut self,
        target: &mut Target,
        disk: &mut Disk,
        fault: &KnownFault,
        seed: u64,
    ) -> Result<Round, ReliabilityError> {
        let mut tries = 1;
        loop {
            let staged = target.stage_in_guest(self.contender).map_err(ReliabilityError::from);
            let done = staged.and_then(|remote| self.once(Ground::in_guest(remote), disk, fault, seed));
            match done {
                Err(error) if tries < TRIES && !matches!(error, ReliabilityError::Disk(_)) => {
                    eprintln!("{}: retrying {}: {error}", self.contender.label, fault.name);
                    disk.mend()?;
                    tries += 1;
                }
                done => return done,
            }
        }
    }

    fn once(
        &mut self,
        mut ground: Ground<'_>,
        disk: &mut Disk,
        fault: &KnownFault,
        seed: u64,
    ) -> Result<Round, ReliabilityError> {
        let found = ground.setup().found;
        self.harmed.kernel = ground.kernel();
        self.harmed.driver = reliability::driver(&found).map(String::from);
        (self.harmed.mount_options, self.class) = (found.mount_options, found.durability);
        faults::harm(&mut ground, disk, fault, seed)
    }
}
