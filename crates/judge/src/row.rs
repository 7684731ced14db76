//! One row of the table, made comparable: costs by block, fitted effects, and scatter.
//! In: the series of the contenders of one operation, backend and age. Out: [`Row`]s, for the ranking and for [`crate::scatter`].
//! All on logarithms, lower is better, so that a difference is a log ratio.

use crate::numbers::mean;
use crate::series::Series;
use crate::sessions::{Parts, Sessions};
use crate::table::{Backend, Direction, Table};
use crate::{short, work};

/// Contenders of one operation on one backend, of one age.
#[derive(Debug, Clone)]
pub struct Row {
    /// Index of the operation.
    pub operation: usize,
    /// Backend of all members.
    pub backend: Backend,
    /// Age of all members, in words; empty: fresh.
    pub age: String,
    /// Not part of the table's primary statements.
    pub secondary: bool,
    /// Members that have samples, twins included.
    pub members: Vec<Member>,
    /// Variance of one sample of each member, with its degrees of freedom; if there are two members, each has half of the variance of their
    /// difference.
    pub spreads: Vec<Option<(f64, f64)>>,
}

/// One contender in a row.
#[derive(Debug, Clone)]
pub struct Member {
    /// Index of the contender.
    pub contender: usize,
    /// Block and cost (log, lower is better), ascending.
    pub blocks: Vec<(u32, f64)>,
    /// Costs of single trials, for samples that share no blocks.
    pub trials: Vec<f64>,
    /// Mean cost after the block effects are removed.
    pub effect: f64,
    /// Block and residual of its cost: without both effects and, with several sessions, without the mean of each session.
    pub left: Vec<(u32, f64)>,
    /// The second half of an A/A pair: used to estimate scatter, and not ranked.
    pub twin: bool,
    /// The contender that was picked instead of this one; this one is not ranked.
    pub alternative_of: Option<usize>,
}

/// The rows of a table: one for each operation, backend and age that has samples and whose contenders did the same work.
pub fn rows(table: &Table, series: &[Series], sessions: &Sessions) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut order: Vec<usize> = (0..table.cells.len()).collect();
    order.sort_by_key(|&cell| (table.cells[cell].operation, table.cells[cell].contender));
    for cell in order {
        let contender = &table.contenders[table.cells[cell].contender];
        if series[cell].trials.is_empty() {
            continue;
        }
        let operation = table.cells[cell].operation;
        let direction = table.operations[operation].direction;
        let twin = contender.twin_of.is_some();
        let index = table.cells[cell].contender;
        let alternative_of = contender.alternative_of.is_some().then(|| table.stands_for(index));
        let member = Member { twin, alternative_of, ..Member::new(index, &series[cell], direction) };
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
    rows.retain(|row| row.ranked().next().is_some());
    leave_out_unranked(table, &mut rows);
    rows.iter_mut().for_each(|row| row.fit(sessions));
    rows
}

/// Rows of the ages of one contender each: one for each operation with a primary figure and each contender of several ages.
pub fn rows_of_ages(table: &Table, series: &[Series], sessions: &Sessions) -> Vec<Row> {
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
    leave_out_unranked(table, &mut rows);
    rows.iter_mut().for_each(|row| row.fit(sessions));
    rows
}

/// Leaves out rows whose contenders did unequal work, and those that are too short to rank.
fn leave_out_unranked(table: &Table, rows: &mut Vec<Row>) {
    let (doubts, short) = (work::doubts(table), short::operations(table));
    let unequal =
        |row: &Row| row.members.iter().any(|member| work::is_withheld(&doubts, row.operation, member.contender));
    rows.retain(|row| !short.contains(&row.operation) && !unequal(row));
}

impl Member {
    /// A contender's costs in one operation.
    pub fn new(contender: usize, series: &Series, direction: Direction) -> Self {
        let sign = if direction == Direction::LowerIsBetter { 1.0 } else { -1.0 };
        let trials: Vec<f64> = series.trials.iter().map(|trial| sign * trial.log).collect();
        let blocks = series.costs(direction);
        let effect = mean(&trials);
        Member { contender, blocks, trials, effect, left: Vec::new(), twin: false, alternative_of: None }
    }
}

