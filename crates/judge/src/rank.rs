//! Rankings: who is best in each row, and what may be said of the others.
//! In: rows and how samples scatter. Out: [`Ranking`]s whose statements hold together at 5 % for the whole table.
//! `docs/judge.md` explains the method and shows by simulation that it keeps its word.

use crate::figure::MIN_SAMPLES;
use crate::judgement::{Estimand, Interval, Ranking, Relation, Standing};
use crate::numbers::{mean, normal_quantile, t_critical, t_p, variance};
use crate::row::{Member, Prior, Row, paired};
use crate::table::Table;

/// Chance of any false statement in a table.
pub const ALPHA: f64 = 0.05;
/// Level of ratio intervals as computed. Sampling stops sooner where luck makes intervals narrow or differences large, so an
/// interval read at that moment misses more often than it was made to; from this level, 95 % of them hold (by simulation).
pub const RATIO_LEVEL: f64 = 0.957;
/// How far apart the modes of a bimodal contender may be for [`Evidence::may_be_modes`].
const MODES: f64 = 1.25;
/// A tie is narrow when its interval stays within this many times the smallest effect.
const NARROW: f64 = 2.0;

/// One contender against another: the evidence, before anything is said.
#[derive(Debug, Clone, Copy)]
pub struct Evidence {
    /// Log ratio: how much worse the second is.
    pub log: f64,
    /// Standard error of it; 0 where all differences are equal.
    pub error: f64,
    /// Degrees of freedom.
    pub df: f64,
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
        let own = count as f64 - 1.0;
        let df = own + prior.df;
        let spread = (prior.df * 2.0 * prior.variance + own * variance(&differences)?) / df;
        Some(Self::new(mean(&differences), (spread / count as f64).sqrt(), df, count))
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
        self.log < MODES.ln() && 2.0 * 0.25_f64.powi(self.samples.min(100) as i32) > level
    }

    fn new(log: f64, error: f64, df: f64, samples: usize) -> Self {
        // Samples that are equal to the last digit have met the clock's resolution; they are no proof of precision.
        let error = error.max(1e-6);
        Evidence { log, error, df, samples, p: t_p(log / error, df) }
    }

    /// Interval of the ratio, its half-width widened by a factor.
    pub fn interval(&self, level: f64, widen: f64) -> Interval {
        let half = t_critical(1.0 - level, self.df) * self.error * widen;
        Interval { low: (self.log - half).exp(), high: (self.log + half).exp(), of: Estimand::Ratio }
    }
}

/// Blocks that a plan allows unless it says otherwise.
pub const PLANNED: usize = 30;

/// How often a table is looked at: after every block from the third up to this one.
#[derive(Debug, Clone, Copy)]
pub struct Looks(f64);

impl Looks {
    /// Looks of a table: as many as were planned, or as there are blocks if there are more.
    pub fn of(table: &Table) -> Self {
        let planned = table.planned_blocks.map_or(PLANNED, |blocks| blocks as usize);
        let samples = table.cells.iter().flat_map(|cell| &cell.samples);
        let seen = samples.map(|sample| sample.block as usize + 1).max();
        Looks((planned.max(seen.unwrap_or(0)).max(MIN_SAMPLES) as f64 / MIN_SAMPLES as f64).ln())
    }

    /// The level of each look that keeps all looks together at `level`.
    ///
    /// A mean that is looked at while its samples grow from 3 to N crosses a fixed z about 1 + c z^2 ln(N/3) times as often
    /// as at one look (Pocock 1977 tabulates it for N/3 looks); c = 0.45 was fitted by simulation for Student's t from
    /// levels of 0.05 down to 0.0001 and N from 15 to 100, and is within a tenth of the truth over all of these.
    pub fn level(self, level: f64) -> f64 {
        let mut each = level / 5.0;
        for _ in 0..6 {
            let z = normal_quantile(each / 2.0);
            each = level / (1.0 + 0.45 * z * z * self.0);
        }
        each
    }
}

/// Rankings of all rows, with `smallest` (a share) the smallest effect worth saying in each row.
pub fn rankings(table: &Table, rows: &[Row], priors: &[Prior], smallest: &[f64], looks: Looks) -> Vec<Ranking> {
    let contests: Vec<Contest> = rows.iter().zip(priors).map(|(row, prior)| Contest::new(row, *prior)).collect();
    let levels = levels(rows, &contests, looks);
    let judged = rows.iter().zip(&contests).zip(levels).zip(smallest);
    judged.map(|(((row, contest), level), smallest)| contest.ranking(table, row, (level, looks), *smallest)).collect()
}

