//! Processor time that the hypervisor took away: how much longer it made each sample.
//! In: the series of a table. Out: the same as if all had lost the same share, in operations whose samples took longer the more they lost.
//! Analysis of covariance (Cochran, Biometrics 13, 1957): costs are fitted by contender, round and the stolen share of all processors' time.
//! One slope serves all contenders: work on one processor takes longer by what that processor lost, which is the share times the number of
//! processors, whether it computes or waits for the disk (who waits loses less, and the share shows that).

use crate::numbers::mean;
use crate::series::Series;
use crate::sessions::Sessions;
use crate::table::{Backend, Cell, Direction, Seconds, Table};
use std::collections::{BTreeMap, BTreeSet};

/// Fewest degrees of freedom for a slope of its own.
const LEAST_DF: f64 = 6.0;
/// Most of the squares of shares that one sample may have, as a part of what the only sample with a share would have: a single slow sample
/// shows no slope.
const MOST_OF_ONE: f64 = 0.8;
/// Least squares of shares that are not explained by contender and round, as a part of all; less is the error of the arithmetic.
const LEAST_LEFT: f64 = 1e-9;
/// Share of a sample that stolen time explains, from which a row is called corrected.
const WORTH_A_WORD: f64 = 0.01;
/// Passes over contenders and rounds; one is exact if each contender has a sample in each round.
const PASSES: usize = 50;

/// Series without the effect of unequal shares of stolen processor time.
pub struct Corrected {
    /// One for each cell.
    pub series: Vec<Series>,
    /// Operations and backends of which stolen time explains a hundredth of some sample or more.
    pub rows: Vec<CorrectedRow>,
}

/// Rows of one operation that were corrected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CorrectedRow {
    /// Index of the operation.
    pub operation: usize,
    /// Backend of its contenders.
    pub backend: Backend,
    /// How much of a sample stolen processor time explains at most, a share of its time.
    pub most: f64,
}

/// Removes the effect of stolen processor time from each operation.
pub fn corrected(table: &Table, series: &[Series], sessions: &Sessions) -> Corrected {
    let mut found = Corrected { series: series.to_vec(), rows: Vec::new() };
    if series.iter().flat_map(|one| &one.trials).all(|trial| trial.stolen <= 0.0) {
        return found;
    }
    let mut rows: BTreeMap<(usize, Backend), Vec<usize>> = BTreeMap::new();
    for (at, cell) in table.cells.iter().enumerate() {
        rows.entry((cell.operation, table.contenders[cell.contender].backend)).or_default().push(at);
    }
    for ((operation, backend), cells) in rows {
        // Only time becomes longer.
        if Seconds::of(&table.operations[operation].unit).is_none() {
            continue;
        }
        let sign = if table.operations[operation].direction == Direction::LowerIsBetter { 1.0 } else { -1.0 };
        let samples: Vec<Sample> = cells.iter().flat_map(|cell| samples(*cell, &series[*cell], sign)).collect();
        let Some((slope, adjustments)) = adjustments(&samples, sessions) else { continue };
        for (sample, adjustment) in samples.iter().zip(adjustments) {
            found.series[sample.cell].trials[sample.trial].log += sign * adjustment;
        }
        cells.iter().for_each(|cell| found.series[*cell].average_blocks());
        let most = -samples.iter().map(|one| -slope * one.stolen).fold(0.0, f64::min).exp_m1();
        if most >= WORTH_A_WORD {
            found.rows.push(CorrectedRow { operation, backend, most });
        }
    }
    found
}

/// Corrected series of some operations, one for each cell; those of the other operations are empty.
pub fn series(table: &Table, is_meant: impl Fn(usize) -> bool) -> Vec<Series> {
    let of = |cell: &Cell| if is_meant(cell.operation) { Series::of(cell) } else { Series::default() };
    corrected(table, &table.cells.iter().map(of).collect::<Vec<_>>(), &Sessions::of(table)).series
}

/// The cost of an operation for each contender in each round: the logarithm of its value, with lower meaning better, and without processor
/// time that the hypervisor took away; empty for what was not measured.
pub fn costs(table: &Table, operation: usize) -> Vec<Vec<(u32, f64)>> {
    let direction = table.operations[operation].direction;
    let found = series(table, |other| other == operation);
    let mut costs = vec![Vec::new(); table.contenders.len()];
    for (cell, series) in table.cells.iter().zip(found).filter(|(cell, _)| cell.operation == operation) {
        costs[cell.contender] = series.costs(direction);
    }
    costs
}

