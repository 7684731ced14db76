//! Images: sparse files in a scratch folder, attached to loop devices with direct I/O.
//! In: a folder and a size. Out: a loop device that is ours to format.
//! Each trial gets a fresh file: what an earlier trial allocated would make the next one's first writes cheaper, and its holes
//! would answer reads without a disk.

use crate::error::LabError;
use crate::mark::{Made, Mark, image_name};
use host::{BlockDevice, Command, Journal, Sysfs as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long filling an image may take.
const FILL_LIMIT: Duration = Duration::from_secs(3600);

/// Pieces of data in an image that are looked up at most.
const MOST_PIECES: usize = 1 << 20;

/// An image file and the loop device on it.
#[derive(Debug)]
pub(crate) struct Image {
    pub file: PathBuf,
    pub device: BlockDevice,
    pub remarks: Vec<String>,
}

/// Refuses a size that does not fit into the folder's free space, or a folder that cannot be written to.
pub(crate) fn fits(folder: &Path, bytes: u64) -> Result<(), LabError> {
    let found =
        rustix::fs::statvfs(folder).map_err(|error| LabError::file("look at the scratch folder", folder, error))?;
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK)
        .map_err(|error| LabError::file("write to the scratch folder", folder, error))?;
    let free = found.f_bavail * found.f_frsize;
    // Sparse images take only what is written, but nobody knows beforehand how much that is.
    if bytes > free {
        return Err(LabError::NoRoom {
            size: in_words(bytes),
            problem: format!("too large: {} has {} free", folder.display(), in_words(free)),
            way_out: "name a smaller --image, free some space, or name another folder for images".into(),
        });
    }
    Ok(())
}

/// Makes an image and attaches it. `filled`: so many bytes at its beginning hold incompressible data, the rest is a hole.
pub(crate) fn attach(
    journal: &Journal,
    mark: &mut Mark,
    folder: &Path,
    number: u32,
    bytes: u64,
    filled: u64,
) -> Result<Image, LabError> {
    fits(folder, bytes)?;
    let file = folder.join(image_name(mark.id(), number));
    mark.will_make(Made::Image { path: file.clone() })?;
    run_making(journal, folder, file, |sector, file| making(file, bytes, filled, sector))
}

/// Attaches an image whose file is there.
pub(crate) fn attach_made(journal: &Journal, folder: &Path, file: PathBuf, bytes: u64) -> Result<Image, LabError> {
    run_making(journal, folder, file, |sector, file| making(file, bytes, 0, sector).split_off(1))
}

