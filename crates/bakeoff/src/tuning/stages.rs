//! The stages of a search as ordinary runs, each in a database of its own.
//! In: a [`Stage`]. Out: each set against the baseline, and the seconds that the stage took; a finished stage is read instead of run again.

use crate::args::{Goal, Output, Own, ResumeArgs, TuneArgs, What};
use crate::catalogue::Catalogue;
use crate::failure::Failure;
use crate::session::{self, STOPPED};
use crate::tuning::goals;
use crate::tuning::options::Subject;
use crate::{resolve, text};
use judge::Table;
use ledger::{Access, Ledger};
use records::{Contender, ResolvedPlan, RunRecord, RunStatus, TrialStatus};
use report::Material;
use report::view::plural;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tune::{Measured, Stage, StageKind};

/// The command line of a run of these contenders.
pub fn what(args: &TuneArgs, contenders: Vec<Contender>) -> What {
    What {
        names: args.works.clone(),
        image: args.image.clone(),
        scratch: args.scratch.clone(),
        on: args.on.clone(),
        split: args.split,
        erase: args.erase.clone(),
        filesystems: args.filesystems.clone(),
        scale: args.scale,
        set: args.set.clone(),
        seed: args.seed,
        own: Own { command: args.command.clone(), ..Own::default() },
        contenders,
        ..What::default()
    }
}

/// Runs stages in a folder.
pub struct Stages<'a> {
    /// The command line.
    pub args: &'a TuneArgs,
    /// What is tuned.
    pub subject: &'a Subject,
    /// Size of images, the same in all stages; `None` on a device.
    pub image: Option<String>,
    /// Folder of the databases.
    pub folder: PathBuf,
}

/// Results of a stage.
pub struct Done {
    /// Each set against the baseline, in the order of the stage; one result for each goal.
    pub results: Vec<Option<Vec<Measured>>>,
    /// Seconds of all its trials.
    pub seconds: f64,
    /// Its database.
    pub database: PathBuf,
}

impl Stages<'_> {
    /// Runs, resumes or reads a stage. `None`: the user stopped it.
    ///
    /// # Errors
    /// It cannot run, nothing could be measured, or the folder holds another search.
    pub fn run(&self, stage: &Stage) -> Result<Option<Done>, Failure> {
        let database = self.folder.join(format!("{}.db", stage.kind.name()));
        let (plan, catalogue) = self.plan(stage)?;
        let output = Output { no_report: true, plain: self.args.plain, quiet: true, ..Output::default() };
        let status = match last_run(&database)? {
            Some(run) if !is_of(&run, &plan) => {
                return Err(Failure::new(format!(
                    "continuing the search in {}: its stage {} belongs to other options or other work, \
                     or to another version of bakeoff; name another folder with --output, or remove this one",
                    self.folder.display(),
                    stage.kind.name()
                )));
            }
            Some(run) if run.status == RunStatus::Finished => 0,
            Some(_) => {
                let (erase, filesystems) = (self.args.erase.clone(), self.args.filesystems.clone());
                self.announce(stage);
                session::resume(&database, &ResumeArgs { erase, filesystems, output, ..ResumeArgs::default() })?
            }
            None => {
                self.announce(stage);
                session::begin(&database, &plan, &catalogue.filesystems.may_run(), &[], &output)?
            }
        };
        if status == STOPPED {
            return Ok(None);
        }
        let material = Material::read(&Ledger::open(&database, Access::Read)?, None)?;
        let trials = &material.trials;
        if trials.iter().all(|trial| trial.status == TrialStatus::Failed) {
            let why = trials.iter().find_map(|trial| trial.reason.clone()).unwrap_or_default();
            return Err(Failure::new(format!("stage {}: nothing could be measured: {why}", stage.kind.name())));
        }
        let all = samples::Time::of(trials).map_or(0.0, |time| time.all);
        // A pilot that was disturbed and repeated would make every later trial look twice as long.
        let seconds = if matches!(stage.kind, StageKind::Pilot(_)) { all / trials.len().max(1) as f64 } else { all };
        Ok(Some(Done { results: self.results(stage, &material)?, seconds, database }))
    }

    fn results(&self, stage: &Stage, material: &Material) -> Result<Vec<Option<Vec<Measured>>>, Failure> {
        let count = stage.sets.len();
        let mut of_goals = Vec::new();
        for goal in &self.args.goals {
            of_goals.push(match goal {
                Goal::Speed => {
                    let table = samples::table(&material.run, &material.contenders, &material.trials);
                    results(&table, count, stage.kind != StageKind::Confirm)?
                }
                _ => goals::results(*goal, material, count).ok_or_else(|| {
                    let (name, why) = (goal.name(), goal.why_none());
                    Failure::new(format!("--goal {name}: the work shows none of it: {why}"))
                })?,
            });
        }
        Ok((0..count).map(|set| of_goals.iter().map(|of| of[set]).collect()).collect())
    }

    fn plan(&self, stage: &Stage) -> Result<(ResolvedPlan, Catalogue), Failure> {
        let contenders: Vec<Contender> = stage.sets.iter().map(|set| self.subject.contender(set)).collect();
        let what = What {
            samples: Some(stage.rounds),
            // A control would take a quarter of the confirmation; intervals come from the sets themselves.
            no_twin: true,
            image: self.image.clone(),
            ..what(self.args, contenders)
        };
        let (mut plan, catalogue) = resolve::plan(&what)?;
        let works: Vec<&str> = plan.works.iter().map(|work| work.name.as_str()).collect();
        plan.title = format!("Tuning {} for {}: {}", self.args.filesystem, works.join(", "), stage.kind.name());
        let is_set = |entry: &&runner::PlannedContender| entry.asked.filesystem != records::DEVICE;
        if plan.contenders.iter().filter(is_set).count() != stage.sets.len() {
            return Err(Failure::usage(format!(
                "--for {}: a plan with axes varies options itself; name its workloads instead",
                self.args.works.join(",")
            )));
        }
        Ok((plan, catalogue))
    }

    fn announce(&self, stage: &Stage) {
        let sets = plural(stage.sets.len(), "set");
        let rounds = plural(stage.rounds as usize, "round");
        let time = stage.seconds.map_or_else(String::new, |seconds| format!(", about {}", judge::duration(seconds)));
        let line = format!("Stage {}: {sets} of options, {rounds}{time}", stage.kind.name());
        eprint!("{}", text::wrapped(&line, text::width(), "", "  "));
    }
}

