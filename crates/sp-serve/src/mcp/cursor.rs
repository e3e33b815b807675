//! Cursors: where a list goes on. They say a place, so that no server has to remember anybody.

use rmcp::ErrorData;
use sp_formats::mcp::{escaped, unescaped};

/// A key as a cursor.
pub(crate) fn cursor(key: &str) -> String {
    escaped(key)
}

/// The key of a cursor that a client gave back.
pub(crate) fn key(cursor: Option<&str>) -> Result<Option<String>, ErrorData> {
    match cursor {
        None => Ok(None),
        Some(text) => unescaped(text).map(Some).ok_or_else(unknown),
    }
}

/// What a client is told whose cursor leads nowhere.
pub(crate) fn unknown() -> ErrorData {
    ErrorData::invalid_params("the cursor is not one of this list, or what it meant is gone; list from the start", None)
}
