//! A file of a pack after it was checked.

use std::collections::BTreeMap;

use sp_tree::RelPath;

use super::document::ContextPackDocument;
use crate::report::Report;

/// A file of the pack and its findings.
pub(super) struct CheckedContextFile {
    /// The path if the manifest lists the file.
    pub listed_path: Option<RelPath>,
    /// The content if it is readable Markdown.
    pub document: Option<ContextPackDocument>,
    pub report: Report,
}

/// By path.
pub(super) type CheckedContextFiles = BTreeMap<String, CheckedContextFile>;
