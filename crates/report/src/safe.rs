//! Makes external text (labels, error messages, file names) harmless where it is shown.
//! In: any text. Out: text without control characters for terminals, without formulas for spreadsheets.
//! HTML and SVG are escaped by the libraries that write them.

/// Longest external text that is shown in one place, in characters.
const LONGEST: usize = 4000;

/// Colours of tables, and their end; external text could only use them to colour itself.
const OWN_COLOURS: [&str; 6] = ["\u{1b}[1m", "\u{1b}[1;32m", "\u{1b}[32m", "\u{1b}[2m", "\u{1b}[33m", "\u{1b}[0m"];

/// For terminals and plain text: makes control characters and those that reorder text visible.
pub fn terminal(text: &str) -> String {
    let shown = |letter: char| match letter {
        '\n' | '\t' => ' ',
        letter => visible(letter),
    };
    text.chars().take(LONGEST).map(shown).collect()
}

/// For the last step before a terminal: as [`terminal`], but keeps intended line ends, tabs and colours.
pub fn screen(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let colour = OWN_COLOURS.iter().find(|colour| rest.starts_with(**colour));
        let length = colour.map_or(letter.len_utf8(), |colour| colour.len());
        match colour {
            Some(colour) => shown.push_str(colour),
            None if matches!(letter, '\n' | '\t') => shown.push(letter),
            None => shown.push(visible(letter)),
        }
        rest = &rest[length..];
    }
    shown
}

/// A character, or a picture of it if it would control the terminal: Unicode has one for each ASCII control character.
fn visible(letter: char) -> char {
    match letter {
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(letter)).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        letter if letter.is_control() || is_reordering(letter) => '\u{fffd}',
        letter => letter,
    }
}

/// For CSV and spreadsheets: prefixes an apostrophe to text that a spreadsheet would take as a formula.
pub fn spreadsheet(text: &str) -> String {
    let clean = terminal(text);
    let formula = clean.trim_start().starts_with(['=', '+', '-', '@', '|', '%']);
    if formula { format!("'{clean}") } else { clean }
}

/// For one cell of a Markdown table, which may hold HTML and must hold no line end.
pub fn markdown(text: &str) -> String {
    let mut escaped = String::new();
    for letter in terminal(text).chars() {
        match letter {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '!' | '~' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// Characters that change the direction of text or are invisible.
fn is_reordering(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_drive_the_terminal() {
        let shown = terminal("ext4\u{1b}[2J\u{7}\u{202e}sfx\u{9b}31m\n");
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}', '\u{9b}', '\n']), "{shown:?}");
        assert!(shown.starts_with("ext4"));
    }

    #[test]
    fn a_screen_keeps_lines_and_own_colours_and_shows_every_other_control_character() {
        assert_eq!(screen("a\tb\n\u{1b}[1;32mbest\u{1b}[0m\n"), "a\tb\n\u{1b}[1;32mbest\u{1b}[0m\n");
        assert_eq!(screen("\u{1b}[2J\u{1b}]0;title\u{7}\r\u{9b}31m\u{7f}"), "␛[2J␛]0;title␇␍\u{fffd}31m␡");
        assert_eq!(screen("\u{1b}[8mhidden\u{1b}[1;31m"), "␛[8mhidden␛[1;31m");
    }

    #[test]
    fn a_label_is_no_formula() {
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "|cmd"] {
            assert!(spreadsheet(formula).starts_with('\''), "{formula:?}");
        }
        assert_eq!(spreadsheet("ext4 -O x=1"), "ext4 -O x=1");
    }

    #[test]
    fn a_label_stays_in_its_markdown_cell() {
        assert_eq!(markdown("a|b\n<img>"), r"a\|b &lt;img&gt;");
    }
}
