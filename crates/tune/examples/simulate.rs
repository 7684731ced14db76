//! Simulated searches: how often do they name a set with 95 % of the best speed, and how often do they claim a gain where there is none?
//! In: nothing. Out: a table for `results/tune.md`. The shares of the budget and other constants of a search were chosen by it.

use rand::{SeedableRng, rngs::SmallRng};
use rand_distr::{Distribution, Normal};
use tune::{Budget, Factor, Measured, Search, Set, Space, Stage, Terms};

/// Searches for each figure.
const SEARCHES: u64 = 400;
/// Trials that a search may take.
const TRIALS: [u32; 4] = [48, 96, 240, 480];
/// Standard deviation of one trial, as a share.
const SCATTERS: [f64; 2] = [0.04, 0.08];
/// As `bakeoff tune` has it.
const MARGIN: f64 = 0.03;
/// Share of the best speed that counts as found.
const ENOUGH: f64 = 0.95;

/// Options, and what they do.
struct Case {
    name: &'static str,
    space: Space,
    /// Natural logarithm of how many times faster a set is than the defaults.
    truth: fn(&Set) -> f64,
    /// That of the best set.
    best: f64,
}

fn factors(count: usize, values: &[&str]) -> Space {
    let factor = |at: usize| Factor {
        axis: format!("mount.{at:02}"),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
        ..Factor::default()
    };
    Space { factors: (0..count).map(factor).collect(), ..Space::default() }
}

/// 1 if a set has this value, else 0.
fn at(set: &Set, axis: usize, value: &str) -> f64 {
    f64::from(u8::from(set.get(&format!("mount.{axis:02}")).is_some_and(|at| at == value)))
}

fn cases() -> [Case; 7] {
    let case = |name, space, truth, best| Case { name, space, truth, best };
    [
        case(
            "5 options, one makes 2x, three 3 %",
            factors(5, &["1"]),
            |set| 0.69 * at(set, 0, "1") + (1..4).map(|axis| 0.03 * at(set, axis, "1")).sum::<f64>(),
            0.78,
        ),
        case(
            "5 options, three of 3 to 4 %",
            factors(5, &["1"]),
            |set| (0..3).map(|axis| 0.033 * at(set, axis, "1")).sum(),
            0.099,
        ),
        case("11 options, one of 12 %", factors(11, &["1"]), |set| 0.12 * at(set, 6, "1"), 0.12),
        case(
            "11 options, each of 2 %",
            factors(11, &["1"]),
            |set| (0..11).map(|axis| 0.02 * at(set, axis, "1")).sum(),
            0.22,
        ),
        case(
            "11 options, a pair of 15 %, one of 5 %",
            factors(11, &["1"]),
            |set| 0.15 * at(set, 1, "1") * at(set, 5, "1") + 0.05 * at(set, 4, "1"),
            0.2,
        ),
        case(
            "11 options of two values, the first of one helps by 12 %",
            factors(11, &["1", "2"]),
            |set| 0.12 * at(set, 6, "1"),
            0.12,
        ),
        case(
            "11 options of two values, two help by the second",
            factors(11, &["1", "2"]),
            |set| {
                let second = 0.16 * at(set, 2, "2") + 0.08 * at(set, 3, "2");
                0.06 * at(set, 2, "1") - 0.08 * at(set, 3, "1") + second - 0.05 * at(set, 7, "1")
            },
            0.24,
        ),
    ]
}

/// Simulated rounds of a stage, judged as independent trials with one scatter.
fn measured(stage: &Stage, truth: fn(&Set) -> f64, scatter: f64, rng: &mut SmallRng) -> Vec<Option<Vec<Measured>>> {
    let Ok(noise) = Normal::new(0.0, scatter) else { return Vec::new() };
    let rounds = f64::from(stage.rounds);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / rounds;
    let trials: Vec<Vec<f64>> =
        stage.sets.iter().map(|set| (0..stage.rounds).map(|_| truth(set) + noise.sample(rng)).collect()).collect();
    let squares: f64 = trials.iter().flat_map(|of| of.iter().map(|value| (value - mean(of)).powi(2))).sum();
    let df = (trials.len() as f64 * (rounds - 1.0)).max(1.0);
    let error = (2.0 * squares / df / rounds).sqrt();
    trials.iter().map(|of| Some(vec![Measured { log: mean(of) - mean(&trials[0]), error, df }])).collect()
}

/// One search: how much speed of the best its answer has, and whether it claims a gain.
fn searched(case: &Case, trials: u32, scatter: f64, seed: u64) -> Result<(f64, bool), String> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let terms = Terms { budget: Budget::Trials(trials), margin: MARGIN, goals: 1 };
    let mut search = Search::new(case.space.clone(), terms)?;
    while let Some(stage) = search.stage().cloned() {
        search.take(&measured(&stage, case.truth, scatter, &mut rng), 1.0)?;
    }
    let named = search.outcome().and_then(|outcome| outcome.sets.first()).ok_or("no outcome")?;
    let gain = named.decisions.iter().any(|decision| decision.gain);
    let log = if gain { (case.truth)(&named.set) } else { 0.0 };
    Ok(((log - case.best).exp(), gain))
}

fn main() -> Result<(), String> {
    let columns: Vec<(u32, f64)> =
        TRIALS.iter().flat_map(|trials| SCATTERS.map(|scatter| (*trials, scatter))).collect();
    let titles: Vec<String> =
        columns.iter().map(|(trials, scatter)| format!("{trials} trials, {:.0} %", scatter * 100.0)).collect();
    println!("| options | {} |", titles.join(" | "));
    println!("| --- |{}", " --- |".repeat(columns.len()));
    let share = |case: &Case, counts: fn((f64, bool)) -> bool| -> Result<(), String> {
        let cell = |(trials, scatter): &(u32, f64)| {
            let all = (0..SEARCHES).map(|seed| searched(case, *trials, *scatter, seed));
            let counted = all.collect::<Result<Vec<_>, String>>()?.into_iter().filter(|found| counts(*found)).count();
            Ok(format!("{:.0} %", 100.0 * counted as f64 / SEARCHES as f64))
        };
        let cells = columns.iter().map(cell).collect::<Result<Vec<String>, String>>()?;
        println!("| {} | {} |", case.name, cells.join(" | "));
        Ok(())
    };
    for case in &cases() {
        share(case, |(speed, _)| speed >= ENOUGH)?;
    }
    let nothing = Case {
        name: "11 options that do nothing: a gain is claimed",
        space: factors(11, &["1", "2"]),
        truth: |_| 0.0,
        best: 0.0,
    };
    share(&nothing, |(_, gain)| gain)
}