impl Row {
    /// Its members without second entries and alternatives.
    pub fn ranked(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| !member.twin && member.alternative_of.is_none())
    }

    /// The alternatives of a contender, without itself.
    pub fn alternatives(&self, contender: usize) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(move |member| member.alternative_of == Some(contender))
    }

    /// The member that is this contender.
    pub fn member(&self, contender: usize) -> Option<&Member> {
        self.members.iter().find(|member| member.contender == contender)
    }

    /// Fits contender and block effects by least squares (alternating means) and keeps the residuals as scatter.
    pub fn fit(&mut self, sessions: &Sessions) {
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
            // One round is exact; the block effects then average to a constant, which is no effect.
            let shift = mean(&by_block);
            by_block.iter_mut().for_each(|effect| *effect -= shift);
        }
        self.keep_scatter(&cells, &by_block, sessions);
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

    /// Keeps the residuals, and the variance of each member in them.
    ///
    /// The residuals of one member contain a part of the noise of all others, through the block effects: with k members their mean square is
    /// (1 - 2/k) of its own variance plus 1/k^2 of the sum of all. This is solved for the variances, as Grubbs (1948) does for instruments.
    fn keep_scatter(&mut self, cells: &[Vec<(usize, f64)>], by_block: &[f64], sessions: &Sessions) {
        for (member, cell) in self.members.iter_mut().zip(cells) {
            let effect = member.effect;
            let known = member.blocks.iter().zip(cell);
            member.left = known.map(|((block, _), &(at, cost))| (*block, cost - effect - by_block[at])).collect();
            if sessions.are_several() {
                centre(&mut member.left, sessions);
            }
        }
        let count = self.members.len() as f64;
        if self.members.len() <= 2 {
            let found = match self.members.as_slice() {
                [first, second] => half_of_difference(first, second, sessions),
                _ => None,
            };
            self.spreads = vec![found; self.members.len()];
            return;
        }
        let squares = |member: &Member| member.left.iter().map(|left| left.1.powi(2)).sum::<f64>();
        let free: Vec<f64> = self.members.iter().map(|one| Parts::of(&one.left, sessions).within_df()).collect();
        let of_member = |(member, &df): (&Member, &f64)| (df > 0.0).then(|| squares(member) / df);
        let means: Vec<Option<f64>> = self.members.iter().zip(&free).map(of_member).collect();
        let all: Vec<f64> = means.iter().flatten().copied().collect();
        let sum = mean(&all) * count / (1.0 - 1.0 / count);
        let own = |square: f64| {
            let solved = (square - sum / (count * count)) / (1.0 - 2.0 / count);
            // Noise of others may hide a quiet member; then its variance is only known to be no larger than observed.
            solved.max(square / 4.0)
        };
        let share = (count - 1.0) / count;
        let with_df = free.into_iter().zip(means);
        self.spreads = with_df
            .map(|(df, square)| Some((own(square?), df * share)))
            .map(|spread| spread.filter(|(variance, df)| *variance > 0.0 && *df >= 0.5))
            .collect();
    }
}

fn half_of_difference(first: &Member, second: &Member, sessions: &Sessions) -> Option<(f64, f64)> {
    let parts = Parts::of(&paired(first, second), sessions);
    let df = parts.within_df();
    (df > 0.0 && parts.within > 0.0).then(|| (parts.within / df / 2.0, df))
}

/// Subtracts the mean of each session.
fn centre(left: &mut [(u32, f64)], sessions: &Sessions) {
    for part in left.chunk_by_mut(|a, b| sessions.at(a.0) == sessions.at(b.0)) {
        let mean = part.iter().map(|left| left.1).sum::<f64>() / part.len() as f64;
        part.iter_mut().for_each(|left| left.1 -= mean);
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

/// Differences of cost (second minus first) over the blocks that both have, each with its block.
pub fn paired(first: &Member, second: &Member) -> Vec<(u32, f64)> {
    let mut differences = Vec::with_capacity(first.blocks.len().min(second.blocks.len()));
    let mut at = 0;
    for &(block, cost) in &second.blocks {
        while at < first.blocks.len() && first.blocks[at].0 < block {
            at += 1;
        }
        if at < first.blocks.len() && first.blocks[at].0 == block {
            differences.push((block, cost - first.blocks[at].1));
        }
    }
    differences
}
