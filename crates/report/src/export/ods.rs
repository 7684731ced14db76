//! `results.ods`: a sheet of figures and samples for each workload, an overview, and a sheet of charts.
//! In: a view. Out: the bytes of the file; numbers are exact, formats only show them in better units.

use super::ods_charts::{ChartPlace, with_charts};
use crate::ReportError;
use crate::number::Unit;
use crate::safe;
use crate::view::{RowView, View, WorkloadView};
use icu_locale_core::locale;
use spreadsheet_ods::draw::{DrawFrame, DrawFrameContent, DrawImage};
use spreadsheet_ods::style::units::{PageBreak, TextAlign, TextAlignSource, WrapOption};
use spreadsheet_ods::style::{CellStyle, MasterPage, PageStyle, RowStyle, RowStyleRef, TableStyle};
use spreadsheet_ods::{CellStyleRef, Length, Sheet, ValueFormatNumber, WorkBook, write_ods_buf_uncompressed};
use std::collections::BTreeMap;

/// Rows of one chart on its sheet, and charts on one printed page.
const CHART_ROWS: u32 = 18;
const CHARTS_A_PAGE: usize = 2;
/// Longest name of a sheet that LibreOffice and other programs accept.
const LONGEST_NAME: usize = 31;

/// The file.
///
/// # Errors
/// The error of the spreadsheet library.
pub(super) fn workbook(view: &View) -> Result<Vec<u8>, ReportError> {
    let mut book = WorkBook::new(locale!("en-US"));
    let mut style = CellStyle::new("heading", &"".into());
    style.set_font_bold();
    let bold = book.add_cellstyle(style);
    // Names are above their numbers, which are aligned right, and take as many lines as they need.
    let mut style = CellStyle::new("column", &"".into());
    style.set_font_bold();
    style.set_wrap_option(WrapOption::Wrap);
    style.set_text_align_source(TextAlignSource::Fix);
    style.set_text_align(TextAlign::End);
    let columns = book.add_cellstyle(style);
    let mut style = CellStyle::new("wrapped", &"".into());
    style.set_wrap_option(WrapOption::Wrap);
    let wrapped = book.add_cellstyle(style);
    let mut book = Book { book, formats: BTreeMap::new(), bold, columns };
    let bold = book.bold.clone();
    let mut names: Vec<String> = vec!["Overview".into(), "Costs".into(), "Verdict".into(), "Charts".into()];
    let overview = overview(view, &bold, &book.columns);
    book.book.push_sheet(overview);
    let mut places = Vec::new();
    for workload in &view.workloads {
        let name = sheet_name(&workload.title, &mut names);
        let sheet = book.workload(view, workload, &name, &mut places);
        book.book.push_sheet(sheet);
    }
    book.book.push_sheet(costs(view, &bold));
    book.book.push_sheet(verdict(view, &bold, &wrapped));
    let mut style = RowStyle::new("next-page");
    style.set_break_before(PageBreak::Page);
    let next_page = book.book.add_rowstyle(style);
    book.book.push_sheet(charts(&places, &next_page));
    one_page_wide(&mut book.book);
    let refused = |error: spreadsheet_ods::OdsError| ReportError::Drawing {
        chart: "results.ods".into(),
        answer: error.to_string(),
    };
    let bytes = write_ods_buf_uncompressed(&mut book.book, Vec::new()).map_err(refused)?;
    with_charts(&bytes, &places)
}

/// Sets the page style of every sheet, whose width [`with_charts`] fits to the paper.
fn one_page_wide(book: &mut WorkBook) {
    let mut page = PageStyle::new("page");
    page.set_page_width(Length::Cm(29.7));
    page.set_page_height(Length::Cm(21.0));
    let page = book.add_pagestyle(page);
    let mut master = MasterPage::new("Default");
    master.set_pagestyle(&page);
    let master = book.add_masterpage(master);
    let mut style = TableStyle::new("sheet");
    style.set_master_page(&master);
    let style = book.add_tablestyle(style);
    for number in 0..book.num_sheets() {
        book.sheet_mut(number).set_style(&style);
    }
}

