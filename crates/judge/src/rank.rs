//! Rankings: who is best in each row, and what may be said of the others.
//! In: rows and how samples scatter, as one [`Fit`] for everything that is said of a table. Out: [`Ranking`]s and [`Versus`].
//! `docs/judge.md` explains the method and shows by simulation that it keeps its word.

use crate::evidence::{Evidence, Meeting};
use crate::figure::MIN_SAMPLES;
use crate::judgement::{Interval, Ranking, Relation, Standing};
use crate::looks::Looks;
use crate::numbers::sorted;
use crate::row::{self, Member, Row};
use crate::scatter::Scatter;
use crate::series::Series;
use crate::sessions::Sessions;
use crate::table::Table;

/// Which rules verdicts rest on. It rises whenever the same samples may lead to another verdict.
pub const RULES: u32 = 3;
/// The promised rate of error: the chance that a table says anything false beyond doubt at any look; the share of what a table calls likely that is
/// false; the chance that an interval misses the truth.
pub const ALPHA: f64 = 0.05;
/// The rate at which differences are called likely: 5 %, less what noise that is known from few samples adds, by simulation.
const LIKELY: f64 = 0.04;
/// How much more than its share each line gets of what a table may say falsely beyond doubt: bounds for all rows, pairs and looks together are
/// cautious, and tables of equals then err less often than they may. By simulation, with room for contenders that scatter far more than others.
const SPENT: f64 = 1.3;

/// One fit of a table: all statements about it come from here.
pub struct Fit {
    /// One for each operation, backend and age.
    pub rows: Vec<Row>,
    /// How far their samples scatter.
    pub scatter: Scatter,
    contests: Vec<Contest>,
    levels: Vec<f64>,
    /// Up to which p-value a difference is likely, in figures and in secondary ones.
    likely: [f64; 2],
    looks: Looks,
    margin: f64,
    /// For each row, the share by which a contender that was entered twice differs from itself beyond doubt, or the margin: less is said of nobody.
    least: Vec<f64>,
}

/// For how many comparisons one with the best of so many is corrected, since the best was picked by looking: m/2 of m.
pub fn comparisons(picked_from: f64) -> f64 {
    (picked_from / 2.0).max(1.0)
}

/// Two contenders of one row.
#[derive(Debug, Clone, Copy)]
pub struct Versus {
    /// What was measured: how much worse the second is.
    pub evidence: Evidence,
    /// The interval that is shown.
    pub interval: Interval,
    /// The one that decides what is beyond doubt.
    pub beyond: Interval,
    /// What may be said of the second; the first is better or worse by the sign of the evidence.
    pub relation: Relation,
}

impl Fit {
    /// Fits a table.
    pub fn of(table: &Table, series: &[Series]) -> Self {
        Self::of_rows(table, |sessions| row::rows(table, series, sessions))
    }

    /// Fits the ages of each contender, against each other.
    pub fn of_ages(table: &Table, series: &[Series]) -> Self {
        Self::of_rows(table, |sessions| row::rows_of_ages(table, series, sessions))
    }

    fn of_rows(table: &Table, rows: impl FnOnce(&Sessions) -> Vec<Row>) -> Self {
        let sessions = Sessions::of(table);
        let rows = rows(&sessions);
        let scatter = Scatter::of(table, &rows, &sessions);
        let looks = Looks::of(table);
        let contests: Vec<Contest> =
            rows.iter().enumerate().map(|(at, row)| Contest::new(at, row, &scatter, looks)).collect();
        let levels = levels(&rows, &contests, looks);
        let likely = [false, true].map(|secondary| likely_level(&rows, &contests, secondary));
        let mut fit = Fit { rows, scatter, contests, levels, likely, looks, margin: table.margin(), least: Vec::new() };
        fit.least = (0..fit.rows.len()).map(|row| fit.least_in(table, row)).collect();
        for (row, contest) in fit.contests.iter_mut().enumerate() {
            let likely = likely[usize::from(fit.rows[row].secondary)];
            contest.conclude((fit.levels[row], likely), looks, Worth { least: fit.least[row], margin: fit.margin });
        }
        fit
    }

    fn least_in(&self, table: &Table, row: usize) -> f64 {
        let level = self.looks.level(ALPHA / self.rows.len() as f64);
        let broken = twins(table).filter_map(|pair| self.twin(row, pair)).filter(|found| found.p <= level);
        broken.map(|found| found.log.abs().exp_m1()).fold(self.margin, f64::max)
    }

