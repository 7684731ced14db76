//! The contenders that a command line asks for.
//! In: names, schedulers and options as typed, the plan, the catalogues. Out: entries of a scheme, labels unique.

use crate::args::What;
use crate::catalogue::Catalogue;
use crate::failure::Failure;
use runner::{DEVICE, Entry, Place};
use std::collections::BTreeMap;
use workload::Contender;
use workload::ages::{FRESH, MOST_FILL, without_repeats};
use workload::axes::Axes;
use workload::names::{Known, resolve};
use workload::plan::Plan;
use workload::quantity::parse_share;

/// Schedulers of today's block layer.
const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// The contenders, in the order in which they were named.
pub fn entries(what: &What, plan: &Plan, catalogue: &Catalogue, place: &Place) -> Result<Vec<Entry>, Failure> {
    if let Place::Directories(folders) = place {
        let formats = [&what.fs, &what.mkfs, &what.mount, &what.scheduler, &what.kernel];
        if formats.into_iter().any(|given| !given.is_empty()) || aged(what) {
            let text = "--dir measures what is mounted there: nothing is formatted, so --fs, --mkfs, --mount, --age, \
                        --fill, --scheduler and --kernel have no place; use --image or --on to compare filesystems";
            return Err(Failure::usage(text));
        }
        return Ok(folders
            .iter()
            .map(|folder| {
                let label = folder.canonicalize().unwrap_or_else(|_| folder.clone()).display().to_string();
                entry(Contender { label, filesystem: lab::DIRECTORY.into(), ..Contender::default() })
            })
            .collect());
    }
    let mut contenders = with_ages(named(what, plan, catalogue)?, what, catalogue)?;
    apply(&mut contenders, &what.mkfs, "--mkfs", &mut |contender, options| {
        contender.mkfs.extend(options.split_whitespace().map(str::to_owned));
    })?;
    apply(&mut contenders, &what.mount, "--mount", &mut |contender, options| {
        if !contender.mount.is_empty() {
            contender.mount.push(',');
        }
        contender.mount.push_str(options);
    })?;
    let contenders = with_schedulers(contenders, &what.scheduler, catalogue)?;
    for kernel in &what.kernel {
        lab::check_kernel_name(kernel).map_err(|error| Failure::usage(format!("--kernel {kernel}: {error}")))?;
    }
    let mut contenders = with_kernels(contenders, &what.kernel);
    for contender in contenders.iter_mut().filter(|contender| contender.kernel.is_none()) {
        contender.kernel = lab::guest_kernel(&catalogue.filesystems, &contender.filesystem);
    }
    for (index, contender) in contenders.iter().enumerate() {
        if contenders[..index].iter().any(|earlier| earlier.label == contender.label) {
            return Err(Failure::usage(format!(
                "the contender {} is named twice; its noise is measured without that, by a hidden second entry",
                contender.label
            )));
        }
    }
    Ok(contenders.into_iter().map(entry).collect())
}

/// The raw device beneath, as a pseudo contender.
pub fn raw_device() -> Entry {
    entry(Contender { label: DEVICE.into(), filesystem: DEVICE.into(), ..Contender::default() })
}

fn entry(asked: Contender) -> Entry {
    Entry { asked, twin_of: None, works: Vec::new() }
}

fn named(what: &What, plan: &Plan, catalogue: &Catalogue) -> Result<Vec<Contender>, Failure> {
    let filesystems: Vec<&str> = catalogue.filesystems.names().collect();
    let workloads: Vec<&str> = catalogue.work.workloads.keys().map(String::as_str).collect();
    let ages: Vec<&str> = catalogue.work.ages.keys().map(String::as_str).collect();
    let known = Known {
        filesystems: &filesystems,
        schedulers: &SCHEDULERS,
        workloads: &workloads,
        ages: &ages,
        aliases: &catalogue.work.aliases,
        sets: &catalogue.work.contenders,
    };
    if !what.fs.is_empty() {
        let own: BTreeMap<String, Contender> =
            catalogue.work.contenders.iter().chain(&plan.contenders).map(|(k, v)| (k.clone(), v.clone())).collect();
        let known = Known { sets: &own, ..known };
        return what.fs.iter().map(|name| resolve(name, &known).map_err(Failure::usage)).collect();
    }
    let planned = plan.contenders(&known)?;
    if !planned.is_empty() {
        return Ok(planned);
    }
    let able: Vec<Contender> = lab::systems(&catalogue.filesystems, &host::Journal::new())
        .into_iter()
        .filter(|system| system.can_compete)
        .map(|system| Contender { label: system.name.clone(), filesystem: system.name, ..Contender::default() })
        .collect();
    if able.is_empty() {
        return Err(Failure::new("no filesystem can compete here; `bakeoff systems` says why, and what would help"));
    }
    plan.axes.multiply(able).map(without_repeats).map_err(Failure::usage)
}

/// Whether ages are asked for.
fn aged(what: &What) -> bool {
    !what.age.is_empty() || !what.fill.is_empty()
}

/// Each contender with each age and fill that was named.
fn with_ages(contenders: Vec<Contender>, what: &What, catalogue: &Catalogue) -> Result<Vec<Contender>, Failure> {
    if !aged(what) {
        return Ok(contenders);
    }
    for name in what.age.iter().filter(|name| *name != FRESH) {
        catalogue.work.age(name).map_err(|problem| Failure::usage(format!("--age {name}: {problem}")))?;
    }
    let share = |text: &String| {
        let read = parse_share(text).ok().filter(|share| *share <= MOST_FILL);
        read.ok_or_else(|| Failure::usage(format!("--fill {text}: a share from 0 to 99%, such as 80%")))
    };
    let fill = what.fill.iter().map(share).collect::<Result<Vec<f64>, Failure>>()?;
    let axes = Axes { age: what.age.clone(), fill, ..Axes::default() };
    axes.multiply(contenders).map(without_repeats).map_err(Failure::usage)
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
pub fn in_guests(entries: &[Entry]) -> Option<String> {
    let real = || entries.iter().filter(|entry| entry.twin_of.is_none() && entry.asked.filesystem != DEVICE);
    let guests: Vec<&Entry> = real().filter(|entry| lab::is_guest(entry.asked.kernel.as_deref())).collect();
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
    fetched.retain(|kernel| kernel.starts_with("debian:") && !lab::kernel_is_here(kernel));
    fetched.dedup();
    if !fetched.is_empty() {
        text.push_str(&format!(" Debian's kernel is downloaded first, and not installed: {}.", fetched.join(", ")));
    }
    text.push('\n');
    Some(text)
}

fn with_schedulers(
    contenders: Vec<Contender>,
    given: &[String],
    catalogue: &Catalogue,
) -> Result<Vec<Contender>, Failure> {
    if given.is_empty() {
        return Ok(contenders);
    }
    let mut product = Vec::new();
    for contender in &contenders {
        for name in given {
            let today = catalogue.work.aliases.get(name).unwrap_or(name);
            if !SCHEDULERS.contains(&today.as_str()) {
                let old = catalogue.work.aliases.keys().map(String::as_str);
                let nearest = workload::nearest(name, SCHEDULERS.into_iter().chain(old));
                let hint = nearest.map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"));
                return Err(Failure::usage(format!(
                    "--scheduler {name}: no such I/O scheduler{hint} (known: {})",
                    SCHEDULERS.join(", ")
                )));
            }
            let mut with = contender.clone();
            if given.len() > 1 {
                with.label = format!("{}+{today}", contender.label);
            }
            with.scheduler = Some(today.clone());
            product.push(with);
        }
    }
    Ok(product)
}
