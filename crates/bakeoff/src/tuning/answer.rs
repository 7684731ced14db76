//! The answer of a search: what to type, what it gains, and where that comes from.
//! In: the outcome of the search and its databases. Out: the answer as data (JSON), and a plan that repeats the comparison; `words` has text and picture.

mod words;

use crate::args::Goal;
use crate::catalogue::Catalogue;
use crate::failure::Failure;
use crate::json;
use crate::tuning::options::{Subject, Tried, typed_line};
use records::{Contender, ResolvedPlan};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use system::create::Folder;
use toml::{Table, Value};
use tune::{Confirmed, Decision, Outcome, Search, Set};
use workload::catalogue::WorkCatalogue;

/// Files of the plan and the picture in the folder of a search.
const PLAN: &str = "tuned.toml";
const PICTURE: &str = "effects.svg";
/// Axes of the place that are keys of a plan's contender.
const PLACES: [&str; 3] = ["kernel", axes::STACK, axes::DEVICES];
/// Folder for workloads of the user beside it.
const WORKLOADS: &str = "workloads";

/// `bakeoff tune --json`. Only the confirmation supports `gain`, `ratio`, `low` and `high`; effects are of the search.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Tuned {
    /// The filesystem.
    filesystem: String,
    /// Names of the workloads.
    workloads: Vec<String>,
    /// The options that the user has, as typed with `--against`; null if none were.
    against: Option<String>,
    /// What every set has besides, by axis: its modelled disk, its kernel, and values of `--with`.
    with: BTreeMap<String, String>,
    /// Whether the baseline has options of the user, in place of the defaults.
    #[serde(skip)]
    own: bool,
    /// What the search improves.
    goals: Vec<Goal>,
    /// Whether a gain over the baseline is claimed, with several goals in any of them; if not, keep the baseline.
    gain: bool,
    /// The best options found, against the baseline; with several goals, of the choices (without one, of all sets) those estimated best in the first.
    best: Found,
    /// The other confirmed set: the best one's with more or fewer options, or the second best; null if there is none, and with several goals.
    runner_up: Option<Found>,
    /// All sets of options in the confirmation: the choices first, each group in the order of the search.
    sets: Vec<Found>,
    /// Differences up to this share do not matter; a gain is claimed only if its whole interval is above.
    margin: f64,
    /// Rounds of the confirmation.
    rounds: u32,
    /// The mkfs command with the best options, and DEVICE for the device.
    mkfs: String,
    /// The line of /etc/fstab, with DEVICE and MOUNTPOINT.
    fstab: String,
    /// Commands that set the disk's queue, with DISK for its name in /sys/block; empty if it stays as it is.
    queue: Vec<String>,
    /// Options that were searched.
    searched: Vec<Searched>,
    /// Values left out before the search, and options for which the budget is too small: sentences.
    left_out: Vec<String>,
    /// What the best options give up after a crash: sentences; empty unless less safe options were allowed, or the user's are safer than the defaults.
    gives_up: Vec<String>,
    /// Stages in their order.
    stages: Vec<StageView>,
    /// The plan that repeats the comparison, for `bakeoff run`.
    plan: PathBuf,
    /// Drawing of the effects of all options, with their intervals.
    picture: PathBuf,
}

/// A set of options with its result in the confirmation.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct Found {
    /// All its options as typed, those of the baseline included.
    options: String,
    /// Values by axis, in addition to the baseline.
    axes: Set,
    /// How many times better than the baseline, in the first goal.
    ratio: f64,
    /// Lower end of the 95 % interval of the ratio.
    low: f64,
    /// Upper end: larger gains are excluded.
    high: f64,
    /// The same for each goal.
    by_goal: Vec<InGoal>,
    /// Whether it gains in a goal, and no other set is better in one and worse in none.
    choice: bool,
    /// Layers below the filesystem, from the disks upward (docs/layers.md); null for none.
    stack: Option<String>,
    /// The mkfs command, and DEVICE for the device (DEVICE1, DEVICE2 for several).
    mkfs: String,
    /// The line of /etc/fstab, with DEVICE and MOUNTPOINT.
    fstab: String,
    /// Commands that set the disk's queue, with DISK for its name in /sys/block; empty if it stays as it is.
    queue: Vec<String>,
    /// What it gives up after a crash: sentences; empty unless less safe options were allowed, or the user's are safer than the defaults.
    gives_up: Vec<String>,
}

