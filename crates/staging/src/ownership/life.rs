//! Whether the maker of something is alive: by a lock that it holds, and by its process and start time.
//! In: a recorded maker, and the lock. Out: [`Life`], which is unknown if neither decides.
//! A process id means nothing in another PID namespace or on another machine, and a lock nothing if locks stay local.

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};
use system::process::{self, Process};

/// How long a lock is tried: another process may hold it for a moment to see whether it is free.
const PASSING: Duration = Duration::from_secs(1);

/// The maker of something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Maker {
    /// Hash of the machine's id; empty if it has none, and in records of version 0.1.
    #[serde(default)]
    pub machine: String,
    pub boot_id: String,
    /// Empty in records of version 0.1.
    #[serde(default)]
    pub pid_namespace: String,
    pub owner: Process,
}

/// Whether a maker is alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Life {
    Lives,
    Gone,
    /// Unknown, and why.
    Unknown(String),
}

/// State of a maker's lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lock {
    /// A process holds it.
    Held,
    Free,
    /// There is none; version 0.1 made none.
    Missing,
    /// It cannot be tested; why.
    Unsure(String),
}

impl Maker {
    /// The calling process.
    pub fn current() -> Maker {
        Maker {
            machine: machine(),
            boot_id: process::boot_id(),
            pid_namespace: process::pid_namespace(),
            owner: Process::current(),
        }
    }

    /// Whether this is the calling process.
    pub fn is_this_process(&self) -> bool {
        *self == Maker::current()
    }

    /// Whether it was made since this machine booted.
    pub fn is_of_this_boot(&self) -> bool {
        !self.boot_id.is_empty() && self.boot_id == process::boot_id()
    }

    /// Whether its process ids are valid here.
    pub fn shares_processes(&self) -> bool {
        let known = self.pid_namespace.is_empty() || self.pid_namespace == process::pid_namespace();
        self.is_of_this_boot() && known
    }

    /// Whether it is alive, by its lock; `local`: the lock is on a filesystem of this machine alone.
    pub fn life(&self, lock: &Lock, local: bool) -> Life {
        if *lock == Lock::Held || (self.shares_processes() && self.owner.lives()) {
            return Life::Lives;
        }
        if self.is_of_this_boot() {
            return match lock {
                // One kernel has one view of the lock, also from another container and over a network.
                Lock::Free => Life::Gone,
                _ if self.shares_processes() => Life::Gone,
                _ => Life::Unknown(
                    "it was created in another container, and no lock shows whether that still runs".into(),
                ),
            };
        }
        if self.machine != machine() && !self.machine.is_empty() {
            return Life::Unknown("it was created on another machine".into());
        }
        match lock {
            Lock::Unsure(why) => Life::Unknown(format!("it is unknown whether the process that created it still runs: {why}")),
            _ if local => Life::Gone,
            _ => Life::Unknown(
                "it was created before this boot or on another machine; on a filesystem that machines can share, it is unclear \
                 which"
                    .into(),
            ),
        }
    }
}

/// A hash of this machine's id; the id itself must not be exposed (machine-id(5)).
fn machine() -> String {
    let id = process::machine_id();
    if id.is_empty() { id } else { blake3::hash(format!("bakeoff {id}").as_bytes()).to_hex()[..16].to_string() }
}

/// Tests a lock without keeping it.
pub(crate) fn probe(file: &File) -> Lock {
    // Shared, so that two concurrent tests do not take each other for the owner.
    match flock(file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => {
            release(file);
            Lock::Free
        }
        Err(rustix::io::Errno::WOULDBLOCK) => Lock::Held,
        Err(error) => Lock::Unsure(error.to_string()),
    }
}

/// Takes a lock until the file is closed, at the latest when the process ends.
pub(crate) fn take(file: &File) -> Lock {
    let end = Instant::now() + PASSING;
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Lock::Free,
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() > end => return Lock::Held,
            Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(10)),
            Err(error) => return Lock::Unsure(error.to_string()),
        }
    }
}

/// Releases a lock.
pub(crate) fn release(file: &File) {
    // Closing the file releases it in any case.
    let _ = flock(file, FlockOperation::Unlock);
}

