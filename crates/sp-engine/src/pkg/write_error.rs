//! Errors of writing a package, with hints.

use sp_formats::Severity;
use sp_formats::package::PackageWriteError;

use crate::error::{Error, ErrorCode};

pub(super) fn write_error(error: PackageWriteError) -> Error {
    match error {
        PackageWriteError::InvalidContent(report) | PackageWriteError::Unreadable(report) => {
            let mut report = *report;
            report.findings.retain(|finding| finding.severity == Severity::Error);
            Error::in_file(ErrorCode::InvalidPackage, "cannot build the package", report)
        }
        PackageWriteError::InvalidVersion(version) => {
            Error::new(ErrorCode::InvalidVersion, format!("`{version}` is not a semantic version"))
                .hint("use a version such as `1.2.3`")
        }
        other => Error::new(ErrorCode::InvalidPackage, "cannot build the package")
            .because(other)
            .hint("fix the cause, then run the command again; nothing was changed"),
    }
}
