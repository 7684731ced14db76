//! Rankings: who is best in each row, and what may be said of the others.
//! In: rows and how samples scatter, as one [`Fit`] for everything that is said of a table. Out: [`Ranking`]s and [`Versus`].
//! `docs/judge.md` explains the method and shows by simulation that it keeps its word.

use crate::figure::MIN_SAMPLES;
use crate::judgement::{Estimand, Interval, Ranking, Relation, Standing};
use crate::looks::Looks;
use crate::numbers::{mean, t_critical, t_p, variance};
use crate::row::{self, Member, Row, paired};
use crate::scatter::{Prior, Scatter};
use crate::series::Series;
use crate::table::Table;

/// Chance of any false statement: in a table of one that is beyond doubt, in a line of one that is likely.
pub const ALPHA: f64 = 0.05;
/// How far apart the modes of a bimodal contender may be for [`Evidence::may_be_modes`].
const MODES: f64 = 1.25;

/// One contender against another: the evidence, before anything is said.
#[derive(Debug, Clone, Copy)]
pub struct Evidence {
    /// Log ratio: how much worse the second is.
    pub log: f64,
    /// Standard error of it; 0 where all differences are equal.
    pub error: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Those of the prior among them.
    pub prior_df: f64,
    /// Pairs of samples.
    pub samples: usize,
    /// Two-sided p-value.
    pub p: f64,
}

impl Evidence {
    /// Compares two members of a row: by block where they share three blocks, else as two groups of trials.
    pub fn of(first: &Member, second: &Member, prior: Prior) -> Option<Self> {
        let differences = paired(first, second);
        let count = differences.len();
        if count < MIN_SAMPLES {
            return Self::unpaired(&first.trials, &second.trials);
        }
        let (spread, df) = prior.moderate(variance(&differences)?, count as f64 - 1.0);
        Some(Self { prior_df: prior.df, ..Self::new(mean(&differences), (spread / count as f64).sqrt(), df, count) })
    }

    /// Compares two groups of trials by Welch's t.
    pub fn unpaired(first: &[f64], second: &[f64]) -> Option<Self> {
        let count = first.len().min(second.len());
        if count < MIN_SAMPLES {
            return None;
        }
        let a = variance(first)? / first.len() as f64;
        let b = variance(second)? / second.len() as f64;
        let parts = a * a / (first.len() as f64 - 1.0) + b * b / (second.len() as f64 - 1.0);
        let df = if parts > 0.0 { (a + b).powi(2) / parts } else { (first.len() + second.len() - 2) as f64 };
        Some(Self::new(mean(second) - mean(first), (a + b).sqrt(), df, count))
    }

    /// Whether two modes of one behaviour may have made this difference: n samples on either side fall each into one mode by
    /// chance at most 2 x 4^-n times, whatever t says. Modes further apart than [`MODES`] are not looked for.
    fn may_be_modes(&self, level: f64) -> bool {
        self.log.abs() < MODES.ln() && 2.0 * 0.25_f64.powi(self.samples.min(100) as i32) > level
    }

    /// Whether a difference is shown at a level.
    pub fn shows(&self, level: f64, plain: f64) -> bool {
        self.p <= level && !self.may_be_modes(plain)
    }

    fn new(log: f64, error: f64, df: f64, samples: usize) -> Self {
        // Samples that are equal to the last digit have met the clock's resolution; they are no proof of precision.
        let error = error.max(1e-6);
        Evidence { log, error, df, prior_df: 0.0, samples, p: t_p(log / error, df) }
    }

    /// The same from the other side.
    pub fn turned(self) -> Self {
        Evidence { log: -self.log, ..self }
    }

    /// Interval of the ratio that misses the truth with a chance of `level`.
    pub fn interval(&self, level: f64) -> Interval {
        let half = t_critical(level, self.df) * self.error;
        Interval { low: (self.log - half).exp(), high: (self.log + half).exp(), of: Estimand::Ratio }
    }
}

/// One fit of a table: all statements about it come from here.
pub struct Fit {
    /// One for each operation, backend and age.
    pub rows: Vec<Row>,
    /// How far their samples scatter.
    pub scatter: Scatter,
    contests: Vec<Contest>,
    levels: Vec<f64>,
    looks: Looks,
    margin: f64,
    /// For each row, the share by which a contender that was entered twice differs from itself beyond doubt, or the margin: less is said of nobody.
    least: Vec<f64>,
}

