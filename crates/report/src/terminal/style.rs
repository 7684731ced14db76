//! Capabilities of a terminal: its width, colour, and characters beyond ASCII.
//! In: the environment. Out: a [`Style`], and text painted and wrapped by it.

use crate::safe;
use std::io::IsTerminal;
use unicode_width::UnicodeWidthStr;

/// Width of a page if the terminal does not report it.
const USUAL_WIDTH: usize = 80;

/// How text is laid out for a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns.
    pub width: usize,
    /// Whether colour may be used; nothing depends on colour alone.
    pub color: bool,
    /// Whether block characters and other signs beyond ASCII may be used.
    pub unicode: bool,
}

/// The kind of a piece of text, for colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Heading,
    Best,
    Tie,
    Quiet,
    Warning,
    Plain,
}

impl Style {
    /// For standard output: its width if it is a terminal, `NO_COLOR` and the locale respected.
    pub fn of_stdout() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let is_terminal = std::io::stdout().is_terminal();
        let asked = variable("COLUMNS").and_then(|columns| columns.parse().ok());
        let real =
            if is_terminal { terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)) } else { None };
        let locale = variable("LC_ALL").or(variable("LC_CTYPE")).or(variable("LANG")).unwrap_or_default();
        let locale = locale.to_lowercase();
        Self {
            width: asked.or(real).unwrap_or(USUAL_WIDTH).clamp(40, 400),
            color: is_terminal && variable("NO_COLOR").is_none() && variable("TERM").is_none_or(|term| term != "dumb"),
            unicode: locale.contains("utf-8") || locale.contains("utf8"),
        }
    }

    /// Plain text of this width: no colour, all characters.
    pub fn plain(width: usize) -> Self {
        Self { width, color: false, unicode: true }
    }

    pub(super) fn paint(self, tone: Tone, text: &str) -> String {
        if !self.color || text.is_empty() {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Heading => "1",
            Tone::Best => "1;32",
            Tone::Tie => "32",
            Tone::Quiet => "2",
            Tone::Warning => "33",
            Tone::Plain => return text.to_owned(),
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// A heading, below an empty line.
    pub(super) fn heading(self, what: &str) -> String {
        format!("\n{}\n", self.paint(Tone::Heading, &self.fitted(&safe::terminal(what))))
    }

    /// A text, possibly external, broken into lines that fit; those after the first begin with `indent`.
    pub(super) fn say(self, what: &str, indent: &str) -> String {
        self.fitted(wrapped(&safe::terminal(what), self.width, indent).trim_end()) + "\n"
    }

    /// The same for less important text.
    pub(super) fn aside(self, what: &str) -> String {
        self.paint(Tone::Quiet, self.say(what, "  ").trim_end()) + "\n"
    }

    /// A bar for a share of the longest, 0 to 1, in so many columns.
    pub(super) fn bar(self, share: f64, columns: usize) -> String {
        const PARTS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
        let share = share.clamp(0.0, 1.0);
        if !self.unicode {
            return "#".repeat(((share * columns as f64).round() as usize).max(1));
        }
        let eighths = ((share * columns as f64 * 8.0).round() as usize).max(1);
        let mut bar = "█".repeat(eighths / 8);
        if !eighths.is_multiple_of(8) {
            bar.push(PARTS[eighths % 8 - 1]);
        }
        bar
    }

    /// The text without characters that the terminal cannot show.
    pub(super) fn fitted(self, text: &str) -> String {
        if self.unicode {
            return text.to_owned();
        }
        let replaced = text.replace('µ', "u").replace('–', "-").replace('…', "...").replace('×', "x");
        replaced.chars().map(|letter| if letter.is_ascii() { letter } else { '?' }).collect()
    }
}

/// A text padded on the left to so many columns.
pub(crate) fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(text.width())))
}

/// A text padded on the right to so many columns.
pub(crate) fn left(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(text.width())))
}

/// Breaks a text at spaces so that no line is wider than `width`; lines after the first begin with `indent`.
pub(super) fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let first: String = text.chars().take_while(|letter| *letter == ' ').collect();
    crate::wrapped(text, width, &first, indent).join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_grow_with_their_share_and_are_never_nothing() {
        let style = Style::plain(80);
        assert_eq!((style.bar(1.0, 4), style.bar(0.5, 4), style.bar(0.0, 4)), ("████".into(), "██".into(), "▏".into()));
        assert_eq!(Style { unicode: false, ..style }.bar(0.5, 4), "##");
    }
}
