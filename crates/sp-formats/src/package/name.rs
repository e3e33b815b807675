//! Package names, versions and version ranges.

use std::cmp::Ordering;
use std::fmt;

use semver::{Version, VersionReq};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// Including the scope.
const MAX_NAME_LEN: usize = 128;
const MAX_VERSION_LEN: usize = 64;

/// Why a text is not a package name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PackageNameError {
    /// Empty or too long.
    #[error("a name must have 1 to {MAX_NAME_LEN} bytes, but this one has {0}")]
    Length(usize),
    /// Contains an invalid character.
    #[error(
        "a name can only contain `a-z`, `A-Z`, `0-9`, `.`, `_` and `-`, and an optional `@scope/` \
         prefix"
    )]
    InvalidSyntax,
    /// Could be interpreted as a path.
    #[error("`{0}` is a path, not a name")]
    RelativePath(&'static str),
}

/// A package name such as `security-review` or `@acme/context`. It is never a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackageName(Box<str>);

impl PackageName {
    pub fn new(text: &str) -> Result<Self, PackageNameError> {
        if text.is_empty() || text.len() > MAX_NAME_LEN {
            return Err(PackageNameError::Length(text.len()));
        }
        let parts: Vec<&str> = match text.strip_prefix('@') {
            Some(scoped) => scoped.split('/').collect(),
            None => vec![text],
        };
        if text.starts_with('@') && parts.len() != 2 {
            return Err(PackageNameError::InvalidSyntax);
        }
        for part in parts {
            let known =
                |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
            match part {
                "." => return Err(PackageNameError::RelativePath(".")),
                ".." => return Err(PackageNameError::RelativePath("..")),
                part if part.is_empty() || !part.bytes().all(known) => {
                    return Err(PackageNameError::InvalidSyntax);
                }
                _ => {}
            }
        }
        Ok(Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The scope including its `@`.
    pub fn scope(&self) -> Option<&str> {
        self.0.starts_with('@').then(|| self.0.split('/').next()).flatten()
    }

    /// The scope, or the name itself if there is none. Names are owned per namespace.
    pub fn namespace(&self) -> &str {
        self.scope().unwrap_or(&self.0)
    }

    /// The name as the stem of a file name. `+` is not valid in a name, so the result is unique.
    pub fn file_stem(&self) -> String {
        self.0.replace('/', "+")
    }
}

impl fmt::Display for PackageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a text is not a version.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PackageVersionError {
    /// Empty or too long.
    #[error("a version must have 1 to {MAX_VERSION_LEN} bytes, but this one has {0}")]
    Length(usize),
    /// Contains an invalid character.
    #[error(
        "a version can only contain `a-z`, `A-Z`, `0-9`, `.`, `_`, `+` and `-`, and cannot start \
         with `.`"
    )]
    InvalidSyntax,
}

/// A version: SemVer, or any other text that a package uses as its version.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PackageVersion {
    text: Box<str>,
    semver: Option<Version>,
}

impl PackageVersion {
    pub fn new(text: &str) -> Result<Self, PackageVersionError> {
        if text.is_empty() || text.len() > MAX_VERSION_LEN {
            return Err(PackageVersionError::Length(text.len()));
        }
        let known =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'+' | b'-');
        if text.starts_with('.') || !text.bytes().all(known) {
            return Err(PackageVersionError::InvalidSyntax);
        }
        Ok(Self { semver: Version::parse(text).ok(), text: text.into() })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn semver(&self) -> Option<&Version> {
        self.semver.as_ref()
    }

    pub fn is_pre_release(&self) -> bool {
        self.semver.as_ref().is_some_and(|version| !version.pre.is_empty())
    }
}

/// Versions that are not SemVer sort before all that are.
impl Ord for PackageVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        self.semver.cmp(&other.semver).then_with(|| self.text.cmp(&other.text))
    }
}

