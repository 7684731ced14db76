//! Rankings: the best contender of each row, and the verdict on each of the others.
//! In: rows and their scatter, as one [`Fit`] that all statements about a table use. Out: [`Ranking`]s and [`Versus`].
//! `docs/judge.md` explains the method and shows by simulation that its error rates hold.

use crate::evidence::{Evidence, Meeting};
use crate::figure::MIN_SAMPLES;
use crate::judgement::{Interval, Ranking, Relation, Standing};
use crate::looks::Looks;
use crate::numbers::sorted;
use crate::row::{self, Member, Row};
use crate::scatter::Scatter;
use crate::series::Series;
use crate::sessions::Sessions;
use crate::stolen::{self, Corrected, CorrectedRow};
use crate::table::Table;

/// Version of the rules that verdicts follow. It rises whenever the same samples may lead to another verdict.
pub const RULES: u32 = 6;
/// The promised error rate: the chance that a table makes any false statement beyond doubt at any look; the share of false ones among the
/// differences that a table calls likely; the chance that an interval misses the truth.
pub const ALPHA: f64 = 0.05;
/// The rate for calling differences likely: 5 %, less the error that noise estimated from few samples adds, by simulation.
const LIKELY: f64 = 0.04;
/// The share of operations that may have two modes. What is only likely may be wrong in one of twenty cases, so the chance that two modes of
/// equal contenders look like a difference counts for as many operations as have them.
const BIMODAL: f64 = 0.2;
/// Each row may use this many times its share of the error that a table allows beyond doubt: bounds for all rows, pairs and looks together are
/// conservative, so tables of equals err less often than allowed. By simulation, with room for contenders that scatter far more than others.
const SPENT: f64 = 1.3;

/// One fit of a table: all statements about it are based on it.
pub struct Fit {
    /// One for each operation, backend and age.
    pub rows: Vec<Row>,
    /// The scatter of their samples.
    pub scatter: Scatter,
    contests: Vec<Contest>,
    levels: Vec<f64>,
    /// The p-value up to which a difference is likely, for primary and for secondary figures.
    likely: [f64; 2],
    looks: Looks,
    margin: f64,
    /// For each row the smallest difference that counts, a share: how much a contender that was entered twice differs from itself beyond
    /// doubt, or the margin.
    least: Vec<f64>,
    corrected: Vec<CorrectedRow>,
}

/// The number of comparisons to correct for if the best was picked from m contenders after looking at the samples: m/2.
pub fn comparisons(picked_from: f64) -> f64 {
    (picked_from / 2.0).max(1.0)
}

/// Two contenders of one row.
#[derive(Debug, Clone, Copy)]
pub struct Versus {
    /// The measured evidence: how much worse the second is.
    pub evidence: Evidence,
    /// The interval that is shown.
    pub interval: Interval,
    /// The interval that decides what is beyond doubt.
    pub beyond: Interval,
    /// The verdict on the second; the sign of the evidence decides whether the first is better or worse.
    pub relation: Relation,
}

impl Fit {
    /// Fits a table.
    pub fn of(table: &Table, series: &[Series]) -> Self {
        Self::of_rows(table, series, row::rows)
    }

    /// Fits the ages of each contender, compared with each other.
    pub fn of_ages(table: &Table, series: &[Series]) -> Self {
        Self::of_rows(table, series, row::rows_of_ages)
    }