struct Book {
    book: WorkBook,
    formats: BTreeMap<String, CellStyleRef>,
    bold: CellStyleRef,
    columns: CellStyleRef,
}

impl Book {
    /// A style for numbers without a unit.
    fn plain(&mut self, name: &str, places: u8) -> CellStyleRef {
        if let Some(style) = self.formats.get(name) {
            return style.clone();
        }
        let mut format = ValueFormatNumber::new_named(format!("format-{name}"));
        format.part_number().min_integer_digits(1).decimal_places(places).build();
        let format = self.book.add_number_format(format);
        let style = self.book.add_cellstyle(CellStyle::new(name, &format));
        self.formats.insert(name.into(), style.clone());
        style
    }

    /// A style that shows a base value in a unit: the divisor of rates is a power of a thousand, which number formats support.
    fn unit(&mut self, unit: Unit) -> CellStyleRef {
        let name = format!("unit-{}", unit.words.replace(' ', "-"));
        if let Some(style) = self.formats.get(&name) {
            return style.clone();
        }
        let mut format = ValueFormatNumber::new_named(format!("format-{name}"));
        let places = if unit.divisor < 1.0 { 9 } else { 2 };
        let number = format.part_number().min_integer_digits(1).decimal_places(places).min_decimal_places(places);
        if unit.divisor > 1.0 {
            number.display_factor(unit.divisor).build()
        } else {
            number.build()
        }
        let sign = if unit.divisor < 1.0 { "s" } else { unit.sign };
        format.part_text(format!(" {sign}")).build();
        let format = self.book.add_number_format(format);
        let style = self.book.add_cellstyle(CellStyle::new(&name, &format));
        self.formats.insert(name, style.clone());
        style
    }

    fn workload(&mut self, view: &View, workload: &WorkloadView, name: &str, places: &mut Vec<ChartPlace>) -> Sheet {
        let (bold, columns, count) = (self.bold.clone(), self.columns.clone(), self.plain("count", 0));
        let mut sheet = Sheet::new(name);
        sheet.set_styled_value(
            0,
            0,
            text(&format!("{} ({} {})", workload.title, workload.name, workload.scale)),
            &bold,
        );
        let mut line = 2;
        for (heading, pick) in BLOCKS {
            sheet.set_styled_value(line, 0, heading, &bold);
            for (place, name) in measured(view) {
                sheet.set_styled_value(line, place, name, &columns);
            }
            for (at, row) in workload.rows.iter().enumerate() {
                let at = line + 1 + at as u32;
                let style = self.unit(row.unit);
                sheet.set_value(at, 0, text(&row.title));
                for cell in &row.cells {
                    match pick(cell) {
                        Some(value) if heading == TRIALS => {
                            sheet.set_styled_value(at, column(view, cell.contender), value, &count);
                        }
                        Some(value) => sheet.set_styled_value(at, column(view, cell.contender), value, &style),
                        None => {}
                    }
                }
                if line == 2 && row.cells.iter().any(|cell| cell.figure.is_some()) {
                    places.push(place(view, workload, row, name, (line, at)));
                }
            }
            line += workload.rows.len() as u32 + 2;
        }
        self.samples(view, workload, &mut sheet, line);
        sheet.set_col_width(0, Length::Cm(5.5));
        for at in 1..=measured(view).count().max(10) as u32 {
            sheet.set_col_width(at, Length::Cm(3.0));
        }
        sheet
    }

