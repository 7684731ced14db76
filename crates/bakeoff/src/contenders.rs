//! The contenders that a command line asks for.
//! In: names, schedulers and options as typed, the plan, the catalogues. Out: entries of a plan, labels unique.

use crate::args::What;
use crate::catalogue::Catalogue;
use crate::failure::Failure;
use records::FRESH;
use runner::{DEVICE, Place, PlannedContender};
use std::collections::BTreeMap;
use std::path::PathBuf;
use workload::age_profiles::parse_fill;
use workload::axes::Axes;
use workload::names::{Known, resolve};
use workload::plan::Plan;
use workload::{AxisFacts, Contender, Exclusion, SettingFacts};

/// Schedulers of today's block layer.
const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// The contenders, in the order in which they were named, and what is to be said about them.
pub fn entries(
    what: &What,
    plan: &Plan,
    catalogue: &Catalogue,
    place: &Place,
) -> Result<(Vec<PlannedContender>, Vec<String>), Failure> {
    if let Place::Directories(folders) = place {
        return Ok((directories(what, folders)?, Vec::new()));
    }
    let filesystems: Vec<&str> = catalogue.filesystems.names().collect();
    let workloads: Vec<&str> = catalogue.work.workloads.keys().map(String::as_str).collect();
    let axes: BTreeMap<String, AxisFacts> =
        catalogue.filesystems.all().map(|filesystem| (filesystem.name.clone(), axis_facts(filesystem))).collect();
    let ages: Vec<&str> = catalogue.work.ages.keys().map(String::as_str).collect();
    let sets: BTreeMap<String, Contender> =
        catalogue.work.contenders.iter().chain(&plan.contenders).map(|(k, v)| (k.clone(), v.clone())).collect();
    let known = Known {
        filesystems: &filesystems,
        schedulers: &SCHEDULERS,
        workloads: &workloads,
        aliases: &catalogue.work.aliases,
        ages: &ages,
        sets: &sets,
        axes: &axes,
    };
    check_schedulers(what, catalogue)?;
    let mut contenders = named(what, plan, catalogue, &known)?;
    apply(&mut contenders, &what.mkfs, "--mkfs", &mut |contender, options| {
        contender.mkfs.extend(options.split_whitespace().map(str::to_owned));
    })?;
    apply(&mut contenders, &what.mount, "--mount", &mut |contender, options| {
        if !contender.mount.is_empty() {
            contender.mount.push(',');
        }
        contender.mount.push_str(options);
    })?;
    let own_axes = what.axis.is_empty() && what.scheduler.is_empty() && !aged(what);
    let name = if own_axes { plan.name.clone() } else { String::new() };
    let multiplying = Plan { name, axes: asked_axes(what, plan, catalogue)?, ..plan.clone() };
    let field = multiplying.multiplied(contenders, &known).map_err(Failure::usage)?;
    let contenders = with_scheduler(field.contenders, what, catalogue);
    for kernel in &what.kernel {
        staging::check_kernel_name(kernel).map_err(|error| Failure::usage(format!("--kernel {kernel}: {error}")))?;
    }
    let mut contenders = with_kernels(contenders, &what.kernel);
    for contender in contenders.iter_mut().filter(|contender| contender.kernel.is_none()) {
        contender.kernel = staging::guest_kernel(&catalogue.filesystems, &contender.filesystem);
    }
    for contender in &contenders {
        let filesystem = catalogue.filesystems.get(&contender.filesystem)?;
        staging::check_options(filesystem, contender)?;
    }
    Ok((contenders.into_iter().map(entry).collect(), field.notes))
}

/// What a filesystem's file says about settings that axes name.
fn axis_facts(filesystem: &staging::Filesystem) -> AxisFacts {
    let settings = filesystem.settings.iter().map(|(name, setting)| {
        (name.clone(), SettingFacts { switch: setting.is_switch(), values: setting.values.clone() })
    });
    let excludes = filesystem
        .excludes
        .iter()
        .map(|rule| Exclusion { when: rule.when.clone(), because: rule.because.clone() })
        .collect();
    AxisFacts { mkfs: settings.collect(), mount: filesystem.known_mount_options(), excludes }
}

/// The plan's axes, with those of the command line instead of or beside them.
fn asked_axes(what: &What, plan: &Plan, catalogue: &Catalogue) -> Result<Axes, Failure> {
    let mut axes = plan.axes.clone();
    for text in &what.axis {
        axes.set(text).map_err(|problem| Failure::usage(format!("--axis {problem}")))?;
    }
    for text in &what.exclude {
        axes.leave_out(text).map_err(|problem| Failure::usage(format!("--exclude {problem}")))?;
    }
    match what.scheduler.len() {
        0 => {}
        // One for all is no axis: names stay as they are.
        1 => axes.scheduler.clear(),
        _ => axes.scheduler = what.scheduler.clone(),
    }
    ask_ages(&mut axes, what, catalogue)?;
    Ok(axes)
}

fn check_schedulers(what: &What, catalogue: &Catalogue) -> Result<(), Failure> {
    for name in &what.scheduler {
        let today = catalogue.work.aliases.get(name).unwrap_or(name);
        if !SCHEDULERS.contains(&today.as_str()) {
            let old = catalogue.work.aliases.keys().map(String::as_str);
            let nearest = workload::nearest(name, SCHEDULERS.into_iter().chain(old));
            let hint = nearest.map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"));
            let known = SCHEDULERS.join(", ");
            return Err(Failure::usage(format!("--scheduler {name}: no such I/O scheduler{hint} (known: {known})")));
        }
    }
    Ok(())
}

