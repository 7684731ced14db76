//! The choice among contenders that are ranked together.
//! In: a fit. Out: a [`Choice`]: the contender whose worst shortfall against the best has the smallest upper bound.
//!
//! Only one comparison can make a bound wrong: that with the true best of the operation with the true worst shortfall. So the bound of a
//! contender, the largest upper end of its plain intervals over all operations and others, needs no correction for their number.

use crate::able::{able, is_to_come};
use crate::figure::MIN_SAMPLES;
use crate::judgement::Relation;
use crate::rank::{ALPHA, Fit, comparisons};
use crate::table::{Backend, Durability, Table};
use crate::verdict::{Certainty, Choice, SafetyClass, Shortfall};

impl Durability {
    /// The class in one word.
    pub fn class(&self) -> SafetyClass {
        match (self.flushes, self.ordered, self.checksums) {
            (Some(false), _, _) => SafetyClass::NoFlushes,
            (_, Some(false), _) => SafetyClass::Unordered,
            (_, _, Some(true)) => SafetyClass::Checksummed,
            (_, Some(true), _) => SafetyClass::Ordered,
            _ => SafetyClass::Unknown,
        }
    }
}

/// Contenders that are ranked together.
pub struct Group {
    /// Where they ran.
    pub backend: Backend,
    /// How old they were.
    pub age: String,
    /// Rows of the fit in which they are compared.
    pub rows: Vec<usize>,
    /// The contenders.
    pub contenders: Vec<usize>,
}

/// All groups of a fit.
pub fn groups(table: &Table, fit: &Fit) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (at, row) in fit.rows.iter().enumerate().filter(|(_, row)| !row.secondary) {
        let known = groups.iter().position(|group| (group.backend, &group.age) == (row.backend, &row.age));
        let known = known.unwrap_or_else(|| {
            groups.push(Group { backend: row.backend, age: row.age.clone(), rows: Vec::new(), contenders: Vec::new() });
            groups.len() - 1
        });
        groups[known].rows.push(at);
        for contender in row.ranked().map(|member| member.contender) {
            if !groups[known].contenders.contains(&contender) && table.contenders[contender].failed.is_none() {
                groups[known].contenders.push(contender);
            }
        }
    }
    groups.iter_mut().for_each(|group| group.leave_out_the_unmatched(fit));
    groups
}

impl Group {
    /// Candidates of the choice over all workloads: contenders that keep data as users expect, or all if none does.
    pub fn candidates(&self, table: &Table) -> Vec<usize> {
        let keeps = |contender: &usize| table.contenders[*contender].durability.class().keeps_data();
        let safe: Vec<usize> = self.contenders.iter().copied().filter(keeps).collect();
        if safe.is_empty() { self.contenders.clone() } else { safe }
    }

    /// Rows that decide the choice over all workloads: for a workload with a sum only that, since it covers all of its work; else each row.
    pub fn whole(&self, table: &Table, fit: &Fit) -> Vec<usize> {
        let operation = |row: usize| &table.operations[fit.rows[row].operation];
        let sums: Vec<&str> = (self.rows.iter().map(|&row| operation(row)))
            .filter(|operation| operation.summary)
            .map(|operation| operation.id.workload.as_str())
            .collect();
        let counts = |row: &usize| {
            let operation = operation(*row);
            operation.summary || !sums.contains(&operation.id.workload.as_str())
        };
        self.rows.iter().copied().filter(counts).collect()
    }

    /// Removes contenders that share no row with another one, such as the raw device; if no row has two contenders, all stay.
    fn leave_out_the_unmatched(&mut self, fit: &Fit) {
        let contests = self.rows.iter().map(|&row| &fit.rows[row]).filter(|row| row.ranked().nth(1).is_some());
        let met: Vec<usize> = contests.flat_map(|row| row.ranked().map(|member| member.contender)).collect();
        if !met.is_empty() {
            self.contenders.retain(|contender| met.contains(contender));
        }
    }
}