    /// How a contender that was entered twice differs from itself in a row.
    pub fn twin(&self, row: usize, (twin, of): (usize, usize)) -> Option<Evidence> {
        let members = &self.rows[row];
        Evidence::of(members.member(of)?, members.member(twin)?, self.scatter.prior(row, of, twin))
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
        let others: Vec<Standing> = contest
            .others
            .iter()
            .map(|rival| Standing {
                contender: rival.contender,
                ratio: rival.log().exp(),
                interval: rival.interval,
                samples: rival.evidence().map_or(0, |found| found.samples),
                relation: rival.relation,
                p: rival.met.as_ref().map(Meeting::p),
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

    /// Whether a contender was measured often enough in a row for a bound.
    pub fn is_known(&self, row: usize, contender: usize) -> bool {
        let least = self.scatter.least_samples(row);
        self.rows[row].member(contender).is_some_and(|member| member.trials.len() >= least)
    }

    /// The row of an operation in which a contender stands.
    pub fn row_of(&self, operation: usize, contender: usize) -> Option<usize> {
        self.rows.iter().position(|row| row.operation == operation && row.member(contender).is_some())
    }

    /// Two contenders of one row, as its ranking has them where one of them is the best; `None` where samples allow no interval.
    pub fn versus(&self, row: usize, first: usize, second: usize) -> Option<Versus> {
        let contest = &self.contests[row];
        let proof = |pairs: f64| (self.looks.level(self.levels[row] / pairs), self.levels[row] / pairs);
        for (best, other, turned) in [(first, second, false), (second, first, true)] {
            let Some(rival) = contest.rival(other).filter(|_| contest.best == best) else { continue };
            let (met, interval, relation) = (rival.met.as_ref()?, rival.interval?, rival.relation);
            let beyond = met.interval(proof(rival.pairs).0);
            let versus = Versus { evidence: met.picked, interval, beyond, relation };
            return Some(if turned { versus.turned() } else { versus });
        }
        let met = self.meeting(row, first, second)?;
        let (level, plain) = proof(contest.all_pairs());
        let likely = self.likely[usize::from(self.rows[row].secondary)];
        let shown = (met.shows(level, plain), met.shows(likely, likely));
        let (beyond, interval) = (met.interval(level), met.interval(ALPHA));
        let worth = Worth { least: self.least[row], margin: self.margin };
        let relation = worth.relation(&met.picked, interval, shown);
        Some(Versus { evidence: met.picked, interval, beyond, relation })
    }

    fn meeting(&self, row: usize, first: usize, second: usize) -> Option<Meeting> {
        let member = |contender: usize| self.rows[row].member(contender);
        Meeting::of(&self.rows[row], &self.scatter, row, member(first)?, member(second)?)
    }

    /// How many times worse than the first the second is at most, now and at another time than that of the only session, with intervals that miss the
    /// truth at this level; `None` where samples allow no interval. Several sessions bound another time by themselves.
    pub fn bounds(&self, row: usize, first: usize, second: usize, level: f64) -> Option<(f64, f64)> {
        let met = self.meeting(row, first, second)?;
        let now = met.interval(level).high;
        let later = if self.scatter.between.is_some() { now } else { met.at_another_time().interval(level).high };
        Some((now, later))
    }

    /// A level for all looks together.
    pub fn lasting(&self, level: f64) -> f64 {
        self.looks.level(level)
    }

    /// How many comparisons the best of a row is held against at once, for one that is not told yet.
    pub fn pairs(&self, row: usize, contender: usize) -> f64 {
        self.contests[row].rival(contender).map_or(1.0, |rival| rival.pairs)
    }

    /// Whether more samples would change nothing that matters about one of a row beside its best: at every look together it is shown to be worse, or
    /// the best is behind it by at most this share.
    pub fn is_settled(&self, row: usize, contender: usize, resolution: f64) -> bool {
        let Some(rival) = self.contests[row].rival(contender) else { return true };
        let Some(met) = &rival.met else { return false };
        let is_worse = rival.lasting && met.picked.log.abs() >= self.least[row].ln_1p();
        is_worse || met.interval(self.looks.level(ALPHA / rival.pairs)).low >= 1.0 / (1.0 + resolution)
    }
}

impl Versus {
    /// The same from the other side.
    fn turned(self) -> Self {
        let Versus { evidence, interval, beyond, relation } = self;
        Versus { evidence: evidence.turned(), interval: interval.turned(), beyond: beyond.turned(), relation }
    }
}

/// Which differences are worth saying, as shares: from the least on one is said, and all within the margin are none.
#[derive(Debug, Clone, Copy)]
pub struct Worth {
    /// Least difference that is said.
    pub least: f64,
    /// Largest that is none.
    pub margin: f64,
}

impl Worth {
    /// What may be said of a difference that is or is not proven, and likely, with the interval that is shown.
    pub fn relation(&self, found: &Evidence, shown: Interval, (proven, likely): (bool, bool)) -> Relation {
        let worth = found.log.abs() >= self.least.ln_1p();
        match () {
            () if found.samples < MIN_SAMPLES => Relation::Unresolved,
            () if proven && worth => Relation::Worse,
            () if likely && worth => Relation::LikelyWorse,
            () if shown.low >= 1.0 / (1.0 + self.margin) && shown.high <= 1.0 + self.margin => Relation::Tie,
            () => Relation::Unresolved,
        }
    }
}

/// Contenders that were entered twice: the second entry, and the first.
pub fn twins(table: &Table) -> impl Iterator<Item = (usize, usize)> {
    table.contenders.iter().enumerate().filter_map(|(twin, contender)| {
        let of = table.contender(contender.twin_of.as_deref()?)?;
        Some((twin, of))
    })
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
    /// How many the best was picked from, itself among them.
    picked_from: usize,
    others: Vec<Rival>,
}

struct Rival {
    contender: usize,
    effect: f64,
    met: Option<Meeting>,
    /// How many it was picked from, itself among them.
    picked_from: usize,
    /// Comparisons among which this one was tested at all looks together, at the line's level.
    pairs: f64,
    /// Whether it was shown to be worse in that way.
    lasting: bool,
    /// Its p-value at this look, corrected for the best having been picked.
    p: f64,
    /// As it is shown.
    interval: Option<Interval>,
    relation: Relation,
}

impl Rival {
    fn evidence(&self) -> Option<&Evidence> {
        self.met.as_ref().map(|met| &met.picked)
    }

    fn log(&self) -> f64 {
        self.evidence().map_or(self.effect, |found| found.log)
    }
}

/// How many pairs there are of contenders that were each picked from so many, pairs within one left out.
#[derive(Clone, Copy)]
struct Pairs {
    sum: f64,
    squares: f64,
}

impl Pairs {
    fn of(sizes: impl Iterator<Item = usize>) -> Self {
        sizes.fold(Pairs { sum: 0.0, squares: 0.0 }, |all, size| all.with(size as f64, 1.0))
    }

    fn with(self, size: f64, times: f64) -> Self {
        Pairs { sum: self.sum + times * size, squares: self.squares + times * size * size }
    }

    fn count(self) -> f64 {
        ((self.sum * self.sum - self.squares) / 2.0).max(1.0)
    }

    /// As many as there are for each comparison with the best.
    fn of_each(self) -> f64 {
        comparisons(self.sum)
    }
}

impl Contest {
    fn new(at: usize, row: &Row, scatter: &Scatter, looks: Looks) -> Self {
        // One that was measured too rarely is not named the best before others that were measured often enough.
        let enough = |member: &&Member| member.trials.len() >= scatter.least_samples(at);
        let least = |a: &&Member, b: &&Member| a.effect.total_cmp(&b.effect);
        let best = row.ranked().filter(enough).min_by(least).or_else(|| row.ranked().min_by(least));
        let best = best.expect("a row has members");
        let picked_from = |contender: usize| 1 + row.alternatives(contender).count();
        let mut others: Vec<Rival> = row
            .ranked()
            .filter(|member| member.contender != best.contender)
            .map(|member| Rival {
                contender: member.contender,
                effect: member.effect - best.effect,
                met: Meeting::of(row, scatter, at, best, member),
                picked_from: picked_from(member.contender),
                pairs: 1.0,
                lasting: false,
                p: 1.0,
                interval: None,
                relation: Relation::TooFew,
            })
            .collect();
        others.sort_by(|a, b| a.log().total_cmp(&b.log()));
        let mut contest = Contest { best: best.contender, picked_from: picked_from(best.contender), others };
        contest.look(looks);
        contest
    }

    /// What is shown at all looks together, and at this one alone, at the line's own level.
    ///
    /// The best was picked by looking: of m equal ones the smallest differs from the mean of the others as the largest of m/2 comparisons does, so
    /// that intervals corrected for m/2 hold the truth as often as they promise (by simulation), and so that all pairs of m together are wrong with
    /// the chance of one.
    fn look(&mut self, looks: Looks) {
        let (lasting, now) = (self.steps(ALPHA, Some(looks)), self.steps(ALPHA, None));
        let near = now.iter().filter(|step| !step.1).map(|step| step.0).fold(1.0, f64::max);
        for ((rival, lasting), (pairs, _)) in self.others.iter_mut().zip(lasting).zip(now) {
            (rival.pairs, rival.lasting) = lasting;
            rival.p = rival.met.as_ref().map_or(1.0, |met| (met.p() * pairs).min(1.0));
            rival.interval = rival.met.as_ref().map(|met| met.interval(ALPHA / near));
        }
    }

    /// What may be said of each of the others, at the level that the whole table leaves to this row and at the one that makes likely. Where the
    /// machine itself makes differences, an interval of one that is no larger contains 1.
    fn conclude(&mut self, (level, likely): (f64, f64), looks: Looks, worth: Worth) {
        let proven = self.rejected(level, looks);
        for (rival, proven) in self.others.iter_mut().zip(proven) {
            let (Some(met), Some(interval)) = (&rival.met, rival.interval) else { continue };
            let found = met.picked;
            let likely = found.log > 0.0 && rival.p <= likely && met.shows(1.0, likely);
            rival.relation = worth.relation(&found, interval, (proven, likely));
            let within = worth.least > worth.margin && found.log.abs() < worth.least.ln_1p();
            rival.interval = Some(held_to(interval, !within, found.log));
        }
    }

    fn rival(&self, contender: usize) -> Option<&Rival> {
        self.others.iter().find(|rival| rival.contender == contender)
    }

    fn pairs(&self) -> Pairs {
        Pairs::of([self.picked_from].into_iter().chain(self.others.iter().map(|rival| rival.picked_from)))
    }

    /// Comparisons between any two contenders of the row.
    fn all_pairs(&self) -> f64 {
        self.pairs().count()
    }

    /// For each of the others, among how many pairs it was tested, and whether it is shown to differ, at a level for the whole row: at all looks
    /// together, or at this one alone, where each comparison has the level.
    ///
    /// Step-down over all pairs among those not yet told apart, since the best was picked by looking; but where the best
    /// beats every other at the plain level, it has won (Gutmann and Maymin 1987: picking costs nothing then). Where it was itself picked from
    /// several that need not be beaten, any of these may have made the difference.
    fn steps(&self, level: f64, looks: Option<Looks>) -> Vec<(f64, bool)> {
        let at_look = |level: f64| looks.map_or(level, |looks| looks.level(level));
        let passes = |met: &Option<Meeting>, pairs: f64| {
            let beaten = |met: &Meeting| met.picked.log > 0.0 && met.shows(at_look(level / pairs), level / pairs);
            met.as_ref().is_some_and(beaten)
        };
        let own = self.picked_from as f64;
        if !self.others.is_empty() && self.others.iter().all(|rival| passes(&rival.met, own)) {
            return vec![(own, true); self.others.len()];
        }
        let mut order: Vec<usize> = (0..self.others.len()).collect();
        let p = |at: usize| self.others[at].met.as_ref().map_or(1.0, Meeting::p);
        order.sort_by(|&a, &b| p(a).total_cmp(&p(b)));
        let mut left = self.pairs();
        let count = |left: Pairs| if looks.is_some() { left.count() } else { left.of_each() };
        let mut steps = vec![(count(left), false); self.others.len()];
        let mut going = true;
        for at in order {
            let pairs = count(left);
            going = going && passes(&self.others[at].met, pairs);
            steps[at] = (pairs, going);
            left = if going { left.with(self.others[at].picked_from as f64, -1.0) } else { left };
        }
        steps
    }

    fn rejected(&self, level: f64, looks: Looks) -> Vec<bool> {
        self.steps(level, Some(looks)).into_iter().map(|step| step.1).collect()
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
            let level = ALPHA * SPENT / open.max(1) as f64;
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

/// The p-value up to which differences are likely: of all that a table calls likely one in twenty is false, and a table of equals calls nothing likely
/// in nineteen of twenty (Benjamini and Hochberg 1995). Secondary rows are a family of their own.
fn likely_level(rows: &[Row], contests: &[Contest], secondary: bool) -> f64 {
    let of_family = |at: &usize| rows[*at].secondary == secondary;
    let all = (0..rows.len()).filter(of_family).flat_map(|at| contests[at].others.iter().map(|rival| rival.p));
    let ordered = sorted(&all.collect::<Vec<f64>>());
    let share = |rank: usize| LIKELY * (rank + 1) as f64 / ordered.len() as f64;
    (0..ordered.len())
        .rev()
        .map(share)
        .zip(ordered.iter().rev())
        .find(|(share, p)| *p <= share)
        .map_or(0.0, |(share, _)| share)
}
