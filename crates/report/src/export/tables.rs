//! Tables as CSV (every figure, base units, all digits) and as Markdown (as people read them).
//! In: a view. Out: text.

use crate::number;
use crate::safe;
use crate::view::{CellView, RowView, Standing, View, WorkloadView};

/// A table of texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sheet {
    /// What it is, in a line.
    pub title: String,
    /// Headings of the columns.
    pub headings: Vec<String>,
    /// Lines.
    pub lines: Vec<Vec<String>>,
    /// What belongs below.
    pub notes: Vec<String>,
}

impl Sheet {
    /// As CSV: headings and lines, nothing that a spreadsheet takes as a formula.
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

/// One line of CSV, quoted where needed, ended by a line end.
pub(super) fn csv_line<T: AsRef<str>>(cells: &[T]) -> String {
    let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
    // Writing into memory has no way to fail but a lack of memory, which ends the process.
    let _ = writer.write_record(cells.iter().map(|cell| cell_text(cell.as_ref())));
    writer.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// Numbers stay as they are, a minus included; any other text is made harmless.
fn cell_text(text: &str) -> String {
    if text.parse::<f64>().is_ok() { text.to_owned() } else { safe::spreadsheet(text) }
}

/// Operations by contenders as people read them: mark and figure, in each row's unit.
pub fn workload_sheet(view: &View, workload: &WorkloadView) -> Sheet {
    let mut notes = vec!["Medians; ▲ best, = as good as the best, ? can't tell yet.".to_owned()];
    notes.extend(workload.notes.iter().map(|note| format!("All of these: {}.", note.text)));
    notes.extend(workload.sentences.iter().map(|said| said.text.clone()));
    let mut lines = Vec::new();
    for row in &workload.rows {
        let until = if row.durable { ", until durable" } else { "" };
        let less = if row.higher_is_better { "" } else { ", less is better" };
        let named = format!("{} ({}{until}{less})", row.title, row.unit.sign);
        lines.push(std::iter::once(named).chain(row.cells.iter().map(|cell| marked(row, cell))).collect());
        if row.returned_matters {
            let named = format!("{} ({}, until returned)", row.title, row.unit.sign);
            let returned = |cell: &CellView| match cell.returned {
                Some(figure) => row.unit.show(figure.median, figure.half_width()),
                None => "–".into(),
            };
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
    let Some(figure) = &cell.figure else {
        return "–".into();
    };
    format!("{}{}", mark(cell.standing), row.unit.show(figure.median, figure.half_width()))
}

/// The mark before a figure.
pub(super) fn mark(standing: Standing) -> &'static str {
    match standing {
        Standing::Best => "▲ ",
        Standing::Tie => "= ",
        Standing::Leading | Standing::Unresolved => "? ",
        Standing::Likely => "~ ",
        Standing::Worse | Standing::Alone => "",
    }
}

/// The overview: how many times worse than the best.
pub fn overview_sheet(view: &View) -> Sheet {
    let names = view.contenders.iter().map(|contender| contender.name.clone());
    let headings = ["Workload".to_owned(), "Operation".to_owned()].into_iter().chain(names).collect();
    let mut lines = Vec::new();
    for workload in &view.workloads {
        for row in &workload.rows {
            let ratios = row.cells.iter().map(|cell| cell.ratio.map(number::exact).unwrap_or_default());
            lines.push([workload.title.clone(), row.title.clone()].into_iter().chain(ratios).collect());
        }
    }
    Sheet { title: "Times worse than the best".into(), headings, lines, notes: vec![] }
}

const COLUMNS: [&str; 26] = [
    "workload",
    "scale",
    "operation",
    "title",
    "cache",
    "contender",
    "unit",
    "until",
    "better",
    "median",
    "interval_low",
    "interval_high",
    "min",
    "max",
    "trials",
    "relative_standard_deviation",
    "unstable",
    "standing",
    "ratio_to_best",
    "ratio_low",
    "ratio_high",
    "returned_median",
    "cpu_percent",
    "share_of_device",
    "missing",
    "notes",
];

/// One line a cell: every figure in base units with all its digits.
pub fn workload_csv(view: &View, workload: &WorkloadView) -> String {
    let mut text = csv_line(&COLUMNS);
    for row in &workload.rows {
        for cell in &row.cells {
            text.push_str(&csv_line(&cell_line(view, workload, row, cell)));
        }
    }
    text
}

/// Markdown of all tables, as `show --markdown` prints it.
pub fn markdown(view: &View) -> String {
    let tables = view.workloads.iter().map(|workload| workload_sheet(view, workload));
    let costs = Some(super::costs::costs_sheet(view)).filter(|sheet| !sheet.lines.is_empty());
    tables.chain(costs).map(|sheet| sheet.to_markdown() + "\n").collect()
}

fn cell_line(view: &View, workload: &WorkloadView, row: &RowView, cell: &CellView) -> Vec<String> {
    let exact = |value: Option<f64>| value.map(number::exact).unwrap_or_default();
    let figure = cell.figure;
    let of = |pick: fn(&crate::view::FigureView) -> Option<f64>| exact(figure.as_ref().and_then(pick));
    vec![
        workload.name.clone(),
        workload.scale.clone(),
        row.key.clone(),
        row.title.clone(),
        row.cache.clone(),
        view.contenders[cell.contender].name.clone(),
        row.base_unit.clone(),
        if row.durable { "durable".into() } else { "returned".into() },
        if row.higher_is_better { "more".into() } else { "less".into() },
        of(|figure| Some(figure.median)),
        of(|figure| figure.interval.map(|interval| interval.0)),
        of(|figure| figure.interval.map(|interval| interval.1)),
        of(|figure| Some(figure.min)),
        of(|figure| Some(figure.max)),
        figure.map(|figure| figure.trials.to_string()).unwrap_or_default(),
        of(|figure| figure.rsd),
        figure.map(|figure| figure.unstable.to_string()).unwrap_or_default(),
        cell.standing.name().into(),
        exact(cell.ratio),
        exact(cell.ratio_interval.map(|interval| interval.0)),
        exact(cell.ratio_interval.map(|interval| interval.1)),
        exact(cell.returned.map(|returned| returned.median)),
        exact(cell.cpu.map(|cpu| cpu.median)),
        exact(cell.of_device),
        cell.missing.clone().unwrap_or_default(),
        cell.notes.iter().chain(&workload.notes).map(|note| note.text.as_str()).collect::<Vec<_>>().join("; "),
    ]
}
