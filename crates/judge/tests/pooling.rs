//! Ratios over many runs: compared with numbers calculated by hand, and with a known truth by simulation.

mod support;

use judge::{Pooled, Span, Study, pairs, pooled};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rand_distr::{ChiSquared, Distribution, Normal};
use support::{Bake, CALM, CALM_TOO};

/// Degrees of freedom with which an error is practically known.
const KNOWN: f64 = 1e9;

/// Runs on different machines, each with its log ratio and the variance of that.
fn runs(points: &[(f64, f64)], df: f64) -> Vec<Study> {
    let study =
        |(machine, (log, variance)): (usize, &(f64, f64))| Study { machine, log: *log, error: variance.sqrt(), df };
    points.iter().enumerate().map(study).collect()
}

fn whole(studies: &[Study]) -> Pooled {
    pooled(studies).expect("they are pooled")
}

/// Half the length of a span, on logarithms.
fn half(span: Span) -> f64 {
    (span.high / span.low).ln() / 2.0
}

fn close(found: f64, wanted: f64) {
    assert!((found - wanted).abs() < 2e-4 * wanted.abs().max(1.0), "{found} is not {wanted}");
}

#[test]
fn three_machines_of_equal_errors_are_pooled_as_by_hand() {
    // Mean 0.4; squares 0.09 + 0.01 + 0.16 = 0.26. Paule-Mandel: 0.26 / (0.04 + tau2) = 2, so tau2 = 0.09.
    // Hartung-Knapp: variance 0.13 / 3 = 0.043333. t(2) = 4.30265, t(1) = 12.7062. A further machine has an error of its own, 0.04.
    let found = whole(&runs(&[(0.1, 0.04), (0.3, 0.04), (0.8, 0.04)], KNOWN));
    close(found.ratio.ln(), 0.4);
    close(found.between, 0.3);
    close(half(found.interval), 4.302_65 * 0.043_333_f64.sqrt());
    close(half(found.prediction.expect("three are enough")), 12.706_2 * (0.09 + 0.04 + 0.043_333_f64).sqrt());
    assert_eq!((found.runs, found.machines), (3, 3));
}

#[test]
fn two_machines_of_unequal_errors_are_pooled_as_by_hand_and_predict_nothing() {
    // (1 - 0)^2 / (0.1 + 0.3 + 2 tau2) = 1, so tau2 = 0.3; weights 1/0.4 and 1/0.6, mean 0.4, variance 0.24.
    let points = [(0.0, 0.1), (1.0, 0.3)];
    let found = whole(&runs(&points, KNOWN));
    close(found.ratio.ln(), 0.4);
    close(found.between, 0.3_f64.sqrt());
    close(half(found.interval), 12.706_2 * 0.24_f64.sqrt());
    assert_eq!(found.prediction, None);
    // With eight degrees of freedom half of the mean, 0.2, counts: 0.15 and 0.25. Weights 1/0.45 and 1/0.55, mean 0.45.
    let few = whole(&runs(&points, 8.0));
    close(few.between, 0.3_f64.sqrt());
    close(few.ratio.ln(), 0.45);
    close(half(few.interval), 12.706_2 * 0.2475_f64.sqrt());
}

#[test]
fn machines_that_agree_better_than_their_errors_allow_are_not_more_certain_than_these() {
    let found = whole(&runs(&[(0.2, 0.01), (0.2, 0.01), (0.2, 0.01)], KNOWN));
    assert_eq!(found.between, 0.0);
    close(half(found.interval), 4.302_65 * (0.01_f64 / 3.0).sqrt());
}

#[test]
fn one_run_has_its_own_interval_and_runs_of_one_machine_are_one_machine() {
    let one = whole(&[Study { machine: 7, log: 0.5, error: 0.1, df: 4.0 }]);
    close(half(one.interval), 2.776_45 * 0.1);
    assert_eq!((one.prediction, one.runs, one.machines), (None, 1, 1));
    let mut several = runs(&[(0.1, 0.01), (0.1, 0.01), (0.9, 0.01), (0.5, 0.01)], KNOWN);
    let apart = whole(&several);
    several[1].machine = 0;
    let together = whole(&several);
    assert_eq!((together.runs, together.machines, apart.machines), (4, 3, 4));
    // Means 0.1, 0.9 and 0.5 of three machines, instead of 0.1, 0.1, 0.9 and 0.5.
    assert!((together.ratio.ln() - 0.5).abs() < 0.01, "{together:?}");
    assert!(apart.ratio < together.ratio, "a machine that was measured twice must not count twice");
}

