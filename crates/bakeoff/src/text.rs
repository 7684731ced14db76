//! Plain text for terminals: wrapped at spaces to the terminal's width, elsewhere to 80 columns.
//! In: text of any length, figures. Out: lines that fit; control characters are made visible.

use report::terminal::Style;

/// Columns of the output.
pub fn width() -> usize {
    Style::of_stdout().width
}

/// Wraps a text at spaces to at most `width` columns (a longer word gets its own line); the first line begins with
/// `first`, the others with `rest`.
pub fn wrapped(text: &str, width: usize, first: &str, rest: &str) -> String {
    let lines = report::wrapped(&harmless(text), width, first, rest);
    lines.into_iter().map(|line| line + "\n").collect()
}

/// The same for a text of several lines. Lines that fit, and indented ones, such as output of other programs, stay as they are.
pub fn folded(text: &str, width: usize) -> String {
    let fits = |line: &str| line.chars().count() <= width || line.starts_with([' ', '\t']);
    let line = |line: &str| if fits(line) { format!("{line}\n") } else { wrapped(line, width, "", "  ") };
    text.lines().map(line).collect()
}

/// Prints `head`, then the text wrapped to the terminal; further lines are indented by the width of the head.
pub fn print_beside(head: &str, text: &str) {
    let rest = " ".repeat(head.chars().count());
    print!("{}", wrapped(text, width(), head, &rest));
}

/// A text in one line, cut to `length` letters.
pub fn shortened(text: &str, length: usize) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= length {
        return line;
    }
    line.chars().take(length - 3).chain("...".chars()).collect()
}

/// Words as typed in a shell.
pub fn line_of(words: &[String]) -> String {
    words.iter().map(|word| shell_words::quote(word).into_owned()).collect::<Vec<_>>().join(" ")
}

/// The text without characters that control a terminal.
pub fn harmless(text: &str) -> String {
    report::screen(&text.replace('\u{1b}', "\u{241b}"))
}

/// Three significant digits with a prefix: `5.66 k/s`, `37.3 ms`.
pub fn quantity(value: f64, unit: &str) -> String {
    let rate = matches!(unit, "/s" | "B/s");
    let (scaled, prefix) = match value {
        v if rate && v >= 1e9 => (v / 1e9, "G"),
        v if rate && v >= 1e6 => (v / 1e6, "M"),
        v if rate && v >= 1e3 => (v / 1e3, "k"),
        v if unit == "s" && v < 1e-3 => (v * 1e6, "u"),
        v if unit == "s" && v < 1.0 => (v * 1e3, "m"),
        v => (v, ""),
    };
    let digits = match scaled {
        s if s >= 100.0 => format!("{s:.0}"),
        s if s >= 10.0 => format!("{s:.1}"),
        s if s >= 0.1 => format!("{s:.2}"),
        s => format!("{s:.5}"),
    };
    format!("{digits} {prefix}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_drive_the_terminal() {
        assert!(!wrapped("a\u{1b}[2Jb", 80, "", "").contains('\u{1b}'));
    }

    #[test]
    fn a_long_line_is_folded_and_output_of_other_programs_is_not() {
        let text = format!("bakeoff: one two three\n  {}\nshort\n", "-".repeat(40));
        let lines: Vec<String> = folded(&text, 16).lines().map(str::to_owned).collect();
        assert_eq!(lines, ["bakeoff: one two", "  three", &format!("  {}", "-".repeat(40)), "short"]);
    }
}
