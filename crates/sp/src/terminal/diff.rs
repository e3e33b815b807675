//! Unified diffs of text files.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};
use sp_formats::printable::{mask_secrets, printable};

use super::{ADDED, DIM, REMOVED, STRONG};

/// After this time the diff is completed approximately. Two long, unrelated texts could take
/// minutes.
const DIFF_TIMEOUT: Duration = Duration::from_secs(2);

fn diff_lines<'t>(before: &'t str, after: &'t str) -> TextDiff<'t, 't, str> {
    TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(before, after)
}

/// Returns a unified diff that programs can parse.
pub(crate) fn plain_diff(file: &str, before: &str, after: &str) -> String {
    let (before, after) = (mask_secrets(before), mask_secrets(after));
    let diff = diff_lines(&before, &after);
    diff.unified_diff()
        .context_radius(2)
        .header(&format!("a/{file}"), &format!("b/{file}"))
        .to_string()
}

/// Returns a unified diff with colors, in which hidden characters are escaped.
pub(crate) fn colored_diff(file: &str, before: &str, after: &str) -> String {
    let (before, after) = (mask_secrets(before), mask_secrets(after));
    let diff = diff_lines(&before, &after);
    let mut text = format!("{STRONG}{}{STRONG:#}\n", printable(file));
    for hunk in diff.unified_diff().context_radius(2).iter_hunks() {
        text += &format!("{DIM}{}{DIM:#}\n", hunk.header());
        for change in hunk.iter_changes() {
            let (style, sign) = match change.tag() {
                ChangeTag::Delete => (REMOVED, '-'),
                ChangeTag::Insert => (ADDED, '+'),
                ChangeTag::Equal => (DIM, ' '),
            };
            let line = change.value().trim_end_matches('\n');
            text += &format!("{style}{sign}{}{style:#}\n", printable(line.trim_end_matches('\r')));
        }
    }
    text + "\n"
}
