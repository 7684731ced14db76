//! The course of a search: one stage after the other, within a budget of time or of trials.
//! In: a [`Space`], the budget, and the results of each stage. Out: the next [`Stage`], or the [`Outcome`].
//! Every decision follows from results and their durations alone, so a search that is repeated with stored results takes the same course.

use crate::decision::{Decision, decide};
use crate::design::{self, Effect, Effects, MOST_FACTORS};
use crate::race::{self, MOST_CANDIDATES, Measured, Scores};
use crate::shares::{Shares, is_level};
use crate::space::{Set, Space, is_within};
use std::collections::BTreeSet;

/// Share of the budget for the screening.
const SCREEN: f64 = 0.35;
/// Share that is kept for the confirmation; the race gets the rest. In simulations the right set was found far more often than its gain could
/// be confirmed.
const CONFIRM: f64 = 0.45;
/// Pilots at most: another one where the time is too short for all options by the one before, which may have been slow by chance.
const PILOTS: u32 = 2;
/// Share of the budget that may be spent before another pilot.
const PILOT: f64 = 0.25;
/// Least and most rounds of a screening.
const SCREEN_ROUNDS: (u32, u32) = (2, 8);
/// Most values of an option that are screened; more are tried in the race.
const SCREENED_VALUES: usize = 2;
/// Least rounds of two sets, whose scatter no other set shows.
const OF_TWO: u32 = 3;
/// Least and most rounds of a look of the race.
const RACE_ROUNDS: (u32, u32) = (2, 10);
/// Least and most rounds of the confirmation.
const CONFIRM_ROUNDS: (u32, u32) = (5, 60);

/// What a stage is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageKind {
    /// One trial of the baseline, for its time; the number of the trial, from 1.
    Pilot(u32),
    /// Which factors matter, at one of their values; its number, from 1.
    Screen(u32),
    /// Which sets are best; the number of the look, from 1.
    Race(u32),
    /// Whether the winner is better than the baseline.
    Confirm,
}

impl StageKind {
    /// Name for files and sentences: `race-2`.
    pub fn name(self) -> String {
        match self {
            Self::Pilot(1) => "pilot".into(),
            Self::Pilot(trial) => format!("pilot-{trial}"),
            Self::Screen(1) => "screen".into(),
            Self::Screen(value) => format!("screen-{value}"),
            Self::Race(look) => format!("race-{look}"),
            Self::Confirm => "confirm".into(),
        }
    }
}

fn pilot(number: u32) -> Stage {
    Stage { kind: StageKind::Pilot(number), sets: vec![Set::new()], rounds: 1, seconds: None }
}

/// What is measured next.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// Its purpose.
    pub kind: StageKind,
    /// The sets, the baseline first.
    pub sets: Vec<Set>,
    /// How often each is measured.
    pub rounds: u32,
    /// Estimated seconds; `None` for the pilot.
    pub seconds: Option<f64>,
}

/// What a search may spend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Budget {
    /// Time, however many trials fit into it.
    Seconds {
        /// Seconds for all of it.
        all: f64,
        /// Seconds that are spent before its first stage.
        spent: f64,
    },
    /// Trials that are planned in all stages together, however long they take. Repeats of disturbed ones are not counted.
    Trials(u32),
}

/// What a search is to keep to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// What it may spend.
    pub budget: Budget,
    /// The share up to which a difference does not matter, 0.03 for 3 %.
    pub margin: f64,
    /// How many results each set has: one for each goal.
    pub goals: usize,
}

/// A set of options in the confirmation.
#[derive(Debug, Clone, PartialEq)]
pub struct Confirmed {
    /// The set.
    pub set: Set,
    /// It against the baseline, in each goal.
    pub decisions: Vec<Decision>,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The finalists, the best of the search first, or the same set with fewer options if it gains as well; never empty.
    pub sets: Vec<Confirmed>,
    /// Rounds of the confirmation.
    pub rounds: u32,
}

/// A search in progress.
#[derive(Debug, Clone)]
pub struct Search {
    space: Space,
    terms: Terms,
    /// Seconds or trials that the budget has in all, and those that are spent.
    budget: f64,
    spent: f64,
    /// Seconds of a trial.
    trial: f64,
    scores: Scores,
    /// How many values of the factors are screened, and the results of that so far.
    values: u32,
    screened: Vec<(Set, Option<Vec<Measured>>)>,
    /// By goal.
    effects: Vec<Effects>,
    no_room_for: Vec<String>,
    /// All sets of the stages so far.
    tried: BTreeSet<Set>,
    stage: Option<Stage>,
    outcome: Option<Outcome>,
}

