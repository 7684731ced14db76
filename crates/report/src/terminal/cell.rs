//! One cell of a terminal table: a mark, the figure, a bar, and the lines below.
//! In: a cell of the view. Out: lines of text, and footnotes that several cells may share.

use super::style::{Style, Tone};
use crate::number;
use crate::safe;
use crate::view::{CellView, RowView, Standing};
use indexmap::IndexSet;
use judge::NoteKind;

/// Columns of a bar.
pub(super) const BAR: usize = 9;

/// Notes below a table, each with the letter that cells show.
#[derive(Default)]
pub(super) struct Footnotes {
    texts: IndexSet<String>,
}

impl Footnotes {
    /// The letter of a note: a to z, then aa, ab ...
    pub fn letter(&mut self, text: &str) -> String {
        letters(self.texts.insert_full(text.to_owned()).0)
    }

    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.texts.iter().enumerate().map(|(place, text)| format!("{} {text}", letters(place)))
    }
}

fn letters(place: usize) -> String {
    let last = char::from(b'a' + (place % 26) as u8);
    if place < 26 { last.to_string() } else { format!("{}{last}", letters(place / 26 - 1)) }
}

/// The mark before a figure, two columns wide.
pub(super) fn mark(standing: Standing, style: Style) -> &'static str {
    match (standing, style.unicode) {
        (Standing::Best, true) => "▲ ",
        (Standing::Best, false) => "^ ",
        (Standing::Tie, _) => "= ",
        (Standing::Leading | Standing::Unresolved, _) => "? ",
        (Standing::Likely, _) => "~ ",
        (Standing::Worse | Standing::Alone, _) => "  ",
    }
}

/// The lines of one cell: figure and bar, then the other values, below the lines of the row's title.
pub(super) fn lines(row: &RowView, cell: &CellView, title: usize, style: Style, notes: &mut Footnotes) -> String {
    let Some(figure) = &cell.figure else {
        let reason = cell.missing.as_deref().unwrap_or("not measured");
        let letter = notes.letter(&safe::terminal(reason));
        return format!("  {} {letter}", if style.unicode { "–" } else { "-" });
    };
    let mut marks: Vec<String> = Vec::new();
    // The badge below the name shows durability, and the line of the range shows instability.
    let elsewhere = [NoteKind::Durability, NoteKind::Unstable];
    for note in cell.notes.iter().filter(|note| !elsewhere.contains(&note.kind)) {
        let letter = notes.letter(&safe::terminal(&note.text));
        if !marks.contains(&letter) {
            marks.push(letter);
        }
    }
    let shown = format!("{}{}", mark(cell.standing, style), row.show(figure));
    let tone = match cell.standing {
        Standing::Best => Some(Tone::Best),
        Standing::Tie | Standing::Leading => Some(Tone::Tie),
        _ => None,
    };
    let painted = tone.map_or(shown.clone(), |tone| style.paint(tone, &shown));
    let between = if marks.iter().all(|mark| mark.len() == 1) { "" } else { "," };
    let letters = if marks.is_empty() { String::new() } else { format!(" {}", marks.join(between)) };
    let mut text = format!("{painted}{}", style.paint(Tone::Warning, &letters));
    let longest =
        row.cells.iter().filter_map(|cell| cell.figure.as_ref()).map(|figure| figure.median).fold(0.0, f64::max);
    text.push('\n');
    text.push_str(&style.paint(Tone::Quiet, &style.bar(figure.median / longest, BAR)));
    if row.returned_matters || row.device.is_some() || is_unstable(row) {
        text.push_str(&"\n".repeat(title.saturating_sub(1)));
    }
    if row.returned_matters {
        let returned = cell.returned.as_ref().map(|returned| row.show(returned));
        text.push_str(&format!("\n  {}", returned.unwrap_or_default()));
    }
    if row.device.is_some() {
        text.push_str(&format!("\n  {}", cell.of_device.map(number::percent).unwrap_or_default()));
    }
    if is_unstable(row) {
        let plain = |value: f64| row.unit.show(value, None);
        let range = format!("{}{}{}", plain(figure.min), if style.unicode { "–" } else { "-" }, plain(figure.max));
        text.push_str(&format!("\n  {}", if figure.unstable { range } else { String::new() }));
    }
    text
}

/// Whether a figure of the row varies so much that its range is shown.
pub(super) fn is_unstable(row: &RowView) -> bool {
    row.cells.iter().filter_map(|cell| cell.figure).any(|figure| figure.unstable)
}
