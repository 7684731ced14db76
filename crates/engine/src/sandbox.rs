//! Prevents a user's program from changing anything outside the contender's folder, whatever was checked before.
//! In: the folder, and the folders that the work declares. Out: in this mount namespace every mount is read-only and without devices, except
//! the folder's; the program gets a Landlock ruleset and loses the capabilities that could undo this.
//! Reading is allowed, except from devices and from /run.
#![allow(unsafe_code)]

use crate::confine::Hold;
use crate::mounts;
use crate::sys;
use landlock::{
    ABI, Access, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError,
    Scope,
};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags, mount, mount_bind, move_mount, open_tree};
use rustix::thread::{self, CapabilitySet, Gid, Uid};
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};

/// Devices without user data.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];
/// Folders replaced by empty private ones in memory, to hide sockets of services and shared memory of others. The latter stays, read-only,
/// if the contender's folder is in it.
const ALWAYS_PRIVATE: [(&str, &CStr); 2] = [("/run", c"mode=755"), (SHARED_MEMORY, c"mode=1777")];
const SHARED_MEMORY: &str = "/dev/shm";
/// Targets of /etc/resolv.conf on many systems; they stay readable.
const RESOLVERS: [&str; 2] = ["/run/systemd/resolve", "/run/resolvconf"];
/// Capabilities that a program of root keeps: over files, users and its own processes, none over the machine. Without DAC_READ_SEARCH no
/// file can be opened by handle, past the permissions of its folders.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::LINUX_IMMUTABLE)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::SYS_NICE)
    .union(CapabilitySet::SYS_RESOURCE)
    .union(CapabilitySet::LEASE)
    .union(CapabilitySet::SETFCAP);
/// The newest requested version of Landlock; an older kernel grants the rights that it knows.
const NEWEST: ABI = ABI::V9;

/// A sandbox, ready for one program.
pub struct Sandbox {
    root: OwnedFd,
    ruleset: Option<RulesetCreated>,
    /// Why the mounts could not be made read-only.
    open: Option<String>,
}

impl Sandbox {
    /// Closes this process' mount namespace and prepares the rest. `root`: the contender's folder, which is at `path`.
    ///
    /// # Errors
    /// Another folder is at the path, or the namespace is only partly set up; in a sentence.
    pub fn build(hold: Hold, root: &OwnedFd, path: &Path, private: &[PathBuf]) -> Result<Sandbox, String> {
        let tree = if hold == Hold::Adoption { Err(Errno::PERM) } else { copied(path) };
        let (root, open) = match tree {
            Ok(tree) => (close(tree, root, path, private)?, None),
            Err(error) => (opened_again(root, path)?, Some(format!("creating its namespaces and mounts: {error}"))),
        };
        let own =
            if open.is_none() { own_folders(path, private).map(|(folder, _)| folder).collect() } else { Vec::new() };
        let ruleset = ruleset(&root, &["/"], &own).map_err(|error| format!("making a Landlock ruleset: {error}"))?;
        Ok(Sandbox { root, ruleset, open })
    }

    /// Names of the confinement mechanisms.
    pub fn by(&self) -> Vec<String> {
        let mounts = self.open.is_none().then_some("mount namespace");
        let landlock = self.ruleset.is_some().then_some("Landlock");
        mounts.into_iter().chain(landlock).map(str::to_owned).collect()
    }

    /// What is not confined, in a sentence without its subject; None if everything is.
    pub fn lack(&self) -> Option<String> {
        let why = self.open.as_ref()?;
        Some(match self.ruleset {
            Some(_) => format!(
                "was confined to its folder by Landlock alone ({why}): it could reach devices that its user can read, and services of this machine"
            ),
            None => format!(
                "was not confined to its folder ({why}, and this kernel has no Landlock): it could write wherever its user can"
            ),
        })
    }
}

/// Puts this process, which has one thread and becomes a program, into a folder and a sandbox, as a user. Without a sandbox it keeps all
/// rights of that user.
///
/// # Errors
/// The kernel's refusal of a step.
pub fn begin(folder: &OwnedFd, user: Option<(u32, u32)>, sandbox: Option<Sandbox>) -> std::io::Result<()> {
    let Some(sandbox) = sandbox else {
        rustix::process::fchdir(folder)?;
        return become_user(user);
    };
    rustix::process::fchdir(&sandbox.root)?;
    give_up_bounds()?;
    become_user(user)?;
    give_up_capabilities()?;
    restrict(sandbox.ruleset)
}

