//! The statement of a published run: its answer, its rankings and its figures.
//! In: a judge's table. Out: [`Stated`], as JSON beside the ledger from which it follows; and the difference of two verdicts, in words.

use crate::failure::Failure;
use jiff::Timestamp;
use judge::{Backend, Certainty, Direction, Grade, Judgement, Ranking, Relation, Table};
use records::RunRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name of the form.
pub const FORM: &str = "bakeoff-published";
/// Version of the form.
pub const VERSION: u32 = 1;
/// Relative difference up to which two figures are the same: machines round differently.
const SAME: f64 = 1e-6;

/// Content of `results.json` next to the ledger of a published run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "bakeoff-published")]
pub struct Stated {
    /// `bakeoff-published`.
    pub form: String,
    /// Version of the form.
    pub form_version: u32,
    /// Version of the program that judged.
    pub bakeoff: String,
    /// Version of the rules that it judged by; 0 before they had versions.
    #[serde(default)]
    pub judge: u32,
    /// The run's id.
    pub run: String,
    /// When it began: RFC 3339, UTC.
    pub began: String,
    /// Its verdict.
    pub verdict: Verdict,
}

/// Verdict of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// Contender to take; null if there is no answer.
    pub take: Option<String>,
    /// How certain that is: `open`, `likely`, `beyond-doubt`.
    #[schemars(with = "Option<String>")]
    pub certainty: Option<Certainty>,
    /// How reliable all of it is: `none`, `low`, `medium`, `high`.
    #[schemars(with = "String")]
    pub grade: Grade,
    /// One for each operation, kind of machine and age that has figures, secondary figures left out.
    pub rankings: Vec<Ranked>,
}

/// The contenders of one operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ranked {
    /// Workload.
    pub workload: String,
    /// Operation.
    pub operation: String,
    /// Cache state.
    pub cache: String,
    /// Unit of the medians.
    pub unit: String,
    /// Whether more of it is better.
    pub more_is_better: bool,
    /// Where the kernels ran: `host`, `kvm`, `emulation`.
    #[schemars(with = "String")]
    pub backend: Backend,
    /// How used the filesystems were; empty: fresh.
    pub age: String,
    /// The contenders, the best first.
    pub contenders: Vec<Placed>,
}

/// One contender of a ranking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Placed {
    /// Its name.
    pub contender: String,
    /// Median of its samples, in the ranking's unit.
    pub median: f64,
    /// Samples.
    pub samples: usize,
    /// How many times worse than the best; 1 for the best itself.
    pub times: f64,
    /// Its relation to the best: `worse`, `likely-worse`, `tie`, `unresolved`, `too-few`; null for the best itself.
    #[schemars(with = "Option<String>")]
    pub relation: Option<Relation>,
}

impl Stated {
    /// The statement that follows from a run's table.
    ///
    /// # Errors
    /// The table cannot be judged.
    pub fn of(run: &RunRecord, table: &Table) -> Result<Self, Failure> {
        Ok(Self {
            form: FORM.into(),
            form_version: VERSION,
            bakeoff: env!("CARGO_PKG_VERSION").into(),
            judge: judge::RULES,
            run: run.id.clone(),
            began: Timestamp::from_millisecond(run.began_ms).unwrap_or_default().to_string(),
            verdict: Verdict::of(table)?,
        })
    }
}

impl Verdict {
    /// Judges a table.
    ///
    /// # Errors
    /// The table cannot be judged.
    pub fn of(table: &Table) -> Result<Self, Failure> {
        let (answer, judgement) = (judge::answer(table)?, judge::judge(table)?);
        let take = answer.groups.first().and_then(|group| group.take.as_ref());
        let shown = judgement.rankings.iter().filter(|ranking| !table.operations[ranking.operation].secondary);
        Ok(Self {
            take: take.map(|choice| table.contenders[choice.shortfall.contender].name.clone()),
            certainty: take.map(|choice| choice.certainty),
            grade: answer.confidence.grade,
            rankings: shown.map(|ranking| ranked(table, &judgement, ranking)).collect(),
        })
    }

    /// The first difference from another verdict, in words; `None` if they are the same.
    pub fn difference(&self, other: &Verdict) -> Option<String> {
        let say = |what: &str, here: &dyn std::fmt::Debug, there: &dyn std::fmt::Debug| {
            Some(format!("it states {what} {here:?}, but its ledger gives {there:?}"))
        };
        if self.take != other.take {
            return say("as the recommended contender", &self.take, &other.take);
        }
        if self.certainty != other.certainty {
            return say("as the certainty of the recommendation", &self.certainty, &other.certainty);
        }
        if self.grade != other.grade {
            return say("as its confidence", &self.grade, &other.grade);
        }
        if self.rankings.len() != other.rankings.len() {
            return say("as the number of rankings", &self.rankings.len(), &other.rankings.len());
        }
        self.rankings.iter().zip(&other.rankings).find_map(|(here, there)| here.difference(there))
    }
}

impl Ranked {
    fn difference(&self, other: &Ranked) -> Option<String> {
        let place = format!("{}/{}", self.workload, self.operation);
        let head = |ranked: &Ranked| Ranked { contenders: Vec::new(), ..ranked.clone() };
        if head(self) != head(other) || self.contenders.len() != other.contenders.len() {
            return Some(format!("its ledger gives a different ranking for {place}"));
        }
        let differs = |(here, there): &(&Placed, &Placed)| {
            let same = |a: f64, b: f64| a == b || (a - b).abs() <= SAME * a.abs().max(b.abs());
            here.contender != there.contender
                || here.relation != there.relation
                || here.samples != there.samples
                || !same(here.median, there.median)
                || !same(here.times, there.times)
        };
        let (here, there) = self.contenders.iter().zip(&other.contenders).find(differs)?;
        Some(format!("for {place} the published page gives {}, and its database gives {}", here.words(), there.words()))
    }
}

impl Placed {
    fn words(&self) -> String {
        let relation = self.relation.map(|relation| format!(", {relation:?}")).unwrap_or_default();
        format!("{} with {:.4} ({:.3}x the best{relation})", self.contender, self.median, self.times)
    }
}

fn ranked(table: &Table, judgement: &Judgement, ranking: &Ranking) -> Ranked {
    let operation = &table.operations[ranking.operation];
    let place = |contender: usize, times: f64, relation: Option<Relation>| {
        let figure = judgement.figure(ranking.operation, contender);
        Placed {
            contender: table.contenders[contender].name.clone(),
            median: figure.map_or(0.0, |figure| figure.median),
            samples: figure.map_or(0, |figure| figure.samples),
            times,
            relation,
        }
    };
    let best = std::iter::once(place(ranking.best, 1.0, None));
    let others = ranking.others.iter().map(|other| place(other.contender, other.ratio, Some(other.relation)));
    Ranked {
        workload: operation.id.workload.clone(),
        operation: operation.id.operation.clone(),
        cache: operation.id.cache.clone(),
        unit: operation.unit.clone(),
        more_is_better: operation.direction == Direction::HigherIsBetter,
        backend: ranking.backend,
        age: ranking.age.clone(),
        contenders: best.chain(others).collect(),
    }
}