impl Search {
    /// A search of this space.
    ///
    /// # Errors
    /// The space is empty, or the budget has too few trials; the sentence is for the user.
    pub fn new(mut space: Space, terms: Terms) -> Result<Self, String> {
        if space.factors.is_empty() {
            return Err("no option is left to try".into());
        }
        let no_room_for = space.factors.split_off(space.factors.len().min(MOST_FACTORS));
        let (budget, spent) = match terms.budget {
            Budget::Seconds { all, spent } => (all, spent),
            Budget::Trials(trials) => (f64::from(trials), 0.0),
        };
        let search = Self {
            space,
            terms,
            budget,
            spent,
            trial: 0.0,
            scores: Scores::new(terms.margin.ln_1p()),
            values: 1,
            screened: Vec::new(),
            effects: Vec::new(),
            no_room_for: no_room_for.into_iter().map(|factor| factor.axis).collect(),
            tried: BTreeSet::new(),
            stage: Some(pilot(1)),
            outcome: None,
        };
        // How many trials a search needs is known before the first of them.
        if search.counts_trials() {
            search.clone().screen()?;
        }
        Ok(search)
    }

    /// The stage to measure next; `None` at the end.
    pub fn stage(&self) -> Option<&Stage> {
        self.stage.as_ref()
    }

    /// The result, at the end.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// Options for which the budget is too small, by their axes.
    pub fn no_room_for(&self) -> &[String] {
        &self.no_room_for
    }

    /// The factors that are searched, each with the effects of its values in the screening, if those were screened and shown: by value,
    /// then by goal.
    pub fn effects(&self) -> impl Iterator<Item = (&crate::Factor, Vec<Vec<Option<Effect>>>)> {
        let shown = move |at: usize, value: usize| -> Vec<Option<Effect>> {
            (0..self.terms.goals).map(|goal| *self.effects.get(goal)?.get(at)?.get(value)?).collect()
        };
        let of_factor =
            move |at: usize, factor: &crate::Factor| (0..factor.values.len()).map(|value| shown(at, value)).collect();
        self.space.factors.iter().enumerate().map(move |(at, factor)| (factor, of_factor(at, factor)))
    }

    /// Takes the results of the current stage in the order of its sets (that of the baseline is ignored), each with one for every goal, and
    /// the seconds it took.
    ///
    /// # Errors
    /// The search cannot go on; the sentence is for the user.
    pub fn take(&mut self, results: &[Option<Vec<Measured>>], seconds: f64) -> Result<(), String> {
        let Some(stage) = self.stage.take() else { return Ok(()) };
        let trials = f64::from(stage.rounds) * stage.sets.len() as f64;
        let trial = seconds / trials;
        self.spent += if self.counts_trials() { trials } else { seconds };
        self.tried.extend(stage.sets.iter().cloned());
        // A pilot may be slow or fast by chance; of the longer stages the slowest keeps the rest within the budget.
        self.trial = match stage.kind {
            StageKind::Pilot(1) | StageKind::Screen(1) => trial,
            StageKind::Pilot(_) => trial.min(self.trial),
            _ => trial.max(self.trial),
        };
        let shown = stage.sets.iter().zip(results).filter(|(set, _)| !set.is_empty());
        let shown: Vec<(&Set, &[Measured])> =
            shown.filter_map(|(set, result)| Some((set, result.as_deref()?))).collect();
        let is_pilot = matches!(stage.kind, StageKind::Pilot(_));
        if !is_pilot && shown.is_empty() {
            return Err(format!("no set of options has results in the stage {}", stage.kind.name()));
        }
        if stage.kind != StageKind::Confirm {
            shown.iter().for_each(|(set, results)| self.scores.add(set, results));
        }
        match stage.kind {
            StageKind::Pilot(number) => {
                let before = self.clone();
                let screened = self.screen();
                let fits = screened.is_ok() && self.space.factors.len() == before.space.factors.len();
                let may_be_chance = !self.counts_trials() && self.spent <= PILOT * self.budget;
                if number < PILOTS && !fits && may_be_chance {
                    *self = Self { stage: Some(pilot(number + 1)), ..before };
                } else {
                    screened?;
                }
            }
            StageKind::Screen(value) => {
                self.screened.extend(stage.sets.iter().cloned().zip(results.iter().cloned()));
                if value < self.values {
                    let sets = design::screen(&self.space, value as usize);
                    self.stage = Some(self.planned(StageKind::Screen(value + 1), sets, stage.rounds));
                    return Ok(());
                }
                let (sets, results): (Vec<Set>, Vec<_>) = std::mem::take(&mut self.screened).into_iter().unzip();
                let of_goal = |goal: usize| {
                    let of = |results: &Option<Vec<Measured>>| results.as_ref()?.get(goal).copied();
                    design::effects(&self.space, &sets, &results.iter().map(of).collect::<Vec<_>>())
                };
                self.effects = (0..self.terms.goals).map(of_goal).collect();
                let margin = self.terms.margin.ln_1p();
                let of_first = |effects: &Effects| effects.iter().map(|values| values[0]).collect();
                let first: Vec<Vec<Option<Effect>>> = self.effects.iter().map(of_first).collect();
                let mut found = race::candidates(&self.space, &first, (&sets, &self.scores), margin);
                let better = self.changed(&found).filter(|better| !found.contains(better));
                found.splice(0..0, better);
                self.race(found, 1);
            }
            StageKind::Race(look) => {
                let mut stayed = self.scores.best(&stage.sets[1..], race::stay(stage.sets.len() - 1, self.finalists()));
                if let Some(better) = self.improved(&stayed) {
                    stayed.truncate((stayed.len() - 1).max(self.finalists()));
                    stayed.insert(0, better);
                }
                self.race(stayed, look + 1);
            }
            StageKind::Confirm => self.outcome = Some(self.concluded(&stage, &shown)?),
        }
        Ok(())
    }

