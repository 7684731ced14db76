//! Sessions: stretches of a run in one state of the machine, and how far ratios differ between them.
//! In: the rows of a table of several sessions. Out: a [`Between`], the component between sessions of every comparison.
//!
//! Rounds of one session are independent of each other, but not of the time of measurement: another state of a disk, or another hour on the
//! machine, may favor another contender. Each contender has its own effect in each session and row, with a variance that all rows share.

use crate::numbers::mean;
use crate::row::{Member, Row};
use crate::scatter::{Prior, excess_df};
use crate::table::Table;

/// Standard deviation of the logarithm of a ratio between two times, as assumed for a run that was measured without a pause.
///
/// Of the quick plan (`results/answer-2026-11-2[89].md`), ratios in pairs of runs an hour or more apart agreed within their own errors in
/// 95 % of lines, and with 7 % between times in 98 %. Of pairs on two days in like virtual machines, 86 to 90 % did, and with 7 % 94 to 96 %. It holds for one
/// machine: in another, whose processor, memory and disk differed, 46 % of lines agreed; for 95 % it would have to be 30 %.
pub const ANOTHER_TIME: f64 = 0.07;
/// The same between the sessions of a table, where they do not show it.
const ASSUMED: f64 = 0.03;
/// Degrees of freedom of that assumption where a table of several sessions provides no estimate.
const ASSUMED_DF: f64 = 4.0;

/// The blocks at which the sessions of a table begin, those without samples left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Sessions(Vec<u32>);

impl Sessions {
    /// The sessions of a table.
    pub fn of(table: &Table) -> Self {
        let mut firsts = table.sessions.clone();
        firsts.push(0);
        firsts.sort_unstable();
        firsts.dedup();
        if firsts.len() > 1 {
            let mut found: Vec<u32> = table.cells.iter().flat_map(|cell| &cell.samples).map(|s| s.block).collect();
            found.sort_unstable();
            found.dedup();
            let all = Sessions(firsts.clone());
            let mut used: Vec<usize> = found.into_iter().map(|block| all.at(block)).collect();
            used.dedup();
            firsts = used.into_iter().map(|at| firsts[at]).collect();
        }
        Sessions(firsts)
    }

    /// The number of sessions, at least one.
    pub fn count(&self) -> usize {
        self.0.len().max(1)
    }

    /// Whether there are several.
    pub fn are_several(&self) -> bool {
        self.count() > 1
    }

    /// The session of a block, from 0.
    pub fn at(&self, block: u32) -> usize {
        self.0.partition_point(|first| *first <= block).saturating_sub(1)
    }
}

/// Values by session: count, mean, and squares around the mean.
#[derive(Debug, Clone, Default)]
pub struct Parts {
    /// Session, count and mean, ascending.
    pub means: Vec<(usize, f64, f64)>,
    /// Sum of squares within the sessions.
    pub within: f64,
}

impl Parts {
    /// Splits values, each with its block, in ascending order.
    pub fn of(values: &[(u32, f64)], sessions: &Sessions) -> Self {
        let mut parts = Parts::default();
        for part in values.chunk_by(|a, b| sessions.at(a.0) == sessions.at(b.0)) {
            let logs: Vec<f64> = part.iter().map(|value| value.1).collect();
            let centre = mean(&logs);
            parts.within += logs.iter().map(|log| (log - centre).powi(2)).sum::<f64>();
            parts.means.push((sessions.at(part[0].0), logs.len() as f64, centre));
        }
        parts
    }

    /// Values in all.
    pub fn count(&self) -> f64 {
        self.means.iter().map(|part| part.1).sum()
    }

    /// Degrees of freedom within the sessions.
    pub fn within_df(&self) -> f64 {
        self.count() - self.means.len() as f64
    }

    /// Degrees of freedom between them.
    fn between_df(&self) -> f64 {
        (self.means.len() as f64 - 1.0).max(0.0)
    }

    fn squared_counts(&self) -> f64 {
        self.means.iter().map(|part| part.1.powi(2)).sum()
    }

    /// The number of sessions of equal size that they are equivalent to, for a mean over all values.
    pub fn effective(&self) -> f64 {
        self.count().powi(2) / self.squared_counts().max(1.0)
    }

    /// The number of values of a session that count in the mean square between sessions; 0 for one session.
    fn each(&self) -> f64 {
        let df = self.between_df();
        if df > 0.0 { (self.count() - self.squared_counts() / self.count()) / df } else { 0.0 }
    }

    /// Sum of squares between the sessions.
    fn between(&self) -> f64 {
        let centre = self.means.iter().map(|part| part.1 * part.2).sum::<f64>() / self.count().max(1.0);
        self.means.iter().map(|part| part.1 * (part.2 - centre).powi(2)).sum()
    }
}

/// How much the ratios of contenders differ between sessions.
#[derive(Debug, Clone)]
pub struct Between {
    /// The sessions.
    pub sessions: Sessions,
    /// For primary and for secondary figures.
    known: [Component; 2],
}

