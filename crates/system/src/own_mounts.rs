//! A private mount namespace: only this process and its children see its mounts.
//! In: a process without threads. Out: whether it has its own namespace now, and the namespace that it came from.
//! A service or container that starts meanwhile copies its parent's mounts, and keeps each copied device busy as long as it runs.

// Unsharing is unsafe in general; this module unshares only mounts and, for one thread, root and working folder.
#![allow(unsafe_code)]

use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The namespace that this process came from.
static ORIGIN: OnceLock<File> = OnceLock::new();

/// Whether the mounts are private to this process.
#[derive(Debug)]
pub enum Entered {
    /// They are private.
    Own,
    /// They are shared as before: the system refused (no root, a container) with this error.
    Shared(std::io::Error),
}

/// Enters a private mount namespace. Call it before creating threads: existing threads stay in the old namespace.
///
/// Mounts and unmounts of others still propagate into it, where they are shared: a disk that a user unmounts is free at once, and one that is
/// mounted is seen. Its own mounts do not propagate out. So mounts become slaves, not private.
///
/// In a changed root (chroot) it is not entered: a command in the original namespace would have that namespace's root, where the same paths
/// are other files, and the kernel gives this program's own path from there, too.
pub fn enter() -> Entered {
    entered().map_or_else(Entered::Shared, |()| Entered::Own)
}

fn entered() -> std::io::Result<()> {
    let origin = File::open("/proc/thread-self/ns/mnt")?;
    if !has_root_of(&origin)? {
        return Err(std::io::Error::other("the root of this process is not that of its mount namespace"));
    }
    // SAFETY: this copies the mounts. Descriptors stay shared, so that no descriptor of other code becomes invalid.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    // A second entry keeps the first origin.
    let _ = ORIGIN.set(origin);
    Ok(mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?)
}

/// Whether the root of this thread is that of its mount namespace. Afterwards the thread no longer shares its root and working folder, which
/// stay the same.
fn has_root_of(namespace: &File) -> std::io::Result<bool> {
    // SAFETY: this copies the root, the working folder and the umask of this thread.
    unsafe { unshare_unsafe(UnshareFlags::FS) }?;
    let (root, folder) = (File::open("/")?, File::open(".")?);
    // Entering a namespace changes to its root, even if the thread is already in it.
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Mount))?;
    let is_same = identity(&File::open("/")?)? == identity(&root)?;
    rustix::process::fchdir(&root)?;
    rustix::process::chroot(".")?;
    rustix::process::fchdir(&folder)?;
    Ok(is_same)
}

fn identity(folder: &File) -> std::io::Result<(u64, u64)> {
    folder.metadata().map(|facts| (facts.dev(), facts.ino()))
}

/// The original namespace, as a path that children can open; None if this process never left it.
pub fn origin() -> Option<PathBuf> {
    let origin = ORIGIN.get()?;
    Some(format!("/proc/{}/fd/{}", std::process::id(), origin.as_raw_fd()).into())
}

/// Command prefix that runs a command in the original namespace; None if this process never left it.
pub fn in_origin() -> Option<Vec<String>> {
    let origin = origin()?;
    Some(vec!["nsenter".into(), format!("--mount={}", origin.display()), "--".into()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use prerequisites::needs;
    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
    use std::path::Path;
    use std::time::Duration;

    /// Whether something is mounted at a place, as the calling thread sees it, or as the process does (`self`).
    fn is_mounted(process: &str, place: &Path) -> bool {
        let list = std::fs::read_to_string(format!("/proc/{process}/mountinfo")).expect("it can be read");
        list.lines().any(|line| line.split(' ').nth(4) == place.to_str())
    }

    fn mount_at(place: &Path) {
        std::fs::create_dir_all(place).expect("made");
        mount("tmpfs", place, "tmpfs", MountFlags::empty(), None).expect("mounted");
    }

    #[test]
    fn a_mount_in_an_own_namespace_is_seen_nowhere_else_and_its_origin_is_known() {
        needs!(root);
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().canonicalize().expect("it is there");
        let own = || {
            assert!(matches!(enter(), Entered::Own));
            mount_at(&place);
            assert!(is_mounted("thread-self", &place) && !is_mounted("self", &place), "only this thread has it");
            let origin = in_origin().expect("it came from one");
            let mut ask = std::process::Command::new(&origin[0]);
            let seen = ask.args(&origin[1..]).arg("mountpoint").arg(&place).output().expect("nsenter is there");
            assert!(!seen.status.success(), "{seen:?}");
            unmount(&place, UnmountFlags::empty()).expect("unmounted");
        };
        std::thread::scope(|scope| scope.spawn(own).join()).expect("it ended");
    }

    #[test]
    fn in_a_changed_root_mounts_stay_shared() {
        needs!(root);
        let folder = tempfile::tempdir().expect("a folder");
        let inner = || {
            // SAFETY: this thread gets a root and a working folder of its own.
            unsafe { unshare_unsafe(UnshareFlags::FS) }.expect("root may");
            let processes = folder.path().join("proc");
            std::fs::create_dir(&processes).expect("made");
            mount("proc", &processes, "proc", MountFlags::empty(), None).expect("mounted");
            rustix::process::chroot(folder.path()).expect("root may");
            let entered = enter();
            let roots = std::fs::read_dir("/").expect("read").count();
            unmount("/proc", UnmountFlags::empty()).expect("unmounted");
            assert!(matches!(&entered, Entered::Shared(why) if why.to_string().contains("root")), "{entered:?}");
            assert_eq!(roots, 1, "it has the root that it had");
        };
        std::thread::scope(|scope| scope.spawn(inner).join()).expect("it ended");
    }

    #[test]
    fn shared_mounts_of_others_arrive_and_own_ones_do_not_leave() {
        needs!(root);
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().canonicalize().expect("it is there");
        let (theirs, ours) = (place.join("theirs"), place.join("ours"));
        let inner = || {
            assert!(matches!(enter(), Entered::Own));
            mount_at(&ours);
        };
        let outer = || {
            // A namespace in which this folder is shared, as all are under systemd.
            assert!(matches!(enter(), Entered::Own));
            mount_at(&place);
            mount_change(&place, MountPropagationFlags::SHARED).expect("shared");
            let (go_on, wait) = std::sync::mpsc::channel();
            std::thread::scope(|scope| {
                let inner = scope.spawn(|| {
                    inner();
                    go_on.send(()).expect("it is waited for");
                    // Polls until the other thread has mounted it.
                    (0..500).any(|_| {
                        std::thread::sleep(Duration::from_millis(10));
                        is_mounted("thread-self", &theirs)
                    })
                });
                wait.recv().expect("it has mounted");
                assert!(!is_mounted("thread-self", &ours), "it did not leave");
                mount_at(&theirs);
                assert!(inner.join().expect("it ended"), "it did not arrive");
            });
            unmount(&theirs, UnmountFlags::empty()).expect("unmounted");
            unmount(&place, UnmountFlags::empty()).expect("unmounted");
        };
        std::thread::scope(|scope| scope.spawn(outer).join()).expect("it ended");
    }
}
