//! The contenders that a command line requests.
//! In: names, schedulers and options as typed, the plan, the catalogues. Out: entries of a plan with unique labels.

use crate::args::What;
use crate::catalogue::Catalogue;
use crate::failure::Failure;
use crate::nearest;
use records::FRESH;
use runner::{DEVICE, PlannedContender};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use workload::axes::Axes;
use workload::names::{Known, resolve};
use workload::plan::Plan;
use workload::{AxisFacts, Contender, Exclusion, SettingFacts};

/// Schedulers of the current block layer.
pub const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// The contenders in the order given, and notes about them.
pub fn entries(
    what: &What,
    plan: &Plan,
    catalogue: &Catalogue,
    folders: Option<&[PathBuf]>,
) -> Result<(Vec<PlannedContender>, Vec<String>), Failure> {
    if let Some(folders) = folders {
        return Ok((directories(what, folders)?, Vec::new()));
    }
    let filesystems: Vec<&str> = catalogue.filesystems.names().collect();
    let axes: BTreeMap<String, AxisFacts> =
        catalogue.filesystems.all().map(|filesystem| (filesystem.name.clone(), axis_facts(filesystem))).collect();
    let ages: Vec<&str> = catalogue.work.ages.keys().map(String::as_str).collect();
    let sets: BTreeMap<String, Contender> =
        catalogue.work.contenders.iter().chain(&plan.contenders).map(|(k, v)| (k.clone(), v.clone())).collect();
    let known = Known {
        filesystems: &filesystems,
        schedulers: &SCHEDULERS,
        aliases: &catalogue.work.aliases,
        ages: &ages,
        sets: &sets,
        axes: &axes,
    };
    check_schedulers(what, catalogue)?;
    let (mut contenders, left_out) = named(what, plan, catalogue, &known)?;
    for kernel in contenders.iter_mut().filter_map(|contender| contender.kernel.as_mut()) {
        *kernel = kernel_called(kernel)?;
    }
    apply(&mut contenders, &what.mkfs, "--mkfs", &flags, &mut |contender, options| {
        contender.mkfs.extend(options.split_whitespace().map(str::to_owned));
    })?;
    let words = |options: &str| options.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect();
    apply(&mut contenders, &what.mount, "--mount", &words, &mut |contender, options| {
        if !contender.mount.is_empty() && !options.is_empty() {
            contender.mount.push(',');
        }
        contender.mount.push_str(options);
    })?;
    let given = [&what.axis, &what.scheduler, &what.kernel, &what.age, &what.fill, &what.disk];
    let own_axes = given.iter().all(|list| list.is_empty());
    let name = if own_axes { plan.name.clone() } else { String::new() };
    let multiplying = Plan { name, axes: asked_axes(what, plan, catalogue)?, ..plan.clone() };
    let field = multiplying.multiplied(contenders, &known).map_err(Failure::usage)?;
    let mut contenders = with_one_for_all(field.contenders, what, catalogue)?;
    for contender in contenders.iter_mut().filter(|contender| contender.kernel.is_none()) {
        contender.kernel = staging::guest_kernel(&catalogue.filesystems, &contender.filesystem);
    }
    let mut notes = [left_out, field.notes].concat();
    notes.extend(nearest::forms(&mut contenders, plan, catalogue)?);
    let modelled = |contender: &Contender| axes::value(contender, "disk").is_some();
    let apart = "figures of a modelled disk are never ranked with those of a real one";
    all_or_none(&contenders, modelled, apart)?;
    contenders.iter().try_for_each(staging::check_disk)?;
    contenders.iter().try_for_each(staging::check_layers)?;
    // Instruction counts and times are figures of different operations, and every contender of a run has the same operations.
    let apart = "--count-instructions applies to all contenders or to none";
    all_or_none(&contenders, is_counted, apart)?;
    for contender in &contenders {
        let filesystem = catalogue.filesystems.get(&contender.filesystem)?;
        staging::check_options(filesystem, contender)?;
    }
    Ok((contenders.into_iter().map(entry).collect(), notes))
}

/// Refuses a run in which the condition is true for only some contenders.
fn all_or_none(contenders: &[Contender], are: impl Fn(&Contender) -> bool, why: &str) -> Result<(), Failure> {
    let (such, others): (Vec<&Contender>, Vec<&Contender>) = contenders.iter().partition(|contender| are(contender));
    match (such.first(), others.first()) {
        (Some(one), Some(other)) => {
            Err(Failure::usage(format!("{} and {} cannot be in one run: {why}", one.label, other.label)))
        }
        _ => Ok(()),
    }
}

/// Whether a contender runs in a machine whose clock counts instructions.
pub fn is_counted(contender: &Contender) -> bool {
    axes::value(contender, axes::CLOCK).as_deref() == Some(axes::INSTRUCTIONS)
}

