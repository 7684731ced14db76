//! Which contender to take.
//! In: a table. Out: an [`Answer`]: the contender whose worst shortfall against the best has the smallest upper bound, over all
//! workloads, for each, and within each class of durability.

use crate::able::{able, lacking};
use crate::assess::{self, Assessed};
use crate::choice::{Group, choose, groups, has_bounds, leading, measured, shortfall};
use crate::decision::{Policy, RESOLUTION};
use crate::judgement::{Figure, Standing};
use crate::numbers::median;
use crate::rank::Fit;
use crate::sessions::Between;
use crate::stopping_rule::{self, Known};
use crate::table::{Table, TableError};
use crate::verdict::{
    Answer, Avoid, Cannot, Certainty, Choice, Confidence, Grade, GroupAnswer, LessSafe, Remaining, SafetyClass,
    Shortfall, WorkloadAnswer,
};

/// From this many times slower on, somewhere and likely, a contender is one to avoid.
const AVOIDED: f64 = 2.0;

/// Answers which contender to take.
///
/// # Errors
/// The table contradicts itself or passes a limit.
pub fn answer(table: &Table) -> Result<Answer, TableError> {
    table.check()?;
    let assessed = assess::assess(table);
    let mut groups: Vec<GroupAnswer> =
        groups(table, &assessed.fit).iter().map(|group| group_answer(table, &assessed.fit, group)).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.order.len()));
    let open = remaining(table, &assessed);
    Ok(Answer { groups, confidence: confidence(table, &assessed, &open), open })
}

fn group_answer(table: &Table, fit: &Fit, group: &Group) -> GroupAnswer {
    let class = |contender: usize| table.contenders[contender].durability.class();
    let of = |wanted: &dyn Fn(SafetyClass) -> bool| -> Vec<usize> {
        group.contenders.iter().copied().filter(|&contender| wanted(class(contender))).collect()
    };
    let candidates = group.candidates(table);
    let able = able(table, fit, &group.whole(table, fit), &candidates);
    let whole = &able.rows;
    let choice = |among: &[usize], class| choose(table, fit, whole, among, class);
    let take = choice(&able.contenders, None).filter(|_| has_bounds(fit, whole));
    let take = take.or_else(|| alone(fit, whole, group, &able.contenders));
    let mut classes: Vec<SafetyClass> = group.contenders.iter().map(|&contender| class(contender)).collect();
    classes.sort_unstable();
    classes.dedup();
    let able_of = |among: &[usize]| self::able(table, fit, whole, among).contenders;
    let of_class = |wanted: SafetyClass| choice(&able_of(&of(&|class| class == wanted)), Some(wanted));
    let by_class: Vec<Choice> = classes.iter().rev().filter_map(|&wanted| of_class(wanted)).collect();
    let chosen = take.as_ref().map(|choice| choice.shortfall.contender);
    GroupAnswer {
        backend: group.backend,
        age: group.age.clone(),
        order: order(fit, group, whole, (&candidates, &able.contenders)),
        leading: leading(fit, whole, &able.contenders),
        furthest: chosen.and_then(|chosen| furthest(fit, &group.rows, &able.contenders, chosen)),
        workloads: workloads(table, fit, group, &candidates),
        avoid: avoid(fit, group, &candidates, chosen),
        less_safe: less_safe(fit, group, chosen, &|contender| class(contender), &candidates),
        cannot: cannot(table, fit, group, chosen),
        able: able.contenders,
        take,
        by_class,
    }
}

/// How far a contender is behind in its worst step as measured, with the bound that holds for all of its steps.
fn furthest(fit: &Fit, rows: &[usize], among: &[usize], contender: usize) -> Option<Shortfall> {
    let all = shortfall(fit, rows, among, contender)?;
    let each = rows.iter().filter_map(|&row| shortfall(fit, &[row], among, contender));
    let worst = each.max_by(|a, b| a.ratio.total_cmp(&b.ratio))?;
    Some(Shortfall { operation: worst.operation, ..all })
}

/// The only contender that can do all rows and keeps data as expected is the one to take, however fast others are.
fn alone(fit: &Fit, whole: &[usize], group: &Group, candidates: &[usize]) -> Option<Choice> {
    let [only] = *candidates else { return None };
    let shortfall = shortfall(fit, whole, candidates, only).filter(|_| group.contenders.len() > 1)?;
    Some(Choice { class: None, shortfall, certainty: Certainty::BeyondDoubt, rivals: Vec::new() })
}