/// The latest run in a database; `None` if there is no such file, or it has none.
fn last_run(database: &Path) -> Result<Option<RunRecord>, Failure> {
    if !database.exists() {
        return Ok(None);
    }
    let ledger = Ledger::open(database, Access::Read)?;
    if ledger.runs()?.is_empty() { Ok(None) } else { Ok(Some(ledger.run(None)?)) }
}

/// Whether a run is the one of a plan: the same contenders, work, place and rounds.
fn is_of(run: &RunRecord, plan: &ResolvedPlan) -> bool {
    run.new.plan.as_ref().is_some_and(|known| {
        let works = |plan: &ResolvedPlan| -> Vec<_> {
            plan.works.iter().map(|work| (work.name.clone(), work.compiled.settings.clone())).collect()
        };
        known.contenders == plan.contenders
            && works(known) == works(plan)
            && known.place == plan.place
            && known.sampling == plan.sampling
    })
}

/// The first contender against each of the first `count`, over the whole work: the mean over workloads of each one's sum, or of its
/// operations if it has none. Errors are averaged as if they were fully correlated, which is never too small.
///
/// `may_be_short`: where rounds are too few for the judge, [`by_rounds`] serves; never for a claim.
fn results(table: &Table, count: usize, may_be_short: bool) -> Result<Vec<Option<Measured>>, Failure> {
    let pairs = judge::pairs(table).map_err(|error| Failure::new(format!("judging a stage: {error}")))?;
    let mut works: Vec<&str> = table.operations.iter().map(|operation| operation.id.workload.as_str()).collect();
    works.sort_unstable();
    works.dedup();
    let rows: Vec<Vec<usize>> = works.iter().map(|work| rows(table, work)).filter(|rows| !rows.is_empty()).collect();
    let short = |row: usize| if may_be_short { by_rounds(table, row, count) } else { Vec::new() };
    let short: BTreeMap<usize, _> = rows.iter().flatten().map(|row| (*row, short(*row))).collect();
    let of_row = |contender: usize, row: usize| {
        let pair = pairs.iter().find(|pair| pair.operation == row && pair.contenders == [0, contender]);
        let judged = pair.map(|pair| Measured { log: -pair.log, error: pair.error, df: pair.df });
        judged.or_else(|| short[&row].get(contender).copied().flatten())
    };
    let of = |contender: usize| {
        let works =
            rows.iter().map(|rows| mean(&rows.iter().map(|row| of_row(contender, *row)).collect::<Option<Vec<_>>>()?));
        mean(&works.collect::<Option<Vec<_>>>()?)
    };
    Ok((0..count).map(|contender| if contender == 0 { None } else { of(contender) }).collect())
}