    fn samples(&mut self, view: &View, workload: &WorkloadView, sheet: &mut Sheet, from: u32) {
        let (bold, count, number) = (self.bold.clone(), self.plain("count", 0), self.plain("number", 3));
        let headings = [
            "Samples",
            "Contender",
            "Trial",
            "Round",
            "Pass",
            "Value",
            "Returned",
            "Durable",
            "Unit of values",
            "Counts",
            "Disturbed",
        ];
        for (at, heading) in headings.iter().enumerate() {
            let style = if (2..8).contains(&at) { &self.columns } else { &bold };
            sheet.set_styled_value(from, at as u32, *heading, style);
        }
        let mut line = from + 1;
        for row in &workload.rows {
            for cell in &row.cells {
                for sample in &cell.samples {
                    sheet.set_value(line, 0, text(&row.title));
                    sheet.set_value(line, 1, text(&view.contenders[cell.contender].name));
                    sheet.set_styled_value(line, 2, sample.trial as u32, &count);
                    sheet.set_styled_value(line, 3, sample.block, &count);
                    sheet.set_styled_value(line, 4, sample.pass, &count);
                    for (at, value) in [(5, sample.value), (6, sample.returned), (7, sample.durable)] {
                        if let Some(value) = value {
                            sheet.set_styled_value(line, at, value, &number);
                        }
                    }
                    sheet.set_value(line, 8, text(&row.base_unit));
                    sheet.set_value(line, 9, sample.counts);
                    if let Some(disturbed) = &sample.disturbed {
                        sheet.set_value(line, 10, text(disturbed));
                    }
                    line += 1;
                }
            }
        }
    }
}

