//! What a user means by `notes.ctxpkg`, `notes` or `@acme/notes@^1`, read and verified.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sp_formats::package::store::{PackageStoreIndex, StoredPackage};
use sp_formats::package::{
    PACKAGE_EXTENSIONS, Package, PackageName, PackageReadResult, VersionRange, read,
};
use sp_formats::registry::RegistryPackageName;
use sp_tree::{Limits, read_limited};

use super::package_store::{find_best_stored, read_blob};
use crate::context::Event;
use crate::error::{Error, FailureKind, Result};
use crate::session::Session;

/// A package as a user names it.
#[derive(Debug, Clone)]
pub(super) enum PackageSpec {
    /// A file.
    File(PathBuf),
    /// A name, perhaps with a range.
    Named(PackageName, Option<VersionRange>),
}

/// Whether a file is called as a package is.
pub(crate) fn is_package_file(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| PACKAGE_EXTENSIONS.iter().any(|known| extension == *known))
}

impl PackageSpec {
    /// What a text means: whatever is called as a package's file is, or looks like a path, is a file.
    pub(super) fn parse(session: &Session<'_>, text: &str) -> Result<Self> {
        let path = session.context.expand(text);
        let like_path =
            text.starts_with(['/', '~']) || !text.starts_with('@') && text.contains('/');
        // A package may be called as a file is; a file that is there is meant.
        let is_name = PackageName::new(text).is_ok() && !path.is_file();
        let is_placed = !path.exists() && is_namespaced_name(text);
        if (like_path || is_package_file(Path::new(text)) && !is_name) && !is_placed {
            return Ok(Self::File(path));
        }
        parse_versioned_name(text).map(|(name, range)| Self::Named(name, range))
    }

    /// The package, verified, and where it came from. What is odd about a file is told.
    pub(super) fn load(
        &self,
        session: &Session<'_>,
        shelf: &PackageStoreIndex,
    ) -> Result<(Package, String)> {
        match self {
            Self::File(path) => Ok((load_file(session, path)?, session.context.display_path(path))),
            Self::Named(name, range) => {
                let stored = find_best_stored(shelf, name, range.as_ref())?;
                Ok((load_stored(session, stored)?, "store".into()))
            }
        }
    }
}

/// Whether a text is a namespace and a name, as `team/notes@^1`.
fn is_namespaced_name(text: &str) -> bool {
    let name = text.split('@').next().unwrap_or_default();
    let place = name.split_once('/').filter(|(_, name)| !is_package_file(Path::new(name)));
    place.is_some_and(|(namespace, name)| RegistryPackageName::new(namespace, name).is_ok())
}

/// A name, perhaps with a range: `notes`, `@team/notes@^1`, or `team/notes@^1`.
pub fn parse_versioned_name(text: &str) -> Result<(PackageName, Option<VersionRange>)> {
    let (name, range) = match text.rfind('@') {
        Some(at) if at > 0 => (&text[..at], Some(VersionRange::new(&text[at + 1..]))),
        _ => (text, None),
    };
    let name = if is_namespaced_name(name) {
        PackageName::new(&format!("@{name}"))
    } else {
        PackageName::new(name)
    };
    let name = name.map_err(|why| {
        Error::new(FailureKind::Usage, format!("`{text}` is no package"))
            .because(why)
            .hint("name a file that ends in `.ctxpkg`, or a package such as `notes`, `@team/notes` or `notes@^1`")
    })?;
    // `notes@1.2.0` is that version, as people mean it; a range has a sign.
    let plain = |range: VersionRange| match semver::Version::parse(range.as_str()) {
        Ok(_) => VersionRange::new(&format!("={range}")),
        Err(_) => range,
    };
    Ok((name, range.map(plain)))
}

