//! `sp schema`.

use sp_engine::{Error, ErrorCode, Result};
use sp_formats::schema::file_schema;

use crate::terminal::Terminal;

pub(super) fn run(file: &str, terminal: &Terminal) -> Result<()> {
    let schema = file_schema(file)
        .ok_or_else(|| Error::new(ErrorCode::UnknownSchema, format!("unknown schema `{file}`")))?;
    terminal.print_json(&schema)
}
