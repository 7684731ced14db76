//! The history of a volume as a stream of operations: creations, appends, overwrites, truncations, renames, deletions.
//! In: `workload::ageing::History`. Out: [`Step`]s; equal histories give equal steps, whether or not the steps succeed.
//! A file's number and size are stored, eight bytes; names and directories are computed from the number.

use crate::hash::{below, mix, mix_all};
use crate::places::Places;
use std::collections::VecDeque;
use workload::ageing::{Churn, FILES_LIMIT, GRAIN, History};

/// Unit of the fill level in bytes: the smallest allocation of filesystems.
const BLOCK: u64 = 4096;

/// Most bytes of one append or overwrite.
const PIECE: u64 = 1 << 20;

/// Most files scheduled for early deletion.
const DOOMED_LIMIT: usize = 65_536;

/// How far the fill may vary during churn, as a share of it.
const SWING: u64 = 100;

/// One operation. Files have numbers, which are never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A new file of this many bytes.
    Create { file: u32, bytes: u64 },
    /// This many bytes at the end of a file.
    Append { file: u32, from: u64, bytes: u64 },
    /// This many bytes over existing data.
    Overwrite { file: u32, from: u64, bytes: u64 },
    /// The file is truncated to this many bytes.
    Truncate { file: u32, bytes: u64 },
    /// The file is renamed to another number.
    Rename { file: u32, to: u32 },
    /// The file is deleted.
    Delete { file: u32 },
}

impl Step {
    /// Bytes that it writes.
    pub fn bytes(&self) -> u64 {
        match self {
            Step::Create { bytes, .. } | Step::Append { bytes, .. } | Step::Overwrite { bytes, .. } => *bytes,
            _ => 0,
        }
    }

    /// A hash of the step.
    pub fn hash(&self) -> u64 {
        let words = match *self {
            Step::Create { file, bytes } => [1, file.into(), bytes, 0],
            Step::Append { file, from, bytes } => [2, file.into(), from, bytes],
            Step::Overwrite { file, from, bytes } => [3, file.into(), from, bytes],
            Step::Truncate { file, bytes } => [4, file.into(), bytes, 0],
            Step::Rename { file, to } => [5, file.into(), to.into(), 0],
            Step::Delete { file } => [6, file.into(), 0, 0],
        };
        mix_all(&words)
    }
}

/// An existing file, or an empty slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    /// Number; 0 is none.
    file: u32,
    /// Size in [`GRAIN`]s.
    grains: u32,
}

/// A history in progress.
pub struct Life<'a> {
    plan: &'a History,
    slots: Vec<Slot>,
    empty: Vec<u32>,
    doomed: VecDeque<(u32, u32, u64)>,
    /// Bytes of all files, each rounded up.
    held: u64,
    /// Number of the last file.
    last: u32,
    steps: u64,
    churned: u64,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Filling,
    Churning,
    ToppingUp,
    Over,
}

impl<'a> Life<'a> {
    /// A history at its beginning.
    pub fn new(plan: &'a History) -> Life<'a> {
        // Reserved for all files at once: growing would take twice the memory for a moment.
        let expected = plan.expected_files().min(FILES_LIMIT) / 20 * 21;
        Life {
            plan,
            slots: Vec::with_capacity(expected as usize),
            empty: Vec::new(),
            doomed: VecDeque::new(),
            held: 0,
            last: 0,
            steps: 0,
            churned: 0,
            stage: Stage::Filling,
        }
    }

    /// Number of existing files.
    pub fn files(&self) -> u64 {
        (self.slots.len() - self.empty.len()) as u64
    }

    /// Bytes of existing files, each rounded up to 4 KiB.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Bytes of existing files.
    pub fn bytes(&self) -> u64 {
        self.slots.iter().map(|slot| u64::from(slot.grains) * GRAIN).sum()
    }

    /// Bytes written by the churn.
    pub fn churned(&self) -> u64 {
        self.churned
    }

    /// Ends the churn, whatever is left to write.
    pub fn end_churn(&mut self) {
        if self.stage == Stage::Churning {
            self.stage = Stage::ToppingUp;
        }
    }

    /// Existing files, at most `most`, evenly spread.
    pub fn sample(&self, most: usize) -> impl Iterator<Item = u32> + '_ {
        let step = self.slots.len().div_ceil(most.max(1)).max(1);
        self.slots.iter().step_by(step).map(|slot| slot.file).filter(|file| *file != 0)
    }

    /// The remaining files as creations, directory by directory.
    pub fn into_rewriting(mut self, places: &Places) -> impl Iterator<Item = Step> {
        self.slots.retain(|slot| slot.file != 0);
        self.slots.sort_unstable_by_key(|slot| (places.directory(slot.file), slot.file));
        self.slots.into_iter().map(|slot| Step::Create { file: slot.file, bytes: u64::from(slot.grains) * GRAIN })
    }

    fn draw(&self, what: u64) -> u64 {
        mix_all(&[self.plan.seed, self.steps, what])
    }

