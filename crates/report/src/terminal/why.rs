//! One cell down to its samples, in the terminal.
//! In: a cell's name as `workload/operation/contender`. Out: text.

use super::style::{Style, Tone};
use crate::ReportError;
use crate::safe;
use crate::view::{self, Material, View, Why};
use comfy_table::{CellAlignment, Table, presets};

/// The figure of a cell, its standing, its notes and every sample.
///
/// # Errors
/// The cell does not exist; the message lists the existing ones.
pub fn why(material: &Material, view: &View, asked: &str, style: Style) -> Result<String, ReportError> {
    let why = view::why(material, view, asked)?;
    let title = style.paint(Tone::Heading, style.say(&why.title, "  ").trim_end());
    let facts: String = why.facts.iter().map(|fact| style.say(fact, "  ")).collect();
    Ok(format!("{title}\n{facts}{}", samples(&why, style)))
}

fn samples(why: &Why, style: Style) -> String {
    let mut table = Table::new();
    table.load_preset(if style.unicode { presets::UTF8_HORIZONTAL_ONLY } else { presets::ASCII_HORIZONTAL_ONLY });
    table.set_header(why.headings.iter().map(|heading| style.fitted(heading)));
    for sample in &why.samples {
        table.add_row(sample.iter().map(|text| safe::terminal(text)));
    }
    for at in 0..6 {
        if let Some(column) = table.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{}\n", style.fitted(&table.trim_fmt()))
}
