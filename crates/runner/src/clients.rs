//! A venue with several clients: the stages here are used by engines that a coordinator leads.
//! In: a venue, and the coordinator's socket. Out: the same stages, with the engines and caches of all clients.
//! All else in a trial is as with one engine.

use crate::venue::{Venue, VenueError};
use crate::watch::Watcher;
use records::{Cause, Closing, CommandRecord, Usage};
use staging::{Dropped, Engine, Line, Settled, Setup, Staged, StagingError};
use std::io::{BufRead, BufReader, Read};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use system::{Evidence, Snapshot};
use workload::message::{LINE_LIMIT, Message as _, Reply, Request};

/// Time limit for emptying the caches of all machines.
const CACHES: Duration = Duration::from_secs(700);

/// Stages of another venue, worked on by many clients.
pub struct ClientsVenue {
    inner: Box<dyn Venue>,
    at: PathBuf,
}

impl ClientsVenue {
    /// The stages of `inner`, with the clients of the coordinator at this socket.
    pub fn new(inner: Box<dyn Venue>, at: PathBuf) -> Self {
        Self { inner, at }
    }
}

impl Venue for ClientsVenue {
    fn prepare(&mut self, contender: usize, watcher: &mut dyn Watcher) -> Result<(), VenueError> {
        self.inner.prepare(contender, watcher)
    }

    fn stage(&mut self, contender: usize) -> Result<Box<dyn Staged + '_>, VenueError> {
        let inner = self.inner.stage(contender)?;
        Ok(Box::new(ClientsStage { inner, at: &self.at }))
    }

    fn commands(&mut self) -> Vec<CommandRecord> {
        self.inner.commands()
    }
}

struct ClientsStage<'a> {
    inner: Box<dyn Staged + 'a>,
    at: &'a Path,
}

impl ClientsStage<'_> {
    /// Sends the coordinator one request besides those of the engine.
    fn ask(&self, request: &Request) -> Result<Reply, String> {
        let answered = || -> std::io::Result<Reply> {
            let stream = UnixStream::connect(self.at)?;
            stream.set_read_timeout(Some(CACHES))?;
            request.send(&mut &stream)?;
            let mut lines = BufReader::new(&stream);
            loop {
                let mut line = Vec::new();
                lines.by_ref().take(LINE_LIMIT as u64).read_until(b'\n', &mut line)?;
                match Reply::read(&line)? {
                    Reply::Hello { .. } => {}
                    reply => return Ok(reply),
                }
            }
        };
        answered().map_err(|error| format!("sending a request to the clients at {}: {error}", self.at.display()))
    }

    /// Writes back on all other machines, and empties their caches; returns on how many, and where it was not possible.
    fn everywhere(&self, drop: bool) -> (u32, Vec<String>) {
        match self.ask(&Request::EmptyCaches { drop }) {
            Ok(Reply::Emptied { hosts, refused }) => (hosts, refused),
            Ok(other) => (0, vec![format!("the clients answered {other:?}")]),
            Err(why) => (0, vec![why]),
        }
    }
}

fn refused(reason: String) -> StagingError {
    let way_out = "leave them out, or check the output of mpirun".to_owned();
    StagingError::Contender { contender: "the clients".into(), problem: reason, way_out, cause: Cause::Lasting }
}

impl Staged for ClientsStage<'_> {
    fn setup(&self) -> Setup {
        self.inner.setup()
    }

    fn engine(&mut self) -> Result<Engine, StagingError> {
        let Engine::Here(prefix) = self.inner.engine()? else {
            return Err(refused("clients of mpirun cannot run in a virtual machine".into()));
        };
        match self.ask(&Request::Enter { prefix }) {
            Ok(Reply::Entering) => {}
            Ok(other) => return Err(refused(format!("the clients answered {other:?}"))),
            Err(why) => return Err(refused(why)),
        }
        let connected =
            UnixStream::connect(self.at).and_then(|stream| Ok((stream.try_clone()?, stream.try_clone()?, stream)));
        let (input, hung_up, output) = connected
            .map_err(|error| refused(format!("connecting to the clients at {}: {error}", self.at.display())))?;
        Ok(Engine::Elsewhere(Line {
            input: Box::new(input),
            output: Box::new(output),
            fate: Box::new(|| "the leader of the clients closed the connection".into()),
            hang_up: Box::new(move || {
                // Fails only if the other end is gone already.
                let _ = hung_up.shutdown(Shutdown::Both);
            }),
        }))
    }

    fn look(&mut self) -> Result<Snapshot, StagingError> {
        self.inner.look()
    }

    fn since(&mut self, before: &Snapshot) -> Result<Evidence, StagingError> {
        self.inner.since(before)
    }

    fn usage(&mut self) -> Result<Usage, StagingError> {
        self.inner.usage()
    }

    fn sync(&mut self) -> Result<(), StagingError> {
        let (_, refusals) = self.everywhere(false);
        match refusals.first() {
            Some(why) => Err(refused(format!("writing back on the machines of all clients: {why}"))),
            None => self.inner.sync(),
        }
    }

    fn drop_caches(&mut self) -> Result<Dropped, StagingError> {
        let (_, refusals) = self.everywhere(true);
        let mut dropped = self.inner.drop_caches()?;
        dropped.complete &= refusals.is_empty();
        let text = refusals.into_iter().map(|why| format!("caches of a client's machine are not empty: {why}"));
        dropped.remarks.extend(text);
        Ok(dropped)
    }

    fn unmount_only(&mut self) -> Result<(), StagingError> {
        self.inner.unmount_only()
    }

    fn mount_state(&mut self) -> Result<Duration, StagingError> {
        self.inner.mount_state()
    }

    fn lose_device(&mut self, number: u64) -> Result<(), StagingError> {
        self.inner.lose_device(number)
    }

    fn has_all_devices(&mut self) -> Result<(), StagingError> {
        self.inner.has_all_devices()
    }

    fn settle(&mut self) -> Result<Settled, StagingError> {
        self.inner.settle()
    }

    fn failed_below(&mut self, during: &str) -> Option<StagingError> {
        self.inner.failed_below(during)
    }

    fn close(self: Box<Self>) -> Result<Closing, StagingError> {
        self.inner.close()
    }
}
