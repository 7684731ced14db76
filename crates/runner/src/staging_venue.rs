//! The answer of `staging` to the run loop: contenders staged on images, a device, or in directories.
//! In: a plan and a run's target. Out: [`Venue`] and [`Staged`], with its errors sorted into the two kinds.

use crate::aged::{Ager, Wanted, cache, failed as sorted};
use crate::agent::Line;
use crate::restoring::{Restoring, kept_image};
use crate::venue::{Emptied, Staged, Venue, VenueError};
use crate::watch::Watcher;
use records::{
    Ages, Closing, ColdStart, ColdWay, CommandRecord, Contender, DEVICE, Found, Place, PlannedContender, ResolvedPlan,
    Usage,
};
use staging::{AgedCopy, Registry, StagingError, Target, Where};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use system::counters::{Evidence, Snapshot, Watch};
use system::{Journal, journal::Record};
use workload::outcome::Ceiling;
use workload::program::Durable;

/// How long a busy device is waited for before a phase begins: what is left of the work before.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same where a directory's disk serves others too, whose work does not end for us.
const PATIENCE_SHARED: Duration = Duration::from_secs(1);
/// Output of one command that the ledger keeps, in bytes.
const OUTPUT_KEPT: usize = 4096;

/// One target for images or a device, or one for each directory.
pub struct StagingVenue {
    targets: Vec<Target>,
    contenders: Vec<PlannedContender>,
    raw_bytes: u64,
    journal: Journal,
    /// What memory allows in guests, by their kernel.
    ceilings: BTreeMap<String, Option<Ceiling>>,
    ages: Option<Ages>,
    ager: Ager,
    /// Keys of the images of aged contenders.
    aged: BTreeMap<usize, String>,
    /// The copy of an aged image for the trial that comes next.
    copied: Option<AgedCopy>,
}

impl StagingVenue {
    /// Opens the place of a plan, under the rules of custody.
    ///
    /// # Errors
    /// The place is refused; nothing was touched.
    pub fn open(registry: &Registry, plan: &ResolvedPlan, ager: Ager) -> Result<Self, StagingError> {
        let journal = Journal::new();
        let places: Vec<Where> = places(&plan.place);
        let open = |place: &Where| Target::open_under(registry, place, &plan.terms, &journal);
        let mut targets = places.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let asked: Vec<Contender> = plan.contenders.iter().map(|entry| entry.asked.clone()).collect();
        for target in &mut targets {
            target.expect(&asked);
            target.start_cold_by(plan.cold);
            target.take_devices(&asked)?;
        }
        Ok(Self {
            targets,
            contenders: plan.contenders.clone(),
            raw_bytes: raw_bytes(plan),
            journal,
            ages: plan.ages.clone(),
            ager,
            aged: BTreeMap::new(),
            copied: None,
            ceilings: BTreeMap::new(),
        })
    }
}

/// Staging's places of a plan's place.
pub fn places(place: &Place) -> Vec<Where> {
    match place {
        Place::Image { bytes, scratch } => vec![Where::Image { bytes: *bytes, folder: scratch.clone() }],
        Place::Device { path } => vec![Where::Device { path: path.clone(), erase: None }],
        Place::Directories(folders) => folders.iter().cloned().map(Where::Directory).collect(),
    }
}

/// How much of the raw device is read at most.
fn raw_bytes(plan: &ResolvedPlan) -> u64 {
    let phases = plan.works.iter().flat_map(|work| &work.compiled.program.phases);
    phases.flat_map(|phase| &phase.groups).filter_map(|group| group.over.device_bytes()).max().unwrap_or(0)
}

