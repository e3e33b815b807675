//! Failures of imports, with the part of the pack file that they are about.

use std::ops::Range;

use sp_formats::pack::PackImport;
use sp_formats::report::Report;

use crate::error::{Error, ErrorCode};

/// Why an import could not be opened.
pub(crate) struct ImportError {
    error: Error,
    /// The part of the pack file that names what was not found.
    span: Range<usize>,
}

impl ImportError {
    pub(super) fn new(import: &PackImport, error: Error) -> Self {
        let ref_span =
            import.ref_span.clone().filter(|_| error.has_code(ErrorCode::GitRefNotFound));
        Self { error, span: ref_span.unwrap_or_else(|| import.span.clone()) }
    }

    /// Returns the error with its position in the pack file that `report` is about.
    pub(crate) fn in_pack(self, report: &Report) -> Error {
        self.error.at(report, &self.span)
    }
}
