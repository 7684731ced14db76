//! A pivot in the terminal: for each operation the values of an axis group by group, then the groups with their best.
//! In: a view and the name of an axis. Out: text, folded to the width.

use super::cell::mark;
use super::grid::{grid, set_widths};
use super::style::{Style, Tone, wrapped};
use crate::ReportError;
use crate::number;
use crate::safe;
use crate::view::{AxisView, CHOSEN, PivotCell, PivotRow, Standing, View};
use comfy_table::Cell;
use unicode_width::UnicodeWidthStr;

/// Most sentences below a table; the table has the same facts.
const SENTENCES: usize = 4;
/// Narrowest and widest first column.
const NAMES: (usize, usize) = (15, 26);
/// Narrowest and widest column of figures.
const FIGURES: (usize, usize) = (13, 24);

/// The best value of an axis for each group, then the groups with theirs.
///
/// # Errors
/// No axis of the run has this name; the message lists the existing ones.
pub fn pivot(view: &View, asked: &str, style: Style) -> Result<String, ReportError> {
    let (axis, pivot) = view.pivot(asked).ok_or_else(|| {
        let known: Vec<&str> = view.pivots.iter().map(|pivot| view.axes[pivot.axis].name.as_str()).collect();
        let why = match known.is_empty() {
            true => "no two contenders of the run differ only in one option or the scheduler".to_owned(),
            false => format!("the run has the axes {}", known.join(", ")),
        };
        ReportError::NoSuch { part: "axis", asked: safe::terminal(asked), why }
    })?;
    let name = safe::terminal(&axis.name);
    let mut text = style.heading(&format!("Which {name}")).trim_start().to_owned();
    say(&mut text, &pivot.summary, usize::MAX, style);
    say(&mut text, &pivot.course.iter().map(|course| course.summary.clone()).collect::<Vec<_>>(), usize::MAX, style);
    for part in pivot.parts() {
        text.push_str(&title(view, part, style));
        text.push_str(&within(view, axis, part, style));
    }
    say(&mut text, &pivot.within, SENTENCES, style);
    if !pivot.across.is_empty() {
        text.push_str(&style.heading(&format!("Each with its best {name}")));
        for part in pivot.parts() {
            text.push_str(&title(view, part, style));
            text.push_str(&across(view, axis, part, style));
        }
        say(&mut text, &pivot.across, SENTENCES, style);
        text.push_str(&style.aside(CHOSEN));
    }
    let best = if style.unicode { "▲" } else { "^" };
    let legend = format!(
        "Medians; {best} best of its line; = as good as the best; ? can't tell yet; x: times worse than the \
         best. Differences below {} are ignored.",
        number::percent(pivot.smallest_effect)
    );
    Ok(text + &style.aside(&legend))
}

fn title(view: &View, part: &[PivotRow], style: Style) -> String {
    let workload = &view.workloads[part[0].workload];
    format!("\n{}", style.say(&format!("{} ({})", workload.title, workload.name), "  "))
}

fn say(text: &mut String, sentences: &[String], most: usize, style: Style) {
    let mark = if style.unicode { "→ " } else { "> " };
    text.extend(sentences.iter().take(most).map(|sentence| style.say(&format!("{mark}{sentence}"), "  ")));
    if let Some(more) = sentences.len().checked_sub(most).filter(|more| *more > 0) {
        let more = format!("  {more} more sentences like these are in the report and in `show --json`.");
        text.push_str(&style.aside(&more));
    }
}

/// A block of lines under one heading; each line has a name and cells.
struct Block {
    heading: String,
    lines: Vec<(String, Vec<String>)>,
}

fn within(view: &View, axis: &AxisView, part: &[PivotRow], style: Style) -> String {
    let blocks: Vec<Block> = part
        .iter()
        .map(|line| Block {
            heading: operation(view, line),
            lines: axis
                .groups
                .iter()
                .zip(&line.groups)
                .filter(|(_, values)| values.iter().flatten().count() >= 2)
                .map(|(group, values)| {
                    let shown = |cell: &Option<PivotCell>| {
                        cell.as_ref().map_or_else(|| "  –".into(), |cell| figure(view, line, cell, style))
                    };
                    (format!("  {}", safe::terminal(&group.name)), values.iter().map(shown).collect())
                })
                .collect(),
        })
        .collect();
    tables(&axis.values, &blocks, style)
}

