//! The size of images: large enough for every contender to hold every workload.
//! In: the place of a plan, its contenders and workloads. Out: the place with a sufficient size, and a sentence for the plan; or an error
//! that names the size to request. Nothing is changed on disk.

use crate::failure::Failure;
use records::facts::Estimate;
use runner::{DEVICE, Place, PlannedContender, ResolvedPlan, Work};
use staging::{DeviceNeed, FilesToHold, Registry, device_need};
use workload::quantity::show_bytes;

/// What one contender needs for one workload.
struct Need<'a> {
    contender: &'a PlannedContender,
    work: &'a Work,
    device: DeviceNeed,
}

impl Need<'_> {
    fn estimate(&self) -> &Estimate {
        &self.work.compiled.estimate
    }

    /// `small-files at scale full creates 300002 files and folders`.
    fn work_in_words(&self) -> String {
        let (work, files) = (self.work, self.estimate().inodes_at_most());
        format!("{} at scale {} creates {files} files and folders", work.name, work.compiled.scale)
    }
}

/// Sets a sufficient image size if Bakeoff may choose it (`free`); otherwise refuses a size that has too few inodes.
///
/// # Errors
/// An image or device cannot hold a contender's files; or a contender's options give too few inodes.
pub fn settle(
    place: &mut Place,
    free: bool,
    entries: &[PlannedContender],
    works: &[Work],
    filesystems: &Registry,
) -> Result<Option<String>, Failure> {
    let Some(size) = crate::resolve::size_of(place) else { return Ok(None) };
    let needs = needs(entries, works, filesystems)?;
    if let Some((need, count)) = needs.iter().find_map(|need| Some((need, need.device.too_few_inodes?))) {
        let label = &need.contender.asked.label;
        return Err(Failure::usage(format!(
            "{}, but with the options of {label} mkfs creates only {count} inodes; raise that number, or use a smaller scale",
            need.work_in_words()
        )));
    }
    let Some(largest) = needs.iter().max_by_key(|need| need.device.bytes) else { return Ok(None) };
    let fitting = largest.device.bytes.div_ceil(1 << 30) << 30;
    let label = &largest.contender.asked.label;
    match place {
        Place::Image { bytes, .. } if free => {
            let grows = fitting > *bytes;
            *bytes = fitting.max(*bytes);
            Ok(grows.then(|| {
                let because = &largest.device.because;
                format!("Images of {}: {}, and {label} {because}.", show_bytes(fitting), largest.work_in_words())
            }))
        }
        _ => needs.iter().try_for_each(|need| fits(need, place, size, fitting)).map(|()| None),
    }
}

/// Refuses parts of a device, each of so many bytes, that are too small for a contender or for the files of a workload.
///
/// # Errors
/// As above.
pub fn fits_parts(plan: &ResolvedPlan, (bytes, count): (u64, usize), filesystems: &Registry) -> Result<(), Failure> {
    let Place::Device { path } = &plan.place else { return Ok(()) };
    for need in needs(&plan.contenders, &plan.works, filesystems)? {
        let refused = |why: String| {
            let (device, size) = (path.display(), show_bytes(bytes));
            Err(Failure::usage(format!(
                "{device}, split in {count} parts of {size}, is too small: {why}; leave out --split or some contenders, or use a larger device"
            )))
        };
        let label = &need.contender.asked.label;
        if bytes < need.device.smallest {
            return refused(format!("{label} needs at least {}", show_bytes(need.device.smallest)));
        }
        // Files, and those that exist twice while they are replaced.
        let content = need.estimate().bytes_to_hold();
        if content > bytes {
            let (work, scale) = (&need.work.name, &need.work.compiled.scale);
            return refused(format!("{work} at scale {scale} needs {}", show_bytes(content)));
        }
        if need.device.for_inodes > bytes {
            return refused(format!("{}, and {label} {}", need.work_in_words(), need.device.because));
        }
    }
    Ok(())
}

/// Refuses a size that cannot hold a contender's files of a workload. `fitting`: a size that suits all.
fn fits(need: &Need, place: &Place, size: u64, fitting: u64) -> Result<(), Failure> {
    if size < need.device.smallest {
        return Ok(()); // What cannot be made there at all is refused by name before the run.
    }
    let (what, way) = match place {
        Place::Device { .. } => ("the device", "use a larger device".to_owned()),
        _ => ("an image", format!("use --image {}", show_bytes(fitting).replace(' ', ""))),
    };
    let (work, content) = (need.work, need.estimate().bytes_at_most);
    if content > size {
        return Err(Failure::usage(format!(
            "{} at scale {} writes {}, which does not fit on {what} of {}; {way}, or a smaller scale",
            work.name,
            work.compiled.scale,
            show_bytes(content),
            show_bytes(size)
        )));
    }
    if need.device.for_inodes > size {
        return Err(Failure::usage(format!(
            "{}, and {} {}, which gives too few inodes on {what} of {}; {way}, mkfs options with more inodes, or a smaller scale",
            need.work_in_words(),
            need.contender.asked.label,
            need.device.because,
            show_bytes(size)
        )));
    }
    Ok(())
}

/// Needs of each contender for each of its workloads. Ageing leaves only a share of the device.
fn needs<'a>(
    entries: &'a [PlannedContender],
    works: &'a [Work],
    filesystems: &Registry,
) -> Result<Vec<Need<'a>>, Failure> {
    let mut needs = Vec::new();
    for contender in entries.iter().filter(|entry| entry.asked.filesystem != DEVICE && entry.twin_of.is_none()) {
        let meets = |work: &&Work| contender.works.is_empty() || contender.works.contains(&work.name);
        for work in works.iter().filter(meets) {
            let estimate = &work.compiled.estimate;
            if !estimate.needs_files {
                continue;
            }
            let files = FilesToHold { inodes: estimate.inodes_at_most(), bytes: estimate.bytes_to_hold() };
            needs.push(Need { contender, work, device: device_need(filesystems, &contender.asked, files)? });
        }
    }
    Ok(needs)
}
