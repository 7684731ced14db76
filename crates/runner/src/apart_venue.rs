//! A separate place for each contender, so that all can be mounted at the same time: images, or the parts of a device.
//! In: a plan on images, or on a device that is split. Out: a venue per contender; parts are swapped from round to round.

use crate::aged::Ager;
use crate::order;
use crate::staging_venue::StagingVenue;
use crate::venue::{Venue, VenueError};
use crate::watch::Watcher;
use records::{CommandRecord, ResolvedPlan};
use staging::{Guests, Registry, Staged, StagingError, Target};
use std::path::Path;
use system::Journal;

/// As many places as the plan has contenders.
pub struct ApartVenue {
    /// One per place; parts in their order on the device.
    each: Vec<StagingVenue>,
    /// The place of each contender in this round.
    of: Vec<usize>,
    /// Seed for the assignment of parts; `None` if contenders keep their places.
    seed: Option<u64>,
}

impl ApartVenue {
    /// Opens a place for each contender of a plan on images.
    ///
    /// # Errors
    /// A place is refused; nothing was touched.
    pub fn on_images(registry: &Registry, plan: &ResolvedPlan, ager: &Ager) -> Result<Self, StagingError> {
        let each = 0..plan.contenders.len();
        let of = each.clone().collect();
        let guests = Guests::at_once(guests_in(plan));
        let each = each.map(|contender| StagingVenue::open_for(registry, plan, ager.clone(), Some(contender), &guests));
        Ok(Self { each: each.collect::<Result<_, _>>()?, of, seed: None })
    }

    /// Takes the device at this path under the rules of custody, and splits it.
    ///
    /// # Errors
    /// It is refused, or cannot be split.
    pub fn on_parts(registry: &Registry, plan: &ResolvedPlan, path: &Path, ager: &Ager) -> Result<Self, StagingError> {
        let count = plan.contenders.len();
        let journals: Vec<Journal> = (0..count).map(|_| Journal::new()).collect();
        let mut targets = Target::split(registry, path, &plan.terms, &journals)?;
        let guests = Guests::at_once(guests_in(plan));
        targets.iter_mut().for_each(|target| target.share_guests(&guests));
        let parts = targets.into_iter().zip(journals).enumerate();
        let part = |(number, (target, journal))| StagingVenue::on_part(plan, ager.clone(), number, target, journal);
        let each = parts.map(part).collect::<Result<_, _>>()?;
        Ok(Self { each, of: order::parts(plan.seed, 0, 0, count), seed: Some(plan.seed) })
    }
}

/// How many contenders of a plan run in a guest.
pub fn guests_in(plan: &ResolvedPlan) -> usize {
    plan.contenders.iter().filter(|entry| staging::is_guest(entry.asked.kernel.as_deref())).count()
}

impl Venue for ApartVenue {
    fn begins(&mut self, block: u32, work: usize) {
        if let Some(seed) = self.seed {
            self.of = order::parts(seed, block, work, self.each.len());
        }
    }

    fn prepare(&mut self, contender: usize, watcher: &mut dyn Watcher) -> Result<(), VenueError> {
        self.each[self.of[contender]].prepare(contender, watcher)
    }

    fn stage(&mut self, contender: usize) -> Result<Box<dyn Staged + '_>, VenueError> {
        self.each[self.of[contender]].stage(contender)
    }

    fn apart(&mut self) -> Option<Vec<&mut dyn Venue>> {
        let mut each: Vec<Option<&mut StagingVenue>> = self.each.iter_mut().map(Some).collect();
        let of_contender = |place: &usize| each[*place].take().map(|venue| venue as &mut dyn Venue);
        self.of.iter().map(of_contender).collect()
    }

    fn commands(&mut self) -> Vec<CommandRecord> {
        self.each.iter_mut().flat_map(Venue::commands).collect()
    }
}
