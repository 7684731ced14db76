//! `bakeoff powercut`: which guarantees each contender keeps after a power cut, and what else it loses.
//! In: contenders. Out: sentences and a table, or JSON.

use crate::args::{LaterSync, PowercutArgs};
use crate::contenders;
use crate::failure::{Failure, given};
use crate::measured;
use crate::mounted_by;
use crate::out;
use crate::power_cuts::{self, PowerCuts};
use crate::scratch;
use crate::served_disk::{self, Asked, Disks};
use crate::session::{STOPPED, stop_on_signals};
use disk::Disk;
use records::Contender;
use reliability::ReliabilityError;
use reliability::power_cut::{
    self, BeyondPosix, Chosen, Cuts, Given, Ground, KeptState, Later, Look, Program, Survived, Work,
};
use runner::Stop;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use system::scratch_folders;
use workload::quantity::parse_duration;

/// Progress reports: how many, and the most states between two.
const PROGRESS: (u32, u32) = (10, 100);
/// Prefix of folders in which programs are recorded; the process id follows.
const RECORDED: &str = "bakeoff-program-";

/// Simulates power cuts, and prints the results.
pub fn powercut(args: &PowercutArgs) -> Result<u8, Failure> {
    if let Some(path) = &args.again {
        return again(args, path);
    }
    let quiet = given("--unsynced", &args.unsynced, parse_duration)?;
    let chosen = chosen(args)?;
    let work = program(args)?.map_or(Work::Promises { unsynced: quiet, chosen }, Work::Program);
    let only = args.command.as_ref().map(|_| "power cuts of programs run only");
    let asked = served_disk::asked(&args.on, &args.kernel, Disks::One, only)?;
    let (lying, torn, keep) = (args.lying_disk, args.torn, args.keep.clone());
    let cuts = Cuts { work, states: args.states, lying, torn, keep, seed: asked.seed };
    let stop = stop_on_signals()?;
    let Some((contenders, refused)) = served_disk::each(&asked, |one| of_one(one, &asked, &cuts, &stop)) else {
        return Ok(STOPPED);
    };
    let beyond_posix = match &cuts.work {
        Work::Program(program) if contenders.iter().any(kept) => match beyond_posix(program, asked.bytes, &stop) {
            Ok(looked) => Some(looked),
            Err(ReliabilityError::Stopped) => return Ok(STOPPED),
            Err(error) => return Err(Failure::new(error.to_string())),
        },
        _ => None,
    };
    let (mounted_by, served_disk) = (asked.mounted_by, asked.served);
    let all = PowerCuts { contenders, refused, mounted_by, served_disk, beyond_posix };
    served_disk::tell(&args.on, &all, &power_cuts::findings(&all))?;
    measured::keep(&all.contenders);
    let found = all.contenders.iter().map(|one| (one.contender.as_str(), one.contradictions.as_slice()));
    served_disk::agree(found, served_disk::none_took_part("cut", &all.refused))
}

/// Runs the work of the guarantees and checks the states, for a stage elsewhere (in a guest).
pub fn witness() -> Result<u8, Failure> {
    let value = reliability::witness(std::io::stdin(), std::io::stdout());
    value.map(|()| 0).map_err(|error| Failure::new(format!("reading requests of the host: {error}")))
}

