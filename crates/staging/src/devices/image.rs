//! Images: sparse files in a scratch folder, attached to loop devices with direct I/O.
//! In: a folder and a size. Out: a loop device that may be formatted.
//! Each trial gets a fresh file: blocks that an earlier trial allocated would make the first writes of the next one cheaper, and its holes
//! would answer reads without disk access.

use crate::devices::loops::{self, PATIENCE};
use crate::error::StagingError;
use crate::ownership::cleanup_journal::Mark;
use crate::ownership::owned::Identity;
use records::Cause;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
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

/// Free bytes in a folder for images; in a folder in memory, no more than the available memory.
///
/// # Errors
/// Its free space cannot be read.
pub fn room(folder: &Path) -> std::io::Result<u64> {
    let found = rustix::fs::statvfs(folder)?;
    let free = found.f_bavail * found.f_frsize;
    let is_in_memory = File::open(folder).is_ok_and(system::in_memory::is_in_memory);
    Ok(if is_in_memory { free.min(system::in_memory::available()) } else { free })
}

/// Refuses a size that does not fit into the folder's free space, or a folder that is not writable.
///
/// # Errors
/// As above.
pub fn fits(folder: &Path, bytes: u64) -> Result<(), StagingError> {
    is_folder(folder)?;
    let free = room(folder).map_err(|error| StagingError::file("inspect the scratch folder", folder, error))?;
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK)
        .map_err(|error| StagingError::file("write to the scratch folder", folder, error))?;
    if let Some(most) = system::process::file_size_limit().filter(|most| *most < bytes) {
        let (bytes, most) = (records::show_bytes(bytes), records::show_bytes(most));
        return Err(StagingError::Other {
            problem: format!(
                "an image of {bytes} is too large: the limit for files of this process is {most} (RLIMIT_FSIZE)"
            ),
            way_out: "raise the limit with `ulimit -f unlimited`, or name a smaller --image".into(),
            cause: Cause::Lasting,
        });
    }
    // Sparse images take only what is written, but how much that will be is not known beforehand.
    if bytes > free {
        let [lack, bytes, free] = [bytes - free, bytes, free].map(records::show_bytes);
        return Err(StagingError::Other {
            problem: format!("{bytes} is too large: {} has {free} free, {lack} too little", folder.display()),
            way_out: "name a smaller --image, free some space, or name another folder for images".into(),
            cause: Cause::Passing,
        });
    }
    Ok(())
}

/// Permission of all users, and of a group, to make and rename files in a folder.
const OTHERS_WRITE: u32 = 0o002;
const GROUP_WRITES: u32 = 0o020;
/// With this bit, only the owner of a file may rename or remove it.
const STICKY: u32 = 0o1000;

/// Who else can replace files in a folder, and the permission to remove. A group of root's, and one with the number of the folder's owner
/// (a user's private group), count as the owner.
fn others_replace(facts: &Metadata) -> Option<(String, &'static str)> {
    let may = |permission| facts.mode() & (permission | STICKY) == permission;
    if may(OTHERS_WRITE) {
        return Some(("every user".into(), "o-w"));
    }
    let is_shared = may(GROUP_WRITES) && ![0, facts.uid()].contains(&facts.gid());
    is_shared.then(|| (format!("group {}", facts.gid()), "g-w"))
}

/// Refuses a scratch path that is not a folder, or in which other users can replace files.
pub(crate) fn is_folder(folder: &Path) -> Result<(), StagingError> {
    let doing = "use the scratch folder";
    match std::fs::metadata(folder) {
        Ok(facts) if facts.is_dir() => match others_replace(&facts) {
            Some((who, permission)) => {
                let way =
                    format!("`chmod +t {0}` or `chmod {permission} {0}`, or name another folder", folder.display());
                let mode = facts.mode() & 0o7777;
                let problem = format!("{who} can replace files in it (mode {mode:04o}, without the sticky bit)");
                Err(StagingError::file(doing, folder, problem.as_str()).with_way(&way))
            }
            None => Ok(()),
        },
        Ok(_) => {
            let way = "name a folder for images";
            Err(StagingError::file(doing, folder, "it is not a folder").with_way(way))
        }
        Err(error) => {
            let way = "make it with mkdir -p, or name another with --scratch";
            Err(StagingError::file(doing, folder, error).with_way(way))
        }
    }
}

/// Makes an image and attaches it. `filled`: number of bytes at its beginning with incompressible data; the rest is a hole.
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

