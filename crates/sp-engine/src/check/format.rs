//! What `sp check` must know about a format: a [`Format`] value.

use std::path::{Path, PathBuf};

use sp_formats::output::CountedKind;
use sp_formats::rules::RuleSet;

use super::Checker;
use super::target::CheckTarget;
use crate::error::Result;

/// A format that `sp check` can detect and check.
pub(super) struct Format {
    pub rules: RuleSet,
    /// What the summary counts. `None` if all items of the format are counted by other formats.
    pub counted: Option<CountedKind>,
    /// What a user can name, for messages and help, such as `a pack file`.
    pub targets: &'static [&'static str],
    pub forms: &'static [Form],
    /// Returns the files of the format that lie in a directory. They are checked together with the
    /// directory, whatever its format is.
    pub files_in: Option<fn(&Path) -> Vec<PathBuf>>,
}

/// One of the forms that targets of a format have.
pub(super) struct Form {
    pub specificity: Specificity,
    pub matches: fn(&CheckTarget) -> bool,
    /// Adds all findings in the target to the collector of the checker.
    pub check: fn(&Checker<'_>, &CheckTarget) -> Result<()>,
}

/// How specific a form is. If several match a target, the most specific one checks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Specificity {
    Url,
    /// A file, recognized by its name.
    File,
    /// One skill, context pack or workspace, or a file of it.
    Item,
    /// A directory that is meant to contain many items.
    Collection,
    /// Any directory. `sp check` without arguments does not look for it.
    AnyDirectory,
}
