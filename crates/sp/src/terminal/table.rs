//! Tables without borders, wrapped at the width of the terminal.

use comfy_table::{ContentArrangement, Table};
use sp_formats::printable::printable;

pub(crate) fn table(heading: &[&str], rows: Vec<Vec<String>>, width: Option<u16>) -> String {
    let mut table = Table::new();
    table
        .load_style(comfy_table::presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    match width {
        Some(width) => table.set_width(width),
        // Not a terminal: one line per row, regardless of its length.
        None => table.set_content_arrangement(ContentArrangement::Disabled),
    };
    table.set_header(heading.iter().map(|title| title.to_uppercase()));
    for row in rows {
        table.add_row(row.iter().map(|cell| printable(cell).into_owned()));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let text = table.to_string();
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
