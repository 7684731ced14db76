//! What a plan would do, as values: contenders, work, order, time and space; with `--commands` also every command.
//! In: a resolved plan. Out: a [`Forecast`] for `bakeoff plan --json`.

use crate::catalogue::Catalogue;
use crate::json::Answer;
use crate::{estimate, resolve, split};
use runner::{Place, PlannedContender, ResolvedPlan, places};
use schemars::JsonSchema;
use serde::Serialize;
use staging::{AgedCommands, StagingError, Tools, Where};
use std::path::PathBuf;
use workload::program::{Command, Group, Step};

/// Result of `bakeoff plan`, which changes nothing.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Forecast {
    /// The question in a line.
    title: String,
    /// Where it runs.
    place: Ground,
    /// Contenders, in the order of the plan; the control is at the end.
    contenders: Vec<Entry>,
    /// The work.
    workloads: Vec<Load>,
    /// Seed of orders and contents.
    seed: u64,
    /// Which part of a plan this is, if the plan is split over several machines, such as `2/4`; null for the whole plan.
    shard: Option<String>,
    /// The first block: workloads in their order, each with its contenders in theirs.
    first_block: Vec<Turn>,
    /// How often all of this is done.
    blocks: Blocks,
    /// What it takes.
    costs: Costs,
    /// Combinations of axes that were left out or not multiplied, and the origin of commands in users' files: sentences.
    notes: Vec<String>,
    /// Commands that would run; null without `--commands`.
    commands: Option<Commands>,
}

impl Answer for Forecast {
    const SCHEMA: &'static str = "bakeoff-plan";
}

/// Where a plan runs.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Ground {
    /// A fresh sparse image for each trial, through a loop device.
    Image {
        /// Size of each image.
        bytes: u64,
        /// Folder of the images.
        scratch: PathBuf,
    },
    /// A block device, formatted again for each trial.
    Device {
        /// The device.
        path: PathBuf,
        /// Number of equal parts that it is split in, one for each contender; null where contenders use all of it in turn.
        parts: Option<usize>,
    },
    /// Directories; nothing is formatted.
    Directories {
        /// One for each contender.
        paths: Vec<PathBuf>,
    },
}

/// A contender.
#[derive(Debug, Serialize, JsonSchema)]
struct Entry {
    /// Its name in tables.
    name: String,
    /// Filesystem.
    filesystem: String,
    /// All other requested settings, by the names that axes have: `mkfs`, `mkfs.rmapbt`, `mount`, `scheduler`, `kernel`, `age`,
    /// `fill`, `device.read_ahead`, `limit.memory` ...
    settings: Vec<Setting>,
    /// Index of the contender that it repeats as a control, for the noise floor; null for all others.
    twin_of: Option<usize>,
}

/// One requested setting.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Setting {
    /// Name.
    pub name: String,
    /// Value.
    pub value: String,
}

/// A workload at a scale.
#[derive(Debug, Serialize, JsonSchema)]
struct Load {
    /// Its name.
    name: String,
    /// Scale, and the settings that differ from it.
    scale: String,
    /// Most files that exist at once.
    files_at_most: u64,
    /// Most bytes that exist in files at once.
    bytes_at_most: u64,
    /// Bytes that one trial writes.
    bytes_written: u64,
    /// Bytes that one trial reads, from the device or from a cache.
    bytes_read: u64,
    /// Whether it reads what ageing left.
    needs_aged: bool,
    /// Whether programs are part of it, whose files and bytes are in none of these numbers.
    runs_programs: bool,
    /// Indices of the contenders that run it.
    contenders: Vec<usize>,
}

/// A workload of a block.
#[derive(Debug, Serialize, JsonSchema)]
struct Turn {
    /// Index into `workloads`.
    workload: usize,
    /// Indices into `contenders`, in the order in which they work.
    contenders: Vec<usize>,
}

/// How often every contender is formatted, mounted and measured.
#[derive(Debug, Serialize, JsonSchema)]
struct Blocks {
    /// Blocks at least, in this shard.
    least: u32,
    /// Blocks at most, in all shards.
    most: u32,
    /// Time to spend; null for no limit.
    budget_seconds: Option<f64>,
    /// Half-width of an interval that is precise enough, a share.
    precision: f64,
}

