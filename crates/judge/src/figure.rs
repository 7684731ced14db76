//! The figure of one cell: median, mean, interval, spread, outliers, drift, and its notes.
//! In: a cell and its series. Out: a [`Figure`].
//! Nothing is dropped: an outlier is flagged and stays in every figure.

use crate::judgement::{Estimand, Figure, Interval, Note, NoteKind};
use crate::notes;
use crate::numbers::{mean, median, median_interval, median_of_sorted, sorted, t_critical, t_p, variance};
use crate::series::Series;
use crate::table::{Cell, Table};

/// Level of every interval.
pub const LEVEL: f64 = 0.95;
/// Fewest samples for which an interval is given.
pub const MIN_SAMPLES: usize = 3;
/// Fewest samples for outlier detection.
const MIN_FOR_OUTLIERS: usize = 5;
/// From this many samples on, intervals are of the median.
const MEDIAN_FROM: usize = 8;
/// Relative standard deviation above which a cell is unstable.
const UNSTABLE: f64 = 0.05;
/// Modified z above which a sample is an outlier: 10 standard deviations of a normal distribution, as hyperfine has it.
const OUTLIER: f64 = 14.826;

/// Judges one cell; `None` where it has no value.
pub fn figure(table: &Table, index: usize, series: &Series) -> Option<Figure> {
    let cell = &table.cells[index];
    if series.trials.is_empty() {
        return None;
    }
    let logs: Vec<f64> = series.trials.iter().map(|trial| trial.log).collect();
    let values: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
    let measured = cell.samples.iter().filter(|sample| sample.is_measured());
    let (min, max) = measured
        .clone()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), sample| (low.min(sample.value), high.max(sample.value)));
    let average = mean(&values);
    let rsd = variance(&values).map(|variance| variance.sqrt() / average);
    let count = measured.count();
    let mut figure = Figure {
        cell: index,
        operation: cell.operation,
        contender: cell.contender,
        samples: values.len(),
        values: count,
        median: median(&logs)?.exp(),
        mean: average,
        min,
        max,
        rsd,
        interval: interval(&logs),
        unstable: rsd.is_some_and(|rsd| rsd > UNSTABLE),
        outliers: outliers(series, &values),
        drift: drift(series),
        missing: cell.samples.len() - count,
        notes: Vec::new(),
    };
    figure.notes = notes_of(cell, &figure, &logs);
    Some(figure)
}

/// 95 % interval of a cell from the logs of its samples.
///
/// From eight samples on, of the median, by order statistics: it holds for any distribution. Below, no such interval
/// is precise enough to use, and Student's t on logarithms gives one for the geometric mean.
pub fn interval(logs: &[f64]) -> Option<Interval> {
    if logs.len() < MIN_SAMPLES {
        return None;
    }
    if logs.len() >= MEDIAN_FROM {
        let (low, high) = median_interval(&sorted(logs), LEVEL)?;
        return Some(Interval { low: low.exp(), high: high.exp(), of: Estimand::Median });
    }
    let (centre, half) = (mean(logs), t_half_width(logs)?);
    Some(Interval { low: (centre - half).exp(), high: (centre + half).exp(), of: Estimand::GeometricMean })
}

/// Half-width of the t interval of the mean of logs.
pub fn t_half_width(logs: &[f64]) -> Option<f64> {
    let count = logs.len() as f64;
    let error = (variance(logs)? / count).sqrt();
    Some(t_critical(1.0 - LEVEL, count - 1.0) * error)
}

fn outliers(series: &Series, values: &[f64]) -> Vec<i64> {
    // Of three or four samples two are often close by chance, which would make any other an outlier.
    if values.len() < MIN_FOR_OUTLIERS {
        return Vec::new();
    }
    let ranked = sorted(values);
    let Some(centre) = median_of_sorted(&ranked) else { return Vec::new() };
    let deviations: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    let Some(spread) = median(&deviations) else { return Vec::new() };
    // If most samples are equal to the clock's last digit, any other would be an outlier: a tolerance of a thousandth prevents that.
    let spread = spread.max(centre * 1e-4);
    let far = deviations.iter().zip(&series.trials).filter(|(deviation, _)| **deviation / spread > OUTLIER);
    far.map(|(_, trial)| trial.trial).collect()
}

/// Change over all blocks by a fitted line, if it is significant (p < 0.01) and above 5 %.
fn drift(series: &Series) -> Option<f64> {
    let count = series.trials.len() as f64;
    if series.trials.len() < 5 {
        return None;
    }
    let blocks: Vec<f64> = series.trials.iter().map(|trial| f64::from(trial.block)).collect();
    let logs: Vec<f64> = series.trials.iter().map(|trial| trial.log).collect();
    let (middle, centre) = (mean(&blocks), mean(&logs));
    let across: f64 = blocks.iter().map(|block| (block - middle).powi(2)).sum();
    if across == 0.0 {
        return None;
    }
    let slope = blocks.iter().zip(&logs).map(|(b, l)| (b - middle) * (l - centre)).sum::<f64>() / across;
    let left: f64 = blocks.iter().zip(&logs).map(|(b, l)| (l - centre - slope * (b - middle)).powi(2)).sum();
    let error = (left / (count - 2.0) / across).sqrt();
    let reach = blocks.iter().fold(0.0_f64, |most, block| most.max(block - blocks[0]));
    let change = (slope * reach).exp() - 1.0;
    (change.abs() > 0.05 && t_p(slope / error, count - 2.0) < 0.01).then_some(change)
}

fn notes_of(cell: &Cell, figure: &Figure, logs: &[f64]) -> Vec<Note> {
    let mut found = Vec::new();
    if let (true, Some(rsd)) = (figure.unstable, figure.rsd) {
        found.push(notes::note(NoteKind::Unstable, format!("unstable: ±{:.0} %", rsd * 100.0)));
    }
    if !figure.outliers.is_empty() {
        let count = figure.outliers.len();
        found.push(notes::note(NoteKind::Outlier, format!("{count} {}, kept", notes::plural(count, "outlier"))));
    }
    if let Some(change) = figure.drift {
        let way = if change > 0.0 { "rises" } else { "falls" };
        found.push(notes::note(NoteKind::Drift, format!("{way} {:.0} % over the run", change.abs() * 100.0)));
    }
    if let Some((low, high)) = two_modes(logs) {
        let text = format!("two groups of samples, {:.0} % apart", ((high - low).exp() - 1.0) * 100.0);
        found.push(notes::note(NoteKind::TwoModes, text));
    }
    if figure.samples < MIN_SAMPLES {
        let text = format!("{} {}: no interval", figure.samples, notes::plural(figure.samples, "sample"));
        found.push(notes::note(NoteKind::FewSamples, text));
    }
    found.extend(notes::of_facts(cell, figure.missing));
    found
}

/// Centres of two groups, if the samples are bimodal: a gap in the middle that is wider than either group, and above 5 %.
fn two_modes(logs: &[f64]) -> Option<(f64, f64)> {
    let ranked = sorted(logs);
    let count = ranked.len();
    let least = (count / 5).max(2);
    if count < 8 {
        return None;
    }
    let cut = (least..=count - least).max_by(|&a, &b| {
        let gap = |at: usize| ranked[at] - ranked[at - 1];
        gap(a).total_cmp(&gap(b))
    })?;
    let (low, high) = ranked.split_at(cut);
    let gap = high[0] - low[low.len() - 1];
    let widest = (low[low.len() - 1] - low[0]).max(high[high.len() - 1] - high[0]);
    (gap > 0.05 && gap > widest).then(|| (mean(low), mean(high)))
}
