//! A stage on a shared filesystem: whether all its servers are still there.
//! In: a mounted stage. Out: the error that names a lost server, as reported by the filesystem's own tools.
//! Figures from fewer servers are not figures of the contender, even if no call failed.

use crate::error::StagingError;
use crate::stage::Stage;
use records::Cause;
use std::time::Duration;
use system::Journal;

/// How long the tools may take to answer: a lost server may keep them waiting.
const ASKING: Duration = Duration::from_secs(60);

/// Longest answer that is shown, in characters.
const ANSWER_LIMIT: usize = 300;

impl Stage<'_> {
    /// The lost servers, in words; None if all are there, or if the filesystem is not shared.
    pub(super) fn lost_servers(&self, journal: &Journal) -> Option<String> {
        let command = self.state.commands().filter(|_| self.state.daemon.is_some())?.find_servers()?;
        let asked = command.limit(ASKING).run(journal);
        let error = asked.err()?;
        let text = error.answer.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(if text.is_empty() { error.to_string() } else { text.chars().take(ANSWER_LIMIT).collect() })
    }

    /// Ends a trial in which a server was lost.
    pub(super) fn has_its_servers(&self) -> Result<(), StagingError> {
        let Some(lost) = self.lost_servers(&self.target.journal) else { return Ok(()) };
        let problem = format!("the work continued without error, but on fewer servers: {lost}");
        Err(StagingError::failed(&self.state.label, problem, "", Cause::Passing))
    }
}
