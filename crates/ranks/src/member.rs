//! One client's side: its engine's process, and its part in what all do together.
//! In: what the first client asks of all. Out: an answer for it.
//! Every client goes through the same calls of [`Fellows`] in the same order, whatever became of its engine.

use crate::asked::{Answer, Asked};
use crate::fellows::{Fellows, Note, now_ns};
use crate::run::processors;
use runner::{Agent, AgentError};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use system::{Call, Journal};
use workload::message::Reply;
use workload::program::{Client, Program};

/// Between two looks at notes while an engine works.
const LOOK: Duration = Duration::from_millis(100);
/// How much longer than a phase's own limit an engine may stay silent.
const GRACE: Duration = Duration::from_secs(90);
/// How long a phase that is not to begin may take to say so.
const CANCELLED: Duration = Duration::from_secs(20);
/// From the moment at which all are ready to the start, and more of it for each client: all must have heard of it by then. It is short, since
/// processors that wait for it lose what they had at hand, and begin more slowly.
const LEAD_NS: u64 = 20_000_000;
const LEAD_EACH_NS: u64 = 200_000;
/// The same where there are more clients than processors, so that a process waits for its turn.
const BUSY_LEAD_NS: u64 = 150_000_000;
/// How long writing back and emptying caches may take.
const CACHES: Duration = Duration::from_secs(600);

/// What a client sends to the first one while a phase runs.
pub const FAILED: u64 = 1;
/// Items and bytes so far.
pub const PROGRESS: u64 = 2;
/// What the first one sends to all: another could not go on.
pub const ABORT: u64 = 3;

/// How a phase that is under way is watched; the first client has more to do than the others.
pub trait Watch {
    /// Items and bytes of this client so far, of how many.
    fn progress(&mut self, fellows: &dyn Fellows, items: u64, of: Option<u64>, bytes: u64);
    /// This client could not go on.
    fn failed(&mut self, fellows: &dyn Fellows);
    /// Looks at notes; whether all are to stop.
    fn look(&mut self, fellows: &dyn Fellows) -> bool;
}

/// One client.
pub struct Member {
    number: u32,
    /// Whether it is the first of its machine, and that is not the machine of the first of all.
    first_elsewhere: bool,
    command: Vec<String>,
    agent: Option<Agent>,
    program: Option<Program>,
}

impl Member {
    /// A client without an engine yet. `command` starts one.
    pub fn new(number: u32, first_elsewhere: bool, command: Vec<String>) -> Self {
        Self { number, first_elsewhere, command, agent: None, program: None }
    }

    /// Does what is asked of all.
    pub fn answer(&mut self, asked: &Asked, fellows: &dyn Fellows, watch: &mut dyn Watch) -> Answer {
        match asked {
            Asked::Load { program, prefix, mark } => self.load(program, prefix, mark.as_deref()),
            Asked::Perform { phase, pass, .. } => self.perform(*phase, *pass, fellows, watch),
            Asked::Warm { phase } => self.said(|agent, limit| {
                let bytes = agent.warm(*phase, limit)?;
                Ok(Reply::Warmed { bytes })
            }),
            Asked::CountCached { phase } => self.said(|agent, _| {
                let counted = agent.count_cached(*phase)?;
                Ok(Reply::Cached {
                    bytes: counted.map(|(bytes, _)| bytes),
                    files: counted.map_or(0, |(_, files)| files),
                })
            }),
            Asked::EmptyCaches { root, drop } => match self.first_elsewhere {
                true => Answer::Emptied(empty_caches(root, *drop)),
                false => Answer::Idle,
            },
            Asked::EndEngines | Asked::Leave => {
                if let Some(agent) = self.agent.take() {
                    agent.quit();
                }
                self.program = None;
                Answer::Idle
            }
        }
    }

    fn load(&mut self, program: &Program, entering: &[String], mark: Option<&Path>) -> Answer {
        (self.agent, self.program) = (None, None);
        let Some(client) = program.client.filter(|client| self.number < client.of) else { return Answer::Idle };
        if mark.is_some_and(|mark| !mark.exists()) {
            let root = program.root.display();
            return failed(format!("{root} does not exist, or is not the folder of the first client"));
        }
        let own = Program { client: Some(Client { number: self.number, ..client }), ..program.clone() };
        // Whoever ends the rank ends its engine.
        let prefix = [&["setpriv", "--pdeathsig", "KILL"].map(String::from)[..], entering].concat();
        let loaded = Agent::start(&prefix, &self.command, Arc::new(|| false)).and_then(|mut agent| {
            let lacking = agent.load(&own)?;
            self.agent = Some(agent);
            Ok(Reply::Loaded { lacking })
        });
        self.program = Some(own);
        loaded.map_or_else(Answer::from, |reply| Answer::Said(Box::new(reply)))
    }

    /// What the engine says to a question; an engine that is gone is a failure, and no engine takes no part.
    fn said(&mut self, ask: impl FnOnce(&mut Agent, Duration) -> Result<Reply, AgentError>) -> Answer {
        let Some(program) = &self.program else { return Answer::Idle };
        let limit = Duration::from_secs(program.time_limit);
        match self.agent.as_mut().map(|agent| ask(agent, limit)) {
            Some(Ok(reply)) => Answer::Said(Box::new(reply)),
            Some(Err(error)) => error.into(),
            None => failed("its engine has ended".into()),
        }
    }