/// A set of options against the baseline in one goal. With several goals intervals hold together, for all sets and goals, in 95 %.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct InGoal {
    /// The goal.
    goal: Goal,
    /// How many times better.
    ratio: f64,
    /// Lower end of its interval.
    low: f64,
    /// Upper end.
    high: f64,
    /// Whether a gain is claimed: the interval is above the margin.
    gain: bool,
    /// Whether a loss is claimed: the interval is below it.
    loss: bool,
}

/// An option that was searched.
#[derive(Debug, Serialize, JsonSchema)]
struct Searched {
    /// Its axis.
    axis: String,
    /// Values beside the baseline's.
    values: Vec<SearchedValue>,
    /// Why it may matter.
    why: String,
}

/// A value of an option that was searched.
#[derive(Debug, Serialize, JsonSchema)]
struct SearchedValue {
    /// The value.
    value: String,
    /// Its effect on each goal in the screening. No claim.
    by_goal: Vec<EffectIn>,
}

/// The effect of a value on one goal.
#[derive(Debug, Serialize, JsonSchema)]
struct EffectIn {
    /// The goal.
    goal: Goal,
    /// How many times better the value was; null if the screening did not show it.
    effect: Option<f64>,
    /// Standard error of the natural logarithm of that.
    effect_error: Option<f64>,
}

/// A stage of the search.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StageView {
    /// `pilot`, `pilot-2` if the first was slow, `screen`, `screen-2` for second values, `race-1` ..., `confirm`.
    pub name: String,
    /// Sets of options, the baseline included.
    pub sets: usize,
    /// How often each was measured.
    pub rounds: u32,
    /// Seconds of all trials.
    pub seconds: f64,
    /// Its database, for `bakeoff --ledger FILE show`.
    pub database: PathBuf,
}

impl json::Answer for Tuned {
    const SCHEMA: &'static str = "bakeoff-tune";
}

/// What an answer is made from.
pub struct Answer<'a> {
    /// What was tuned.
    pub subject: &'a Subject,
    /// `--against` as typed.
    pub against: Option<&'a str>,
    /// What the search improves; the results of the outcome are in this order.
    pub goals: &'a [Goal],
    /// What was tried.
    pub tried: &'a Tried,
    /// The search.
    pub search: &'a Search,
    /// Its outcome.
    pub outcome: &'a Outcome,
    /// Its stages.
    pub stages: Vec<StageView>,
    /// A plan of the search with the workloads.
    pub plan: &'a ResolvedPlan,
    /// Folder of the search.
    pub folder: &'a Path,
}

