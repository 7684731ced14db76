//! A small bake-off of two directories, each served by its own child process.
//! In: number of samples, and the kind of engine of one trial. Out: a ledger.

use crate::PROGRAM;
use ledger::{Access, CommandRecord, Ledger, NewRun, Origin, TrialRecord};
use records::{Contender, DIRECTORY};
use runner::{Ended, MachineClock, Place, PlannedContender, ResolvedPlan, Run, Unwatched, Venue, VenueError, Work};
use staging::{Asked, Pipe, Remote, Staged};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use system::Journal;
use workload::catalogue::WorkCatalogue;

/// Time limit of one request.
const LIMIT: Duration = Duration::from_secs(600);

/// Behaviour of a trial's engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Works,
    Crashes,
    KillsTheStage,
}

/// A plan, its folders and its ledger.
pub struct Bench {
    folder: tempfile::TempDir,
    plan: ResolvedPlan,
    odd: Option<(usize, Engine)>,
}

impl Bench {
    pub fn new(samples: u32) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let labels = ["left", "right"];
        for label in labels {
            std::fs::create_dir(folder.path().join(label)).expect("a folder");
        }
        let plan = plan(labels.map(|label| folder.path().join(label)).to_vec(), samples);
        Self { folder, plan, odd: None }
    }

    /// Gives the n-th trial of a run, from 0, another engine.
    pub fn engine_of_trial(mut self, trial: usize, engine: Engine) -> Self {
        self.odd = Some((trial, engine));
        self
    }

    pub fn run(&self) -> Ended {
        self.run_for(usize::MAX)
    }

    /// Begins the run, and stops it after so many trials.
    pub fn run_for(&self, trials: usize) -> Ended {
        let mut ledger = self.ledger(Access::Write);
        let new = NewRun {
            title: self.plan.title.clone(),
            plan: Some(self.plan.clone()),
            seed: self.plan.seed,
            machine: None,
            merged: None,
            version: "test".into(),
            command_line: Vec::new(),
            origin: Origin::Measured,
            works: self.plan.work_records(),
        };
        let id = ledger.begin_run(&new, &self.plan.contender_records()).expect("the run begins");
        self.carry_on(&mut ledger, &id, trials)
    }

    pub fn resume(&self) -> Ended {
        let mut ledger = self.ledger(Access::Write);
        let id = ledger.run(None).expect("a run").id;
        self.carry_on(&mut ledger, &id, usize::MAX)
    }

    pub fn trials(&self) -> Vec<TrialRecord> {
        let ledger = self.ledger(Access::Read);
        let id = ledger.run(None).expect("a run").id;
        ledger.trials(&id).expect("trials")
    }

    /// Names of files left in the two directories.
    pub fn left(&self) -> Vec<String> {
        let Place::Directories(folders) = &self.plan.place else { return Vec::new() };
        let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("it is there").flatten());
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// Cleans as the next start does.
    pub fn clean(&self) {
        let survey = staging::survey(&[]).expect("marks are read");
        let cleaned = staging::clean(&survey.leftovers, &Journal::new());
        assert!(cleaned.iter().all(|one| one.problems.is_empty()), "{cleaned:?}");
    }

    fn ledger(&self, access: Access) -> Ledger {
        Ledger::open(&self.folder.path().join("bakeoff.db"), access).expect("the ledger opens")
    }

    fn carry_on(&self, ledger: &mut Ledger, id: &str, trials: usize) -> Ended {
        let begun = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&begun);
        let mut venue = Children { bench: self, journal: Journal::new(), begun, trial: Cell::new(0) };
        let mut run = Run {
            plan: &self.plan,
            id,
            ledger,
            venue: &mut venue,
            watcher: &mut Unwatched,
            agent: [PROGRAM, "engine", "works"].map(String::from).to_vec(),
            // The next trial is begun, and leaves no trace.
            stop: Arc::new(move || counted.load(Ordering::SeqCst) > trials),
            clock: &MachineClock::default(),
        };
        run.carry_on().expect("the run is carried out")
    }
}

/// Stages each contender in its own child process.
struct Children<'b> {
    bench: &'b Bench,
    journal: Journal,
    begun: Arc<AtomicUsize>,
    trial: Cell<usize>,
}

impl Venue for Children<'_> {
    fn stage(&mut self, contender: usize) -> Result<Box<dyn Staged + '_>, VenueError> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let trial = self.trial.replace(self.trial.get() + 1);
        let engine = self.bench.odd.filter(|(odd, _)| *odd == trial).map_or(Engine::Works, |(_, engine)| engine);
        let engine = match engine {
            Engine::Works => "works",
            Engine::Crashes => "crashes",
            Engine::KillsTheStage => "kills",
        };
        let asked = self.bench.plan.contenders[contender].asked.clone();
        let folder = self.bench.folder.path().join(&asked.label).display().to_string();
        let pipe = Pipe::start(&[PROGRAM, "stage", &folder, engine].map(String::from))?;
        let asked = Asked { contender: Box::new(asked), ..Asked::default() };
        Ok(Box::new(Remote::stage(pipe, asked, LIMIT, &self.journal)?))
    }

    fn commands(&mut self) -> Vec<CommandRecord> {
        runner::drained(&self.journal)
    }
}

/// The existing directory, under a name.
pub fn contender(label: &str) -> Contender {
    Contender { label: label.into(), filesystem: DIRECTORY.into(), ..Contender::default() }
}

fn plan(folders: Vec<PathBuf>, samples: u32) -> ResolvedPlan {
    let label = |folder: &PathBuf| folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let entry = |folder| PlannedContender { asked: contender(&label(folder)), twin_of: None, works: Vec::new() };
    let settings = [("files", "60"), ("some", "10")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let workload = WorkCatalogue::builtin().expect("what ships is read").workload("small-files").cloned();
    let workload = workload.expect("it ships");
    let compiled = workload.compile("quick", &BTreeMap::from(settings), 7).expect("it compiles");
    let contenders = folders.iter().map(entry).collect();
    let work = Work {
        name: "small-files".into(),
        title: "Small files".into(),
        about: String::new(),
        weaker_in_place: Vec::new(),
        compiled,
    };
    crate::plans::plan("two directories", Place::Directories(folders), contenders, work, samples)
}
