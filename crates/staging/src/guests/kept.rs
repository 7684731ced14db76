//! Guests that boot once: each further machine of the same kind continues as a copy of the one that had sent its hello.
//! In: the parts of a machine. Out: a machine whose guest has sent its hello, copied if possible, otherwise booted.
//! A saved guest is in unnamed memory, so that nothing of it outlives this process and the machines that read it.

use super::machine::{Machine, Parts, Start};
use super::monitor::Monitor;
use crate::error::StagingError;
use crate::ownership::cleanup_journal::Mark;
use records::Backend;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;
use system::Journal;

/// How long a copy may take to answer.
const WAKE_LIMIT: Duration = Duration::from_secs(30);

/// The guests that one target keeps.
#[derive(Debug, Default)]
pub(super) struct KeptGuests {
    kept: Vec<Kept>,
    /// Why no guest is kept any more.
    given_up: Option<String>,
}

#[derive(Debug)]
struct Kept {
    kind: Kind,
    /// The state of the machine, its memory included.
    state: File,
}

/// What must be the same in two machines, so that one can continue from the state of the other.
#[derive(Debug, PartialEq, Eq)]
struct Kind {
    kernel: PathBuf,
    initramfs: PathBuf,
    memory_bytes: u64,
    /// Sizes of its disks, which the kernel has read.
    disk_bytes: Vec<u64>,
    counts: bool,
}

impl KeptGuests {
    /// Starts a machine: as a copy, or by booting if it cannot be copied; its remark then gives the reason.
    ///
    /// # Errors
    /// Its kernel does not boot.
    pub fn start(&mut self, parts: &Parts, journal: &Journal, mark: &mut Mark) -> Result<Machine, StagingError> {
        let Some(kind) = Kind::of(parts) else { return Machine::start(parts, journal, mark) };
        if self.given_up.is_none() {
            match self.copied(kind, parts, journal, mark)? {
                Ok(machine) => return Ok(machine),
                Err(why) => {
                    self.kept.clear();
                    self.given_up = Some(why);
                }
            }
        }
        let mut machine = Machine::start(parts, journal, mark)?;
        let why = self.given_up.iter().map(|why| format!("booted, not restored from a saved guest: {why}"));
        machine.remark = why.collect();
        Ok(machine)
    }

    /// Forgets the guests that were booted from an archive that has changed.
    pub fn forget(&mut self, initramfs: &Path) {
        self.kept.retain(|kept| kept.kind.initramfs != initramfs);
    }

    /// The outer error: it does not even boot. The inner one: it cannot be kept, or not be restored.
    fn copied(
        &mut self,
        kind: Kind,
        parts: &Parts,
        journal: &Journal,
        mark: &mut Mark,
    ) -> Result<Result<Machine, String>, StagingError> {
        let at = match self.kept.iter().position(|kept| kept.kind == kind) {
            Some(at) => at,
            None => match keep(&kind, parts, journal, mark)? {
                Ok(state) => {
                    self.kept.push(Kept { kind, state });
                    self.kept.len() - 1
                }
                Err(why) => return Ok(Err(why)),
            },
        };
        let start = Start::Restore(&self.kept[at].state);
        let parts = Parts { start, boot_limit: WAKE_LIMIT, ..parts.clone() };
        Ok(Machine::start(&parts, journal, mark).map_err(|error| error.to_string()))
    }
}

impl Kind {
    /// None for a machine that is not copied: with KVM a boot takes about a second, and a machine without a disk is not started twice.
    fn of(parts: &Parts) -> Option<Kind> {
        let bytes = |disk: &PathBuf| File::open(disk).and_then(|mut disk| disk.seek(SeekFrom::End(0))).ok();
        let disk_bytes: Vec<u64> = parts.disks.iter().map(bytes).collect::<Option<_>>()?;
        (parts.backend == Backend::Emulation && !disk_bytes.is_empty()).then(|| Kind {
            kernel: parts.kernel.into(),
            initramfs: parts.initramfs.into(),
            memory_bytes: parts.memory_bytes,
            disk_bytes,
            counts: parts.counts,
        })
    }
}

/// Boots a machine of this kind, saves its state and ends it.
fn keep(kind: &Kind, parts: &Parts, journal: &Journal, mark: &mut Mark) -> Result<Result<File, String>, StagingError> {
    // The machine that continues as its copy needs memory besides the state.
    let room = system::in_memory::available().saturating_sub(kind.memory_bytes);
    let parts = Parts { start: Start::BootToKeep(&kind.disk_bytes), ..parts.clone() };
    let mut machine = Machine::start(&parts, journal, mark)?;
    let monitor = machine.monitor.take().ok_or_else(|| "it has no monitor".to_string());
    let folder = mark.folder().join("guest");
    let state = monitor.and_then(Monitor::open).and_then(|mut monitor| monitor.save(&folder, room));
    machine.end_at_once(journal, mark);
    Ok(state)
}
