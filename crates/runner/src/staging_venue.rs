//! The venue based on `staging`: contenders staged on images, a device, or in directories.
//! In: a plan and a run's target. Out: [`Venue`].
//! Aged filesystems are restored before the trial begins.

use crate::aged::{Ager, Wanted, cache};
use crate::restoring::{Restoring, kept_image};
use crate::venue::{Venue, VenueError};
use crate::watch::{News, Watcher};
use records::{Ages, CommandRecord, Contender, DEVICE, Place, PlannedContender, ResolvedPlan};
use staging::{AgedCopy, Guests, Registry, Staged, StagingError, Target, Where};
use std::collections::BTreeMap;
use system::{Journal, journal::Record};

/// Output of one command that the ledger keeps, in bytes.
const OUTPUT_KEPT: usize = 4096;

/// One target for images or a device, or one for each directory.
pub struct StagingVenue {
    targets: Vec<Target>,
    contenders: Vec<PlannedContender>,
    raw_bytes: u64,
    journal: Journal,
    ages: Option<Ages>,
    ager: Ager,
    /// Keys of the images of aged contenders.
    aged: BTreeMap<usize, String>,
    /// The copy of an aged image for the next trial.
    copied: Option<AgedCopy>,
    /// Memory that trials use at once, until it is prefaulted.
    untouched_bytes: Option<u64>,
}

/// Memory of a filesystem and its tools besides the files.
const BESIDE_FILES: u64 = 128 << 20;

impl StagingVenue {
    /// Opens the place of a plan, under the rules of custody.
    ///
    /// # Errors
    /// The place is refused; nothing was touched.
    pub fn open(registry: &Registry, plan: &ResolvedPlan, ager: Ager) -> Result<Self, StagingError> {
        Self::open_for(registry, plan, ager, None, &Guests::default())
    }

    /// The same for all contenders, or for one, whose image or guest exists at the same time as those of the others.
    pub(crate) fn open_for(
        registry: &Registry,
        plan: &ResolvedPlan,
        ager: Ager,
        only: Option<usize>,
        guests: &Guests,
    ) -> Result<Self, StagingError> {
        let journal = Journal::new();
        let open = |place: &Where| Target::open_under(registry, place, &plan.terms, &journal);
        let mut targets = places(plan).iter().map(open).collect::<Result<Vec<_>, _>>()?;
        targets.iter_mut().for_each(|target| target.share_guests(guests));
        let those = plan.contenders.iter().enumerate().filter(|(index, _)| only.is_none_or(|one| one == *index));
        let asked: Vec<Contender> = those.map(|(_, entry)| entry.asked.clone()).collect();
        Self::over(targets, plan, ager, &asked, only, journal)
    }

    /// The same for any contender on the part of a device with this number, with this journal for its commands.
    pub(crate) fn on_part(
        plan: &ResolvedPlan,
        ager: Ager,
        number: usize,
        target: Target,
        journal: Journal,
    ) -> Result<Self, StagingError> {
        let asked: Vec<Contender> = plan.contenders.iter().map(|entry| entry.asked.clone()).collect();
        Self::over(vec![target], plan, ager, &asked, Some(number), journal)
    }

    /// `one_of`: the number of this venue among several used at the same time.
    fn over(
        mut targets: Vec<Target>,
        plan: &ResolvedPlan,
        ager: Ager,
        asked: &[Contender],
        one_of: Option<usize>,
        journal: Journal,
    ) -> Result<Self, StagingError> {
        for target in &mut targets {
            target.expect(asked);
            target.start_cold_by(plan.cold);
            target.take_devices(asked)?;
        }
        // With a place for each contender, the memory of all is prefaulted once.
        let at_once = bytes_at_once(plan).saturating_mul(one_of.map_or(1, |_| plan.contenders.len() as u64));
        let touches = system::machine::is_virtual() && one_of.unwrap_or(0) == 0;
        Ok(Self {
            targets,
            contenders: plan.contenders.clone(),
            raw_bytes: raw_bytes(plan),
            journal,
            ages: plan.ages.clone(),
            ager,
            aged: BTreeMap::new(),
            copied: None,
            untouched_bytes: touches.then_some(at_once),
        })
    }
}

