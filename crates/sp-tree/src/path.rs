//! Names and relative paths that cannot escape, hide or collide, by construction.
//!
//! An untrusted string becomes a [`Name`] (one segment) or a [`RelPath`] (segments joined by `/`)
//! here or is rejected here; no other code checks again.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::git_name::is_git_dir;

/// The maximum length of a segment, which every common file system supports.
const MAX_SEGMENT_LEN: usize = 255;
const MAX_PATH_LEN: usize = 4096;

/// Why a string is not a safe name or path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PathError {
    #[error("it contains an empty segment")]
    Empty,
    #[error("it is absolute")]
    Absolute,
    #[error("it contains a `{0}` segment")]
    DotSegment(&'static str),
    /// A separator in a single segment, or a backslash anywhere.
    #[error("it contains `{0}`")]
    Separator(char),
    #[error("it contains the control character {}", .0.escape_unicode())]
    Control(char),
    /// A character that is special on some file systems.
    #[error("it contains `{0}`, which is not allowed on Windows")]
    Reserved(char),
    #[error("`{0}` is a reserved device name on Windows")]
    Device(String),
    #[error("a segment ends with a dot or space, which Windows removes")]
    TrailingDotOrSpace,
    /// A segment that git reads as its own directory on any platform.
    #[error("git treats `{}` as its own `.git` directory", .0.escape_default())]
    GitDir(String),
    #[error("it is not UTF-8")]
    NotUtf8,
    #[error("it is longer than {0} bytes")]
    TooLong(usize),
}

/// A single path segment: the name of a file or directory.
///
/// ```
/// use sp_tree::{Name, PathError};
///
/// assert_eq!(Name::new("SKILL.md")?.as_str(), "SKILL.md");
/// assert_eq!(Name::new("a/b"), Err(PathError::Separator('/')));
/// assert_eq!(Name::new("aux.md"), Err(PathError::Device("aux.md".into())));
/// # Ok::<(), PathError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(Box<str>);

impl Name {
    pub fn new(text: &str) -> Result<Self, PathError> {
        check_segment(text)?;
        Ok(Self(text.into()))
    }

    /// A name made of a number and a constant suffix.
    pub(crate) fn from_number(number: usize, ending: &'static str) -> Self {
        Self(format!("{number}{ending}").into())
    }

    /// A name with a constant prefix.
    pub(crate) fn with_prefix(prefix: &'static str, name: &Self) -> Self {
        Self(format!("{prefix}{name}").into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A relative path of safe segments joined by `/`.
///
/// ```
/// use sp_tree::{PathError, RelPath};
///
/// let path = RelPath::new("scripts/run.sh")?;
/// assert_eq!((path.parent(), path.file_name()), (Some("scripts"), "run.sh"));
/// assert_eq!(RelPath::new("../etc/passwd"), Err(PathError::DotSegment("..")));
/// assert_eq!(RelPath::new(".git/config"), Err(PathError::GitDir(".git".into())));
/// # Ok::<(), PathError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RelPath(Box<str>);

impl RelPath {
    pub fn new(text: &str) -> Result<Self, PathError> {
        if text.starts_with('/') {
            return Err(PathError::Absolute);
        }
        if text.len() > MAX_PATH_LEN {
            return Err(PathError::TooLong(MAX_PATH_LEN));
        }
        text.split('/').try_for_each(check_segment)?;
        Ok(Self(text.into()))
    }

    /// Checks the bytes of a path from a file system or an archive.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PathError> {
        std::str::from_utf8(bytes).map_err(|_| PathError::NotUtf8).and_then(Self::new)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn join(&self, name: &Name) -> Result<Self, PathError> {
        Self::new(&format!("{}/{}", self.0, name.0))
    }

    /// The segments, outermost first.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// The number of segments.
    pub fn depth(&self) -> usize {
        self.segments().count()
    }

    /// The path without its last segment; `None` for a single segment.
    pub fn parent(&self) -> Option<&str> {
        self.0.rsplit_once('/').map(|(parent, _)| parent)
    }

    pub fn file_name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&*self.0, |(_, leaf)| leaf)
    }
}

fn check_segment(segment: &str) -> Result<(), PathError> {
    match segment {
        "" => return Err(PathError::Empty),
        "." => return Err(PathError::DotSegment(".")),
        ".." => return Err(PathError::DotSegment("..")),
        _ => {}
    }
    if segment.len() > MAX_SEGMENT_LEN {
        return Err(PathError::TooLong(MAX_SEGMENT_LEN));
    }
    check_not_git(segment)?;
    for c in segment.chars() {
        match c {
            '/' | '\\' => return Err(PathError::Separator(c)),
            ':' | '<' | '>' | '"' | '|' | '?' | '*' => return Err(PathError::Reserved(c)),
            c if c.is_control() => return Err(PathError::Control(c)),
            _ => {}
        }
    }
    if segment.ends_with(['.', ' ']) {
        return Err(PathError::TrailingDotOrSpace);
    }
    if is_windows_device(segment) {
        return Err(PathError::Device(segment.into()));
    }
    Ok(())
}

/// Rejects a name that git reads as its directory `.git`.
pub(crate) fn check_not_git(segment: &str) -> Result<(), PathError> {
    if is_git_dir(segment) {
        return Err(PathError::GitDir(segment.into()));
    }
    Ok(())
}

/// Windows opens a device for these names, in any case and with any extension.
fn is_windows_device(segment: &str) -> bool {
    let stem = segment.split('.').next().unwrap_or(segment).trim_end();
    if !(3..=9).contains(&stem.len()) {
        return false;
    }
    let stem = stem.to_ascii_uppercase();
    match stem.as_str() {
        "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$" => true,
        _ => stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT")).is_some_and(|port| {
            matches!(port, "¹" | "²" | "³") || matches!(port.as_bytes(), [b'0'..=b'9'])
        }),
    }
}

