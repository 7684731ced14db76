//! Scatter of samples: the noise of one contender in one operation, estimated with the rest of a table.
//! In: the fitted rows of a table. Out: [`Scatter`], the prior of every comparison.
//! At three blocks the variance of a difference has two degrees of freedom; most knowledge about noise comes from other cells.
//!
//! The variance of a cell is a factor of its row times a factor of its contender: some operations are noisier, and some contenders are. A
//! contender's factor is shrunk towards 1, but never by more than half a standard error (limited translation: Efron and Morris 1972), so that a
//! noisy contender stays noisy. The remaining differences of cells determine the degrees of freedom of the prior (Smyth 2004; Phipson et al. 2016).

use crate::figure::MIN_SAMPLES;
use crate::numbers::{inverse_trigamma, mean, median, sorted, trigamma};
use crate::row::Row;
use crate::sessions::{Across, Between, Parts, Sessions};
use crate::table::Table;
use statrs::distribution::{ContinuousCDF, FisherSnedecor};
use statrs::function::gamma::digamma;

/// Prior belief about how much the scatter of cells differs, and how many cells that belief is worth. Ten degrees of freedom: standard
/// deviations mostly within a factor of 1.5 of each other.
const BELIEF: (f64, f64) = (0.2213, 3.0);
/// Prior variance of the logarithms of contenders' factors.
const SHARE_BELIEF: f64 = 0.1;
/// By how many standard errors a factor, or the variance of a comparison, may be shifted.
const LIMIT: f64 = 0.5;
/// Most degrees of freedom of a prior with many rows, and the number of rows at which it has half of that.
const MOST: (f64, f64) = (30.0, 6.5);
/// Fewest contender-blocks for a test of resemblance from block to block, and the z above which it is found.
const RESEMBLANCE: (usize, f64) = (8, 2.6);
/// Chance that independent steps look as if a contender had a common effect in one round.
const COMMON: f64 = 0.05;

/// The noise of a table.
#[derive(Debug, Clone)]
pub struct Scatter {
    rows: Vec<Known>,
    /// Factor of each contender.
    shares: Vec<f64>,
    /// Correlation of a sample with the contender's previous one, beyond what the machine does to all: 0 to 0.8; 0 where none is shown.
    pub resemblance: f64,
    /// Whether all steps of a contender in one round are fast or slow together, beyond what the machine does to all. If so, the rounds of
    /// one session cannot show whether this also lasts from round to round; never set with several sessions.
    pub common: bool,
    /// How far ratios differ between sessions; `None` where there is one.
    pub between: Option<Between>,
    /// Maps each contender to the one it is an entry or an alternative of.
    itself: Vec<usize>,
}

/// The noise of a row.
#[derive(Debug, Clone, Copy)]
struct Known {
    variance: f64,
    df: f64,
    secondary: bool,
}

/// The prior of one comparison: the variance of a difference of two samples, and its degrees of freedom.
#[derive(Debug, Clone, Copy)]
pub struct Prior<'a> {
    /// Variance.
    pub variance: f64,
    /// Degrees of freedom; 0 for none.
    pub df: f64,
    /// Factor by which variances are larger than they seem, if samples resemble the preceding ones.
    pub inflation: f64,
    /// The component between sessions; `None` where there is one session, and between two entries of one contender.
    pub across: Option<Across<'a>>,
}

fn least_samples(prior_df: f64) -> usize {
    if prior_df >= 1.0 { MIN_SAMPLES - 1 } else { MIN_SAMPLES }
}

impl Prior<'_> {
    /// Fewest samples for an interval: two where the other contenders of the row provide a scatter estimate, else three.
    pub fn least_samples(&self) -> usize {
        least_samples(self.df)
    }

    /// The variance of a difference within its sessions and its degrees of freedom; `None` where neither the sessions nor this prior provide it.
    pub fn within(&self, parts: &Parts) -> Option<(f64, f64)> {
        match parts.within_df() {
            df if df > 0.0 => Some(self.moderate(parts.within / df, df)),
            _ => (self.df >= 1.0).then_some((self.variance * self.inflation, self.df)),
        }
    }

    /// The variance of a difference and its degrees of freedom, from its own estimate and this prior.
    pub fn moderate(&self, own: f64, own_df: f64) -> (f64, f64) {
        let df = own_df + self.df;
        let drawn = (self.df * self.variance + own_df * own) / df;
        let least = own * (-LIMIT * trigamma(own_df / 2.0).sqrt()).exp();
        (drawn.max(least) * self.inflation, df)
    }
}

