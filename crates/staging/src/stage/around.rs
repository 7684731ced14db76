//! Axes that act around a trial: applied at their moment, read back, checked as the cause of a failure, and undone.
//! In: a contender's axis values, by the table of the crate `axes`. Out: effects that are in the mark before they are made.
//! The code does not depend on which axis it is.

use crate::devices::setting::write_setting;
use crate::error::StagingError;
use crate::guests;
use crate::ownership::cleanup_journal::{Made, Mark};
use crate::stage::Stage;
use crate::stage::target::Target;
use axes::{Acting, Applied, Disk, Ground, Look, Seen};
use records::{Contender, OptionFound};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use system::{Command, Journal, input};

/// How long to wait for a group that a process is still leaving.
const LEAVING: Duration = Duration::from_secs(5);

/// Effects of axes around a stage.
#[derive(Debug, Default)]
pub(crate) struct Around {
    /// What was applied, and what that left.
    applied: Vec<(Acting, Applied)>,
    groups: Vec<PathBuf>,
}

/// This machine's files.
pub(crate) struct Here;

impl Look for Here {
    fn read(&self, path: &Path) -> Option<String> {
        // Files of the kernel show no size; the description of a disk is a user's file.
        let is_kernels = ["/sys", "/proc"].iter().any(|top| path.starts_with(top));
        match is_kernels {
            true => std::fs::read_to_string(path).ok(),
            false => input::text_file(path, input::TEXT_LIMIT).ok(),
        }
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

/// Our guest before it boots: version 2 of control groups, no other users, and a virtio disk.
struct Guest;

impl Look for Guest {
    fn read(&self, path: &Path) -> Option<String> {
        let text = match path.to_str()? {
            "/proc/self/mountinfo" => "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
            "/proc/self/cgroup" => "0::/",
            "/sys/fs/cgroup/cgroup.controllers" => "memory",
            "/proc/swaps" => "",
            "/sys/block/vda/cache_type" => "write back",
            _ => return None,
        };
        Some(text.into())
    }

    fn names(&self, _: &Path) -> Vec<String> {
        Vec::new()
    }
}

/// A machine on which nothing is set yet: a disk's settings read as "WAS".
struct Planned<'a>(&'a dyn Look);

impl Look for Planned<'_> {
    fn read(&self, path: &Path) -> Option<String> {
        let queue = path.starts_with("/sys/block") && path.parent().is_some_and(|folder| folder.ends_with("queue"));
        if queue { Some("WAS".into()) } else { self.0.read(path) }
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        self.0.names(folder)
    }
}

/// What axes may do to this machine.
struct Effects<'a> {
    machine: &'a dyn Look,
    journal: &'a Journal,
    mark: &'a mut Mark,
    disk: Option<Disk>,
    own_cache: bool,
    settings: &'a mut Vec<(PathBuf, String)>,
    groups: &'a mut Vec<PathBuf>,
}

impl Look for Effects<'_> {
    fn read(&self, path: &Path) -> Option<String> {
        self.machine.read(path)
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        self.machine.names(folder)
    }
}

impl Ground for Effects<'_> {
    fn name(&self) -> String {
        group_name(self.mark.id())
    }

    fn disk(&self) -> Option<Disk> {
        self.disk.clone()
    }

    fn has_own_cache(&self) -> bool {
        self.own_cache
    }

    fn set(&mut self, path: &Path, value: &str, back: &str) -> Result<(), String> {
        let made = Made::Setting { path: path.into(), was: back.into() };
        self.mark.will_make(made).map_err(|error| error.to_string())?;
        self.settings.push((path.into(), back.into()));
        self.write(path, value)
    }

    fn make_group(&mut self, group: &Path) -> Result<(), String> {
        let made = Made::Group { path: group.into() };
        self.mark.will_make(made).map_err(|error| error.to_string())?;
        self.groups.push(group.into());
        let made = Command::new(["mkdir".to_string(), group.display().to_string()]).run(self.journal);
        made.map(|_| ()).map_err(|error| format!("making the control group {}: {error}", group.display()))
    }

    fn write(&mut self, path: &Path, value: &str) -> Result<(), String> {
        write_setting(path, value, self.journal).map_err(|error| error.to_string())
    }
}

/// Name of a control group of the run `id`.
pub(crate) fn group_name(id: &str) -> String {
    format!("bakeoff-{id}")
}

/// Whether every axis of a contender works here, as far as that can be determined beforehand.
pub(crate) fn check(contender: &Contender) -> Result<(), StagingError> {
    for Acting { axis, setting, value } in axes::on_device(contender).into_iter().chain(axes::on_mounted(contender)) {
        let fits = axis.check(&setting, &value).and_then(|()| axis.works_here(&Here));
        fits.map_err(failed(contender))?;
    }
    Ok(())
}

