//! Axes that act around a trial: applied once a contender is mounted, read back, explained where they were the cause, and undone.
//! In: where a contender stands, by the table of the crate `axes`. Out: effects that the mark knows before they are made.
//! Which axis it is, nobody asks here.

use crate::devices::setting::write_setting;
use crate::error::StagingError;
use crate::guests;
use crate::ownership::cleanup_journal::{Made, Mark};
use crate::stage::Stage;
use crate::stage::target::Target;
use axes::{Applied, Ground, Look};
use records::{Contender, OptionFound};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use system::{Command, Journal};

/// How long a group is waited for that a process is still leaving.
const LEAVING: Duration = Duration::from_secs(5);

/// What axes did around a stage.
#[derive(Debug, Default)]
pub(crate) struct Around {
    /// Name of the axis, value, and what applying it left.
    applied: Vec<(String, String, Applied)>,
    groups: Vec<PathBuf>,
}

/// This machine's files.
pub(crate) struct Here;

impl Look for Here {
    fn read(&self, path: &Path) -> Option<String> {
        std::fs::read_to_string(path).ok()
    }
}

/// A guest of ours before it is booted: version 2 of control groups, and nobody beside us.
struct Guest;

impl Look for Guest {
    fn read(&self, path: &Path) -> Option<String> {
        let text = match path.to_str()? {
            "/proc/self/mountinfo" => "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
            "/proc/self/cgroup" => "0::/",
            "/sys/fs/cgroup/cgroup.controllers" => "memory",
            "/proc/swaps" => "",
            _ => return None,
        };
        Some(text.into())
    }
}

/// What axes may do to this machine.
struct Effects<'a> {
    machine: &'a dyn Look,
    journal: &'a Journal,
    mark: &'a mut Mark,
    own_cache: bool,
    settings: &'a mut Vec<(PathBuf, String)>,
    groups: &'a mut Vec<PathBuf>,
}

impl Look for Effects<'_> {
    fn read(&self, path: &Path) -> Option<String> {
        self.machine.read(path)
    }
}

impl Ground for Effects<'_> {
    fn name(&self) -> String {
        group_name(self.mark.id())
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

/// Whether every axis that a contender stands on works here, as far as it can be told beforehand.
pub(crate) fn check(contender: &Contender) -> Result<(), StagingError> {
    for (named, value) in axes::around(contender) {
        let fits = named.axis.check(value).and_then(|()| named.axis.works_here(&Here));
        fits.map_err(|problem| StagingError::contender(&contender.label, problem, "leave the axis out"))?;
    }
    Ok(())
}

/// The commands by which axes will be applied; those that undo it, in their order.
pub(crate) fn planned(contender: &Contender, own_cache: bool, journal: &Journal) -> Result<Vec<Command>, StagingError> {
    let (mut mark, mut settings, mut groups) = (Mark::new(true)?, Vec::new(), Vec::new());
    let machine: &dyn Look = if guests::is_guest(contender.kernel.as_deref()) { &Guest } else { &Here };
    for (named, value) in axes::around(contender) {
        let (settings, groups) = (&mut settings, &mut groups);
        let mut ground = Effects { machine, journal, mark: &mut mark, own_cache, settings, groups };
        let applied = named.axis.apply(value, &mut ground);
        applied.map_err(|problem| StagingError::contender(&contender.label, problem, "leave the axis out"))?;
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

impl Stage<'_> {
    /// Applies every axis that acts around a trial, and reads it back.
    pub(crate) fn apply_axes(&mut self, contender: &Contender) -> Result<(), StagingError> {
        let failed = |problem: String| StagingError::contender(&contender.label, problem, "leave the axis out");
        let own_cache = self.state.has_own_cache();
        for (named, value) in axes::around(contender) {
            let Target { journal, mark, .. } = &mut *self.target;
            let (settings, groups) = (&mut self.state.settings, &mut self.state.around.groups);
            let mut ground = Effects { machine: &Here, journal, mark, own_cache, settings, groups };
            let applied = named.axis.apply(value, &mut ground).map_err(failed)?;
            let found = named.axis.read_back(value, &applied, &Here).map_err(failed)?;
            self.state.found.options.extend(found);
            self.state.found.remarks.extend(applied.remarks.clone());
            self.state.around.applied.push((named.name(), value.to_owned(), applied));
        }
        Ok(())
    }

    /// Words to be put before the engine's command: what limits it, and what leads to the mount.
    pub fn engine_prefix(&self) -> Vec<String> {
        let entering = self.state.around.applied.iter().flat_map(|(_, _, applied)| &applied.enter);
        entering.chain(self.enter()).cloned().collect()
    }

    /// What axes show after the work.
    pub(crate) fn axes_after(&self) -> Vec<OptionFound> {
        let each = self.state.around.applied.iter();
        each.filter_map(|(name, value, applied)| Some(axes::find(name)?.axis.after(value, applied, &Here)))
            .flatten()
            .collect()
    }

    /// Why the work failed, where that was an axis' doing.
    pub(crate) fn axes_explain(&self) -> Option<String> {
        let mut each = self.state.around.applied.iter();
        each.find_map(|(name, value, applied)| axes::find(name)?.axis.explains(value, applied, &Here))
    }
}

impl Target {
    /// Removes the groups that axes made; what could not be removed, in words.
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