    fn perform(&mut self, phase: usize, pass: u32, fellows: &dyn Fellows, watch: &mut dyn Watch) -> Answer {
        let takes_part = self.program.is_some();
        let prepared = match self.agent.as_mut() {
            Some(agent) => agent.prepare(phase, pass).map_err(Answer::from),
            None if takes_part => Err(failed("its engine has ended".into())),
            None => Ok(()),
        };
        if !fellows.all(prepared.is_ok()) {
            return prepared.err().unwrap_or_else(|| self.cancelled());
        }
        let offset = fellows.offset();
        let mut start = (now_ns() + lead_ns(fellows.size())).to_le_bytes().to_vec();
        fellows.broadcast(&mut start);
        let Some(agent) = self.agent.as_mut() else { return Answer::Idle };
        let agreed = u64::from_le_bytes(start.try_into().unwrap_or_default());
        let begun = agent.begin(Some(agreed.saturating_add_signed(offset.ns)));
        let heard = begun.map_err(Answer::from).and_then(|()| self.hear(phase, fellows, watch));
        match heard {
            Ok(outcome) => Answer::Done { outcome, offset_ns: offset.ns, error_ns: offset.error_ns },
            Err(Answer::Ended) => Answer::Ended,
            Err(answer) => {
                watch.failed(fellows);
                answer
            }
        }
    }

    /// Hears the engine until the pass is done, or all are to stop.
    fn hear(
        &mut self,
        phase: usize,
        fellows: &dyn Fellows,
        watch: &mut dyn Watch,
    ) -> Result<Box<workload::outcome::PhaseOutcome>, Answer> {
        let limit = self.program.as_ref().map_or(0, |program| program.limit_of(phase));
        let end = Instant::now() + Duration::from_secs(limit) + GRACE;
        let Some(agent) = self.agent.as_mut() else { return Err(Answer::Idle) };
        loop {
            match agent.hear(LOOK)? {
                Some(Reply::Done(outcome)) => return Ok(outcome),
                Some(Reply::Progress { items, of, bytes, .. }) => watch.progress(fellows, items, of, bytes),
                Some(Reply::Failed { reason, killed, .. }) => return Err(Answer::Failed { reason, killed }),
                Some(other) => return Err(failed(format!("its engine answered {other:?} during a phase"))),
                None => {}
            }
            if watch.look(fellows) {
                self.agent = None;
                return Err(Answer::Ended);
            }
            if Instant::now() > end {
                self.agent = None;
                return Err(failed(format!("its engine did not end the phase within {limit} s and was killed")));
            }
        }
    }

    /// Has a phase that is ready not begin.
    fn cancelled(&mut self) -> Answer {
        let Some(agent) = self.agent.as_mut() else { return Answer::Idle };
        if agent.begin(None).is_err() || agent.hear(CANCELLED).is_err() {
            self.agent = None;
        }
        Answer::Ended
    }
}

impl From<AgentError> for Answer {
    fn from(error: AgentError) -> Self {
        let killed = error.cause() == runner::Cause::Passing;
        Self::Failed { reason: error.to_string(), killed }
    }
}

fn failed(reason: String) -> Answer {
    Answer::Failed { reason, killed: false }
}

/// How long before the start so many clients agree on it; one alone has nobody to agree with.
fn lead_ns(clients: u32) -> u64 {
    match u64::from(clients) {
        0 | 1 => 0,
        clients if clients <= processors() => LEAD_NS + LEAD_EACH_NS * clients,
        clients => BUSY_LEAD_NS + LEAD_EACH_NS * clients,
    }
}

/// Writes back what this machine holds of a filesystem, and empties its caches.
fn empty_caches(root: &Path, drop: bool) -> Result<(), String> {
    let journal = Journal::new();
    Call::Sync(root.to_owned()).make(CACHES, &journal).map_err(|error| error.to_string())?;
    if drop { Call::DropCaches.make(CACHES, &journal).map_err(|error| error.to_string()) } else { Ok(()) }
}

/// How any client but the first watches: it tells the first, and hears from it.
pub struct Follower {
    /// Number of what is performed.
    pub number: u64,
    /// Between two notes of progress.
    pub every: Duration,
    /// When the last was sent.
    pub sent: Option<Instant>,
}

impl Watch for Follower {
    fn progress(&mut self, fellows: &dyn Fellows, items: u64, _of: Option<u64>, bytes: u64) {
        if self.sent.is_none_or(|sent| sent.elapsed() >= self.every) {
            self.sent = Some(Instant::now());
            fellows.tell(0, [PROGRESS, self.number, items, bytes]);
        }
    }

    fn failed(&mut self, fellows: &dyn Fellows) {
        fellows.tell(0, [FAILED, self.number, 0, 0]);
    }

    fn look(&mut self, fellows: &dyn Fellows) -> bool {
        let number = self.number;
        std::iter::from_fn(|| fellows.told()).any(|(_, note): (u32, Note)| note[0] == ABORT && note[1] == number)
    }
}