/// Filesystems that two machines never mount at once, by their magic numbers (statfs(2)): ext, XFS, btrfs, F2FS, bcachefs, ZFS, tmpfs,
/// ramfs, overlayfs, JFS, NILFS, ReiserFS, FAT, exFAT, NTFS3, UDF, Reiser4, squashfs.
const LOCAL: [u32; 19] = [
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0xf2f5_2010,
    0xca45_1a4e,
    0x2fc1_2fc1,
    0x0102_1994,
    0x8584_58f6,
    0x794c_7630,
    0x3153_464a,
    0x3434,
    0x5265_4973,
    0x4d44,
    0x2011_bab0,
    0x7366_746e,
    0x1501_3346,
    0x5234_4362,
    0x7371_7368,
    0x0001_1954,
];

/// Whether a folder is on a filesystem of this machine alone; false if that is uncertain.
pub(crate) fn is_local(folder: impl AsFd) -> bool {
    // The width of the field differs between architectures; magic numbers have 32 bits.
    rustix::fs::fstatfs(folder).is_ok_and(|found| LOCAL.contains(&(found.f_type as u32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dead() -> Maker {
        let mut child = std::process::Command::new("true").spawn().expect("it starts");
        let owner = Process::of(child.id()).unwrap_or(Process { pid: child.id(), started: 1 });
        child.wait().expect("it ends");
        Maker { owner, ..Maker::current() }
    }

    #[test]
    fn a_held_lock_is_proof_of_life_regardless_of_the_process_id() {
        let maker = Maker { pid_namespace: "pid:[1]".into(), boot_id: "another".into(), ..dead() };
        assert_eq!(maker.life(&Lock::Held, false), Life::Lives);
        assert_eq!(dead().life(&Lock::Held, true), Life::Lives);
    }

    #[test]
    fn a_process_that_lives_needs_no_lock() {
        let me = Maker::current();
        for lock in [Lock::Free, Lock::Missing, Lock::Unsure("no locks".into())] {
            assert_eq!(me.life(&lock, false), Life::Lives, "{lock:?}");
        }
    }

    #[test]
    fn a_process_id_of_another_container_proves_nothing_and_a_free_lock_does() {
        let elsewhere = Maker { pid_namespace: "pid:[1]".into(), ..dead() };
        assert_eq!(elsewhere.life(&Lock::Free, false), Life::Gone);
        for lock in [Lock::Missing, Lock::Unsure("no locks".into())] {
            assert!(matches!(elsewhere.life(&lock, true), Life::Unknown(_)), "{lock:?}");
        }
        // Our own ids, in a namespace where they belong to another process.
        let namesake = Maker { pid_namespace: "pid:[1]".into(), ..Maker::current() };
        assert!(matches!(namesake.life(&Lock::Missing, true), Life::Unknown(_)));
    }

    #[test]
    fn before_this_boot_only_what_no_other_machine_can_have_made_is_gone() {
        let before = Maker { boot_id: "before".into(), ..dead() };
        assert_eq!(before.life(&Lock::Free, true), Life::Gone);
        assert!(matches!(before.life(&Lock::Free, false), Life::Unknown(_)), "on a filesystem that is shared");
        assert!(matches!(before.life(&Lock::Unsure("no locks".into()), true), Life::Unknown(_)));
        let other = Maker { machine: "another".into(), ..before };
        assert!(matches!(other.life(&Lock::Free, true), Life::Unknown(_)), "of another machine");
    }

    #[test]
    fn a_lock_is_seen_as_held_and_ends_with_its_holder() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lock");
        let holder = File::create_new(&path).expect("made");
        let asks = || probe(&File::open(&path).expect("opened"));
        assert_eq!(asks(), Lock::Free);
        assert_eq!(take(&holder), Lock::Free);
        assert_eq!(asks(), Lock::Held);
        drop(holder);
        // A child process that another test is starting has it until exec.
        let end = Instant::now() + Duration::from_secs(10);
        while asks() != Lock::Free && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(asks(), Lock::Free);
    }
}
