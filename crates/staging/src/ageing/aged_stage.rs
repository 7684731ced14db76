//! Aged contenders: set up for ageing, kept as images, set up again from them.
//! In: a contender, a key of everything that its image depends on, a cache. Out: stages, and [`AgedImage`]s.
//! The ageing itself is not done here: the caller works on the mounted filesystem between setting up and keeping.

use crate::ageing::image_cache::{AgedCache, AgedImage, key_of};
use crate::devices::image;
use crate::devices::loops::PATIENCE;
use crate::error::StagingError;
use crate::filesystems::description::Filesystem;
use crate::filesystems::options;
use crate::filesystems::template;
use crate::stage::prepared::Request;
use crate::stage::recipe::{Commands, Source};
use crate::stage::target::{Target, Where};
use crate::stage::{Beginning, SYNC_LIMIT, Stage, usage};
use crate::systems;
use records::{AgedState, Contender, FreeSpace, Kept, Restored};
use std::path::{Path, PathBuf};
use std::time::Instant;
use system::{BlockDevice, Journal, Snapshot, Sysfs as _};

impl Target {
    /// The key of a contender's aged image: everything that it depends on.
    pub fn aged_key(&self, contender: &Contender, recipe: &str) -> Result<String, StagingError> {
        let filesystem = self.registry.get(&contender.filesystem)?;
        let mut parts = vec![
            "bakeoff aged image 1".to_string(),
            filesystem.name.clone(),
            filesystem.make.command.join("\0"),
            template::make_options(filesystem, contender).join("\0"),
            template::mount_options(filesystem, contender).join(","),
            system::machine::describe().kernel,
            self.bytes().unwrap_or(0).to_string(),
            self.sector().to_string(),
            recipe.to_string(),
        ];
        parts.extend(systems::versions(filesystem, &Journal::new()));
        Ok(key_of(&parts))
    }

    fn sector(&self) -> u32 {
        match &self.place {
            Where::Image { folder, .. } => BlockDevice::under(folder).map_or(512, |device| device.logical_sector),
            _ => self.device().map_or(512, |device| device.logical_sector),
        }
    }

    /// Sets up a contender for ageing: as [`Target::stage`] does, with a permanent label, and on an image in the cache.
    pub fn stage_to_age(
        &mut self,
        contender: &Contender,
        cache: &AgedCache,
        key: &str,
    ) -> Result<Stage<'_>, StagingError> {
        self.check(contender)?;
        let filesystem = self.registry.get(&contender.filesystem)?.clone();
        alone(&filesystem, contender)?;
        let folder = cache.make()?;
        let beginning = Beginning {
            label: &contender.label,
            folder: Some(&folder),
            volume: Some(volume_label(key)),
            ..Beginning::default()
        };
        let asked = Request { contender, filesystem: Some(&filesystem), kept: None };
        self.begin(&beginning)?.follow(Source::ToAge, asked)
    }

    /// Copies an aged image for one trial, and verifies that the copy is equal to the kept image. A real device is only restored when the
    /// contender is staged.
    ///
    /// # Errors
    /// [`StagingError::Damaged`]: the kept image has changed; it was removed, and must be made again.
    pub fn restore_aged(&mut self, cache: &AgedCache, aged: &AgedImage) -> Result<AgedCopy, StagingError> {
        let began = Instant::now();
        let image = match self.place.clone() {
            Where::Image { folder, .. } => Some(self.restore_image(&folder, cache, aged)),
            _ => None,
        };
        let image = image.transpose().inspect_err(|_| self.remove_images())?;
        Ok(AgedCopy { cache: cache.clone(), aged: aged.clone(), image, seconds: began.elapsed().as_secs_f64() })
    }

    /// Removes a copy that will not be staged.
    pub fn discard(&mut self, copy: AgedCopy) -> Result<(), StagingError> {
        match copy.image.map_or(Ok(()), |image| self.remove_image(&image, PATIENCE)) {
            // The end of the run waits for it.
            Err(StagingError::LeftBehind(_)) => Ok(()),
            removed => removed,
        }
    }

    /// Sets up a contender from its aged image: restored, verified, mounted, read back.
    pub fn stage_aged(
        &mut self,
        contender: &Contender,
        cache: &AgedCache,
        aged: &AgedImage,
    ) -> Result<Stage<'_>, StagingError> {
        let restored = self.restore_aged(cache, aged)?;
        self.stage_restored(contender, restored)
    }

    /// Sets up a contender from a copy of its aged image: mounted, read back.
    pub fn stage_restored(&mut self, contender: &Contender, copy: AgedCopy) -> Result<Stage<'_>, StagingError> {
        self.check(contender)?;
        let AgedCopy { cache, aged, image, seconds } = copy;
        let filesystem = self.registry.get(&contender.filesystem)?.clone();
        alone(&filesystem, contender)?;
        let beginning = Beginning {
            label: &contender.label,
            restored: image,
            volume: Some(volume_label(&aged.key)),
            ..Beginning::default()
        };
        let asked = Request { contender, filesystem: Some(&filesystem), kept: Some((&cache, &aged)) };
        let mut stage = self.begin(&beginning)?.follow(Source::Kept, asked)?;
        let took = seconds + stage.state.copied.as_secs_f64();
        stage.state.found.aged = Some(Restored { state: aged.state, restored_seconds: took });
        stage.state.began = Some(Snapshot::take());
        Ok(stage)
    }

    fn restore_image(
        &mut self,
        folder: &Path,
        cache: &AgedCache,
        aged: &AgedImage,
    ) -> Result<image::Image, StagingError> {
        image::fits(folder, aged.bytes)?;
        self.images += 1;
        let file = self.mark.make_image(folder, self.images)?;
        if let Some(to) = self.mark.image(&file) {
            cache.restore_to_file(aged, to, &self.journal)?;
        }
        image::attach_made(&self.journal, &self.mark, file, aged.bytes)
    }
}

