//! `sp schema`

use sp_engine::{Error, Kind, Result};
use sp_formats::schema::schema;

use crate::terminal::Terminal;

pub(super) fn run(file: &str, terminal: &Terminal) -> Result<()> {
    let schema = schema(file).ok_or_else(|| Error::new(Kind::Usage, format!("there is no schema called `{file}`")))?;
    terminal.print_json(&schema)
}
