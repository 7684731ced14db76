//! What can go wrong with devices and filesystems.
//! In: the operation, its object, and the system's answer. Out: one error, with what the user can do about it.
//! Errors of one contender are distinct from errors of the whole run, so that the other contenders can go on.

use records::Cause;
use std::path::{Path, PathBuf};
use system::{CommandError, cause};

/// An error of staging.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StagingError {
    /// A description that cannot be read.
    #[error("{file}: {}", cut(.problem))]
    Description {
        /// The file.
        file: String,
        /// What is wrong with it.
        problem: String,
    },
    /// One contender cannot be staged as requested; others can.
    #[error("{contender}: {problem}{}", way(.way_out))]
    Contender {
        /// Its label.
        contender: String,
        /// What was being done and what the system answered.
        problem: String,
        /// What the user can do; empty if nothing is known.
        way_out: String,
        /// Whether it may work the next time.
        cause: Cause,
    },
    /// A device that has vanished.
    #[error("the device {device} vanished during {during}: {how}{}", way(if *.for_good { "connect it again" } else { "" }))]
    Gone {
        /// The device.
        device: PathBuf,
        /// What was being done.
        during: String,
        /// How it vanished.
        how: String,
        /// It was a real device, so nothing more can be measured; an image is made anew for each trial.
        for_good: bool,
    },
    /// A device that must not be touched.
    #[error("{device} is not taken: {reason}{}", way(.way_out))]
    Refused {
        /// The device.
        device: PathBuf,
        /// Why.
        reason: String,
        /// What the user can do.
        way_out: String,
    },
    /// An `--erase` word that matches none of the run's devices.
    #[error("--erase {word} names no device of this run{}", way(.way_out))]
    Word {
        /// The word.
        word: String,
        /// What the user can do.
        way_out: String,
    },
    /// Root is needed.
    #[error("{0} needs root (run with sudo, or measure a directory with --dir)")]
    NeedsRoot(String),
    /// Another run uses it.
    #[error("{what} is in use by another run{holder} (wait for it, or stop it)")]
    Busy {
        /// The device or folder.
        what: String,
        /// Who holds it, as far as that is known.
        holder: String,
    },
    /// A command failed.
    #[error("{doing}: {error}")]
    Command {
        /// What was being done.
        doing: String,
        /// The command and its answer.
        error: Box<CommandError>,
    },
    /// A file or folder could not be used.
    #[error("cannot {doing} {path}: {error}{}", way(.way_out))]
    File {
        /// What was being done.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system answered.
        error: String,
        /// What the user can do.
        way_out: String,
        /// Whether it may work the next time.
        cause: Cause,
    },
    /// A cached image that has changed since it was made; it must be made again.
    #[error("the aged image of {image} is damaged: {problem}")]
    Damaged {
        /// What the image is of.
        image: String,
        /// What shows the damage.
        problem: String,
    },
    /// Any other error, in a sentence.
    #[error("{problem}{}", way(.way_out))]
    Other {
        /// What is impossible, and why.
        problem: String,
        /// What the user can do; empty if nothing is known.
        way_out: String,
        /// Whether it may work the next time.
        cause: Cause,
    },
    /// Something made here could not be removed.
    #[error("{0} (`bakeoff clean` tries again)")]
    LeftBehind(String),
}

impl StagingError {
    /// The text for a list of teardown problems: without the way out, which follows the whole list.
    pub(crate) fn among_others(self) -> String {
        match self {
            StagingError::LeftBehind(what) => what,
            other => other.to_string(),
        }
    }

    /// Whether the device is refused only because `--erase` does not name it.
    pub fn waits_for_erase(&self) -> bool {
        matches!(self, StagingError::Refused { way_out, .. } if way_out.contains("--erase"))
    }

    /// Whether only this contender is affected, so that the others go on.
    pub fn is_of_contender(&self) -> bool {
        matches!(self, StagingError::Contender { .. })
    }

    /// Whether it may work the next time.
    pub fn cause(&self) -> Cause {
        match self {
            StagingError::Contender { cause, .. }
            | StagingError::File { cause, .. }
            | StagingError::Other { cause, .. } => *cause,
            StagingError::Command { error, .. } => error.cause(),
            StagingError::Gone { for_good: false, .. }
            | StagingError::Busy { .. }
            | StagingError::Damaged { .. }
            | StagingError::LeftBehind(_) => Cause::Passing,
            StagingError::Gone { for_good: true, .. }
            | StagingError::Description { .. }
            | StagingError::Refused { .. }
            | StagingError::Word { .. }
            | StagingError::NeedsRoot(_) => Cause::Lasting,
        }
    }

    /// Whether nothing more can be measured on this target.
    pub fn is_of_target(&self) -> bool {
        matches!(
            self,
            StagingError::Refused { .. }
                | StagingError::Word { .. }
                | StagingError::NeedsRoot(_)
                | StagingError::Gone { for_good: true, .. }
        )
    }

    /// A lasting error of a contender: the request is impossible.
    pub(crate) fn contender(label: &str, problem: impl Into<String>, way_out: impl Into<String>) -> StagingError {
        StagingError::failed(label, problem, way_out, Cause::Lasting)
    }

