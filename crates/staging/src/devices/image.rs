//! Images: sparse files in a scratch folder, attached to loop devices with direct I/O.
//! In: a folder and a size. Out: a loop device that is ours to format.
//! Each trial gets a fresh file: what an earlier trial allocated would make the next one's first writes cheaper, and its holes
//! would answer reads without a disk.

use crate::devices::loops;
use crate::error::StagingError;
use crate::ownership::cleanup_journal::Mark;
use crate::ownership::owned::Identity;
use records::Cause;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use system::{BlockDevice, Command, Journal, Sysfs as _};

/// How long filling an image may take.
const FILL_LIMIT: Duration = Duration::from_secs(3600);

/// Pieces of data in an image that are looked up at most.
const MOST_PIECES: usize = 1 << 20;

/// An image file and the loop device on it.
#[derive(Debug, Clone)]
pub(crate) struct Image {
    pub file: PathBuf,
    handle: Arc<File>,
    pub device: BlockDevice,
    pub remarks: Vec<String>,
}

/// Refuses a size that does not fit into the folder's free space, or a folder that cannot be written to.
pub(crate) fn fits(folder: &Path, bytes: u64) -> Result<(), StagingError> {
    is_folder(folder)?;
    let found =
        rustix::fs::statvfs(folder).map_err(|error| StagingError::file("look at the scratch folder", folder, error))?;
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK)
        .map_err(|error| StagingError::file("write to the scratch folder", folder, error))?;
    let mut free = found.f_bavail * found.f_frsize;
    if File::open(folder).is_ok_and(system::in_memory::is_in_memory) {
        // It may hold more than the memory does.
        free = free.min(system::in_memory::available());
    }
    // Sparse images take only what is written, but nobody knows beforehand how much that is.
    if bytes > free {
        let (bytes, free) = (records::show_bytes(bytes), records::show_bytes(free));
        return Err(StagingError::Other {
            problem: format!("{bytes} is too large: {} has {free} free", folder.display()),
            way_out: "name a smaller --image, free some space, or name another folder for images".into(),
            cause: Cause::Passing,
        });
    }
    Ok(())
}

/// Refuses a scratch folder that is none.
pub(crate) fn is_folder(folder: &Path) -> Result<(), StagingError> {
    let doing = "use the scratch folder";
    match std::fs::metadata(folder) {
        Ok(facts) if facts.is_dir() => Ok(()),
        Ok(_) => {
            let way = "name a folder in which images can be made";
            Err(StagingError::file(doing, folder, "it is not a folder").with_way(way))
        }
        Err(error) => {
            let way = "make it with mkdir -p, or name another with --scratch";
            Err(StagingError::file(doing, folder, error).with_way(way))
        }
    }
}

/// Makes an image and attaches it. `filled`: so many bytes at its beginning hold incompressible data, the rest is a hole.
pub(crate) fn attach(
    journal: &Journal,
    mark: &mut Mark,
    folder: &Path,
    number: u32,
    bytes: u64,
    filled: u64,
) -> Result<Image, StagingError> {
    fits(folder, bytes)?;
    let file = mark.make_image(folder, number)?;
    run_making(journal, mark, file, |sector, file| making(file, bytes, filled, sector))
}

/// Attaches an image whose content is there.
pub(crate) fn attach_made(journal: &Journal, mark: &Mark, file: PathBuf, bytes: u64) -> Result<Image, StagingError> {
    run_making(journal, mark, file, |sector, file| making(file, bytes, 0, sector).split_off(1))
}

fn run_making(
    journal: &Journal,
    mark: &Mark,
    file: PathBuf,
    commands: impl Fn(u32, &Path) -> Vec<(Command, &'static str)>,
) -> Result<Image, StagingError> {
    let Some(owned) = mark.image(&file) else {
        return Err(StagingError::file("attach", &file, "it was not made by this run"));
    };
    let (handle, identity) = (Arc::clone(&owned.file), owned.identity);
    let folder = file.parent().unwrap_or(Path::new("/"));
    let sector = BlockDevice::beneath(folder).map_or(512, |device| device.logical_sector);
    for (command, doing) in commands(sector, &file) {
        let command = match doing == ATTACHING {
            true if takes_direct(&file) => command,
            // What stands between is said of the image.
            true => attaching(&file.display().to_string(), sector, false),
            false => command.through(&file, &handle),
        };
        let answer = command.run(journal).map_err(StagingError::command(format!("{doing} {}", file.display())))?;
        if doing != ATTACHING {
            continue;
        }
        let node = PathBuf::from(answer.stdout.trim());
        let device = BlockDevice::find(&node).map_err(|error| StagingError::refused(&node, error.to_string(), ""))?;
        let mut image = checked(file, handle, device, identity, journal)?;
        if image.device.read_only {
            // A loop device keeps the flag that its former user set with `blockdev --setro`.
            let writable = Command::new(["blockdev", "--setrw", answer.stdout.trim()]);
            writable.run(journal).map_err(StagingError::command(format!("making {} writable", node.display())))?;
            image.device.read_only = false;
        }
        return Ok(image);
    }
    Err(StagingError::file("attach", &file, "no loop device was named"))
}

/// What the last command does.
const ATTACHING: &str = "attaching";

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
    commands.push((attaching(&path, sector, true), ATTACHING));
    commands
}

