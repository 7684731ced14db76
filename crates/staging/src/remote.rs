//! A stage elsewhere: in a guest or in another process, over a stream of messages.
//! In: a [`Transport`], and the contender that its other end is to set up. Out: [`Remote`], which answers like a local stage.
//! The other end is [`serve`], with the code of [`crate::Stage`]: elsewhere is another place for it, not another way to stage.

mod engine;
mod link;
pub(crate) mod message;
mod pipe;
mod serve;

pub(crate) use link::locked;
pub use link::{Link, Peer};
pub(crate) use message::Ask;
pub use message::{Asked, Beside};
pub use pipe::Pipe;
pub use serve::serve;
pub(crate) use serve::serve_copies;

use crate::error::StagingError;
use crate::stage::drop_caches::Dropped;
use crate::stage::remount::Remountable;
use crate::stage::{Down, Settled};
use crate::staged::{Engine, Line, Setup, Staged};
use message::Fault;
use records::{Cause, Closing, DiskLateness, Usage};
use serde::de::DeserializeOwned;
use std::time::{Duration, Instant};
use system::{Evidence, Journal, Snapshot};

/// A connection to a process that serves a stage, and this side's part of that stage. Dropping it ends the process.
pub trait Transport {
    /// The stream to the process.
    fn link(&self) -> &Link;

    /// Ends the process, in order if it still responds, and tears down what this side provided. Returns what could not be torn down, in words.
    fn end(&mut self) -> Down;

    /// Name of the machine that it runs on, if it is not this one.
    fn machine(&self) -> Option<String> {
        None
    }

    /// The error of a lower layer on this side that explains a failure.
    fn failed_below(&mut self, _during: &str) -> Option<StagingError> {
        None
    }

    /// Empties this side's caches of the stage.
    fn forget(&self) {}

    /// A pass begins: counters of a modelled disk on this side start here.
    ///
    /// # Errors
    /// The process that serves the disk is gone.
    fn look(&mut self) -> Result<(), StagingError> {
        Ok(())
    }

    /// How late a modelled disk on this side was since then; None on other disks.
    ///
    /// # Errors
    /// As [`Transport::look`].
    fn late(&mut self) -> Result<Option<DiskLateness>, StagingError> {
        Ok(None)
    }

    /// Combines the other side's evidence with what this side's counters show between `before` and `now`.
    fn both(&self, there: Evidence, _before: &Snapshot, _now: &Snapshot) -> Evidence {
        there
    }
}

/// A contender, made and mounted elsewhere.
pub struct Remote<T: Transport> {
    pub(crate) transport: T,
    label: String,
    pub(crate) setup: Setup,
    /// When each look at the counters was taken here; the other end has its own snapshots, by the same numbers.
    looks: Vec<Instant>,
    limit: Duration,
    journal: Journal,
}

impl<T: Transport> Remote<T> {
    /// Makes and mounts a contender at the other end. No request there may take longer than `limit`; commands that run there go into `journal`.
    ///
    /// # Errors
    /// It cannot be made there, or the other end was lost; it has ended then.
    pub fn stage(transport: T, asked: Asked, limit: Duration, journal: &Journal) -> Result<Self, StagingError> {
        let label = asked.contender.label.clone();
        let conversation = Conversation { transport: &transport, label: &label, limit, journal };
        let setup = conversation.ask(&Ask::Stage(asked))?;
        Ok(Remote { transport, label, setup, looks: Vec::new(), limit, journal: journal.clone() })
    }

    /// The same at another end, which replaces a lost one.
    pub(crate) fn stage_there(&mut self, asked: Asked) -> Result<(), StagingError> {
        self.setup = self.conversation().ask(&Ask::Stage(asked))?;
        self.looks.clear();
        Ok(())
    }

    /// Starts a process of this program on the machine of the stage.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(&mut self, which: Beside) -> Result<Line, StagingError> {
        let failed = |error| {
            StagingError::contender(&self.label, format!("connecting to its {} failed: {error}", which.verb()), "")
        };
        let line = self.transport.link().engine().map_err(failed)?;
        self.conversation().ask(&Ask::Start(which)).map(|()| line)
    }

    /// Whether the connection to the other end is closed.
    pub fn is_lost(&self) -> bool {
        self.transport.link().is_closed()
    }

    /// Sets how long each later request may take; an end that takes longer is ended.
    pub fn set_limit(&mut self, limit: Duration) {
        self.limit = limit;
    }

    /// A conversation about this contender.
    fn conversation(&self) -> Conversation<'_, T> {
        Conversation { transport: &self.transport, label: &self.label, limit: self.limit, journal: &self.journal }
    }
}