/// A verified copy of an aged image, for one trial.
#[derive(Debug)]
pub struct AgedCopy {
    cache: AgedCache,
    aged: AgedImage,
    /// Absent for a real device, which is restored in place.
    image: Option<image::Image>,
    seconds: f64,
}

/// An aged image is of one device: data on another device would not be kept with it.
fn alone(filesystem: &Filesystem, contender: &Contender) -> Result<(), StagingError> {
    match options::devices(filesystem, contender)?.first() {
        Some(own) => {
            let problem = format!(
                "ageing keeps an image of one device only, and the contender's {} is on another",
                own.rule.role
            );
            Err(StagingError::contender(&contender.label, problem, "leave out its age or the device"))
        }
        None => Ok(()),
    }
}

/// Volume label of an aged image, the same in every run.
fn volume_label(key: &str) -> String {
    format!("bo-{}", &key[..8])
}

impl Stage<'_> {
    /// Top directory of the mounted filesystem, which also holds the folder of the workloads; the caller ages the filesystem there.
    pub fn top(&self) -> &Path {
        &self.state.places.mountpoint
    }

    /// Unmounts, measures the free space, and keeps the image with its empty folder for work: a full filesystem may have no space for a new one.
    pub fn keep(
        mut self,
        cache: &AgedCache,
        key: &str,
        title: &str,
        state: &mut dyn FnMut(Kept) -> AgedState,
    ) -> Result<AgedImage, StagingError> {
        self.sync()?;
        let mut kept = Kept { used: usage(&self.state.seen(self.top()))?, ..Kept::default() };
        let mut remarks = Vec::new();
        if self.unmount(&mut remarks).is_none() {
            let problem = format!("its aged filesystem could not be saved: {}", remarks.join("; "));
            return Err(StagingError::failed(title, problem, "stop the program that uses it", records::Cause::Passing));
        }
        (kept.free_space, kept.no_free_space) = self.free_space(kept.used.total_bytes - kept.used.used_bytes);
        if let Some(daemon) = self.state.daemon.take() {
            daemon.end(&self.target.journal, &mut self.target.mark);
        }
        let part = self.part(cache)?;
        let made = self.target.mark.image(&part);
        let made = made.ok_or_else(|| StagingError::file("keep", &part, "it was not made by this run"))?;
        let image = cache.keep(made, key, title, state(kept))?;
        self.target.mark.release_image(&part);
        let problems = self.take_down().problems;
        if problems.is_empty() { Ok(image) } else { Err(StagingError::LeftBehind(problems.join("; "))) }
    }

    /// The file of the image in the cache's folder: detached, or copied from a real device.
    fn part(&mut self, cache: &AgedCache) -> Result<PathBuf, StagingError> {
        if let Some(image) = self.state.image.take() {
            image::detach(&self.target.journal, &self.target.mark, &image.file)?;
            return Ok(image.file);
        }
        let bytes = self.target.bytes().unwrap_or(0);
        self.target.images += 1;
        let part = self.target.mark.make_image(&cache.make()?, self.target.images)?;
        if let Some(made) = self.target.mark.image(&part) {
            cache.copy_of_device(&self.state.places.device, made, bytes, &self.target.journal)?;
        }
        Ok(part)
    }

    fn free_space(&self, free: u64) -> (Option<FreeSpace>, Option<String>) {
        let facts = self.state.filesystem.as_ref().and_then(|filesystem| filesystem.free_space.as_ref());
        let command = self.state.commands().and_then(Commands::free_space);
        let Some((facts, command)) = facts.zip(command) else {
            return (None, Some("no tool of this filesystem shows the layout of its free space".into()));
        };
        match command.limit(SYNC_LIMIT).run(&self.target.journal) {
            Ok(answer) => {
                let line = answer.stdout.lines().find_map(|line| line.trim().strip_prefix(facts.extents.as_str()));
                let extents = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
                let mean_bytes = extents.filter(|extents| *extents > 0).map(|extents| free / extents);
                (Some(FreeSpace { extents, mean_bytes, answer: answer.stdout }), None)
            }
            Err(error) => (None, Some(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_label_fits_the_shortest_field_and_follows_the_key() {
        let key = key_of(&["a".into()]);
        assert!(volume_label(&key).len() <= 12);
        assert_ne!(key_of(&["ab".into(), "c".into()]), key_of(&["a".into(), "bc".into()]));
    }
}