impl Venue for StagingVenue {
    fn stage(&mut self, index: usize) -> Result<Box<dyn Staged + '_>, VenueError> {
        let asked = &self.contenders[index].asked;
        // A twin works where the contender works that it repeats.
        let place = self.contenders[index].twin_of.unwrap_or(index);
        let target = if self.targets.len() > 1 { &mut self.targets[place] } else { &mut self.targets[0] };
        if let Some(kernel) = asked.kernel.as_ref().filter(|kernel| staging::is_guest(Some(kernel))) {
            let stage = target.stage_in_guest(asked).map_err(sorted)?;
            let ceiling = self.ceilings.entry(kernel.clone()).or_default();
            return Ok(Box::new(InGuest { stage, ceiling }));
        }
        let shared = asked.filesystem == staging::DIRECTORY;
        let cache = self.ages.as_ref().map(cache);
        let staged = match (self.aged.get(&index), &cache) {
            (Some(key), Some(cache)) => match self.copied.take() {
                Some(copy) => target.stage_restored(asked, copy),
                None => target.stage_aged(asked, cache, &kept_image(cache, key, &asked.label)?),
            },
            _ if asked.filesystem == DEVICE => target.stage_raw(self.raw_bytes),
            _ => target.stage(asked),
        };
        Ok(Box::new(LocalStage { stage: staged.map_err(sorted)?, shared }))
    }

    fn prepare(&mut self, index: usize, watcher: &mut dyn Watcher) -> Result<(), VenueError> {
        if let Some(copy) = self.copied.take() {
            // Of a trial that was not begun.
            self.targets[0].discard(copy).map_err(sorted)?;
        }
        let asked = &self.contenders[index].asked;
        let Some(ages) = self.ages.as_ref().filter(|_| self.targets.len() == 1) else { return Ok(()) };
        let target = &mut self.targets[0];
        let Some(volume) = target.bytes() else { return Ok(()) };
        let Some(wanted) = Wanted::of(ages, asked, volume)? else { return Ok(()) };
        if staging::is_guest(asked.kernel.as_deref()) {
            let problem = "it is to be aged on another kernel, and images are aged on this machine's own";
            return Err(VenueError::lasting(format!("{}: {problem} (leave its age or its kernel out)", asked.label)));
        }
        let key = match self.aged.get(&index) {
            Some(key) => key.clone(),
            None => target.aged_key(asked, &wanted.recipe()).map_err(sorted)?,
        };
        let cache = cache(ages);
        let first = self.aged.insert(index, key.clone()).is_none();
        let aged = Restoring { wanted: &wanted, contender: asked, cache: &cache, key: &key, ager: &self.ager, first };
        self.copied = Some(aged.copy(target, watcher)?);
        Ok(())
    }

    fn commands(&mut self) -> Vec<CommandRecord> {
        self.journal.drain().into_iter().map(kept).collect()
    }
}

struct LocalStage<'g> {
    stage: staging::Stage<'g>,
    shared: bool,
}

impl Staged for LocalStage<'_> {
    fn root(&self) -> PathBuf {
        self.stage.root().to_path_buf()
    }

    fn device(&self) -> Option<PathBuf> {
        self.stage.device().map(|device| device.path.clone())
    }

    fn enter(&self) -> Vec<String> {
        self.stage.engine_prefix()
    }

    fn durable(&self) -> Durable {
        self.stage.durable().clone()
    }

    fn watch(&self) -> Watch {
        self.stage.watch().clone()
    }

    fn room(&self) -> (Option<u64>, Option<u64>) {
        // The raw device has no room to speak of, and a stage that cannot tell is not refused for it.
        self.stage.usage().ok().filter(|usage| usage.total_bytes > 0).map_or((None, None), room)
    }

    fn used(&self) -> (Option<u64>, Option<u64>) {
        // A directory's filesystem is used by others too, and the raw device has none.
        let own = !self.shared && self.stage.found().filesystem != DEVICE;
        self.stage.usage().ok().filter(|usage| usage.total_bytes > 0 && own).map_or((None, None), used)
    }

    fn found(&self) -> Found {
        self.stage.found().clone()
    }

    fn remarks(&self) -> Vec<String> {
        self.stage.found().remarks.clone()
    }

    fn sync(&mut self) -> Result<(), VenueError> {
        self.stage.sync().map_err(sorted)
    }

    fn empty_caches(&mut self) -> Result<Emptied, VenueError> {
        let dropped = self.stage.drop_caches().map_err(sorted)?;
        Ok(Emptied { complete: dropped.complete, start: dropped.start })
    }

    fn settle(&mut self) -> Result<(), VenueError> {
        self.stage.settle(if self.shared { PATIENCE_SHARED } else { PATIENCE });
        Ok(())
    }

    fn beneath(&mut self, during: &str) -> Option<VenueError> {
        self.stage.beneath(during).map(sorted)
    }

    fn close(self: Box<Self>) -> Result<Closing, VenueError> {
        self.stage.close().map_err(sorted)
    }
}

