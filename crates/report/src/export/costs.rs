//! Costs other than speed as one table: every figure in base units with all its digits.
//! In: a view. Out: a [`Sheet`] for the CSV file, the Markdown table and the spreadsheet.

use super::tables::Sheet;
use crate::number;
use crate::view::{CostView, View};

/// Name of a column, and what of a contender's costs it holds.
type Column = (&'static str, fn(&CostView) -> Option<f64>);

const COLUMNS: [Column; 11] = [
    ("make_seconds", |cost| cost.make_seconds),
    ("mount_seconds", |cost| cost.mount_seconds),
    ("unmount_seconds", |cost| cost.unmount_seconds),
    ("check_seconds", |cost| cost.check_seconds),
    ("empty_bytes", |cost| cost.empty_bytes),
    ("reserved_bytes", |cost| cost.reserved_bytes),
    ("taken_per_byte", |cost| cost.taken_per_byte),
    ("inodes", |cost| cost.inodes),
    ("inodes_taken", |cost| cost.inodes_taken),
    ("cpu_seconds_per_operation", |cost| cost.cpu_per_operation),
    ("written_per_byte", |cost| cost.written_per_byte),
];

/// All costs of a run, a line for each workload and contender; what was not measured is empty.
pub fn costs_sheet(view: &View) -> Sheet {
    let headings = ["workload", "contender"].into_iter().chain(COLUMNS.iter().map(|(name, _)| *name));
    let lines = view.costs.iter().flat_map(|costs| {
        costs.contenders.iter().map(move |cost| {
            let names = [costs.workload.clone(), view.contenders[cost.contender].name.clone()];
            let figures = COLUMNS.iter().map(|(_, pick)| number::maybe(pick(cost)));
            names.into_iter().chain(figures).collect()
        })
    });
    Sheet {
        title: "Other costs".into(),
        headings: headings.map(str::to_owned).collect(),
        lines: lines.collect(),
        notes: vec![crate::view::LEGEND.into()],
    }
}
