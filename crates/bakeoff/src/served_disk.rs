//! Contenders on a disk that Bakeoff serves itself: which compete, whether memory suffices, and a fresh stage for each.
//! In: options of the command line. Out: [`Asked`]; and for each contender a stage and the disk below it.

use crate::args::{OnServedDisk, What};
use crate::catalogue::Catalogue;
use crate::failure::{Failure, given};
use crate::json::{self, Answer};
use crate::mounted_by::{self, MountedBy};
use crate::{contenders, findings, out, place, text};
use disk::Disk;
use indexmap::IndexMap;
use records::Contender;
use reliability::ReliabilityError;
use reliability::power_cut::Ground;
use report::Findings;
use runner::PlannedContender;
use schemars::JsonSchema;
use serde::Serialize;
use staging::{Ceiling, Registry, ServedFolder, Serving, Stage, Target, Where};
use std::path::Path;
use system::Journal;
use workload::plan::Plan;
use workload::quantity::parse_bytes;

/// Default contenders: those that distributions install.
const USUAL: [&str; 3] = ["ext4", "xfs", "btrfs"];
/// Memory per byte of the disk: its content, the recorded writes, and the state that is presented.
const MEMORY_FOR_DISK: u64 = 3;
/// Room in the served folder besides the image.
const SPARE: u64 = 64 << 20;

/// A contender that could not take part.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Refused {
    /// Its label.
    pub contender: String,
    /// Why.
    pub why: String,
}

/// Cost of serving the disk, measured first; its times are not comparable with those of a real disk.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Served {
    /// Microseconds of the round trip to it, for a read of 4 KiB.
    pub added_us: f64,
    /// Reads of 4 KiB that it can serve per second, eight at a time.
    pub reads_a_second: f64,
    /// Bytes that it can serve per second.
    pub bytes_a_second: f64,
    #[serde(skip)]
    words: String,
}

impl Served {
    /// Of this machine; None if no disk can be served, which each contender reports itself.
    fn here() -> Option<Served> {
        let known = Ceiling::here(&Journal::new()).ok()?;
        let (added_us, words) = (known.read_alone().as_secs_f64() * 1e6, known.in_words());
        Some(Served { added_us, reads_a_second: known.operations, bytes_a_second: known.bytes, words })
    }

    /// The cost in a sentence.
    pub fn sentence(&self) -> String {
        format!(
            "The disk is served by Bakeoff itself: {}. Its times are not comparable with those of a real disk.",
            self.words
        )
    }
}

/// How many disks a test can give a contender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disks {
    /// One: the states of several after a power cut are not known.
    One,
    /// As many as it needs.
    Several,
}

/// A validated request.
pub struct Asked {
    pub contenders: Vec<PlannedContender>,
    pub filesystems: Registry,
    /// Size of the disk.
    pub bytes: u64,
    pub seed: u64,
    /// Kernel that mounts contenders that name none, and why.
    pub mounted_by: MountedBy,
    /// Cost of serving the disk.
    pub served: Option<Served>,
}

/// Validates a request before anything is done, and removes leftovers of interrupted runs. `kernels`: for every contender that names none;
/// `only`: what works only on this machine's own kernel, as part of a sentence.
///
/// # Errors
/// An invalid name or size, a contender in a virtual machine or on several disks that is not supported here, or too little memory.
pub fn asked(on: &OnServedDisk, kernels: &[String], disks: Disks, only: Option<&str>) -> Result<Asked, Failure> {
    let bytes = given("--image", &on.image, parse_bytes)?;
    if let Some(path) = on.html.as_ref().filter(|path| path.exists()) {
        return Err(Failure::usage(format!("--html {}: the file exists; name another file", path.display())));
    }
    let seed = on.seed.unwrap_or_else(crate::resolve::fresh_seed);
    let mut catalogue = Catalogue::with(&[], &on.filesystems)?;
    catalogue.filesystems = catalogue.filesystems.may_run();
    let mut contenders = competing(on, kernels, &catalogue)?;
    contenders.iter().try_for_each(|entry| takes_part(&entry.asked, disks))?;
    if let Some(only) = only {
        all_here(&contenders, only)?;
    }
    let most = contenders.iter().map(|entry| axes::disks_of(&entry.asked)).max().unwrap_or(1);
    fits(bytes, most)?;
    clean()?;
    let filesystems = catalogue.filesystems;
    let mounted_by = mounted_by::decide(on.place, only.is_some(), &mut contenders, &filesystems, bytes)?;
    if let Some(note) = mounted_by.sentence() {
        eprintln!("{note}");
    }
    Ok(Asked { contenders, filesystems, bytes, seed, mounted_by, served: Served::here() })
}

