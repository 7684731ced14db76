//! Where a contender runs while its disk fails: on this machine, or in a virtual machine with another kernel.
//! In: a fresh stage on a served disk. Out: files written and read there, and results of mounting and checking.

use super::files;
use super::hands::{self, Looked};
use super::in_guest::InGuest;
use super::work::{self, Access, Worked};
use crate::error::{ReliabilityError, doing};
use crate::kernel_log;
use disk::Disk;
use records::Closing;
use staging::{Remote, Remountable, Serial, Setup, Stage, Staged};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Time limit for a call before the disk is repaired so that it can return: longer than a disk hangs.
pub(crate) const STUCK: Duration = Duration::from_secs(25);
/// Time limit for it to return on the repaired disk, before a filesystem's own server, or the virtual machine, is killed.
pub(crate) const BACK: Duration = Duration::from_secs(20);
/// Lines of the kernel's log that are kept.
pub(crate) const KERNEL_LINES: usize = 3;

/// The place of a contender during faults.
pub struct Ground<'g>(Box<dyn Place + 'g>);

impl<'g> Ground<'g> {
    /// On this machine.
    pub fn here(stage: &'g mut Stage<'_>) -> Ground<'g> {
        Ground(Box::new(Here { stage, since: kernel_log::now() }))
    }

    /// In a virtual machine on the served disk: a crash of its kernel does no harm here.
    pub fn in_guest(remote: Remote<Serial<'g>>) -> Ground<'g> {
        Ground(Box::new(InGuest::of(remote)))
    }

    /// The contender's setup there.
    pub fn setup(&mut self) -> Setup {
        self.0.stage().setup()
    }

    /// The kernel that mounts it.
    pub fn kernel(&mut self) -> String {
        self.0.stage().machine().unwrap_or_else(crate::kernel)
    }

    pub(crate) fn place(&mut self) -> &mut dyn Place {
        self.0.as_mut()
    }
}

/// Result of the work on a faulty disk.
#[derive(Debug, Default)]
pub(crate) struct AtWork {
    /// None if the work did not return.
    pub worked: Option<Worked>,
    /// Set if a call returned only when the disk was repaired, or not at all: requests that failed or waited until then.
    pub mended: Option<u64>,
    /// It did not return even then, and the filesystem's own server, or the virtual machine, was killed.
    pub hung: bool,
}

/// Operations of a place.
pub(crate) trait Place {
    /// The stage, for mounting and unmounting.
    fn stage(&mut self) -> &mut dyn Remountable;
    /// Its image, as a file of this machine.
    fn image(&self) -> Option<PathBuf>;
    /// Writes all files, syncs and unmounts.
    fn lay_out(&mut self) -> Result<(), ReliabilityError>;
    /// Reads and works on the faulty disk; repairs it if a call would not return otherwise.
    fn at_work(&mut self, disk: &mut Disk, every: usize) -> Result<AtWork, ReliabilityError>;
    /// Whether a file of this name can be written.
    fn access(&mut self, name: &str) -> Result<Access, ReliabilityError>;
    /// Inspects all files, including those with these numbers.
    fn look(&mut self, acknowledged: &[u32]) -> Result<Looked, ReliabilityError>;
    /// The last messages of the kernel there, since the place was created.
    fn kernel_words(&mut self) -> Result<Vec<String>, ReliabilityError>;
    /// Whether the kernel there crashed or does not answer.
    fn is_lost(&self) -> bool;

    /// Mounts it; returns the error if that fails.
    fn mount(&mut self) -> Result<Option<String>, ReliabilityError> {
        match self.stage().mount_state() {
            Ok(_) => Ok(None),
            Err(error) if self.is_lost() => Err(error.into()),
            Err(error) => Ok(Some(error.to_string())),
        }
    }

    fn unmount(&mut self) -> Result<(), ReliabilityError> {
        Ok(self.stage().unmount_only()?)
    }

    /// Runs its own check, unmounted.
    fn check(&mut self) -> Result<Closing, ReliabilityError> {
        Ok(self.stage().check_unmounted()?)
    }
}

/// On this machine, in this process.
struct Here<'g, 's> {
    stage: &'g mut Stage<'s>,
    /// Time on the clock of the kernel's log.
    since: f64,
}

impl Place for Here<'_, '_> {
    fn stage(&mut self) -> &mut dyn Remountable {
        self.stage
    }

    fn image(&self) -> Option<PathBuf> {
        self.stage.image().map(PathBuf::from)
    }

    fn lay_out(&mut self) -> Result<(), ReliabilityError> {
        files::lay_out(&self.stage.seen()).map_err(doing("creating files"))?;
        self.stage.sync()?;
        self.unmount()
    }

    fn at_work(&mut self, disk: &mut Disk, every: usize) -> Result<AtWork, ReliabilityError> {
        let (root, server) = (self.stage.seen(), self.stage.server());
        let (stop, (lives, heard)) = (AtomicBool::new(false), channel());
        let (worked, mended, hung) = std::thread::scope(|scope| {
            let (stop, root) = (&stop, root.as_path());
            let working = scope.spawn(move || {
                hands::at_work(root, every, &mut || {
                    // After a stop, nothing receives this.
                    let _ = lives.send(());
                    !stop.load(Ordering::Relaxed)
                })
            });
            let mended = loop {
                match heard.recv_timeout(STUCK) {
                    Ok(()) => {}
                    Err(RecvTimeoutError::Disconnected) => break Ok(None),
                    Err(RecvTimeoutError::Timeout) => {
                        stop.store(true, Ordering::Relaxed);
                        break disk.mend().map(Some);
                    }
                }
            };
            // Calls that wait for a server end with it; those that wait for the kernel end once the repaired disk answers.
            let hung = matches!(mended, Ok(Some(_))) && !within(BACK, || working.is_finished());
            if let Some(server) = server.filter(|_| hung) {
                server.end(Duration::ZERO);
            }
            let worked = working.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (worked, mended, hung && server.is_some())
        });
        Ok(AtWork { worked: Some(worked), mended: mended?, hung })
    }

    fn access(&mut self, name: &str) -> Result<Access, ReliabilityError> {
        Ok(work::access(&self.stage.seen().join(name)))
    }

    fn look(&mut self, acknowledged: &[u32]) -> Result<Looked, ReliabilityError> {
        Ok(hands::look(&self.stage.seen(), acknowledged))
    }

    fn kernel_words(&mut self) -> Result<Vec<String>, ReliabilityError> {
        let device = self.stage.device().map(|device| device.name.clone()).unwrap_or_default();
        Ok(kernel_log::words_of(&device, self.since, KERNEL_LINES))
    }

    fn is_lost(&self) -> bool {
        false
    }
}

/// Whether a condition becomes true within some time.
pub(crate) fn within(patience: Duration, is: impl Fn() -> bool) -> bool {
    let end = Instant::now() + patience;
    while Instant::now() < end {
        if is() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    is()
}