    /// Plans the screening, with as many factors as the budget allows.
    fn screen(&mut self) -> Result<(), String> {
        loop {
            let share = (SCREEN * self.budget).min(self.left_to_search());
            let values = self.space.factors.iter().map(|factor| factor.values.len()).max().unwrap_or(1);
            let most = if self.terms.goals == 1 { values.min(SCREENED_VALUES) } else { 1 };
            let sets: Vec<Vec<Set>> = (0..most).map(|value| design::screen(&self.space, value)).collect();
            let planned = (1..=most).rev().find_map(|values| {
                let count = sets[..values].iter().map(Vec::len).sum();
                let least = if sets[0].len() > 2 { SCREEN_ROUNDS.0 } else { OF_TWO };
                Some((values, self.rounds(share, count, (least, SCREEN_ROUNDS.1))?))
            });
            if let (Some((values, rounds)), true) = (planned, self.can_confirm()) {
                self.values = values as u32;
                self.stage = Some(self.planned(StageKind::Screen(1), sets[0].clone(), rounds));
                return Ok(());
            }
            if self.space.factors.len() < 2 {
                return Err(self.too_short());
            }
            let left_out = self.space.factors.pop();
            self.no_room_for.extend(left_out.map(|factor| factor.axis));
        }
    }

    /// Plans the next look at candidates, the most promising of which come first; the confirmation, if no look is needed or affordable.
    fn race(&mut self, mut found: Vec<Set>, look: u32) {
        let left = self.left_to_search();
        found.truncate(MOST_CANDIDATES);
        while found.len() > self.finalists() && self.cost_of_race(found.len()) > left {
            found.pop();
        }
        let looks = race::looks(found.len(), self.finalists());
        if looks == 0 {
            return self.confirm(found);
        }
        let contenders = found.len() + 1;
        let rounds = self.rounds(left / f64::from(looks), contenders, RACE_ROUNDS).unwrap_or(RACE_ROUNDS.0);
        let sets = [Set::new()].into_iter().chain(found).collect();
        self.stage = Some(self.planned(StageKind::Race(look), sets, rounds));
    }

    /// The best of these sets with other or further options, if the results so far promise more of it, it is new, and the budget has room
    /// for a look at it.
    fn improved(&self, sets: &[Set]) -> Option<Set> {
        let better = self.changed(sets)?;
        let is_looked_at = self.cost_of_race(sets.len().max(self.finalists() + 1)) <= self.left_to_search();
        (is_looked_at && sets.len() >= self.finalists() && !self.tried.contains(&better)).then_some(better)
    }

    /// The best of these sets with other or further options that the results so far promise more of.
    fn changed(&self, sets: &[Set]) -> Option<Set> {
        let best = sets.first().filter(|_| self.terms.goals == 1)?;
        Shares::of(&self.space, &self.scores).improved(best, self.terms.margin.ln_1p())
    }

    /// What of the budget is left before the confirmation.
    fn left_to_search(&self) -> f64 {
        self.budget - self.spent - CONFIRM * self.budget
    }