/// Several packages, verified on all cores. What is odd about files is told, in their order.
pub(super) fn load_all(
    session: &Session<'_>,
    shelf: &PackageStoreIndex,
    subjects: &[PackageSpec],
) -> Result<Vec<Package>> {
    let mut sources = Vec::with_capacity(subjects.len());
    for subject in subjects {
        sources.push(match subject {
            PackageSpec::File(path) => (
                session.context.display_relative_path(path),
                read_file(session, path)?,
                session.limits.clone(),
            ),
            PackageSpec::Named(name, range) => {
                let stored = find_best_stored(shelf, name, range.as_ref())?;
                (
                    stored_label(stored),
                    read_blob(session.context, &stored.digest)?,
                    stored_limits(session),
                )
            }
        });
    }
    let verify =
        |(shown, bytes, limits): (String, Vec<u8>, Limits)| (read(&shown, bytes, &limits), shown);
    let reads: Vec<(PackageReadResult, String)> = sources.into_par_iter().map(verify).collect();
    let judge =
        |((read, shown), subject): ((PackageReadResult, String), &PackageSpec)| match subject {
            PackageSpec::File(_) => require_package(session, read, &shown),
            PackageSpec::Named(..) => {
                read.package.ok_or_else(|| unusable_error(read.report, &shown, FailureKind::Trust))
            }
        };
    reads.into_iter().zip(subjects).map(judge).collect()
}

/// Reads the bytes of a package's file.
pub(super) fn read_file(session: &Session<'_>, path: &Path) -> Result<Vec<u8>> {
    let limit = session.limits.package_bytes;
    read_limited(path, limit).map_err(|error| {
        if error.kind() == std::io::ErrorKind::FileTooLarge {
            let message = format!(
                "`{}` is larger than the limit of {limit} bytes",
                session.context.display_path(path)
            );
            return Error::new(FailureKind::Data, message)
                .because(error.source)
                .hint("raise it with `--max-size <bytes>` if you trust it");
        }
        match error.kind() {
            std::io::ErrorKind::NotFound => Error::new(
                FailureKind::Request,
                format!("there is no file `{}`", session.context.display_path(path)),
            )
            .hint("name a file that exists, or a package of the store by its name alone"),
            _ => error.into(),
        }
    })
}

/// Reads and verifies a package's file. What is odd about it is told.
pub(super) fn load_file(session: &Session<'_>, path: &Path) -> Result<Package> {
    let shown = session.context.display_relative_path(path);
    let read = read(&shown, read_file(session, path)?, &session.limits);
    require_package(session, read, &shown)
}

/// Reads and verifies a package of the store.
pub(super) fn load_stored(session: &Session<'_>, stored: &StoredPackage) -> Result<Package> {
    let bytes = read_blob(session.context, &stored.digest)?;
    let shown = stored_label(stored);
    let read = read(&shown, bytes, &stored_limits(session));
    read.package.ok_or_else(|| unusable_error(read.report, &shown, FailureKind::Trust))
}

fn stored_label(stored: &StoredPackage) -> String {
    format!("{} {} of the store", stored.name, stored.version)
}

/// A package of the store was taken when its size was allowed; what is odd about it was told then.
fn stored_limits(session: &Session<'_>) -> Limits {
    Limits { package_bytes: u64::MAX, ..session.limits.clone() }
}

/// The package, if it can be used; what is odd about it is told.
pub(super) fn require_package(
    session: &Session<'_>,
    read: PackageReadResult,
    shown: &str,
) -> Result<Package> {
    let kind = if read.is_forged() { FailureKind::Trust } else { FailureKind::Data };
    match read.package {
        Some(package) => {
            if !read.report.findings.is_empty() {
                session.context.emit(Event::Findings(&read.report));
            }
            Ok(package)
        }
        None => Err(unusable_error(read.report, shown, kind)),
    }
}

fn unusable_error(report: sp_formats::Report, shown: &str, kind: FailureKind) -> Error {
    let what = if kind == FailureKind::Trust { "cannot be trusted" } else { "cannot be used" };
    let error = Error::in_file(format!("`{shown}` {what}"), report);
    Error { kind, ..error }.hint("nothing was changed. `sp pkg verify` shows each step")
}