impl Scatter {
    /// Learns from all rows of a table.
    pub fn of(table: &Table, rows: &[Row], sessions: &Sessions) -> Self {
        let itself = |contender: usize| table.stands_for(contender);
        let cells: Vec<Cell> = rows
            .iter()
            .enumerate()
            .filter(|(_, row)| row.members.len() > 2)
            .flat_map(|(at, row)| {
                let known = row.members.iter().zip(&row.spreads);
                known.filter_map(move |(member, spread)| spread.map(|spread| (at, member.contender, spread)))
            })
            .map(|(row, contender, (variance, df))| Cell { row, contender: itself(contender), variance, df })
            .collect();
        let (variances, mut shares) = fit(rows.len(), table.contenders.len(), &cells);
        for contender in 0..shares.len() {
            shares[contender] = shares[itself(contender)];
        }
        let wide_df = wide_df(&cells, &variances, &shares);
        let pairs = Pairs::of(rows);
        let wide = rows.iter().filter(|row| row.members.len() > 2).count() as f64;
        let most = MOST.0 * wide / (wide + MOST.1);
        let known = rows.iter().enumerate().map(|(at, row)| match row.members.len() {
            0 | 1 => (0.0, 0.0),
            2 => pairs.known(row),
            members => {
                let all: f64 = row.spreads.iter().flatten().map(|spread| spread.1).sum();
                let own = all / (members - 1) as f64;
                let variance = variances[at];
                (variance, if variance > 0.0 { wide_df.min(all - own).clamp(0.0, most) } else { 0.0 })
            }
        });
        let of_row = |((variance, df), row): ((f64, f64), &Row)| Known { variance, df, secondary: row.secondary };
        let known = known.zip(rows).map(of_row).collect();
        // A sum correlates with its own steps.
        let left = left_by_contender(rows.iter().filter(|row| !table.operations[row.operation].summary), sessions);
        let between = Between::of(table, rows, sessions);
        let common = between.is_none() && is_common(&left);
        let itself = (0..table.contenders.len()).map(itself).collect();
        Scatter { rows: known, shares, resemblance: resemblance(&left), common, between, itself }
    }

    /// Fewest samples for a bound of a contender in a row, as [`Prior::least_samples`] of any comparison there.
    pub fn least_samples(&self, row: usize) -> usize {
        least_samples(self.rows[row].df)
    }

    /// The prior of a comparison in a row.
    pub fn prior(&self, row: usize, first: usize, second: usize) -> Prior<'_> {
        let known = self.rows[row];
        let share = |contender: usize| self.shares.get(contender).copied().unwrap_or(1.0);
        let inflation = (1.0 + self.resemblance) / (1.0 - self.resemblance);
        let same = first != second && self.itself[first] == self.itself[second];
        let across = self.between.as_ref().filter(|_| !same).map(|between| between.across(known.secondary));
        Prior { variance: known.variance * (share(first) + share(second)), df: known.df, inflation, across }
    }
}

/// The variance of one contender in a row of three or more contenders.
struct Cell {
    row: usize,
    contender: usize,
    variance: f64,
    df: f64,
}

impl Cell {
    /// The unbiased log of its variance (Smyth 2004, section 6.2).
    fn log(&self) -> f64 {
        unbiased_log(self.variance, self.df)
    }
}

fn unbiased_log(variance: f64, df: f64) -> f64 {
    variance.ln() - digamma(df / 2.0) + (df / 2.0).ln()
}

/// Alternates between variances of rows and factors of contenders.
fn fit(rows: usize, contenders: usize, cells: &[Cell]) -> (Vec<f64>, Vec<f64>) {
    let mut shares = vec![1.0; contenders];
    let mut variances = vec![0.0; rows];
    for round in 0..4 {
        let mut sums = vec![(0.0, 0.0); rows];
        for cell in cells {
            sums[cell.row].0 += cell.df * cell.variance / shares[cell.contender];
            sums[cell.row].1 += cell.df;
        }
        variances = sums.iter().map(|(sum, df)| if *df > 0.0 { sum / df } else { 0.0 }).collect();
        if round < 3 {
            shares = shares_of(contenders, cells, &variances);
        }
    }
    (variances, shares)
}