/// Two contenders of one row.
#[derive(Debug, Clone, Copy)]
pub struct Versus {
    /// What was measured: how much worse the second is.
    pub evidence: Evidence,
    /// The interval that decides what is likely, as it is shown.
    pub interval: Interval,
    /// The one that decides what is beyond doubt.
    pub beyond: Interval,
    /// What may be said of the second; the first is better or worse by the sign of the evidence.
    pub relation: Relation,
}

impl Fit {
    /// Fits a table.
    pub fn of(table: &Table, series: &[Series]) -> Self {
        Self::of_rows(table, row::rows(table, series))
    }

    /// Fits the ages of each contender, against each other.
    pub fn of_ages(table: &Table, series: &[Series]) -> Self {
        Self::of_rows(table, row::rows_of_ages(table, series))
    }

    fn of_rows(table: &Table, rows: Vec<Row>) -> Self {
        let scatter = Scatter::of(table, &rows);
        let looks = Looks::of(table);
        let contests: Vec<Contest> =
            rows.iter().enumerate().map(|(at, row)| Contest::new(at, row, &scatter, looks)).collect();
        let levels = levels(&rows, &contests, looks);
        let mut fit = Fit { rows, scatter, contests, levels, looks, margin: table.margin(), least: Vec::new() };
        fit.least = (0..fit.rows.len()).map(|row| fit.least_in(table, row)).collect();
        fit
    }

    fn least_in(&self, table: &Table, row: usize) -> f64 {
        let level = self.looks.level(ALPHA / self.rows.len() as f64);
        let broken = twins(table).filter_map(|pair| self.twin(row, pair)).filter(|found| found.p <= level);
        broken.map(|found| found.log.abs().exp_m1()).fold(self.margin, f64::max)
    }

    /// How a contender that was entered twice differs from itself in a row.
    pub fn twin(&self, row: usize, (twin, of): (usize, usize)) -> Option<Evidence> {
        let member = |contender: usize| self.rows[row].members.iter().find(|member| member.contender == contender);
        Evidence::of(member(of)?, member(twin)?, self.scatter.prior(row, of, twin))
    }

    /// Whether a contender that was entered twice differs from itself in a row by more than the margin, beyond doubt.
    pub fn is_broken(&self, row: usize) -> bool {
        self.least[row] > self.margin
    }

    /// Rankings of all rows.
    pub fn rankings(&self, table: &Table) -> Vec<Ranking> {
        (0..self.rows.len()).map(|row| self.ranking(table, row)).collect()
    }

    fn ranking(&self, table: &Table, row: usize) -> Ranking {
        let (found, contest) = (&self.rows[row], &self.contests[row]);
        let durability = table.contenders[contest.best].durability;
        let proven = contest.rejected(self.levels[row], self.looks);
        let others: Vec<Standing> = contest
            .others
            .iter()
            .zip(proven)
            .map(|(rival, proven)| Standing {
                contender: rival.contender,
                ratio: rival.log().exp(),
                interval: self.shown(row, rival),
                samples: rival.evidence.map_or(0, |found| found.samples),
                relation: self.relation(row, rival.evidence.as_ref(), rival.interval, (proven, rival.likely)),
                p: rival.evidence.map(|found| found.p),
                unequal_durability: durability.differs(&table.contenders[rival.contender].durability),
            })
            .collect();
        let won = !others.is_empty() && others.iter().all(|other| other.relation == Relation::Worse);
        Ranking {
            operation: found.operation,
            backend: found.backend,
            age: found.age.clone(),
            best: contest.best,
            won,
            others,
            smallest_effect: self.margin,
            level: self.looks.level(self.levels[row]),
        }
    }

    /// The interval of a rival; where the machine itself makes such differences it contains 1.
    fn shown(&self, row: usize, rival: &Rival) -> Option<Interval> {
        let within = self.is_broken(row) && rival.log().abs() < self.least[row].ln_1p();
        rival.interval.map(|interval| held_to(interval, rival.likely && !within, rival.log()))
    }

