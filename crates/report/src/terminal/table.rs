//! Tables of one workload: contenders as columns, operations as rows, folded into as many tables as the width requires.
//! In: a workload of the view. Out: text.

use super::cell::{Footnotes, is_unstable, lines};
use super::grid::{grid, set_widths};
use super::style::{Style, Tone, wrapped};
use crate::safe;
use crate::view::{RowView, View, WorkloadView};
use comfy_table::{Cell, CellAlignment};
use unicode_width::UnicodeWidthStr;

/// Narrowest and widest first column, which names the operations.
const NAMES: (usize, usize) = (15, 22);
/// Narrowest and widest column of a contender: mark, figure, letters of notes.
const CONTENDER: (usize, usize) = (12, 26);

/// Widths of the columns, and the contenders of each table.
struct Layout {
    names: usize,
    contender: usize,
    folds: Vec<Vec<usize>>,
    /// Contenders without a single figure.
    unmeasured: Vec<usize>,
}

impl Layout {
    fn of(view: &View, workload: &WorkloadView, width: usize) -> Self {
        let widest = |texts: &mut dyn Iterator<Item = &str>| texts.map(UnicodeWidthStr::width).max().unwrap_or(0);
        let titles = widest(&mut workload.rows.iter().map(|row| row.title.as_str()));
        let words = widest(&mut view.contenders.iter().flat_map(|contender| contender.name.split(' ')));
        let names = (titles + 1).clamp(NAMES.0, NAMES.1);
        let contender = (words + 1).clamp(CONTENDER.0, CONTENDER.1);
        let has_figure = |place: &usize| workload.rows.iter().any(|row| row.cells[*place].figure.is_some());
        let (measured, unmeasured): (Vec<usize>, Vec<usize>) = (0..view.contenders.len()).partition(has_figure);
        // Folded tables have equal widths, so that the last is not a single column.
        let fits = (width.saturating_sub(names) / contender).max(1);
        let folds = measured.len().div_ceil(fits).max(1);
        let columns = measured.len().div_ceil(folds).max(1);
        let folds = measured.chunks(columns).map(<[usize]>::to_vec).collect();
        Self { names, contender, folds, unmeasured }
    }
}

/// The tables, their legend and their notes.
pub(super) fn tables(view: &View, workload: &WorkloadView, style: Style) -> String {
    let mut notes = Footnotes::default();
    let mut text = String::new();
    let layout = Layout::of(view, workload, style.width);
    for shown in &layout.folds {
        text.push_str(&table(view, workload, shown, &layout, style, &mut notes));
        text.push_str("\n\n");
    }
    let mut say = |tone: Tone, what: &str| {
        text.push_str(&(style.paint(tone, style.say(what, "  ").trim_end()) + "\n"));
    };
    for place in &layout.unmeasured {
        let contender = &view.contenders[*place];
        // A contender that takes no part at all is named once, at the end.
        if contender.error.is_none() {
            let reason = workload.rows.iter().find_map(|row| row.cells[*place].missing.as_deref());
            say(Tone::Warning, &format!("{}: {}", contender.name, reason.unwrap_or("not measured")));
        }
    }
    let best = if style.unicode { "▲" } else { "^" };
    let less = if workload.rows.iter().all(|row| row.higher_is_better) { "" } else { "; s: less is better" };
    say(Tone::Quiet, &format!("Medians; {best} best; = as good as the best; ? can't tell yet{less}"));
    for note in &workload.notes {
        say(Tone::Warning, &format!("all of these: {}", note.text));
    }
    for note in notes.lines() {
        say(Tone::Plain, &note);
    }
    text
}

fn table(
    view: &View,
    workload: &WorkloadView,
    shown: &[usize],
    layout: &Layout,
    style: Style,
    notes: &mut Footnotes,
) -> String {
    let mut table = grid(style);
    let names = shown.iter().map(|place| {
        let contender = &view.contenders[*place];
        let name = style.paint(Tone::Heading, &style.fitted(&safe::terminal(&contender.name)));
        let badge = style.paint(Tone::Quiet, &contender.badge);
        Cell::new(format!("{name}\n{badge}").trim_end()).set_alignment(CellAlignment::Left)
    });
    table.set_header(std::iter::once(Cell::new("")).chain(names));
    for (place, row) in workload.rows.iter().enumerate() {
        let title = style.fitted(&wrapped(&safe::terminal(&row.title), layout.names - 1, ""));
        let high = title.lines().count();
        let cells = shown.iter().map(|place| style.fitted(&lines(row, &row.cells[*place], high, style, notes)));
        let gap = if place + 1 < workload.rows.len() { "\n " } else { "" };
        table.add_row(std::iter::once(format!("{}{gap}", heading(row, &title, style))).chain(cells));
    }
    set_widths(&mut table, layout.names, layout.contender);
    table.trim_fmt()
}

/// Title and unit; then labels of the lines below the bar.
fn heading(row: &RowView, title: &str, style: Style) -> String {
    let what = if row.durable { "durable " } else { "" };
    let unit = style.paint(Tone::Quiet, &style.fitted(&format!("{what}{}", row.unit.sign)));
    let mut text = format!("{title}\n{unit}");
    if row.returned_matters {
        text.push_str("\n  returned");
    }
    if row.device.is_some() {
        text.push_str("\n  of device");
    }
    if is_unstable(row) {
        text.push_str("\n  unstable");
    }
    text
}
