//! The text encoding that every file of a pack must have.

use std::sync::Arc;

use crate::context_pack::rules::CP_01;
use crate::report::{Report, Severity};

/// Decodes a file and reports anything but UTF-8 without a byte order mark and with LF line
/// endings.
pub(super) fn decode_text(bytes: &[u8], report: &mut Report) -> Option<Arc<str>> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        report.whole_file(Severity::Error, &CP_01, "invalid UTF-8").help("save the file as UTF-8");
        return None;
    };
    if text.starts_with('\u{feff}') {
        report
            .error(&CP_01, 0..'\u{feff}'.len_utf8(), "unexpected byte-order mark")
            .help("save the file as UTF-8 without a byte-order mark");
    }
    if let Some(at) = text.find('\r') {
        report
            .error(&CP_01, at..at + 1, "the file has CRLF or CR line endings")
            .help("save the file with LF line endings");
    }
    Some(text.into())
}
