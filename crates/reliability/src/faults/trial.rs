//! One contender and one fault, once.
//! In: a fresh stage on a served disk. Out: a [`Round`].

use super::files::Counts;
use super::ground::{Ground, Place};
use super::kinds::{Act, KnownFault};
use super::work::Access;
use crate::error::ReliabilityError;
use disk::Disk;
use std::time::Duration;

/// Of how many files one is read while something happens at work: each read may take as long as the disk does.
const EVERY: usize = 10;

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
    /// Whether it did not even then, and the filesystem's own server, or the virtual machine, had to be ended.
    pub hung: bool,
    /// How the kernel of the virtual machine that had it mounted ended; what comes after that in a round was not seen.
    pub kernel_lost: Option<String>,
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

/// Harms the disk of a contender. `ground` must be fresh, and stand on an image in the folder that `disk` serves.
///
/// # Errors
/// It cannot be filled while the disk is whole, or be unmounted once it is whole again; or the disk does not do what it is asked.
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
            // What a disk did that is gone by now was no fault that was asked for.
            round.met += disk.mend()?;
            Ok(round)
        }
    }
}

/// What a place makes of the harm, from mounting to its check.
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

/// Reads and works on the harmed disk; the files that were acknowledged.
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

/// Mounts anew on the whole disk, looks at everything, and asks the check.
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
