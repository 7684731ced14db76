//! The judgement of a table, put together.
//! In: a [`Table`]. Out: a [`Judgement`], or its figures and rankings alone for those who decide often.
//! Sentences and notes are added last and never weigh in.

use crate::figure;
use crate::judgement::{Figure, Judgement, Note, NoteKind, Ranking};
use crate::notes;
use crate::numbers::median;
use crate::rank;
use crate::row::{self, Member, Prior, Row};
use crate::series::Series;
use crate::table::{Table, TableError};
use crate::words;

/// Smallest difference that is ever called one.
pub const SMALLEST: f64 = 0.03;

/// Figures and rankings without words.
pub struct Weighed {
    /// One for each cell with values.
    pub figures: Vec<Figure>,
    /// One for each operation, backend and age.
    pub rankings: Vec<Ranking>,
    /// One for each operation and contender of several ages.
    pub ageing: Vec<Ranking>,
    /// From the A/A pair.
    pub floor: Floor,
}

/// What A/A pairs differ by.
pub struct Floor {
    /// Median over all operations, a share.
    pub median: Option<f64>,
    /// By operation, a share.
    pub by_operation: Vec<Option<f64>>,
    /// Operations in which the same contender, entered twice, differs from itself beyond doubt.
    pub broken: Vec<usize>,
}

/// Judges a table.
///
/// # Errors
/// The table contradicts itself or passes a limit.
pub fn judge(table: &Table) -> Result<Judgement, TableError> {
    table.check()?;
    let mut weighed = weigh(table);
    note_durability(table, &mut weighed);
    let sentences = words::sentences(table, &weighed);
    let family = weighed.rankings.iter().filter(|ranking| !table.operations[ranking.operation].secondary);
    Ok(Judgement {
        comparisons: family.map(|ranking| ranking.others.len()).sum(),
        smallest_effect: weighed.floor.median.unwrap_or(0.0).max(SMALLEST),
        noise_floor: weighed.floor.median,
        notes: table_notes(table, &weighed),
        sentences,
        figures: weighed.figures,
        rankings: weighed.rankings,
        ageing: weighed.ageing,
    })
}

/// Says beside each figure which safety its contender gives up and another one, ranked beside it, keeps.
fn note_durability(table: &Table, weighed: &mut Weighed) {
    for ranking in &weighed.rankings {
        let members: Vec<usize> = ranking.members().collect();
        for figure in weighed.figures.iter_mut().filter(|figure| figure.operation == ranking.operation) {
            if !members.contains(&figure.contender) {
                continue;
            }
            let own = table.contenders[figure.contender].durability;
            let missing = |other: &usize| own.missing_against(&table.contenders[*other].durability);
            let all: Vec<&str> = members.iter().flat_map(missing).collect();
            for safety in ["flushes", "ordered data"].iter().filter(|safety| all.contains(safety)) {
                figure.notes.push(notes::note(NoteKind::Durability, format!("gives up {safety}")));
            }
        }
    }
}

/// Figures and rankings of a table that was checked.
pub fn weigh(table: &Table) -> Weighed {
    let series: Vec<Series> = table.cells.iter().map(Series::of).collect();
    let figures = (0..table.cells.len()).filter_map(|cell| figure::figure(table, cell, &series[cell])).collect();
    let (rankings, floor) = rank_all(table, &series, rank::Looks::of(table));
    let ageing = rank_ages(table, &series, &floor);
    Weighed { figures, rankings, ageing, floor }
}

/// The ages of each contender against each other.
fn rank_ages(table: &Table, series: &[Series], floor: &Floor) -> Vec<Ranking> {
    let rows = row::rows_of_ages(table, series);
    let priors = row::priors(&rows);
    let smallest: Vec<f64> = rows.iter().map(|row| floor.smallest(row.operation)).collect();
    rank::rankings(table, &rows, &priors, &smallest, rank::Looks::of(table))
}