/// What a plan takes, on a device of an assumed speed.
#[derive(Debug, Serialize, JsonSchema)]
struct Costs {
    /// Trials of one block.
    trials_per_block: usize,
    /// Seconds that one block takes; null where programs do the work and no workload declares how long they take.
    seconds_per_block: Option<f64>,
    /// The device's assumed speed.
    assumed_bytes_per_second: f64,
    /// Bytes that the workloads write in the least number of blocks; not counting journals and metadata.
    bytes_written: u64,
    /// What ageing takes; null where nothing is aged.
    ageing: Option<Ageing>,
}

/// What ageing takes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Ageing {
    /// Filesystems that are aged.
    pub filesystems: usize,
    /// Bytes written to age them, once.
    pub bytes_once: u64,
    /// Bytes written to restore them for the trials of one block.
    pub bytes_per_block: u64,
    /// Folder that keeps the images.
    pub folder: PathBuf,
    /// Room for them.
    pub bytes_at_most: u64,
}

/// Commands, as a person would type them.
#[derive(Debug, Serialize, JsonSchema)]
struct Commands {
    /// Before the first trial, for the versions of tools.
    versions: Vec<String>,
    /// Before the first trial, where a device is split: they empty it, and make its parts.
    split: Vec<String>,
    /// For each trial of a contender; `N` is the number of its part of a device that is split.
    trials: Vec<TrialCommands>,
    /// After the last trial, where a device is split.
    unsplit: Vec<String>,
    /// Programs of the user's own that are the work of each trial, run in the contender's folder.
    work: Vec<String>,
}

/// Commands of one trial of a contender.
#[derive(Debug, Serialize, JsonSchema)]
struct TrialCommands {
    /// Index into `contenders`.
    contender: usize,
    /// The commands in their order; those from mounting to unmounting are repeated for each phase.
    commands: Vec<String>,
    /// Why it cannot compete; null where it can.
    obstacle: Option<String>,
}

impl Forecast {
    /// What a plan would do; `commands` adds every command.
    pub fn of(plan: &ResolvedPlan, catalogue: &Catalogue, commands: bool) -> Forecast {
        let (_, most) = plan.sampling.range();
        let works = plan.works.iter().enumerate();
        Forecast {
            title: plan.title.clone(),
            place: ground(plan, catalogue),
            contenders: plan.contenders.iter().map(|entry| of_contender(plan, entry)).collect(),
            workloads: works.map(|(index, work)| of_work(plan, index, work)).collect(),
            seed: plan.seed,
            shard: plan.shard.map(|shard| shard.to_string()),
            first_block: runner::order_of_block(plan, 0)
                .into_iter()
                .map(|(workload, contenders)| Turn { workload, contenders })
                .collect(),
            blocks: Blocks {
                least: plan.least_blocks(),
                most,
                budget_seconds: plan.sampling.budget_seconds,
                precision: plan.sampling.precision,
            },
            costs: Costs {
                trials_per_block: plan.trials_per_block(),
                seconds_per_block: estimate::of_unknown_time(plan).is_empty().then(|| estimate::block_seconds(plan)),
                assumed_bytes_per_second: estimate::ASSUMED_RATE,
                bytes_written: bytes_written(plan),
                ageing: ageing(plan),
            },
            notes: plan.notes.clone(),
            commands: commands.then(|| all_commands(plan, catalogue)),
        }
    }
}

fn ground(plan: &ResolvedPlan, catalogue: &Catalogue) -> Ground {
    match &plan.place {
        Place::Image { bytes, scratch } => Ground::Image { bytes: *bytes, scratch: scratch.clone() },
        Place::Device { path, .. } => {
            let is_split = split::device(plan, &catalogue.filesystems).is_some();
            Ground::Device { path: path.clone(), parts: is_split.then_some(plan.contenders.len()) }
        }
        Place::Directories(paths) => Ground::Directories { paths: paths.clone() },
    }
}

fn of_contender(plan: &ResolvedPlan, entry: &PlannedContender) -> Entry {
    Entry {
        name: entry.asked.label.clone(),
        filesystem: entry.asked.filesystem.clone(),
        settings: settings(plan, entry),
        twin_of: entry.twin_of,
    }
}