    /// The next operation; None at the end of the history.
    pub fn step(&mut self) -> Option<Step> {
        let step = loop {
            match self.stage {
                Stage::Filling | Stage::ToppingUp => match self.fill() {
                    Some(step) => break step,
                    None if self.stage == Stage::Filling && self.plan.churn.is_some() => self.stage = Stage::Churning,
                    None => self.stage = Stage::Over,
                },
                Stage::Churning => {
                    let churn = self.plan.churn.as_ref()?;
                    match self.churn(churn) {
                        Some(step) => break step,
                        None => self.stage = Stage::ToppingUp,
                    }
                }
                Stage::Over => return None,
            }
        };
        self.steps += 1;
        if self.stage == Stage::Churning {
            self.churned += step.bytes();
        }
        Some(step)
    }

    fn fill(&mut self) -> Option<Step> {
        let room = self.plan.filled.saturating_sub(self.held);
        if room < BLOCK {
            return None;
        }
        let bytes = self.new_size(1).min(room);
        self.create(bytes)
    }

    fn churn(&mut self, churn: &Churn) -> Option<Step> {
        if self.churned >= churn.bytes || self.last > u32::MAX - 2 {
            return None;
        }
        if let Some((slot, file, due)) = self.doomed.front().copied()
            && due <= self.steps
        {
            self.doomed.pop_front();
            // It may have been deleted or renamed in the meantime.
            if self.slots[slot as usize].file == file {
                return Some(self.delete(slot as usize));
            }
        }
        let swing = self.plan.filled / SWING;
        if self.held + swing < self.plan.filled {
            return self.create_in_churn(churn);
        }
        if self.held > self.plan.filled + swing {
            let slot = self.pick(2)?;
            return Some(self.delete(slot));
        }
        let mix = churn.mix;
        let weights = [mix.create, mix.append, mix.overwrite, mix.truncate, mix.rename, mix.delete];
        let mut left = below(self.draw(3), weights.iter().map(|weight| u64::from(*weight)).sum());
        let mut kind = 0;
        while kind < 5 && left >= u64::from(weights[kind]) {
            left -= u64::from(weights[kind]);
            kind += 1;
        }
        if kind == 0 {
            return self.create_in_churn(churn);
        }
        let slot = self.pick(4)?;
        Some(match kind {
            1 => self.append(slot),
            2 => self.overwrite(slot),
            3 => self.truncate(slot),
            4 => self.rename(slot),
            _ => self.delete(slot),
        })
    }

    fn new_size(&self, what: u64) -> u64 {
        let draw = self.draw(what);
        let share = below(draw, 1_000_000) as u32;
        let mut from = 0;
        for (to, below_it) in &self.plan.sizes {
            if share < *below_it {
                let size = from + below(mix(draw), to - from) + 1;
                return size.min(self.plan.largest).div_ceil(GRAIN) * GRAIN;
            }
            from = *to;
        }
        GRAIN
    }

    fn create(&mut self, bytes: u64) -> Option<Step> {
        if self.files() >= FILES_LIMIT || self.last > u32::MAX - 2 {
            return None;
        }
        self.last += 1;
        let slot = Slot { file: self.last, grains: (bytes / GRAIN) as u32 };
        match self.empty.pop() {
            Some(place) => self.slots[place as usize] = slot,
            None => self.slots.push(slot),
        }
        self.held += rounded(bytes);
        Some(Step::Create { file: self.last, bytes })
    }

    fn create_in_churn(&mut self, churn: &Churn) -> Option<Step> {
        let place = self.empty.last().copied().unwrap_or(self.slots.len() as u32);
        let bytes = self.new_size(5);
        let step = self.create(bytes)?;
        let short = below(self.draw(6), 100) < u64::from(churn.short_lived_percent);
        if short && self.doomed.len() < DOOMED_LIMIT {
            self.doomed.push_back((place, self.last, self.steps + u64::from(churn.short_life)));
        }
        Some(step)
    }

    /// An existing file; None if there is none.
    fn pick(&self, what: u64) -> Option<usize> {
        let count = self.slots.len() as u64;
        if self.files() == 0 {
            return None;
        }
        let mut draw = self.draw(what);
        for _ in 0..64 {
            let slot = below(draw, count) as usize;
            if self.slots[slot].file != 0 {
                return Some(slot);
            }
            draw = mix(draw);
        }
        self.slots.iter().position(|slot| slot.file != 0)
    }

    fn size_of(&self, slot: usize) -> u64 {
        u64::from(self.slots[slot].grains) * GRAIN
    }

    fn resize(&mut self, slot: usize, bytes: u64) {
        self.held = self.held - rounded(self.size_of(slot)) + rounded(bytes);
        self.slots[slot].grains = (bytes / GRAIN) as u32;
    }

    fn append(&mut self, slot: usize) -> Step {
        let from = self.size_of(slot);
        let bytes = self.new_size(7).min(PIECE).min(self.plan.largest.saturating_sub(from));
        if bytes == 0 {
            return self.overwrite(slot);
        }
        self.resize(slot, from + bytes);
        Step::Append { file: self.slots[slot].file, from, bytes }
    }