    fn relation(
        &self,
        row: usize,
        found: Option<&Evidence>,
        shown: Option<Interval>,
        (proven, likely): (bool, bool),
    ) -> Relation {
        let (Some(found), Some(interval)) = (found, shown) else { return Relation::TooFew };
        let worth = found.log.abs() >= self.least[row].ln_1p();
        match () {
            () if proven && worth => Relation::Worse,
            () if likely && worth => Relation::LikelyWorse,
            () if interval.low >= 1.0 / (1.0 + self.margin) && interval.high <= 1.0 + self.margin => Relation::Tie,
            () => Relation::Unresolved,
        }
    }

    /// The row of an operation in which a contender stands.
    pub fn row_of(&self, operation: usize, contender: usize) -> Option<usize> {
        let stands = |row: &Row| row.operation == operation && row.members.iter().any(|m| m.contender == contender);
        self.rows.iter().position(stands)
    }

    /// Two contenders of one row, as its ranking has them where one of them is the best; `None` where samples allow no interval.
    pub fn versus(&self, row: usize, first: usize, second: usize) -> Option<Versus> {
        let contest = &self.contests[row];
        let level = |share: f64, pairs: f64| self.looks.level(share / pairs);
        for (best, other, turned) in [(first, second, false), (second, first, true)] {
            let found = contest.others.iter().position(|rival| rival.contender == other);
            let Some(at) = found.filter(|_| contest.best == best) else { continue };
            let rival = &contest.others[at];
            let proven = contest.rejected(self.levels[row], self.looks)[at];
            let evidence = rival.evidence?;
            let shown = self.shown(row, rival)?;
            let relation = self.relation(row, Some(&evidence), Some(shown), (proven, rival.likely));
            let beyond = evidence.interval(level(self.levels[row], rival.pairs));
            return Some(if turned {
                Versus { evidence: evidence.turned(), interval: shown.turned(), beyond: beyond.turned(), relation }
            } else {
                Versus { evidence, interval: shown, beyond, relation }
            });
        }
        let members = &self.rows[row].members;
        let member = |contender: usize| members.iter().find(|member| member.contender == contender);
        let prior = self.scatter.prior(row, first, second);
        let evidence = Evidence::of(member(first)?, member(second)?, prior)?;
        let pairs = all_pairs(contest.others.len() + 1);
        let (beyond, interval) =
            (evidence.interval(level(self.levels[row], pairs)), evidence.interval(level(ALPHA, pairs)));
        let proven = evidence.shows(level(self.levels[row], pairs), self.levels[row] / pairs);
        let likely = evidence.shows(level(ALPHA, pairs), ALPHA / pairs);
        let interval = held_to(interval, likely, evidence.log);
        let relation = self.relation(row, Some(&evidence), Some(interval), (proven, likely));
        Some(Versus { evidence, interval, beyond, relation })
    }

    /// How many comparisons the best of a row is held against at once, for one that is not told yet.
    pub fn pairs(&self, row: usize, contender: usize) -> f64 {
        let rival = self.contests[row].others.iter().find(|rival| rival.contender == contender);
        rival.map_or(1.0, |rival| rival.pairs)
    }
}

/// Contenders that were entered twice: the second entry, and the first.
pub fn twins(table: &Table) -> impl Iterator<Item = (usize, usize)> {
    table.contenders.iter().enumerate().filter_map(|(twin, contender)| {
        let of = table.contender(contender.twin_of.as_deref()?)?;
        Some((twin, of))
    })
}

fn all_pairs(members: usize) -> f64 {
    (members * members.saturating_sub(1)).max(2) as f64 / 2.0
}

/// An interval that says no more than the test: where nothing is shown it contains 1.
fn held_to(interval: Interval, shown: bool, log: f64) -> Interval {
    match shown {
        true => interval,
        false if log >= 0.0 => Interval { low: interval.low.min(1.0), ..interval },
        false => Interval { high: interval.high.max(1.0), ..interval },
    }
}

/// The best of a row and the evidence against each other member, nearest first.
struct Contest {
    best: usize,
    others: Vec<Rival>,
}

struct Rival {
    contender: usize,
    effect: f64,
    evidence: Option<Evidence>,
    /// Comparisons among which this one was tested, at the line's level.
    pairs: f64,
    likely: bool,
    interval: Option<Interval>,
}