    /// What a race of so many candidates takes of the budget with the fewest rounds.
    fn cost_of_race(&self, mut count: usize) -> f64 {
        let mut trials = 0;
        while count > self.finalists() {
            trials += RACE_ROUNDS.0 as usize * (count + 1);
            count = race::stay(count, self.finalists());
        }
        trials as f64 * self.cost()
    }

    /// Plans the confirmation of the finalists, best first, with all of the budget that is left.
    fn confirm(&mut self, finalists: Vec<Set>) {
        let left = self.budget - self.spent;
        let rounds = self.rounds(left, self.confirmed(), CONFIRM_ROUNDS).unwrap_or(CONFIRM_ROUNDS.0);
        // Without a race some were not measured: then the estimated effects decide, in whose order they come.
        let measured = self.scores.best(&finalists, self.finalists());
        let mut ordered = if measured.len() == finalists.len() { measured } else { finalists };
        if let (Some(best), 1) = (ordered.first(), self.terms.goals) {
            let reduced = Shares::of(&self.space, &self.scores).reduced(best, self.terms.margin.ln_1p());
            ordered.truncate(if reduced.is_some() { 1 } else { ordered.len() });
            ordered.extend(reduced);
        }
        let sets = [Set::new()].into_iter().chain(ordered).collect();
        self.stage = Some(self.planned(StageKind::Confirm, sets, rounds));
    }

    fn concluded(&self, stage: &Stage, shown: &[(&Set, &[Measured])]) -> Result<Outcome, String> {
        let Terms { margin, goals, .. } = self.terms;
        // With one goal the best set of the search is claimed. If it gains, so may the same set with fewer options: a fixed sequence of
        // tests needs no correction for the claims of gains.
        let claims = if goals > 1 { (stage.sets.len() - 1) * goals } else { 1 };
        let mut sets: Vec<Confirmed> = shown
            .iter()
            .map(|(set, results)| Confirmed {
                set: (*set).clone(),
                decisions: results.iter().map(|result| decide(*result, margin, claims)).collect(),
            })
            .collect();
        if goals == 1 && sets.first().is_none_or(|first| first.set != stage.sets[1]) {
            return Err("the best set of options has no result in the confirmation".into());
        }
        if let ([first, second], 1) = (&sets[..], goals) {
            let (all, fewer) = (first.decisions[0], second.decisions[0]);
            let is_level = is_level(fewer.ratio, all.ratio, margin);
            if is_within(&second.set, &first.set) && all.gain && fewer.gain && is_level {
                sets.swap(0, 1);
            }
        }
        Ok(Outcome { sets, rounds: stage.rounds })
    }

    fn finalists(&self) -> usize {
        race::finalists(self.terms.goals)
    }

    /// Trials of a round of the confirmation: the finalists and the baseline.
    fn confirmed(&self) -> usize {
        self.finalists() + 1
    }

    fn planned(&self, kind: StageKind, sets: Vec<Set>, rounds: u32) -> Stage {
        let seconds = Some(self.trial * sets.len() as f64 * f64::from(rounds));
        Stage { kind, sets, rounds, seconds }
    }

    fn counts_trials(&self) -> bool {
        matches!(self.terms.budget, Budget::Trials(_))
    }

    /// What a trial takes of the budget.
    fn cost(&self) -> f64 {
        if self.counts_trials() { 1.0 } else { self.trial }
    }

    /// Rounds of so many contenders that fit into a share of the budget; `None` if those are fewer than the least.
    fn rounds(&self, share: f64, contenders: usize, (least, most): (u32, u32)) -> Option<u32> {
        let fitting = (share / (self.cost() * contenders as f64).max(1e-6)).floor();
        (fitting >= f64::from(least)).then(|| fitting.min(f64::from(most)) as u32)
    }

    fn can_confirm(&self) -> bool {
        self.rounds(CONFIRM * self.budget, self.confirmed(), CONFIRM_ROUNDS).is_some()
    }