/// Attaches an image that already has its content.
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
    let sector = BlockDevice::under(folder).map_or(512, |device| device.logical_sector);
    for (command, doing) in commands(sector, &file) {
        let failed = StagingError::command(format!("{doing} {}", file.display()));
        if doing != ATTACHING {
            command.through(&file, &handle).run(journal).map_err(failed)?;
            continue;
        }
        // The open file is attached: its name may lead to another file by now.
        let (open, name) = (Arc::clone(&handle), file.clone());
        let call = move || loops::attach(&open, &name, sector_size(sector)).map(|node| node.display().to_string());
        let answer = command.in_place(journal, call).map_err(failed)?;
        let node = PathBuf::from(answer.stdout.trim());
        let device = BlockDevice::find(&node).map_err(|error| StagingError::refused(&node, error.to_string(), ""))?;
        let mut image = checked(file, handle, device, identity)?;
        if image.device.read_only {
            // A loop device keeps the read-only flag that a former user set with `blockdev --setro`.
            let writable = Command::new(["blockdev", "--setrw", answer.stdout.trim()]);
            writable.run(journal).map_err(StagingError::command(format!("making {} writable", node.display())))?;
            image.device.read_only = false;
        }
        return Ok(image);
    }
    Err(StagingError::file("attach", &file, "losetup printed no loop device"))
}

/// Description of the last command.
const ATTACHING: &str = "attaching";

/// The commands, each with a description; the last one attaches.
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
    commands.push((attaching(path, sector), ATTACHING));
    commands
}

/// The command line that attaches an image.
fn attaching(path: String, sector: u32) -> Command {
    let mut words = vec!["losetup".to_string(), "--find".into(), "--show".into(), "--direct-io=on".into()];
    if sector_size(sector) > 0 {
        words.extend(["--sector-size".into(), sector.to_string()]);
    }
    words.push(path);
    Command::new(words).hint("loop devices need the kernel's loop driver: `modprobe loop`")
}

/// The requested sector size of a loop device; 0 for the kernel's choice. Direct I/O to a file needs the sector size of its disk.
fn sector_size(sector: u32) -> u32 {
    if sector > 512 { sector } else { 0 }
}

/// Checks that the loop device is on our file: another process may have detached it and taken the same number. A device on another file stays.
fn checked(file: PathBuf, handle: Arc<File>, device: BlockDevice, identity: Identity) -> Result<Image, StagingError> {
    if loops::is_on(&device, identity) != Some(true) {
        let backing = device.backing_file.clone().unwrap_or_default();
        let reason = format!("it is attached to {}, which is not the created image", backing.display());
        return Err(StagingError::failed(&device.name, reason, "", records::Cause::Passing));
    }
    let mut remarks = Vec::new();
    if device.loop_direct != Some(true) {
        remarks.push(format!(
            "the folder {} does not support direct I/O, so the image goes through the host's page cache",
            file.parent().unwrap_or(Path::new("/")).display()
        ));
    }
    Ok(Image { file, handle, device, remarks })
}

impl Image {
    /// Detaches the loop device and removes the file.
    pub fn remove(&self, journal: &Journal, mark: &mut Mark) -> Result<(), StagingError> {
        remove(journal, mark, &self.file, PATIENCE)
    }

    /// Drops the image's pages from the host's page cache; direct I/O leaves none, but filling does.
    pub fn forget_pages(&self) {
        if self.device.loop_direct != Some(true) {
            // Pages that are still dirty stay, and are then counted.
            let _ = self.handle.sync_data();
        }
        // Only advice: if it is ignored, direct I/O still bypasses the cache.
        let _ = rustix::fs::fadvise(&*self.handle, 0, None, rustix::fs::Advice::DontNeed);
    }

    /// Bytes of the image in the host's page cache; None if the kernel cannot report it, or if the image is in memory, where it has no cache.
    pub fn cached_bytes(&self) -> Option<u64> {
        if system::in_memory::is_in_memory(&*self.handle) { None } else { system::calls::cached_bytes(&*self.handle) }
    }

    /// Makes the host's filesystem look up the blocks of the image. Dropping caches discards this map, and reading it from disk during a
    /// phase would be work that no contender requested.
    pub fn find_blocks(&self) {
        use rustix::fs::{SeekFrom, seek};
        let mut at = 0;
        // To find where data ends, the kernel walks over every extent; after the last data it returns an error.
        for _ in 0..MOST_PIECES {
            let Ok(data) = seek(&*self.handle, SeekFrom::Data(at)) else { return };
            let Ok(hole) = seek(&*self.handle, SeekFrom::Hole(data)) else { return };
            at = hole;
        }
    }
}

