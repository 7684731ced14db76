//! The place where a plan runs: inspected, cleaned of leftovers of interrupted runs, opened.
//! In: a plan. Out: the machine's description, a venue, or one clear error before anything is changed.

use crate::clients;
use crate::contenders;
use crate::failure::Failure;
use crate::split;
use records::{Machine, Turns};
use runner::{Ager, ApartVenue, DEVICE, Place, ResolvedPlan, StagingVenue, TWIN, Venue, places};
use staging::Registry;
use std::collections::BTreeMap;
use system::{BlockDevice, Journal, Sysfs as _};
use workload::quantity::show_bytes;

/// Refuses what cannot work, before anything starts: sizes, tools, names, custody. Returns the devices found, which the run then promises to use.
///
/// An error of one contender among several is left to the run, which continues with the others.
pub fn check(plan: &ResolvedPlan, filesystems: &Registry) -> Result<Vec<records::custody::Promise>, Failure> {
    crate::clients::check(plan)?;
    let journal = Journal::new();
    let asked: Vec<&records::Contender> = plan.contenders.iter().map(|entry| &entry.asked).collect();
    let mut promised = Vec::new();
    for (index, place) in places(plan).iter().enumerate() {
        let mut target = staging::Target::open_under(filesystems, place, &plan.terms, &journal)?;
        target.take_devices(asked.iter().copied())?;
        promised.extend(target.promises());
        if matches!(plan.place, Place::Directories(_)) {
            continue;
        }
        let mut refusals = Vec::new();
        let real = plan.contenders.iter().filter(|entry| entry.asked.filesystem != DEVICE && entry.twin_of.is_none());
        let mut count = 0;
        for entry in real {
            count += 1;
            if let Err(error) = target.check(&entry.asked) {
                refusals.push(error.to_string());
            }
        }
        let refused = refusals.len();
        // A folder without room gives every contender the same error.
        refusals.dedup();
        if index == 0 && count > 0 && refused == count {
            return Err(Failure::new(refusals.join("\n         ")));
        }
    }
    Ok(promised)
}

/// Refuses, for a plan, a device or directory that a run would refuse, as far as this is known without changing anything. Returns in words
/// what a run needs `--erase` for, or why its images do not fit.
pub fn check_before(plan: &ResolvedPlan, filesystems: &Registry) -> Result<Option<String>, Failure> {
    let is_known = match &plan.place {
        Place::Image { bytes, scratch } if scratch.is_dir() => {
            plan.contenders.iter().try_for_each(|entry| staging::layers_fit(&entry.asked, Some(*bytes)))?;
            return Ok(staging::image_fits(scratch, *bytes).err().map(|refused| refused.to_string()));
        }
        Place::Image { .. } => false,
        Place::Device { .. } => system::process::is_root(),
        Place::Directories(_) => true,
    };
    for place in places(plan).iter().filter(|_| is_known) {
        match staging::Target::open_under(filesystems, place, &plan.terms, &Journal::new()) {
            Err(error) if error.waits_for_erase() => return Ok(Some(error.to_string())),
            opened => drop(opened?),
        }
    }
    Ok(None)
}

/// This machine, with the tools of the competing filesystems and the devices below the work.
pub fn machine(plan: &ResolvedPlan, filesystems: &Registry) -> Machine {
    Machine { tools: tools(plan, filesystems), device: devices(&plan.place), ..system::machine::describe() }
}

fn tools(plan: &ResolvedPlan, filesystems: &Registry) -> BTreeMap<String, String> {
    let names: Vec<&str> = plan.contenders.iter().map(|entry| entry.asked.filesystem.as_str()).collect();
    staging::systems(&filesystems.only(&names), &Journal::new())
        .into_iter()
        .flat_map(|system| system.tools)
        .filter_map(|tool| Some((tool.program, tool.version?)))
        .collect()
}

