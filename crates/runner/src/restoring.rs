//! The copy of an aged image for one trial: from the cache, or made again if that image is missing, damaged or untrusted.
//! In: a contender's age, and a cache. Out: a copy that was verified to be equal.
//! A damaged image costs time, never a contender.

use crate::aged::{Ager, Wanted};
use crate::venue::VenueError;
use crate::watch::{News, Watcher};
use records::Contender;
use staging::{AgedCache, AgedCopy, AgedImage, Cached, StagingError, Target};

/// The image to restore.
pub(crate) struct Restoring<'a> {
    pub wanted: &'a Wanted,
    pub contender: &'a Contender,
    pub cache: &'a AgedCache,
    pub key: &'a str,
    pub ager: &'a Ager,
    /// Whether this run has not used the image yet.
    pub first: bool,
}

impl Restoring<'_> {
    /// Copies the cached image; makes it first if no usable one exists.
    pub fn copy(&self, target: &mut Target, watcher: &mut dyn Watcher) -> Result<AgedCopy, VenueError> {
        match self.cache.look(self.key)? {
            Cached::Whole(_) => {}
            Cached::Nothing => self.make(target, watcher)?,
            Cached::Unusable(why) => self.make_anew(&why, target, watcher)?,
        }
        match self.restored(target)? {
            Ok(copy) => Ok(copy),
            Err(damage) => {
                self.make_anew(&damage, target, watcher)?;
                self.restored(target)?.map_err(VenueError::passing)
            }
        }
    }

    fn make_anew(&self, why: &str, target: &mut Target, watcher: &mut dyn Watcher) -> Result<(), VenueError> {
        watcher.news(News::Remark(&format!("{why}; it is created again")));
        self.make(target, watcher)
    }

    fn make(&self, target: &mut Target, watcher: &mut dyn Watcher) -> Result<(), VenueError> {
        self.wanted.make(target, self.contender, (self.cache, self.key), self.ager, watcher)
    }

    /// A copy, or the evidence that the cached image is damaged.
    fn restored(&self, target: &mut Target) -> Result<Result<AgedCopy, String>, VenueError> {
        let image = kept_image(self.cache, self.key, &self.contender.label)?;
        // A device is restored in place when it is staged; so the image is verified completely before its first trial.
        let whole = if target.device().is_some() && self.first { self.cache.verify(&image) } else { Ok(()) };
        match whole.and_then(|()| target.restore_aged(self.cache, &image)) {
            Ok(copy) => Ok(Ok(copy)),
            Err(error @ StagingError::Damaged { .. }) => Ok(Err(error.to_string())),
            Err(error) => Err(error.into()),
        }
    }
}

/// The cached image of an aged contender.
pub(crate) fn kept_image(cache: &AgedCache, key: &str, label: &str) -> Result<AgedImage, VenueError> {
    cache.find(key).ok_or_else(|| {
        let problem = "its aged image is no longer in the cache; another run may have removed it";
        VenueError::passing(format!("{label}: {problem}"))
    })
}