/// All contenders: the candidates of the choice first, then contenders that keep data but lack a row, then the rest; each part by bound,
/// then by measured ratio.
fn order(fit: &Fit, group: &Group, whole: &[usize], (candidates, able): (&[usize], &[usize])) -> Vec<usize> {
    let place = |contender: usize| match () {
        () if able.contains(&contender) => (0, able),
        () if candidates.contains(&contender) => (1, candidates),
        () => (2, group.contenders.as_slice()),
    };
    let mut falls: Vec<(u8, Shortfall)> = group
        .contenders
        .iter()
        .map(|&contender| {
            let (part, among) = place(contender);
            let unknown = || unbounded(contender, measured(fit, whole, among, contender));
            (part, shortfall(fit, whole, among, contender).unwrap_or_else(unknown))
        })
        .collect();
    falls.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.at_most.total_cmp(&b.1.at_most)).then(a.1.ratio.total_cmp(&b.1.ratio)));
    falls.into_iter().map(|fall| fall.1.contender).collect()
}

/// A contender with too few samples for a bound.
fn unbounded(contender: usize, ratio: Option<f64>) -> Shortfall {
    let far = f64::INFINITY;
    let ratio = ratio.unwrap_or(far);
    let (at_most, at_most_later) = (far, far);
    Shortfall { contender, operation: 0, ratio, at_most, at_most_later, at_least: 1.0, at_least_proven: 1.0 }
}

fn workloads(table: &Table, fit: &Fit, group: &Group, candidates: &[usize]) -> Vec<WorkloadAnswer> {
    let mut names: Vec<&str> = Vec::new();
    let workload = |row: usize| table.operations[fit.rows[row].operation].id.workload.as_str();
    for &row in &group.rows {
        if !names.contains(&workload(row)) {
            names.push(workload(row));
        }
    }
    let whole = group.whole(table, fit);
    let answer = |name: &str| {
        let rows: Vec<usize> = group.rows.iter().copied().filter(|&row| workload(row) == name).collect();
        let sums =
            rows.iter().map(|&row| fit.rows[row].operation).find(|&operation| table.operations[operation].summary);
        let mut able = able(table, fit, &rows, candidates);
        if able.rows.iter().any(|row| whole.contains(row)) {
            able.rows.retain(|row| whole.contains(row));
        }
        let take = choose(table, fit, &able.rows, &able.contenders, None);
        let only = alone(fit, &able.rows, group, &able.contenders).filter(|_| candidates.len() > 1);
        let alone = take.is_none() && only.is_some();
        WorkloadAnswer { workload: name.into(), take: take.or(only), alone, summary: sums }
    };
    names.into_iter().map(answer).collect()
}

/// Rows in which the chosen contender is itself far behind do not count against others.
fn avoid(fit: &Fit, group: &Group, candidates: &[usize], chosen: Option<usize>) -> Vec<Avoid> {
    let fall = |row: usize, contender: usize| shortfall(fit, &[row], candidates, contender);
    let is_far = |row: usize, contender: usize| fall(row, contender).is_some_and(|fall| fall.at_least >= AVOIDED);
    let rows: Vec<usize> =
        group.rows.iter().copied().filter(|&row| chosen.is_none_or(|chosen| !is_far(row, chosen))).collect();
    let mut found: Vec<Avoid> = Vec::new();
    for contender in group.contenders.iter().copied().filter(|&contender| Some(contender) != chosen) {
        let falls = rows.iter().filter_map(|&row| fall(row, contender));
        let Some(worst) = falls.filter(|fall| fall.at_least >= AVOIDED).max_by(|a, b| a.ratio.total_cmp(&b.ratio))
        else {
            continue;
        };
        let certainty = if worst.at_least_proven >= AVOIDED { Certainty::BeyondDoubt } else { Certainty::Likely };
        found.push(Avoid { contender, operation: worst.operation, ratio: worst.ratio, certainty });
    }
    found.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    found
}

fn less_safe(
    fit: &Fit,
    group: &Group,
    chosen: Option<usize>,
    class: &dyn Fn(usize) -> SafetyClass,
    candidates: &[usize],
) -> Vec<LessSafe> {
    let Some(chosen) = chosen else { return Vec::new() };
    let others = group.contenders.iter().copied().filter(|other| !candidates.contains(other));
    let found = others.map(|contender| {
        let ahead = furthest_ahead(fit, group, contender, chosen);
        let (operation, ratio) = (ahead.map(|ahead| ahead.0), ahead.map_or(1.0, |ahead| ahead.1));
        LessSafe { contender, class: class(contender), operation, ratio }
    });
    let mut found: Vec<LessSafe> = found.collect();
    found.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    found
}

