//! Finding out what filesystems can do, here or on another kernel in a guest.
//! In: names, and the kernels that they are asked about on. Out: [`Probed`], and in words who could not be probed.

use crate::failure::Failure;
use crate::{scratch, text};
use records::feature::Probed;
use records::{Cause, Contender, Place, ResolvedPlan};
use staging::{Registry, StagingError, Target, Where};
use std::path::PathBuf;
use system::Journal;

/// Where the images are made: this many bytes each, in this folder; in a guest in its memory.
#[derive(Debug, Clone)]
pub struct Images {
    /// Bytes of an image, sparse.
    pub bytes: u64,
    /// Where they lie on this machine.
    pub folder: PathBuf,
}

/// Bytes of the images that a run's filesystems are probed on, at most.
const MOST: u64 = 1 << 30;

/// A filesystem, and the kernel of a guest; without one, this machine's own.
pub type Asked = (String, Option<String>);

/// Asks all of them, one after the other, and says which; who could not be asked is said, too.
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
        // Some tools abort now and then, and an emulated guest may die at its start.
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

/// What the filesystems of a plan can do, each on the kernels that it competes on, with its own defaults; a directory's and the raw
/// device's are not asked for.
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
