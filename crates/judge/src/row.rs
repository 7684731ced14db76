//! One row of the table, made comparable: costs by block, fitted effects, and how far samples scatter.
//! In: the series of the contenders of one operation, backend and age. Out: [`Row`]s and [`Prior`], for the ranking.
//! All on logarithms, lower is better, so that a difference is a ratio.

use crate::numbers::{inverse_trigamma, mean, trigamma, variance};
use crate::series::Series;
use crate::table::{Backend, Direction, Table};
use statrs::function::gamma::digamma;

/// Contenders of one operation on one backend, of one age.
#[derive(Debug, Clone)]
pub struct Row {
    /// Index of the operation.
    pub operation: usize,
    /// Backend of all members.
    pub backend: Backend,
    /// Age of all members, in words; empty: fresh.
    pub age: String,
    /// Judged apart from the table's own statements.
    pub secondary: bool,
    /// Those that have samples.
    pub members: Vec<Member>,
    /// Residual variance of each member, with its degrees of freedom; one for the row where there are two members.
    pub spreads: Vec<(f64, f64)>,
}

/// One contender in a row.
#[derive(Debug, Clone)]
pub struct Member {
    /// Index of the contender.
    pub contender: usize,
    /// Block and cost (log, lower is better), rising.
    pub blocks: Vec<(u32, f64)>,
    /// Costs of single trials, for samples that share no blocks.
    pub trials: Vec<f64>,
    /// Mean cost after the blocks' own effects are taken out.
    pub effect: f64,
}

/// What the other cells of a table say about the scatter of one: a scaled inverse chi-squared prior (Smyth 2004).
#[derive(Debug, Clone, Copy)]
pub struct Prior {
    /// Its variance of one sample.
    pub variance: f64,
    /// How many degrees of freedom it is worth; 0 for none.
    pub df: f64,
}

/// How much the scatter of cells is believed to differ before any is seen, and how many cells that belief is worth.
/// Ten degrees of freedom: standard deviations mostly within a factor of 1.5 of each other.
const BELIEF: (f64, f64) = (0.2213, 3.0);

/// The rows of a table: one for each operation, backend and age that has samples. Twins are left out.
pub fn rows(table: &Table, series: &[Series]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut order: Vec<usize> = (0..table.cells.len()).collect();
    order.sort_by_key(|&cell| (table.cells[cell].operation, table.cells[cell].contender));
    for cell in order {
        let contender = &table.contenders[table.cells[cell].contender];
        if contender.twin_of.is_some() || series[cell].trials.is_empty() {
            continue;
        }
        let operation = table.cells[cell].operation;
        let direction = table.operations[operation].direction;
        let member = Member::new(table.cells[cell].contender, &series[cell], direction);
        let backend = contender.backend;
        let same =
            |row: &&mut Row| row.operation == operation && row.backend == backend && row.age == contender.age.name;
        match rows.iter_mut().rev().find(same) {
            Some(row) => row.members.push(member),
            None => {
                let secondary = table.operations[operation].secondary;
                let age = contender.age.name.clone();
                rows.push(Row { operation, backend, age, secondary, members: vec![member], spreads: Vec::new() });
            }
        }
    }
    rows.iter_mut().for_each(Row::fit);
    rows
}