/// Requested settings other than the filesystem, by the names of axes.
pub fn settings(plan: &ResolvedPlan, entry: &PlannedContender) -> Vec<Setting> {
    let asked = &entry.asked;
    let mut settings = Vec::new();
    let mut put = |name: String, value: String| settings.push(Setting { name, value });
    if !asked.mkfs.is_empty() {
        put("mkfs".into(), asked.mkfs.join(" "));
    }
    asked.mkfs_settings.iter().for_each(|(name, value)| put(format!("mkfs.{name}"), value.clone()));
    if !asked.mount.is_empty() {
        put("mount".into(), asked.mount.clone());
    }
    asked.scheduler.iter().for_each(|scheduler| put("scheduler".into(), scheduler.clone()));
    asked.kernel.iter().for_each(|kernel| put("kernel".into(), kernel.clone()));
    if let Some((profile, fill)) = plan.ages.as_ref().and_then(|ages| ages.of(asked)) {
        put("age".into(), profile.name.clone());
        put("fill".into(), runner::percent(fill));
    }
    asked.device.iter().for_each(|(name, value)| put(format!("device.{name}"), value.clone()));
    axes::beside_options(asked).for_each(|(name, value)| put(name.into(), value.into()));
    settings
}

fn of_work(plan: &ResolvedPlan, index: usize, work: &runner::Work) -> Load {
    let estimate = &work.compiled.estimate;
    Load {
        name: work.name.clone(),
        scale: work.compiled.scale.clone(),
        files_at_most: estimate.files_at_most,
        bytes_at_most: estimate.bytes_at_most,
        bytes_written: estimate.bytes_written,
        bytes_read: estimate.bytes_read + estimate.device_bytes_read,
        needs_aged: estimate.needs_aged,
        runs_programs: resolve::runs_commands(work),
        contenders: plan.contenders_of(index),
    }
}

/// Bytes that the workloads write in the least number of blocks.
pub fn bytes_written(plan: &ResolvedPlan) -> u64 {
    let of_work = |(index, work): (usize, &runner::Work)| {
        work.compiled.estimate.bytes_written.saturating_mul(plan.contenders_of(index).len() as u64)
    };
    let block = plan.works.iter().enumerate().map(of_work).fold(0, u64::saturating_add);
    block.saturating_mul(u64::from(plan.least_blocks()))
}

/// What ageing costs beforehand, and what restoring costs for the trials of a block; None if nothing is aged.
pub fn ageing(plan: &ResolvedPlan) -> Option<Ageing> {
    let (ages, volume) = (plan.ages.as_ref()?, resolve::size_of(&plan.place)?);
    let mut made = std::collections::BTreeSet::new();
    let (mut bytes_once, mut bytes_per_block) = (0u64, 0u64);
    for (index, entry) in plan.contenders.iter().enumerate() {
        let Some((profile, fill)) = ages.of(&entry.asked) else { continue };
        let works = (0..plan.works.len()).filter(|work| plan.meets(index, *work)).count();
        bytes_per_block += (volume as f64 * fill) as u64 * works as u64;
        // Contenders that differ only in the scheduler share an image, which is aged once.
        let asked = &entry.asked;
        let settings = format!("{:?}", (&asked.mkfs, &asked.mkfs_settings, &asked.mount));
        if made.insert((asked.filesystem.clone(), settings, profile.name.clone(), runner::percent(fill))) {
            bytes_once += workload::age_profiles::writes(profile, volume, fill);
        }
    }
    (!made.is_empty()).then(|| Ageing {
        filesystems: made.len(),
        bytes_once,
        bytes_per_block,
        folder: ages.folder.clone(),
        bytes_at_most: ages.limit,
    })
}

/// The commands that print the versions of tools, before the first trial.
pub fn version_commands(plan: &ResolvedPlan, catalogue: &Catalogue) -> Vec<String> {
    if matches!(plan.place, Place::Directories(_)) {
        return Vec::new();
    }
    let names: Vec<&str> = plan.contenders.iter().map(|entry| entry.asked.filesystem.as_str()).collect();
    staging::version_commands(&catalogue.filesystems, &names)
}

/// The commands of each trial of every contender except controls, by index; an error if it cannot compete.
pub fn trial_commands(plan: &ResolvedPlan, catalogue: &Catalogue) -> Vec<(usize, Result<Vec<String>, String>)> {
    let ground = match split::device(plan, &catalogue.filesystems) {
        Some(disk) => vec![Where::Part { disk: disk.into(), count: plan.contenders.len() }],
        None => places(plan),
    };
    let shown = plan.contenders.iter().enumerate().filter(|(_, entry)| entry.twin_of.is_none());
    let of_entry = |(index, entry): (usize, &PlannedContender)| {
        let place = if ground.len() > 1 { &ground[index] } else { &ground[0] };
        let lines = match aged_commands(plan, entry, place, catalogue) {
            Some(lines) => lines,
            None => staging::commands_for(&catalogue.filesystems, &entry.asked, place, plan.cold),
        };
        let tools = staging::tools_for(&catalogue.filesystems, &entry.asked, place).unwrap_or_default();
        let tools = tool_commands(plan, index, &tools);
        let all = lines.map(|lines| lines.into_iter().chain(tools).collect());
        (index, all.map_err(|error| error.to_string()))
    };
    shown.map(of_entry).collect()
}

