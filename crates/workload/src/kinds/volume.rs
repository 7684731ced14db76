//! Work on the filesystem as a whole, by its own tools: one item a snapshot, a device, or a check.

use super::Kind;
use crate::compile::Outcome;
use crate::error::Problem;
use crate::program::{Group, Io, Order, Step, VolumeTool};
use crate::simulate::{Work, World};
use std::ops::Range;

/// The root's filesystem.
pub(crate) struct Volume;

/// Runs of a tool in one phase.
pub const RUNS_LIMIT: u64 = 10_000;

impl Kind for Volume {
    fn check(&self, group: &Group) -> Outcome<()> {
        if group.io != Io::default() || group.order != Order::InOrder || group.rate.is_some() || group.workers > 1 {
            return Err(Problem::new(
                "tools of the filesystem run one after the other and control their own reads and writes",
            )
            .help("leave out all but `volume`, `count` and `first`"));
        }
        let about = |is: fn(VolumeTool) -> bool| {
            group.steps.iter().any(|step| matches!(step, Step::Volume(tool, _) if is(*tool)))
        };
        if about(VolumeTool::is_about_a_device) {
            if group.first == 0 || group.count.is_some() {
                return Err(Problem::new(
                    "a step removes or rebuilds one device, given by its number, counting from 1",
                )
                .help("write `first = 2` for the second, and no `count`"));
            }
        } else if !about(VolumeTool::is_about_a_snapshot) && (group.count.is_some() || group.first > 0) {
            return Err(Problem::new("`count` and `first` number snapshots and devices, and this step uses neither"));
        }
        if group.count.is_some_and(|count| count > RUNS_LIMIT) {
            return Err(Problem::new(format!("more than {RUNS_LIMIT} runs of a tool in one phase")));
        }
        Ok(())
    }

    fn simulate(&self, world: &mut World, group: &Group) -> Outcome<Work> {
        let items = group.count.unwrap_or(1);
        let numbers = group.first..group.first.saturating_add(items);
        let tools =
            group.steps.iter().filter_map(|step| if let Step::Volume(tool, _) = step { Some(*tool) } else { None });
        for tool in tools {
            world.by_tool(tool, numbers.clone())?;
        }
        Ok(Work { items, ..Work::default() })
    }
}

impl World<'_> {
    /// The effect of a tool on the existing snapshots, and on the files.
    fn by_tool(&mut self, tool: VolumeTool, numbers: Range<u64>) -> Outcome<()> {
        match tool {
            VolumeTool::PrepareSnapshots => {
                if self.present().0 > 0 {
                    return Err(Problem::new(
                        "this step creates the root again for snapshots, but the root already has files",
                    )
                    .help("make this the first phase"));
                }
                self.prepared = true;
            }
            VolumeTool::Snapshot if !self.prepared => {
                let way =
                    "begin with a phase with `preparation = true` and `work = { volume = \"prepare-snapshots\" }`";
                return Err(Problem::new("a snapshot of a root that was not created for snapshots").help(way));
            }
            VolumeTool::Snapshot => numbers.into_iter().try_for_each(|number| self.taken_now(number))?,
            VolumeTool::DeleteSnapshot => {
                numbers
                    .into_iter()
                    .try_for_each(|number| self.known(number).map(|()| drop(self.snapshots.remove(&number))))?;
            }
            VolumeTool::Rollback => {
                for number in numbers {
                    self.known(number)?;
                    // Some filesystems drop later snapshots in a rollback, so the simulation drops them too.
                    let _later = self.snapshots.split_off(&(number + 1));
                    self.states.clone_from(&self.snapshots[&number]);
                }
            }
            VolumeTool::LoseDevice => self.loses(numbers.start)?,
            VolumeTool::Rebuild => self.has_again(numbers.start)?,
            VolumeTool::AwaitFreeSpace | VolumeTool::Scrub | VolumeTool::Check => {}
        }
        Ok(())
    }

    fn taken_now(&mut self, number: u64) -> Outcome<()> {
        match self.snapshots.insert(number, self.states.clone()) {
            None => Ok(()),
            Some(_) => {
                Err(Problem::new(format!("snapshot {number} exists already"))
                    .help("set `first` to the first free number"))
            }
        }
    }

    fn loses(&mut self, number: u64) -> Outcome<()> {
        match self.lost.replace(number) {
            None => Ok(()),
            Some(gone) => {
                Err(Problem::new(format!("device {gone} is missing already, and each block is on two devices"))
                    .help("rebuild it in an earlier phase"))
            }
        }
    }

    fn has_again(&mut self, number: u64) -> Outcome<()> {
        match self.lost.take() {
            Some(gone) if gone == number => Ok(()),
            Some(gone) => Err(Problem::new(format!("the missing device is {gone}")).help("rebuild that one")),
            None => Err(Problem::new(format!("at that point device {number} is not missing"))
                .help("remove it in an earlier phase, with `preparation = true`")),
        }
    }

    fn known(&self, number: u64) -> Outcome<()> {
        if self.snapshots.contains_key(&number) {
            return Ok(());
        }
        Err(Problem::new(format!("at that point there is no snapshot {number}")).help("take it in an earlier phase"))
    }
}