/// Memory that trials use at once: files, their copy on a device in memory or in the page cache, and as much again for the previous trial,
/// whose memory is not yet released.
fn bytes_at_once(plan: &ResolvedPlan) -> u64 {
    let most = plan.works.iter().map(|work| work.compiled.estimate.bytes_at_most).max().unwrap_or(0);
    most.saturating_mul(4).saturating_add(BESIDE_FILES)
}

/// The places of a plan, for staging.
pub fn places(plan: &ResolvedPlan) -> Vec<Where> {
    match &plan.place {
        Place::Image { bytes, scratch } => vec![Where::Image { bytes: *bytes, folder: scratch.clone() }],
        Place::Device { path } if plan.only_reads_device() => vec![Where::Reading(path.clone())],
        Place::Device { path } => vec![Where::Device { path: path.clone(), erase: None }],
        Place::Directories(folders) => folders.iter().cloned().map(Where::Directory).collect(),
    }
}

/// Most bytes that are read of the raw device.
fn raw_bytes(plan: &ResolvedPlan) -> u64 {
    let phases = plan.works.iter().flat_map(|work| &work.compiled.program.phases);
    phases.flat_map(|phase| &phase.groups).filter_map(|group| group.over.device_bytes()).max().unwrap_or(0)
}

impl Venue for StagingVenue {
    fn stage(&mut self, index: usize) -> Result<Box<dyn Staged + '_>, VenueError> {
        let asked = &self.contenders[index].asked;
        // A twin works in the place of the contender that it repeats.
        let place = self.contenders[index].twin_of.unwrap_or(index);
        let target = if self.targets.len() > 1 { &mut self.targets[place] } else { &mut self.targets[0] };
        if staging::is_guest(asked.kernel.as_deref()) {
            return Ok(Box::new(target.stage_in_guest(asked)?));
        }
        let cache = self.ages.as_ref().map(cache);
        let stage = match (self.aged.get(&index), &cache) {
            (Some(key), Some(cache)) => match self.copied.take() {
                Some(copy) => target.stage_restored(asked, copy),
                None => target.stage_aged(asked, cache, &kept_image(cache, key, &asked.label)?),
            },
            _ if asked.filesystem == DEVICE => target.stage_raw(asked, self.raw_bytes),
            _ => target.stage(asked),
        };
        Ok(Box::new(stage?))
    }

    fn prepare(&mut self, index: usize, watcher: &mut dyn Watcher) -> Result<(), VenueError> {
        if let Some(bytes) = self.untouched_bytes.take() {
            let text = match system::touched::taken_back_by() {
                Some(_) => "the host takes free memory back (balloon): before each phase bakeoff touches the memory that its files need".into(),
                None => format!(
                    "touched {} MB of memory, so that the host provides it before the clock starts",
                    system::touched::touch(bytes) / 1_000_000
                ),
            };
            watcher.news(News::Remark(&text));
        }
        if let Some(copy) = self.copied.take() {
            // Left by a trial that was not begun.
            self.targets[0].discard(copy)?;
        }
        let asked = &self.contenders[index].asked;
        let Some(ages) = self.ages.as_ref().filter(|_| self.targets.len() == 1) else { return Ok(()) };
        let target = &mut self.targets[0];
        let Some(volume) = target.bytes() else { return Ok(()) };
        let Some(wanted) = Wanted::of(ages, asked, volume)? else { return Ok(()) };
        let key = match self.aged.get(&index) {
            Some(key) => key.clone(),
            None => target.aged_key(asked, &wanted.recipe())?,
        };
        let cache = cache(ages);
        let first = self.aged.insert(index, key.clone()).is_none();
        let aged = Restoring { wanted: &wanted, contender: asked, cache: &cache, key: &key, ager: &self.ager, first };
        self.copied = Some(aged.copy(target, watcher)?);
        Ok(())
    }

    fn commands(&mut self) -> Vec<CommandRecord> {
        drained(&self.journal)
    }
}

/// The commands of a journal in the ledger's form; they are removed from the journal.
pub fn drained(journal: &Journal) -> Vec<CommandRecord> {
    journal.drain().into_iter().map(kept).collect()
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
