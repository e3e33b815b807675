//! Cursors: where a list goes on. They say a place, so that no server has to remember anybody.

use rmcp::ErrorData;
use sp_formats::mcp::{percent_decode, percent_encode};

/// A key as a cursor.
pub(crate) fn encode_cursor(key: &str) -> String {
    percent_encode(key)
}

/// The key of a cursor that a client gave back.
pub(crate) fn decode_cursor(cursor: Option<&str>) -> Result<Option<String>, ErrorData> {
    match cursor {
        None => Ok(None),
        Some(text) => percent_decode(text).map(Some).ok_or_else(unknown_cursor),
    }
}

/// What a client is told whose cursor leads nowhere.
pub(crate) fn unknown_cursor() -> ErrorData {
    ErrorData::invalid_params(
        "the cursor is not one of this list, or what it meant is gone; list from the start",
        None,
    )
}
