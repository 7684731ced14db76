//! One client: its engine's process, and its part in the communication.
//! In: requests of the first client. Out: an answer to each.
//! Every client makes the same calls of [`Fellows`] in the same order, even if its engine has failed.

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

/// Between two polls for notes while an engine works.
const LOOK: Duration = Duration::from_millis(100);
/// How much longer than a phase's own limit an engine may stay silent.
const GRACE: Duration = Duration::from_secs(90);
/// Time limit for the answer to a cancelled phase.
const CANCELLED: Duration = Duration::from_secs(20);
/// Delay from the moment at which all are ready to the start, and an addition for each client: all must receive the start time within it.
/// It is short, since idle processors lose their caches and start more slowly.
const LEAD_NS: u64 = 20_000_000;
const LEAD_EACH_NS: u64 = 200_000;
/// The same with more clients than processors, where a process waits for its turn.
const BUSY_LEAD_NS: u64 = 150_000_000;
/// Time limit for writing back and emptying caches.
const CACHES: Duration = Duration::from_secs(600);

/// Notes from a client to the first one while a phase runs: it failed.
pub const FAILED: u64 = 1;
/// Items and bytes so far.
pub const PROGRESS: u64 = 2;
/// Note from the first client to all: another one failed.
pub const ABORT: u64 = 3;

/// How a running phase is watched; the first client does more than the others.
pub trait Watch {
    /// Items so far, of how many, and bytes so far of this client.
    fn progress(&mut self, fellows: &dyn Fellows, items: u64, of: Option<u64>, bytes: u64);
    /// This client failed.
    fn failed(&mut self, fellows: &dyn Fellows);
    /// Reads notes; whether all must stop.
    fn look(&mut self, fellows: &dyn Fellows) -> bool;
}

/// One client.
pub struct Member {
    number: u32,
    /// Whether it is the first client on its machine, and that is not the machine of the first client of all.
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

    /// Handles a request to all clients.
    pub fn answer(&mut self, asked: &Asked, fellows: &dyn Fellows, watch: &mut dyn Watch) -> Answer {
        match asked {
            Asked::Load { program, prefix, mark } => self.load(program, prefix, mark.as_deref()),
            Asked::Perform { phase, pass, .. } => self.perform(*phase, *pass, fellows, watch),
            Asked::Warm { phase } => self.reply(|agent, limit| {
                let bytes = agent.warm(*phase, limit)?;
                Ok(Reply::Warmed { bytes })
            }),
            Asked::CountCached { phase } => self.reply(|agent, _| {
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
        // The engine dies with its rank.
        let prefix = [&["setpriv", "--pdeathsig", "KILL"].map(String::from)[..], entering].concat();
        let loaded = Agent::start(&prefix, &self.command, Arc::new(|| false)).and_then(|mut agent| {
            let lacking = agent.load(&own)?;
            self.agent = Some(agent);
            Ok(Reply::Loaded { lacking })
        });
        self.program = Some(own);
        loaded.map_or_else(Answer::from, |reply| Answer::Said(Box::new(reply)))
    }

    /// The engine's reply to a request. A missing engine is a failure; a client without a program takes no part.
    fn reply(&mut self, ask: impl FnOnce(&mut Agent, Duration) -> Result<Reply, AgentError>) -> Answer {
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

    /// Reads the engine's messages until the pass is done, or all must stop.
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

    /// Cancels a phase that is ready.
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

/// Delay from agreement to start for this many clients; none for a single client.
fn lead_ns(clients: u32) -> u64 {
    match u64::from(clients) {
        0 | 1 => 0,
        clients if clients <= processors() => LEAD_NS + LEAD_EACH_NS * clients,
        clients => BUSY_LEAD_NS + LEAD_EACH_NS * clients,
    }
}

/// Writes back this machine's cached data of a filesystem, and empties its caches.
fn empty_caches(root: &Path, drop: bool) -> Result<(), String> {
    let journal = Journal::new();
    Call::Sync(root.to_owned()).make(CACHES, &journal).map_err(|error| error.to_string())?;
    if drop { Call::DropCaches.make(CACHES, &journal).map_err(|error| error.to_string()) } else { Ok(()) }
}

/// How every client but the first watches: it sends notes to the first, and receives its notes.
pub struct Follower {
    /// Sequence number of the pass.
    pub number: u64,
    /// Between two notes of progress.
    pub every: Duration,
    /// When the last note was sent.
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
        std::iter::from_fn(|| fellows.received()).any(|(_, note): (u32, Note)| note[0] == ABORT && note[1] == number)
    }
}