impl PartialOrd for PackageVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for PackageVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A range of versions such as `^1.2`, `>=1, <3` or `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRange {
    text: Box<str>,
    req: Option<VersionReq>,
}

impl VersionRange {
    /// Parses a range. A text that is not a SemVer range matches only the version with this text.
    pub fn new(text: &str) -> Self {
        Self { text: text.into(), req: VersionReq::parse(text).ok() }
    }

    pub fn exactly(version: &PackageVersion) -> Self {
        Self::new(&format!("={version}"))
    }

    /// The range that matches every release.
    pub fn any() -> Self {
        Self::new("*")
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the range is this version, written as one.
    pub fn is_exactly(&self, version: &PackageVersion) -> bool {
        let text = self.as_str().trim();
        text.strip_prefix('=').unwrap_or(text).trim() == version.as_str()
    }

    pub fn is_semver(&self) -> bool {
        self.req.is_some() || self.exact_version().is_some()
    }

    fn exact_version(&self) -> Option<&str> {
        self.text.strip_prefix('=').map(str::trim)
    }

    /// Whether a version is in the range. A pre-release matches only a range that names a
    /// pre-release of the same version.
    pub fn matches(&self, version: &PackageVersion) -> bool {
        let exactly = self.exact_version() == Some(version.as_str())
            || *self.text == *version.as_str() && self.req.is_none();
        exactly
            || match (&self.req, version.semver()) {
                (Some(req), Some(version)) => req.matches(version),
                _ => false,
            }
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

macro_rules! impl_serde_as_str {
    ($type:ident, $read:expr) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $read(&String::deserialize(deserializer)?).map_err(D::Error::custom)
            }
        }
    };
}
impl_serde_as_str!(PackageName, PackageName::new);
impl_serde_as_str!(PackageVersion, PackageVersion::new);
impl_serde_as_str!(VersionRange, |text: &str| Ok::<_, std::convert::Infallible>(
    VersionRange::new(text)
));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pk_03_package_name_is_never_a_path() {
        for good in ["a", "Security_Review-2.0", "@acme/context", "...", "a..b", &"x".repeat(128)] {
            assert_eq!(PackageName::new(good).unwrap().as_str(), good);
        }
        for bad in [
            "",
            ".",
            "..",
            "../../x",
            "@a/../b",
            "@a/..",
            "@../b",
            "@a",
            "@/a",
            "@a/",
            "@a/b/c",
            "a/b",
            "a\\b",
            "a b",
            "é",
            "a\0",
            "a\n",
            "/etc",
            "~",
            "C:",
            &"x".repeat(129),
        ] {
            assert!(PackageName::new(bad).is_err(), "{bad:?}");
        }
        let scoped = PackageName::new("@acme/context").unwrap();
        assert_eq!(
            (scoped.scope(), scoped.namespace(), scoped.file_stem().as_str()),
            (Some("@acme"), "@acme", "@acme+context")
        );
        assert_eq!(PackageName::new("plain").unwrap().namespace(), "plain");
    }

    #[test]
    fn pk_03_versions_other_than_semver_are_accepted() {
        for (text, is_semver) in [
            ("1.2.3", true),
            ("1.0.0-rc.1+b", true),
            ("1.0", false),
            ("2026-05", false),
            ("99999999999999999999.0.0", false),
        ] {
            assert_eq!(PackageVersion::new(text).unwrap().semver().is_some(), is_semver, "{text}");
        }
        for bad in ["", ".1", "1 0", "1/2", "v\u{e9}", &"1".repeat(65)] {
            assert!(PackageVersion::new(bad).is_err(), "{bad:?}");
        }
        let mut versions: Vec<_> = ["1.10.0", "zero", "1.9.0", "1.10.0-rc.1", "1.0"]
            .map(|text| PackageVersion::new(text).unwrap())
            .into();
        versions.sort();
        let sorted: Vec<_> = versions.iter().map(PackageVersion::as_str).collect();
        assert_eq!(sorted, ["1.0", "zero", "1.9.0", "1.10.0-rc.1", "1.10.0"]);
    }

    #[test]
    fn pk_05_pre_release_matches_only_if_requested() {
        let range_matches = |range: &str, version: &str| {
            VersionRange::new(range).matches(&PackageVersion::new(version).unwrap())
        };
        assert!(
            range_matches("^1.2", "1.9.0")
                && !range_matches("^1.2", "2.0.0")
                && !range_matches("^1.2", "1.3.0-beta")
        );
        assert!(
            range_matches(">=1.3.0-alpha", "1.3.0-beta")
                && range_matches("*", "0.0.1")
                && !range_matches("*", "1.0.0-rc")
        );
        assert!(
            range_matches("1.2.3", "1.4.0")
                && range_matches("=1.2.3", "1.2.3")
                && !range_matches("=1.2.3", "1.2.4")
        );
        assert!(
            range_matches("nightly", "nightly")
                && !range_matches("nightly", "nightlies")
                && range_matches("=2026-05", "2026-05")
        );
        assert!(
            VersionRange::exactly(&PackageVersion::new("1.0.0-rc.1").unwrap())
                .matches(&PackageVersion::new("1.0.0-rc.1").unwrap())
        );
    }
}
