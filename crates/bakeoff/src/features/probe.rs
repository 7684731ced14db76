//! Tests what filesystems can do, here or on another kernel in a guest.
//! In: names, and kernels to test them on. Out: [`Probed`], and messages about filesystems that could not be probed.

use crate::failure::Failure;
use crate::{scratch, text};
use records::feature::Probed;
use records::{Cause, Contender, Place, ResolvedPlan};
use staging::{Registry, StagingError, Target, Where};
use std::path::PathBuf;
use system::Journal;

/// Where the images are created, and the size of each; a guest creates them in its memory.
#[derive(Debug, Clone)]
pub struct Images {
    /// Bytes of an image, sparse.
    pub bytes: u64,
    /// Their folder on this machine.
    pub folder: PathBuf,
}

/// Size limit of the images on which a run's filesystems are probed.
const MOST: u64 = 1 << 30;

/// A filesystem, and the kernel of a guest; without one, the host kernel.
pub type Asked = (String, Option<String>);

/// Probes all of them in turn and reports progress; failures are printed at the end.
///
/// # Errors
/// None of them could be probed, or the place cannot be used at all.
pub fn probe_all(registry: &Registry, all: &[Asked], images: &Images) -> Result<Vec<Probed>, Failure> {
    let mut probed = Vec::new();
    let mut refused = Vec::new();
    for (name, kernel) in all {
        let on = kernel.as_ref().map_or_else(String::new, |kernel| format!(" on {kernel}, in a virtual machine"));
        eprintln!("probing {name}{on}");
        let mut tried = one(registry, name, kernel.as_ref(), images);
        // Some tools abort occasionally, and an emulated guest may die at its start: try once more.
        if tried.as_ref().is_err_and(|error| error.cause() != Cause::Lasting) {
            tried = one(registry, name, kernel.as_ref(), images);
        }
        match tried {
            Ok(features) => probed.push(Probed { name: name.clone(), kernel: kernel.clone(), features }),
            Err(error) => refused.push(format!("{name} cannot be probed{on}: {error}")),
        }
    }
    for why in &refused {
        eprint!("{}", text::wrapped(why, text::width(), "", "  "));
    }
    match probed.is_empty() {
        true => Err(Failure::new("no filesystem could be probed; `bakeoff systems` shows what would help")),
        false => Ok(probed),
    }
}

/// What the filesystems of a plan can do, with default options, on each kernel on which they compete. Directories and the raw device are skipped.
///
/// # Errors
/// None of them could be probed.
pub fn of_plan(plan: &ResolvedPlan, registry: &Registry) -> Result<Vec<Probed>, Failure> {
    let images = match &plan.place {
        Place::Image { bytes, scratch } => Images { bytes: (*bytes).min(MOST), folder: scratch.clone() },
        Place::Device { .. } => Images { bytes: MOST, folder: scratch::folder(None)? },
        Place::Directories(_) => {
            let way = "for a directory use `bakeoff features --dir`";
            return Err(Failure::usage(format!("--features tests filesystems on its own images; {way}")));
        }
    };
    let mut all: Vec<Asked> = Vec::new();
    for entry in &plan.contenders {
        let asked = &entry.asked;
        let kernel = asked.kernel.clone().filter(|kernel| staging::is_guest(Some(kernel)));
        let one = (asked.filesystem.clone(), kernel);
        if asked.filesystem != records::DEVICE && !all.contains(&one) {
            all.push(one);
        }
    }
    probe_all(registry, &all, &images)
}

fn one(
    registry: &Registry,
    name: &str,
    kernel: Option<&String>,
    images: &Images,
) -> Result<Vec<records::Feature>, StagingError> {
    let place = Where::Image { bytes: images.bytes, folder: images.folder.clone() };
    let mut target = Target::open(registry, &place, &Journal::new())?;
    match kernel {
        None => staging::features::probe_filesystem(&mut target, name),
        Some(_) => {
            let contender = Contender { kernel: kernel.cloned(), ..Contender::plain(name) };
            target.probe_in_guest(&contender, images.bytes)
        }
    }
}
