//! The first client as coordinator: it answers the runner as one engine would, and passes requests to all clients.
//! In: requests from the socket. Out: replies, each combined from the answers of all clients.
//! A failure of one client is reported with its number and machine.

use crate::asked::{Answer, Asked};
use crate::door::{Caller, Event};
use crate::fellows::Fellows;
use crate::member::{ABORT, FAILED, Member, PROGRESS, Watch};
use crate::merge::{Part, merged};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use workload::message::{Reply, Request};
use workload::program::{Client, Program};

/// Between two reports of progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// The coordinator.
pub struct Leader<'a> {
    fellows: &'a dyn Fellows,
    member: Member,
    /// Machine of each client.
    hosts: Vec<String>,
    program: Option<Program>,
    /// Words before the command of an engine.
    prefix: Vec<String>,
    /// The connection that loaded the program.
    owner: Option<u64>,
    performed: u64,
}

impl<'a> Leader<'a> {
    /// Leads these clients; `hosts` are their machines.
    pub fn new(fellows: &'a dyn Fellows, member: Member, hosts: Vec<String>) -> Self {
        Self { fellows, member, hosts, program: None, prefix: Vec::new(), owner: None, performed: 0 }
    }

    /// Handles an event.
    pub fn take(&mut self, event: Event) {
        match event {
            Event::Asked(caller, request) => {
                let reply = self.reply(&caller, request);
                caller.say(&reply);
            }
            Event::HungUp(number) if self.owner == Some(number) => {
                (self.owner, self.program) = (None, None);
                self.all(&Asked::EndEngines, &mut Deaf);
            }
            Event::HungUp(_) | Event::RunEnded(_) => {}
        }
    }

    /// Ends all clients.
    pub fn leave(&mut self) {
        self.all(&Asked::Leave, &mut Deaf);
    }

    fn reply(&mut self, caller: &Arc<Caller>, request: Request) -> Reply {
        let done = match request {
            Request::Load(program) => self.load(caller, *program),
            Request::Perform { phase, pass, .. } => Ok(self.perform(caller, phase, pass)),
            Request::Warm { phase } => self.summed(&Asked::Warm { phase }),
            Request::CountCached { phase } => self.summed(&Asked::CountCached { phase }),
            Request::Enter { prefix } => {
                self.prefix = prefix;
                Ok(Reply::Entering)
            }
            Request::EmptyCaches { drop } => Ok(self.empty_caches(drop)),
            other => Err(format!("{other:?} does not work with several clients")),
        };
        done.unwrap_or_else(|reason| Reply::Refused { reason })
    }

    /// Sends a request to all; returns their answers by number, and the bytes received from the others.
    fn all(&mut self, asked: &Asked, watch: &mut dyn Watch) -> (Vec<Answer>, u64) {
        let mut bytes = serde_json::to_vec(asked).expect("what is asked holds only values that JSON can carry");
        self.fellows.broadcast(&mut bytes);
        let own = self.member.answer(asked, self.fellows, watch);
        let fellows = self.fellows;
        let own = serde_json::to_vec(&own).expect("answers hold only values that JSON can carry");
        let all = fellows.gather(&own, &mut || {
            watch.look(fellows);
        });
        let others = all.iter().skip(1).map(|bytes| bytes.len() as u64).sum();
        let read = |bytes: &Vec<u8>| {
            serde_json::from_slice(bytes).unwrap_or_else(|error| Answer::Failed {
                reason: format!("its answer cannot be read: {error}"),
                killed: false,
            })
        };
        (all.iter().map(read).collect(), others)
    }

    fn load(&mut self, caller: &Arc<Caller>, mut program: Program) -> Result<Reply, String> {
        let client = program.client.ok_or("the work does not support several clients")?;
        if client.of > self.fellows.size() {
            let (of, there) = (client.of, self.fellows.size());
            return Err(format!("the work needs {of} clients, and mpirun started {there}: give -np {of}"));
        }
        program.client = Some(Client { shift: self.shift(client.of), ..client });
        let mark = self.mark(&program, client.of)?;
        self.owner = Some(caller.number);
        self.program = Some(program.clone());
        let (prefix, marked) = (self.prefix.clone(), mark.as_ref().map(|mark| mark.0.clone()));
        let note = self.replies(&Asked::Load { program: Box::new(program), prefix, mark: marked })?;
        let lacking = note.into_iter().find_map(|reply| match reply {
            Reply::Loaded { lacking } => Some(lacking),
            _ => None,
        });
        Ok(Reply::Loaded { lacking: lacking.unwrap_or_default() })
    }