/// Rankings and noise floor.
pub fn rank_all(table: &Table, series: &[Series], looks: rank::Looks) -> (Vec<Ranking>, Floor) {
    let rows = row::rows(table, series);
    let priors = row::priors(&rows);
    let floor = floor(table, series, &rows, &priors);
    let smallest: Vec<f64> = rows.iter().map(|row| floor.smallest(row.operation)).collect();
    let rankings = rank::rankings(table, &rows, &priors, &smallest, looks);
    (rankings, floor)
}

impl Floor {
    /// Smallest difference that is called one in an operation.
    pub fn smallest(&self, operation: usize) -> f64 {
        let own = self.by_operation.get(operation).copied().flatten().unwrap_or(0.0);
        SMALLEST.max(own).max(self.median.unwrap_or(0.0))
    }
}

/// What the A/A pairs of a table differ by.
pub fn floor_of(table: &Table) -> Floor {
    if twins(table).next().is_none() {
        return Floor { median: None, by_operation: Vec::new(), broken: Vec::new() };
    }
    let series: Vec<Series> = table.cells.iter().map(Series::of).collect();
    let rows = row::rows(table, &series);
    let priors = row::priors(&rows);
    floor(table, &series, &rows, &priors)
}

fn floor(table: &Table, series: &[Series], rows: &[Row], priors: &[Prior]) -> Floor {
    let mut floor = Floor { median: None, by_operation: vec![None; table.operations.len()], broken: Vec::new() };
    for (twin, of) in twins(table) {
        for (at, row) in rows.iter().enumerate() {
            let original = row.members.iter().find(|member| member.contender == of);
            let own = table.cells.iter().position(|cell| (cell.operation, cell.contender) == (row.operation, twin));
            let (Some(original), Some(own)) = (original, own) else { continue };
            let direction = table.operations[row.operation].direction;
            let repeated = Member::new(twin, &series[own], direction);
            let Some(found) = rank::Evidence::of(original, &repeated, priors[at]) else { continue };
            let share = found.log.abs().exp_m1();
            let most = &mut floor.by_operation[row.operation];
            *most = Some(most.map_or(share, |before| before.max(share)));
            let level = rank::Looks::of(table).level(rank::ALPHA / rows.len() as f64);
            if share > SMALLEST && found.p <= level {
                floor.broken.push(row.operation);
            }
        }
    }
    let known: Vec<f64> = floor.by_operation.iter().flatten().copied().collect();
    floor.median = median(&known);
    floor
}

fn twins(table: &Table) -> impl Iterator<Item = (usize, usize)> {
    table.contenders.iter().enumerate().filter_map(|(twin, contender)| {
        let of = table.contender(contender.twin_of.as_deref()?)?;
        Some((twin, of))
    })
}

fn table_notes(table: &Table, weighed: &Weighed) -> Vec<Note> {
    let mut found = Vec::new();
    for &operation in weighed.floor.broken.iter().filter(|&&operation| !table.operations[operation].secondary) {
        let name = &table.operations[operation].id.operation;
        let share = weighed.floor.by_operation[operation].unwrap_or(0.0);
        let text = format!(
            "{name}: one contender, entered twice, differed from itself by {:.0} %; smaller differences are not called any",
            share * 100.0
        );
        found.push(notes::note(NoteKind::Disturbed, text));
    }
    for contender in table.contenders.iter().filter(|contender| contender.failed.is_some()) {
        let why = contender.failed.as_deref().unwrap_or_default();
        found.push(notes::note(NoteKind::Missing, format!("{} was not measured: {why}", contender.name)));
    }
    let mut backends: Vec<_> = weighed.rankings.iter().map(|ranking| ranking.backend).collect();
    backends.sort();
    backends.dedup();
    if backends.len() > 1 {
        found.push(notes::note(NoteKind::Remark, "contenders of different backends are ranked apart"));
    }
    if weighed.rankings.iter().any(|ranking| ranking.age != weighed.rankings[0].age) {
        found.push(notes::note(NoteKind::Remark, "contenders of different ages are ranked apart"));
    }
    found
}
