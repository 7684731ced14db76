//! Text broken at spaces, for terminals.
//! In: text of any length. Out: lines that fit, measured in terminal columns.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::UnicodeWidthStr;

/// Breaks a text at spaces so that no line is wider than `width` columns (a longer word gets its own line); the first line begins with
/// `first`, the others with `rest`. Runs of spaces and line ends count as one space.
pub fn wrapped(text: &str, width: usize, first: &str, rest: &str) -> Vec<String> {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.is_empty() {
        return vec![first.trim_end().to_owned()];
    }
    let options = Options::new(width)
        .initial_indent(first)
        .subsequent_indent(rest)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    let lines = textwrap::wrap(&words, options);
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

/// A text cut to this width.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut short = String::new();
    for letter in text.chars() {
        if format!("{short}{letter}").width() >= width {
            break;
        }
        short.push(letter);
    }
    format!("{}~", short.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_asked_and_nothing_is_lost() {
        let text = "ext4 rewrites many small files far faster than XFS (18 s against 430 s), 十分に 速い\nhere";
        let lines = wrapped(text, 30, "HOLDS  ", "       ");
        assert!(lines.iter().all(|line| line.width() <= 30), "{lines:?}");
        let words: Vec<&str> = lines.iter().flat_map(|line| line.split_whitespace()).skip(1).collect();
        assert_eq!(words, text.split_whitespace().collect::<Vec<_>>());
    }

    #[test]
    fn a_word_that_is_too_long_has_its_own_line() {
        assert_eq!(wrapped("a bcdefghijkl-mno p", 6, "", "  "), ["a", "  bcdefghijkl-mno", "  p"]);
        assert_eq!(wrapped("", 6, "- ", ""), ["-"]);
    }
}