    /// The engines' replies to a request; the error is that of the first client that failed.
    fn replies(&mut self, asked: &Asked) -> Result<Vec<Reply>, String> {
        let (answers, _) = self.all(asked, &mut Deaf);
        if let Some((reason, _)) = self.failure(&answers) {
            return Err(reason);
        }
        let replies = answers.into_iter().filter_map(|answer| match answer {
            Answer::Said(reply) => Some(*reply),
            _ => None,
        });
        Ok(replies.collect())
    }

    /// The mark by which all clients verify that they use the same folder. None in namespaces of this machine or in a control group: then
    /// all clients must be on this machine, and enter the same.
    fn mark(&self, program: &Program, of: u32) -> Result<Option<Mark>, String> {
        if self.prefix.is_empty() {
            let made = Mark::make(program);
            let root = program.root.display();
            return made.map(Some).map_err(|error| format!("marking {root} for all clients: {error}"));
        }
        let here = &self.hosts[0];
        match self.hosts.iter().take(of as usize).find(|host| *host != here) {
            None => Ok(None),
            Some(other) => Err(format!(
                "the work is in namespaces or a control group of {here}, which clients on {other} cannot enter: start all on {here}, or use --dir with a shared mount"
            )),
        }
    }

    /// The smallest shift in client numbers that leads each of `of` clients to another machine; one if there is none.
    fn shift(&self, of: u32) -> u32 {
        let of = of as usize;
        let another = |by: &usize| (0..of).all(|at| self.hosts[at] != self.hosts[(at + by) % of]);
        (1..of).find(another).unwrap_or(1) as u32
    }

    fn perform(&mut self, caller: &Arc<Caller>, phase: usize, pass: u32) -> Reply {
        self.performed += 1;
        let clients = self.program.as_ref().map_or(0, Program::clients);
        let mut lead = Lead {
            number: self.performed,
            clients,
            caller: Arc::clone(caller),
            phase,
            seen: vec![(0, 0); clients as usize],
            of: None,
            reported: Instant::now(),
            aborted: false,
        };
        let asked = Asked::Perform { phase, pass, number: self.performed };
        let (answers, gathered_bytes) = self.all(&asked, &mut lead);
        if let Some((reason, killed)) = self.failure(&answers) {
            return Reply::Failed { phase, partial: None, reason, killed };
        }
        let parts = answers.into_iter().enumerate().filter_map(|(number, answer)| match answer {
            Answer::Done { outcome, offset_ns, error_ns } => {
                Some(Part { host: self.hosts[number].clone(), outcome: *outcome, offset_ns, error_ns })
            }
            _ => None,
        });
        let parts: Vec<Part> = parts.collect();
        if parts.len() != clients as usize {
            let reason = format!("{} of {clients} clients have a result; this is a bug in bakeoff", parts.len());
            return Reply::Failed { phase, partial: None, reason, killed: false };
        }
        match merged(&parts, gathered_bytes) {
            Ok(outcome) => Reply::Done(Box::new(outcome)),
            Err(reason) => Reply::Failed { phase, partial: None, reason, killed: false },
        }
    }

    /// The failure of the first client that failed, and whether a process was killed from outside.
    fn failure(&self, answers: &[Answer]) -> Option<(String, bool)> {
        let failed = || {
            answers.iter().enumerate().filter_map(|(number, answer)| match answer {
                Answer::Failed { reason, killed } => Some((number, reason, *killed)),
                _ => None,
            })
        };
        let Some((number, reason, killed)) = failed().next() else {
            let ended = answers.contains(&Answer::Ended);
            return ended.then(|| ("it ended before all clients were done".into(), true));
        };
        let more = match failed().count() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        Some((format!("client {number} on {}{more}: {reason}", self.hosts[number]), killed))
    }

