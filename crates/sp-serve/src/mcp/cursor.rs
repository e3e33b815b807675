//! Cursors of paginated lists.
//!
//! A cursor is the encoded key of the last item of a page, so the server keeps no state per client.

use rmcp::ErrorData;
use sp_formats::mcp::decode_path;
use sp_formats::percent::{self, URI_PATH};

pub(crate) fn encode_cursor(key: &str) -> String {
    percent::encode(key, URI_PATH)
}

pub(crate) fn decode_cursor(cursor: Option<&str>) -> Result<Option<String>, ErrorData> {
    match cursor {
        None => Ok(None),
        Some(text) => decode_path(text).map(Some).ok_or_else(unknown_cursor),
    }
}

/// The error for a cursor that matches no item.
pub(crate) fn unknown_cursor() -> ErrorData {
    ErrorData::invalid_params(
        "unknown or expired cursor; omit `cursor` to list from the start",
        None,
    )
}