fn shares_of(contenders: usize, cells: &[Cell], variances: &[f64]) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); contenders];
    for cell in cells {
        let weight = 1.0 / (trigamma(cell.df / 2.0) + BELIEF.0);
        sums[cell.contender].0 += weight * (cell.log() - variances[cell.row].ln());
        sums[cell.contender].1 += weight;
    }
    let logs: Vec<f64> =
        sums.iter().map(|(sum, weight)| if *weight > 0.0 { drawn(sum / weight, 1.0 / weight) } else { 0.0 }).collect();
    let of_known = |at: &usize| sums[*at].1 > 0.0;
    let centre = mean(&(0..contenders).filter(of_known).map(|at| logs[at]).collect::<Vec<_>>());
    logs.iter().zip(&sums).map(|(log, (_, weight))| if *weight > 0.0 { (log - centre).exp() } else { 1.0 }).collect()
}

/// The logarithm of a factor, shrunk towards 0 by half a standard error at most.
fn drawn(log: f64, squared_error: f64) -> f64 {
    let shrunk = log * SHARE_BELIEF / (SHARE_BELIEF + squared_error);
    let limit = LIMIT * squared_error.sqrt();
    shrunk.clamp(log - limit, log + limit)
}

/// Degrees of freedom of the prior, from how much cells differ beyond chance, their row and their contender.
fn wide_df(cells: &[Cell], variances: &[f64], shares: &[f64]) -> f64 {
    let groups = |of: &dyn Fn(&Cell) -> usize| {
        let mut found: Vec<usize> = cells.iter().map(of).collect();
        found.sort_unstable();
        found.dedup();
        found.len() as f64
    };
    let rows = groups(&|cell| cell.row);
    let freedom = cells.len() as f64 - rows;
    if freedom < 1.0 {
        return 0.0;
    }
    let left: Vec<f64> = cells.iter().map(|c| c.log() - variances[c.row].ln() - shares[c.contender].ln()).collect();
    let centre = mean(&left);
    let squares: f64 = left.iter().map(|left| (left - centre).powi(2)).sum();
    let chance = mean(&cells.iter().map(|cell| trigamma(cell.df / 2.0)).collect::<Vec<_>>());
    excess_df(squares, freedom, chance)
}

/// Degrees of freedom of a prior, from the spread of log variances: their squares around the mean, degrees of freedom, and the part due to chance.
pub fn excess_df(squares: f64, freedom: f64, chance: f64) -> f64 {
    let excess = (squares + BELIEF.1 * (chance + BELIEF.0)) / (freedom + BELIEF.1) - chance;
    if excess <= 0.002 { 1000.0 } else { 2.0 * inverse_trigamma(excess) }
}

/// Rows of two contenders, in which only the difference is observed: the rows are each other's prior, without those that are far noisier
/// than most, which would hide the others.
struct Pairs {
    kept: Vec<(f64, f64)>,
    df: f64,
    far: f64,
}

impl Pairs {
    fn of(rows: &[Row]) -> Self {
        let of_pair = |row: &&Row| row.members.len() == 2;
        let all: Vec<(f64, f64)> = rows.iter().filter(of_pair).filter_map(|row| row.spreads[0]).collect();
        let logs: Vec<f64> = all.iter().map(|(variance, df)| unbiased_log(*variance, *df)).collect();
        let chance = mean(&all.iter().map(|(_, df)| trigamma(df / 2.0)).collect::<Vec<_>>());
        let middle = median(&logs).unwrap_or(0.0);
        let apart = sorted(&logs.iter().map(|log| (log - middle).abs()).collect::<Vec<_>>());
        let spread = (1.4826 * median(&apart).unwrap_or(0.0)).max((chance + BELIEF.0).sqrt());
        let far = middle + 2.0 * spread;
        let kept: Vec<(f64, f64)> = all.into_iter().filter(|(v, df)| unbiased_log(*v, *df) <= far).collect();
        let logs: Vec<f64> = kept.iter().map(|(variance, df)| unbiased_log(*variance, *df)).collect();
        let centre = mean(&logs);
        let squares = logs.iter().map(|log| (log - centre).powi(2)).sum();
        let df = if kept.len() > 1 { excess_df(squares, kept.len() as f64 - 1.0, chance) } else { 0.0 };
        Pairs { kept, df, far }
    }