    /// Sums of what the engines read or counted.
    fn summed(&mut self, asked: &Asked) -> Result<Reply, String> {
        let note = self.replies(asked)?;
        let warmed = |reply: &Reply| if let Reply::Warmed { bytes } = reply { Some(*bytes) } else { None };
        if let Some(bytes) = note.iter().map(warmed).collect::<Option<Vec<u64>>>() {
            return Ok(Reply::Warmed { bytes: bytes.into_iter().sum() });
        }
        let cached =
            |reply: &Reply| if let Reply::Cached { bytes, files } = reply { Some((*bytes, *files)) } else { None };
        let counted: Vec<(Option<u64>, u64)> = note.iter().filter_map(cached).collect();
        let (bytes, files) = counted.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        Ok(Reply::Cached { bytes: bytes.into_iter().sum(), files: files.into_iter().sum() })
    }

    fn empty_caches(&mut self, drop: bool) -> Reply {
        let Some(program) = &self.program else { return Reply::Emptied { hosts: 0, refused: Vec::new() } };
        let asked = Asked::EmptyCaches { root: program.root.clone(), drop };
        let (answers, _) = self.all(&asked, &mut Deaf);
        let emptied = answers.iter().filter(|answer| matches!(answer, Answer::Emptied(_))).count();
        let refused = answers.iter().zip(&self.hosts).filter_map(|(answer, host)| match answer {
            Answer::Emptied(Err(why)) => Some(format!("{host}: {why}")),
            _ => None,
        });
        Reply::Emptied { hosts: emptied as u32, refused: refused.collect() }
    }
}

/// A file in the working folder, by which the other clients verify that they use the same folder.
struct Mark(PathBuf);

impl Mark {
    fn make(program: &Program) -> std::io::Result<Self> {
        let name = format!(".bakeoff-mark-{}-{}", std::process::id(), crate::fellows::now_ns());
        let path = program.root.join(name);
        std::fs::File::create_new(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // If it cannot be removed, neither can the work's own files, and that is reported.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// For requests that cannot be stopped.
pub struct Deaf;

impl Watch for Deaf {
    fn progress(&mut self, _: &dyn Fellows, _: u64, _: Option<u64>, _: u64) {}
    fn failed(&mut self, _: &dyn Fellows) {}
    fn look(&mut self, _: &dyn Fellows) -> bool {
        false
    }
}

/// How the first client watches a phase: it takes notes of the others, reports progress to the runner, and stops all if one fails.
struct Lead {
    number: u64,
    clients: u32,
    caller: Arc<Caller>,
    phase: usize,
    /// Items and bytes of each client.
    seen: Vec<(u64, u64)>,
    of: Option<u64>,
    reported: Instant,
    aborted: bool,
}

impl Lead {
    fn abort(&mut self, fellows: &dyn Fellows) {
        if !std::mem::replace(&mut self.aborted, true) {
            (1..self.clients).for_each(|rank| fellows.tell(rank, [ABORT, self.number, 0, 0]));
        }
    }

    fn report(&mut self) {
        if self.reported.elapsed() < PROGRESS_EVERY {
            return;
        }
        self.reported = Instant::now();
        let (items, bytes) = self.seen.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let of = self.of.map(|of| of * u64::from(self.clients));
        self.caller.say(&Reply::Progress { phase: self.phase, items, of, bytes });
    }
}

impl Watch for Lead {
    fn progress(&mut self, _: &dyn Fellows, items: u64, of: Option<u64>, bytes: u64) {
        self.seen[0] = (items, bytes);
        self.of = of;
        self.report();
    }

    fn failed(&mut self, fellows: &dyn Fellows) {
        self.abort(fellows);
    }

    fn look(&mut self, fellows: &dyn Fellows) -> bool {
        while let Some((rank, note)) = fellows.received() {
            match note {
                [FAILED, number, ..] if number == self.number => self.abort(fellows),
                [PROGRESS, number, items, bytes] if number == self.number => {
                    if let Some(seen) = self.seen.get_mut(rank as usize) {
                        *seen = (items, bytes);
                    }
                }
                _ => {}
            }
        }
        self.report();
        if self.caller.is_gone() {
            self.abort(fellows);
        }
        self.aborted
    }
}
