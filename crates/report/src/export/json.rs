//! `results.json`: a run with its figures, verdict and samples, in the schema of `docs/results-schema.md`.
//! In: a view and its material. Out: JSON text; base units, all digits, absent where not measured.

use crate::ReportError;
use crate::view::{self, CellView, Latency, Material, RowView, SeriesView, View};
use serde::Serialize;

/// Version of the schema; it grows with each change that would mislead a reader of the previous one.
pub const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Results<'a> {
    schema: &'static str,
    schema_version: u32,
    #[serde(flatten)]
    view: &'a View,
    workloads: Vec<Workload<'a>>,
}

#[derive(Serialize)]
struct Workload<'a> {
    name: &'a str,
    title: &'a str,
    scale: &'a str,
    settings: &'a [(String, String)],
    verdict: &'a [view::SentenceView],
    notes: &'a [view::NoteView],
    operations: Vec<Operation<'a>>,
}

#[derive(Serialize)]
struct Operation<'a> {
    operation: &'a str,
    title: &'a str,
    cache: &'a str,
    phases: &'a [String],
    unit: &'a str,
    until: &'static str,
    better: &'static str,
    device: Option<f64>,
    results: Vec<Cell<'a>>,
}

#[derive(Serialize)]
struct Cell<'a> {
    contender_name: &'a str,
    #[serde(flatten)]
    cell: &'a CellView,
    latency: Option<Latency>,
    series: Option<SeriesView>,
}

/// The whole of a run as JSON, indented.
///
/// # Errors
/// Values that JSON cannot carry.
pub fn results(material: &Material, view: &View) -> Result<String, ReportError> {
    let workloads = view
        .workloads
        .iter()
        .map(|workload| {
            let key = (view::trial_name(material, workload), workload.scale.as_str());
            Workload {
                name: &workload.name,
                title: &workload.title,
                scale: &workload.scale,
                settings: &workload.settings,
                verdict: &workload.sentences,
                notes: &workload.notes,
                operations: workload.rows.iter().map(|row| operation(material, view, row, key)).collect(),
            }
        })
        .collect();
    let results = Results { schema: "bakeoff-results", schema_version: SCHEMA, view, workloads };
    let refused =
        |error: serde_json::Error| ReportError::Judging { run: view.run.id.clone(), answer: error.to_string() };
    let mut text = serde_json::to_string_pretty(&results).map_err(refused)?;
    text.push('\n');
    Ok(text)
}

fn operation<'a>(material: &Material, view: &'a View, row: &'a RowView, key: (&str, &str)) -> Operation<'a> {
    Operation {
        operation: &row.key,
        title: &row.title,
        cache: &row.cache,
        phases: &row.phases,
        unit: &row.base_unit,
        until: if row.durable { "durable" } else { "returned" },
        better: if row.higher_is_better { "more" } else { "less" },
        device: row.device,
        results: row
            .cells
            .iter()
            .map(|cell| {
                let contender = &view.contenders[cell.contender];
                Cell {
                    contender_name: &contender.name,
                    cell,
                    latency: view::latency(material, row, key, contender.index),
                    series: view::series(material, row, key, contender.index),
                }
            })
            .collect(),
    }
}
