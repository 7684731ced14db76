//! Samples into one table: medians, ratios to the bare loop of the same round, and their spread.
//! In: figures by work, place and tool. Out: Markdown.
//! A ratio is taken within a round, so that the machine's moods fall out of it.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Name of the bare loop among the tools.
pub const BARE: &str = "bare loop";

/// Name of the product among the tools.
pub const OURS: &str = "bakeoff";

/// What a tool did in a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Operations or bytes a second.
    pub per_second: f64,
    /// The same a second of CPU time, user and system; rivals' includes their start, so they have none.
    pub per_cpu_second: Option<f64>,
}

impl From<f64> for Measured {
    fn from(per_second: f64) -> Measured {
        Measured { per_second, per_cpu_second: None }
    }
}

/// All samples: by work and place, then by tool, one a round.
#[derive(Default)]
pub struct Samples {
    works: Vec<(String, String)>,
    figures: BTreeMap<(String, String, String), BTreeMap<usize, Measured>>,
    tools: Vec<String>,
}

/// The middle, the least and the most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Median.
    pub median: f64,
    /// Smallest.
    pub least: f64,
    /// Largest.
    pub most: f64,
}

/// Median and range of values; None of none.
pub fn spread(values: &[f64]) -> Option<Spread> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (least, most) = (*sorted.first()?, *sorted.last()?);
    let middle = sorted.len() / 2;
    let median = if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 };
    Some(Spread { median, least, most })
}

impl Samples {
    /// Keep one figure.
    pub fn add(&mut self, round: usize, work: &str, place: &str, tool: &str, figure: Measured) {
        let key = (work.to_owned(), place.to_owned());
        if !self.works.contains(&key) {
            self.works.push(key);
        }
        if !self.tools.iter().any(|t| t == tool) {
            self.tools.push(tool.to_owned());
        }
        self.figures.entry((work.into(), place.into(), tool.into())).or_default().insert(round, figure);
    }

    fn of(&self, work: &(String, String), tool: &str) -> Option<&BTreeMap<usize, Measured>> {
        self.figures.get(&(work.0.clone(), work.1.clone(), tool.to_owned()))
    }

    /// Ratio of a tool to the bare loop, round by round, of one side of what was measured.
    fn ratio_of(&self, work: &(String, String), tool: &str, side: fn(&Measured) -> Option<f64>) -> Option<Spread> {
        let (bare, tool) = (self.of(work, BARE)?, self.of(work, tool)?);
        let one = |(round, figure): (&usize, &Measured)| Some(side(figure)? / side(bare.get(round)?)?);
        spread(&tool.iter().filter_map(one).collect::<Vec<f64>>())
    }

    /// Ratio of rates.
    pub fn ratio(&self, work: &(String, String), tool: &str) -> Option<Spread> {
        self.ratio_of(work, tool, |m| Some(m.per_second))
    }

    /// Ratio of what a second of CPU time brings: other work on the machine hardly touches it.
    pub fn cpu_ratio(&self, work: &(String, String), tool: &str) -> Option<Spread> {
        self.ratio_of(work, tool, |m| m.per_cpu_second)
    }

    /// Ratio of a tool's best round to the bare loop's best: what is left when nothing else runs.
    pub fn best(&self, work: &(String, String), tool: &str) -> Option<f64> {
        let most = |tool: &str| self.of(work, tool)?.values().map(|m| m.per_second).max_by(f64::total_cmp);
        Some(most(tool)? / most(BARE)?)
    }

    /// The table.
    pub fn markdown(&self) -> String {
        let mut out = String::from(
            "| work | place | tool | median | ratio to bare: median (least to most) | best rounds | CPU time, median (least to most) | rounds |\n",
        );
        out += "|---|---|---|---|---|---|---|---|\n";
        for work in &self.works {
            for tool in &self.tools {
                let Some(figures) = self.of(work, tool) else { continue };
                let values: Vec<f64> = figures.values().map(|m| m.per_second).collect();
                let Some(s) = spread(&values) else { continue };
                let told = |ratio: Option<Spread>| match ratio {
                    None => "-".to_owned(),
                    Some(r) if tool == OURS => format!("**{:.2}** ({:.2} to {:.2})", r.median, r.least, r.most),
                    Some(r) => format!("{:.2} ({:.2} to {:.2})", r.median, r.least, r.most),
                };
                let (ratio, cpu) = (told(self.ratio(work, tool)), told(self.cpu_ratio(work, tool)));
                let _ = writeln!(
                    out,
                    "| {} | {} | {tool} | {} | {ratio} | {} | {cpu} | {} |",
                    work.0,
                    work.1,
                    human(&work.0, s.median),
                    self.best(work, tool).map_or("-".into(), |r| format!("{r:.2}")),
                    values.len()
                );
            }
        }
        out
    }
}

fn human(work: &str, figure: f64) -> String {
    if work == crate::rivals::SEQUENTIAL || work == crate::rivals::WRITE {
        format!("{:.2} GB/s", figure / 1e9)
    } else {
        format!("{:.1} thousand/s", figure / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_a_round() {
        let mut samples = Samples::default();
        for (round, mood) in [1.0, 0.5, 2.0].iter().enumerate() {
            samples.add(round, "w", "p", BARE, (100.0 * mood).into());
            samples.add(round, "w", "p", OURS, (96.0 * mood).into());
        }
        let ratio = samples.ratio(&("w".into(), "p".into()), OURS).unwrap();
        assert!((ratio.median - 0.96).abs() < 1e-12 && (ratio.most - ratio.least).abs() < 1e-12);
        assert!((samples.best(&("w".into(), "p".into()), OURS).unwrap() - 0.96).abs() < 1e-12);
        assert!(samples.markdown().contains("**0.96** (0.96 to 0.96) | 0.96 | - | 3 |"));
    }

    #[test]
    fn the_spread_of_nothing_is_nothing() {
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[3.0, 1.0]).unwrap().median, 2.0);
    }
}