/// Detaches every loop device on an image of this run, and removes the file. If a device stays in use, the image remains in the cleanup record.
pub(crate) fn remove(journal: &Journal, mark: &mut Mark, file: &Path, patience: Duration) -> Result<(), StagingError> {
    let Some(owned) = mark.image(file) else { return Ok(()) };
    let identity = Some(owned.identity);
    loops::detach(journal, file, identity)?;
    // Before waiting for the last user: the space is then free as soon as that lets go.
    owned.remove().map_err(|error| StagingError::file("remove the image", file, error))?;
    await_free(mark, file, patience)
}

/// Waits until no loop device is on a removed image, and takes it out of the cleanup record.
pub(crate) fn await_free(mark: &mut Mark, file: &Path, patience: Duration) -> Result<(), StagingError> {
    let Some(identity) = mark.image(file).map(|owned| owned.identity) else { return Ok(()) };
    loops::await_detached(file, Some(identity), patience)?;
    mark.release_image(file);
    Ok(())
}

/// Detaches every loop device on an image of this run; the image stays.
pub(crate) fn detach(journal: &Journal, mark: &Mark, file: &Path) -> Result<(), StagingError> {
    let identity = mark.image(file).map(|owned| owned.identity);
    loops::detach(journal, file, identity)?;
    loops::await_detached(file, identity, PATIENCE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_scratch_folder_in_which_other_users_can_replace_files_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path();
        let refused = |text: String| {
            assert!(text.contains("without the sticky bit") && text.contains("chmod +t"), "{text}");
        };
        for (mode, is_fine) in [(0o777, false), (0o1777, true), (0o773, false), (0o775, true), (0o700, true)] {
            std::fs::set_permissions(place, Permissions::from_mode(mode)).expect("ours");
            let answer = is_folder(place).map_err(|error| error.to_string());
            assert_eq!(answer.is_ok(), is_fine, "{mode:o}: {answer:?}");
            answer.err().into_iter().for_each(refused);
        }
        prerequisites::needs!(root);
        for (group, mode, is_fine) in
            [(1234, 0o775, false), (1234, 0o1775, true), (1234, 0o755, true), (0, 0o775, true)]
        {
            std::os::unix::fs::chown(place, Some(0), Some(group)).expect("root");
            std::fs::set_permissions(place, Permissions::from_mode(mode)).expect("ours");
            let answer = is_folder(place).map_err(|error| error.to_string());
            assert_eq!(answer.is_ok(), is_fine, "group {group}, {mode:o}: {answer:?}");
            answer.err().into_iter().for_each(refused);
        }
    }

    #[test]
    fn an_image_that_is_exchanged_meanwhile_is_attached_all_the_same_and_nothing_else_is() {
        prerequisites::needs!(root);
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path();
        let victim = place.join("victim");
        std::fs::write(&victim, vec![7; 1 << 20]).expect("written");
        let journal = Journal::new();
        for kind in ["FIFO", "link to a user's file", "file", "folder", "nothing"] {
            let mut mark = Mark::new(false).expect("random numbers are there");
            let path = mark.make_image(place, 1).expect("made");
            let mode = std::fs::metadata(&path).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "no other user reads what is copied into it");
            std::fs::rename(&path, place.join("moved")).expect("renamed");
            match kind {
                "FIFO" => rustix::fs::mknodat(
                    rustix::fs::CWD,
                    &path,
                    rustix::fs::FileType::Fifo,
                    rustix::fs::Mode::from_raw_mode(0o666),
                    0,
                )
                .expect("made"),
                "link to a user's file" => std::os::unix::fs::symlink(&victim, &path).expect("linked"),
                "file" => std::fs::write(&path, "precious").expect("written"),
                "folder" => std::fs::create_dir(&path).expect("made"),
                _ => {}
            }
            let attach = |sector, file: &Path| making(file, 1 << 20, 4096, sector);
            let image = run_making(&journal, &mark, path.clone(), attach).expect("attached");
            let identity = mark.image(&path).expect("made").identity;
            assert_eq!(loops::is_on(&image.device, identity), Some(true), "{kind}");
            assert_eq!(image.device.size_bytes, 1 << 20, "{kind}");
            image.remove(&journal, &mut mark).expect("removed");
            assert!(loops::on(&path, Some(identity)).is_empty(), "{kind}");
            assert_eq!(path.symlink_metadata().is_ok(), kind != "nothing", "{kind}: what was put there stays");
            assert_eq!(std::fs::metadata(place.join("moved")).expect("there").len(), 1 << 20);
            if path.is_dir() { std::fs::remove_dir(&path) } else { std::fs::remove_file(&path) }.ok();
            std::fs::remove_file(place.join("moved")).expect("removed");
        }
        assert_eq!(std::fs::read(&victim).expect("there"), vec![7; 1 << 20]);
    }
}
