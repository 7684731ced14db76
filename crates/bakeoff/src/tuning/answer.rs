//! The answer of a search: what to type, what it gains, and where that comes from.
//! In: the outcome of the search and its databases. Out: text, JSON, and a plan that repeats the comparison.

use crate::catalogue::Catalogue;
use crate::failure::Failure;
use crate::json;
use crate::text;
use crate::tuning::options::{Subject, Tried, typed_line};
use records::{Contender, ResolvedPlan};
use report::effects::{self, Effect, Effects};
use report::view::plural;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};
use system::create::Folder;
use toml::{Table, Value};
use tune::{Decision, Outcome, Search, Set};
use workload::catalogue::WorkCatalogue;

/// Files of the plan and the picture in the folder of a search.
const PLAN: &str = "tuned.toml";
const PICTURE: &str = "effects.svg";
/// Standard errors on each side of a 95 % interval of an effect; its errors are pooled over the sets, so the normal distribution serves.
const ERRORS: f64 = 1.96;
/// Folder for workloads of the user beside it.
const WORKLOADS: &str = "workloads";

/// `bakeoff tune --json`. Only the confirmation supports `gain`, `ratio`, `low` and `high`; effects are of the search.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Tuned {
    /// The filesystem.
    filesystem: String,
    /// Names of the workloads.
    workloads: Vec<String>,
    /// The options that the user has, as typed; null for the defaults.
    against: Option<String>,
    /// Whether a gain over the baseline is claimed; if not, keep the baseline.
    gain: bool,
    /// The best options found, against the baseline.
    best: Found,
    /// The second best; null if there is none.
    runner_up: Option<Found>,
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
    /// Values left out before the search, and options that the budget left no time for: sentences.
    left_out: Vec<String>,
    /// What the best options give up after a crash: sentences; empty unless less safe options were allowed.
    gives_up: Vec<String>,
    /// Stages in their order.
    stages: Vec<StageView>,
    /// The plan that repeats the comparison, for `bakeoff run`.
    plan: PathBuf,
    /// Drawing of the effects of all options, with their intervals.
    picture: PathBuf,
}

/// A set of options with its result in the confirmation.
#[derive(Debug, Serialize, JsonSchema)]
struct Found {
    /// All its options as typed, those of the baseline included.
    options: String,
    /// Values by axis, in addition to the baseline.
    axes: Set,
    /// How many times faster than the baseline.
    ratio: f64,
    /// Lower end of the 95 % interval of the ratio.
    low: f64,
    /// Upper end: larger gains are excluded.
    high: f64,
}

/// An option that was searched.
#[derive(Debug, Serialize, JsonSchema)]
struct Searched {
    /// Its axis.
    axis: String,
    /// Values beside the baseline's.
    values: Vec<String>,
    /// Why it may matter.
    why: String,
    /// How many times faster its first value made the work in the screening; null if the screening did not show it. No claim.
    effect: Option<f64>,
    /// Standard error of the natural logarithm of that; null where there is no effect.
    effect_error: Option<f64>,
}

/// A stage of the search.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StageView {
    /// `pilot`, `screen`, `race-1` ..., `confirm`.
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
        let Self { subject, tried, search, outcome, .. } = self;
        let found = |set: &Set, decision: &Decision| Found {
            options: subject.in_words(set),
            axes: set.clone(),
            ratio: decision.ratio,
            low: decision.low,
            high: decision.high,
        };
        let best = subject.contender(&outcome.winner);
        let typed = staging::typed(&subject.filesystem, &best);
        let words = |options: &[String]| if options.is_empty() { "defaults".into() } else { options.join(",") };
        let mkfs = [vec![typed.program], typed.mkfs, vec!["DEVICE".into()]].concat();
        let searched = search.effects().map(|(factor, effect)| Searched {
            axis: factor.axis.clone(),
            values: factor.values.clone(),
            why: factor.why.clone(),
            effect: effect.map(|effect| effect.log.exp()),
            effect_error: effect.map(|effect| effect.error),
        });
        let late = search.no_time_for().iter().map(|axis| format!("{axis} is left out: the budget has no time for it"));
        let given_up = tried
            .less_safe
            .iter()
            .filter(|(axis, value, _)| outcome.winner.get(axis) == Some(value))
            .map(|(axis, value, why)| format!("{axis}={value}: {why}"));
        let mut workloads: Vec<String> = self.plan.works.iter().map(|work| work.name.clone()).collect();
        workloads.dedup();
        Tuned {
            filesystem: subject.filesystem.name.clone(),
            workloads,
            against: self.against.map(str::to_owned),
            gain: outcome.decision.gain,
            best: found(&outcome.winner, &outcome.decision),
            runner_up: outcome.runner_up.as_ref().map(|(set, decision)| found(set, decision)),
            margin: judge::MARGIN,
            rounds: outcome.rounds,
            mkfs: typed_line(&mkfs),
            fstab: format!("DEVICE  MOUNTPOINT  {}  {}  0  2", subject.filesystem.kernel, words(&typed.mount)),
            queue: queue(&best),
            searched: searched.collect(),
            left_out: tried.left_out.iter().cloned().chain(late).collect(),
            gives_up: given_up.collect(),
            stages: self.stages,
            plan: self.folder.join(PLAN),
            picture: self.folder.join(PICTURE),
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
        let contenders = Table::from_iter([
            (format!("{name}-{baseline}"), set(&self.subject.base)),
            (format!("{name}-tuned"), set(&self.subject.contender(&self.outcome.winner))),
        ]);
        let plan = Table::from_iter([
            ("name".to_owned(), Value::String(format!("tuned-{name}"))),
            ("title".to_owned(), Value::String(format!("{name} with the options that bakeoff tune found"))),
            ("workloads".to_owned(), Value::Array(self.plan.works.iter().map(work).collect())),
            ("contenders".to_owned(), Value::Table(contenders)),
        ]);
        format!("# Written by bakeoff tune: the baseline and the best options that were found.\n\n{plan}")
    }
}