/// Sends requests for one contender.
struct Conversation<'a, T> {
    transport: &'a T,
    label: &'a str,
    limit: Duration,
    journal: &'a Journal,
}

impl<T: Transport> Conversation<'_, T> {
    fn ask<A: DeserializeOwned>(&self, ask: &Ask) -> Result<A, StagingError> {
        let link = self.transport.link();
        let lost = |problem| StagingError::failed(self.label, problem, "", Cause::Unclear);
        let mut answered = link.ask(ask, self.limit).map_err(lost)?;
        for mut record in std::mem::take(&mut answered.commands) {
            record.guest = self.transport.machine();
            self.journal.add(record);
        }
        answered.of(self.label, link.remark())
    }
}

impl<T: Transport> Staged for Remote<T> {
    fn setup(&self) -> Setup {
        self.setup.clone()
    }

    fn machine(&self) -> Option<String> {
        self.transport.machine()
    }

    fn engine(&mut self) -> Result<Engine, StagingError> {
        self.start(Beside::Engine).map(Engine::Elsewhere)
    }

    fn look(&mut self) -> Result<Snapshot, StagingError> {
        self.conversation().ask::<()>(&Ask::Look)?;
        self.transport.look()?;
        let now = Snapshot::take();
        self.looks.push(now.taken());
        Ok(now)
    }

    fn late_since(&mut self, _seen: &Evidence) -> Result<Option<DiskLateness>, StagingError> {
        self.transport.late()
    }

    fn since(&mut self, before: &Snapshot) -> Result<Evidence, StagingError> {
        let now = Snapshot::take();
        let look = self.looks.iter().rposition(|taken| *taken == before.taken());
        let there = self.conversation().ask(&Ask::Since(look.unwrap_or(self.looks.len())))?;
        Ok(self.transport.both(there, before, &now))
    }

    fn usage(&mut self) -> Result<Usage, StagingError> {
        self.conversation().ask(&Ask::Usage)
    }

    fn sync(&mut self) -> Result<(), StagingError> {
        self.conversation().ask(&Ask::Sync)
    }

    fn drop_caches(&mut self) -> Result<Dropped, StagingError> {
        let dropped = self.conversation().ask(&Ask::DropCaches)?;
        self.transport.forget();
        Ok(dropped)
    }

    fn unmount_only(&mut self) -> Result<(), StagingError> {
        self.conversation().ask(&Ask::Unmount)
    }

    fn mount_state(&mut self) -> Result<Duration, StagingError> {
        self.conversation().ask(&Ask::Mount)
    }

    fn lose_device(&mut self, number: u64) -> Result<(), StagingError> {
        self.conversation().ask(&Ask::LoseDevice(number))
    }

    fn has_all_devices(&mut self) -> Result<(), StagingError> {
        self.conversation().ask(&Ask::HasAllDevices)
    }

    fn settle(&mut self) -> Result<Settled, StagingError> {
        self.conversation().ask(&Ask::Settle)
    }

    fn failed_below(&mut self, during: &str) -> Option<StagingError> {
        if let Some(found) = self.transport.failed_below(during) {
            return Some(found);
        }
        let ask = Ask::FailedBelow { during: during.into() };
        // A lost end does not answer; the error about its loss explains more.
        let fault: Option<Fault> = self.conversation().ask(&ask).ok()?;
        Some(fault?.of(&self.label, self.transport.link().remark()))
    }

    fn close(mut self: Box<Self>) -> Result<Closing, StagingError> {
        let closing = self.conversation().ask(&Ask::Close);
        let down = self.transport.end();
        let mut closing: Closing = closing?;
        closing.remarks.extend(down.held);
        if down.problems.is_empty() { Ok(closing) } else { Err(StagingError::LeftBehind(down.problems.join("; "))) }
    }
}

impl<T: Transport> Remountable for Remote<T> {
    fn check_unmounted(&mut self) -> Result<Closing, StagingError> {
        self.conversation().ask(&Ask::Check)
    }

    fn close_layers(&mut self) -> Result<(), StagingError> {
        self.conversation().ask(&Ask::CloseLayers)
    }
}