/// A trial of a cell.
struct Sample {
    cell: usize,
    trial: usize,
    block: u32,
    cost: f64,
    stolen: f64,
}

fn samples(cell: usize, series: &Series, sign: f64) -> impl Iterator<Item = Sample> {
    series.trials.iter().enumerate().map(move |(trial, one)| Sample {
        cell,
        trial,
        block: one.block,
        cost: sign * one.log,
        stolen: one.stolen,
    })
}

/// The slope, and what is added to each cost; `None` where too little is known, or the work did not take longer the more was stolen. How
/// certain the slope is does not matter: to pick by that would pick samples that scatter less than others, and make intervals too narrow.
fn adjustments(samples: &[Sample], sessions: &Sessions) -> Option<(f64, Vec<f64>)> {
    // A contender has an effect of its own in each session.
    let contenders = groups(samples, |one| (one.cell, sessions.at(one.block)));
    let rounds = groups(samples, |one| one.block);
    let apart = groups(samples, |one| sessions.at(one.block));
    let df = samples.len() as f64 - contenders.count as f64 - rounds.count as f64 + apart.count as f64;
    if df < LEAST_DF {
        return None;
    }
    let all = |value: fn(&Sample) -> f64| samples.iter().map(value).collect::<Vec<f64>>();
    let costs = residuals(all(|one| one.cost), [&contenders, &rounds]);
    let stolen = residuals(all(|one| one.stolen), [&contenders, &rounds]);
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let squares = product(&stolen, &stolen);
    let largest = stolen.iter().map(|one| one * one).fold(0.0, f64::max);
    let usual = mean(&all(|one| one.stolen));
    let spread: f64 = samples.iter().map(|one| (one.stolen - usual).powi(2)).sum();
    // The only sample with a share would have this part of the squares; the means of its contender and its round have the rest.
    let of_only_one = df / samples.len() as f64;
    if squares <= LEAST_LEFT * spread || largest > MOST_OF_ONE * of_only_one * squares {
        return None;
    }
    let slope = product(&stolen, &costs) / squares;
    let left: Vec<f64> = costs.iter().zip(&stolen).map(|(cost, stolen)| cost - slope * stolen).collect();
    if slope <= 0.0 {
        return None;
    }
    // The slope takes a degree of freedom, and its error counts as far as contenders lost unequal shares: as far as the two that differ most.
    // What is left becomes larger by that, so that estimates of scatter from it need not know of the slope.
    let (in_rounds, _) = without_means(all(|one| one.stolen), &rounds);
    let cells = groups(samples, |one| one.cell);
    let (_, of_contenders) = without_means(in_rounds, &cells);
    let (least, most) =
        of_contenders.iter().fold((0.0_f64, 0.0_f64), |(low, high), one| (low.min(*one), high.max(*one)));
    let each = (0..cells.count).map(|cell| cells.of.iter().filter(|of| **of == cell).count()).max().unwrap_or(0) as f64;
    let unequal = each * (most - least).powi(2) / 2.0 / squares;
    let excess = (df / (df - 1.0) * (1.0 + unequal)).sqrt() - 1.0;
    let adjusted = samples.iter().zip(left).map(|(one, left)| excess * left - slope * (one.stolen - usual));
    Some((slope, adjusted.collect()))
}

/// Which group each sample is in.
struct Groups {
    of: Vec<usize>,
    count: usize,
}

fn groups<K: Ord + Clone>(samples: &[Sample], key: impl Fn(&Sample) -> K) -> Groups {
    let keys: Vec<K> = samples.iter().map(key).collect();
    let known: BTreeSet<K> = keys.iter().cloned().collect();
    let numbers: BTreeMap<K, usize> = known.into_iter().zip(0..).collect();
    Groups { of: keys.iter().map(|key| numbers[key]).collect(), count: numbers.len() }
}

