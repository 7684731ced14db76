//! The frame of wide tables: only a line below the headings, columns of fixed widths.
//! In: the style of the terminal. Out: an empty table.

use super::style::Style;
use comfy_table::{ColumnConstraint, ContentArrangement, Table, TableComponent, Width, presets};

/// An empty table that is as wide as the page.
pub fn grid(style: Style) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_style(TableComponent::HeaderLines, if style.unicode { '─' } else { '-' });
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(style.width).unwrap_or(u16::MAX));
    table
}

/// Sets the width of the first column and that of all others, in characters.
pub fn set_widths(table: &mut Table, first: usize, others: usize) {
    for (at, column) in table.column_iter_mut().enumerate() {
        let width = u16::try_from(if at == 0 { first } else { others }).unwrap_or(u16::MAX);
        column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width)));
        // A cell that fills its column must not touch the next.
        column.set_padding((0, 1));
    }
}