fn run_making(
    journal: &Journal,
    folder: &Path,
    file: PathBuf,
    commands: impl Fn(u32, &Path) -> Vec<(Command, &'static str)>,
) -> Result<Image, LabError> {
    let sector = BlockDevice::beneath(folder).map_or(512, |device| device.logical_sector);
    for (command, doing) in commands(sector, &file) {
        let answer = command.run(journal).map_err(LabError::command(format!("{doing} {}", file.display())))?;
        if doing != "attaching" {
            continue;
        }
        let node = PathBuf::from(answer.stdout.trim());
        let device = BlockDevice::find(&node).map_err(|error| LabError::refused(&node, error.to_string(), ""))?;
        let mut image = checked(file, device)?;
        if image.device.read_only {
            // A loop device keeps the flag that its former user set with `blockdev --setro`.
            let writable = Command::new(["blockdev", "--setrw", answer.stdout.trim()]);
            writable.run(journal).map_err(LabError::command(format!("making {} writable", node.display())))?;
            image.device.read_only = false;
        }
        return Ok(image);
    }
    Err(LabError::file("attach", &file, "no loop device was named"))
}

/// The commands, with what each does; the last one attaches.
pub(crate) fn making(file: &Path, bytes: u64, filled: u64, sector: u32) -> Vec<(Command, &'static str)> {
    let path = file.display().to_string();
    let mut commands = vec![(Command::new(["truncate", "--size", &bytes.to_string(), &path]), "making")];
    if filled > 0 {
        let words = [
            "dd",
            "if=/dev/urandom",
            &format!("of={path}"),
            "bs=1M",
            &format!("count={filled}"),
            "iflag=count_bytes",
            "conv=notrunc,fsync",
        ];
        commands.push((Command::new(words).limit(FILL_LIMIT), "filling"));
    }
    let mut words = vec!["losetup".to_string(), "--find".into(), "--show".into(), "--direct-io=on".into()];
    if sector > 512 {
        // Direct I/O to the backing file needs its disk's sectors.
        words.extend(["--sector-size".into(), sector.to_string()]);
    }
    words.push(path);
    let attach = Command::new(words).hint("loop devices need the kernel's loop driver: `modprobe loop`");
    commands.push((attach, "attaching"));
    commands
}

/// The loop device must be on our file: another process may have been quicker to take the same number.
fn checked(file: PathBuf, device: BlockDevice) -> Result<Image, LabError> {
    let backing = device.backing_file.clone().unwrap_or_default();
    let expected = file.canonicalize().unwrap_or_else(|_| file.clone());
    if backing != expected {
        let reason = format!("it is attached to {} and not to our image", backing.display());
        return Err(LabError::refused(&device.path, reason, "try again"));
    }
    let mut remarks = Vec::new();
    if device.loop_direct != Some(true) {
        remarks.push(format!(
            "the folder {} does not allow direct I/O, so the host's page cache stands between the image and its disk",
            file.parent().unwrap_or(Path::new("/")).display()
        ));
    }
    Ok(Image { file, device, remarks })
}

impl Image {
    /// Detaches the loop device and removes the file.
    pub fn remove(&self, journal: &Journal, mark: &mut Mark) -> Result<(), LabError> {
        remove(journal, &self.file)?;
        mark.removed(|made| matches!(made, Made::Image { path } if *path == self.file));
        Ok(())
    }

    /// Takes the image's pages out of the host's page cache; direct I/O leaves none, but filling does.
    pub fn forget_pages(&self) {
        if let Ok(file) = std::fs::File::open(&self.file) {
            // Advice only: where it is not taken, direct I/O still goes past the cache.
            let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
        }
    }

    /// Lets the host's filesystem look up where the image's blocks lie. Dropping caches makes it forget, and a look-up on its disk
    /// during a phase would be work that no contender asked for.
    pub fn find_blocks(&self) {
        use rustix::fs::{SeekFrom, seek};
        let Ok(file) = std::fs::File::open(&self.file) else { return };
        let mut at = 0;
        // The kernel walks over every extent to find where data ends; where there is none further on, it says so by an error.
        for _ in 0..MOST_PIECES {
            let Ok(data) = seek(&file, SeekFrom::Data(at)) else { return };
            let Ok(hole) = seek(&file, SeekFrom::Hole(data)) else { return };
            at = hole;
        }
    }
}

/// Detaches every loop device on this file, and removes the file.
pub(crate) fn remove(journal: &Journal, file: &Path) -> Result<(), LabError> {
    ask_to_detach(journal, file)?;
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(LabError::file("remove the image", file, error))
        }
        _ => Ok(()),
    }?;
    await_detached(file)
}

/// Detaches every loop device on this file, which stays.
pub(crate) fn detach(journal: &Journal, file: &Path) -> Result<(), LabError> {
    ask_to_detach(journal, file)?;
    await_detached(file)
}

fn ask_to_detach(journal: &Journal, file: &Path) -> Result<(), LabError> {
    for device in attached_to(file) {
        let words = ["losetup".to_string(), "--detach".into(), device.path.display().to_string()];
        let is_there = || attached_to(file).iter().any(|other| other.path == device.path);
        match Command::new(words).run(journal) {
            // Another start may be cleaning up the same at the same time; what is gone needs no detaching.
            Err(error) if is_there() => {
                return Err(LabError::command(format!("detaching {} from {}", device.name, file.display()))(error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn await_detached(file: &Path) -> Result<(), LabError> {
    // The kernel detaches only when the last user is gone.
    let end = std::time::Instant::now() + Duration::from_secs(5);
    while !attached_to(file).is_empty() {
        if std::time::Instant::now() > end {
            return Err(LabError::LeftBehind(format!("the loop device on {} is still in use", file.display())));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Loop devices that are attached to a file, also after its name was removed.
pub(crate) fn attached_to(file: &Path) -> Vec<BlockDevice> {
    let resolved = file.canonicalize().ok();
    BlockDevice::all()
        .into_iter()
        .filter(|device| {
            device
                .backing_file
                .as_deref()
                .is_some_and(|backing| backing == file || Some(backing) == resolved.as_deref())
        })
        .collect()
}

/// Bytes as a person reads them.
pub(crate) fn in_words(bytes: u64) -> String {
    const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match UNITS.iter().find(|(_, shift)| bytes >= 1 << shift) {
        Some((unit, shift)) if bytes.is_multiple_of(1 << shift) => format!("{} {unit}", bytes >> shift),
        Some((unit, shift)) => format!("{:.1} {unit}", bytes as f64 / (1u64 << shift) as f64),
        None => format!("{bytes} bytes"),
    }
}
