//! What was measured now beside what an earlier page says: has the product lost against the bare loop?
//! In: the samples of this run, and a page that `make bench` wrote. Out: lines for the terminal, and which works have lost.
//! Ratios to the bare loop are compared, never figures: they carry over from one machine to another.

use crate::table::{OURS, Samples, Spread};

/// A ratio that fell by less than this share is no loss: medians of some rounds differ by as much.
const MARGIN: f64 = 0.05;

/// What became of one work.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Work and place.
    pub what: (String, String),
    /// Ratio to the bare loop on the page.
    pub then: Spread,
    /// The same now.
    pub now: Spread,
}

impl Change {
    /// The median is below what it was by more than the margin, and below every round of then.
    pub fn is_loss(&self) -> bool {
        self.now.median < self.then.median * (1.0 - MARGIN) && self.now.median < self.then.least
    }
}

/// All works that both have, by CPU time, which other work on the machine hardly touches, or else by rate.
pub fn changes(samples: &Samples, page: &str) -> Result<Vec<Change>, String> {
    let rows = page.lines().filter_map(row).collect::<Vec<_>>();
    if rows.is_empty() {
        return Err(format!("no line of {OURS} stands in a table there; is it a page that `make bench` wrote?"));
    }
    let now = |what: &(String, String)| samples.cpu_ratio(what, OURS).or_else(|| samples.ratio(what, OURS));
    Ok(rows.into_iter().filter_map(|(what, then)| Some(Change { now: now(&what)?, what, then })).collect())
}

/// A line of the page's table that is about the product.
fn row(line: &str) -> Option<((String, String), Spread)> {
    let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
    let [work, place, tool, _, ratio, _, cpu, _] = cells[..] else { return None };
    let then = spread(cpu).or_else(|| spread(ratio))?;
    (tool == OURS).then(|| ((work.to_owned(), place.to_owned()), then))
}

/// `**0.98** (0.95 to 1.07)`.
fn spread(cell: &str) -> Option<Spread> {
    let (median, range) = cell.split_once(" (")?;
    let (least, most) = range.trim_end_matches(')').split_once(" to ")?;
    let number = |text: &str| text.trim_matches('*').parse::<f64>().ok();
    Some(Spread { median: number(median)?, least: number(least)?, most: number(most)? })
}

/// The changes as a person reads them, the losses marked.
pub fn lines(changes: &[Change]) -> String {
    let one = |spread: &Spread| format!("{:.2} ({:.2} to {:.2})", spread.median, spread.least, spread.most);
    let mut out = format!("{:<66} {:<21} {}\n", "ratio to the bare loop, by CPU time", "then", "now");
    for change in changes {
        let loss = if change.is_loss() { "  LOSS" } else { "" };
        let what = format!("{}, {}", change.what.0, change.what.1);
        out += &format!("{what:<66} {:<21} {}{loss}\n", one(&change.then), one(&change.now));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::BARE;

    const PAGE: &str = "\
| work | place | tool | median | ratio to bare: median (least to most) | best rounds | CPU time, median (least to most) | rounds |
|---|---|---|---|---|---|---|---|
| stat | tmpfs | bare loop | 974.6 thousand/s | 1.00 (1.00 to 1.00) | 1.00 | 1.00 (1.00 to 1.00) | 5 |
| stat | tmpfs | bakeoff | 919.8 thousand/s | **0.95** (0.83 to 0.99) | 0.97 | **0.94** (0.90 to 0.99) | 5 |
";

    fn now(ratio: f64) -> Vec<Change> {
        let mut samples = Samples::default();
        samples.add(0, "stat", "tmpfs", BARE, 100.0.into());
        samples.add(0, "stat", "tmpfs", OURS, (100.0 * ratio).into());
        changes(&samples, PAGE).unwrap()
    }

    #[test]
    fn a_ratio_that_fell_below_all_rounds_of_then_is_a_loss() {
        assert_eq!(now(0.85)[0].then, Spread { median: 0.94, least: 0.90, most: 0.99 });
        assert!(now(0.85)[0].is_loss() && lines(&now(0.85)).contains("0.85 (0.85 to 0.85)  LOSS"));
        assert!(!now(0.91)[0].is_loss(), "within what rounds of then differed by");
        assert!(!now(1.2)[0].is_loss());
    }

    #[test]
    fn a_page_without_the_table_is_an_error() {
        assert!(changes(&Samples::default(), "# Something else\n").unwrap_err().contains("make bench"));
    }
}
