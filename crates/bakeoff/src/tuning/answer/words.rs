//! The answer of a search in words and as a picture.
//! In: [`Tuned`]. Out: text for a terminal, an SVG.

use super::{EffectIn, Found, InGoal, PICTURE, Searched, SearchedValue, Tuned};
use crate::args::Goal;
use crate::failure::Failure;
use crate::text;
use report::effects::{self, Effect, Effects};
use report::view::plural;
use std::path::Path;
use system::create::Folder;
use tune::{Decision, is_within};

/// Standard errors on each side of a 95 % interval of an effect; its errors are pooled over the sets, so the normal distribution serves.
const ERRORS: f64 = 1.96;
/// Letters of a set's options in the picture, where a figure stays clear of them; the text has them whole.
const OPTIONS: usize = 28;

impl Tuned {
    /// Effects as they are drawn: those of the search, and the confirmed ones, for each goal.
    fn effects(&self) -> Vec<Effects> {
        let mut groups = Vec::new();
        let rounds = plural(self.rounds as usize, "fresh round");
        let better = if self.goals == [Goal::Speed] { "faster" } else { "better" };
        for (at, goal) in self.goals.iter().enumerate() {
            let of_value = |(name, value): (String, &SearchedValue)| {
                let EffectIn { effect, effect_error, .. } = value.by_goal.get(at)?;
                let (ratio, error) = ((*effect)?, (*effect_error)?);
                let interval = (ratio * (-ERRORS * error).exp(), ratio * (ERRORS * error).exp());
                Some(Effect { name, ratio, interval })
            };
            let of_set = |(name, set): (String, &Found)| {
                let InGoal { ratio, low, high, .. } = *set.by_goal.get(at)?;
                Some(Effect { name, ratio, interval: (low, high) })
            };
            let mut searched: Vec<Effect> =
                self.searched.iter().flat_map(Searched::named).filter_map(of_value).collect();
            searched.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
            let confirmed = self.named().into_iter().filter_map(of_set).collect();
            let title = |text: &str| {
                if self.goals.len() > 1 { format!("{text}: {}", goal.name()) } else { text.to_owned() }
            };
            let basis = format!("Times {better} by each value, fitted to all screened sets; supports no claim.");
            groups.push(Effects { heading: (title("Each option, in the search"), basis), effects: searched });
            let basis = format!("Times {better} than the baseline, in {rounds}.");
            groups.push(Effects { heading: (title("Sets of options, confirmed"), basis), effects: confirmed });
        }
        groups
    }

