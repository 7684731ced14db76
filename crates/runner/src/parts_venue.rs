//! Parts of a device for all contenders, so that all of them can be mounted at the same time.
//! In: a plan on a device that is split. Out: a venue for each contender, on another part from round to round.

use crate::aged::Ager;
use crate::order;
use crate::staging_venue::StagingVenue;
use crate::venue::{Venue, VenueError};
use crate::watch::Watcher;
use records::{CommandRecord, ResolvedPlan};
use staging::{Registry, Staged, StagingError, Target};
use std::path::Path;
use system::Journal;

/// A device that is split into as many parts as the plan has contenders.
pub struct PartsVenue {
    /// One for each part, in their order on the device.
    parts: Vec<StagingVenue>,
    /// The part of each contender in this round.
    of: Vec<usize>,
    seed: u64,
}

impl PartsVenue {
    /// Takes the device at this path under the rules of custody, and splits it.
    ///
    /// # Errors
    /// It is refused, or cannot be split.
    pub fn open(registry: &Registry, plan: &ResolvedPlan, path: &Path, ager: &Ager) -> Result<Self, StagingError> {
        let count = plan.contenders.len();
        let journals: Vec<Journal> = (0..count).map(|_| Journal::new()).collect();
        let targets = Target::split(registry, path, &plan.terms, &journals)?;
        let each = targets.into_iter().zip(journals).enumerate();
        let part = |(number, (target, journal))| StagingVenue::on_part(plan, ager.clone(), number, target, journal);
        let parts = each.map(part).collect::<Result<_, _>>()?;
        Ok(Self { parts, of: order::parts(plan.seed, 0, 0, count), seed: plan.seed })
    }
}

impl Venue for PartsVenue {
    fn begins(&mut self, block: u32, work: usize) {
        self.of = order::parts(self.seed, block, work, self.parts.len());
    }

    fn prepare(&mut self, contender: usize, watcher: &mut dyn Watcher) -> Result<(), VenueError> {
        self.parts[self.of[contender]].prepare(contender, watcher)
    }

    fn stage(&mut self, contender: usize) -> Result<Box<dyn Staged + '_>, VenueError> {
        self.parts[self.of[contender]].stage(contender)
    }

    fn apart(&mut self) -> Option<Vec<&mut dyn Venue>> {
        let mut parts: Vec<Option<&mut StagingVenue>> = self.parts.iter_mut().map(Some).collect();
        let of_contender = |part: &usize| parts[*part].take().map(|venue| venue as &mut dyn Venue);
        self.of.iter().map(of_contender).collect()
    }

    fn commands(&mut self) -> Vec<CommandRecord> {
        self.parts.iter_mut().flat_map(Venue::commands).collect()
    }
}
