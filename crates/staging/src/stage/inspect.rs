//! Inspecting what was set up, right after mounting.
//! In: a stage. Out: its [`crate::Found`] and what makes its data safe.
//! A requested option that is not in effect ends the stage with an error of its contender.

use crate::error::StagingError;
use crate::filesystems::description::Filesystem;
use crate::filesystems::readback::{self, Shown};
use crate::filesystems::template;
use crate::modelled::Modelled;
use crate::stage::Stage;
use crate::stage::cold::keeps_pages;
use crate::stage::prepared::nothing_mounted;
use crate::stage::target::of_contender;
use records::Contender;
use records::program::Durable;
use records::{Durability, Usage};
use std::collections::BTreeSet;
use std::path::Path;
use system::{BlockDevice, Command, Sysfs as _};

impl Stage<'_> {
    /// Reads everything back.
    pub(crate) fn read_back(&mut self, contender: &Contender) -> Result<(), StagingError> {
        let Some(filesystem) = self.state.filesystem.clone() else {
            return Ok(());
        };
        let label = contender.label.clone();
        let looked = self.look_at_mount(&filesystem);
        looked.map_err(|error| self.explained(of_contender(&label, error), "reading it back"))?;
        self.look_at_device();
        let line = |problem: String, way: &str| StagingError::contender(&label, problem, way);
        let mount = readback::mount_options(&filesystem, &self.state.options.mount, &self.shown(&filesystem))
            .map_err(|problem| line(problem, "remove it, or use a kernel that supports it"))?;
        let words = template::asked_words(&filesystem, contender);
        let mkfs = readback::mkfs_options(&filesystem, &words, &self.state.found.inspected)
            .map_err(|problem| line(problem, "remove it, or use tools that support it"))?;
        let hidden = mkfs.iter().filter(|one| one.found.is_none());
        let remarks: Vec<String> = hidden.map(|one| format!("{} is not read back: {}", one.asked, one.by)).collect();
        self.state.found.remarks.extend(remarks);
        let queue = std::mem::take(&mut self.state.found.options);
        self.state.found.options = mkfs.into_iter().chain(mount).chain(queue).collect();
        self.state.found.durability = self.durability(&filesystem);
        self.state.durable = self.what_is_durable(&filesystem);
        Ok(())
    }

    /// The mount options that the system shows, with their sources.
    fn shown(&self, filesystem: &Filesystem) -> Vec<Shown> {
        let found = &self.state.found;
        let kernel = found.mount_options.iter().chain(&found.super_options).cloned().collect();
        let files = self.state.places.fill(&filesystem.mount.shown, &[]);
        let more = files.first().or(filesystem.mount.shown_by.as_ref()).cloned().unwrap_or_default();
        vec![Shown { by: "mountinfo".into(), options: kernel }, Shown { by: more, options: found.more_options.clone() }]
    }

    fn look_at_mount(&mut self, filesystem: &Filesystem) -> Result<(), StagingError> {
        let mount = self.state.mount().ok_or_else(|| nothing_mounted(&self.state.label, ""))?;
        self.state.found.filesystem = mount.kind;
        self.state.found.mount_options = mount.options;
        self.state.found.super_options = mount.super_options;
        for (name, command) in self.state.commands_of(filesystem).inspect() {
            let answer =
                command.run(&self.target.journal).map_err(StagingError::command(format!("inspecting with {name}")))?;
            self.state.found.inspected.insert(name, answer.stdout);
        }
        for path in self.state.places.fill(&filesystem.mount.shown, &[]) {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            self.state.found.more_options.extend(text.lines().map(|line| line.trim().to_string()));
        }
        let listed = filesystem.mount.shown_by.as_ref().and_then(|name| self.state.found.inspected.get(name));
        let options: Vec<String> = listed
            .map(|text| {
                text.lines()
                    .filter_map(|line| line.split_once('\t'))
                    .map(|(key, value)| format!("{key}={value}"))
                    .collect()
            })
            .unwrap_or_default();
        self.state.found.more_options.extend(options);
        self.state.found.empty = usage(&self.state.seen(&self.state.root))?;
        Ok(())
    }

    /// Device and queue as they are during the trial.
    pub(crate) fn look_at_device(&mut self) {
        let Some(device) = self.state.device.as_ref().and_then(|device| BlockDevice::find(&device.path).ok()) else {
            return;
        };
        self.state.found.scheduler = device.queue.scheduler.clone();
        self.state.found.below = device.below();
        self.state.found.below.extend(self.state.modelled.iter().map(Modelled::device));
        let through_cache = |part: &BlockDevice| part.loop_direct == Some(false);
        if self.state.image.is_none() && (through_cache(&device) || self.state.found.below.iter().any(through_cache)) {
            let remark = "the loop device goes through this machine's page cache (direct I/O is off): \
                          memory may have served reads instead of the disk";
            if !self.state.found.remarks.iter().any(|note| note == remark) {
                self.state.found.remarks.push(remark.into());
            }
        }
        self.state.found.device = Some(device.clone());
        self.state.device = Some(device);
        self.state.keeps_pages_below = self.keeps_pages_below();
    }

    /// Whether a loop device that is not ours keeps the lower layer in the page cache, where unmounting leaves it.
    fn keeps_pages_below(&self) -> bool {
        let own: Vec<_> = self.state.images().map(|image| image.device.number).collect();
        let keeps = |device: &BlockDevice| keeps_pages(device) && !own.contains(&device.number);
        self.state.devices().any(|device| keeps(device) || device.below().iter().any(keeps))
    }

    pub(crate) fn durability(&self, filesystem: &Filesystem) -> Durability {
        let found = &self.state.found;
        let inspected = found.inspected.values().flat_map(|text| text.split([' ', '\t', '\n', ',']));
        let words: BTreeSet<String> = found
            .mount_options
            .iter()
            .chain(&found.super_options)
            .chain(&found.more_options)
            .cloned()
            .chain(inspected.filter(|word| !word.is_empty()).map(str::to_string))
            .collect();
        let class = crate::filesystems::durability::class(&filesystem.durability, &words);
        let is_lost = self.state.flushes_off || !self.state.layers.flush();
        let flushes = if is_lost { Some(false) } else { class.flushes };
        Durability { flushes, ..class }
    }

    fn what_is_durable(&self, filesystem: &Filesystem) -> Durable {
        let command = self.state.commands_of(filesystem).sync();
        Durable {
            syncfs: filesystem.sync.syncfs,
            command: command.map(Command::into_words).unwrap_or_default(),
            flush: std::iter::once(self.state.places.device.clone())
                .chain(self.state.own.iter().map(|own| own.device.path.clone()))
                .collect(),
        }
    }
}

/// statvfs(3).
pub(crate) fn usage(path: &Path) -> Result<Usage, StagingError> {
    let found = rustix::fs::statvfs(path).map_err(|error| StagingError::file("query the space of", path, error))?;
    Ok(Usage {
        total_bytes: found.f_blocks * found.f_frsize,
        used_bytes: found.f_blocks.saturating_sub(found.f_bfree) * found.f_frsize,
        available_bytes: found.f_bavail * found.f_frsize,
        inodes: (found.f_files > 0).then_some(found.f_files),
        inodes_free: (found.f_files > 0).then_some(found.f_ffree),
    })
}