/// The one scheduler that a command line gives to all.
fn with_scheduler(mut contenders: Vec<Contender>, what: &What, catalogue: &Catalogue) -> Vec<Contender> {
    if let [name] = what.scheduler.as_slice() {
        let today = catalogue.work.aliases.get(name).unwrap_or(name);
        contenders.iter_mut().for_each(|contender| contender.scheduler = Some(today.clone()));
    }
    contenders
}

fn directories(what: &What, folders: &[PathBuf]) -> Result<Vec<PlannedContender>, Failure> {
    let lists = [&what.fs, &what.mkfs, &what.mount, &what.scheduler, &what.axis, &what.exclude, &what.kernel];
    if lists.iter().any(|list| !list.is_empty()) || aged(what) {
        let have_no_place = "nothing is formatted, so --fs, --mkfs, --mount, --age, --fill, --scheduler, --kernel and --axis have no place";
        let text = if what.dir.is_empty() {
            format!(
                "without root the current directory is measured: {have_no_place}; run with sudo to compare filesystems"
            )
        } else {
            format!("--dir measures what is mounted there: {have_no_place}; use --image or --on to compare filesystems")
        };
        return Err(Failure::usage(text));
    }
    let of = |folder: &PathBuf| {
        let label = folder.canonicalize().unwrap_or_else(|_| folder.clone()).display().to_string();
        entry(Contender { label, filesystem: staging::DIRECTORY.into(), ..Contender::default() })
    };
    Ok(folders.iter().map(of).collect())
}

/// The raw device beneath, as a pseudo contender.
pub fn raw_device() -> PlannedContender {
    entry(Contender { label: DEVICE.into(), filesystem: DEVICE.into(), ..Contender::default() })
}

fn entry(asked: Contender) -> PlannedContender {
    PlannedContender { asked, twin_of: None, works: Vec::new() }
}

fn named(what: &What, plan: &Plan, catalogue: &Catalogue, known: &Known<'_>) -> Result<Vec<Contender>, Failure> {
    if !what.fs.is_empty() {
        return what.fs.iter().map(|name| resolve(name, known).map_err(Failure::usage)).collect();
    }
    let planned = plan.named_contenders(known)?;
    if !planned.is_empty() {
        return Ok(planned);
    }
    let able: Vec<Contender> = staging::systems(&catalogue.filesystems, &system::Journal::new())
        .into_iter()
        .filter(|system| system.can_compete)
        .map(|system| Contender { label: system.name.clone(), filesystem: system.name, ..Contender::default() })
        .collect();
    if able.is_empty() {
        return Err(Failure::new("no filesystem can compete here; `bakeoff systems` says why, and what would help"));
    }
    Ok(able)
}

/// Whether ages are asked for.
fn aged(what: &What) -> bool {
    !what.age.is_empty() || !what.fill.is_empty()
}

/// Takes ages and fills of the command line instead of a plan's.
fn ask_ages(axes: &mut Axes, what: &What, catalogue: &Catalogue) -> Result<(), Failure> {
    for name in what.age.iter().filter(|name| *name != FRESH) {
        catalogue.work.age(name).map_err(|problem| Failure::usage(format!("--age {name}: {problem}")))?;
    }
    let share = |text: &String| parse_fill(text).map_err(|problem| Failure::usage(format!("--fill: {problem}")));
    let fill = what.fill.iter().map(share).collect::<Result<Vec<f64>, Failure>>()?;
    if !what.age.is_empty() {
        axes.age.clone_from(&what.age);
    }
    if !fill.is_empty() {
        axes.fill = fill;
    }
    Ok(())
}

/// Applies `FS=OPTIONS` to every contender of that filesystem or label.
fn apply(
    contenders: &mut [Contender],
    given: &[String],
    flag: &str,
    change: &mut dyn FnMut(&mut Contender, &str),
) -> Result<(), Failure> {
    for text in given {
        let (name, options) = text
            .split_once('=')
            .ok_or_else(|| Failure::usage(format!("{flag} {text}: write FILESYSTEM=OPTIONS, such as ext4=\"-m 1\"")))?;
        let mut met = false;
        for contender in
            contenders.iter_mut().filter(|contender| contender.filesystem == name || contender.label == name)
        {
            change(contender, options);
            met = true;
        }
        if !met {
            let labels: Vec<&str> = contenders.iter().map(|contender| contender.label.as_str()).collect();
            return Err(Failure::usage(format!(
                "{flag} {text}: no contender is called {name}; there are {}",
                labels.join(", ")
            )));
        }
    }
    Ok(())
}

fn with_kernels(contenders: Vec<Contender>, given: &[String]) -> Vec<Contender> {
    if given.is_empty() {
        return contenders;
    }
    let on = |contender: &Contender, kernel: &String| {
        let suffix = if given.len() > 1 { format!(" on {kernel}") } else { String::new() };
        let label = format!("{}{suffix}", contender.label);
        let mut with = Contender { label, kernel: Some(kernel.clone()), ..contender.clone() };
        with.axes.insert("kernel".into(), kernel.clone());
        with
    };
    contenders.iter().flat_map(|contender| given.iter().map(move |kernel| on(contender, kernel))).collect()
}

/// What is to be said of contenders that run in guests; None where none does.
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
            " The others run on this machine, and the two are never ranked together; --kernel {first} puts all on the \
             same ground."
        ));
    }
    let mut fetched: Vec<&str> = guests.iter().filter_map(|entry| entry.asked.kernel.as_deref()).collect();
    fetched.retain(|kernel| kernel.starts_with("debian:") && !staging::kernel_is_here(kernel));
    fetched.dedup();
    if !fetched.is_empty() {
        text.push_str(&format!(" Debian's kernel is downloaded first, and not installed: {}.", fetched.join(", ")));
    }
    text.push('\n');
    Some(text)
}
