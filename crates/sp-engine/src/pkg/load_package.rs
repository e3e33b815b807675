//! Reads and verifies packages, from files and from the store.
//!
//! Every package that a command uses passes through here. Findings about a file are emitted as
//! events when it is read; those about a stored package were emitted when it was added.

use std::path::Path;

use rayon::prelude::*;
use sp_formats::package::store::{PackageStoreIndex, StoredPackage};
use sp_formats::package::{Package, PackageReadResult, RecordedSource, read, read_hashed};
use sp_formats::text::ByteSize;
use sp_tree::{HashedBytes, Limits, read_limited};

use super::package_spec::PackageSpec;
use super::package_store::{LoadedPackage, find_best_stored, read_blob};
use crate::context::Event;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;

/// Loads the package that a spec names.
pub(super) fn load_package(
    session: &Session<'_>,
    index: &PackageStoreIndex,
    spec: &PackageSpec,
) -> Result<LoadedPackage> {
    Ok(match spec {
        PackageSpec::File(path) => LoadedPackage {
            package: load_file(session, path)?.into(),
            source: RecordedSource::Other(session.context.display_path(path)),
        },
        PackageSpec::Named(name, range) => {
            let stored = find_best_stored(index, name, range.as_ref())?;
            let package = load_stored(session, stored)?.into();
            LoadedPackage { package, source: RecordedSource::Store }
        }
    })
}

/// A package that was read and not verified yet.
struct UnverifiedPackage {
    label: String,
    bytes: UnverifiedBytes,
}

enum UnverifiedBytes {
    File(Vec<u8>),
    /// The store compared them with their digest.
    Stored(HashedBytes),
}

impl UnverifiedPackage {
    fn read(session: &Session<'_>, index: &PackageStoreIndex, spec: &PackageSpec) -> Result<Self> {
        Ok(match spec {
            PackageSpec::File(path) => Self {
                label: session.context.display_relative_path(path),
                bytes: UnverifiedBytes::File(read_file(session, path)?),
            },
            PackageSpec::Named(name, range) => {
                let stored = find_best_stored(index, name, range.as_ref())?;
                Self {
                    label: stored_label(stored),
                    bytes: UnverifiedBytes::Stored(read_blob(session.context, &stored.digest)?),
                }
            }
        })
    }

    fn verify(self, limits: &Limits) -> (PackageReadResult, String) {
        let result = match self.bytes {
            UnverifiedBytes::File(bytes) => read(&self.label, bytes, limits),
            UnverifiedBytes::Stored(bytes) => {
                read_hashed(&self.label, bytes, &without_size_limit(limits))
            }
        };
        (result, self.label)
    }
}

/// Loads several packages and verifies them in parallel. Findings are emitted in the order of
/// `specs`.
pub(super) fn load_all(
    session: &Session<'_>,
    index: &PackageStoreIndex,
    specs: &[PackageSpec],
) -> Result<Vec<Package>> {
    let unverified: Vec<UnverifiedPackage> = specs
        .iter()
        .map(|spec| UnverifiedPackage::read(session, index, spec))
        .collect::<Result<_>>()?;
    let verified: Vec<(PackageReadResult, String)> =
        unverified.into_par_iter().map(|one| one.verify(&session.limits)).collect();
    let mut packages = Vec::with_capacity(specs.len());
    for ((result, label), spec) in verified.into_iter().zip(specs) {
        packages.push(match spec {
            PackageSpec::File(_) => require_package(session, result, &label)?,
            PackageSpec::Named(..) => require_stored_package(result, &label)?,
        });
    }
    Ok(packages)
}

/// Reads the bytes of a package file.
pub(super) fn read_file(session: &Session<'_>, path: &Path) -> Result<Vec<u8>> {
    let limit = session.limits.package_bytes;
    read_limited(path, limit).map_err(|error| match error.kind() {
        std::io::ErrorKind::FileTooLarge => too_large_error(session, path).because(error.source),
        std::io::ErrorKind::NotFound => Error::new(
            ErrorCode::FileNotFound,
            format!("file `{}` not found", session.context.display_path(path)),
        )
        .hint("specify an existing file, or a package of the store by its name"),
        _ => error.into(),
    })
}

fn too_large_error(session: &Session<'_>, path: &Path) -> Error {
    let message = format!(
        "`{}` exceeds the limit of {}",
        session.context.display_path(path),
        ByteSize(session.limits.package_bytes)
    );
    Error::new(ErrorCode::LimitExceeded, message)
        .hint("raise the limit with `--max-size <bytes>` if you trust the package")
}

/// Verifies a package file that was read and hashed already.
pub(super) fn load_hashed(
    session: &Session<'_>,
    path: &Path,
    bytes: HashedBytes,
) -> Result<Package> {
    let (size, limit) = (bytes.bytes().len() as u64, session.limits.package_bytes);
    if size > limit {
        let why = format!("the file has {size} bytes, but the limit is {limit}");
        return Err(too_large_error(session, path).because(why));
    }
    let label = session.context.display_relative_path(path);
    require_package(session, read_hashed(&label, bytes, &session.limits), &label)
}

/// Reads and verifies a package file.
pub(super) fn load_file(session: &Session<'_>, path: &Path) -> Result<Package> {
    let label = session.context.display_relative_path(path);
    let result = read(&label, read_file(session, path)?, &session.limits);
    require_package(session, result, &label)
}

/// Reads and verifies a package of the store.
pub(crate) fn load_stored(session: &Session<'_>, stored: &StoredPackage) -> Result<Package> {
    let bytes = read_blob(session.context, &stored.digest)?;
    let label = stored_label(stored);
    require_stored_package(read_hashed(&label, bytes, &without_size_limit(&session.limits)), &label)
}

fn stored_label(stored: &StoredPackage) -> String {
    format!("{} {} in the store", stored.name, stored.version)
}

/// Limits for packages whose size was checked when they were added, perhaps with a higher limit.
pub(super) fn without_size_limit(limits: &Limits) -> Limits {
    Limits { package_bytes: u64::MAX, ..limits.clone() }
}

/// Returns the package if it is usable, and emits its findings.
pub(super) fn require_package(
    session: &Session<'_>,
    result: PackageReadResult,
    label: &str,
) -> Result<Package> {
    let code = unusable_code(&result);
    match result.package {
        Some(package) => {
            if !result.report.findings.is_empty() {
                session.context.emit(Event::Findings(&result.report));
            }
            Ok(package)
        }
        None => Err(unusable_error(result.report, label, code)),
    }
}

/// The store has verified packages only, so an unusable one was tampered with.
fn require_stored_package(result: PackageReadResult, label: &str) -> Result<Package> {
    result.package.ok_or_else(|| unusable_error(result.report, label, ErrorCode::ForgedPackage))
}

/// Returns the code of the error for a result without a usable package.
pub(super) fn unusable_code(result: &PackageReadResult) -> ErrorCode {
    if result.is_forged() { ErrorCode::ForgedPackage } else { ErrorCode::InvalidPackage }
}

fn unusable_error(report: sp_formats::Report, label: &str, code: ErrorCode) -> Error {
    let is_forged = code == ErrorCode::ForgedPackage;
    let verdict = if is_forged { "failed verification" } else { "is not a valid package" };
    Error::in_file(code, format!("`{label}` {verdict}"), report)
        .hint("run `sp pkg verify` to see which check failed; nothing was changed")
}
