//! The text encoding that every file of a pack must have.

use std::sync::Arc;

use crate::context_pack::rules::CP_01;
use crate::report::{Report, Severity};

/// Decodes a file and reports anything but UTF-8 without a byte order mark and with LF line
/// endings.
pub(super) fn decode_text(bytes: &[u8], report: &mut Report) -> Option<Arc<str>> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        report.whole_file(Severity::Error, &CP_01, "it is not UTF-8").help("save it as UTF-8");
        return None;
    };
    if text.starts_with('\u{feff}') {
        report
            .error(&CP_01, 0..'\u{feff}'.len_utf8(), "it begins with a byte order mark")
            .help("save it without one");
    }
    if let Some(at) = text.find('\r') {
        report
            .error(&CP_01, at..at + 1, "its lines do not end with LF alone")
            .help("save it with LF line endings");
    }
    Some(text.into())
}
