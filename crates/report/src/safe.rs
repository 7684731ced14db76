//! Text of others (labels, error messages, file names) made harmless where it is shown.
//! In: any text. Out: text without control characters for terminals, without formulas for spreadsheets.
//! HTML and SVG are escaped by the libraries that write them.

/// Longest text of others that is shown in one place, in characters.
const LONGEST: usize = 4000;

/// For terminals and plain text: control characters and those that reorder text become visible.
pub fn terminal(text: &str) -> String {
    let shown = |letter: char| match letter {
        '\n' | '\t' => ' ',
        letter if letter.is_control() || is_reordering(letter) => '\u{fffd}',
        letter => letter,
    };
    text.chars().take(LONGEST).map(shown).collect()
}

/// For CSV and spreadsheets: a text that a spreadsheet would take as a formula is led by an apostrophe.
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

/// Characters that change the direction of what follows or are not seen.
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