    fn too_short(&self) -> String {
        let screening = f64::from(2 * OF_TWO) / SCREEN;
        let confirming = f64::from(CONFIRM_ROUNDS.0) * self.confirmed() as f64 / CONFIRM;
        let trials = screening.max(confirming);
        if self.counts_trials() {
            return format!("the budget has too few trials for even one option: allow at least {}", trials.ceil());
        }
        let least = judge::duration((self.trial * trials * 1.05 / 60.0).ceil() * 60.0);
        let trial = judge::duration(self.trial);
        format!(
            "one trial takes {trial}, so the time is too short for even one option: allow at least {least}, or use less work"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Factor;
    use rand::{Rng, SeedableRng, rngs::SmallRng};
    use rand_distr::Normal;

    /// Scatter of one trial, as a share.
    const SCATTER: f64 = 0.05;
    const MARGIN: f64 = 0.03;

    fn terms(budget: f64) -> Terms {
        Terms { budget: Budget::Seconds { all: budget, spent: 0.0 }, margin: MARGIN, goals: 1 }
    }

    fn space(factors: usize) -> Space {
        let factor = |at: usize| Factor {
            axis: format!("mount.{at:02}"),
            values: vec!["1".into(), "2".into()],
            ..Factor::default()
        };
        Space { factors: (0..factors).map(factor).collect(), ..Space::default() }
    }

    /// Simulated rounds of a stage: every set has its true log speed and noise of its own in each round.
    fn measured(stage: &Stage, truth: &dyn Fn(&Set) -> f64, rng: &mut SmallRng) -> Vec<Option<Vec<Measured>>> {
        let noise = Normal::new(0.0, SCATTER).expect("a distribution");
        let rounds = stage.rounds as usize;
        let trials: Vec<Vec<f64>> =
            stage.sets.iter().map(|set| (0..rounds).map(|_| truth(set) + rng.sample(noise)).collect()).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let squares = |values: &[f64]| values.iter().map(|value| (value - mean(values)).powi(2)).sum::<f64>();
        let df = (trials.len() * (rounds - 1)).max(1) as f64;
        let variance = trials.iter().map(|values| squares(values)).sum::<f64>() / df;
        let error = (2.0 * variance / rounds as f64).sqrt();
        trials.iter().map(|values| Some(vec![Measured { log: mean(values) - mean(&trials[0]), error, df }])).collect()
    }

    fn searched(factors: usize, truth: &dyn Fn(&Set) -> f64, seed: u64) -> Outcome {
        searched_by(MARGIN, factors, truth, seed)
    }

    fn searched_by(margin: f64, factors: usize, truth: &dyn Fn(&Set) -> f64, seed: u64) -> Outcome {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut search = Search::new(space(factors), Terms { margin, ..terms(1200.0) }).expect("a space");
        let mut stages = 0;
        while let Some(stage) = search.stage().cloned() {
            let results = measured(&stage, truth, &mut rng);
            let seconds = 3.0 * stage.sets.len() as f64 * f64::from(stage.rounds);
            search.take(&results, seconds).expect("it goes on");
            stages += 1;
            assert!(stages <= 8, "a search ends");
        }
        search.outcome().expect("an outcome").clone()
    }

    /// What a search of options without effect takes, where each trial takes so many seconds.
    fn spent_without_effects(search: &mut Search, trial: f64) -> f64 {
        let (mut spent, mut rng) = (0.0, SmallRng::seed_from_u64(1));
        while let Some(stage) = search.stage().cloned() {
            let seconds = trial * stage.sets.len() as f64 * f64::from(stage.rounds);
            spent += seconds;
            search.take(&measured(&stage, &|_| 0.0, &mut rng), seconds).expect("it goes on");
        }
        spent
    }

    /// Two options that help most by their second values; one harms by its first.
    fn second_values_help(set: &Set) -> f64 {
        let at = |axis: &str, value: &str| f64::from(u8::from(set.get(axis).is_some_and(|at| at == value)));
        let first = 0.06 * at("mount.02", "1") - 0.1 * at("mount.03", "1");
        first + 0.2 * at("mount.02", "2") + 0.1 * at("mount.03", "2")
    }

    fn has_both_second_values(set: &Set) -> bool {
        ["mount.02", "mount.03"].iter().all(|axis| set.get(*axis).is_some_and(|at| at == "2"))
    }

    #[test]
    fn options_without_effect_give_a_gain_in_at_most_two_of_forty_searches() {
        let gains = (0..40).filter(|seed| searched(11, &|_| 0.0, *seed).sets[0].decisions[0].gain).count();
        assert!(gains <= 2, "{gains}");
    }

    #[test]
    fn even_without_a_margin_at_most_five_percent_of_searches_claim_a_gain_that_is_none() {
        let gains = (0..400).filter(|seed| searched_by(0.0, 11, &|_| 0.0, *seed).sets[0].decisions[0].gain).count();
        assert!(gains <= 20, "{gains}");
    }

    #[test]
    fn a_planted_effect_is_found_in_most_searches_and_its_size_is_covered() {
        let truth = |set: &Set| if set.get("mount.04").is_some_and(|value| value == "1") { 1.3_f64.ln() } else { 0.0 };
        let found: Vec<Outcome> = (100..120).map(|seed| searched(11, &truth, seed)).collect();
        let first = |one: &Outcome| (one.sets[0].set.clone(), one.sets[0].decisions[0]);
        let right = |one: &&Outcome| {
            let (set, decision) = first(one);
            decision.gain && set.get("mount.04").is_some_and(|value| value == "1")
        };
        assert!(found.iter().filter(right).count() >= 18);
        let covered = |one: &&Outcome| (first(one).1.low..=first(one).1.high).contains(&1.3);
        assert!(found.iter().filter(covered).count() >= 17);
    }

    #[test]
    fn without_a_race_a_value_that_was_not_measured_is_no_winner() {
        let truth = |set: &Set| match set.get("mount.00").map(String::as_str) {
            Some("1") => 0.3,
            Some(_) => -0.3,
            None => 0.0,
        };
        let found = searched(1, &truth, 1);
        assert_eq!(found.sets[0].set.get("mount.00").map(String::as_str), Some("1"));
        assert!(found.sets[0].decisions[0].gain && found.sets[1].decisions[0].loss, "{found:?}");
    }

    #[test]
    fn of_level_sets_the_one_with_the_fewest_options_is_named() {
        let truth = |set: &Set| if set.get("mount.04").is_some_and(|value| value == "1") { 1.3_f64.ln() } else { 0.0 };
        let found: Vec<Outcome> = (200..240).map(|seed| searched(11, &truth, seed)).collect();
        let only = found.iter().filter(|one| one.sets[0].set.len() == 1).count();
        let options: usize = found.iter().map(|one| one.sets[0].set.len()).sum();
        assert!(only >= 20 && options <= 80, "{only} of 40 have that option alone, {options} options in all");
        assert!(
            found.iter().filter(|one| one.sets.len() > 1 && is_within(&one.sets[0].set, &one.sets[1].set)).count()
                >= 20
        );
        let covered = |one: &&Outcome| (one.sets[0].decisions[0].low..=one.sets[0].decisions[0].high).contains(&1.3);
        assert!(found.iter().filter(covered).count() >= 35);
    }

    #[test]
    fn options_that_gain_only_together_stay_together() {
        let is_at = |set: &Set, axis: &str| set.get(axis).is_some_and(|value| value == "1");
        // Each by itself costs what both together gain, so neither has a share of its own.
        let truth = |set: &Set| match (is_at(set, "mount.01"), is_at(set, "mount.02")) {
            (true, true) => 0.3,
            (false, false) => 0.0,
            _ => -0.3,
        };
        let both = |one: &&Outcome| is_at(&one.sets[0].set, "mount.01") && is_at(&one.sets[0].set, "mount.02");
        let gains: Vec<Outcome> =
            (0..20).map(|seed| searched(6, &truth, seed)).filter(|one| one.sets[0].decisions[0].gain).collect();
        assert!(gains.len() >= 10 && gains.iter().all(|one| both(&one)), "{} gains", gains.len());
    }

    #[test]
    fn a_pilot_that_was_slow_by_chance_leaves_no_option_out() {
        let mut search = Search::new(space(6), terms(120.0)).expect("a space");
        search.take(&[None], 25.0).expect("another pilot");
        assert_eq!(search.stage().map(|stage| stage.kind), Some(StageKind::Pilot(2)));
        search.take(&[None], 1.0).expect("it goes on");
        let screened = search.stage().filter(|stage| matches!(stage.kind, StageKind::Screen(_)));
        assert!(screened.is_some_and(|stage| stage.rounds * search.values * stage.sets.len() as u32 >= 27));
        assert!(search.no_room_for().is_empty());
        let mut slow = Search::new(space(1), terms(120.0)).expect("a space");
        slow.take(&[None], 25.0).expect("another pilot");
        assert!(slow.take(&[None], 25.0).expect_err("slow indeed").contains("one trial takes 25 s"));
    }

    #[test]
    fn the_better_value_and_the_pair_that_only_helps_together_win() {
        let at = |set: &Set, axis: &str| set.get(axis).cloned().unwrap_or_default();
        let value = |set: &Set| match at(set, "mount.02").as_str() {
            "1" => 0.1,
            "2" => 0.3,
            _ => 0.0,
        };
        let found = (0..10).filter(|seed| at(&searched(8, &value, *seed).sets[0].set, "mount.02") == "2").count();
        assert!(found >= 8, "{found}");
        let pair = |set: &Set| {
            let both = at(set, "mount.01") == "1" && at(set, "mount.05") == "1";
            if both { 0.3 } else { 0.0 }
        };
        let has_both = |set: &Set| at(set, "mount.01") == "1" && at(set, "mount.05") == "1";
        let found = (0..10).filter(|seed| has_both(&searched(8, &pair, *seed).sets[0].set)).count();
        assert!(found >= 8, "{found}");
    }

    #[test]
    fn second_values_are_screened_where_the_budget_allows() {
        let stages = |trials: u32, goals: usize| {
            let terms = Terms { budget: Budget::Trials(trials), goals, ..terms(0.0) };
            let (mut search, mut rng) = (Search::new(space(11), terms).expect("a space"), SmallRng::seed_from_u64(7));
            let mut screens = Vec::new();
            while let Some(stage) = search.stage().cloned() {
                if matches!(stage.kind, StageKind::Screen(_)) {
                    let seconds = stage.sets.iter().filter(|set| set.values().any(|value| value == "2")).count();
                    screens.push((stage.kind.name(), stage.sets.len(), stage.rounds, seconds));
                }
                let of_one = measured(&stage, &|_| 0.0, &mut rng);
                let results: Vec<_> = of_one.into_iter().map(|of| of.map(|of| of.repeat(goals))).collect();
                search.take(&results, 1.0).expect("it goes on");
            }
            assert_eq!(search.no_room_for(), [] as [String; 0]);
            screens
        };
        let screen = |name: &str, rounds: u32, seconds: usize| (name.to_owned(), 12, rounds, seconds);
        assert_eq!(stages(100, 1), [screen("screen", 2, 0)]);
        assert_eq!(stages(160, 2), [screen("screen", 4, 0)]);
        assert_eq!(stages(160, 1), [screen("screen", 2, 0), screen("screen-2", 2, 11)]);
    }

    #[test]
    fn second_values_win_together() {
        let both = |seed: &u64| {
            let found = searched(8, &second_values_help, *seed);
            found.sets[0].decisions[0].gain && has_both_second_values(&found.sets[0].set)
        };
        assert!((0..20).filter(both).count() >= 18);
    }

    #[test]
    fn options_that_help_less_than_the_margin_by_themselves_add_up() {
        let truth = |set: &Set| set.len() as f64 * 0.023;
        let most = (0..20).filter(|seed| truth(&searched(8, &truth, *seed).sets[0].set) > 0.13).count();
        assert!(most >= 18, "{most}");
    }

    #[test]
    fn the_planned_stages_fit_the_budget_and_a_short_one_leaves_out_the_last_factors() {
        let mut search = Search::new(space(11), terms(120.0)).expect("a space");
        let spent = spent_without_effects(&mut search, 2.0);
        assert!(spent <= 120.0, "{spent}");
        assert!(search.no_room_for().contains(&"mount.10".to_owned()), "{:?}", search.no_room_for());
        assert_eq!(search.effects().count() + search.no_room_for().len(), 11);
    }

    #[test]
    fn a_budget_without_time_for_a_confirmation_is_refused_with_the_least_that_is_needed() {
        let mut search = Search::new(space(3), terms(60.0)).expect("a space");
        let why = search.take(&[None], 30.0).expect_err("too short");
        assert!(why.contains("one trial takes 30 s") && why.contains("allow at least"), "{why}");
        assert!(Search::new(Space::default(), terms(60.0)).is_err());
    }

    #[test]
    fn a_budget_of_trials_is_kept_however_long_they_take() {
        let of_trials = |trials| Terms { budget: Budget::Trials(trials), ..terms(0.0) };
        for (trials, seconds) in [(48, 0.1), (48, 100.0), (57, 1.0), (90, 1.0), (34, 1.0)] {
            let mut search = Search::new(space(6), of_trials(trials)).expect("a space");
            let (mut spent, mut rng) = (0, SmallRng::seed_from_u64(3));
            while let Some(stage) = search.stage().cloned() {
                let count = stage.sets.len() as u32 * stage.rounds;
                spent += count;
                let estimated = stage.seconds.unwrap_or(seconds);
                assert!((estimated - seconds * f64::from(count)).abs() < 1e-6, "{estimated}");
                search.take(&measured(&stage, &|_| 0.0, &mut rng), seconds * f64::from(count)).expect("it goes on");
            }
            assert!((trials - 3..=trials).contains(&spent), "{spent} of {trials}");
        }
        for (trials, goals, least) in [(33, 1, "at least 34"), (55, 2, "at least 56")] {
            let few = Search::new(space(1), Terms { goals, ..of_trials(trials) });
            let why = few.expect_err("too few");
            assert!(why.contains(least), "{why}");
        }
    }

    #[test]
    fn a_promising_set_without_results_is_tried_once_and_not_claimed() {
        let (mut rng, mut search) =
            (SmallRng::seed_from_u64(5), Search::new(space(8), terms(1200.0)).expect("a space"));
        let is_lost = has_both_second_values;
        let mut looks = 0;
        while let Some(stage) = search.stage().cloned() {
            looks += stage.sets.iter().filter(|set| is_lost(set)).count();
            let results = measured(&stage, &second_values_help, &mut rng).into_iter().zip(&stage.sets);
            let results: Vec<_> = results.map(|(result, set)| result.filter(|_| !is_lost(set))).collect();
            search.take(&results, 3.0 * stage.sets.len() as f64 * f64::from(stage.rounds)).expect("it goes on");
        }
        let best = &search.outcome().expect("an outcome").sets[0];
        assert!(looks >= 1 && best.decisions[0].gain && !is_lost(&best.set), "{looks} looks, {best:?}");
        let tried = |set: &&Set| is_lost(set);
        assert_eq!(search.tried.iter().filter(tried).count(), looks, "each is tried once");
    }

    #[test]
    fn what_is_spent_before_the_screening_leaves_enough_for_the_confirmation() {
        let budget = Budget::Seconds { all: 120.0, spent: 36.0 };
        let mut search = Search::new(space(6), Terms { budget, ..terms(0.0) }).expect("a space");
        let spent = 36.0 + spent_without_effects(&mut search, 3.4);
        assert!(spent <= 120.0, "{spent}");
    }

    #[test]
    fn stages_without_results_end_the_search_and_lost_sets_do_not() {
        let mut search = Search::new(space(3), terms(1200.0)).expect("a space");
        search.take(&[None], 1.0).expect("the pilot");
        let mut lost = search.clone();
        let stage = search.stage().expect("a screening").clone();
        let none = vec![None; stage.sets.len()];
        assert!(lost.take(&none, 10.0).expect_err("nothing").contains("screen"));
        let mut results = measured(&stage, &|_| 0.0, &mut SmallRng::seed_from_u64(2));
        results[1] = None;
        search.take(&results, 10.0).expect("it goes on");
        assert!(search.stage().is_some());
    }

    #[test]
    fn a_search_with_two_goals_confirms_what_serves_each_and_claims_each_gain() {
        let is_set = |set: &Set, axis: &str| f64::from(u8::from(set.get(axis).is_some_and(|value| value == "1")));
        let speed = |set: &Set| 0.3 * is_set(set, "mount.01") - 0.2 * is_set(set, "mount.03");
        let size = |set: &Set| 0.5 * is_set(set, "mount.03");
        let mut right = 0;
        for seed in 0..20 {
            let mut search = Search::new(space(6), Terms { goals: 2, ..terms(1200.0) }).expect("a space");
            let mut rng = SmallRng::seed_from_u64(seed);
            while let Some(stage) = search.stage().cloned() {
                let of_goals = [measured(&stage, &speed, &mut rng), measured(&stage, &size, &mut rng)].concat();
                let sets = stage.sets.len();
                let both = |set: usize| Some([of_goals[set].clone()?, of_goals[sets + set].clone()?].concat());
                let results: Vec<_> = (0..sets).map(both).collect();
                search.take(&results, 3.0 * sets as f64 * f64::from(stage.rounds)).expect("it goes on");
            }
            let outcome = search.outcome().expect("an outcome");
            assert!(outcome.sets.len() <= 4 && outcome.sets.iter().all(|one| one.decisions.len() == 2));
            let has = |small: f64, gains: [bool; 2]| {
                outcome.sets.iter().any(|one| {
                    [is_set(&one.set, "mount.01"), is_set(&one.set, "mount.03")] == [1.0, small]
                        && one.decisions.iter().map(|decision| decision.gain).eq(gains)
                })
            };
            right += u32::from(has(0.0, [true, false]) && has(1.0, [true, true]));
            assert!(
                search.effects().all(|(factor, effects)| effects.len() == factor.values.len() && effects[0].len() == 2)
            );
        }
        assert!(right >= 17, "{right} of 20");
    }
}