/// Where one contender is furthest ahead of another, and how many times faster it is there.
fn furthest_ahead(fit: &Fit, group: &Group, who: usize, of: usize) -> Option<(usize, f64)> {
    let ahead = group.rows.iter().filter_map(|&row| {
        let versus = fit.versus(row, who, of)?;
        let ahead = versus.relation.is_worse() && versus.evidence.log > 0.0;
        ahead.then(|| (fit.rows[row].operation, versus.evidence.log.exp()))
    });
    ahead.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// For each contender the rows in which it could do nothing, without rows that are sums.
fn cannot(table: &Table, fit: &Fit, group: &Group, chosen: Option<usize>) -> Vec<Cannot> {
    let is_line = |row: &usize| !table.operations[fit.rows[*row].operation].summary;
    let rows: Vec<usize> = group.rows.iter().copied().filter(is_line).collect();
    let found = lacking(table, fit, &rows, &group.contenders).into_iter().map(|(contender, rows)| {
        let ahead = chosen.filter(|chosen| *chosen != contender);
        let ahead = ahead.and_then(|chosen| furthest_ahead(fit, group, contender, chosen));
        let operations = rows.into_iter().map(|row| fit.rows[row].operation).collect();
        Cannot {
            contender,
            operations,
            operation: ahead.map(|ahead| ahead.0),
            ratio: ahead.map_or(1.0, |ahead| ahead.1),
        }
    });
    found.collect()
}

fn remaining(table: &Table, assessed: &Assessed) -> Remaining {
    let lines = assessed.rankings.iter().filter(|ranking| !table.operations[ranking.operation].secondary);
    let others: Vec<_> = lines.flat_map(|ranking| &ranking.others).collect();
    let open = others.iter().filter(|other| !is_resolved(other)).count();
    let policy = Policy { max_blocks: u32::MAX, ..Policy::default() };
    let known = Known { series: &assessed.series, fit: &assessed.fit, rankings: &assessed.rankings };
    let decision = stopping_rule::decide_by(table, &policy, &known);
    let blocks = decision.blocks_left.filter(|_| open > 0);
    let trials = blocks.map(|blocks| (decision.next.len() as u32).saturating_mul(blocks));
    let seconds = decision.seconds_left.filter(|_| open > 0);
    Remaining { comparisons: others.len(), open, blocks, trials, seconds }
}

/// Whether a comparison shows what matters: the other contender is worse, or the best is behind it by no more than [`RESOLUTION`].
fn is_resolved(other: &Standing) -> bool {
    other.relation.is_worse() || other.interval.is_some_and(|interval| interval.low >= 1.0 / (1.0 + RESOLUTION))
}

fn confidence(table: &Table, assessed: &Assessed, open: &Remaining) -> Confidence {
    let counts = |figure: &&Figure| {
        !table.operations[figure.operation].secondary && table.contenders[figure.contender].twin_of.is_none()
    };
    let figures: Vec<&Figure> = assessed.figures.iter().filter(counts).collect();
    let samples = figures.iter().map(|figure| figure.samples);
    let samples = (samples.clone().min().unwrap_or(0), samples.max().unwrap_or(0));
    let is_disturbed = |figure: &&&Figure| table.cells[figure.cell].disturbed() > 0;
    let disturbed = (figures.iter().filter(is_disturbed).count(), figures.len());
    let noise = median(&figures.iter().filter_map(|figure| figure.rsd).collect::<Vec<_>>());
    let share = |part: usize, of: usize| part as f64 / of.max(1) as f64;
    let (moved, undecided, spread) =
        (share(disturbed.0, disturbed.1), share(open.open, open.comparisons), noise.unwrap_or(1.0));
    // The median, since a contender that is resolved early gets no more samples; that does not lower the confidence.
    let usual = median(&figures.iter().map(|figure| figure.samples as f64).collect::<Vec<_>>()).unwrap_or(0.0);
    let is_bounded = (0..assessed.fit.rows.len()).any(|row| has_bounds(&assessed.fit, &[row]));
    let grade = match () {
        () if !is_bounded => Grade::None,
        () if usual < 5.0 || moved > 0.2 || spread > 0.1 || undecided > 0.25 => Grade::Low,
        () if usual < 10.0 || disturbed.0 > 0 || spread > 0.05 || open.open > 0 => Grade::Medium,
        () => Grade::High,
    };
    let between = assessed.fit.scatter.between.as_ref();
    let sessions = between.map_or(1, |between| between.sessions.count());
    let between = between.map(Between::of_ratios);
    let (corrected, lines) = assessed.fit.corrected_lines();
    let corrected = (corrected.len(), lines);
    Confidence { grade, samples, disturbed, corrected, noise, sessions, between }
}