impl Rival {
    fn log(&self) -> f64 {
        self.evidence.map_or(self.effect, |found| found.log)
    }
}

impl Contest {
    fn new(at: usize, row: &Row, scatter: &Scatter, looks: Looks) -> Self {
        let ranked = || row.members.iter().filter(|member| !member.twin);
        // One that was measured once or twice is not named the best before others who were measured often enough.
        let enough = |member: &&Member| member.trials.len() >= MIN_SAMPLES;
        let least = |a: &&Member, b: &&Member| a.effect.total_cmp(&b.effect);
        let best = ranked().filter(enough).min_by(least).or_else(|| ranked().min_by(least)).expect("a row has members");
        let mut others: Vec<Rival> = ranked()
            .filter(|member| member.contender != best.contender)
            .map(|member| Rival {
                contender: member.contender,
                effect: member.effect - best.effect,
                evidence: Evidence::of(best, member, scatter.prior(at, best.contender, member.contender)),
                pairs: 1.0,
                likely: false,
                interval: None,
            })
            .collect();
        others.sort_by(|a, b| a.log().total_cmp(&b.log()));
        let mut contest = Contest { best: best.contender, others };
        contest.look(looks);
        contest
    }

    /// What is likely, at the line's own level, and the intervals that go with it.
    fn look(&mut self, looks: Looks) {
        let steps = self.steps(ALPHA, looks);
        for (rival, (pairs, likely)) in self.others.iter_mut().zip(steps) {
            (rival.pairs, rival.likely) = (pairs, likely);
            rival.interval =
                rival.evidence.map(|found| held_to(found.interval(looks.level(ALPHA / pairs)), likely, found.log));
        }
    }

    /// For each of the others, among how many pairs it was tested, and whether it is shown to differ, at a level for the whole row.
    ///
    /// Step-down over all pairs among those not yet told apart, since the best was picked by looking; but where the best
    /// beats every other at the plain level, it has won (Gutmann and Maymin 1987: picking costs nothing then).
    fn steps(&self, level: f64, looks: Looks) -> Vec<(f64, bool)> {
        let passes = |evidence: &Option<Evidence>, pairs: f64| {
            evidence.is_some_and(|found| found.log > 0.0 && found.shows(looks.level(level / pairs), level / pairs))
        };
        if !self.others.is_empty() && self.others.iter().all(|rival| passes(&rival.evidence, 1.0)) {
            return vec![(1.0, true); self.others.len()];
        }
        let mut order: Vec<usize> = (0..self.others.len()).collect();
        let p = |at: usize| self.others[at].evidence.map_or(1.0, |found| found.p);
        order.sort_by(|&a, &b| p(a).total_cmp(&p(b)));
        let mut left = self.others.len() + 1;
        let mut steps = vec![(all_pairs(left), false); self.others.len()];
        let mut going = true;
        for at in order {
            let pairs = all_pairs(left);
            going = going && passes(&self.others[at].evidence, pairs);
            steps[at] = (pairs, going);
            left -= usize::from(going);
        }
        steps
    }

    fn rejected(&self, level: f64, looks: Looks) -> Vec<bool> {
        self.steps(level, looks).into_iter().map(|step| step.1).collect()
    }
}

/// Level of each row: the table's 5 % shared equally, and the shares of rows in which all is told passed on to the others
/// (Holm 1979). Secondary rows share 5 % of their own.
fn levels(rows: &[Row], contests: &[Contest], looks: Looks) -> Vec<f64> {
    let mut levels = vec![0.0; rows.len()];
    for secondary in [false, true] {
        let family: Vec<usize> =
            (0..rows.len()).filter(|&at| rows[at].secondary == secondary && !contests[at].others.is_empty()).collect();
        let mut open = family.len();
        loop {
            let level = ALPHA / open.max(1) as f64;
            let told =
                family.iter().filter(|&&at| contests[at].rejected(level, looks).iter().all(|told| *told)).count();
            let left = (family.len() - told).max(1);
            family.iter().for_each(|&at| levels[at] = level);
            if left >= open {
                break;
            }
            open = left;
        }
    }
    levels
}
