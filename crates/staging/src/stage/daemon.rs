//! A process that serves a filesystem, such as zfs-fuse.
//! In: the daemon's facts from the filesystem's file. Out: a running process, and the prefix that leads into its namespace.
//! It is started for one stage and ended with it.

use crate::error::StagingError;
use crate::filesystems::description::DaemonFacts;
use crate::filesystems::template::Placeholders;
use crate::ownership::cleanup_journal::{Made, Mark};
use records::Cause;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};
use system::process::Process;
use system::{Command, Journal, mounts};

/// How long it may take to become ready.
const READY_LIMIT: Duration = Duration::from_secs(20);

/// How long it may take to end after the request.
const END_LIMIT: Duration = Duration::from_secs(20);

/// The same if it serves nothing any more and has nothing to lose: zfs-fuse takes four seconds to shut down.
const IDLE_END_LIMIT: Duration = Duration::from_millis(100);

/// A running daemon.
#[derive(Debug)]
pub(crate) struct Daemon {
    child: Child,
    process: Process,
    /// Prefix of every command that concerns the filesystem.
    pub prefix: Vec<String>,
    give_up: Vec<String>,
}

impl Daemon {
    /// Starts it and waits until it is ready. `places` gets its process id.
    pub fn start(
        facts: &DaemonFacts,
        places: &mut Placeholders,
        journal: &Journal,
        mark: &mut Mark,
    ) -> Result<Daemon, StagingError> {
        let log = mark.folder().join("daemon.log");
        let command = Command::new(places.fill(&facts.command, &[]));
        let (child, process) =
            command.start(journal, &log).map_err(StagingError::command(format!("starting {}", facts.comm)))?;
        places.pid = Some(process.pid);
        let mut daemon = Daemon {
            child,
            process,
            prefix: places.fill(&facts.prefix, &[]),
            give_up: places.fill(&facts.give_up, &[]),
        };
        let written = mark.will_make(Made::Daemon { process });
        match written.and_then(|()| daemon.await_ready(facts, places, &log)) {
            Ok(()) => Ok(daemon),
            Err(error) => {
                daemon.end(journal, mark);
                Err(error)
            }
        }
    }

    fn await_ready(&mut self, facts: &DaemonFacts, places: &Placeholders, log: &Path) -> Result<(), StagingError> {
        // A query changes nothing: only commands that change something go into the journal.
        let unrecorded = Journal::new();
        let end = Instant::now() + READY_LIMIT;
        while Instant::now() < end && self.process.lives() {
            // Until it execs the daemon, the shell that starts it is still setting up its namespace.
            let comm = std::fs::read_to_string(format!("/proc/{}/comm", self.process.pid)).unwrap_or_default();
            let ask = Command::new(places.fill(&facts.ready, &[])).prefixed(&self.prefix).limit(Duration::from_secs(5));
            if comm.trim() == facts.comm && ask.run(&unrecorded).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let text = std::fs::read_to_string(log).unwrap_or_default();
        let (state, cause) = match self.child.try_wait() {
            Ok(Some(status)) if status.signal().is_some() => ("was killed", Cause::Passing),
            Ok(Some(_)) => ("ended at once", Cause::Unclear),
            _ => ("is not ready after 20 s", Cause::Unclear),
        };
        let text = text.trim().lines().last().unwrap_or("it printed nothing").to_string();
        Err(StagingError::failed(&facts.comm, format!("{} {state}: {text}", facts.comm), "", cause))
    }

    /// The process.
    pub fn process(&self) -> Process {
        self.process
    }

    /// Whether it still serves: a killed process loses its root directory a moment before it is gone.
    pub fn lives(&self) -> bool {
        self.process.lives() && Path::new(&format!("/proc/{}/root", self.process.pid)).read_link().is_ok()
    }

    /// Gives up what it serves and ends it; kills it if it does not end.
    pub fn end(mut self, journal: &Journal, mark: &mut Mark) {
        if self.process.lives() {
            // Its answer does not matter: the process is ended next, and its mounts with its namespace.
            let _ = Command::new(self.give_up.clone()).prefixed(&self.prefix).limit(END_LIMIT).run(journal);
            let serves =
                mounts::of_process(self.process.pid).iter().any(|mount| mount.point.starts_with(mark.folder()));
            self.process.end(if serves { END_LIMIT } else { IDLE_END_LIMIT });
        }
        system::process::reap(&mut self.child, END_LIMIT);
        let process = self.process;
        mark.removed(|made| matches!(made, Made::Daemon { process: known } if *known == process));
    }
}