    /// An error of a contender, with its cause.
    pub(crate) fn failed(
        label: &str,
        problem: impl Into<String>,
        way_out: impl Into<String>,
        cause: Cause,
    ) -> StagingError {
        StagingError::Contender { contender: label.into(), problem: problem.into(), way_out: way_out.into(), cause }
    }

    /// The same error of a contender or a guest, marked as passing, with the text that shows it.
    pub(crate) fn passing(self, more: &str) -> StagingError {
        match self {
            StagingError::Contender { contender, problem, way_out, .. } => {
                StagingError::Contender { contender, problem: problem + more, way_out, cause: Cause::Passing }
            }
            StagingError::Other { problem, way_out, .. } => {
                StagingError::Other { problem: problem + more, way_out, cause: Cause::Passing }
            }
            other => other,
        }
    }

    pub(crate) fn refused(device: &Path, reason: impl Into<String>, way_out: impl Into<String>) -> StagingError {
        StagingError::Refused { device: device.into(), reason: reason.into(), way_out: way_out.into() }
    }

    pub(crate) fn file(doing: &'static str, path: &Path, error: impl Answer) -> StagingError {
        let cause = error.cause();
        StagingError::File { doing, path: path.into(), error: error.to_string(), way_out: String::new(), cause }
    }

    /// The same file error, with what the user can do.
    pub(crate) fn with_way(self, way: &str) -> StagingError {
        match self {
            StagingError::File { doing, path, error, cause, .. } => {
                StagingError::File { doing, path, error, way_out: way.into(), cause }
            }
            other => other,
        }
    }

    pub(crate) fn command(doing: impl Into<String>) -> impl FnOnce(CommandError) -> StagingError {
        let doing = doing.into();
        move |error| StagingError::Command { doing, error: Box::new(error) }
    }

    /// Any other error that lasts.
    pub(crate) fn other(problem: impl Into<String>, way_out: impl Into<String>) -> StagingError {
        StagingError::Other { problem: problem.into(), way_out: way_out.into(), cause: Cause::Lasting }
    }

    /// A missing program: what needs it, and how to install it.
    pub(crate) fn missing_tool(what: &str, program: &str, way_out: String) -> StagingError {
        StagingError::other(format!("{what} needs the program {program}, which is not installed"), way_out)
    }

    /// A guest that did not come up, or was lost.
    pub(crate) fn guest(problem: impl std::fmt::Display) -> StagingError {
        let problem = format!("the guest: {problem}");
        StagingError::Other { problem, way_out: String::new(), cause: Cause::Unclear }
    }

    /// A filesystem without a description, with the nearest known name, or all of them.
    pub(crate) fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> StagingError {
        let known: Vec<&str> = known.collect();
        let hint = match nearest(name, &known) {
            Some(near) => format!("; did you mean \"{near}\"?"),
            None if known.is_empty() => String::new(),
            None => format!("; known: {}", cut(&known.join(", "))),
        };
        StagingError::other(format!("unknown filesystem \"{}\"{hint}", cut(name)), "")
    }
}

/// An answer of the system, which shows whether a failure passes or lasts.
pub(crate) trait Answer: std::fmt::Display {
    /// Whether it may work the next time.
    fn cause(&self) -> Cause;
}

impl Answer for std::io::Error {
    fn cause(&self) -> Cause {
        cause::of_io(self)
    }
}

impl Answer for rustix::io::Errno {
    fn cause(&self) -> Cause {
        cause::of_errno(*self)
    }
}

impl Answer for serde_json::Error {
    fn cause(&self) -> Cause {
        Cause::Lasting
    }
}

impl Answer for system::Untrusted {
    fn cause(&self) -> Cause {
        Cause::Lasting
    }
}

impl Answer for &str {
    fn cause(&self) -> Cause {
        Cause::Unclear
    }
}

/// Longest text from a file that is shown, in characters.
const SHOWN_LIMIT: usize = 600;

/// A text shortened for display, since it may repeat a file's content.
fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_LIMIT) {
        Some((at, _)) => format!("{} ...", &text[..at]),
        None => text.to_owned(),
    }
}

/// Longest word for which a near name is searched, in bytes.
const WORD_LIMIT: usize = 100;

/// The known name nearest to a misspelt one; None if none is near.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    // Longer words are not typing slips, and the cost of the search grows with the length.
    if name.len() > WORD_LIMIT {
        return None;
    }
    let lower = name.to_lowercase();
    let near = known.iter().filter(|candidate| candidate.len() <= WORD_LIMIT);
    near.map(|candidate| (strsim::damerau_levenshtein(&lower, candidate), *candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 3)
        .min()
        .map(|(_, candidate)| candidate)
}

fn way(way_out: &str) -> String {
    if way_out.is_empty() { String::new() } else { format!(" ({way_out})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_brings_the_nearest_one() {
        let known = ["ext4", "xfs", "btrfs"];
        assert_eq!(nearest("btrf", &known), Some("btrfs"));
        assert_eq!(nearest("XSF", &known), Some("xfs"));
        assert_eq!(nearest("hammer2", &known), None);
        let error = StagingError::unknown("etx4", known.into_iter());
        assert_eq!(error.to_string(), "unknown filesystem \"etx4\"; did you mean \"ext4\"?");
    }
}