/// The settings of a filesystem's file that axes use.
fn axis_facts(filesystem: &staging::Filesystem) -> AxisFacts {
    let settings = filesystem.settings.iter().map(|(name, setting)| {
        (name.clone(), SettingFacts { switch: setting.is_switch(), values: setting.values.clone() })
    });
    let excludes = filesystem
        .excludes
        .iter()
        .map(|rule| Exclusion { when: rule.when.clone(), because: rule.because.clone() })
        .collect();
    AxisFacts {
        mkfs: settings.collect(),
        mount: filesystem.known_mount_options(),
        several_devices: filesystem.several.is_some(),
        excludes,
    }
}

/// The plan's axes, replaced or extended by those of the command line.
fn asked_axes(what: &What, plan: &Plan, catalogue: &Catalogue) -> Result<Axes, Failure> {
    let mut axes = plan.axes.clone();
    for text in &what.axis {
        axes.set(text).map_err(|problem| Failure::usage(format!("--axis {problem}")))?;
    }
    for text in &what.exclude {
        axes.leave_out(text).map_err(|problem| Failure::usage(format!("--exclude {problem}")))?;
    }
    for (name, values) in [("scheduler", &what.scheduler), ("kernel", &what.kernel)] {
        match values.len() {
            0 => {}
            // A single value for all is no axis: labels stay as they are.
            1 => axes.drop(name),
            _ => axes.give(name, values).map_err(Failure::usage)?,
        }
    }
    if !what.disk.is_empty() {
        // A modelled disk is in every label, even one for all: its figures must not be taken for a real disk's.
        axes.give("disk", &what.disk).map_err(|problem| Failure::usage(format!("--disk {problem}")))?;
    }
    if what.count_instructions {
        // Also in every label: figures of such a machine are not times.
        axes.give(axes::CLOCK, &[axes::INSTRUCTIONS]).map_err(Failure::usage)?;
    }
    ask_ages(&mut axes, what, catalogue)?;
    let kernels: Vec<String> = axes.of("kernel").iter().map(|name| kernel_called(name)).collect::<Result<_, _>>()?;
    if kernels != axes.of("kernel") {
        // `debian:newest` may resolve to a kernel that is also named explicitly.
        let once = kernels.iter().enumerate().filter(|(at, kernel)| !kernels[..*at].contains(kernel));
        let once: Vec<&String> = once.map(|(_, kernel)| kernel).collect();
        axes.give("kernel", &once).map_err(Failure::usage)?;
    }
    Ok(axes)
}

fn check_schedulers(what: &What, catalogue: &Catalogue) -> Result<(), Failure> {
    for name in &what.scheduler {
        let today = catalogue.work.aliases.get(name).unwrap_or(name);
        if !SCHEDULERS.contains(&today.as_str()) {
            let old = catalogue.work.aliases.keys().map(String::as_str);
            let hint = workload::did_you_mean(name, SCHEDULERS.into_iter().chain(old));
            let known = SCHEDULERS.join(", ");
            return Err(Failure::usage(format!("--scheduler {name}: no such I/O scheduler{hint} (known: {known})")));
        }
    }
    Ok(())
}

/// The recorded name of a kernel: `debian:newest` by its series.
///
/// # Errors
/// There is no such kernel, or it cannot be obtained.
pub fn kernel_called(name: &str) -> Result<String, Failure> {
    staging::kernel_called(name).map_err(|error| Failure::usage(format!("--kernel {name}: {error}")))
}

/// Sets the single scheduler, the single kernel and the memory limit of the command line on every contender.
fn with_one_for_all(
    mut contenders: Vec<Contender>,
    what: &What,
    catalogue: &Catalogue,
) -> Result<Vec<Contender>, Failure> {
    if let [name] = what.scheduler.as_slice() {
        give_all(&mut contenders, "scheduler", catalogue.work.aliases.get(name).unwrap_or(name));
    }
    if let [kernel] = what.kernel.as_slice() {
        give_all(&mut contenders, "kernel", &kernel_called(kernel)?);
    }
    if let Some(size) = &what.memory {
        give_all(&mut contenders, "limit.memory", size);
    }
    Ok(contenders)
}

/// Sets the same value on every contender. Labels omit a value that all share, unless a contender names the axis itself.
fn give_all(contenders: &mut [Contender], axis: &str, value: &str) {
    for contender in contenders {
        let named = contender.axes.contains_key(axis);
        axes::put(contender, axis, value);
        if named {
            contender.label = axes::label(contender);
        } else {
            // An axis without an option of its own keeps its value in `axes` only.
            let kept = contender.axes.remove(axis);
            if axes::value(contender, axis).is_none() {
                contender.axes.extend(kept.map(|value| (axis.to_owned(), value)));
            }
        }
    }
}

