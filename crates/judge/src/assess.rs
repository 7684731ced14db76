//! Assembles the judgement of a table.
//! In: a [`Table`]. Out: a [`Judgement`], or only its figures and rankings for callers that decide after every block.
//! Sentences and notes are added last and do not influence the statistics.

use crate::figure;
use crate::judgement::{Figure, Judgement, Note, NoteKind, Ranking};
use crate::notes;
use crate::numbers::median;
use crate::rank::{Fit, twins};
use crate::series::Series;
use crate::short;
use crate::table::{Table, TableError};
use crate::words;
use crate::work::{self, WorkDoubt};

/// Figures and rankings without words.
pub struct Assessed {
    /// One for each cell.
    pub series: Vec<Series>,
    /// One for each cell with values.
    pub figures: Vec<Figure>,
    /// One for each operation, backend and age.
    pub rankings: Vec<Ranking>,
    /// One for each operation and contender of several ages.
    pub ageing: Vec<Ranking>,
    /// Where the work itself is in doubt.
    pub doubts: Vec<WorkDoubt>,
    /// Differences between the entries of A/A pairs.
    pub floor: Floor,
    /// The fit that the rankings are based on.
    pub fit: Fit,
}

/// How much the two entries of A/A pairs differ.
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
    let mut assessed = assess(table);
    note_durability(table, &mut assessed);
    note_work(&mut assessed);
    let too_short: Vec<usize> = short::operations(table).into_iter().collect();
    for figure in assessed.figures.iter_mut().filter(|figure| too_short.contains(&figure.operation)) {
        figure.notes.push(notes::note(NoteKind::Remark, short::WORDS));
    }
    let sentences = words::sentences(table, &assessed);
    let family = assessed.rankings.iter().filter(|ranking| !table.operations[ranking.operation].secondary);
    Ok(Judgement {
        comparisons: family.map(|ranking| ranking.others.len()).sum(),
        smallest_effect: table.margin(),
        noise_floor: assessed.floor.median,
        notes: table_notes(table, &assessed),
        doubts: assessed.doubts,
        too_short,
        sentences,
        figures: assessed.figures,
        rankings: assessed.rankings,
        ageing: assessed.ageing,
    })
}

/// Adds a note to each figure whose contender gives up a safety that another contender in the same ranking keeps.
fn note_durability(table: &Table, assessed: &mut Assessed) {
    for ranking in &assessed.rankings {
        let members: Vec<usize> = ranking.members().collect();
        for figure in assessed.figures.iter_mut().filter(|figure| figure.operation == ranking.operation) {
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

/// Adds a note to each figure whose work is in doubt.
fn note_work(assessed: &mut Assessed) {
    for doubt in &assessed.doubts {
        let text = match doubt.kind {
            work::DoubtKind::UnequalWork => "did less work than others",
            work::DoubtKind::NotStored => "most of the data never reached the device",
            work::DoubtKind::NotFetched => "most of the data never came from the device",
        };
        let touches = |figure: &&mut Figure| {
            doubt.less.contains(&figure.contender) && doubt.operations.contains(&figure.operation)
        };
        for figure in assessed.figures.iter_mut().filter(touches) {
            figure.notes.push(notes::note(NoteKind::Work, text));
        }
    }
}

/// Figures and rankings of a table that passed its check.
pub fn assess(table: &Table) -> Assessed {
    let series: Vec<Series> = table.cells.iter().map(Series::of).collect();
    let figures = (0..table.cells.len()).filter_map(|cell| figure::figure(table, cell, &series[cell])).collect();
    let fit = Fit::of(table, &series);
    let ageing = Fit::of_ages(table, &series).rankings(table);
    let rankings = fit.rankings(table);
    let doubts = work::doubts(table);
    Assessed { series, figures, rankings, ageing, doubts, floor: floor(table, &fit), fit }
}

/// How much the two entries of A/A pairs differ. It is shown, and the fit uses it to estimate scatter; it does not widen the margin, or
/// more noise would make more ties.
fn floor(table: &Table, fit: &Fit) -> Floor {
    let mut floor = Floor { median: None, by_operation: vec![None; table.operations.len()], broken: Vec::new() };
    for pair in twins(table) {
        for (at, row) in fit.rows.iter().enumerate() {
            let Some(found) = fit.twin(at, pair) else { continue };
            let share = found.log.abs().exp_m1();
            let most = &mut floor.by_operation[row.operation];
            *most = Some(most.map_or(share, |before| before.max(share)));
            if fit.is_broken(at) {
                floor.broken.push(row.operation);
            }
        }
    }
    let known: Vec<f64> = floor.by_operation.iter().flatten().copied().collect();
    floor.median = median(&known);
    floor
}

fn table_notes(table: &Table, assessed: &Assessed) -> Vec<Note> {
    let mut found = Vec::new();
    for &operation in assessed.floor.broken.iter().filter(|&&operation| !table.operations[operation].secondary) {
        let name = &table.operations[operation].id.operation;
        let share = assessed.floor.by_operation[operation].unwrap_or(0.0);
        let text = format!(
            "{name}: one contender, entered twice, differed from itself by {:.0} %, so smaller differences are not reported",
            share * 100.0
        );
        found.push(notes::note(NoteKind::Disturbed, text));
    }
    let resemblance = assessed.fit.scatter.resemblance;
    if resemblance > 0.0 {
        let text = format!(
            "results of a contender carry over from round to round (autocorrelation {resemblance:.1}): intervals are widened to allow for it"
        );
        found.push(notes::note(NoteKind::Resemblance, text));
    } else if assessed.fit.scatter.common {
        let text = "within a round, all steps of a contender were fast or slow together; only rounds at another time (`bakeoff resume`) can show whether this persists";
        found.push(notes::note(NoteKind::Resemblance, text));
    }
    let (corrected, lines) = assessed.fit.corrected_lines();
    if !corrected.is_empty() {
        let most = corrected.iter().copied().fold(0.0, f64::max) * 100.0;
        let text = format!(
            "{} of {lines} lines are compared as if the hypervisor had taken the same processor time from all (it explains up to {most:.0} % of a sample): ratios may differ from the quotients of the figures",
            corrected.len()
        );
        found.push(notes::note(NoteKind::Disturbed, text));
    }
    for contender in table.contenders.iter().filter(|contender| contender.failed.is_some()) {
        let why = contender.failed.as_deref().unwrap_or_default();
        found.push(notes::note(NoteKind::Missing, format!("{} was not measured: {why}", contender.name)));
    }
    let mut backends: Vec<_> = assessed.rankings.iter().map(|ranking| ranking.backend).collect();
    backends.sort();
    backends.dedup();
    if backends.len() > 1 {
        found.push(notes::note(NoteKind::Remark, "contenders of different backends are ranked apart"));
    }
    if assessed.rankings.iter().any(|ranking| ranking.age != assessed.rankings[0].age) {
        found.push(notes::note(NoteKind::Remark, "contenders of different ages are ranked apart"));
    }
    found
}