/// The best of a row and the evidence against each other member, nearest first.
struct Contest {
    best: usize,
    others: Vec<(usize, f64, Option<Evidence>)>,
}

impl Contest {
    fn new(row: &Row, prior: Prior) -> Self {
        let by_effect = |a: &Member, b: &Member| a.effect.total_cmp(&b.effect);
        let best = row.members.iter().min_by(|a, b| by_effect(a, b)).expect("a row has members");
        let mut others: Vec<(usize, f64, Option<Evidence>)> = row
            .members
            .iter()
            .filter(|member| member.contender != best.contender)
            .map(|member| (member.contender, member.effect - best.effect, Evidence::of(best, member, prior)))
            .collect();
        others.sort_by(|a, b| log_of(a).total_cmp(&log_of(b)));
        Contest { best: best.contender, others }
    }

    /// Which of the others are shown to differ, at a level for the whole row.
    ///
    /// Step-down over all pairs among those not yet told apart, since the best was picked by looking; but where the best
    /// beats every other at the plain level, it has won (Gutmann and Maymin 1987: picking costs nothing then).
    fn rejected(&self, level: f64, looks: Looks) -> Vec<bool> {
        let passes = |evidence: &Option<Evidence>, pairs: f64| {
            evidence.is_some_and(|found| {
                found.log > 0.0 && found.p <= looks.level(level / pairs) && !found.may_be_modes(level / pairs)
            })
        };
        if !self.others.is_empty() && self.others.iter().all(|other| passes(&other.2, 1.0)) {
            return vec![true; self.others.len()];
        }
        let mut order: Vec<usize> = (0..self.others.len()).collect();
        let p = |at: usize| self.others[at].2.map_or(1.0, |found| found.p);
        order.sort_by(|&a, &b| p(a).total_cmp(&p(b)));
        let mut rejected = vec![false; self.others.len()];
        let mut left = self.others.len() + 1;
        for at in order {
            let pairs = (left * (left - 1) / 2) as f64;
            if !passes(&self.others[at].2, pairs) {
                break;
            }
            rejected[at] = true;
            left -= 1;
        }
        rejected
    }

    fn ranking(&self, table: &Table, row: &Row, (level, looks): (f64, Looks), smallest: f64) -> Ranking {
        let rejected = self.rejected(level, looks);
        let worth = |log: f64| log >= smallest.ln_1p();
        let beaten = |at: usize| rejected[at] && self.others[at].2.is_some_and(|found| worth(found.log));
        let rivals = 1 + (0..self.others.len()).filter(|&at| !beaten(at)).count();
        let widen = selection(rivals);
        let durability = table.contenders[self.best].durability;
        let others: Vec<Standing> = self
            .others
            .iter()
            .enumerate()
            .map(|(at, (contender, log, evidence))| Standing {
                contender: *contender,
                ratio: evidence.map_or(*log, |found| found.log).exp(),
                interval: evidence.map(|found| found.interval(RATIO_LEVEL, widen)),
                samples: evidence.map_or(0, |found| found.samples),
                relation: relation(evidence.as_ref(), beaten(at), widen, smallest),
                p: evidence.map(|found| found.p),
                unequal_durability: durability.differs(&table.contenders[*contender].durability),
            })
            .collect();
        let won = !others.is_empty() && others.iter().all(|other| other.relation == Relation::Worse);
        Ranking {
            operation: row.operation,
            backend: row.backend,
            age: row.age.clone(),
            best: self.best,
            won,
            others,
            smallest_effect: smallest,
            level: looks.level(level),
        }
    }
}

fn log_of(other: &(usize, f64, Option<Evidence>)) -> f64 {
    other.2.map_or(other.1, |found| found.log)
}

/// What may be said of evidence that did or did not pass.
pub fn relation(evidence: Option<&Evidence>, beaten: bool, widen: f64, smallest: f64) -> Relation {
    let Some(found) = evidence else { return Relation::TooFew };
    if beaten {
        return Relation::Worse;
    }
    let interval = found.interval(RATIO_LEVEL, widen);
    let within = |share: f64| interval.low >= 1.0 / (1.0 + share) && interval.high <= 1.0 + share;
    let holds_one = interval.low <= 1.0 && interval.high >= 1.0;
    if within(smallest) || (holds_one && within(NARROW * smallest)) { Relation::Tie } else { Relation::Unresolved }
}

/// How much wider an interval against the best must be where the best was picked among so many that may be equal:
/// the lucky one is picked, and all others look worse than they are.
pub fn selection(rivals: usize) -> f64 {
    1.0 + 0.14 * (rivals as f64 / 2.0).ln().max(0.0)
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
