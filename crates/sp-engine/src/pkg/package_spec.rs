//! Parses what a user types to name a package: `notes.ctxpkg`, `notes` or `@acme/notes@^1`.

use std::path::{Path, PathBuf};

use sp_formats::package::{PACKAGE_EXTENSIONS, PackageName, VersionRange};
use sp_formats::redact::redact_secrets;
use sp_formats::registry::RegistryPackageName;

use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;

/// A package as a user names it.
#[derive(Debug, Clone)]
pub(super) enum PackageSpec {
    File(PathBuf),
    /// A name in the store or a registry, with an optional range.
    Named(PackageName, Option<VersionRange>),
}

/// Returns whether the path has the extension of a package file.
pub(crate) fn is_package_file(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| PACKAGE_EXTENSIONS.iter().any(|known| extension == *known))
}

impl PackageSpec {
    /// Parses a spec. Text that looks like a path, or ends like a package file, is a file.
    pub(super) fn parse(session: &Session<'_>, text: &str) -> Result<Self> {
        if text.contains("://") {
            let message = format!("`{}` is a URL, not a package", redact_secrets(text));
            return Err(Error::new(ErrorCode::InvalidPackageSpec, message).hint(
                "download the package first, or name a package of a registry, such as \
                 `@team/notes`",
            ));
        }
        let path = session.context.expand(text);
        let like_path =
            text.starts_with(['/', '~']) || !text.starts_with('@') && text.contains('/');
        // `notes.ctxpkg` is a valid package name, too; an existing file takes precedence.
        let is_name = PackageName::new(text).is_ok() && !path.is_file();
        let is_namespaced = !path.exists() && is_namespaced_name(text);
        if (like_path || is_package_file(Path::new(text)) && !is_name) && !is_namespaced {
            return Ok(Self::File(path));
        }
        parse_versioned_name(text).map(|(name, range)| Self::Named(name, range))
    }
}

/// Returns whether the text is a namespace and a name, such as `team/notes@^1`.
fn is_namespaced_name(text: &str) -> bool {
    let name = text.split('@').next().unwrap_or_default();
    let parts = name.split_once('/').filter(|(_, name)| !is_package_file(Path::new(name)));
    parts.is_some_and(|(namespace, name)| RegistryPackageName::new(namespace, name).is_ok())
}

/// Parses a name with an optional range: `notes`, `@team/notes@^1` or `team/notes@^1`.
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
        Error::new(ErrorCode::InvalidPackageSpec, format!("invalid package `{text}`"))
            .because(why)
            .hint(
                "specify a file that ends in `.ctxpkg`, or a package such as `notes`, \
                 `@team/notes` or `notes@^1`",
            )
    })?;
    // A bare version means exactly that version: `notes@1.2.0` is `notes@=1.2.0`.
    let exact_if_bare = |range: VersionRange| match semver::Version::parse(range.as_str()) {
        Ok(_) => VersionRange::new(&format!("={range}")),
        Err(_) => range,
    };
    Ok((name, range.map(exact_if_bare)))
}
