//! Tables as CSV (every figure, base units, all digits) and as Markdown (for readers).
//! In: a view. Out: text.

use crate::number;
use crate::safe;
use crate::view::{CellView, RowView, View, WorkloadView};

/// A table of texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sheet {
    /// Its title, in a line.
    pub title: String,
    /// Headings of the columns.
    pub headings: Vec<String>,
    /// Lines.
    pub lines: Vec<Vec<String>>,
    /// Notes below the table.
    pub notes: Vec<String>,
}

impl Sheet {
    /// As CSV: headings and lines, without text that a spreadsheet takes as a formula.
    pub fn to_csv(&self) -> String {
        let mut text = String::new();
        for line in std::iter::once(&self.headings).chain(&self.lines) {
            text.push_str(&csv_line(line));
        }
        text
    }

    /// As a Markdown table with title and notes.
    pub fn to_markdown(&self) -> String {
        let row = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| safe::markdown(cell)).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let mut text = format!("### {}\n\n{}", safe::markdown(&self.title), row(&self.headings));
        let aligned = (0..self.headings.len()).map(|at| if at == 0 { "---" } else { "---:" });
        text.push_str(&format!("| {} |\n", aligned.collect::<Vec<_>>().join(" | ")));
        for line in &self.lines {
            text.push_str(&row(line));
        }
        for note in &self.notes {
            text.push_str(&format!("\n{}\n", safe::markdown(note)));
        }
        text
    }
}

/// A column of CSV: its name, and its text in a line made from a `T`.
pub(super) type Column<T> = (&'static str, fn(&T) -> String);

/// CSV with the names of its columns above.
pub(super) fn csv_lines<T>(columns: &[Column<T>], lines: impl IntoIterator<Item = T>) -> String {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let line = |line: T| csv_line(&columns.iter().map(|(_, text)| text(&line)).collect::<Vec<_>>());
    csv_line(&names) + &lines.into_iter().map(line).collect::<String>()
}

/// One line of CSV, quoted where needed, ended by a line end.
pub(super) fn csv_line<T: AsRef<str>>(cells: &[T]) -> String {
    let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
    // Writing into memory can fail only for lack of memory, which ends the process.
    let _ = writer.write_record(cells.iter().map(|cell| cell_text(cell.as_ref())));
    writer.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// Numbers stay as they are, a minus included; any other text is made harmless.
fn cell_text(text: &str) -> String {
    if text.parse::<f64>().is_ok() { text.to_owned() } else { safe::spreadsheet(text) }
}

/// Operations by contenders for readers: mark and figure, in each row's unit.
pub fn workload_sheet(view: &View, workload: &WorkloadView) -> Sheet {
    let mut notes = vec!["Medians; ▲ best, = as good as the best, ? can't tell yet.".to_owned()];
    notes.extend(workload.notes.iter().map(|note| format!("All of these: {}.", note.text)));
    notes.extend(workload.sentences.iter().map(|line| line.text.clone()));
    let mut lines = Vec::new();
    for row in &workload.rows {
        lines.push(std::iter::once(row.named()).chain(row.cells.iter().map(|cell| marked(row, cell))).collect());
        if row.returned_matters {
            let named = format!("{} ({}, until returned)", row.title, row.unit.sign);
            let returned = |cell: &CellView| cell.returned.map_or_else(|| "–".into(), |figure| row.show(&figure));
            lines.push(std::iter::once(named).chain(row.cells.iter().map(returned)).collect());
        }
    }
    let names = view.contenders.iter().map(|contender| contender.name.clone());
    Sheet {
        title: format!("{} ({})", workload.title, workload.name),
        headings: std::iter::once("Operation".to_owned()).chain(names).collect(),
        lines,
        notes,
    }
}

fn marked(row: &RowView, cell: &CellView) -> String {
    let marked = |figure| format!("{}{}", cell.standing.mark(), row.show(figure));
    cell.figure.as_ref().map_or_else(|| "–".into(), marked)
}

/// The overview: how many times worse than the best.
pub fn overview_sheet(view: &View) -> Sheet {
    let names = view.contenders.iter().map(|contender| contender.name.clone());
    let headings = ["Workload".to_owned(), "Operation".to_owned()].into_iter().chain(names).collect();
    let mut lines = Vec::new();
    for workload in &view.workloads {
        for row in &workload.rows {
            let ratios = row.cells.iter().map(|cell| number::maybe(cell.ratio));
            lines.push([workload.title.clone(), row.title.clone()].into_iter().chain(ratios).collect());
        }
    }
    Sheet { title: "Times worse than the best".into(), headings, lines, notes: vec![] }
}

/// What a line of the CSV is made from.
struct Line<'a> {
    workload: &'a WorkloadView,
    row: &'a RowView,
    contender: &'a str,
    cell: &'a CellView,
}

impl Line<'_> {
    fn notes(&self) -> String {
        let notes = self.cell.notes.iter().chain(&self.workload.notes).map(|note| note.text.as_str());
        notes.collect::<Vec<_>>().join("; ")
    }
}

fn columns<'a>() -> [Column<Line<'a>>; 26] {
    [
        ("workload", |line| line.workload.name.clone()),
        ("scale", |line| line.workload.scale.clone()),
        ("operation", |line| line.row.key.clone()),
        ("title", |line| line.row.title.clone()),
        ("cache", |line| line.row.cache.clone()),
        ("contender", |line| line.contender.to_owned()),
        ("unit", |line| line.row.base_unit.clone()),
        ("until", |line| if line.row.durable { "durable".into() } else { "returned".into() }),
        ("better", |line| if line.row.higher_is_better { "more".into() } else { "less".into() }),
        ("median", |line| number::maybe(line.cell.figure.map(|figure| figure.median))),
        ("interval_low", |line| number::low(line.cell.figure.and_then(|figure| figure.interval))),
        ("interval_high", |line| number::high(line.cell.figure.and_then(|figure| figure.interval))),
        ("min", |line| number::maybe(line.cell.figure.map(|figure| figure.min))),
        ("max", |line| number::maybe(line.cell.figure.map(|figure| figure.max))),
        ("trials", |line| line.cell.figure.map(|figure| figure.trials.to_string()).unwrap_or_default()),
        ("relative_standard_deviation", |line| number::maybe(line.cell.figure.and_then(|figure| figure.rsd))),
        ("unstable", |line| line.cell.figure.map(|figure| figure.unstable.to_string()).unwrap_or_default()),
        ("standing", |line| line.cell.standing.name().into()),
        ("ratio_to_best", |line| number::maybe(line.cell.ratio)),
        ("ratio_low", |line| number::low(line.cell.ratio_interval)),
        ("ratio_high", |line| number::high(line.cell.ratio_interval)),
        ("returned_median", |line| number::maybe(line.cell.returned.map(|returned| returned.median))),
        ("cpu_percent", |line| number::maybe(line.cell.cpu.map(|cpu| cpu.median))),
        ("share_of_device", |line| number::maybe(line.cell.of_device)),
        ("missing", |line| line.cell.missing.clone().unwrap_or_default()),
        ("notes", |line| line.notes()),
    ]
}

/// One line per cell: every figure in base units with all its digits.
pub fn workload_csv(view: &View, workload: &WorkloadView) -> String {
    let lines = workload.rows.iter().flat_map(|row| {
        row.cells.iter().map(move |cell| Line { workload, row, contender: &view.contenders[cell.contender].name, cell })
    });
    csv_lines(&columns(), lines)
}