/// The component of a family of rows.
#[derive(Debug, Clone, Copy)]
struct Component {
    /// Variance of one contender's effect in one session and row.
    variance: f64,
    /// Squared standard error of that.
    squared_error: f64,
    /// Its degrees of freedom as the prior of a comparison: rows may differ.
    df: f64,
}

/// The component between sessions of one comparison.
#[derive(Debug, Clone, Copy)]
pub struct Across<'a> {
    /// The sessions.
    pub sessions: &'a Sessions,
    known: Component,
}

/// The squared standard error of a mean difference, and its degrees of freedom.
pub type Error = (f64, f64);

impl Across<'_> {
    /// The squared error of a mean of differences, from (variance within a session, its degrees of freedom) and the sessions of the values.
    ///
    /// The error within sessions is increased by the component between them over the effective number of sessions. Degrees of freedom
    /// follow Satterthwaite (Biometrics Bulletin 2, 1946), with the full uncertainty of the component where it was estimated as zero. If
    /// the comparison's own sessions differ more than those of the table suggest, its error is larger.
    pub fn error(&self, (spread, df): (f64, f64), parts: &Parts) -> Error {
        let (count, effective) = (parts.count(), parts.effective());
        let component = 2.0 * self.known.variance;
        let within = spread / count;
        let squared = within + component / effective;
        // The variance of an estimate with n degrees of freedom is 2/n of its square.
        let uncertain = (2.0 / effective).powi(2) * self.known.squared_error / 2.0;
        let df = squared * squared / (within * within / df + uncertain);
        let (own_df, each) = (parts.between_df(), parts.each());
        if own_df < 1.0 || each <= 0.0 {
            return (squared, df);
        }
        let own = parts.between() / own_df / (spread + each * component).max(f64::MIN_POSITIVE);
        let prior = Prior { variance: 1.0, df: self.known.df.min(df), inflation: 1.0, across: None };
        let (times, moderated) = prior.moderate(own, own_df);
        (squared * times.max(1.0), df.min(moderated))
    }

    /// Adds the common error of two means with their sessions, where they were not measured in the same rounds.
    pub fn apart(&self, (squared, df): Error, first: &Parts, second: &Parts) -> Error {
        let shares = 1.0 / first.effective() + 1.0 / second.effective();
        let sum = squared + self.known.variance * shares;
        let uncertain = shares * shares * self.known.squared_error / 2.0;
        (sum, sum * sum / (squared * squared / df + uncertain).max(f64::MIN_POSITIVE))
    }
}

impl Between {
    /// Estimates the component from all rows of a table; `None` where it has one session.
    pub fn of(table: &Table, rows: &[Row], sessions: &Sessions) -> Option<Self> {
        if !sessions.are_several() {
            return None;
        }
        let of_family = |secondary: bool| {
            // A sum correlates with its own steps.
            let own = |row: &&Row| row.secondary == secondary && !table.operations[row.operation].summary;
            let squares: Vec<Squares> = rows.iter().filter(own).filter_map(|row| Squares::of(row, sessions)).collect();
            Component::of(&squares)
        };
        Some(Between { sessions: sessions.clone(), known: [of_family(false), of_family(true)] })
    }

    /// The component of a comparison in a row.
    pub fn across(&self, secondary: bool) -> Across<'_> {
        Across { sessions: &self.sessions, known: self.known[usize::from(secondary)] }
    }

    /// Standard deviation between sessions of the logarithm of a ratio.
    pub fn of_ratios(&self) -> f64 {
        (2.0 * self.known[0].variance).sqrt()
    }
}

/// Mean squares of a row between its sessions and within them.
struct Squares {
    between: f64,
    between_df: f64,
    within: f64,
    within_df: f64,
    /// Rounds of a session that count in the mean square between sessions.
    each: f64,
    /// Contender, session, and its mean there times the root of its rounds.
    effects: Vec<(usize, usize, f64)>,
}

impl Squares {
    /// Computes them from residuals without contender and round effects; `None` where no contender of several was measured in two sessions.
    fn of(row: &Row, sessions: &Sessions) -> Option<Self> {
        // Second entries share the effect of the first, and would hide it.
        let members: Vec<&Member> = row.members.iter().filter(|member| !member.twin).collect();
        let residuals = residuals(&members);
        let parts: Vec<Parts> = residuals.iter().map(|left| Parts::of(left, sessions)).collect();
        let share = (members.len() as f64 - 1.0) / members.len() as f64;
        let sum = |of: &dyn Fn(&Parts) -> f64| parts.iter().map(of).sum::<f64>();
        let (between_df, within_df) = (share * sum(&Parts::between_df), share * sum(&Parts::within_df));
        if between_df <= 0.0 || within_df <= 0.0 {
            return None;
        }
        let within = sum(&|parts| parts.within) / within_df;
        let several: Vec<f64> = parts.iter().map(Parts::each).filter(|each| *each > 0.0).collect();
        let effects = members.iter().zip(&parts).flat_map(|(member, parts)| {
            parts.means.iter().map(|&(session, count, mean)| (member.contender, session, mean * count.sqrt()))
        });
        (within > 0.0).then(|| Squares {
            between: sum(&Parts::between) / between_df,
            between_df,
            within,
            within_df,
            each: mean(&several),
            effects: effects.collect(),
        })
    }

