//! The score of a run as IO500 computes it, if its twelve operations were measured.
//! In: the cells of a view. Out: a [`ScoreView`] for each contender; no verdict uses it.
//! Bandwidth is the geometric mean of four rates in GiB/s, metadata that of eight in thousands a second, the score that of both.

use super::WorkloadView;
use serde::Serialize;
use std::collections::BTreeMap;

/// Operations by their names in IO500, those that are counted in GiB/s.
const BANDWIDTH: [&str; 4] = ["ior-easy-write", "ior-easy-read", "ior-hard-write", "ior-hard-read"];
/// Those that are counted in thousands a second.
const METADATA: [&str; 8] = [
    "mdtest-easy-write",
    "mdtest-easy-stat",
    "mdtest-easy-delete",
    "mdtest-hard-write",
    "mdtest-hard-stat",
    "mdtest-hard-read",
    "mdtest-hard-delete",
    "find",
];
const GIB: f64 = (1u64 << 30) as f64;
const THOUSAND: f64 = 1e3;

/// The score of one contender.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoreView {
    /// Index into [`super::View::contenders`].
    pub contender: usize,
    /// Number of clients; absent where one engine did all the work.
    pub clients: Option<String>,
    /// Geometric mean of the bandwidths, in GiB/s.
    pub bandwidth: f64,
    /// Geometric mean of the metadata rates, in thousands a second.
    pub metadata: f64,
    /// The square root of their product.
    pub score: f64,
}

/// Scores of all contenders, for each number of clients.
pub(super) fn scores(workloads: &[WorkloadView], contenders: usize) -> Vec<ScoreView> {
    let mut clients: Vec<Option<&str>> = workloads.iter().map(setting).collect();
    clients.dedup();
    let mut known: Vec<Option<&str>> = Vec::new();
    for one in clients {
        if !known.contains(&one) {
            known.push(one);
        }
    }
    let each = known.into_iter().flat_map(|clients| (0..contenders).map(move |contender| (clients, contender)));
    each.filter_map(|(clients, contender)| {
        let mine = workloads.iter().filter(|workload| setting(workload) == clients);
        let rates: BTreeMap<&str, f64> = mine
            .flat_map(|workload| &workload.rows)
            .filter_map(|row| Some((row.key.split(':').next()?, row.cells.get(contender)?.figure?.median)))
            .collect();
        score(&rates).map(|(bandwidth, metadata, score)| ScoreView {
            contender,
            clients: clients.map(str::to_owned),
            bandwidth,
            metadata,
            score,
        })
    })
    .collect()
}

fn setting(workload: &WorkloadView) -> Option<&str> {
    workload.settings.iter().find(|(name, _)| name == "clients").map(|(_, value)| value.as_str())
}

/// Bandwidth, metadata rate and score from rates in bytes and in operations a second; None if one is missing or zero.
fn score(rates: &BTreeMap<&str, f64>) -> Option<(f64, f64, f64)> {
    let mean = |names: &[&str], unit: f64| {
        let logs = names.iter().map(|name| rates.get(name).filter(|rate| **rate > 0.0).map(|rate| (rate / unit).ln()));
        let logs: Option<Vec<f64>> = logs.collect();
        logs.map(|logs| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
    };
    let (bandwidth, metadata) = (mean(&BANDWIDTH, GIB)?, mean(&METADATA, THOUSAND)?);
    Some((bandwidth, metadata, (bandwidth * metadata).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rates in the units of IO500's result_summary.txt, whose last line is
    /// `[SCORE ] Bandwidth ... GiB/s : IOPS ... kiops : TOTAL ...`.
    #[test]
    fn the_score_is_that_of_the_documented_formula() {
        let bandwidths = [2.064, 0.113, 2.211, 0.511].map(|gib| gib * GIB);
        let rates = [18.6, 8.4, 71.6, 48.2, 42.7, 15.2, 22.9, 6.1].map(|thousands| thousands * THOUSAND);
        let names = ["ior-easy-write", "ior-hard-write", "ior-easy-read", "ior-hard-read"];
        let of = [
            "mdtest-easy-write",
            "mdtest-hard-write",
            "find",
            "mdtest-easy-stat",
            "mdtest-hard-stat",
            "mdtest-easy-delete",
            "mdtest-hard-read",
            "mdtest-hard-delete",
        ];
        let mut all: BTreeMap<&str, f64> = names.into_iter().zip(bandwidths).chain(of.into_iter().zip(rates)).collect();
        let (bandwidth, metadata, score) = super::score(&all).expect("all twelve are there");
        // Computed by roots of products instead of logarithms.
        let fourth = (2.064f64 * 0.113 * 2.211 * 0.511).powf(0.25);
        let eighth = (18.6f64 * 8.4 * 71.6 * 48.2 * 42.7 * 15.2 * 22.9 * 6.1).powf(0.125);
        assert!((bandwidth - fourth).abs() < 1e-9 && (metadata - eighth).abs() < 1e-9, "{bandwidth} {metadata}");
        assert!((score - (fourth * eighth).sqrt()).abs() < 1e-9, "{score}");
        all.remove("find");
        assert_eq!(super::score(&all), None, "eleven of twelve are no score");
    }
}