    /// The confirmed sets with the names that they have in the picture.
    fn named(&self) -> Vec<(String, &Found)> {
        if self.goals.len() == 1 {
            let names = ["best set", self.other().0];
            return names.into_iter().map(str::to_owned).zip(&self.sets).collect();
        }
        let numbered = self.sets.iter().enumerate();
        numbered.map(|(at, set)| (format!("{}. {}", at + 1, text::shortened(&set.options, OPTIONS)), set)).collect()
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
        let mut out = if self.goals.len() > 1 { self.of_several_goals(width) } else { self.of_one_goal(width) };
        out.push('\n');
        let rounds = plural(self.rounds as usize, "round");
        let chance = if self.goals.len() > 1 { "hold in 95 %, for all sets and goals together" } else { "are of 95 %" };
        let mut basis = format!("Intervals {chance}, from {rounds} that took no part in the search.");
        let each = |(axis, value): (&String, &String)| match axis.as_str() {
            "disk" => format!("the modelled disk {}", axes::disk_name(value)),
            _ => format!("{axis}={value}"),
        };
        let with: Vec<String> = self.with.iter().map(each).collect();
        if !with.is_empty() {
            basis.push_str(&format!(" Every set has {}.", with.join(", ")));
        }
        out.push_str(&text::wrapped(&basis, width, "", "  "));
        let effects = self.effects();
        for group in effects.iter().filter(|group| !group.effects.is_empty()) {
            out.push_str(&text::wrapped(&format!("{}. {}", group.heading.0, group.heading.1), width, "", "  "));
            effects::lines(group, &effects, width).iter().for_each(|line| out.push_str(&format!("{line}\n")));
        }
        let is_unseen = |value: &SearchedValue| value.by_goal.iter().all(|one| one.effect.is_none());
        let (of_none, of_some): (Vec<&Searched>, Vec<&Searched>) =
            self.searched.iter().partition(|one| one.values.iter().all(is_unseen));
        let unseen = of_none.iter().map(|one| one.axis.as_str()).collect::<Vec<_>>().join(", ");
        if !unseen.is_empty() {
            out.push_str(&text::wrapped(&format!("No effect of its own is known of {unseen}."), width, "", "  "));
        }
        if of_some.iter().flat_map(|one| &one.values).any(is_unseen) {
            out.push_str("Values that are not listed were not screened.\n");
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

    /// What to do, by one goal.
    fn of_one_goal(&self, width: usize) -> String {
        let goal = self.goals[0];
        let works = self.workloads.join(", ");
        let (baseline, keep) = self.baseline();
        let Found { options, ratio, low, high, .. } = &self.best;
        let first = if self.gain {
            let (better, _) = goal.gain_and_loss();
            format!("{options}: {ratio:.2}x {better} for {works} than {baseline} ({low:.2} to {high:.2}).")
        } else {
            let bound = if *high <= 1.0 + self.margin {
                format!("a gain above {:.0} % is excluded for it", self.margin * 100.0)
            } else {
                format!("a gain above {:.0} % is excluded for it, a smaller one is not", ((high - 1.0) * 100.0).ceil())
            };
            let better = if goal == Goal::Speed { "as fast".into() } else { format!("as good in {}", goal.name()) };
            let best =
                format!("the best set found, {options}, is {ratio:.2}x {better} for {works} ({low:.2} to {high:.2})");
            format!("{keep}: {best}; {bound}.")
        };
        let mut out = text::wrapped(&first, width, "", "  ");
        for sentence in &self.gives_up {
            out.push_str(&text::wrapped(&format!("Less safe: {sentence}"), width, "  ", "  "));
        }
        if let Some(second) = &self.runner_up {
            let Found { options, ratio, low, high, .. } = second;
            let line = format!("{}: {options}: {ratio:.2}x ({low:.2} to {high:.2}).", self.other().1);
            out.push_str(&text::wrapped(&line, width, "", "  "));
        }
        if self.gain {
            out.push_str("\nTo use it:\n");
            self.best.lines().for_each(|line| out.push_str(&format!("  {line}\n")));
        }
        out
    }

    /// What the confirmed set beside the best one is, in a picture and before a sentence.
    fn other(&self) -> (&'static str, String) {
        let Some(other) = &self.runner_up else { return ("", String::new()) };
        let is_level = (other.ratio / self.best.ratio).ln().abs() <= self.margin.ln_1p();
        let gains = other.by_goal.iter().any(|one| one.gain);
        if is_within(&self.best.axes, &other.axes) {
            let level = format!(", estimated within {:.0} % of it", self.margin * 100.0);
            ("with more changes", format!("With more changes{}", if self.gain && is_level { &level } else { "" }))
        } else if is_within(&other.axes, &self.best.axes) {
            let why = if !self.gain && gains { ", not claimed since the whole set is not shown to gain" } else { "" };
            ("with fewer changes", format!("With fewer changes{why}"))
        } else {
            ("second in the search", "Second in the search".into())
        }
    }

    /// What the sets are held against, and the advice to stay with it.
    fn baseline(&self) -> (&'static str, &'static str) {
        if self.own { ("your options", "Keep your options") } else { ("the defaults", "Leave the defaults") }
    }

    /// The sets between which several goals are a choice, and whether the baseline is one too.
    fn of_several_goals(&self, width: usize) -> String {
        let works = self.workloads.join(", ");
        let (baseline, keep) = self.baseline();
        let names: Vec<&str> = self.goals.iter().map(|goal| goal.name()).collect();
        let choices = self.sets.iter().filter(|set| set.choice).count();
        let first = match choices {
            0 => format!("{keep}: no set of options that was confirmed gains in {} for {works}.", names.join(" or ")),
            1 => format!("By {}, one set of options gains over {baseline} for {works}:", names.join(" and ")),
            _ => format!("By {}, {choices} sets of options gain over {baseline} for {works}:", names.join(" and ")),
        };
        let mut out = text::wrapped(&first, width, "", "  ");
        let line = |at: usize, set: &Found| {
            let results: Vec<String> =
                set.by_goal.iter().map(|result| result.goal.in_words(&result.decision())).collect();
            text::wrapped(&format!("{}. {}: {}.", at + 1, set.options, results.join("; ")), width, "  ", "     ")
        };
        for (at, set) in self.sets.iter().enumerate().filter(|(_, set)| set.choice) {
            out.push_str(&line(at, set));
            for sentence in &set.gives_up {
                out.push_str(&text::wrapped(&format!("Less safe: {sentence}"), width, "     ", "     "));
            }
            set.lines().for_each(|line| out.push_str(&format!("       {line}\n")));
        }
        let loses_nothing = |one: &InGoal| one.gain || one.low >= 1.0 / (1.0 + self.margin);
        let is_free = |set: &&Found| set.choice && set.gives_up.is_empty() && set.by_goal.iter().all(loses_nothing);
        let last = match (choices, self.sets.iter().position(|set| is_free(&set))) {
            (0, _) => String::new(),
            (_, Some(at)) => format!("Set {} is shown to lose nothing: take it rather than {baseline}.", at + 1),
            (1, None) => format!("It has its price, so {baseline} remain a choice."),
            (_, None) => format!("Each has its price, so {baseline} remain a choice."),
        };
        if !last.is_empty() {
            out.push_str(&text::wrapped(&last, width, "", "  "));
        }
        let others: Vec<(usize, &Found)> = self.sets.iter().enumerate().filter(|(_, set)| !set.choice).collect();
        if !others.is_empty() {
            let heading = if choices == 0 { "Confirmed:" } else { "Confirmed, and no choice:" };
            out.push_str(&format!("{heading}\n"));
            others.into_iter().for_each(|(at, set)| out.push_str(&line(at, set)));
        }
        out
    }
}

impl Searched {
    /// Each value with the name of the option and the value.
    fn named(&self) -> impl Iterator<Item = (String, &SearchedValue)> {
        self.values.iter().map(|value| (format!("{}={}", self.axis, value.value), value))
    }
}

impl Found {
    /// What to type to use it.
    fn lines(&self) -> impl Iterator<Item = String> {
        let layers = self.stack.iter().map(|stack| format!("DEVICE: {stack} (docs/layers.md)"));
        layers.chain([self.mkfs.clone(), self.fstab.clone()]).chain(self.queue.clone())
    }
}

impl InGoal {
    fn decision(&self) -> Decision {
        let Self { ratio, low, high, gain, loss, .. } = *self;
        Decision { ratio, low, high, gain, loss }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use tune::Set;

    fn in_goal(goal: Goal, ratio: f64, low: f64, high: f64) -> InGoal {
        InGoal { goal, ratio, low, high, gain: low > 1.03, loss: high < 1.0 / 1.03 }
    }

    fn found(options: &str, by_goal: Vec<InGoal>) -> Found {
        let InGoal { ratio, low, high, .. } = by_goal[0];
        Found {
            options: options.into(),
            axes: Set::new(),
            ratio,
            low,
            high,
            choice: by_goal.iter().any(|one| one.gain),
            by_goal,
            stack: None,
            mkfs: format!("{options} DEVICE"),
            fstab: "DEVICE  MOUNTPOINT  xfs  defaults  0  2".into(),
            queue: vec![],
            gives_up: vec![],
        }
    }

    fn tuned(ratio: f64, low: f64, high: f64) -> Tuned {
        let best = found("mkfs.xfs -l size=256m", vec![in_goal(Goal::Speed, ratio, low, high)]);
        Tuned {
            filesystem: "xfs".into(),
            workloads: vec!["mail".into()],
            against: None,
            with: BTreeMap::new(),
            own: false,
            goals: vec![Goal::Speed],
            gain: low > 1.03,
            sets: vec![best.clone()],
            best,
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
    fn the_other_set_is_named_by_what_it_has_beside_the_best() {
        let set = |axes: &[&str]| -> Set { axes.iter().map(|axis| ((*axis).to_owned(), "on".to_owned())).collect() };
        let shown = |low: f64, (best, other): (&[&str], &[&str]), ratio: f64| {
            let mut tuned = tuned(1.24, low, 1.33);
            tuned.best.axes = set(best);
            let speed = in_goal(Goal::Speed, ratio, ratio - 0.05, ratio + 0.05);
            let other = Found { axes: set(other), ..found("mkfs.xfs -x", vec![speed]) };
            tuned.sets.push(other.clone());
            tuned.runner_up = Some(other);
            tuned.text(200)
        };
        let (more, fewer) = ((&["a"][..], &["a", "b"][..]), (&["a", "b"][..], &["a"][..]));
        let level = shown(1.15, more, 1.25);
        let of_other = "mkfs.xfs -x: 1.25x (1.20 to 1.30).\n";
        assert!(level.contains(&format!("\nWith more changes, estimated within 3 % of it: {of_other}")), "{level}");
        assert!(level.contains("with more changes "), "in the picture: {level}");
        for (low, ratio) in [(1.15, 1.4), (1.15, 1.1), (1.0, 1.25)] {
            assert!(shown(low, more, ratio).contains("\nWith more changes: mkfs.xfs -x: "), "{low}, {ratio}");
        }
        assert!(shown(1.15, fewer, 1.25).contains(&format!("\nWith fewer changes: {of_other}")));
        let unclaimed = shown(1.0, fewer, 1.25);
        assert!(
            unclaimed.contains(&format!("changes, not claimed since the whole set is not shown to gain: {of_other}"))
        );
        assert!(shown(1.15, (&["a", "b"], &["c"]), 1.25).contains(&format!("\nSecond in the search: {of_other}")));
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
        let value = |(value, effect): (&str, Option<f64>)| SearchedValue {
            value: value.into(),
            by_goal: vec![EffectIn { goal: Goal::Speed, effect, effect_error: effect.map(|_| 0.01) }],
        };
        let searched = |axis: &str, effect: Option<f64>, second: Option<f64>| Searched {
            axis: axis.into(),
            values: [("on", effect), ("other", second)].map(value).into(),
            why: String::new(),
        };
        tuned.searched = vec![
            searched("mount.a", Some(0.9), Some(1.3)),
            searched("mount.b", Some(1.2), None),
            searched("mount.c", None, None),
        ];
        let shown = tuned.text(100);
        let line = |start: &str| shown.lines().find(|line| line.trim_start().starts_with(start)).expect(start);
        assert!(shown.find("mount.b=on") < shown.find("mount.a=on"), "{shown}");
        assert!(shown.find("mount.a=other") < shown.find("mount.b=on"), "a second value: {shown}");
        assert!(line("mount.b=on").contains("1.20x") && line("mount.b=on").contains("-o-"), "{shown}");
        assert!(line("best set").contains("1.24x"), "{shown}");
        assert!(shown.contains("\nNo effect of its own is known of mount.c.\nValues that are not listed"), "{shown}");
    }

    #[test]
    fn several_goals_are_answered_by_the_sets_between_which_they_are_a_choice() {
        let both = |speed: [f64; 3], space: [f64; 3]| {
            let of = |goal, [ratio, low, high]: [f64; 3]| in_goal(goal, ratio, low, high);
            vec![of(Goal::Speed, speed), of(Goal::Space, space)]
        };
        let small = found("mount -o compress=zstd", both([0.8, 0.75, 0.85], [2.0, 1.9, 2.1]));
        let fast = found("mount -o noatime", both([1.2, 1.1, 1.3], [1.0, 0.99, 1.01]));
        let none = found("mkfs.btrfs -n 64k", both([1.0, 0.9, 1.1], [1.0, 0.99, 1.01]));
        let goals = vec![Goal::Speed, Goal::Space];
        let answer = |sets: Vec<Found>| Tuned { goals: goals.clone(), sets, ..tuned(1.2, 1.1, 1.3) }.text(200);
        let shown = answer(vec![fast.clone(), small.clone(), none.clone()]);
        assert!(
            shown.starts_with(
                "By speed and space, 2 sets of options gain over the defaults for mail:\n  1. mount -o noatime: 1.20x faster (1.10 to 1.30); \
                 no difference shown in space (0.99 to 1.01).\n       mount -o noatime DEVICE\n"
            ),
            "{shown}"
        );
        assert!(
            shown
                .contains("2. mount -o compress=zstd: 1.25x slower (1.18 to 1.33); 2.00x less space (1.90 to 2.10).\n"),
            "{shown}"
        );
        assert!(shown.contains("Set 1 is shown to lose nothing: take it rather than the defaults."), "{shown}");
        assert!(
            shown.contains("Confirmed, and no choice:\n  3. mkfs.btrfs -n 64k: no difference shown in speed"),
            "{shown}"
        );
        assert!(shown.contains("Sets of options, confirmed: space"), "{shown}");
        assert!(shown.contains("Intervals hold in 95 %, for all sets and goals together, from 12 rounds"), "{shown}");
        assert!(answer(vec![small.clone()]).contains("It has its price, so the defaults remain a choice."));
        let unsafe_one = Found { gives_up: vec!["device.flushes=off: no flushes".into()], ..fast };
        let shown = answer(vec![unsafe_one, small]);
        assert!(
            shown.contains("Each has its price") && shown.contains("     Less safe: device.flushes=off"),
            "{shown}"
        );
        let shown = answer(vec![none]);
        assert!(
            shown.starts_with(
                "Leave the defaults: no set of options that was confirmed gains in speed or space for mail.\nConfirmed:"
            ),
            "{shown}"
        );
    }
}
