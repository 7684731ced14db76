//! Errors in user-written text: one sentence with its position, the nearest known word, and a remedy.
//! In: a position in a text and a problem. Out: [`LanguageError`], shown as `file:line:column: problem (help)`.
//! All parsers of this crate return it, so that their errors look the same.

use std::fmt;
use std::ops::Range;

/// Result of everything that reads a workload, a plan or a contender file.
pub type Result<T> = std::result::Result<T, LanguageError>;

/// An error in a file or on a command line: what, where, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanguageError {
    /// File, or a word such as `command line`.
    pub file: String,
    /// Line and column, from 1, if known.
    pub place: Option<(usize, usize)>,
    /// What is wrong, in one sentence without a full stop.
    pub problem: String,
    /// The remedy.
    pub help: Option<String>,
}

impl fmt::Display for LanguageError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.file)?;
        if let Some((line, column)) = self.place {
            write!(out, ":{line}:{column}")?;
        }
        write!(out, ": {}", cut(&self.problem))?;
        match &self.help {
            Some(help) => write!(out, " ({})", cut(help)),
            None => Ok(()),
        }
    }
}

impl std::error::Error for LanguageError {}

/// A problem that is not yet assigned to a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub span: Option<Range<usize>>,
    pub problem: String,
    pub help: Option<String>,
}

impl Problem {
    pub fn new(problem: impl Into<String>) -> Self {
        Problem { span: None, problem: problem.into(), help: None }
    }

    /// A word that is not among the known ones.
    pub fn unknown(what: &str, word: &str, known: &[&str]) -> Self {
        Problem::new(format!("unknown {what} `{word}`")).help(suggestion(word, known))
    }

    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets the position, unless a more exact one is known.
    pub fn at(mut self, span: Range<usize>) -> Self {
        self.span.get_or_insert(span);
        self
    }

    pub fn within(self, text: &str, file: &str) -> LanguageError {
        LanguageError {
            file: file.to_owned(),
            place: self.span.map(|span| line_and_column(text, span.start)),
            problem: self.problem,
            help: self.help,
        }
    }
}

/// Longest word to compare, in bytes: longer ones are no typing errors, and the cost grows with the length.
const WORD_LIMIT: usize = 100;
/// Longest problem or help to show, in characters: it may repeat parts of the file.
const SHOWN_LIMIT: usize = 600;

/// A text, cut to the shown length.
fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_LIMIT) {
        Some((at, _)) => format!("{} ...", &text[..at]),
        None => text.to_owned(),
    }
}

/// The known name nearest to `name`, if one is near enough to be a typing error.
///
/// Damerau-Levenshtein distance of at most half the longer name (at least 1), or a known name that begins with
/// `name`. Upper and lower case count as equal.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > WORD_LIMIT {
        return None;
    }
    let asked = name.to_lowercase();
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in known.into_iter().filter(|candidate| candidate.len() <= WORD_LIMIT) {
        let lower = candidate.to_lowercase();
        let mut distance = strsim::damerau_levenshtein(&asked, &lower);
        if asked.len() >= 2 && lower.starts_with(&asked) {
            distance = distance.min(1);
        }
        let near_enough = (asked.chars().count().max(lower.chars().count()) / 2).max(1);
        if distance <= near_enough && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The end of an error about an unknown word: "; did you mean `x`?", or nothing if no known one is near.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// Help for an unknown word: the nearest known one, and all of them if they are few.
pub fn suggestion(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "none is known".to_owned(),
        None => format!("known: {}", known.join(", ")),
    }
}

/// A file longer than the limit is not read at all.
pub(crate) fn limit_length(text: &str, file: &str, limit: usize) -> Result<()> {
    if text.len() <= limit {
        return Ok(());
    }
    let problem = Problem::new(format!("{} bytes long; the limit is {limit}", text.len()));
    Err(problem.within(text, file))
}

/// Line and column, from 1, of a byte offset.
fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, text[start..offset].chars().count() + 1)
}

/// Converts errors of the TOML parser; serde lists the known names, so the nearest can be named.
pub(crate) fn from_toml(error: &toml::de::Error, text: &str, file: &str) -> LanguageError {
    let message = error.message().lines().next().unwrap_or("not readable as TOML").to_owned();
    let problem = match serde_unknown(&message) {
        Some((what, word, known)) => {
            let what = if what == "field" { "key" } else { "word" };
            Problem::unknown(what, &word, &known.iter().map(String::as_str).collect::<Vec<_>>())
        }
        None => Problem::new(message.replace("missing field", "missing key")),
    };
    let mut problem = problem;
    problem.span = error.span();
    problem.within(text, file)
}

/// Splits ``unknown field `x`, expected one of `a`, `b` ``.
fn serde_unknown(message: &str) -> Option<(&str, String, Vec<String>)> {
    let rest = message.strip_prefix("unknown ")?;
    let (what, rest) = rest.split_once(' ')?;
    let mut quoted = rest.split('`').skip(1).step_by(2).map(str::to_owned);
    let word = quoted.next()?;
    matches!(what, "field" | "variant").then(|| (what, word, quoted.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_finds_the_word_that_was_meant() {
        let known = ["ext4", "xfs", "btrfs", "read-sequential"];
        assert_eq!(nearest("brtfs", known), Some("btrfs"));
        assert_eq!(nearest("XFS", known), Some("xfs"));
        assert_eq!(nearest("read", known), Some("read-sequential"));
        assert_eq!(nearest("reiser4", known), None);
    }

    #[test]
    fn places_count_characters_from_one() {
        assert_eq!(line_and_column("a\nbü c", 5), (2, 3));
        assert_eq!(line_and_column("a", 99), (1, 2));
    }
}