/// The filesystems that may be created, if the contender is known already; leftovers of interrupted runs are removed.
///
/// # Errors
/// A user's file cannot be used.
pub fn filesystems(on: &OnServedDisk) -> Result<Registry, Failure> {
    clean()?;
    Ok(Catalogue::with(&[], &on.filesystems)?.filesystems.may_run())
}

fn clean() -> Result<(), Failure> {
    place::clean_folders(&[])?.iter().for_each(|note| eprintln!("{note}"));
    Ok(())
}

fn competing(on: &OnServedDisk, kernels: &[String], catalogue: &Catalogue) -> Result<Vec<PlannedContender>, Failure> {
    let fs = if on.fs.is_empty() { USUAL.map(String::from).to_vec() } else { on.fs.clone() };
    let (mkfs, mount, axis) = (on.mkfs.clone(), on.mount.clone(), on.axis.clone());
    let what = What { fs, mkfs, mount, axis, kernel: kernels.to_vec(), ..What::default() };
    Ok(contenders::entries(&what, &Plan::default(), catalogue, None)?.0)
}

/// Refuses more disks than the test can give, and settings that would be in the label but have no effect: no work runs before it.
fn takes_part(contender: &Contender, disks: Disks) -> Result<(), Failure> {
    let is_aged = contender.age.as_deref().is_some_and(|age| age != "fresh");
    let is_filled = contender.fill.is_some_and(|share| share > 0.0);
    let asks = |name: &str| contender.axes.contains_key(name);
    let refused = [
        (
            disks == Disks::One && axes::devices(contender) > 1,
            "devices",
            "needs several devices, and this test has one disk",
        ),
        (
            disks == Disks::One && axes::disks_of(contender) > 1,
            "stack",
            "needs several disks, and this test has one (`one-disk` divides it, as in raid1:one-disk)",
        ),
        (asks("disk"), "disk", "needs a modelled disk, but this test uses its own disk, which is not modelled"),
        (is_aged, "age", "is aged, and this test uses only fresh filesystems"),
        (is_filled, "fill", "is filled beforehand, and this test uses only fresh filesystems"),
        (
            asks("limit.memory"),
            "limit.memory",
            "has a memory limit for the engine, and this test does not use the engine",
        ),
        (asks(axes::CLOCK), axes::CLOCK, "counts instructions, and this test measures no time"),
    ];
    match refused.iter().find(|(is_so, _, _)| *is_so) {
        Some((_, axis, why)) => Err(Failure::usage(format!("{} {why}: leave `{axis}` out", contender.label))),
        None => Ok(()),
    }
}

fn all_here(contenders: &[PlannedContender], only: &str) -> Result<(), Failure> {
    match contenders.iter().find(|entry| in_guest(&entry.asked)) {
        Some(entry) => Err(Failure::usage(format!(
            "{} runs in a virtual machine, and {only} on this machine's own kernel: leave it out",
            entry.asked.label
        ))),
        None => Ok(()),
    }
}

/// Whether a contender runs in a virtual machine.
pub fn in_guest(contender: &Contender) -> bool {
    staging::is_guest(contender.kernel.as_deref())
}

fn fits(bytes: u64, disks: u32) -> Result<(), Failure> {
    let all = bytes.saturating_mul(u64::from(disks));
    let (needed, available) = (all.saturating_mul(MEMORY_FOR_DISK), system::in_memory::available());
    if needed <= available {
        return Ok(());
    }
    let (image, needed, free) =
        (records::show_bytes(bytes), records::show_bytes(needed), records::show_bytes(available));
    Err(Failure::usage(format!(
        "--image {image}, {disks} times: disks are kept in memory and take up to {needed}, but only {free} is free; choose a smaller size"
    )))
}

/// Tests each contender: the results, and the contenders that failed. None: stopped by the user.
pub fn each<T>(
    asked: &Asked,
    mut one: impl FnMut(&Contender) -> Result<T, ReliabilityError>,
) -> Option<(Vec<T>, Vec<Refused>)> {
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    for contender in &asked.contenders {
        match one(&contender.asked) {
            Ok(known) => found.push(known),
            Err(ReliabilityError::Stopped) => return None,
            Err(error) => refused.push(Refused { contender: contender.asked.label.clone(), why: error.to_string() }),
        }
    }
    Some((found, refused))
}