/// A block of figures: its heading and which value of a cell it shows.
type Block = (&'static str, fn(&crate::view::CellView) -> Option<f64>);

const BLOCKS: [Block; 5] = [
    ("Median", |cell| cell.figure.map(|figure| figure.median)),
    ("95 % interval, low end", |cell| cell.figure.and_then(|figure| figure.interval).map(|interval| interval.0)),
    ("95 % interval, high end", |cell| cell.figure.and_then(|figure| figure.interval).map(|interval| interval.1)),
    ("Median until returned", |cell| cell.returned.map(|returned| returned.median)),
    (TRIALS, |cell| cell.figure.map(|figure| figure.trials as f64)),
];

/// The block whose numbers have no unit.
const TRIALS: &str = "Trials";

/// Column of a contender; contenders that take no part have no column and no figures.
fn column(view: &View, place: usize) -> u32 {
    view.contenders.iter().take(place).filter(|contender| contender.error.is_none()).count() as u32 + 1
}

/// Contenders that take part, with their columns.
fn measured(view: &View) -> impl Iterator<Item = (u32, String)> {
    let shown = view.contenders.iter().enumerate().filter(|(_, contender)| contender.error.is_none());
    shown.map(|(place, contender)| (column(view, place), text(&contender.name)))
}

/// External text is a text cell, which is never taken as a formula; control characters would corrupt the file.
fn text(text: &str) -> String {
    safe::terminal(text)
}

fn overview(view: &View, bold: &CellStyleRef, columns: &CellStyleRef) -> Sheet {
    let mut sheet = Sheet::new("Overview");
    sheet.set_styled_value(0, 0, text(&view.run.title), bold);
    sheet.set_value(1, 0, text(&format!("Bakeoff {}, run {}, {}", view.run.version, view.run.id, view.run.began)));
    sheet.set_value(2, 0, "How many times worse than the best of each line");
    sheet.set_styled_value(4, 0, "Operation", bold);
    for (place, name) in measured(view) {
        sheet.set_styled_value(4, place, name, columns);
        sheet.set_col_width(place, Length::Cm(2.6));
    }
    let mut line = 5;
    for workload in &view.workloads {
        for row in &workload.rows {
            sheet.set_value(line, 0, text(&format!("{}: {}", workload.title, row.title)));
            for cell in &row.cells {
                if let Some(ratio) = cell.ratio {
                    sheet.set_value(line, column(view, cell.contender), ratio);
                }
            }
            line += 1;
        }
    }
    sheet.set_col_width(0, Length::Cm(11.0));
    sheet
}

/// Costs other than speed: numbers as numbers.
fn costs(view: &View, bold: &CellStyleRef) -> Sheet {
    let table = super::costs::costs_sheet(view);
    let mut sheet = Sheet::new("Costs");
    for (at, heading) in table.headings.iter().enumerate() {
        sheet.set_styled_value(0, at as u32, text(heading), bold);
        sheet.set_col_width(at as u32, Length::Cm(3.5));
    }
    for (line, cells) in table.lines.iter().enumerate() {
        for (at, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
            // The first two are always names.
            match cell.parse::<f64>().ok().filter(|_| at > 1) {
                Some(number) => sheet.set_value(line as u32 + 1, at as u32, number),
                None => sheet.set_value(line as u32 + 1, at as u32, text(cell)),
            }
        }
    }
    sheet
}

/// The sentences, wrapped, and the warnings.
fn verdict(view: &View, bold: &CellStyleRef, wrapped: &CellStyleRef) -> Sheet {
    let mut sheet = Sheet::new("Verdict");
    let mut line = 0;
    let mut say = |note: &str, style: &CellStyleRef| {
        sheet.set_styled_value(line, 0, text(note), style);
        line += 1;
    };
    for workload in &view.workloads {
        say(&workload.title, bold);
        for note in &workload.sentences {
            say(&note.text, wrapped);
        }
    }
    say("How reliable is this?", bold);
    for warning in &view.warnings {
        say(warning, wrapped);
    }
    sheet.set_col_width(0, Length::Cm(16.0));
    sheet
}

/// A sheet with a frame for each chart; [`with_charts`] fills the frames.
fn charts(places: &[ChartPlace], next_page: &RowStyleRef) -> Sheet {
    let mut sheet = Sheet::new("Charts");
    for (number, place) in places.iter().enumerate() {
        if number > 0 && number % CHARTS_A_PAGE == 0 {
            sheet.set_rowstyle(number as u32 * CHART_ROWS, next_page);
        }
        let mut frame = DrawFrame::new();
        frame.set_draw_name(format!("chart-{number}"));
        frame.set_width(Length::Cm(15.5));
        frame.set_height(Length::Cm(7.9));
        frame.svg_x(Length::Cm(0.2));
        frame.svg_y(Length::Cm(0.2));
        frame.set_desc(text(&place.title));
        let mut image = DrawImage::new();
        image.set_xlink_href(format!("chart-{number}"));
        frame.push_content(DrawFrameContent::Image(image));
        sheet.add_draw_frame(number as u32 * CHART_ROWS, 0, frame);
    }
    sheet
}

fn place(view: &View, workload: &WorkloadView, row: &RowView, sheet: &str, (headings, line): (u32, u32)) -> ChartPlace {
    let until = if row.durable { ", until durable" } else { "" };
    ChartPlace {
        title: format!("{}: {}{until}", workload.title, row.title),
        unit: if row.unit.divisor < 1.0 { "seconds".into() } else { row.unit.words.into() },
        sheet: sheet.into(),
        headings,
        line,
        columns: measured(view).count() as u32,
        divisor: row.unit.divisor,
    }
}

/// A sheet name that is unique, without characters that sheet names may not contain.
fn sheet_name(title: &str, taken: &mut Vec<String>) -> String {
    let plain = |letter: char| if r"[]*?:/\'".contains(letter) || letter.is_control() { ' ' } else { letter };
    let base: String = title.chars().map(plain).take(LONGEST_NAME - 4).collect();
    let base = if base.trim().is_empty() { "Workload".to_owned() } else { base.trim().to_owned() };
    let mut name = base.clone();
    let mut number = 2;
    while taken.contains(&name) {
        name = format!("{base} {number}");
        number += 1;
    }
    taken.push(name.clone());
    name
}