impl Answer<'_> {
    /// The answer as data.
    pub fn data(self) -> Tuned {
        let Self { subject, tried, search, outcome, goals, .. } = self;
        let sets: Vec<Found> = self.sets().map(|(confirmed, choice)| self.found(confirmed, choice)).collect();
        let in_goal = |(goal, effect): (&Goal, Option<tune::Effect>)| EffectIn {
            goal: *goal,
            effect: effect.map(|effect| effect.log.exp()),
            effect_error: effect.map(|effect| effect.error),
        };
        let searched = search.effects().map(|(factor, effects)| {
            let values = factor.values.iter().zip(effects).map(|(value, effects)| SearchedValue {
                value: value.clone(),
                by_goal: goals.iter().zip(effects).map(in_goal).collect(),
            });
            Searched { axis: factor.axis.clone(), values: values.collect(), why: factor.why.clone() }
        });
        let late =
            search.no_room_for().iter().map(|axis| format!("{axis} is left out: the budget is too small for it"));
        let mut workloads: Vec<String> = self.plan.works.iter().map(|work| work.name.clone()).collect();
        workloads.dedup();
        let best = sets[self.best()].clone();
        let gain = sets.iter().any(|set| set.choice);
        Tuned {
            filesystem: subject.filesystem.name.clone(),
            workloads,
            against: self.against.map(str::to_owned),
            with: subject.base.axes.clone(),
            own: subject.own,
            goals: goals.to_vec(),
            gain,
            runner_up: if goals.len() > 1 { None } else { sets.get(1).cloned() },
            margin: judge::MARGIN,
            rounds: outcome.rounds,
            mkfs: best.mkfs.clone(),
            fstab: best.fstab.clone(),
            queue: best.queue.clone(),
            gives_up: best.gives_up.clone(),
            best,
            sets,
            searched: searched.collect(),
            left_out: tried.left_out.iter().cloned().chain(late).collect(),
            stages: self.stages,
            plan: self.folder.join(PLAN),
            picture: self.folder.join(PICTURE),
        }
    }

    /// The set that is named first: with one goal the first of the outcome, with several the choice that is best in the first goal.
    fn best(&self) -> usize {
        if self.goals.len() == 1 {
            return 0;
        }
        let choices = self.choices().len();
        let among = if choices == 0 { self.outcome.sets.len() } else { choices };
        let ratios = self.sets().take(among).map(|(confirmed, _)| confirmed.decisions[0].ratio).enumerate();
        ratios.max_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(0, |(at, _)| at)
    }

    /// The confirmed sets, and whether each is a choice: those first, each group in the order of the search.
    fn sets(&self) -> impl Iterator<Item = (&Confirmed, bool)> {
        let choices = self.choices();
        let mut sets: Vec<(&Confirmed, bool)> =
            self.outcome.sets.iter().enumerate().map(|(at, set)| (set, choices.contains(&at))).collect();
        sets.sort_by_key(|(_, choice)| !choice);
        sets.into_iter()
    }

    /// Sets that remain a choice beside the baseline; with one goal only the first may be one.
    fn choices(&self) -> Vec<usize> {
        let sets = &self.outcome.sets[..if self.goals.len() > 1 { self.outcome.sets.len() } else { 1 }];
        let decisions: Vec<Vec<Decision>> = sets.iter().map(|one| one.decisions.clone()).collect();
        let given_up: Vec<Vec<String>> = sets.iter().map(|one| self.gives_up(&one.set)).collect();
        tune::choices(&decisions, &|one, other| given_up[one].iter().any(|what| !given_up[other].contains(what)))
    }

    fn gives_up(&self, set: &Set) -> Vec<String> {
        let weaker = self.tried.less_safe.iter().filter(|(axis, value, _)| set.get(axis) == Some(value));
        weaker.map(|(axis, value, why)| format!("{axis}={value}: {why}")).collect()
    }

    fn found(&self, Confirmed { set, decisions }: &Confirmed, choice: bool) -> Found {
        let filesystem = &self.subject.filesystem;
        let contender = self.subject.contender(set);
        let typed = staging::typed(filesystem, &contender);
        let mount = if typed.mount.is_empty() { "defaults".to_owned() } else { typed.mount.join(",") };
        let devices = match axes::devices(&contender) {
            0 | 1 => vec!["DEVICE".to_owned()],
            several => (1..=several).map(|number| format!("DEVICE{number}")).collect(),
        };
        let device = devices[0].clone();
        let mkfs = [vec![typed.program], typed.several, typed.mkfs, devices].concat();
        let in_goal = |(goal, decision): (&Goal, &Decision)| {
            let Decision { ratio, low, high, gain, loss } = *decision;
            InGoal { goal: *goal, ratio, low, high, gain, loss }
        };
        Found {
            options: self.subject.in_words(set),
            axes: set.clone(),
            ratio: decisions[0].ratio,
            low: decisions[0].low,
            high: decisions[0].high,
            by_goal: self.goals.iter().zip(decisions).map(in_goal).collect(),
            choice,
            stack: axes::value(&contender, axes::STACK).filter(|stack| stack != axes::usual(axes::STACK)),
            mkfs: typed_line(&mkfs),
            fstab: format!("{device}  MOUNTPOINT  {}  {mount}  0  2", filesystem.kernel),
            queue: queue(&contender),
            gives_up: self.gives_up(set),
        }
    }

    /// Writes the plan that compares the baseline with the best options, beside it the workloads that are not built in.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write_plan(&self, catalogue: &Catalogue) -> Result<(), Failure> {
        let failed =
            |error: std::io::Error| Failure::new(format!("writing {}: {error}", self.folder.join(PLAN).display()));
        let folder = Folder::open(self.folder).map_err(failed)?;
        let builtin = WorkCatalogue::builtin()?;
        for work in &self.plan.works {
            if builtin.workloads.contains_key(&work.name) {
                continue;
            }
            Folder::make(&self.folder.join(WORKLOADS)).map_err(failed)?;
            let text = &catalogue.work.workload(&work.name)?.text;
            let own = folder.folder(WORKLOADS).map_err(failed)?;
            own.replace(format!("{}.toml", work.name), text.as_bytes()).map_err(failed)?;
        }
        folder.replace(PLAN, self.plan_text().as_bytes()).map_err(failed)
    }

    fn plan_text(&self) -> String {
        let name = &self.subject.filesystem.name;
        let baseline = if self.subject.own { "now" } else { "defaults" };
        let set = |contender: &Contender| {
            let typed = staging::typed(&self.subject.filesystem, contender);
            let text = |text: &String| Value::String(text.clone());
            let mut table = Table::from_iter([("fs".to_owned(), text(name))]);
            let places = PLACES.into_iter().filter_map(|axis| Some((axis.to_owned(), axes::value(contender, axis)?)));
            table.extend(places.map(|(axis, value)| (axis, Value::String(value))));
            table.insert("mkfs".into(), Value::Array(typed.mkfs.iter().map(text).collect()));
            table.insert("mount".into(), Value::String(typed.mount.join(",")));
            if let Some(name) = &contender.scheduler {
                table.insert("scheduler".into(), text(name));
            }
            if !contender.device.is_empty() {
                let device = contender.device.iter().map(|(key, value)| (key.clone(), text(value))).collect();
                table.insert("device".into(), Value::Table(device));
            }
            Value::Table(table)
        };
        let work = |work: &runner::Work| {
            let settings =
                work.compiled.settings.iter().map(|(key, value)| (key.clone(), Value::String(value.clone())));
            // Settings that tell two works apart follow the scale's name.
            let scale = work.compiled.scale.split(',').next().unwrap_or_default();
            Value::Table(Table::from_iter([
                ("name".to_owned(), Value::String(work.name.clone())),
                ("scale".to_owned(), Value::String(scale.to_owned())),
                ("settings".to_owned(), Value::Table(settings.collect())),
            ]))
        };
        let mut contenders = Table::from_iter([(format!("{name}-{baseline}"), set(&self.subject.base))]);
        // The choices, or without one the best set.
        let choices = self.sets().filter(|(_, choice)| *choice).count();
        let (from, count) = if choices == 0 { (self.best(), 1) } else { (0, choices) };
        for (at, (confirmed, _)) in self.sets().skip(from).take(count).enumerate() {
            let number = if count > 1 { format!("-{}", at + 1) } else { String::new() };
            contenders.insert(format!("{name}-tuned{number}"), set(&self.subject.contender(&confirmed.set)));
        }
        let mut of_all = Table::new();
        for (axis, value) in axes::beside_options(&self.subject.base).filter(|(axis, _)| !PLACES.contains(axis)) {
            let value = Value::Array(vec![Value::String(value.to_owned())]);
            match axis.split_once('.') {
                None => of_all.insert(axis.to_owned(), value),
                Some((family, setting)) => {
                    let family = of_all.entry(family).or_insert_with(|| Value::Table(Table::new()));
                    family.as_table_mut().and_then(|family| family.insert(setting.to_owned(), value))
                }
            };
        }
        let mut plan = Table::from_iter([
            ("name".to_owned(), Value::String(format!("tuned-{name}"))),
            ("title".to_owned(), Value::String(format!("{name} with the options that bakeoff tune found"))),
            ("workloads".to_owned(), Value::Array(self.plan.works.iter().map(work).collect())),
            ("contenders".to_owned(), Value::Table(contenders)),
        ]);
        if !of_all.is_empty() {
            plan.insert("axes".into(), Value::Table(of_all));
        }
        format!("# Written by bakeoff tune: the baseline and the best options that were found.\n\n{plan}")
    }
}

/// Commands that set the queue of a disk.
fn queue(contender: &Contender) -> Vec<String> {
    let scheduler = contender.scheduler.iter().map(|name| ("scheduler".to_owned(), name.clone()));
    // Invalid ones were refused with the plan.
    let others = contender.device.iter().filter_map(|(name, value)| axes::queue_file(name, value).ok());
    scheduler.chain(others).map(|(file, value)| format!("echo {value} > /sys/block/DISK/queue/{file}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_settings_are_commands_for_sysfs() {
        let mut contender = Contender::plain("xfs");
        axes::put(&mut contender, "scheduler", "bfq");
        axes::put(&mut contender, "device.read_ahead", "1M");
        axes::put(&mut contender, "device.flushes", "on");
        let lines = ["write back > /sys/block/DISK/queue/write_cache", "1024 > /sys/block/DISK/queue/read_ahead_kb"];
        let lines = ["bfq > /sys/block/DISK/queue/scheduler"].into_iter().chain(lines);
        assert_eq!(queue(&contender), lines.map(|line| format!("echo {line}")).collect::<Vec<_>>());
    }
}