/// Commands that set the queue of a disk.
fn queue(contender: &Contender) -> Vec<String> {
    let scheduler = contender.scheduler.iter().map(|name| ("scheduler", name.clone()));
    let others = contender.device.iter().map(|(name, value)| match name.as_str() {
        "read_ahead" => {
            let bytes = workload::quantity::parse_bytes(value).unwrap_or(0);
            ("read_ahead_kb", (bytes / 1024).to_string())
        }
        "flushes" => ("write_cache", "write through".into()),
        other => (other, value.clone()),
    });
    scheduler.chain(others).map(|(file, value)| format!("echo {value} > /sys/block/DISK/queue/{file}")).collect()
}

impl Tuned {
    /// Effects as they are drawn: those of the search, and the confirmed ones.
    fn effects(&self) -> Vec<Effects> {
        let of_option = |one: &Searched| {
            let (ratio, error) = (one.effect?, one.effect_error?);
            let (low, high) = (ratio * (-ERRORS * error).exp(), ratio * (ERRORS * error).exp());
            let name = format!("{}={}", one.axis, one.values.first()?);
            Some(Effect { name, ratio, interval: (low, high) })
        };
        let of_set = |(name, set): (&str, &Found)| Effect {
            name: name.to_owned(),
            ratio: set.ratio,
            interval: (set.low, set.high),
        };
        let mut searched: Vec<Effect> = self.searched.iter().filter_map(of_option).collect();
        searched.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
        let sets = [("best set", Some(&self.best)), ("second in the search", self.runner_up.as_ref())];
        let confirmed = sets.into_iter().filter_map(|(name, set)| Some(of_set((name, set?)))).collect();
        let group = |heading: &str, basis: String, effects| Effects { heading: (heading.to_owned(), basis), effects };
        let rounds = plural(self.rounds as usize, "fresh round");
        vec![
            group("Each option, in the search", "Times faster by its first value; supports no claim.".into(), searched),
            group("Sets of options, confirmed", format!("Times faster than the baseline, in {rounds}."), confirmed),
        ]
    }

