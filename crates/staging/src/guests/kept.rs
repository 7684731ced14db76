//! Guests that are booted once: each further machine of the same kind goes on as a copy of the one that had said hello.
//! In: the parts of a machine. Out: a machine whose guest has said hello, copied where that works, booted where not.
//! What is kept lives in memory without a name, so that nothing of it outlives this process and the machines that read it.

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

/// How long a copy may take until it answers.
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

/// What must be the same of two machines, so that one can go on where the other stood.
#[derive(Debug, PartialEq, Eq)]
struct Kind {
    kernel: PathBuf,
    initramfs: PathBuf,
    memory_bytes: u64,
    /// Of its disks: the kernel has read them.
    disk_bytes: Vec<u64>,
    counts: bool,
}

impl KeptGuests {
    /// Starts a machine: as a copy, and by booting where it cannot be copied, which its remark says then.
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

    /// Forgets the guests that were booted from an archive that is another now.
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
    /// None for a machine that is not copied: under KVM one boots in about a second, and none without a disk is started twice.
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

/// Boots a machine of this kind, takes its state down and ends it.
fn keep(kind: &Kind, parts: &Parts, journal: &Journal, mark: &mut Mark) -> Result<Result<File, String>, StagingError> {
    // Beside it there must be memory for the machine that goes on as its copy.
    let room = system::in_memory::available().saturating_sub(kind.memory_bytes);
    let parts = Parts { start: Start::BootToKeep(&kind.disk_bytes), ..parts.clone() };
    let mut machine = Machine::start(&parts, journal, mark)?;
    let monitor = machine.monitor.take().ok_or_else(|| "it has no monitor".to_string());
    let folder = mark.folder().join("guest");
    let state = monitor.and_then(Monitor::open).and_then(|mut monitor| monitor.save(&folder, room));
    machine.end_at_once(journal, mark);
    Ok(state)
}
