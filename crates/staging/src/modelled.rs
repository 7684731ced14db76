//! A contender's image on a disk that this machine does not have: served from memory, at the pace of a described disk.
//! In: the disk's name or description file. Out: a folder for the image, and what must be said beside every figure.

use crate::error::StagingError;
use crate::guests::is_guest;
use crate::served::ServedFolder;
use crate::stage::target::Where;
use disk_model::Model;
use records::{Contender, show_bytes};
use std::path::{Path, PathBuf};
use system::{BlockDevice, Journal, input};

mod ceiling;

pub use ceiling::Ceiling;

/// Room for more than the image in the served folder.
const SPARE: u64 = 64 << 20;

/// A modelled disk that is being served.
#[derive(Debug)]
pub(crate) struct Modelled {
    folder: ServedFolder,
    model: Model,
    ceiling: Ceiling,
}

fn described(disk: &str) -> Result<Model, StagingError> {
    let read = |path: &Path| input::text_file(path, input::TEXT_LIMIT).map_err(|why| why.to_string());
    axes::described(disk, read)
        .map_err(|problem| StagingError::contender(disk, problem, "docs/disks.md says how disks are described"))
}

/// Whether the modelled disk that a contender asks for, if any, is described.
///
/// # Errors
/// There is none of this name, or the description cannot be read or understood.
pub fn check_disk(contender: &Contender) -> Result<(), StagingError> {
    axes::value(contender, "disk").map_or(Ok(()), |disk| described(&disk).map(drop))
}

/// Whether a contender can be put on the modelled disk that it asks for, if any.
///
/// # Errors
/// It is to run on a real device, in a virtual machine, or aged; nobody describes the disk; there is too little memory.
pub(crate) fn check(contender: &Contender, place: &Where) -> Result<(), StagingError> {
    let Some(disk) = axes::value(contender, "disk") else { return Ok(()) };
    let refused = |problem: &str, way: &str| Err(StagingError::contender(&contender.label, problem, way));
    described(&disk)?;
    let Where::Image { bytes, .. } = place else {
        return refused(
            "a modelled disk is no real one, and is not put on one",
            "leave --on out, or leave the disk out",
        );
    };
    if is_guest(contender.kernel.as_deref()) {
        return refused(
            "modelled disks are served to this machine's own kernel, and this one runs in a virtual machine",
            "leave the filesystem or the disk out",
        );
    }
    if contender.age.as_deref().is_some_and(|age| age != records::FRESH) || contender.fill.is_some() {
        return refused("aged images lie on the scratch folder's disk", "leave the age or the disk out");
    }
    let free = system::in_memory::available();
    if *bytes > free {
        let problem = format!(
            "a modelled disk is kept in memory, and of {} there are {} free",
            show_bytes(*bytes),
            show_bytes(free)
        );
        return refused(&problem, "name a smaller --image");
    }
    Ok(())
}

impl Modelled {
    /// Has a disk be served that holds so many bytes.
    ///
    /// # Errors
    /// Nobody describes it, or it cannot be served.
    pub fn open(disk: &str, bytes: u64, journal: &Journal) -> Result<Modelled, StagingError> {
        let model = described(disk)?;
        let ceiling = Ceiling::here(journal)?;
        let folder = ServedFolder::open(bytes + SPARE, Some(disk), journal)?;
        Ok(Modelled { folder, model, ceiling })
    }

    /// The folder for its image.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// What must be said beside every figure.
    pub fn remark(&self) -> String {
        let (name, ceiling) = (self.model.name(), self.ceiling.in_words());
        format!("{name} is served by Bakeoff itself, which {ceiling}: faster disks than that cannot be modelled here")
    }

    /// The disk, as it is shown beneath the image.
    pub fn device(&self) -> BlockDevice {
        BlockDevice {
            path: PathBuf::from(self.model.name()),
            name: format!("{} (modelled)", self.model.name()),
            size_bytes: self.model.capacity(),
            model: Some(self.model.title().into()),
            rotational: self.model.is_rotational(),
            logical_sector: 512,
            physical_sector: 512,
            layout: Some("modelled disk, served from memory".into()),
            ..BlockDevice::default()
        }
    }

    /// Ends it; the image must be gone.
    ///
    /// # Errors
    /// Something on it is still in use.
    pub fn close(self) -> Result<(), StagingError> {
        self.folder.close()
    }
}
