//! Details behind a single figure: the latencies of all operations, and throughput over time.
//! In: histograms in the HDR interchange form and series of the trials that count. Out: percentiles and lines.

use super::known::counted_trials;
use super::{Material, RowView};
use hdrhistogram::Histogram;
use judge::median;
use records::program::Figure;
use serde::Serialize;

/// Percentiles that tables and pictures show.
pub const PERCENTILES: [f64; 6] = [50.0, 90.0, 99.0, 99.9, 99.99, 100.0];
/// Most points of one line over time.
const MOST_POINTS: usize = 120;

/// Latency of whole items over all trials that count.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Latency {
    /// Operations recorded.
    pub count: u64,
    /// Mean in nanoseconds.
    pub mean_ns: f64,
    /// For each of the usual percentiles that the count supports: the percentile and nanoseconds.
    pub percentiles: Vec<(f64, u64)>,
}

/// Throughput over time: the median over trials in each interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesView {
    /// Length of an interval, in seconds.
    pub interval: f64,
    /// Bytes or items a second, in base units.
    pub values: Vec<f64>,
    /// Nanoseconds of the longest call that returned in each interval, in any trial; empty where that was not recorded.
    pub longest: Vec<u64>,
}

/// A histogram of the ledger in a few numbers; None where it cannot be read.
pub(super) fn percentiles(of: &records::outcome::Histogram) -> Option<records::Percentiles> {
    let hdr = read_histogram(&of.hdr)?;
    Some(of.percentiles(|quantile| hdr.value_at_quantile(quantile)))
}

/// Latency of a row's whole items for a contender; absent where none was recorded or none can be read, and for a sum over phases, whose
/// items are of several kinds.
pub fn latency(material: &Material, row: &RowView, workload: (&str, &str), contender: usize) -> Option<Latency> {
    if row.phases.len() != 1 {
        return None;
    }
    let merged = merged_histogram(material, row, workload, contender)?;
    let count = merged.len();
    if count == 0 {
        return None;
    }
    // With fewer operations than a percentile needs, it would only repeat the largest value.
    let supported = |percentile: &&f64| **percentile == 100.0 || (1.0 - **percentile / 100.0) * count as f64 >= 1.0;
    Some(Latency {
        count,
        mean_ns: merged.mean(),
        percentiles: PERCENTILES.iter().filter(supported).map(|p| (*p, merged.value_at_percentile(*p))).collect(),
    })
}

/// All of a row's histograms of whole items, merged.
pub(crate) fn merged_histogram(
    material: &Material,
    row: &RowView,
    workload: (&str, &str),
    contender: usize,
) -> Option<Histogram<u64>> {
    let mut merged: Option<Histogram<u64>> = None;
    for trial in counted_trials(material, workload, contender) {
        for phase in trial.phases.iter().filter(|phase| row.phases.contains(&phase.name) && phase.counts()) {
            let is_meant = |name: &String| row.group.as_ref().is_none_or(|meant| meant == name);
            for group in phase.outcome.groups.iter().filter(|group| is_meant(&group.name)) {
                let Some(histogram) = group.latency.get("item").and_then(|item| read_histogram(&item.hdr)) else {
                    continue;
                };
                match &mut merged {
                    None => merged = Some(histogram),
                    Some(sum) => sum.add(histogram).ok()?,
                }
            }
        }
    }
    merged
}

/// A histogram from its interchange form; `None` where the text is invalid.
pub(crate) fn read_histogram(text: &str) -> Option<Histogram<u64>> {
    let mut histogram = ledger::histogram::read(text).ok()?;
    histogram.auto(true);
    Some(histogram)
}

/// Throughput over time of a row for a contender; absent where no trial lasted long enough, and for a sum over phases.
pub fn series(material: &Material, row: &RowView, workload: (&str, &str), contender: usize) -> Option<SeriesView> {
    if row.phases.len() != 1 {
        return None;
    }
    let mut interval_ns = 0;
    let mut lines: Vec<Vec<f64>> = Vec::new();
    let mut longest_calls: Vec<u64> = Vec::new();
    for trial in counted_trials(material, workload, contender) {
        let phases = trial.phases.iter().filter(|phase| row.phases.contains(&phase.name) && phase.counts());
        let Some(series) = phases.filter_map(|phase| phase.outcome.series.as_ref()).next() else {
            continue;
        };
        if series.interval_ns == 0 || (interval_ns != 0 && interval_ns != series.interval_ns) {
            continue;
        }
        interval_ns = series.interval_ns;
        let seconds = interval_ns as f64 / 1e9;
        let counts = if row.figure == Figure::BytesPerSecond { &series.bytes } else { &series.items };
        lines.push(counts.iter().map(|count| *count as f64 / seconds).collect());
        longest_calls.resize(longest_calls.len().max(series.longest_ns.len()), 0);
        longest_calls.iter_mut().zip(&series.longest_ns).for_each(|(most, ns)| *most = (*most).max(*ns));
    }
    let longest = lines.iter().map(Vec::len).max().filter(|longest| *longest >= 2)?;
    let at = |place: usize| lines.iter().filter_map(|line| line.get(place).copied()).collect::<Vec<_>>();
    let medians: Vec<f64> = (0..longest).filter_map(|place| median(&at(place))).collect();
    let step = medians.len().div_ceil(MOST_POINTS);
    let values = medians.chunks(step).map(|part| part.iter().sum::<f64>() / part.len() as f64).collect();
    let longest = longest_calls.chunks(step).filter_map(|part| part.iter().copied().max()).collect();
    Some(SeriesView { interval: interval_ns as f64 * step as f64 / 1e9, values, longest })
}