fn attaching(path: &str, sector: u32, direct: bool) -> Command {
    let mut words = vec!["losetup".to_string(), "--find".into(), "--show".into()];
    words.extend(direct.then(|| "--direct-io=on".into()));
    if sector > 512 {
        // Direct I/O to the backing file needs its disk's sectors.
        words.extend(["--sector-size".into(), sector.to_string()]);
    }
    words.push(path.into());
    Command::new(words).hint("loop devices need the kernel's loop driver: `modprobe loop`")
}

/// Whether the folder's filesystem takes direct I/O; tmpfs does since Linux 6.6, and losetup refuses what does not.
fn takes_direct(file: &Path) -> bool {
    let flags = rustix::fs::OFlags::DIRECT.bits() as i32;
    File::options().read(true).custom_flags(flags).open(file).is_ok()
}

/// The loop device must be on our file: another process may have been quicker to take the same number, and in a folder where
/// others can write, the name may lead elsewhere by now. A device on another file is let go of untouched.
fn checked(
    file: PathBuf,
    handle: Arc<File>,
    device: BlockDevice,
    identity: Identity,
    journal: &Journal,
) -> Result<Image, StagingError> {
    if loops::is_on(&device, identity) != Some(true) {
        let backing = device.backing_file.clone().unwrap_or_default();
        let reason = format!("it is attached to {}, which is not the image that was made", backing.display());
        if backing.file_name() == file.file_name() {
            let words = ["losetup", "--detach", &device.path.display().to_string()].map(String::from);
            Command::new(words).run(journal).map_err(StagingError::command(format!("detaching {}", device.name)))?;
        }
        return Err(StagingError::failed(&device.name, reason, "", records::Cause::Passing));
    }
    let mut remarks = Vec::new();
    if device.loop_direct != Some(true) {
        remarks.push(format!(
            "the folder {} does not allow direct I/O, so the host's page cache stands between the image and its disk",
            file.parent().unwrap_or(Path::new("/")).display()
        ));
    }
    Ok(Image { file, handle, device, remarks })
}

impl Image {
    /// Detaches the loop device and removes the file.
    pub fn remove(&self, journal: &Journal, mark: &mut Mark) -> Result<(), StagingError> {
        remove(journal, mark, &self.file)
    }

    /// Takes the image's pages out of the host's page cache; direct I/O leaves none, but filling does.
    pub fn forget_pages(&self) {
        if self.device.loop_direct != Some(true) {
            // Pages that are still to be written stay, and are counted then.
            let _ = self.handle.sync_data();
        }
        // Advice only: where it is not taken, direct I/O still goes past the cache.
        let _ = rustix::fs::fadvise(&*self.handle, 0, None, rustix::fs::Advice::DontNeed);
    }

    /// Bytes of the image in the host's page cache; None where the kernel cannot tell, and where the image lies in memory, which is no
    /// cache of it.
    pub fn cached_bytes(&self) -> Option<u64> {
        if system::in_memory::is_in_memory(&*self.handle) { None } else { system::calls::cached_bytes(&*self.handle) }
    }

    /// Lets the host's filesystem look up where the image's blocks lie. Dropping caches makes it forget, and a look-up on its disk
    /// during a phase would be work that no contender asked for.
    pub fn find_blocks(&self) {
        use rustix::fs::{SeekFrom, seek};
        let mut at = 0;
        // The kernel walks over every extent to find where data ends; where there is none further on, it says so by an error.
        for _ in 0..MOST_PIECES {
            let Ok(data) = seek(&*self.handle, SeekFrom::Data(at)) else { return };
            let Ok(hole) = seek(&*self.handle, SeekFrom::Hole(data)) else { return };
            at = hole;
        }
    }
}

/// Detaches every loop device on an image of this run, and removes the file.
pub(crate) fn remove(journal: &Journal, mark: &mut Mark, file: &Path) -> Result<(), StagingError> {
    let Some(owned) = mark.image(file) else { return Ok(()) };
    let identity = Some(owned.identity);
    loops::detach(journal, file, identity)?;
    // Before the last user is waited for: whoever it is, the space is free once it lets go.
    owned.remove().map_err(|error| StagingError::file("remove the image", file, error))?;
    loops::await_detached(file, identity)?;
    mark.release_image(file);
    Ok(())
}

/// Detaches every loop device on an image of this run, which stays.
pub(crate) fn detach(journal: &Journal, mark: &Mark, file: &Path) -> Result<(), StagingError> {
    let identity = mark.image(file).map(|owned| owned.identity);
    loops::detach(journal, file, identity)?;
    loops::await_detached(file, identity)
}