fn directories(what: &What, folders: &[PathBuf]) -> Result<Vec<PlannedContender>, Failure> {
    let lists =
        [&what.shared, &what.fs, &what.mkfs, &what.mount, &what.scheduler, &what.axis, &what.exclude, &what.kernel];
    if lists.iter().any(|list| !list.is_empty()) || aged(what) {
        let have_no_place = "--fs, --shared, --mkfs, --mount, --age, --fill, --scheduler, --kernel and --axis need formatted filesystems";
        let text = if what.dir.is_empty() {
            format!(
                "without root the current directory is measured and nothing is formatted: {have_no_place}; run with sudo to compare filesystems"
            )
        } else {
            format!(
                "--dir measures the mounted filesystem and formats nothing: {have_no_place}; use --image or --on to compare filesystems"
            )
        };
        return Err(Failure::usage(text));
    }
    let of = |folder: &PathBuf| {
        let label = folder.canonicalize().unwrap_or_else(|_| folder.clone()).display().to_string();
        Contender::named(&label, staging::DIRECTORY)
    };
    let mut contenders: Vec<Contender> = folders.iter().map(of).collect();
    if let Some(size) = &what.memory {
        give_all(&mut contenders, "limit.memory", size);
    }
    Ok(contenders.into_iter().map(entry).collect())
}

/// The raw device of these disks, as a pseudo contender. None for several disks: figures are shown as a share of one device.
pub fn raw_device(disks: &BTreeSet<Option<String>>) -> Option<PlannedContender> {
    let mut device = Contender::plain(DEVICE);
    let disk = match disks.iter().collect::<Vec<_>>()[..] {
        [] => &None,
        [one] => one,
        _ => return None,
    };
    if let Some(disk) = disk {
        device.axes.insert("disk".into(), disk.clone());
        device.label.push_str(&axes::find("disk").map(|named| named.axis.label("", disk)).unwrap_or_default());
    }
    Some(entry(device))
}

fn entry(asked: Contender) -> PlannedContender {
    PlannedContender { asked, twin_of: None, works: Vec::new() }
}

/// The contenders of the command line or the plan, else those that take part by default; with a note about each of the latter that only lacks
/// its tools.
fn named(
    what: &What,
    plan: &Plan,
    catalogue: &Catalogue,
    known: &Known<'_>,
) -> Result<(Vec<Contender>, Vec<String>), Failure> {
    if !what.contenders.is_empty() {
        return Ok((what.contenders.clone(), Vec::new()));
    }
    let shared = shared(what, catalogue)?;
    if !what.fs.is_empty() || !shared.is_empty() {
        let all = what.fs.iter().chain(&shared).map(|name| resolve(name, known).map_err(Failure::usage));
        return Ok((all.collect::<Result<_, _>>()?, Vec::new()));
    }
    let planned = plan.named_contenders(known)?;
    if !planned.is_empty() {
        return Ok((planned, Vec::new()));
    }
    let systems = staging::systems(&catalogue.filesystems, &system::Journal::new());
    let local = || systems.iter().filter(|system| !system.shared);
    let by_default =
        |system: &&staging::System| catalogue.filesystems.get(&system.name).is_ok_and(|one| one.by_default);
    let able: Vec<&staging::System> = local().filter(|system| system.can_compete).collect();
    if able.is_empty() {
        return Err(Failure::new("no filesystem can compete here; `bakeoff systems` shows why, and what would help"));
    }
    let left_out = local().filter(by_default).filter(|system| system.only_lacks_tools());
    let note = |system: &staging::System| {
        format!("{} is left out: {} ({}).", system.name, system.obstacles.join(", "), system.help.join(", "))
    };
    let left_out = left_out.map(note).collect();
    let mut chosen: Vec<&staging::System> = able.iter().copied().filter(by_default).collect();
    if chosen.is_empty() {
        chosen = able;
    }
    Ok((chosen.into_iter().map(|system| Contender::plain(&system.name)).collect(), left_out))
}

/// The names of `--shared`; an error for a name without a filesystem, and for a local filesystem.
fn shared(what: &What, catalogue: &Catalogue) -> Result<Vec<String>, Failure> {
    let known: Vec<&str> =
        catalogue.filesystems.all().filter(|one| one.shared.is_some()).map(|one| one.name.as_str()).collect();
    if what.shared == ["all"] {
        return Ok(known.into_iter().map(str::to_owned).collect());
    }
    for name in &what.shared {
        let base = name.split('+').next().unwrap_or_default();
        // An unreadable file is reported by its own error.
        if catalogue.filesystems.get(base).is_ok_and(|one| one.shared.is_none()) {
            return Err(Failure::usage(format!("--shared {name}: it is a local filesystem; name it with --fs")));
        }
        if catalogue.filesystems.get(base).is_err() {
            let hint = workload::did_you_mean(base, known.iter().copied());
            let known = known.join(", ");
            return Err(Failure::usage(format!("--shared {name}: no such shared filesystem{hint} (known: {known})")));
        }
    }
    Ok(what.shared.clone())
}

