//! Errors of writing a package, with hints.

use sp_formats::Severity;
use sp_formats::package::PackageWriteError;

use crate::error::{Error, ErrorCode};

pub(super) fn write_error(error: PackageWriteError) -> Error {
    match error {
        PackageWriteError::InvalidContent(report) | PackageWriteError::Unreadable(report) => {
            let mut report = *report;
            report.findings.retain(|finding| finding.severity == Severity::Error);
            Error::in_file(ErrorCode::InvalidPackage, "a package cannot be made of this", report)
        }
        PackageWriteError::InvalidVersion(version) => {
            Error::new(ErrorCode::InvalidVersion, format!("`{version}` is no SemVer"))
                .hint("write it as `1.2.3`; packages that we make have no other versions")
        }
        other => Error::new(ErrorCode::InvalidPackage, "a package cannot be made of this")
            .because(other)
            .hint("nothing was changed"),
    }
}
