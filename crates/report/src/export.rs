//! The report folder: a run in every file format.
//! In: a run's material, a folder, which forms. Out: files below that folder, and their names.

mod bonnie;
mod costs;
mod folder;
mod histograms;
mod json;
mod ods;
mod ods_charts;
mod passes;
mod pictures;
mod pivots;
mod samples;
mod tables;

use crate::ReportError;
use crate::chart::chart_data;
use crate::html::page;
use crate::view::{AxisView, Material, View};
use std::path::{Path, PathBuf};
use strum::{IntoStaticStr, VariantArray};

pub use costs::costs_sheet;
pub(crate) use folder::write as write_files;
pub use folder::{MARK, check_folder};
pub use json::results;
pub use pivots::{pivot_csv, pivot_sheets};
pub use tables::{Sheet, overview_sheet, workload_csv, workload_sheet};

/// One form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Format {
    /// `index.html`.
    Html,
    /// `charts/*.svg`.
    Svg,
    /// `charts/*.png`.
    Png,
    /// `tables/*.csv` and those of [`CSV`].
    Csv,
    /// `tables/*.md`.
    Markdown,
    /// `results.json`.
    Json,
    /// `results.ods`.
    Ods,
    /// `bonnie.csv`, where the run has Bonnie++'s work.
    Bonnie,
    /// `histograms/*.hlog`.
    Hdr,
}

impl Format {
    /// All of them.
    pub const ALL: &[Format] = <Format as VariantArray>::VARIANTS;

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Format> {
        Format::ALL.iter().copied().find(|format| format.name().eq_ignore_ascii_case(name))
    }
}

/// Makes a table of a run as CSV; empty where the run has nothing for it.
pub type CsvTable = fn(&Material, &View) -> String;

/// Tables as CSV whose lines are passes, by name: every sample; throughput and latency over time; percentiles of latency; figures that programs
/// print.
pub const CSV: [(&str, CsvTable); 4] = [
    ("samples", samples::samples_csv),
    ("series", passes::series),
    ("latency", passes::latencies),
    ("printed", passes::printed),
];

/// Writes a report of a run into a folder, which is created if missing; the files of an earlier report are replaced. Returns the files written.
///
/// # Errors
/// A run that cannot be judged, a chart that cannot be drawn, a folder that cannot be written or holds something else.
pub fn write(material: &Material, folder: &Path, formats: &[Format]) -> Result<Vec<PathBuf>, ReportError> {
    write_view(material, &View::of(material)?, folder, formats)
}

/// The same for an existing view, with what was added to it ([`View::published`]).
///
/// # Errors
/// As [`write()`], without judging.
pub fn write_view(
    material: &Material,
    view: &View,
    folder: &Path,
    formats: &[Format],
) -> Result<Vec<PathBuf>, ReportError> {
    check_folder(folder)?;
    let files = files(material, view, formats)?;
    folder::write(folder, &material.run.id, &files.0)
}

fn files(material: &Material, view: &View, formats: &[Format]) -> Result<Files, ReportError> {
    let wants = |format| formats.contains(&format);
    let mut out = Files::default();
    let pictured = wants(Format::Html) || wants(Format::Svg) || wants(Format::Png);
    let charts = pictured.then(|| chart_data(material, view));
    if let Some(charts) = charts.as_ref().filter(|_| wants(Format::Html)) {
        out.put("index.html", page(material, view, charts)?);
    }
    if let Some(charts) = charts.as_ref().filter(|_| wants(Format::Svg) || wants(Format::Png)) {
        for (name, bytes) in pictures::draw_all(charts, wants(Format::Svg), wants(Format::Png))? {
            out.put(&format!("charts/{name}"), bytes);
        }
    }
    if wants(Format::Csv) {
        for (name, table) in CSV {
            let text = table(material, view);
            if !text.is_empty() {
                out.put(&format!("{name}.csv"), text);
            }
        }
        out.put("tables/overview.csv", overview_sheet(view).to_csv());
        out.put("tables/costs.csv", costs_sheet(view).to_csv());
        for workload in &view.workloads {
            out.put(&format!("tables/{}.csv", workload.slug), workload_csv(view, workload));
        }
        for pivot in &view.pivots {
            let axis = &view.axes[pivot.axis];
            out.put(&pivot_name(axis, "csv"), pivot_csv(view, axis, pivot));
        }
    }
    if wants(Format::Markdown) {
        out.put("tables/overview.md", overview_sheet(view).to_markdown());
        out.put("tables/costs.md", costs_sheet(view).to_markdown());
        for workload in &view.workloads {
            let text = workload_sheet(view, workload).to_markdown();
            out.put(&format!("tables/{}.md", workload.slug), text);
        }
        for pivot in &view.pivots {
            let axis = &view.axes[pivot.axis];
            let text = pivot_sheets(view, axis, pivot).map(|sheet| sheet.to_markdown()).join("\n");
            out.put(&pivot_name(axis, "md"), text);
        }
    }
    if wants(Format::Json) {
        out.put("results.json", results(material, view)?);
    }
    if wants(Format::Ods) {
        out.put("results.ods", ods::workbook(view)?);
    }
    if let Some(text) = bonnie::bonnie_csv(material).filter(|_| wants(Format::Bonnie)) {
        out.put("bonnie.csv", text);
    }
    if wants(Format::Hdr) {
        for (name, text) in histograms::logs(material, view) {
            out.put(&format!("histograms/{name}"), text);
        }
    }
    Ok(out)
}

/// Markdown of all tables, as `show --markdown` prints it.
pub fn markdown(view: &View) -> String {
    let tables = view.workloads.iter().map(|workload| workload_sheet(view, workload));
    let costs = Some(costs_sheet(view)).filter(|sheet| !sheet.lines.is_empty());
    tables.chain(costs).map(|sheet| sheet.to_markdown() + "\n").collect()
}

/// The names of workloads' tables never begin with two dashes, so none is overwritten.
fn pivot_name(axis: &AxisView, ending: &str) -> String {
    format!("tables/by--{}.{ending}", crate::view::slug(&axis.name))
}

/// The files of a report, by their names below its folder. Names are made of slugs, so none of them leads out of the folder.
#[derive(Default)]
struct Files(Vec<folder::File>);

impl Files {
    fn put(&mut self, name: &str, bytes: impl Into<Vec<u8>>) {
        self.0.push((name.into(), bytes.into()));
    }
}