    /// Draws the effects into the folder of the search.
    ///
    /// # Errors
    /// The picture cannot be written.
    pub fn draw(&self) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::new(format!("writing {}: {error}", self.picture.display()));
        let folder = self.picture.parent().unwrap_or(Path::new("."));
        let title = format!("{} for {}", self.filesystem, self.workloads.join(", "));
        let drawing = effects::svg(&title, &self.effects(), self.margin);
        Folder::open(folder).and_then(|folder| folder.replace(PICTURE, drawing.as_bytes())).map_err(failed)
    }

    /// The answer in a terminal of so many columns.
    pub fn text(&self, width: usize) -> String {
        let works = self.workloads.join(", ");
        let baseline = if self.against.is_some() { "your options" } else { "the defaults" };
        let Found { options, ratio, low, high, .. } = &self.best;
        let first = if self.gain {
            format!("{options}: {ratio:.2}x faster for {works} than {baseline} ({low:.2} to {high:.2}).")
        } else {
            let bound = if *high <= 1.0 + self.margin {
                format!("a gain above {:.0} % is excluded for it", self.margin * 100.0)
            } else {
                format!("a gain above {:.0} % is excluded for it, a smaller one is not", ((high - 1.0) * 100.0).ceil())
            };
            let keep = if self.against.is_some() { "Keep your options" } else { "Leave the defaults" };
            let best =
                format!("the best set found, {options}, is {ratio:.2}x as fast for {works} ({low:.2} to {high:.2})");
            format!("{keep}: {best}; {bound}.")
        };
        let mut out = text::wrapped(&first, width, "", "  ");
        for sentence in &self.gives_up {
            out.push_str(&text::wrapped(&format!("Less safe: {sentence}"), width, "  ", "  "));
        }
        if let Some(second) = &self.runner_up {
            let line = format!(
                "Second in the search: {}: {:.2}x ({:.2} to {:.2}).",
                second.options, second.ratio, second.low, second.high
            );
            out.push_str(&text::wrapped(&line, width, "", "  "));
        }
        if self.gain {
            out.push_str("\nTo use it:\n");
            for line in [&self.mkfs, &self.fstab].into_iter().chain(&self.queue) {
                out.push_str(&format!("  {line}\n"));
            }
        }
        out.push('\n');
        let rounds = plural(self.rounds as usize, "round");
        let basis = format!("Intervals are of 95 %, from {rounds} that took no part in the search.");
        out.push_str(&text::wrapped(&basis, width, "", "  "));
        let effects = self.effects();
        for group in effects.iter().filter(|group| !group.effects.is_empty()) {
            out.push_str(&text::wrapped(&format!("{}. {}", group.heading.0, group.heading.1), width, "", "  "));
            effects::lines(group, &effects, width).iter().for_each(|line| out.push_str(&format!("{line}\n")));
        }
        let unseen = self.searched.iter().filter(|one| one.effect.is_none()).map(|one| one.axis.as_str());
        let unseen = unseen.collect::<Vec<_>>().join(", ");
        if !unseen.is_empty() {
            out.push_str(&text::wrapped(&format!("No effect of its own is known of {unseen}."), width, "", "  "));
        }
        for sentence in &self.left_out {
            out.push_str(&text::wrapped(sentence, width, "", "  "));
        }
        out.push_str("Databases:\n");
        for stage in &self.stages {
            let (sets, rounds) = (plural(stage.sets, "set"), plural(stage.rounds as usize, "round"));
            let time = judge::duration(stage.seconds);
            out.push_str(&format!("  {}  ({sets}, {rounds}, {time})\n", stage.database.display()));
        }
        out.push_str(&format!("Picture: {}\n", self.picture.display()));
        out.push_str(&format!("Once more: bakeoff run {}\n", self.plan.display()));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuned(ratio: f64, low: f64, high: f64) -> Tuned {
        let found = |options: &str| Found { options: options.into(), axes: Set::new(), ratio, low, high };
        Tuned {
            filesystem: "xfs".into(),
            workloads: vec!["mail".into()],
            against: None,
            gain: low > 1.03,
            best: found("mkfs.xfs -l size=256m"),
            runner_up: None,
            margin: 0.03,
            rounds: 12,
            mkfs: "mkfs.xfs -l size=256m DEVICE".into(),
            fstab: "DEVICE  MOUNTPOINT  xfs  defaults  0  2".into(),
            queue: vec![],
            searched: vec![],
            left_out: vec![],
            gives_up: vec![],
            stages: vec![],
            plan: "tuned.toml".into(),
            picture: "effects.svg".into(),
        }
    }

    #[test]
    fn a_gain_is_named_with_its_interval_and_what_to_type() {
        let shown = tuned(1.24, 1.15, 1.33).text(200);
        assert!(
            shown.starts_with("mkfs.xfs -l size=256m: 1.24x faster for mail than the defaults (1.15 to 1.33).\n"),
            "{shown}"
        );
        assert!(shown.contains("  mkfs.xfs -l size=256m DEVICE\n  DEVICE  MOUNTPOINT"), "{shown}");
    }

    #[test]
    fn without_a_gain_the_defaults_stay_and_the_largest_possible_gain_is_named() {
        let shown = tuned(1.02, 0.98, 1.063).text(200);
        assert!(
            shown.starts_with("Leave the defaults: the best set found, mkfs.xfs -l size=256m, is 1.02x"),
            "{shown}"
        );
        assert!(shown.contains("a gain above 7 % is excluded for it, a smaller one is not."), "{shown}");
        assert!(!shown.contains("To use it"), "{shown}");
        assert!(tuned(1.0, 0.98, 1.02).text(200).contains("a gain above 3 % is excluded for it."));
    }

    #[test]
    fn effects_are_shown_largest_first_and_options_without_one_are_named() {
        let mut tuned = tuned(1.24, 1.15, 1.33);
        let searched = |axis: &str, effect: Option<f64>| Searched {
            axis: axis.into(),
            values: vec!["on".into(), "other".into()],
            why: String::new(),
            effect,
            effect_error: effect.map(|_| 0.01),
        };
        tuned.searched =
            vec![searched("mount.a", Some(0.9)), searched("mount.b", Some(1.2)), searched("mount.c", None)];
        let shown = tuned.text(100);
        let line = |start: &str| shown.lines().find(|line| line.trim_start().starts_with(start)).expect(start);
        assert!(shown.find("mount.b=on") < shown.find("mount.a=on"), "{shown}");
        assert!(line("mount.b=on").contains("1.20x") && line("mount.b=on").contains("-o-"), "{shown}");
        assert!(line("best set").contains("1.24x"), "{shown}");
        assert!(shown.contains("No effect of its own is known of mount.c."), "{shown}");
    }

    #[test]
    fn queue_settings_are_commands_for_sysfs() {
        let mut contender = Contender::plain("xfs");
        axes::put(&mut contender, "scheduler", "bfq");
        axes::put(&mut contender, "device.read_ahead", "1M");
        assert_eq!(
            queue(&contender),
            ["echo bfq > /sys/block/DISK/queue/scheduler", "echo 1024 > /sys/block/DISK/queue/read_ahead_kb"]
        );
    }
}