    fn overwrite(&mut self, slot: usize) -> Step {
        let size = self.size_of(slot);
        let bytes = self.new_size(8).min(PIECE).min(size);
        let blocks = (size - bytes) / BLOCK + 1;
        let from = below(self.draw(9), blocks) * BLOCK;
        Step::Overwrite { file: self.slots[slot].file, from, bytes }
    }

    fn truncate(&mut self, slot: usize) -> Step {
        let grains = below(self.draw(10), u64::from(self.slots[slot].grains)) + 1;
        self.resize(slot, grains * GRAIN);
        Step::Truncate { file: self.slots[slot].file, bytes: grains * GRAIN }
    }

    fn rename(&mut self, slot: usize) -> Step {
        let file = self.slots[slot].file;
        self.last += 1;
        self.slots[slot].file = self.last;
        Step::Rename { file, to: self.last }
    }

    fn delete(&mut self, slot: usize) -> Step {
        let file = self.slots[slot].file;
        self.held -= rounded(self.size_of(slot));
        self.slots[slot] = Slot { file: 0, grains: 0 };
        self.empty.push(slot as u32);
        Step::Delete { file }
    }
}

fn rounded(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK) * BLOCK
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::collections::HashMap;
    use workload::age_profiles::parse_profile;

    pub fn history(name: &str, volume: u64, fill: f64, seed: u64) -> History {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ages");
        let text = std::fs::read_to_string(format!("{folder}/{name}.toml")).expect("the profile is there");
        let profile = parse_profile(name, &text, name).expect("it is good");
        History { seed, ..workload::age_profiles::history(&profile, volume, fill).expect("it is not too large") }
    }

    fn steps(plan: &History) -> Vec<Step> {
        let mut life = Life::new(plan);
        std::iter::from_fn(|| life.step()).collect()
    }

    #[test]
    fn equal_seeds_give_equal_lives_and_others_do_not() {
        let plan = history("old", 64 << 20, 0.5, 1);
        assert_eq!(steps(&plan), steps(&plan));
        assert_ne!(steps(&plan), steps(&history("old", 64 << 20, 0.5, 2)));
    }

    #[test]
    fn every_step_is_possible_after_those_before_it_and_the_fill_is_kept() {
        let plan = history("old", 256 << 20, 0.8, 3);
        let mut life = Life::new(&plan);
        let mut there: HashMap<u32, u64> = HashMap::new();
        let mut written = 0;
        while let Some(step) = life.step() {
            written += step.bytes();
            match step {
                Step::Create { file, bytes } => assert_eq!(there.insert(file, bytes), None),
                Step::Append { file, from, bytes } => {
                    assert_eq!(there.insert(file, from + bytes), Some(from));
                }
                Step::Overwrite { file, from, bytes } => assert!(bytes > 0 && from + bytes <= there[&file]),
                Step::Truncate { file, bytes } => assert!(there.insert(file, bytes).is_some_and(|was| was >= bytes)),
                Step::Rename { file, to } => {
                    let bytes = there.remove(&file).expect("it is there");
                    assert_eq!(there.insert(to, bytes), None);
                }
                Step::Delete { file } => assert!(there.remove(&file).is_some()),
            }
        }
        assert_eq!(there.len() as u64, life.files());
        assert_eq!(there.values().sum::<u64>(), life.bytes());
        let held: u64 = there.values().map(|bytes| rounded(*bytes)).sum();
        assert_eq!(held, life.held());
        assert!(held.abs_diff(plan.filled) <= plan.filled / 20, "{held} of {}", plan.filled);
        let churn = plan.churn.as_ref().expect("it churns").bytes;
        assert!((churn..churn + (64 << 20)).contains(&life.churned()), "{} of {churn}", life.churned());
        assert!(written >= churn + plan.filled / 2);
    }

    #[test]
    fn rewriting_creates_the_files_that_remain_at_the_end_of_the_life() {
        let plan = history("old", 64 << 20, 0.8, 1);
        let mut life = Life::new(&plan);
        while life.step().is_some() {}
        let (files, bytes) = (life.files(), life.bytes());
        let places = Places::new(&plan);
        let again: Vec<Step> = life.into_rewriting(&places).collect();
        assert_eq!((again.len() as u64, again.iter().map(Step::bytes).sum::<u64>()), (files, bytes));
    }

    #[test]
    fn sizes_have_the_mean_of_their_table() {
        let plan = history("used", 64 << 30, 0.8, 1);
        let mut life = Life::new(&plan);
        let mut sum = 0;
        for _ in 0..50_000 {
            sum += rounded(life.new_size(1));
            life.steps += 1;
        }
        let (mean, expected) = (sum / 50_000, plan.mean_size());
        assert!(mean.abs_diff(expected) < expected / 5, "{mean} against {expected}");
    }
}