    fn of_rows(table: &Table, series: &[Series], rows: fn(&Table, &[Series], &Sessions) -> Vec<Row>) -> Self {
        let sessions = Sessions::of(table);
        let Corrected { series, rows: corrected } = stolen::corrected(table, series, &sessions);
        let rows = rows(table, &series, &sessions);
        let scatter = Scatter::of(table, &rows, &sessions);
        let looks = Looks::of(table);
        let contests: Vec<Contest> =
            rows.iter().enumerate().map(|(at, row)| Contest::new(at, row, &scatter, looks)).collect();
        let levels = levels(&rows, &contests, looks);
        let likely = [false, true].map(|secondary| likely_level(&rows, &contests, secondary));
        let mut fit = Fit {
            rows,
            scatter,
            contests,
            levels,
            likely,
            looks,
            margin: table.margin(),
            least: Vec::new(),
            corrected,
        };
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

    /// How much of a sample stolen processor time explains at most, a share, for each line that was corrected for it; and the number of all
    /// lines.
    pub fn corrected_lines(&self) -> (Vec<f64>, usize) {
        let lines = || self.rows.iter().filter(|row| !row.secondary);
        let corrected = |row: &Row| {
            let own = |one: &&CorrectedRow| (one.operation, one.backend) == (row.operation, row.backend);
            self.corrected.iter().find(own).map(|one| one.most)
        };
        (lines().filter_map(corrected).collect(), lines().count())
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

    /// Whether a contender has enough samples in a row for a bound.
    pub fn is_known(&self, row: usize, contender: usize) -> bool {
        let least = self.scatter.least_samples(row);
        self.rows[row].member(contender).is_some_and(|member| member.trials.len() >= least)
    }

    /// The row of an operation that contains a contender.
    pub fn row_of(&self, operation: usize, contender: usize) -> Option<usize> {
        self.rows.iter().position(|row| row.operation == operation && row.member(contender).is_some())
    }

    /// Compares two contenders of one row, as its ranking does if one of them is the best; `None` where samples allow no interval.
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
        let shown = (met.shows(level, plain), met.shows(likely, likely / BIMODAL));
        let (beyond, interval) = (met.interval(level), met.interval(ALPHA));
        let worth = Worth { least: self.least[row], margin: self.margin };
        let relation = worth.relation(&met.picked, interval, shown);
        Some(Versus { evidence: met.picked, interval, beyond, relation })
    }

    fn meeting(&self, row: usize, first: usize, second: usize) -> Option<Meeting> {
        let member = |contender: usize| self.rows[row].member(contender);
        Meeting::of(&self.rows[row], &self.scatter, row, member(first)?, member(second)?)
    }

    /// How many times worse than the first the second is at most, now and at another time than that of the only session, with intervals
    /// that miss the truth at this level; `None` where samples allow no interval. Several sessions already cover another time.
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

    /// The number of simultaneous comparisons of a row's best that a comparison is corrected for, if it is not decided yet.
    pub fn pairs(&self, row: usize, contender: usize) -> f64 {
        self.contests[row].rival(contender).map_or(1.0, |rival| rival.pairs)
    }

    /// Whether more samples would change nothing that matters about a contender of a row: it is shown to be worse at every look together,
    /// or the best is behind it by at most this share.
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

/// Which differences matter, as shares: those of at least `least` are reported, those within the margin are ties.
#[derive(Debug, Clone, Copy)]
pub struct Worth {
    /// Smallest difference that is reported.
    pub least: f64,
    /// Largest difference that is a tie.
    pub margin: f64,
}

impl Worth {
    /// The verdict on a difference, given whether it is proven and whether it is likely, with the interval that is shown.
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

/// Adjusts an interval to the test: if no difference is shown, it contains 1.
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
    /// The number of contenders that the best was picked from, itself included.
    picked_from: usize,
    others: Vec<Rival>,
}

struct Rival {
    contender: usize,
    effect: f64,
    met: Option<Meeting>,
    /// The number of contenders that it was picked from, itself included.
    picked_from: usize,
    /// Number of comparisons that this one was tested among at all looks together, at the row's level.
    pairs: f64,
    /// Whether that test showed it to be worse.
    lasting: bool,
    /// Its p-value at this look, corrected for the best having been picked.
    p: f64,
    /// The interval that is shown.
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

/// Number of pairs of contenders that were each picked from several, without pairs within one set.
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

    /// Number of pairs for each comparison with the best.
    fn of_each(self) -> f64 {
        comparisons(self.sum)
    }
}

impl Contest {
    fn new(at: usize, row: &Row, scatter: &Scatter, looks: Looks) -> Self {
        // A contender with too few samples is not named the best while others have enough.
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

    /// Tests at all looks together, and at this one alone, at the row's own level.
    ///
    /// The best is picked by looking: of m equal ones the smallest differs from the mean of the others as the largest of m/2 comparisons
    /// does. So intervals corrected for m/2 contain the truth as often as promised (by simulation), and all pairs of m together are wrong
    /// with the chance of one.
    fn look(&mut self, looks: Looks) {
        let (lasting, now) = (self.steps(ALPHA, Some(looks)), self.steps(ALPHA, None));
        let near = now.iter().filter(|step| !step.1).map(|step| step.0).fold(1.0, f64::max);
        for ((rival, lasting), (pairs, _)) in self.others.iter_mut().zip(lasting).zip(now) {
            (rival.pairs, rival.lasting) = lasting;
            rival.p = rival.met.as_ref().map_or(1.0, |met| (met.p() * pairs).min(1.0));
            rival.interval = rival.met.as_ref().map(|met| met.interval(ALPHA / near));
        }
    }

    /// The verdict on each of the others, at the level that the whole table assigns to this row and at the level for likely. If the A/A
    /// pair shows differences of the machine itself, the interval of a difference that is no larger contains 1.
    fn conclude(&mut self, (level, likely): (f64, f64), looks: Looks, worth: Worth) {
        let proven = self.rejected(level, looks);
        for (rival, proven) in self.others.iter_mut().zip(proven) {
            let (Some(met), Some(interval)) = (&rival.met, rival.interval) else { continue };
            let found = met.picked;
            let likely = found.log > 0.0 && rival.p <= likely && met.shows(1.0, likely / BIMODAL);
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

    /// For each of the others: the number of pairs that it was tested among, and whether it is shown to differ, at a level for the whole
    /// row: at all looks together, or at this one alone, where each comparison has the level.
    ///
    /// Step-down over all pairs among those not yet separated, since the best is picked by looking. If the best beats every other at the
    /// plain level, it wins (Gutmann and Maymin 1987: picking costs nothing then). If it was itself picked from several that need not be
    /// beaten, any of these may have caused the difference.
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

/// Level of each row: the table's 5 % shared equally; the shares of rows in which everything is decided pass on to the others (Holm 1979).
/// Secondary rows share 5 % of their own.
fn levels(rows: &[Row], contests: &[Contest], looks: Looks) -> Vec<f64> {
    let mut levels = vec![0.0; rows.len()];
    for secondary in [false, true] {
        let family: Vec<usize> =
            (0..rows.len()).filter(|&at| rows[at].secondary == secondary && !contests[at].others.is_empty()).collect();
        let mut open = family.len();
        loop {
            let level = ALPHA * SPENT / open.max(1) as f64;
            let value =
                family.iter().filter(|&&at| contests[at].rejected(level, looks).iter().all(|value| *value)).count();
            let left = (family.len() - value).max(1);
            family.iter().for_each(|&at| levels[at] = level);
            if left >= open {
                break;
            }
            open = left;
        }
    }
    levels
}

/// The p-value up to which differences are likely: one in twenty that a table calls likely is false, and a table of equals calls nothing
/// likely in nineteen of twenty cases (Benjamini and Hochberg 1995). Secondary rows are a family of their own.
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