#[test]
fn invalid_numbers_are_not_pooled() {
    let nonsense = [(f64::NAN, 0.1, 3.0), (0.1, 0.0, 3.0), (0.1, f64::INFINITY, 3.0), (0.1, 0.1, 0.0)];
    let studies = nonsense.map(|(log, error, df)| Study { machine: 0, log, error, df });
    assert_eq!(pooled(&studies), None);
    assert_eq!(pooled(&[]), None);
}

/// How often, in percent, the interval contains the truth, and the prediction contains a further machine's ratio.
fn coverage(machines: usize, between: f64, rounds: usize) -> (f64, f64) {
    const TRUTH: f64 = 0.3;
    const DF: f64 = 4.0;
    let mut random = SmallRng::seed_from_u64(machines as u64 * 1000 + (between * 100.0) as u64);
    let normal = |deviation: f64| Normal::new(0.0, deviation).expect("a deviation");
    let chance = ChiSquared::new(DF).expect("degrees of freedom");
    let mut held = (0, 0);
    for _ in 0..rounds {
        let mut study = |machine| {
            let own = TRUTH + normal(between).sample(&mut random);
            let error = random.random_range(0.05..0.2);
            let found = error * (chance.sample(&mut random) / DF).sqrt();
            Study { machine, log: own + normal(error).sample(&mut random), error: found, df: DF }
        };
        let studies: Vec<Study> = (0..machines).map(&mut study).collect();
        let error = random.random_range(0.05..0.2);
        let further = TRUTH + normal(between).sample(&mut random) + normal(error).sample(&mut random);
        let found = whole(&studies);
        let holds = |span: Span, log: f64| usize::from(span.low.ln() <= log && log <= span.high.ln());
        held.0 += holds(found.interval, TRUTH);
        held.1 += found.prediction.map_or(0, |span| holds(span, further));
    }
    let percent = |count: usize| 100.0 * count as f64 / rounds as f64;
    (percent(held.0), percent(held.1))
}

#[test]
fn intervals_hold_the_truth_and_predictions_a_further_machine_as_often_as_they_say() {
    for machines in [3, 5, 11, 30] {
        for between in [0.0, 0.1, 0.4] {
            let (interval, prediction) = coverage(machines, between, 2000);
            // Four standard errors of a simulated share below 95 % are 2 points.
            assert!(interval >= 93.0, "{machines} machines, {between}: the interval holds the truth in {interval} %");
            assert!(prediction >= 93.0, "{machines} machines, {between}: the prediction holds in {prediction} %");
        }
    }
}

#[test]
fn an_interval_is_no_wider_than_it_must_be_where_machines_are_many() {
    let (interval, prediction) = coverage(30, 0.4, 2000);
    assert!(interval < 97.5 && prediction < 97.5, "{interval} % and {prediction} %");
}

#[test]
fn each_two_contenders_of_a_table_are_held_against_each_other_once() {
    let bake = Bake::new().time("create").at("ext4", 1.0, &CALM).at("xfs", 2.0, &CALM_TOO).at("btrfs", 4.0, &CALM);
    let bake = bake.rate("read").at("ext4", 100.0, &CALM).at("xfs", 50.0, &CALM_TOO);
    let found = pairs(&bake.table).expect("a table");
    let places: Vec<(usize, [usize; 2])> = found.iter().map(|pair| (pair.operation, pair.contenders)).collect();
    assert_eq!(places, [(0, [0, 1]), (0, [0, 2]), (0, [1, 2]), (1, [0, 1])]);
    for (pair, times) in found.iter().zip([2.0_f64, 4.0, 2.0, 2.0]) {
        assert!((pair.log - times.ln()).abs() < 0.02, "{pair:?}: the second is {times} times worse");
        assert!(pair.error > 0.0 && pair.error < 0.05 && pair.df >= 4.0 && pair.samples == 5, "{pair:?}");
    }
}