/// Chooses among the contenders that were measured in each of these rows that has measurements. A contender with too few samples in one of
/// them may be as good and stays a rival.
pub fn choose(table: &Table, fit: &Fit, rows: &[usize], among: &[usize], class: Option<SafetyClass>) -> Option<Choice> {
    if among.len() < 2 {
        return None;
    }
    let falls: Vec<Shortfall> = among.iter().filter_map(|&contender| shortfall(fit, rows, among, contender)).collect();
    let nearer = |a: &&Shortfall, b: &&Shortfall| a.at_most.total_cmp(&b.at_most).then(a.ratio.total_cmp(&b.ratio));
    let nearest = *falls.iter().min_by(nearer)?;
    let others = || falls.iter().filter(|other| other.contender != nearest.contender);
    let below = |bound: f64| others().filter(move |other| other.at_least <= bound).map(|other| other.contender);
    // The smallest of several close bounds is biased downwards: it is corrected for as many comparisons as a row's best.
    let level = ALPHA / comparisons(1.0 + below(nearest.at_most).count() as f64);
    let best = shortfall_at(fit, rows, among, nearest.contender, level)?;
    let mut rivals: Vec<usize> = below(best.at_most).collect();
    let unknown = |who: &usize| falls.iter().all(|fall| fall.contender != *who);
    let to_come = |who: &usize| unknown(who) && is_to_come(table, fit, rows, among, *who);
    let to_come: Vec<usize> = among.iter().copied().filter(to_come).collect();
    // The few samples of these must not contradict the bound.
    let seen = [&to_come[..], &[best.contender]].concat();
    if measured(fit, rows, &seen, best.contender).is_some_and(|ratio| ratio > best.at_most) {
        return None;
    }
    let certainty = match () {
        // Strictly above the bound: it is 1 if the contender to take is never behind, and so is `at_least_proven` if nothing is proven.
        () if !to_come.is_empty() => Certainty::Open,
        () if others().all(|other| other.at_least_proven > best.at_most) => Certainty::BeyondDoubt,
        () if rivals.is_empty() => Certainty::Likely,
        () => Certainty::Open,
    };
    rivals.extend(to_come);
    Some(Choice { class, shortfall: best, certainty, rivals })
}

/// Whether each of these rows has a contender with enough samples for a bound.
pub fn has_bounds(fit: &Fit, rows: &[usize]) -> bool {
    rows.iter().all(|&row| fit.rows[row].ranked().any(|member| fit.is_known(row, member.contender)))
}

/// The contender whose worst measured ratio to the best is smallest, and that ratio, however few samples there are.
pub fn leading(fit: &Fit, rows: &[usize], among: &[usize]) -> Option<(usize, f64)> {
    let all = among.iter().filter_map(|&contender| Some((contender, measured(fit, rows, among, contender)?)));
    all.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| among.len() > 1)
}

/// The worst ratio of a contender to the best of some, however few samples there are; `None` if it is missing in a row that others have.
pub fn measured(fit: &Fit, rows: &[usize], among: &[usize], contender: usize) -> Option<f64> {
    let effect = |row: usize, one: usize| fit.rows[row].member(one).map(|member| member.effect);
    let behind = |row: usize| {
        let least = among.iter().filter_map(|&other| effect(row, other)).reduce(f64::min);
        least.map_or(Some(0.0), |least| Some(effect(row, contender)? - least))
    };
    rows.iter().try_fold(0.0, |worst: f64, &row| Some(worst.max(behind(row)?))).map(f64::exp)
}

/// How far a contender is behind the best of some, in its worst row; `None` where it was not measured in all of their rows.
pub fn shortfall(fit: &Fit, rows: &[usize], among: &[usize], contender: usize) -> Option<Shortfall> {
    shortfall_at(fit, rows, among, contender, ALPHA)
}