    fn known(&self, row: &Row) -> (f64, f64) {
        let Some((variance, own)) = row.spreads[0] else { return (0.0, 0.0) };
        let all: f64 = self.kept.iter().map(|spread| spread.1).sum();
        if unbiased_log(variance, own) > self.far || all <= own {
            return (0.0, 0.0);
        }
        let variance = self.kept.iter().map(|(variance, df)| variance * df).sum::<f64>() / all;
        (variance, self.df.min(all - own).clamp(0.0, MOST.0))
    }
}

/// The residual of a contender in one block, over all rows, in units of its scatter in each.
#[derive(Clone, Copy)]
struct Left {
    block: u32,
    sum: f64,
    squares: f64,
    count: f64,
}

impl Left {
    fn mean(&self) -> f64 {
        self.sum / self.count
    }
}

/// The residuals of each contender in each session, block by block, ascending.
fn left_by_contender<'a>(rows: impl Iterator<Item = &'a Row>, sessions: &Sessions) -> Vec<Vec<Left>> {
    let mut by_contender: Vec<((usize, usize), Vec<Left>)> = Vec::new();
    for row in rows.filter(|row| row.members.len() > 1 && !row.secondary) {
        for member in &row.members {
            let scale = mean(&member.left.iter().map(|left| left.1.powi(2)).collect::<Vec<f64>>()).sqrt();
            if scale <= 0.0 {
                continue;
            }
            for part in member.left.chunk_by(|a, b| sessions.at(a.0) == sessions.at(b.0)) {
                let own = (member.contender, sessions.at(part[0].0));
                let at = by_contender.iter().position(|known| known.0 == own).unwrap_or_else(|| {
                    by_contender.push((own, Vec::new()));
                    by_contender.len() - 1
                });
                add(&mut by_contender[at].1, part, scale);
            }
        }
    }
    for (_, series) in &mut by_contender {
        series.sort_by_key(|known| known.block);
    }
    by_contender.into_iter().map(|(_, series)| series).collect()
}

fn add(series: &mut Vec<Left>, all: &[(u32, f64)], scale: f64) {
    for &(block, left) in all {
        let left = left / scale;
        match series.iter_mut().find(|known| known.block == block) {
            Some(known) => {
                (known.sum, known.squares, known.count) =
                    (known.sum + left, known.squares + left * left, known.count + 1.0);
            }
            None => series.push(Left { block, sum: left, squares: left * left, count: 1.0 }),
        }
    }
}

/// Correlation of a contender's residuals with those of its previous block, over all rows together.
fn resemblance(by_contender: &[Vec<Left>]) -> f64 {
    let (mut products, mut squares, mut pairs, mut blocks) = (0.0, 0.0, 0usize, 0usize);
    for series in by_contender {
        let means: Vec<f64> = series.iter().map(Left::mean).collect();
        let own = means.iter().map(|left| left * left).sum::<f64>();
        if own <= 0.0 {
            continue;
        }
        // Each contender counts by its number of samples, however much they scatter.
        let count = means.len() as f64;
        products += count * means.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / own;
        squares += count;
        pairs += means.len().saturating_sub(1);
        blocks = blocks.max(means.len());
    }
    if pairs < RESEMBLANCE.0 || squares <= 0.0 || blocks < 4 {
        return 0.0;
    }
    // Residuals after subtracting a mean have a correlation of -1/n without any cause.
    let seen = products / squares * blocks as f64 / (blocks as f64 - 1.0) + 1.0 / (blocks as f64 - 1.0);
    if seen * (pairs as f64).sqrt() > RESEMBLANCE.1 { seen.clamp(0.0, 0.8) } else { 0.0 }
}

/// Whether the means over a contender's steps in one block scatter more than independent steps would: analysis of variance, after a mean
/// for each contender and one for each block were removed from every row.
fn is_common(by_contender: &[Vec<Left>]) -> bool {
    let all = || by_contender.iter().flatten();
    let blocks = by_contender.iter().map(Vec::len).max().unwrap_or(0) as f64;
    let steps = all().map(|left| left.count).fold(f64::INFINITY, f64::min);
    let free = (by_contender.len() as f64 - 1.0) * (blocks - 1.0);
    if free < 1.0 || steps < 2.0 || !steps.is_finite() {
        return false;
    }
    let between: f64 = all().map(|left| left.count * left.mean().powi(2)).sum();
    let within = all().map(|left| left.squares).sum::<f64>() - between;
    let (between_df, within_df) = (free, (steps - 1.0) * free);
    let Ok(f) = FisherSnedecor::new(between_df, within_df) else { return false };
    within > 0.0 && f.sf(between / between_df / (within / within_df)) < COMMON
}
