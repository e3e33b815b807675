//! How much comes at once, how a list goes on, and how long it may be kept.

use rmcp::ErrorData;

use crate::mcp::cursor::{decode_cursor, encode_cursor, unknown_cursor};

/// So many items a page has at the most.
pub(crate) const PAGE_SIZE: usize = 100;
/// What is listed or read may be kept so long: files change under our hands.
pub(crate) const TTL_MS: u64 = 2_000;
/// What cannot change while the server runs may be kept so long.
pub(crate) const LONG_TTL_MS: u64 = 3_600_000;

/// The page of some items behind a cursor, and the cursor of the next, if there is one.
pub(crate) fn paginate<'a, T>(
    items: &'a [T],
    given: Option<&str>,
    name: impl Fn(&T) -> &str,
) -> Result<(&'a [T], Option<String>), ErrorData> {
    let start = match decode_cursor(given)? {
        None => 0,
        Some(after) => {
            items.iter().position(|one| name(one) == after).ok_or_else(unknown_cursor)? + 1
        }
    };
    let end = items.len().min(start + PAGE_SIZE);
    let last = items[start..end].last().filter(|_| end < items.len());
    Ok((&items[start..end], last.map(|last| encode_cursor(name(last)))))
}