/// Prints the results in the requested forms.
///
/// # Errors
/// The page cannot be written.
pub fn tell<T: Answer>(on: &OnServedDisk, all: &T, found: &Findings) -> Result<(), Failure> {
    if let Some(path) = &on.html {
        findings::write_page(found, path)?;
    }
    match on.json {
        true => json::print(all)?,
        false => out::data(&findings::printed(found, text::width())),
    }
    Ok(())
}

/// The exit status of a verb that compares measurements with descriptions. `found`: contradictions by contender.
///
/// # Errors
/// A contender contradicts its description; or there is no contender, which is the error `none`.
pub fn agree<'c>(found: impl Iterator<Item = (&'c str, &'c [String])>, none: Failure) -> Result<u8, Failure> {
    let mut found = found.peekable();
    if found.peek().is_none() {
        return Err(none);
    }
    let text: Vec<String> = found.flat_map(|(name, all)| all.iter().map(move |one| format!("{name}: {one}"))).collect();
    if text.is_empty() {
        return Ok(0);
    }
    Err(Failure::new(format!("results contradict filesystems/*.toml; {}", text.join("; "))))
}

/// No contender took part: the error lists all with the reasons, also for readers of `--json` only.
pub fn none_took_part(done: &str, refused: &[Refused]) -> Failure {
    let each: Vec<String> = refused.iter().map(|one| format!("{}: {}", one.contender, one.why)).collect();
    Failure::new(format!("no contender could be {done}; {}", each.join("; ")))
}

/// The kernels of contenders in words; if there are several, each with its contenders.
pub fn kernels<'c>(all: impl Iterator<Item = (&'c str, &'c str)>) -> String {
    let mut by: IndexMap<&str, Vec<&str>> = IndexMap::new();
    for (kernel, contender) in all {
        by.entry(kernel).or_default().push(contender);
    }
    let is_one = by.len() == 1;
    let text = |(kernel, names): (&str, Vec<&str>)| match is_one {
        true => kernel.to_owned(),
        false => format!("{kernel} ({})", names.join(", ")),
    };
    by.into_iter().map(text).collect::<Vec<_>>().join(" and ")
}

/// Creates a contender on a fresh served disk, runs `work` on both, and tears everything down.
///
/// # Errors
/// Setup or teardown fails, or `work` fails.
pub fn with<T>(
    contender: &Contender,
    filesystems: &Registry,
    bytes: u64,
    work: impl FnOnce(&mut Stage<'_>, &mut Disk) -> Result<T, ReliabilityError>,
) -> Result<T, ReliabilityError> {
    on_target(contender, filesystems, bytes, |target, disk| work(&mut target.stage(contender)?, disk))
}

/// The same for power cuts, on this machine or in a virtual one.
///
/// # Errors
/// As for [`with`].
pub fn on_ground<T>(
    contender: &Contender,
    filesystems: &Registry,
    bytes: u64,
    work: impl FnOnce(&mut Ground<'_>, &mut Disk) -> Result<T, ReliabilityError>,
) -> Result<T, ReliabilityError> {
    if !in_guest(contender) {
        return with(contender, filesystems, bytes, |stage, disk| work(&mut Ground::here(stage), disk));
    }
    let in_guest =
        |target: &mut Target, disk: &mut Disk| work(&mut Ground::in_guest(target.stage_in_guest(contender)?), disk);
    on_target(contender, filesystems, bytes, in_guest)
}

/// Serves the disks of a contender, runs `work` with them and a target for stages on them, and tears everything down.
///
/// # Errors
/// The disk cannot be served, or `work` fails. A failed teardown is printed.
pub fn on_target<T>(
    contender: &Contender,
    filesystems: &Registry,
    bytes: u64,
    work: impl FnOnce(&mut Target, &mut Disk) -> Result<T, ReliabilityError>,
) -> Result<T, ReliabilityError> {
    let journal = Journal::new();
    let room = bytes.saturating_mul(axes::disks_of(contender).into()).saturating_add(SPARE);
    let mut folder = ServedFolder::open(room, Serving::Plain, &journal)?;
    let place = Where::Image { bytes, folder: folder.path().to_owned() };
    let done = {
        let mut target = Target::open(filesystems, &place, &journal)?;
        // The served folder holds only disks.
        target.make_guests_in(Path::new(crate::scratch::DEFAULT));
        // `work` has unmounted and checked the stages on the target; dropping the target tears it down and reports what remains.
        work(&mut target, folder.disk().ok_or(ReliabilityError::NoImage)?)?
    };
    // The results are valid whatever happens to the disk now; the process that serves it ends in any case.
    if let Err(error) = folder.close() {
        system::note(&format!("bakeoff: {error}"));
    }
    Ok(done)
}