/// Checks a saved state again: status 0 if its finding recurs, 1 if nothing is found. The description names a kernel, an image to mount and
/// the check of a program, so another user must not be able to write it or the image.
fn again(args: &PowercutArgs, path: &Path) -> Result<u8, Failure> {
    let unreadable = |error: std::io::Error| Failure::usage(format!("--again {}: {error}", path.display()));
    let trusted = |file: &Path| {
        system::owned_path(file).map_err(|untrusted| {
            Failure::usage(format!(
                "--again {}: {untrusted}. It decides which program is run, which kernel is booted and what is mounted, so only you and root \
                 may own and write it, its image, and the folders above; copy both into a folder of your own once you have read them",
                path.display()
            ))
        })
    };
    trusted(path)?;
    let mut kept = KeptState::read(path).map_err(unreadable)?;
    if let Some(kernel) = args.kernel.first() {
        kept.contender.kernel = Some(contenders::kernel_called(kernel)?);
    } else if let Some(place) = args.on.place {
        kept.contender.kernel = mounted_by::asked(place)?;
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    trusted(&folder.join(&kept.image))?;
    let filesystems = served_disk::filesystems(&args.on)?;
    let look = |ground: &mut Ground<'_>, _: &mut Disk| kept.look(ground, folder);
    let again = served_disk::on_ground(&kept.contender, &filesystems, kept.bytes, look)
        .map_err(|error| Failure::new(format!("inspecting {} again: {error}", path.display())))?;
    let label = &kept.contender.label;
    out::data(&format!("{label}, Linux {}, then: {} ({} left)\n", kept.kernel, kept.found, kept.left));
    let kernel = again.kernel;
    match again.found {
        Some(found) => out::data(&format!("{label}, Linux {kernel}, now: {found}\n")),
        None => return Err(Failure::new(format!("{label}, Linux {kernel}: the damage does not occur again"))),
    }
    Ok(0)
}

/// The guarantees and variants to test.
fn chosen(args: &PowercutArgs) -> Result<Chosen, Failure> {
    let later = |one: &LaterSync| match one {
        LaterSync::None => None,
        LaterSync::File => Some(Later::File),
        LaterSync::Folder => Some(Later::Folder),
        LaterSync::Other => Some(Later::Other),
    };
    let later: Vec<Later> = args.later.iter().filter_map(later).collect();
    Chosen::of(&args.only, &later).map_err(|why| Failure::usage(format!("--only: {why}")))
}

/// The program whose power is cut, if one is named.
fn program(args: &PowercutArgs) -> Result<Option<Program>, Failure> {
    let words = |option: &str, text: &Option<String>| {
        let Some(text) = text else { return Ok(Vec::new()) };
        let unclear = |error| Failure::usage(format!("{option} '{text}': {error}"));
        shell_words::split(text).map_err(unclear)
    };
    let limit = given("--time-limit", &args.time_limit, parse_duration)?;
    let command = words("--command", &args.command)?;
    if command.is_empty() {
        return Ok(None);
    }
    let (prepare, check) = (words("--prepare", &args.prepare)?, words("--check", &args.check)?);
    Ok(Some(Program { prepare, command, check, limit }))
}

/// Whether a program kept all data that it acknowledged.
fn kept(one: &Survived) -> bool {
    one.program.as_ref().is_some_and(|program| program.given == Given::Kept)
}

/// What a program relies on beyond POSIX; `room` limits the bytes that it writes.
fn beyond_posix(program: &Program, room: u64, stop: &Stop) -> Result<BeyondPosix, ReliabilityError> {
    eprintln!("Recording the program again, to find what it relies on beyond POSIX");
    // Accessible if the program changes its user, like the contender's root.
    let open = std::fs::Permissions::from_mode(0o711);
    scratch_folders::sweep(Path::new(scratch::DEFAULT), RECORDED);
    let prefix = scratch_folders::prefix(RECORDED);
    let made = tempfile::Builder::new().prefix(&prefix).permissions(open).tempdir_in(scratch::DEFAULT);
    match made {
        Ok(folder) => Look { program, folder: folder.path(), room, go_on: &|| !stop() }.look(),
        Err(error) => {
            let why = format!("making a folder in {}: {error}", scratch::DEFAULT);
            Ok(BeyondPosix { unseen: Some(why), ..BeyondPosix::default() })
        }
    }
}

fn of_one(contender: &Contender, asked: &Asked, cuts: &Cuts, stop: &Stop) -> Result<Survived, ReliabilityError> {
    let label = contender.label.as_str();
    eprintln!("{label}: working on a recorded disk");
    let every = (cuts.states / PROGRESS.0).clamp(1, PROGRESS.1);
    let watcher = |states: u32| {
        if states > 0 && states.is_multiple_of(every) {
            eprintln!("{label}: {states} of {} states inspected", cuts.states);
        }
        !stop()
    };
    let cut = |ground: &mut Ground<'_>, disk: &mut Disk| power_cut::cut(ground, disk, contender, cuts, &watcher);
    served_disk::on_ground(contender, &asked.filesystems, asked.bytes, cut)
}
