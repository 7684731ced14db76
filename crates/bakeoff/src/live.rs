//! The live report: a run in progress, in a browser.
//! In: events of the run, as the terminal's display gets them. Out: pages at an address of this machine, and the report at the end.
//! Anything that costs more than a line of text is made between trials. During a measurement the server's thread works at most a few times
//! a second, at the lowest priority.

mod disk;
mod latency;
mod site;
mod standings;

use crate::failure::Failure;
use crate::pace::Pace;
use crate::progress;
use crate::verbs::serve::OPEN_TO_OTHERS;
use disk::DiskWatch;
use jiff::Timestamp;
use latency::Latencies;
use records::{ResolvedPlan, TrialRecord, TrialStatus};
use report::live::{Ended, Line, News, Place, Progress, Step};
use runner::News as Heard;
use site::{LiveSite, Shared};
use standings::History;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use web::{Feed, Server, WebError};

/// Lines of the log that are kept, and letters of each.
const LINES: usize = 80;
const LETTERS: usize = 400;
/// Warnings that are kept.
const WARNINGS: usize = 40;
/// Time for connected browsers to fetch the report at the end.
const TO_FETCH: Duration = Duration::from_secs(15);
/// Stack of the server's thread: a run locks its memory, so all of it costs memory.
const STACK: usize = 512 << 10;

/// A live report.
pub struct Live {
    shared: Arc<Shared>,
    thread: JoinHandle<Result<(), WebError>>,
    /// Workload, name and title of every phase.
    phases: Vec<(String, String, String)>,
    place: Place,
    /// The current phase: workload, name, title.
    phase: Option<(String, String, String)>,
    pace: Pace,
    history: History,
    latencies: Latencies,
    log: VecDeque<Line>,
    warnings: VecDeque<String>,
}

/// Binds the address before a run starts, so that an unavailable one does not stop the run halfway.
pub fn listen(address: SocketAddr) -> Result<Server, Failure> {
    let server = Server::bind(address)?;
    eprintln!("live report: {}", server.url());
    if server.is_open_to_others() {
        eprintln!("{OPEN_TO_OTHERS}");
    }
    Ok(server)
}

impl Live {
    /// Starts to show a run.
    pub fn start(server: Server, plan: &ResolvedPlan, id: &str) -> Result<Live, Failure> {
        let feed = Feed::new()?;
        let (prepared_ns, began) = (AtomicU64::new(0), Instant::now());
        let shared = Arc::new(Shared { feed, prepared_ns, report: Mutex::default(), began });
        let mut site = LiveSite::new(Arc::clone(&shared), &plan.title, id, DiskWatch::of(&plan.place));
        let serving = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("live report".into())
            .stack_size(STACK)
            .spawn(move || server.serve(&mut site, Some(&serving.feed)))
            .map_err(|error| Failure::new(format!("starting the thread of the live report: {error}")))?;
        let phases = plan.works.iter().flat_map(|work| {
            work.compiled.phases.iter().map(|phase| (work.name.clone(), phase.name.clone(), phase.title.clone()))
        });
        Ok(Live {
            shared,
            thread,
            phases: phases.collect(),
            place: Place::default(),
            phase: None,
            pace: Pace::new(plan),
            history: History::of(plan),
            latencies: Latencies::default(),
            log: VecDeque::new(),
            warnings: VecDeque::new(),
        })
    }

    /// Handles an event.
    pub fn news(&mut self, news: &Heard) {
        let began = Instant::now();
        self.take(news);
        let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.shared.prepared_ns.fetch_add(took, Ordering::Relaxed);
    }