/// Rows of the ages of one contender each: one for each operation with a figure of its own and contender of several ages.
pub fn rows_of_ages(table: &Table, series: &[Series]) -> Vec<Row> {
    let mut rows: Vec<(&str, Row)> = Vec::new();
    let mut order: Vec<usize> = (0..table.cells.len()).collect();
    order.sort_by_key(|&cell| (table.cells[cell].operation, table.cells[cell].contender));
    for cell in order {
        let (operation, index) = (table.cells[cell].operation, table.cells[cell].contender);
        let contender = &table.contenders[index];
        let secondary = table.operations[operation].secondary;
        if secondary || contender.twin_of.is_some() || series[cell].trials.is_empty() {
            continue;
        }
        let member = Member::new(index, &series[cell], table.operations[operation].direction);
        let (name, backend) = (contender.without_age(), contender.backend);
        let same =
            |found: &&mut (&str, Row)| found.0 == name && found.1.operation == operation && found.1.backend == backend;
        match rows.iter_mut().find(same) {
            Some((_, row)) => row.members.push(member),
            None => {
                let (members, spreads) = (vec![member], Vec::new());
                rows.push((name, Row { operation, backend, age: String::new(), secondary, members, spreads }));
            }
        }
    }
    let mut rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).filter(|row| row.members.len() > 1).collect();
    rows.iter_mut().for_each(Row::fit);
    rows
}

impl Member {
    /// A contender's costs in one operation.
    pub fn new(contender: usize, series: &Series, direction: Direction) -> Self {
        let sign = if direction == Direction::LowerIsBetter { 1.0 } else { -1.0 };
        let trials: Vec<f64> = series.trials.iter().map(|trial| sign * trial.log).collect();
        let blocks = series.costs(direction);
        let effect = mean(&trials);
        Member { contender, blocks, trials, effect }
    }
}

impl Row {
    /// Fits contender + block effects by least squares (alternating means) and keeps what is left as scatter.
    pub fn fit(&mut self) {
        let mut blocks: Vec<u32> = self.members.iter().flat_map(|m| m.blocks.iter().map(|b| b.0)).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let cells: Vec<Vec<(usize, f64)>> = self.members.iter().map(|member| places(member, &blocks)).collect();
        let mut by_block = vec![0.0; blocks.len()];
        let complete = cells.iter().all(|cell| cell.len() == blocks.len());
        let rounds = if complete { 1 } else { 25 };
        for _ in 0..rounds {
            self.fit_members(&cells, &by_block);
            let before = by_block.clone();
            self.fit_blocks(&cells, &mut by_block);
            let moved = before.iter().zip(&by_block).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            if moved < 1e-9 {
                break;
            }
        }
        if complete {
            // One round is exact; the blocks' effects then average to the grand mean's share, which is no effect.
            let shift = mean(&by_block);
            by_block.iter_mut().for_each(|effect| *effect -= shift);
        }
        self.keep_scatter(&cells, &by_block);
    }

    fn fit_members(&mut self, cells: &[Vec<(usize, f64)>], by_block: &[f64]) {
        for (member, cell) in self.members.iter_mut().zip(cells) {
            member.effect = cell.iter().map(|&(block, cost)| cost - by_block[block]).sum::<f64>() / cell.len() as f64;
        }
    }

    fn fit_blocks(&self, cells: &[Vec<(usize, f64)>], by_block: &mut [f64]) {
        let mut sums = vec![(0.0, 0u32); by_block.len()];
        for (member, cell) in self.members.iter().zip(cells) {
            for &(block, cost) in cell {
                sums[block].0 += cost - member.effect;
                sums[block].1 += 1;
            }
        }
        for (effect, (sum, count)) in by_block.iter_mut().zip(sums) {
            *effect = if count > 0 { sum / f64::from(count) } else { 0.0 };
        }
    }

    fn keep_scatter(&mut self, cells: &[Vec<(usize, f64)>], by_block: &[f64]) {
        let count = self.members.len() as f64;
        let share = (count - 1.0) / count;
        self.spreads.clear();
        for (member, cell) in self.members.iter().zip(cells) {
            let left: f64 = cell.iter().map(|&(block, cost)| (cost - member.effect - by_block[block]).powi(2)).sum();
            let df = (cell.len() as f64 - 1.0) * share;
            if df >= 1.0 {
                self.spreads.push((left / df, df));
            }
        }
        if self.members.len() == 2 {
            self.spreads.clear();
            let differences = paired(&self.members[0], &self.members[1]);
            if let Some(variance) = variance(&differences) {
                self.spreads.push((variance / 2.0, differences.len() as f64 - 1.0));
            }
        }
        self.spreads.retain(|(variance, _)| *variance > 0.0);
    }
}

