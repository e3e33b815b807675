//! Page sizes, cache lifetimes, and pagination of lists that are in memory.

use rmcp::ErrorData;

use crate::mcp::cursor::{decode_cursor, encode_cursor, unknown_cursor};

/// Maximum number of items per page.
pub(crate) const PAGE_SIZE: usize = 100;
/// How long clients may cache lists and contents, which change with the files.
pub(crate) const TTL_MS: u64 = 2_000;
/// How long clients may cache what does not change while the server runs.
pub(crate) const LONG_TTL_MS: u64 = 3_600_000;

/// Returns the page after a cursor, and the cursor of the next page, if there is one.
pub(crate) fn paginate<'a, T>(
    items: &'a [T],
    cursor: Option<&str>,
    name: impl Fn(&T) -> &str,
) -> Result<(&'a [T], Option<String>), ErrorData> {
    let start = match decode_cursor(cursor)? {
        None => 0,
        Some(after) => {
            items.iter().position(|item| name(item) == after).ok_or_else(unknown_cursor)? + 1
        }
    };
    let end = items.len().min(start + PAGE_SIZE);
    let last = items[start..end].last().filter(|_| end < items.len());
    Ok((&items[start..end], last.map(|last| encode_cursor(name(last)))))
}