fn failed(contender: &Contender) -> impl Fn(String) -> StagingError {
    |problem| StagingError::contender(&contender.label, problem, "leave the axis out")
}

/// Adds the commands that apply axes at one moment to the journal; returns those that undo them, in their order.
pub(crate) fn planned(
    contender: &Contender,
    acting: Vec<Acting>,
    (disk, own_cache): (&str, bool),
    journal: &Journal,
) -> Result<Vec<Command>, StagingError> {
    let (mut mark, mut settings, mut groups) = (Mark::new(true)?, Vec::new(), Vec::new());
    let machine = Planned(if guests::is_guest(contender.kernel.as_deref()) { &Guest } else { &Here });
    for Acting { axis, setting, value } in acting {
        let (mark, settings, groups) = (&mut mark, &mut settings, &mut groups);
        let disk = Some(Disk { name: disk.into(), on_image: false });
        let mut ground = Effects { machine: &machine, journal, mark, disk, own_cache, settings, groups };
        axis.apply(&setting, &value, &mut ground).map_err(failed(contender))?;
    }
    let back = settings.iter().rev().map(|(path, was)| crate::devices::setting::setting_command(path, was));
    Ok(groups.iter().rev().map(|group| removal(group)).chain(back).collect())
}

fn removal(group: &Path) -> Command {
    Command::new(["rmdir".to_string(), group.display().to_string()])
}

/// Removes a control group once nothing runs in it; one that is gone already is fine.
pub(crate) fn remove_group(group: &Path, journal: &Journal) -> Result<(), StagingError> {
    let end = Instant::now() + LEAVING;
    while group.exists() {
        match removal(group).run(journal) {
            Err(error) if Instant::now() > end => {
                return Err(StagingError::command(format!("removing the control group {}", group.display()))(error));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
            Ok(_) => return Ok(()),
        }
    }
    Ok(())
}

fn seen<'a>(one: &'a Acting, applied: &'a Applied) -> Seen<'a> {
    Seen { setting: &one.setting, value: &one.value, applied, machine: &Here }
}

impl Stage<'_> {
    /// Applies the axes of one moment, and reads them back.
    pub(crate) fn apply(&mut self, contender: &Contender, acting: Vec<Acting>) -> Result<(), StagingError> {
        let own_cache = self.state.has_own_cache();
        let on_image = self.state.image.is_some();
        let disk = self.state.device.as_ref().map(|device| Disk { name: device.disk(), on_image });
        for one in acting {
            let Target { journal, mark, .. } = &mut *self.target;
            let (settings, groups) = (&mut self.state.settings, &mut self.state.around.groups);
            let disk = disk.clone();
            let mut ground = Effects { machine: &Here, journal, mark, disk, own_cache, settings, groups };
            let applied = one.axis.apply(&one.setting, &one.value, &mut ground).map_err(failed(contender))?;
            let found = one.axis.read_back(&seen(&one, &applied)).map_err(failed(contender))?;
            self.state.found.options.extend(found);
            self.state.found.remarks.extend(applied.remarks.clone());
            self.state.flushes_off |= applied.flushes_off;
            self.state.around.applied.push((one, applied));
        }
        Ok(())
    }

    /// Prefix of the engine's command: what limits it, then what leads to the mount.
    pub fn engine_prefix(&self) -> Vec<String> {
        let entering = self.state.around.applied.iter().flat_map(|(_, applied)| &applied.enter);
        entering.chain(self.enter()).cloned().collect()
    }

    /// What axes show after the work.
    pub(crate) fn axes_after(&self) -> Vec<OptionFound> {
        let each = self.state.around.applied.iter();
        each.flat_map(|(one, applied)| one.axis.after(&seen(one, applied))).collect()
    }

    /// Why the work failed, if an axis caused it.
    pub(crate) fn axes_explain(&self) -> Option<String> {
        let mut each = self.state.around.applied.iter();
        each.find_map(|(one, applied)| one.axis.explains(&seen(one, applied)))
    }
}

impl Target {
    /// Removes the groups that axes made; returns what could not be removed, in words.
    pub(crate) fn leave_groups(&mut self, around: &mut Around) -> Vec<String> {
        let mut problems = Vec::new();
        for group in std::mem::take(&mut around.groups).into_iter().rev() {
            match remove_group(&group, &self.journal) {
                Ok(()) => self.mark.removed(|made| matches!(made, Made::Group { path } if *path == group)),
                Err(error) => problems.push(error.to_string()),
            }
        }
        problems
    }
}