fn places(member: &Member, blocks: &[u32]) -> Vec<(usize, f64)> {
    let mut at = 0;
    let mut found = Vec::with_capacity(member.blocks.len());
    for &(block, cost) in &member.blocks {
        while blocks[at] < block {
            at += 1;
        }
        found.push((at, cost));
    }
    found
}

/// Differences of cost (second less first) over the blocks that both have.
pub fn paired(first: &Member, second: &Member) -> Vec<f64> {
    let mut differences = Vec::with_capacity(first.blocks.len().min(second.blocks.len()));
    let mut at = 0;
    for &(block, cost) in &second.blocks {
        while at < first.blocks.len() && first.blocks[at].0 < block {
            at += 1;
        }
        if at < first.blocks.len() && first.blocks[at].0 == block {
            differences.push(cost - first.blocks[at].1);
        }
    }
    differences
}

/// Priors for each row.
///
/// With three members or more, a row's own members are each other's prior; how alike they are is learnt from all rows.
/// With two, the rows are each other's.
pub fn priors(rows: &[Row]) -> Vec<Prior> {
    let wide: Vec<&[(f64, f64)]> = rows.iter().filter(|r| r.members.len() > 2).map(|r| r.spreads.as_slice()).collect();
    let narrow: Vec<(f64, f64)> =
        rows.iter().filter(|r| r.members.len() == 2).flat_map(|r| r.spreads.iter().copied()).collect();
    let wide_df = likeness(&wide);
    let narrow_df = likeness(&[narrow.as_slice()]);
    rows.iter()
        .map(|row| match row.members.len() {
            0 | 1 => Prior { variance: 0.0, df: 0.0 },
            2 => prior(&narrow, narrow_df, row.spreads.first().map_or(0.0, |own| own.1)),
            members => {
                prior(&row.spreads, wide_df, row.spreads.iter().map(|s| s.1).sum::<f64>() / (members - 1) as f64)
            }
        })
        .collect()
}

/// The unbiased log of a variance estimate (Smyth 2004, section 6.2).
fn unbiased_log(&(variance, df): &(f64, f64)) -> f64 {
    variance.ln() - digamma(df / 2.0) + (df / 2.0).ln()
}

/// Degrees of freedom of the prior, from how much the variances of like cells differ beyond chance.
fn likeness(groups: &[&[(f64, f64)]]) -> f64 {
    let (mut squares, mut freedom, mut chance, mut count) = (0.0, 0.0, 0.0, 0.0);
    for group in groups.iter().filter(|group| group.len() > 1) {
        let logs: Vec<f64> = group.iter().map(unbiased_log).collect();
        let centre = mean(&logs);
        squares += logs.iter().map(|log| (log - centre).powi(2)).sum::<f64>();
        freedom += group.len() as f64 - 1.0;
        chance += group.iter().map(|(_, df)| trigamma(df / 2.0)).sum::<f64>();
        count += group.len() as f64;
    }
    if count == 0.0 {
        return 0.0;
    }
    let chance = chance / count;
    let excess = (squares + BELIEF.1 * (chance + BELIEF.0)) / (freedom + BELIEF.1) - chance;
    if excess <= 0.002 { 1000.0 } else { 2.0 * inverse_trigamma(excess) }
}

/// The prior from these variances; never worth more than the cells other than the pair's own.
fn prior(spreads: &[(f64, f64)], likeness: f64, own: f64) -> Prior {
    let all: f64 = spreads.iter().map(|spread| spread.1).sum();
    let df = likeness.min(all - own).max(0.0);
    if spreads.is_empty() || df < 0.1 {
        return Prior { variance: 0.0, df: 0.0 };
    }
    let variance = spreads.iter().map(|(variance, df)| variance * df).sum::<f64>() / all;
    Prior { variance, df }
}
