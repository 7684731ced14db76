//! A stage on a shared filesystem: whether all its servers are there still.
//! In: a stage that is mounted. Out: the error that says which server is lost, by the word of the filesystem's own tools.
//! What was measured on fewer servers is no figure of the contender, even where no call failed.

use crate::error::StagingError;
use crate::stage::Stage;
use records::Cause;
use std::time::Duration;
use system::{Command, Journal};

/// How long the tools may take to tell: a server that is lost may keep them waiting.
const ASKING: Duration = Duration::from_secs(60);

/// Characters of their answer that are shown.
const ANSWER_LIMIT: usize = 300;

impl Stage<'_> {
    /// Which servers are lost, in words; None where all are there, and of a filesystem of one machine.
    pub(super) fn lost_servers(&self, journal: &Journal) -> Option<String> {
        let facts = self.state.filesystem.as_ref()?.shared.as_ref().filter(|_| self.state.daemon.is_some())?;
        let asked = Command::new(self.fill(&facts.intact)).prefixed(self.enter()).limit(ASKING).run(journal);
        let error = asked.err()?;
        let said = error.answer.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(if said.is_empty() { error.to_string() } else { said.chars().take(ANSWER_LIMIT).collect() })
    }

    /// Ends a trial on which a server was lost.
    pub(super) fn has_its_servers(&self) -> Result<(), StagingError> {
        let Some(lost) = self.lost_servers(&self.target.journal) else { return Ok(()) };
        let problem = format!("the work continued without error, but on fewer servers: {lost}");
        Err(StagingError::failed(&self.state.label, problem, "", Cause::Passing))
    }
}
