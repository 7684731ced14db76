//! Images of their own for all contenders, so that all of them can be mounted at the same time.
//! In: a plan on images. Out: a venue for each contender.

use crate::aged::Ager;
use crate::staging_venue::StagingVenue;
use crate::venue::{Venue, VenueError};
use crate::watch::Watcher;
use records::{CommandRecord, ResolvedPlan};
use staging::{Registry, Staged, StagingError};

/// One place for each contender.
pub struct ImagesVenue {
    each: Vec<StagingVenue>,
}

impl ImagesVenue {
    /// Opens a place for each contender of a plan on images.
    ///
    /// # Errors
    /// A place is refused; nothing was touched.
    pub fn open(registry: &Registry, plan: &ResolvedPlan, ager: &Ager) -> Result<Self, StagingError> {
        let each = 0..plan.contenders.len();
        let each = each.map(|contender| StagingVenue::open_for(registry, plan, ager.clone(), Some(contender)));
        Ok(Self { each: each.collect::<Result<_, _>>()? })
    }
}

impl Venue for ImagesVenue {
    fn prepare(&mut self, contender: usize, watcher: &mut dyn Watcher) -> Result<(), VenueError> {
        self.each[contender].prepare(contender, watcher)
    }

    fn stage(&mut self, contender: usize) -> Result<Box<dyn Staged + '_>, VenueError> {
        self.each[contender].stage(contender)
    }

    fn apart(&mut self) -> Option<Vec<&mut dyn Venue>> {
        Some(self.each.iter_mut().map(|venue| venue as &mut dyn Venue).collect())
    }

    fn commands(&mut self) -> Vec<CommandRecord> {
        self.each.iter_mut().flat_map(Venue::commands).collect()
    }
}