    fn take(&mut self, news: &Heard) {
        match news {
            Heard::Began { trials: (done, of), spent, .. } => {
                self.pace.resumed(*spent);
                (self.place.done, self.place.of) = (*done, *of);
                self.say(&format!("{} planned at first, {done} done", report::view::plural(*of, "trial")));
                self.tell(&News::Place(self.place.clone()));
            }
            Heard::Remark(text) => self.say(text),
            Heard::ContenderOut { label, why } => self.warn(format!("{label} drops out: {why}")),
            Heard::TrialBegan { block, contender, workload } => {
                self.place.block = block + 1;
                self.place.contender = (*contender).into();
                self.place.workload = (*workload).into();
                self.tell(&News::Place(self.place.clone()));
                self.shared.feed.keep_still(true);
            }
            Heard::Turn { contender, .. } => {
                self.place.contender = (*contender).into();
                self.tell(&News::Place(self.place.clone()));
                self.shared.feed.keep_still(true);
            }
            Heard::Step(text) => self.step(text),
            Heard::Progress(items, of, bytes) => {
                self.tell(&News::Progress(Progress { items: *items, of: *of, bytes: *bytes }));
            }
            Heard::TrialEnded { contender, trial, done } => self.trial_ended(contender, trial, *done),
            Heard::BlockEnded { block, decision, table } => {
                self.say(&format!("round {}: {decision}", block + 1));
                if let Some(standings) = self.history.after(*block, decision, table) {
                    self.tell(&News::Standings(standings));
                }
            }
        }
    }

    fn step(&mut self, text: &str) {
        let known = self.phases.iter().find(|(work, _, title)| *work == self.place.workload && title == text);
        let phase = known.cloned();
        self.tell(&News::Step(Step { text: text.into(), phase: phase.is_some() }));
        if phase.is_some() {
            self.phase = phase;
            self.latency();
        }
    }

    /// Latency of the current phase, from earlier trials.
    fn latency(&self) {
        let Some((work, name, title)) = &self.phase else { return };
        let title = format!("{work}, {title}");
        if let Some(latency) = self.latencies.of(work, name, title) {
            self.tell(&News::Latency(latency));
        }
    }

    fn trial_ended(&mut self, contender: &str, trial: &TrialRecord, done: (usize, usize)) {
        self.shared.feed.keep_still(false);
        self.pace.ended(trial);
        self.latencies.add(contender, trial);
        (self.place.done, self.place.of) = done;
        self.place.left_s = self.pace.left(done.0, done.1).map(|left| left.as_secs_f64().round());
        self.tell(&News::Place(self.place.clone()));
        self.latency();
        self.say(&progress::outcome(contender, trial, done));
        let place = format!("{contender}, {}, round {}", trial.workload, trial.block + 1);
        if trial.status == TrialStatus::Failed {
            self.warn(format!("{place}: {}", trial.reason.as_deref().unwrap_or("failed for an unknown reason")));
        }
        let mut disturbed: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for phase in &trial.phases {
            phase.evidence.disturbed.iter().for_each(|what| {
                disturbed.entry(what).or_default().insert(&phase.name);
            });
        }
        for (what, phases) in disturbed {
            self.warn(format!("{place}: {what} ({})", phases.into_iter().collect::<Vec<_>>().join(", ")));
        }
        trial.remarks.iter().for_each(|remark| self.warn(format!("{contender}, {}: {remark}", trial.workload)));
    }

    fn say(&mut self, text: &str) {
        let time = Timestamp::now().strftime("%H:%M:%S").to_string();
        self.log.push_back(Line { time, text: crate::text::shortened(text, LETTERS) });
        if self.log.len() > LINES {
            self.log.pop_front();
        }
        self.tell(&News::Log(self.log.iter().cloned().collect()));
    }

    fn warn(&mut self, text: String) {
        self.say(&text);
        let text = crate::text::shortened(&text, LETTERS);
        self.warnings.retain(|known| *known != text);
        self.warnings.push_front(text);
        self.warnings.truncate(WARNINGS);
        self.tell(&News::Warnings(self.warnings.iter().cloned().collect()));
    }

    fn tell(&self, news: &News) {
        self.shared.tell(news);
    }

    /// All trials are done; the report is being written.
    pub fn concluding(&self) {
        self.tell(&News::Step(Step { text: "judging the results and writing the report".into(), phase: false }));
    }

    /// Ends the page: connected browsers get the report, if there is one, and some time to fetch it.
    pub fn end(self, text: &str, report: Option<String>) {
        let has_report = report.is_some();
        *self.shared.report.lock().unwrap_or_else(PoisonError::into_inner) = report;
        self.shared.feed.keep_still(false);
        let news = News::Ended(Ended { text: text.into(), report: has_report });
        self.shared.feed.end(news.topic(), &news.json().unwrap_or_default(), TO_FETCH);
        match self.thread.join() {
            Ok(Ok(())) => {}
            Ok(Err(error)) => eprintln!("the live report ended before the run: {error}"),
            Err(_) => eprintln!("the live report ended before the run; completed trials are kept"),
        }
    }
}