/// A stage in a guest: every question goes there.
struct InGuest<'g> {
    stage: staging::GuestStage<'g>,
    ceiling: &'g mut Option<Ceiling>,
}

impl Staged for InGuest<'_> {
    fn root(&self) -> PathBuf {
        self.stage.root().to_path_buf()
    }

    fn device(&self) -> Option<PathBuf> {
        self.stage.device().map(PathBuf::from)
    }

    fn enter(&self) -> Vec<String> {
        // The guest itself starts the engine where it must be.
        Vec::new()
    }

    fn engine(&mut self) -> Result<Option<Line>, VenueError> {
        let line = Arc::new(self.stage.agent().map_err(sorted)?);
        let failed = |error: std::io::Error| VenueError::passing(format!("the line to the guest's engine: {error}"));
        let (told, hung) = (Arc::clone(&line), Arc::clone(&line));
        Ok(Some(Line {
            input: Box::new(line.stream().map_err(failed)?),
            output: Box::new(line.stream().map_err(failed)?),
            fate: Box::new(move || told.fate()),
            hang_up: Box::new(move || hung.hang_up()),
        }))
    }

    fn own_ceiling(&mut self) -> Option<&mut Option<Ceiling>> {
        Some(&mut *self.ceiling)
    }

    fn durable(&self) -> Durable {
        self.stage.durable().clone()
    }

    fn watch(&self) -> Watch {
        self.stage.watch().clone()
    }

    fn look(&mut self) -> Result<Snapshot, VenueError> {
        self.stage.look().map_err(sorted)
    }

    fn since(&mut self, before: &Snapshot) -> Result<Evidence, VenueError> {
        self.stage.since(before).map_err(sorted)
    }

    fn room(&self) -> (Option<u64>, Option<u64>) {
        self.stage.usage().map_or((None, None), room)
    }

    fn used(&self) -> (Option<u64>, Option<u64>) {
        self.stage.usage().map_or((None, None), used)
    }

    fn found(&self) -> Found {
        self.stage.found().clone()
    }

    fn remarks(&self) -> Vec<String> {
        self.stage.found().remarks.clone()
    }

    fn sync(&mut self) -> Result<(), VenueError> {
        self.stage.sync().map_err(sorted)
    }

    fn empty_caches(&mut self) -> Result<Emptied, VenueError> {
        let complete = self.stage.drop_caches().map_err(sorted)?;
        Ok(Emptied { complete, start: ColdStart { way: ColdWay::Drop, ..ColdStart::default() } })
    }

    fn settle(&mut self) -> Result<(), VenueError> {
        self.stage.settle(PATIENCE).map_err(sorted)
    }

    fn beneath(&mut self, during: &str) -> Option<VenueError> {
        self.stage.beneath(during).map(sorted)
    }

    fn close(self: Box<Self>) -> Result<Closing, VenueError> {
        self.stage.close().map_err(sorted)
    }
}

/// Bytes and inodes that are left.
fn room(usage: Usage) -> (Option<u64>, Option<u64>) {
    (Some(usage.available_bytes), usage.inodes_free)
}

/// Bytes and inodes that are taken.
fn used(usage: Usage) -> (Option<u64>, Option<u64>) {
    let inodes = usage.inodes.zip(usage.inodes_free).map(|(all, free)| all.saturating_sub(free));
    (Some(usage.used_bytes), inodes)
}

fn kept(record: Record) -> CommandRecord {
    let mut output = record.stdout.clone();
    output.push_str(&record.stderr);
    if let Some(remark) = &record.remark {
        output.push_str(remark);
    }
    let mut end = output.len().min(OUTPUT_KEPT);
    while !output.is_char_boundary(end) {
        end -= 1;
    }
    output.truncate(end);
    CommandRecord {
        line: record.typed(),
        status: record.status,
        output,
        elapsed_ns: record.elapsed_ns.unwrap_or_default(),
    }
}