macro_rules! text_conversions {
    ($type:ident) => {
        impl TryFrom<String> for $type {
            type Error = PathError;
            fn try_from(text: String) -> Result<Self, PathError> {
                Self::new(&text)
            }
        }
        impl From<$type> for String {
            fn from(value: $type) -> String {
                value.0.into()
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}
impl From<Name> for RelPath {
    fn from(name: Name) -> Self {
        Self(name.0)
    }
}
text_conversions!(Name);
text_conversions!(RelPath);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn se_03_paths_that_escape_are_rejected() {
        for (text, expected) in [
            ("", PathError::Empty),
            ("/etc", PathError::Absolute),
            ("a//b", PathError::Empty),
            ("a/", PathError::Empty),
            ("..", PathError::DotSegment("..")),
            ("a/../b", PathError::DotSegment("..")),
            ("./a", PathError::DotSegment(".")),
            ("a\\b", PathError::Separator('\\')),
            ("a\0b", PathError::Control('\0')),
            ("a\nb", PathError::Control('\n')),
            ("a:b", PathError::Reserved(':')),
            ("a/con", PathError::Device("con".into())),
            ("Aux.md", PathError::Device("Aux.md".into())),
            ("lpt1", PathError::Device("lpt1".into())),
            ("a./b", PathError::TrailingDotOrSpace),
            ("a ", PathError::TrailingDotOrSpace),
        ] {
            assert_eq!(RelPath::new(text), Err(expected), "{text:?}");
        }
        assert_eq!(RelPath::from_bytes(b"a/\xff"), Err(PathError::NotUtf8));
    }

    #[test]
    fn se_03_git_directory_names_are_rejected_in_every_segment() {
        for name in [
            ".git",
            ".GIT",
            "git~1",
            "Git~12",
            ".git.",
            ".git . ",
            ".git::$INDEX_ALLOCATION",
            ".g\u{200c}it",
        ] {
            for path in [
                name.to_owned(),
                format!("a/{name}"),
                format!("{name}/config"),
                format!("a/{name}/config"),
            ] {
                assert_eq!(RelPath::new(&path), Err(PathError::GitDir(name.into())), "{path:?}");
            }
            assert_eq!(Name::new(name), Err(PathError::GitDir(name.into())));
        }
        let message = PathError::GitDir(".g\u{200c}it".into()).to_string();
        assert!(message.contains(r"`.g\u{200c}it`"), "{message}");
    }

    #[test]
    fn se_03_ordinary_paths_are_accepted_unchanged() {
        for text in [
            "SKILL.md",
            ".env",
            ".gitignore",
            ".github/git",
            "git~",
            "a/b c/d",
            "日本/é.md",
            "console",
            "com10",
            "…",
        ] {
            assert_eq!(RelPath::new(text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn se_14_segment_limit_accepts_the_maximum_and_rejects_one_more() {
        assert!(Name::new(&"a".repeat(MAX_SEGMENT_LEN)).is_ok());
        assert_eq!(
            Name::new(&"a".repeat(MAX_SEGMENT_LEN + 1)),
            Err(PathError::TooLong(MAX_SEGMENT_LEN))
        );
    }

    #[test]
    fn name_is_one_segment() {
        assert_eq!(Name::new("a/b"), Err(PathError::Separator('/')));
    }
}
