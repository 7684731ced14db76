//! Splitting a device: whether a plan can do it, and into which parts.
//! In: a plan on a device. Out: the parts, why there are none, or one clear error before anything is changed.

use crate::failure::Failure;
use crate::{image_size, place};
use records::{Place, ResolvedPlan, Turns};
use runner::{DEVICE, TWIN};
use staging::{Part, Registry, SplitCommands};
use std::path::Path;
use system::{BlockDevice, Sysfs as _};
use workload::quantity::show_bytes;

/// The device that a run of this plan splits; `None` if it splits none.
pub fn device<'p>(plan: &'p ResolvedPlan, filesystems: &Registry) -> Option<&'p Path> {
    let Place::Device { path } = &plan.place else { return None };
    let is_split = plan.split && plan.turns != Turns::Trial && why_not(plan, filesystems).is_none();
    is_split.then_some(path.as_path())
}

/// Why the contenders of a plan on a device cannot each have a part, as the end of a sentence; `None` if they can.
pub fn why_not(plan: &ResolvedPlan, filesystems: &Registry) -> Option<String> {
    if plan.only_reads_device() {
        return Some("the device is only read".into());
    }
    if plan.contenders.len() < 2 {
        return Some("there is one contender".into());
    }
    place::why_not_together(plan, filesystems).or_else(|| {
        let mut asked = plan.contenders.iter().map(|entry| &entry.asked).filter(|asked| asked.filesystem != DEVICE);
        let first = asked.next()?;
        if let Some(one) = asked.clone().find(|one| one.scheduler != first.scheduler) {
            let (one, first) = (one.label.trim_end_matches(TWIN), first.label.trim_end_matches(TWIN));
            return Some(format!(
                "{first} and {one} have different schedulers, and a scheduler acts on the whole disk"
            ));
        }
        let (one, setting) = [first].into_iter().chain(asked).find_map(|one| Some((one, one.device.keys().next()?)))?;
        Some(format!("device.{setting} of {} acts on the whole disk", one.label.trim_end_matches(TWIN)))
    })
}

/// Advice for contenders that share a device, as words in parentheses; empty if splitting is not possible.
pub fn hint(plan: &ResolvedPlan, filesystems: &Registry) -> &'static str {
    let Place::Device { path } = &plan.place else { return "" };
    let can = || BlockDevice::find(path).is_ok_and(|disk| staging::parts(&disk, plan.contenders.len()).is_ok());
    if !plan.split && why_not(plan, filesystems).is_none() && can() {
        " (--split gives each a part of its own)"
    } else {
        ""
    }
}

/// The parts of the device that a run of this plan splits; empty if it splits none, or the device does not exist.
///
/// # Errors
/// The device cannot be split.
pub fn parts(plan: &ResolvedPlan, filesystems: &Registry) -> Result<Vec<Part>, Failure> {
    match device(plan, filesystems).map(BlockDevice::find) {
        Some(Ok(disk)) => Ok(staging::parts(&disk, plan.contenders.len())?),
        // A missing device is refused when it is opened.
        Some(Err(_)) | None => Ok(Vec::new()),
    }
}

/// Fits a plan to the parts of its device, if a run would split it.
///
/// # Errors
/// The device cannot be split, or a part is too small for a contender or the work.
pub fn settle(plan: &mut ResolvedPlan, filesystems: &Registry) -> Result<(), Failure> {
    if plan.split && plan.turns == Turns::Trial {
        let text = "--split: contenders on parts of a device take turns by slices; leave out --turns trial, or --split";
        return Err(Failure::usage(text));
    }
    let parts = parts(plan, filesystems)?;
    let Some(part) = parts.first() else { return Ok(()) };
    image_size::fits_parts(plan, (part.bytes, parts.len()), filesystems)?;
    plan.works.iter_mut().for_each(|work| work.compiled.fit_device(part.bytes));
    Ok(())
}

/// `, split in 4 parts`, to follow the name of the place; empty if a run splits no device.
pub fn in_words(plan: &ResolvedPlan, filesystems: &Registry) -> String {
    device(plan, filesystems).map_or_else(String::new, |_| format!(", split in {} parts", plan.contenders.len()))
}

/// The same with the size of a part, if known: `, split in 4 parts of 2 GiB`.
pub fn with_size(plan: &ResolvedPlan, filesystems: &Registry) -> String {
    let parts = parts(plan, filesystems).unwrap_or_default();
    let size = parts.first().map(|part| format!(" of {}", show_bytes(part.bytes)));
    in_words(plan, filesystems) + &size.unwrap_or_default()
}

/// The commands that split the device before the first trial and undo it after the last; `None` if a run splits none.
pub fn commands(plan: &ResolvedPlan, filesystems: &Registry) -> Option<Result<SplitCommands, String>> {
    let path = device(plan, filesystems)?;
    Some(staging::split_commands(path, plan.contenders.len()).map_err(|error| error.to_string()))
}
