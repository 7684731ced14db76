//! One contender and one fault, once.
//! In: a fresh stage on a served disk. Out: a [`Round`].

use super::files::{self, Counts, Known};
use super::kinds::{Act, KnownFault};
use super::result::Access;
use super::work::{self, Done};
use crate::error::{ReliabilityError, doing};
use crate::kernel_log;
use disk::Disk;
use staging::{Remountable, Stage, Staged};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Of how many files one is read while something happens at work: each read may take as long as the disk does.
const EVERY: usize = 10;
/// How long a call may take before the disk is mended, so that it can end: longer than a disk hangs.
const STUCK: Duration = Duration::from_secs(25);
/// How long it may take to come back once the disk is whole again, before a filesystem's own server is ended.
const BACK: Duration = Duration::from_secs(20);
/// Lines of the kernel's log that are kept.
const KERNEL_LINES: usize = 3;

/// What was found once.
#[derive(Debug, Clone, Default)]
pub struct Round {
    /// Blocks that were harmed, before it was mounted.
    pub blocks: u64,
    /// Requests that failed or waited.
    pub met: u64,
    /// Why it could not be mounted on the harmed disk.
    pub refused: Option<String>,
    /// What was read on the harmed disk.
    pub read: Counts,
    /// Files that were acknowledged there.
    pub acknowledged: u32,
    /// Calls that failed there.
    pub failed: u32,
    /// The first of them.
    pub first_error: Option<String>,
    /// The slowest.
    pub slowest: Duration,
    /// Whether a call only came back when the disk was mended.
    pub stuck: bool,
    /// Whether it did not even then, and the filesystem's own server had to be ended.
    pub hung: bool,
    /// Whether it could be written at the end.
    pub access: Access,
    /// And once the disk was whole again, before it was mounted anew.
    pub access_mended: Access,
    /// Why it could not be mounted anew on the whole disk.
    pub refused_again: Option<String>,
    /// What was read then of the files that stood there before.
    pub after: Counts,
    /// And of those that had been acknowledged.
    pub kept: Counts,
    /// Whether its own check found it whole; absent where it has none.
    pub whole: Option<bool>,
    /// What the check found.
    pub damage: Option<String>,
    /// What the kernel said of the device, its last lines.
    pub kernel: Vec<String>,
}

/// Harms the disk of a contender. `stage` must be fresh, and stand on an image in the folder that `disk` serves.
///
/// # Errors
/// It cannot be filled while the disk is whole, or be unmounted once it is whole again; or the disk does not do what it is asked.
pub fn harm(stage: &mut Stage<'_>, disk: &mut Disk, fault: &KnownFault, seed: u64) -> Result<Round, ReliabilityError> {
    let image = crate::image_name(stage.image())?;
    let since = kernel_log::now();
    let root = stage.seen();
    let known = files::lay_out(&root).map_err(doing("laying files out"))?;
    stage.sync()?;
    stage.unmount_only()?;
    let blocks = match fault.act {
        Act::Flip(blocks) => disk.flip(&image, &blocks.chosen(seed))?,
        Act::Unreadable(blocks) => disk.harm(&image, &disk::Fault::Unreadable(blocks.chosen(seed)))?,
        Act::AtWork(_) | Act::Nothing => 0,
    };
    let mut round = Round { blocks, ..Round::default() };
    let mut acknowledged = Vec::new();
    match stage.mount_state() {
        Err(error) => {
            round.refused = Some(error.to_string());
            round.met += disk.mend()?;
        }
        Ok(_) => {
            let mut every = 1;
            if let Act::AtWork(harm) = fault.act {
                disk.harm(&image, &harm(seed))?;
                every = EVERY;
            }
            acknowledged = on_harmed(stage, disk, &known, every, &mut round)?;
            round.met += disk.mend()?;
            if round.hung {
                return Ok(round);
            }
            round.access_mended = work::access(&root.join("probe-after"));
            stage.unmount_only()?;
        }
    }
    on_whole(stage, &known, &acknowledged, &mut round)?;
    let device = stage.device().map(|device| device.name.clone()).unwrap_or_default();
    round.kernel = kernel_log::words_of(&device, since, KERNEL_LINES);
    Ok(round)
}

/// Reads and works on the harmed disk; mends it where a call would not come back otherwise.
fn on_harmed(
    stage: &Stage<'_>,
    disk: &mut Disk,
    known: &[Known],
    every: usize,
    round: &mut Round,
) -> Result<Vec<Known>, ReliabilityError> {
    let (root, server) = (stage.seen(), stage.server());
    let (stop, (lives, heard)) = (AtomicBool::new(false), channel());
    let (read, done, mended, hung) = std::thread::scope(|scope| {
        let (stop, root) = (&stop, root.as_path());
        let working = scope.spawn(move || {
            let (mut read, mut slowest) = (Counts::default(), Duration::ZERO);
            for known in known.iter().step_by(every) {
                // Nobody listens any more where it was told to stop.
                let _ = lives.send(());
                if !stop.load(Ordering::Relaxed) {
                    let began = Instant::now();
                    read.add(files::look([known], 1));
                    slowest = slowest.max(began.elapsed());
                }
            }
            let done = work::work(root, stop, &lives);
            (read, Done { slowest: slowest.max(done.slowest), ..done })
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
        // Calls that wait for a server end with it; those that wait for the kernel end with what it waits for, which is whole.
        let hung = matches!(mended, Ok(Some(_))) && !within(BACK, || working.is_finished());
        if let Some(server) = server.filter(|_| hung) {
            server.end(Duration::ZERO);
        }
        let (read, done) = working.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (read, done, mended, hung && server.is_some())
    });
    let mended = mended?;
    (round.stuck, round.hung) = (mended.is_some(), hung);
    round.met += mended.unwrap_or(0);
    let Done { acknowledged, failed, first_error, slowest, access } = done;
    (round.read, round.failed, round.first_error) = (read, failed, first_error);
    (round.slowest, round.access) = (slowest, access);
    round.acknowledged = acknowledged.len() as u32;
    Ok(acknowledged)
}

/// Whether something comes to be within some time.
fn within(patience: Duration, is: impl Fn() -> bool) -> bool {
    let end = Instant::now() + patience;
    while Instant::now() < end {
        if is() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    is()
}

/// Mounts anew on the whole disk, looks at everything, and asks the check.
fn on_whole(
    stage: &mut Stage<'_>,
    known: &[Known],
    acknowledged: &[Known],
    round: &mut Round,
) -> Result<(), ReliabilityError> {
    match stage.mount_state() {
        Err(error) => round.refused_again = Some(error.to_string()),
        Ok(_) => {
            round.after = files::look(known, 1);
            round.kept = files::look(acknowledged, 1);
            stage.unmount_only()?;
        }
    }
    let closing = stage.check_unmounted()?;
    (round.whole, round.damage) = (closing.whole, closing.damage);
    Ok(())
}