/// Whether ages are requested.
fn aged(what: &What) -> bool {
    !what.age.is_empty() || !what.fill.is_empty()
}

/// Replaces the plan's ages and fills with those of the command line.
fn ask_ages(axes: &mut Axes, what: &What, catalogue: &Catalogue) -> Result<(), Failure> {
    for name in what.age.iter().filter(|name| *name != FRESH) {
        catalogue.work.age(name).map_err(|problem| Failure::usage(format!("--age {name}: {problem}")))?;
    }
    for (name, values) in
        [("age", &what.age), ("fill", &what.fill)].into_iter().filter(|(_, values)| !values.is_empty())
    {
        axes.give(name, values).map_err(|problem| Failure::usage(format!("--{name}: {problem}")))?;
    }
    Ok(())
}

/// Options of mkfs, each flag with its value: `-m 1`, `-O ^has_journal`.
fn flags(options: &str) -> Vec<String> {
    let mut flags: Vec<String> = Vec::new();
    for word in options.split_whitespace() {
        match flags.last_mut().filter(|_| !word.starts_with('-')) {
            Some(flag) => flag.extend([" ", word]),
            None => flags.push(word.into()),
        }
    }
    flags
}

/// Applies `FS=OPTIONS` to every contender of that filesystem or label. Several values for one name give several contenders; the label of
/// each has the `parts` of its options that not all share.
fn apply(
    contenders: &mut Vec<Contender>,
    given: &[String],
    flag: &str,
    parts: &dyn Fn(&str) -> Vec<String>,
    change: &mut dyn FnMut(&mut Contender, &str),
) -> Result<(), Failure> {
    let mut sets: Vec<(&str, Vec<&str>)> = Vec::new();
    for text in given {
        let (name, options) = text
            .split_once('=')
            .ok_or_else(|| Failure::usage(format!("{flag} {text}: write FILESYSTEM=OPTIONS, such as ext4=\"-m 1\"")))?;
        if !contenders.iter().any(|contender| contender.filesystem == name || contender.label == name) {
            let labels: Vec<&str> = contenders.iter().map(|contender| contender.label.as_str()).collect();
            return Err(Failure::usage(format!(
                "{flag} {text}: there is no contender {name}; known: {}",
                labels.join(", ")
            )));
        }
        match sets.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) if all.contains(&options) => {
                return Err(Failure::usage(format!("{flag} {text}: it is given twice; leave one out")));
            }
            Some((_, all)) => all.push(options),
            None => sets.push((name, vec![options])),
        }
    }
    for (name, options) in sets {
        let shared = |part: &String| options.iter().all(|one| parts(one).contains(part));
        for mut contender in std::mem::take(contenders) {
            if contender.filesystem != name && contender.label != name {
                contenders.push(contender);
                continue;
            }
            if let [only] = options[..] {
                change(&mut contender, only);
                contenders.push(contender);
                continue;
            }
            for one in &options {
                let mut set = contender.clone();
                change(&mut set, one);
                let own = parts(one).into_iter().filter(|part| !shared(part));
                set.base = std::iter::once(set.base).chain(own).collect::<Vec<_>>().join(" ");
                set.label = axes::label(&set);
                contenders.push(set);
            }
        }
    }
    Ok(())
}

/// A note about contenders that run in guests; None if there are none.
pub fn in_guests(entries: &[PlannedContender]) -> Option<String> {
    let real = || entries.iter().filter(|entry| entry.twin_of.is_none() && entry.asked.filesystem != DEVICE);
    let guests: Vec<&PlannedContender> =
        real().filter(|entry| staging::is_guest(entry.asked.kernel.as_deref())).collect();
    let first = guests.first()?.asked.kernel.as_deref().unwrap_or_default();
    let named: Vec<String> = guests
        .iter()
        .map(|entry| format!("{} ({})", entry.asked.label, entry.asked.kernel.as_deref().unwrap_or_default()))
        .collect();
    let mut text = format!("In a virtual machine: {}.", named.join(", "));
    if guests.len() < real().count() {
        text.push_str(&format!(
            " The others run on this machine's kernel, and the two groups are ranked apart; --kernel {first} runs all in \
             virtual machines."
        ));
    }
    let mut fetched: Vec<&str> = guests.iter().filter_map(|entry| entry.asked.kernel.as_deref()).collect();
    fetched.retain(|kernel| kernel.starts_with("debian:") && !staging::kernel_is_here(kernel));
    fetched.dedup();
    if !fetched.is_empty() {
        text.push_str(&format!(" Debian kernels are downloaded first, but not installed: {}.", fetched.join(", ")));
    }
    text.push('\n');
    Some(text)
}