/// The same with a bound at another level.
fn shortfall_at(fit: &Fit, rows: &[usize], among: &[usize], contender: usize, level: f64) -> Option<Shortfall> {
    let mut worst = Shortfall {
        contender,
        operation: 0,
        ratio: 1.0,
        at_most: 0.0,
        at_most_later: 0.0,
        at_least: 1.0,
        at_least_proven: 1.0,
    };
    for &at in rows {
        let row = &fit.rows[at];
        // A contender with too few samples has no bound and bounds no other.
        let enough = |who: usize| row.member(who).filter(|_| fit.is_known(at, who));
        let effect = |who: usize| enough(who).map(|member| member.effect);
        let others: Vec<usize> =
            among.iter().copied().filter(|&other| other != contender && effect(other).is_some()).collect();
        let Some(own) = effect(contender) else {
            if others.is_empty() {
                continue;
            }
            return None;
        };
        let least = others.iter().filter_map(|&other| effect(other)).fold(own, f64::min);
        let (mut at_most, mut later) = (1.0_f64, 1.0_f64);
        for other in others {
            let versus = fit.versus(at, other, contender);
            let bounds = fit.bounds(at, other, contender, level).unwrap_or((f64::INFINITY, f64::INFINITY));
            (at_most, later) = (at_most.max(bounds.0), later.max(bounds.1));
            // Two samples give a bound, but do not show that a contender is behind.
            let shown = versus.filter(|versus| versus.evidence.samples >= MIN_SAMPLES);
            worst.at_least = worst.at_least.max(shown.map_or(1.0, |versus| versus.interval.low));
            let proven = versus.filter(|versus| versus.relation == Relation::Worse).map_or(1.0, |v| v.beyond.low);
            worst.at_least_proven = worst.at_least_proven.max(proven);
        }
        worst.ratio = worst.ratio.max((own - least).exp());
        // The additional component brings degrees of freedom, which may narrow the interval more than the component widens it.
        worst.at_most_later = worst.at_most_later.max(later).max(at_most);
        if at_most > worst.at_most {
            (worst.at_most, worst.operation) = (at_most, row.operation);
        }
    }
    (worst.at_most > 0.0 && worst.at_most.is_finite()).then_some(worst)
}

/// Contenders whose worst shortfall must be known better before the choice is good enough: the one to take, and each that could be less far
/// behind by more than `regret`, a share.
pub fn unsettled(table: &Table, fit: &Fit, regret: f64) -> Vec<(Shortfall, Option<u32>)> {
    let mut unsettled = Vec::new();
    for group in groups(table, fit) {
        let able = able(table, fit, &group.whole(table, fit), &group.candidates(table));
        let (candidates, rows) = (able.contenders, able.rows);
        let Some(choice) = choose(table, fit, &rows, &candidates, None) else { continue };
        // A run must not stop on a lucky bound: the decision uses a level that holds for all looks together.
        let lasting = shortfall_at(fit, &rows, &candidates, choice.shortfall.contender, fit.lasting(ALPHA));
        let taken = lasting.unwrap_or(choice.shortfall);
        let falls = choice.rivals.iter().filter_map(|&rival| shortfall(fit, &rows, &candidates, rival));
        let rivals: Vec<Shortfall> = falls.filter(|rival| rival.at_least * (1.0 + regret) < taken.at_most).collect();
        let blocks = rivals.iter().map(|rival| blocks_to_settle(fit, &taken, rival, regret));
        let blocks = blocks.collect::<Option<Vec<u32>>>().and_then(|all| all.into_iter().max());
        if !rivals.is_empty() {
            unsettled.push((taken, blocks));
            unsettled.extend(rivals.into_iter().map(|rival| (rival, blocks)));
        }
    }
    unsettled
}

/// Blocks until the bounds of two are close enough, if the estimates do not change: intervals shrink with the root of the samples.
fn blocks_to_settle(fit: &Fit, taken: &Shortfall, rival: &Shortfall, regret: f64) -> Option<u32> {
    let widths = (taken.at_most / taken.ratio).ln() + (rival.ratio / rival.at_least).ln();
    let room = (rival.ratio / taken.ratio).ln() + regret.ln_1p();
    let row = fit.rows.iter().find(|row| row.operation == rival.operation)?;
    let done = row.member(rival.contender)?.trials.len() as f64;
    (room > 0.0).then(|| (done * ((widths / room).powi(2) - 1.0)).ceil().clamp(1.0, 1e6) as u32)
}