/// The devices below the work, each with all its lower layers, top first: name and description.
fn devices(place: &Place) -> Vec<(String, String)> {
    let tops: Vec<BlockDevice> = match place {
        Place::Image { scratch, .. } => BlockDevice::under(scratch).into_iter().collect(),
        Place::Device { path, .. } => BlockDevice::find(path).into_iter().collect(),
        Place::Directories(folders) => folders.iter().filter_map(|folder| BlockDevice::under(folder)).collect(),
    };
    let mut lines: Vec<(String, String)> = Vec::new();
    for device in tops.into_iter().flat_map(|top| [vec![top.clone()], top.below()].concat()) {
        let line = (device.name.clone(), in_a_line(&device));
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// `WDC WD40, 4 TB, spins, sectors of 512 and 4096 bytes, scheduler bfq, cache write back`.
fn in_a_line(device: &BlockDevice) -> String {
    let queue = |name: &str| device.queue.settings.get(name).cloned();
    let spins = if device.rotational { "spins" } else { "does not spin" };
    let sectors = format!("sectors of {} and {} bytes", device.logical_sector, device.physical_sector);
    let words = [
        device.layout.clone(),
        device.model.clone().or_else(|| device.driver.clone()),
        Some(show_bytes(device.size_bytes)),
        Some(spins.into()),
        Some(sectors),
        device.queue.scheduler.as_ref().map(|name| format!("scheduler {name}")),
        queue("write_cache").map(|cache| format!("cache {cache}")),
        queue("read_ahead_kb").map(|kib| format!("read-ahead {kib} KiB")),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Removes leftovers of interrupted runs from this plan's places. Returns a sentence on each. A leftover that cannot be removed does not
/// stop the run; the next start tries again.
///
/// # Errors
/// The folder of cleanup records cannot be trusted or read.
pub fn clean_before(plan: &ResolvedPlan) -> Result<Vec<String>, Failure> {
    let mut folders = match &plan.place {
        Place::Image { scratch, .. } => vec![scratch.clone()],
        Place::Directories(folders) => folders.clone(),
        Place::Device { .. } => Vec::new(),
    };
    if let Some(ages) = &plan.ages {
        // Unfinished images in the cache, named after a run that is gone.
        folders.push(ages.folder.clone());
        runner::cache(ages).tidy();
    }
    clean_folders(&folders)
}

/// The same for images in these folders.
///
/// # Errors
/// As [`clean_before`].
pub fn clean_folders(folders: &[std::path::PathBuf]) -> Result<Vec<String>, Failure> {
    let found = staging::survey(folders)?;
    let mut lines = Vec::new();
    for cleaned in staging::clean(&found.leftovers, &Journal::new()) {
        let id = &cleaned.id;
        lines.extend(cleaned.removed.iter().map(|what| format!("removed a leftover of an interrupted run: {what}")));
        lines.extend(cleaned.left_alone.iter().map(|why| format!("a leftover of run {id} is not removed: {why}")));
        lines.extend(cleaned.problems.iter().map(|why| {
            format!("a leftover of run {id} could not be removed; the next start tries again: {why}; `bakeoff clean --forget {id}` drops its record")
        }));
    }
    let strangers = staging::first_seen(found.strangers);
    lines.extend(strangers.iter().map(|one| format!("{} is not touched: {}", one.path.display(), one.why)));
    Ok(lines)
}

/// Bytes of an image besides the files: metadata, a journal, and data written twice.
const BESIDE: u64 = 256 << 20;

/// Whether contenders take turns by slices, all set up at the same time, or why they cannot; `None` where whole trials are asked for, or a
/// single contender has no one to take turns with.
pub fn by_slices(plan: &ResolvedPlan, filesystems: &Registry) -> Option<Result<(), String>> {
    let is_asked = plan.turns != Turns::Trial && plan.contenders.len() > 1;
    is_asked.then(|| why_one_by_one(plan, filesystems).map_or(Ok(()), Err))
}

/// Why the contenders of a plan cannot be mounted at the same time, as the end of a sentence; `None` if they can.
fn why_one_by_one(plan: &ResolvedPlan, filesystems: &Registry) -> Option<String> {
    match &plan.place {
        Place::Image { scratch, .. } => why_not_together(plan, filesystems).or_else(|| why_no_room(plan, scratch)),
        Place::Device { .. } if plan.split => split::why_not(plan, filesystems),
        _ => Some(format!("they share one place{}", split::hint(plan, filesystems))),
    }
}

/// Why contenders cannot be mounted at the same time, each in its own place, as the end of a sentence; `None` if they can.
pub fn why_not_together(plan: &ResolvedPlan, filesystems: &Registry) -> Option<String> {
    if clients::wanted(plan).is_some() {
        return Some("many clients work on one contender at a time".into());
    }
    if plan.ages.is_some() {
        return Some("aged images are restored one at a time".into());
    }
    for asked in plan.contenders.iter().map(|entry| &entry.asked) {
        let label = asked.label.trim_end_matches(TWIN);
        if contenders::is_counted(asked) {
            return Some(format!("{label} runs in a virtual machine that counts instructions"));
        }
        if axes::value(asked, "disk").is_some() {
            return Some("modelled disks are served one at a time".into());
        }
        if asked.filesystem != DEVICE && !filesystems.stands_alone(asked) {
            return Some(format!("{label} needs its own servers or devices"));
        }
    }
    why_no_memory(runner::guests_in(plan), system::in_memory::available())
}

/// Why so many virtual machines cannot run at the same time where so many bytes of memory are available. One by itself always runs.
fn why_no_memory(guests: usize, available: u64) -> Option<String> {
    let needed = staging::guests_memory(guests);
    (guests > 1 && needed > available).then(|| {
        let (needed, available) = (show_bytes(needed), show_bytes(available));
        format!("{guests} virtual machines take up to {needed} of memory, and {available} is available")
    })
}

/// Why a folder cannot hold the images of all contenders.
fn why_no_room(plan: &ResolvedPlan, scratch: &std::path::Path) -> Option<String> {
    let most = plan.works.iter().map(|work| work.compiled.estimate.bytes_to_hold()).max().unwrap_or(0);
    let needed = most.saturating_add(BESIDE).saturating_mul(plan.contenders.len() as u64);
    // A folder whose free space cannot be read is refused when it is opened.
    let free = staging::room(scratch).ok()?;
    (needed > free).then(|| {
        let (count, folder) = (plan.contenders.len(), scratch.display());
        format!("{count} images together take up to {}, and {folder} has {} free", show_bytes(needed), show_bytes(free))
    })
}

/// The plan's place, opened.
pub struct Opened {
    /// Where contenders are set up.
    pub venue: Box<dyn Venue>,
    /// Why turns by slices, which the plan requests, are not possible there.
    pub one_by_one: Option<String>,
}

/// Opens the plan's place.
pub fn venue(plan: &ResolvedPlan, filesystems: &Registry, ager: Ager) -> Result<Opened, Failure> {
    let by_slices = by_slices(plan, filesystems);
    let together = by_slices == Some(Ok(()));
    let one_by_one = by_slices.and_then(Result::err);
    let inner: Box<dyn Venue> = match split::device(plan, filesystems) {
        Some(path) if together => Box::new(ApartVenue::on_parts(filesystems, plan, path, &ager)?),
        _ if together => Box::new(ApartVenue::on_images(filesystems, plan, &ager)?),
        _ => Box::new(StagingVenue::open(filesystems, plan, ager)?),
    };
    Ok(Opened { venue: clients::venue(plan, inner)?, one_by_one })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_machines_run_together_where_their_memory_is_there() {
        let of_three = staging::guests_memory(3);
        assert_eq!((why_no_memory(0, 0), why_no_memory(1, 0), why_no_memory(3, of_three)), (None, None, None));
        let why = why_no_memory(3, of_three - 1).expect("one byte is missing");
        assert!(why.starts_with("3 virtual machines take up to "), "{why}");
    }
}