/// Confines this thread, and those that it starts, to a folder: it can neither write nor read elsewhere.
///
/// # Errors
/// The kernel's refusal, in a sentence. A kernel without Landlock is no error.
pub fn confine_thread(root: &OwnedFd) -> Result<(), String> {
    let ruleset = ruleset(root, &[], &[]).map_err(|error| format!("making a Landlock ruleset: {error}"))?;
    let given_up = give_up_bounds().and_then(|()| give_up_capabilities());
    given_up.and_then(|()| restrict(ruleset)).map_err(|error| format!("confining a replay: {error}"))
}

/// Switches to a user and its primary group, without other groups.
fn become_user(user: Option<(u32, u32)>) -> std::io::Result<()> {
    let Some((user, group)) = user else { return Ok(()) };
    if rustix::process::geteuid().is_root() {
        thread::set_thread_groups(&[])?;
    }
    thread::set_thread_gid(Gid::from_raw(group))?;
    Ok(thread::set_thread_uid(Uid::from_raw(user))?)
}

/// The program's private folders, with their mount options.
fn own_folders<'a>(path: &'a Path, private: &'a [PathBuf]) -> impl Iterator<Item = (&'a Path, &'static CStr)> {
    let always = ALWAYS_PRIVATE.iter().map(|(folder, mode)| (Path::new(*folder), *mode));
    let always = always.filter(move |(folder, _)| *folder != Path::new(SHARED_MEMORY) || !path.starts_with(folder));
    always.chain(private.iter().map(|folder| (folder.as_path(), c"mode=1777")))
}

/// Opens the same folder again by its path in this namespace.
fn opened_again(root: &OwnedFd, path: &Path) -> Result<OwnedFd, String> {
    let again = sys::open_root(path)?;
    if sys::inode(&again)? == sys::inode(root)? {
        return Ok(again);
    }
    Err(sys::replaced(path))
}

/// A copy of a mount from a folder on, with all mounts below it; fails before any change if mounts cannot be changed.
fn copied(path: &Path) -> Result<OwnedFd, Errno> {
    set_mount("/", true, 0, 0)?;
    mount_bind(DEVICES[0], DEVICES[0])?;
    tree(path)
}

fn tree(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, path, flags)
}

/// Makes all mounts read-only and without devices, except those that the program needs. `inside`: a copy of the folder's mount.
fn close(inside: OwnedFd, root: &OwnedFd, path: &Path, private: &[PathBuf]) -> Result<OwnedFd, String> {
    if sys::inode(&inside)? != sys::inode(root)? {
        return Err(sys::replaced(path));
    }
    // Mounts below the folder are now in the copy too.
    mounts::leave(&format!("{}/", path.display()), Path::new("/"));
    let resolvers = RESOLVERS.iter().map(Path::new);
    let mut shown: Vec<(&Path, OwnedFd)> = resolvers.filter_map(|path| Some((path, tree(path).ok()?))).collect();
    let devices: Vec<&Path> = DEVICES.iter().map(Path::new).filter(|device| device.exists()).collect();
    for device in &devices {
        mount_bind(*device, *device).map_err(failed("keeping", device))?;
    }
    let mut own: Vec<&Path> = Vec::new();
    for (folder, mode) in own_folders(path, private) {
        if own.iter().any(|above| folder.starts_with(above)) {
            std::fs::create_dir_all(folder)
                .map_err(|error| format!("making {} in memory: {error}", folder.display()))?;
        }
        if !folder.is_dir() {
            if private.iter().any(|declared| declared == folder) {
                return Err(format!("`private` names {}, which does not exist", folder.display()));
            }
            continue;
        }
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("bakeoff", folder, "tmpfs", flags, mode).map_err(failed("making empty", folder))?;
        own.push(folder);
    }
    shown.push((path, inside));
    for (path, tree) in &shown {
        if own.iter().any(|above| path.starts_with(above)) {
            std::fs::create_dir_all(path).map_err(|error| format!("making {} in memory: {error}", path.display()))?;
        }
        let from_tree = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        move_mount(tree, "", CWD, *path, from_tree).map_err(failed("showing", path))?;
    }
    let locked = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NODEV;
    set_mount("/", true, locked, 0).map_err(failed("making everything read-only below", Path::new("/")))?;
    for folder in own.iter().copied().chain([path]) {
        set_mount(folder, false, 0, libc::MOUNT_ATTR_RDONLY).map_err(failed("making writable", folder))?;
    }
    for device in devices {
        set_mount(device, false, 0, locked).map_err(failed("keeping", device))?;
    }
    opened_again(root, path)
}