fn across(view: &View, axis: &AxisView, part: &[PivotRow], style: Style) -> String {
    let names: Vec<String> = axis.groups.iter().map(|group| group.name.clone()).collect();
    let blocks: Vec<Block> = part
        .iter()
        .map(|line| {
            let best = |pick: &dyn Fn(&crate::view::PivotBest) -> String| {
                line.best.iter().map(|best| best.as_ref().map_or_else(|| "  –".into(), pick)).collect()
            };
            let figures = best(&|best| figure(view, line, &best.cell, style));
            let values = best(&|best| format!("  {}", safe::terminal(&axis.values[best.value])));
            Block {
                heading: String::new(),
                lines: vec![(operation(view, line), figures), (format!("  {}", safe::terminal(&axis.name)), values)],
            }
        })
        .collect();
    tables(&names, &blocks, style)
}

fn operation(view: &View, line: &PivotRow) -> String {
    let row = view.row(line);
    let until = if row.durable { "durable " } else { "" };
    format!("{}, {until}{}", safe::terminal(&row.title), row.unit.sign)
}

/// Mark and figure, and the ratio if it is worse.
fn figure(view: &View, line: &PivotRow, cell: &PivotCell, style: Style) -> String {
    let row = view.row(line);
    let shown = row.show(&cell.figure);
    let times = match (cell.standing, cell.ratio) {
        (Standing::Worse, Some(ratio)) => format!(" {}x", number::ratio(ratio)),
        _ => String::new(),
    };
    format!("{}{shown}{times}", mark(cell.standing, style))
}

/// Columns folded into as many tables as the width requires.
fn tables(columns: &[String], blocks: &[Block], style: Style) -> String {
    let lines = || blocks.iter().flat_map(|block| &block.lines);
    let widest = |texts: &mut dyn Iterator<Item = &str>| texts.map(UnicodeWidthStr::width).max().unwrap_or(0);
    let headings = widest(&mut blocks.iter().map(|block| block.heading.as_str()));
    let names = (widest(&mut lines().map(|(name, _)| name.as_str())).max(headings) + 2).clamp(NAMES.0, NAMES.1);
    let cells = widest(&mut lines().flat_map(|(_, cells)| cells.iter().map(String::as_str)));
    let width = (cells.max(widest(&mut columns.iter().map(String::as_str))) + 2).clamp(FIGURES.0, FIGURES.1);
    let fits = (style.width.saturating_sub(names) / width).max(1);
    let folds = columns.len().div_ceil(fits).max(1);
    let each = columns.len().div_ceil(folds).max(1);
    let mut text = String::new();
    for fold in 0..folds {
        let shown = fold * each..((fold + 1) * each).min(columns.len());
        text.push_str(&table(&columns[shown.clone()], blocks, shown, (names, width), style));
        text.push('\n');
    }
    text
}

fn table(
    columns: &[String],
    blocks: &[Block],
    shown: std::ops::Range<usize>,
    (names, width): (usize, usize),
    style: Style,
) -> String {
    let mut table = grid(style);
    let titles = columns.iter().map(|name| Cell::new(style.paint(Tone::Heading, &style.fitted(&safe::terminal(name)))));
    table.set_header(std::iter::once(Cell::new("")).chain(titles));
    for block in blocks {
        if !block.heading.is_empty() {
            let heading = style.fitted(&wrapped(&block.heading, names - 1, "  "));
            table.add_row(std::iter::once(heading));
        }
        for (name, cells) in &block.lines {
            let cells = cells[shown.clone()].iter().map(|cell| style.fitted(cell));
            table.add_row(std::iter::once(style.fitted(&wrapped(name, names - 1, "  "))).chain(cells));
        }
    }
    set_widths(&mut table, names, width);
    format!("{}\n", table.trim_fmt())
}
