//! Work on the filesystem as a whole, by its own tools: one item a snapshot, a device, or a check.

use super::Kind;
use crate::check::Check;
use crate::command::work;
use crate::worker::Task;
use workload::command::environment;
use workload::program::{Command, Group, Io, Order, OwnFigure, Program, Step, VolumeTool};

/// The root's filesystem.
pub struct Volume;

/// Most items of one group: each runs a program.
const MOST: u64 = 10_000;

impl Volume {
    fn of(group: &Group) -> Result<(VolumeTool, &[OwnFigure]), String> {
        match group.steps.as_slice() {
            [Step::Volume(tool, figures)] => Ok((*tool, figures)),
            _ => Err("work on the volume has one step, which names a tool".into()),
        }
    }
}

/// A tool's commands for the item of this number.
fn commands(
    program: &Program,
    (tool, figures): (VolumeTool, &[OwnFigure]),
    number: u64,
) -> Result<Vec<Command>, String> {
    let templates =
        program.tools.get(&tool).ok_or_else(|| format!("the filesystem has no tool for `{}`", tool.name()))?;
    let name = format!("bakeoff-{number}");
    let filled = |words: &Vec<String>| Command {
        words: words
            .iter()
            .map(|word| word.replace("{snapshot}", &name).replace("{lost}", &number.to_string()))
            .collect(),
        environment: environment(),
        figures: figures.to_vec(),
        ..Command::default()
    };
    Ok(templates.iter().map(filled).collect())
}

impl Kind for Volume {
    fn check(&self, program: &Program, group: &Group) -> Check {
        Volume::of(group)?;
        if group.io != Io::default() || group.order != Order::InOrder || group.rate.is_some() || group.workers != 1 {
            return Err("tools of the filesystem run one after the other and control their own reads and writes".into());
        }
        if group.count.is_some_and(|count| count > MOST) {
            return Err(format!("{} runs of a tool; the limit is {MOST}", group.count.unwrap_or_default()));
        }
        let names = program.tools.values().flatten().flatten();
        if names.into_iter().any(|word| word.contains('\0')) {
            return Err("a tool's command contains a NUL character".into());
        }
        Ok(())
    }

    fn expected(&self, _program: &Program, group: &Group) -> Option<u64> {
        Some(group.count.unwrap_or(1))
    }

    fn work(&self, task: &Task) -> Result<(), String> {
        let group = task.group();
        let tool = Volume::of(group)?;
        let numbers = group.first..group.first + group.count.unwrap_or(1);
        let items: Result<Vec<Vec<Command>>, String> =
            numbers.map(|number| commands(task.program, tool, number)).collect();
        work(task, &items?)
    }
}