fn all_commands(plan: &ResolvedPlan, catalogue: &Catalogue) -> Commands {
    let trials = trial_commands(plan, catalogue).into_iter().map(|(contender, lines)| match lines {
        Ok(commands) => TrialCommands { contender, commands, obstacle: None },
        Err(why) => TrialCommands { contender, commands: Vec::new(), obstacle: Some(why) },
    });
    // The plan's error gives the reason if it cannot be split.
    let split = split::commands(plan, &catalogue.filesystems).and_then(Result::ok).unwrap_or_default();
    Commands {
        versions: version_commands(plan, catalogue),
        split: split.before,
        trials: trials.collect(),
        unsplit: split.after,
        work: own_commands(plan),
    }
}

/// The user's programs that do the work, and traces of such, each with its phase and the user that runs it.
pub fn own_commands(plan: &ResolvedPlan) -> Vec<String> {
    let mut lines = Vec::new();
    for work in &plan.works {
        for phase in &work.compiled.program.phases {
            for step in phase.groups.iter().flat_map(|group| &group.steps) {
                let (line, user) = match step {
                    Step::Run(command) => (command.line(), command.user.as_ref()),
                    Step::Replay(replay) => (format!("the calls of {}", replay.trace.display()), None),
                    _ => continue,
                };
                let user = user.map_or_else(String::new, |user| format!(", as {user}"));
                lines.push(format!("{line}  # {}/{}{user}", work.name, phase.name));
            }
        }
    }
    lines
}

/// The commands of the filesystem's own tools in the work of a contender, each with its phase and number of times.
fn tool_commands(plan: &ResolvedPlan, contender: usize, tools: &Tools) -> Vec<String> {
    let works = (0..plan.works.len()).filter(|work| plan.meets(contender, *work)).map(|work| &plan.works[work]);
    let phases = works.flat_map(|work| work.compiled.program.phases.iter().map(move |phase| (work, phase)));
    let groups = phases.flat_map(|(work, phase)| phase.groups.iter().map(move |group| (work, phase, group)));
    groups.flat_map(|(work, phase, group)| tool_lines(group, tools, &format!("{}/{}", work.name, phase.name))).collect()
}

/// The commands of one group, if it uses a tool.
fn tool_lines(group: &Group, tools: &Tools, place: &str) -> Vec<String> {
    let Some(Step::Volume(tool, _)) = group.steps.first() else { return Vec::new() };
    let times = group.count.filter(|count| *count > 1).map_or_else(String::new, |count| format!(", {count} times"));
    let line = |words: &Vec<String>| {
        let (first, known) = (group.first.to_string(), |word: &String| word.replace("{snapshot}", "bakeoff-N"));
        let words = words.iter().map(|word| known(word).replace("{lost}", &first)).collect();
        format!("{}  # {place}{times}", Command { words, ..Command::default() }.line())
    };
    tools.get(tool).into_iter().flatten().map(line).collect()
}

/// The commands of an aged contender: those that make its image, once, and those of each trial. None if it is not aged.
fn aged_commands(
    plan: &ResolvedPlan,
    entry: &PlannedContender,
    place: &Where,
    catalogue: &Catalogue,
) -> Option<Result<Vec<String>, StagingError>> {
    let ages = plan.ages.as_ref()?;
    let (profile, fill) = ages.of(&entry.asked)?;
    let (registry, folder) = (&catalogue.filesystems, &ages.folder);
    let found = staging::aged_commands_for(registry, &entry.asked, place, plan.cold, folder);
    Some(found.map(|AgedCommands { once, each }| {
        let image = folder.join("KEY.img");
        let (name, fill) = (&profile.name, runner::percent(fill));
        let once_text =
            format!("# once; it is aged as {name} to {fill} before it is unmounted, and kept as {}:", image.display());
        [vec![once_text], once, vec!["# each trial:".into()], each].concat()
    }))
}
