//! Blocks overwritten by one call: entirely old or entirely new.

use super::{About, Finding, Place, Promise, lay_out};
use crate::stamps::{self, Sector};
use std::io;

/// Blocks of the file, and how often one of them is overwritten.
const BLOCKS: u32 = 4;
const ROUNDS: u32 = 6;
const FILE: &str = "data";

/// An aligned block of this many sectors, synced after each write.
pub(super) struct Block {
    pub sectors: u32,
}

impl Promise for Block {
    fn about(&self) -> About {
        let (name, title) = match self.sectors {
            8 => ("atomic-4096", "an overwritten block of 4096 bytes is entirely old or entirely new"),
            _ => ("atomic-16384", "an overwritten block of 16,384 bytes is entirely old or entirely new"),
        };
        About::hoped(name, title, 2 * ROUNDS)
    }
    fn set_up(&self, place: &Place) -> io::Result<()> {
        lay_out(place, FILE, place.file, BLOCKS * self.sectors)
    }
    fn step(&self, place: &Place, step: u32) -> io::Result<()> {
        if step % 2 == 1 {
            return std::fs::File::options().write(true).open(place.path(FILE))?.sync_all();
        }
        let (round, from) = (step / 2, step / 2 % BLOCKS * self.sectors);
        stamps::write(&place.path(FILE), place.file, round + 1, from..from + self.sectors, 0).map(drop)
    }
    fn look(&self, place: &Place, _: u32) -> io::Result<Finding> {
        let Some(found) = stamps::read(&place.path(FILE))? else { return Ok(Finding::broken("data is missing")) };
        let of = |sector: &Sector| match sector {
            Sector::Ours(stamp) if stamp.file == place.file => Some(stamp.version),
            _ => None,
        };
        let is_mixed = |block: &[Sector]| block.iter().any(|one| of(one).is_none() || of(one) != of(&block[0]));
        let mixed = found.chunks(self.sectors as usize).position(is_mixed);
        Ok(mixed.map_or_else(Finding::default, |block| {
            Finding::broken(format!("block {block} is partly old and partly new"))
        }))
    }
    fn round(&self) -> u32 {
        2
    }
    fn file(&self, _: u32) -> Option<String> {
        Some(FILE.into())
    }
}