/// An operation of the first contender against each of the first `count`, by rounds, where too few rounds show too little scatter for the
/// judge: the scatter of all serves each.
fn by_rounds(table: &Table, row: usize, count: usize) -> Vec<Option<Measured>> {
    let costs = judge::costs(table, row);
    let base: BTreeMap<u32, f64> = costs.first().into_iter().flatten().copied().collect();
    let logs =
        |costs: &Vec<(u32, f64)>| costs.iter().filter_map(|(round, cost)| Some(base.get(round)? - cost)).collect();
    goals::measured(&costs.iter().take(count).map(logs).collect::<Vec<_>>())
}

/// Rows that stand for a workload.
fn rows(table: &Table, work: &str) -> Vec<usize> {
    let short = judge::too_short(table);
    let own = |at: &usize| {
        let operation = &table.operations[*at];
        operation.id.workload == work && !operation.secondary && !short.contains(at)
    };
    let all: Vec<usize> = (0..table.operations.len()).filter(own).collect();
    let sums: Vec<usize> = all.iter().copied().filter(|at| table.operations[*at].summary).collect();
    if sums.is_empty() { all } else { sums }
}

fn mean(results: &[Measured]) -> Option<Measured> {
    let count = results.len() as f64;
    let of = |value: fn(&Measured) -> f64| results.iter().map(value).sum::<f64>() / count;
    let df = results.iter().map(|one| one.df).reduce(f64::min)?;
    Some(Measured { log: of(|one| one.log), error: of(|one| one.error), df })
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::{Cell, Operation, OperationId, Sample};

    /// Two contenders; seconds of each by round, for two workloads with a sum and a part.
    fn table(slower: f64) -> Table {
        let operation = |work: &str, name: &str, summary| Operation {
            id: OperationId::new(work, name, "cold"),
            unit: "s".into(),
            summary,
            ..Operation::default()
        };
        let sample = |block: u32, value| Sample { block, value, trial: i64::from(block), ..Sample::default() };
        let cell = |operation, contender, scale: f64| Cell {
            operation,
            contender,
            samples: (0..5).map(|block| sample(block, scale * (1.0 + 0.01 * f64::from(block % 2)))).collect(),
            ..Cell::default()
        };
        let contender = |name: &str| judge::Contender { name: name.into(), ..judge::Contender::default() };
        Table {
            contenders: vec![contender("xfs"), contender("xfs noatime=on")],
            operations: vec![operation("a", "part", false), operation("a", "all", true), operation("b", "one", false)],
            cells: vec![
                cell(0, 0, 1.0),
                cell(0, 1, 9.0),
                cell(1, 0, 2.0),
                cell(1, 1, 2.0 * slower),
                cell(2, 0, 1.0),
                cell(2, 1, slower),
            ],
            ..Table::default()
        }
    }

    #[test]
    fn workloads_count_alike_by_their_sums_and_more_seconds_are_slower() {
        let found = results(&table(1.25), 2, true).expect("judged");
        assert!(found[0].is_none());
        let other = found[1].expect("measured");
        assert!((other.log + 1.25_f64.ln()).abs() < 1e-9, "{other:?}");
        let mut short = table(1.25);
        short.operations.truncate(1);
        short.cells.retain(|cell| cell.operation == 0);
        short.cells.iter_mut().for_each(|cell| cell.samples.truncate(2));
        assert_eq!(judge::pairs(&short), Ok(Vec::new()), "two rounds of two contenders in one row show no scatter");
        let of_two = results(&short, 2, true).expect("judged")[1].expect("measured");
        assert!((of_two.log + 9.0_f64.ln()).abs() < 1e-9 && of_two.df == 1.0, "{of_two:?}");
        assert_eq!(results(&short, 2, false).expect("judged"), [None, None], "it supports no claim");
        let mut unranked = table(1.25);
        let id = OperationId::new("b", "mkdir", "cold");
        unranked.operations.push(Operation { id, unranked: true, ..unranked.operations[2].clone() });
        let cells =
            [Cell { operation: 3, ..unranked.cells[4].clone() }, Cell { operation: 3, ..unranked.cells[5].clone() }];
        unranked.cells.extend(cells);
        assert_eq!(
            results(&unranked, 2, true).expect("judged")[1].map(|one| one.log),
            Some(other.log),
            "it has no rank"
        );
        let mut lost = table(1.25);
        lost.cells.pop();
        assert_eq!(results(&lost, 2, true).expect("judged")[1], None, "a workload is missing");
    }
}