fn failed(doing: &str, path: &Path) -> impl FnOnce(Errno) -> String {
    move |error| format!("{doing} {} for the command: {error}", path.display())
}

/// mount_setattr(2), Linux 5.12 or newer: sets and clears attributes of a mount, or of all below it too.
fn set_mount(path: impl AsRef<Path>, all: bool, set: u64, clear: u64) -> Result<(), Errno> {
    let path = CString::new(path.as_ref().as_os_str().as_encoded_bytes()).map_err(|_| Errno::INVAL)?;
    let attributes = libc::mount_attr { attr_set: set, attr_clr: clear, propagation: 0, userns_fd: 0 };
    let flags = if all { libc::AT_RECURSIVE } else { 0 };
    let size = size_of::<libc::mount_attr>();
    // SAFETY: the kernel reads a C string and a structure of the given size; both outlive the call.
    let answer =
        unsafe { libc::syscall(libc::SYS_mount_setattr, libc::AT_FDCWD, path.as_ptr(), flags, &attributes, size) };
    if answer < 0 { Err(sys::last_errno()) } else { Ok(()) }
}

/// Allows everything in the folder and in private ones, and reading below `readable`; None if the kernel has no Landlock.
fn ruleset(root: &OwnedFd, readable: &[&str], own: &[&Path]) -> Result<Option<RulesetCreated>, RulesetError> {
    let all = AccessFs::from_all(NEWEST);
    let mut made = Ruleset::default().handle_access(all)?.scope(Scope::from_all(NEWEST))?.create()?;
    let there = |path: &Path| PathFd::new(path).ok();
    for folder in readable.iter().filter_map(|path| there(Path::new(path))) {
        made = made.add_rule(PathBeneath::new(folder, AccessFs::from_read(NEWEST)))?;
    }
    let devices = DEVICES.iter().filter(|_| !readable.is_empty());
    for device in devices.filter_map(|path| there(Path::new(path))) {
        made = made.add_rule(PathBeneath::new(device, AccessFs::from_file(NEWEST)))?;
    }
    for folder in own.iter().filter_map(|path| there(path)) {
        made = made.add_rule(PathBeneath::new(folder, all))?;
    }
    made = made.add_rule(PathBeneath::new(root.as_fd(), all))?;
    let here: Option<OwnedFd> = made.try_clone().ok().and_then(Option::<OwnedFd>::from);
    Ok(here.is_some().then_some(made))
}

/// Limits the capabilities of programs that this process becomes to [`KEPT`].
fn give_up_bounds() -> std::io::Result<()> {
    for number in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << number);
        if KEPT.contains(one) {
            continue;
        }
        match thread::remove_capability_from_bounding_set(one) {
            // The kernel knows no more of them; or this is a user without capabilities.
            Err(Errno::INVAL | Errno::PERM) => break,
            other => other?,
        }
    }
    Ok(())
}

/// Gives up all capabilities except [`KEPT`], and all ways to new ones.
fn give_up_capabilities() -> std::io::Result<()> {
    let mut sets = thread::capabilities(None)?;
    sets.effective &= KEPT;
    sets.permitted &= KEPT;
    sets.inheritable = CapabilitySet::empty();
    thread::set_capabilities(None, sets)?;
    Ok(thread::set_no_new_privs(true)?)
}

fn restrict(ruleset: Option<RulesetCreated>) -> std::io::Result<()> {
    let Some(ruleset) = ruleset else { return Ok(()) };
    ruleset.restrict_self().map(|_| ()).map_err(|_| std::io::Error::last_os_error())
}