/// Values without the means of their groups, and those means.
fn without_means(mut values: Vec<f64>, groups: &Groups) -> (Vec<f64>, Vec<f64>) {
    let mut sums = vec![(0.0, 0.0); groups.count];
    for (group, value) in groups.of.iter().zip(&values) {
        sums[*group].0 += value;
        sums[*group].1 += 1.0;
    }
    let means: Vec<f64> = sums.into_iter().map(|(sum, count)| sum / count).collect();
    groups.of.iter().zip(&mut values).for_each(|(group, value)| *value -= means[*group]);
    (values, means)
}

/// Values without the means of contenders and rounds.
fn residuals(mut values: Vec<f64>, groupings: [&Groups; 2]) -> Vec<f64> {
    for _ in 0..PASSES {
        let mut moved: f64 = 0.0;
        for groups in groupings {
            let means;
            (values, means) = without_means(values, groups);
            moved = means.iter().map(|mean| mean.abs()).fold(moved, f64::max);
        }
        if moved < 1e-12 {
            break;
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Contender, Operation};
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};
    use rand_distr::StandardNormal;

    /// What a stolen share of 1 adds to the logarithm of a time.
    const EFFECT: f64 = 3.0;

    /// Times (or rates) of two contenders, the second 1.1 times slower, in so many rounds; `noise` is what stolen time does not explain.
    fn table(rounds: u32, direction: Direction, effect: f64, noise: f64, seed: u64) -> Table {
        let mut rng = SmallRng::seed_from_u64(seed);
        let operation = Operation { direction, unit: "s".into(), ..Operation::default() };
        let contender = |name: &str| Contender { name: name.into(), ..Contender::default() };
        let mut cell = |contender: usize| {
            let samples = (0..rounds).map(|block| {
                let stolen: f64 = rng.random_range(0.0..0.1);
                let left: f64 = noise * rng.sample::<f64, _>(StandardNormal);
                let cost = 0.05 * f64::from(block) + 1.1_f64.ln() * contender as f64 + effect * stolen + left;
                let log = if direction == Direction::LowerIsBetter { cost } else { -cost };
                crate::table::Sample { trial: i64::from(block), block, value: log.exp(), stolen, ..Default::default() }
            });
            Cell { contender, samples: samples.collect(), ..Cell::default() }
        };
        Table {
            cells: vec![cell(0), cell(1)],
            operations: vec![operation],
            contenders: vec![contender("a"), contender("b")],
            ..Table::default()
        }
    }

    fn found(table: &Table) -> Corrected {
        corrected(table, &table.cells.iter().map(Series::of).collect::<Vec<_>>(), &Sessions::of(table))
    }

    #[test]
    fn what_stolen_time_explains_is_gone_and_the_rest_stays() {
        for direction in [Direction::LowerIsBetter, Direction::HigherIsBetter] {
            let table = table(8, direction, EFFECT, 0.0, 1);
            let found = found(&table);
            let [row] = found.rows[..] else { panic!("one row: {:?}", found.rows) };
            assert!(row.operation == 0 && (0.2..0.36).contains(&row.most), "{row:?}");
            let costs: Vec<Vec<(u32, f64)>> = found.series.iter().map(|series| series.costs(direction)).collect();
            for ((first, second), block) in costs[0].iter().zip(&costs[1]).zip(0..) {
                assert_eq!((first.0, second.0), (block, block));
                assert!((second.1 - first.1 - 1.1_f64.ln()).abs() < 1e-9, "{costs:?}");
            }
            let level = |series: &[Series]| series.iter().flat_map(|one| &one.trials).map(|one| one.log).sum::<f64>();
            let before: Vec<Series> = table.cells.iter().map(Series::of).collect();
            assert!((level(&before) - level(&found.series)).abs() < 1e-9, "levels stay");
        }
    }

    #[test]
    fn few_rounds_no_effect_and_a_wrong_direction_change_nothing() {
        let few = table(6, Direction::LowerIsBetter, EFFECT, 0.0, 1);
        assert!(found(&few).rows.is_empty(), "5 degrees of freedom");
        let faster = table(12, Direction::LowerIsBetter, -EFFECT, 0.01, 1);
        let found_faster = found(&faster);
        assert!(found_faster.rows.is_empty(), "stolen time makes nothing faster");
        let logs = |series: &[Series]| series.iter().flat_map(|one| &one.trials).map(|one| one.log).collect::<Vec<_>>();
        assert_eq!(logs(&found_faster.series), logs(&faster.cells.iter().map(Series::of).collect::<Vec<_>>()));
    }

    #[test]
    fn one_slow_sample_and_equal_losses_show_no_slope() {
        let mut one = table(10, Direction::LowerIsBetter, 0.0, 0.01, 1);
        one.cells.iter_mut().flat_map(|cell| &mut cell.samples).for_each(|sample| sample.stolen = 0.0);
        let slow = &mut one.cells[0].samples[3];
        (slow.value, slow.stolen) = (slow.value * 1.2, 0.003);
        assert!(found(&one).rows.is_empty(), "a single slow sample");
        for seed in 0..200 {
            let mut equal = table(10, Direction::LowerIsBetter, 0.0, 0.05, seed);
            let by_round = |cell: usize, block: u32| 0.03 + 0.01 * cell as f64 + 0.001 * f64::from(block);
            for (at, cell) in equal.cells.iter_mut().enumerate() {
                cell.samples.iter_mut().for_each(|sample| sample.stolen = by_round(at, sample.block));
            }
            assert!(found(&equal).rows.is_empty(), "contender and round explain all that was stolen");
        }
    }

    #[test]
    fn sessions_without_samples_of_a_row_give_it_no_degrees_of_freedom() {
        let mut table = table(6, Direction::LowerIsBetter, EFFECT, 0.0, 1);
        table.sessions = vec![0, 10, 20, 30];
        let other = Cell {
            operation: 1,
            samples: (0..40).map(|block| crate::table::Sample { block, value: 1.0, ..Default::default() }).collect(),
            ..Cell::default()
        };
        table.operations.push(Operation { unit: "s".into(), ..Operation::default() });
        table.cells.push(other);
        assert!(found(&table).rows.is_empty(), "5 degrees of freedom, as with one session");
    }

    #[test]
    fn counts_are_not_corrected() {
        let mut table = table(8, Direction::LowerIsBetter, EFFECT, 0.0, 1);
        assert_eq!(found(&table).rows.len(), 1);
        table.operations[0].unit = "instructions".into();
        assert!(found(&table).rows.is_empty());
    }

    #[test]
    fn what_a_contender_does_in_each_session_is_not_taken_for_stolen_time() {
        // In the second session both the loss and the time of the first contender rise, by a cause that it has there alone.
        let mut table = table(20, Direction::LowerIsBetter, 0.0, 0.02, 3);
        table.sessions = vec![0, 10];
        for sample in &mut table.cells[0].samples {
            let is_late = sample.block >= 10;
            sample.stolen = 0.02 + 0.06 * f64::from(u8::from(is_late)) + 0.001 * f64::from(sample.block % 3);
            sample.value *= if is_late { 1.2 } else { 1.0 };
        }
        let step = |table: &Table| {
            let series = found(table).series;
            let difference = |from: usize| {
                let late = series[0].blocks[from..from + 10].iter().zip(&series[1].blocks[from..from + 10]);
                late.map(|(first, second)| first.1 - second.1).sum::<f64>() / 10.0
            };
            difference(10) - difference(0)
        };
        assert!((step(&table) - 1.2_f64.ln()).abs() < 0.04, "{}", step(&table));
        table.sessions.clear();
        assert!(step(&table) < 0.1, "as one session it would be: {}", step(&table));
    }

    #[test]
    fn scatter_of_the_corrected_samples_is_neither_too_small_nor_much_too_large() {
        for effect in [0.0, 1.0, EFFECT] {
            let mut squares = [0.0; 2];
            for seed in 0..4000 {
                let table = table(8, Direction::LowerIsBetter, effect, 0.05, seed);
                let found = found(&table);
                let differences: Vec<f64> =
                    found.series[0].blocks.iter().zip(&found.series[1].blocks).map(|(a, b)| b.1 - a.1).collect();
                let mean = differences.iter().sum::<f64>() / 8.0;
                squares[0] += (mean - 1.1_f64.ln()).powi(2);
                squares[1] += differences.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / 7.0 / 8.0;
            }
            let ratio = squares[1] / squares[0];
            assert!(
                (0.93..1.2).contains(&ratio),
                "effect {effect}: the estimated variance of a mean is {ratio} of the true one"
            );
        }
    }
}