    /// Expected mean square between sessions with such a component.
    fn expected(&self, variance: f64) -> f64 {
        self.within + self.each * variance
    }
}

/// The residuals of each member's costs, without its own effect and that of the round.
fn residuals(members: &[&Member]) -> Vec<Vec<(u32, f64)>> {
    let mut blocks: Vec<(u32, f64, f64)> = Vec::new();
    for member in members {
        for &(block, cost) in &member.blocks {
            let left = cost - member.effect;
            match blocks.binary_search_by_key(&block, |known| known.0) {
                Ok(at) => (blocks[at].1, blocks[at].2) = (blocks[at].1 + left, blocks[at].2 + 1.0),
                Err(at) => blocks.insert(at, (block, left, 1.0)),
            }
        }
    }
    let of_block = |block: u32| {
        let at = blocks.binary_search_by_key(&block, |known| known.0).ok()?;
        let (_, sum, count) = blocks[at];
        // A single contender in a round gives no ratio.
        (count > 1.0).then(|| sum / count)
    };
    let of_member = |member: &&Member| {
        let left =
            member.blocks.iter().filter_map(|&(block, cost)| Some((block, cost - member.effect - of_block(block)?)));
        left.collect()
    };
    members.iter().map(of_member).collect()
}

impl Component {
    /// Estimates the component by the method of moments over rows, weighted by the inverse of their noise.
    fn of(rows: &[Squares]) -> Self {
        let assumed = ASSUMED.powi(2) / 2.0;
        if rows.is_empty() {
            // An estimate with n degrees of freedom has a squared error of 2/n of its square.
            return Component {
                variance: assumed,
                squared_error: 2.0 * assumed * assumed / ASSUMED_DF,
                df: ASSUMED_DF,
            };
        }
        let (mut variance, mut weights) = (assumed, Vec::new());
        for _ in 0..8 {
            // Rows without noise do not prove a component that noise hides in others.
            let weight = |row: &Squares| row.between_df / (row.within / row.each + variance.max(assumed)).powi(2);
            weights = rows.iter().map(weight).collect();
            let found = rows.iter().zip(&weights).map(|(row, weight)| weight * (row.between - row.within) / row.each);
            variance = (found.sum::<f64>() / weights.iter().sum::<f64>()).max(0.0);
        }
        let all: f64 = weights.iter().sum();
        let squared_errors = rows.iter().zip(&weights).map(|(row, weight)| {
            let parts = row.expected(variance).powi(2) / row.between_df + row.within.powi(2) / row.within_df;
            (weight / all / row.each).powi(2) * 2.0 * parts
        });
        let squared_error = squared_errors.sum::<f64>() * shared(rows, variance);
        Component { variance, squared_error, df: likeness(rows, variance) }
    }
}

/// Factor by which the squared error of a variance over all rows is larger, because a contender's effect in a session is partly the same in
/// all of them.
fn shared(rows: &[Squares], variance: f64) -> f64 {
    // Contender and session; sum, squares and count over rows.
    let mut cells: Vec<((usize, usize), [f64; 3])> = Vec::new();
    for row in rows {
        let scale = row.expected(variance).sqrt();
        for &(contender, session, effect) in &row.effects {
            let z = effect / scale;
            let at = cells.iter().position(|known| known.0 == (contender, session)).unwrap_or_else(|| {
                cells.push(((contender, session), [0.0; 3]));
                cells.len() - 1
            });
            let sums = &mut cells[at].1;
            *sums = [sums[0] + z, sums[1] + z * z, sums[2] + 1.0];
        }
    }
    let products: f64 = cells.iter().map(|(_, [sum, squares, _])| sum * sum - squares).sum();
    let most: f64 = cells.iter().map(|(_, [_, squares, count])| squares * (count - 1.0)).sum();
    let correlation = if most > 0.0 { (products / most).clamp(0.0, 1.0) } else { 0.0 };
    1.0 + (rows.len() as f64 - 1.0) * correlation * correlation
}

/// Degrees of freedom of all rows together as the prior of one, from how much they differ beyond chance (as for the scatter within sessions).
fn likeness(rows: &[Squares], variance: f64) -> f64 {
    use crate::numbers::trigamma;
    use statrs::function::gamma::digamma;
    let log = |row: &Squares| {
        let half = row.between_df / 2.0;
        (row.between.max(f64::MIN_POSITIVE) / row.expected(variance)).ln() - digamma(half) + half.ln()
    };
    let logs: Vec<f64> = rows.iter().map(log).collect();
    let centre = mean(&logs);
    let squares = logs.iter().map(|log| (log - centre).powi(2)).sum();
    let chance = mean(&rows.iter().map(|row| trigamma(row.between_df / 2.0)).collect::<Vec<f64>>());
    excess_df(squares, rows.len() as f64 - 1.0, chance)
}
