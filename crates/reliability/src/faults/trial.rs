//! One round of one contender with one fault.
//! In: a fresh stage on a served disk. Out: a [`Round`].

use super::files::Counts;
use super::ground::{Ground, Place};
use super::kinds::{Act, KnownFault};
use super::work::Access;
use crate::error::ReliabilityError;
use disk::Disk;
use std::time::Duration;

/// During a fault at work, one file in this many is read: each read may take as long as the disk does.
const EVERY: usize = 10;

/// Results of one round.
#[derive(Debug, Clone, Default)]
pub struct Round {
    /// Blocks damaged before mounting.
    pub blocks: u64,
    /// Requests that failed or were delayed.
    pub met: u64,
    /// Why it could not be mounted on the faulty disk.
    pub refused: Option<String>,
    /// Files read on the faulty disk.
    pub read: Counts,
    /// Files acknowledged there.
    pub acknowledged: u32,
    /// Calls that failed there.
    pub failed: u32,
    /// The first of them.
    pub first_error: Option<String>,
    /// The slowest call.
    pub slowest: Duration,
    /// Whether a call returned only when the disk was repaired.
    pub stuck: bool,
    /// Whether it did not return even then, and the filesystem's own server, or the virtual machine, was killed.
    pub hung: bool,
    /// How the kernel of the virtual machine was lost; the rest of the round is unknown.
    pub kernel_lost: Option<String>,
    /// Whether it could be written at the end.
    pub access: Access,
    /// The same on the repaired disk, before it was mounted again.
    pub access_mended: Access,
    /// Why it could not be mounted again on the repaired disk.
    pub refused_again: Option<String>,
    /// The original files, read there.
    pub after: Counts,
    /// The acknowledged files, read there.
    pub kept: Counts,
    /// Whether its own check found no damage; None if it has no check.
    pub whole: Option<bool>,
    /// Output of the check.
    pub damage: Option<String>,
    /// The kernel's last messages about the device.
    pub kernel: Vec<String>,
}

/// Injects a fault into a contender's disk. `ground` must be fresh, on an image in the folder that `disk` serves.
///
/// # Errors
/// It cannot be filled on the intact disk, or unmounted on the repaired one; or the served disk fails.
pub fn harm(
    ground: &mut Ground<'_>,
    disk: &mut Disk,
    fault: &KnownFault,
    seed: u64,
) -> Result<Round, ReliabilityError> {
    let place = ground.place();
    let image = crate::image_name(place.image().as_deref())?;
    place.lay_out()?;
    let blocks = match fault.act {
        Act::Flip(blocks) => disk.flip(&image, &blocks.chosen(seed))?,
        Act::Unreadable(blocks) => disk.harm(&image, &disk::Fault::Unreadable(blocks.chosen(seed)))?,
        Act::AtWork(_) | Act::Nothing => 0,
    };
    let mut round = Round { blocks, ..Round::default() };
    let harm = match fault.act {
        Act::AtWork(harm) => Some(harm(seed)),
        Act::Flip(_) | Act::Unreadable(_) | Act::Nothing => None,
    };
    match endured(place, disk, &image, harm.as_ref(), &mut round) {
        Err(error) if place.is_lost() => {
            round.kernel_lost = Some(error.to_string());
            round.met += disk.mend()?;
            Ok(round)
        }
        done => {
            done?;
            // An error here, such as that of a lost disk, is not the requested fault.
            round.met += disk.mend()?;
            Ok(round)
        }
    }
}

/// A round from mounting to the check.
fn endured(
    place: &mut dyn Place,
    disk: &mut Disk,
    image: &str,
    at_work: Option<&disk::Fault>,
    round: &mut Round,
) -> Result<(), ReliabilityError> {
    let mut acknowledged = Vec::new();
    round.refused = place.mount()?;
    if round.refused.is_some() {
        round.met += disk.mend()?;
    } else {
        if let Some(fault) = at_work {
            disk.harm(image, fault)?;
        }
        acknowledged = on_harmed(place, disk, if at_work.is_some() { EVERY } else { 1 }, round)?;
        round.met += disk.mend()?;
        if round.hung {
            return Ok(());
        }
        round.access_mended = place.access("probe-after")?;
        place.unmount()?;
    }
    on_whole(place, &acknowledged, round)?;
    round.kernel = place.kernel_words()?;
    Ok(())
}

/// Reads and works on the faulty disk; returns the acknowledged files.
fn on_harmed(
    place: &mut dyn Place,
    disk: &mut Disk,
    every: usize,
    round: &mut Round,
) -> Result<Vec<u32>, ReliabilityError> {
    let done = place.at_work(disk, every)?;
    (round.stuck, round.hung) = (done.mended.is_some(), done.hung);
    round.met += done.mended.unwrap_or(0);
    let Some(worked) = done.worked else {
        round.access = Access::Failing;
        return Ok(Vec::new());
    };
    round.acknowledged = worked.acknowledged.len() as u32;
    (round.read, round.failed, round.first_error) = (worked.read, worked.failed, worked.first_error);
    (round.slowest, round.access) = (worked.slowest, worked.access);
    Ok(worked.acknowledged)
}

/// Mounts again on the repaired disk, inspects everything, and runs the check.
fn on_whole(place: &mut dyn Place, acknowledged: &[u32], round: &mut Round) -> Result<(), ReliabilityError> {
    round.refused_again = place.mount()?;
    if round.refused_again.is_none() {
        let looked = place.look(acknowledged)?;
        (round.after, round.kept) = (looked.after, looked.kept);
        place.unmount()?;
    }
    let closing = place.check()?;
    (round.whole, round.damage) = (closing.whole, closing.damage);
    Ok(())
}
