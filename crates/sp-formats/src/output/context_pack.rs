//! What `sp context` prints.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::{ChangeKind, ItemChange, MemberChange};

/// `sp context new`, `seal`, `unzip`, `install` and `uninstall`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackWritten {
    /// The folder of the pack.
    pub dir: PathBuf,
    /// Its files.
    pub files: Vec<ContextFile>,
}

/// A file that was written, or was right already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextFile {
    /// Its path in the pack.
    pub path: String,
    /// How many bytes it has.
    pub bytes: usize,
    /// What became of it.
    pub change: FileChange,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileChange {
    /// It is new.
    New,
    /// It was changed.
    Changed,
    /// It was so already.
    Same,
    /// It is not there any more.
    Gone,
}

/// `sp context zip`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackZipped {
    /// The zip.
    pub file: PathBuf,
    /// The pack in it.
    pub pack_id: String,
    /// How many bytes it has.
    pub bytes: usize,
    /// Their hash.
    pub sha256: String,
    /// How many files are in it.
    pub files: usize,
}

/// `sp context show`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackView {
    /// What tells it from every other.
    pub pack_id: String,
    /// When it was made.
    pub generated_at: String,
    /// What made it.
    pub generator: String,
    /// The project that it is for.
    pub name: String,
    /// What is intended.
    pub description: String,
    /// What it is built with.
    pub stack: Vec<String>,
    /// Its files.
    pub files: Vec<ContextPackFile>,
    /// Its sources.
    pub sources: Vec<ContextSource>,
    /// Which tokenizer counted.
    pub tokenizer: String,
    /// How many errors `sp context check` reports.
    pub errors: usize,
    /// How many warnings.
    pub warnings: usize,
}

/// A file of a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackFile {
    /// Its path.
    pub path: String,
    /// How many bytes it has.
    pub bytes: usize,
    /// How many tokens it costs.
    pub tokens: usize,
}

/// A source of a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextSource {
    /// By which footnotes name it.
    pub id: String,
    /// What it is called.
    pub title: String,
    /// Where it is.
    pub url: String,
    /// What it is.
    pub kind: String,
    /// When it was taken.
    pub captured_at: String,
}

/// `sp context diff`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ContextPackDiff {
    /// The first pack, by its place.
    pub before: String,
    /// The second pack, by its place.
    pub after: String,
    /// Whether both say the same. What tells two generations of a pack apart does not count.
    pub same: bool,
    /// `pack_id` and `generated_at`, where they differ.
    pub generation: Vec<MemberChange>,
    /// Other members of the manifest that differ.
    pub manifest: Vec<MemberChange>,
    /// What only one of the two is built with.
    pub stack: Vec<ItemChange>,
    /// Sources that differ.
    pub sources: Vec<ItemChange>,
    /// Files that differ. The frontmatter of Markdown does not count.
    pub files: Vec<ContextFileDiff>,
}

/// A file that differs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ContextFileDiff {
    /// Its path.
    pub path: String,
    /// What happened to it.
    pub change: ChangeKind,
    /// What differs in its entry of the manifest; for what is no Markdown its hash and its size too.
    pub members: Vec<MemberChange>,
    /// The `##` sections that differ, in Markdown that changed.
    pub sections: Vec<ContextSectionDiff>,
    /// How Markdown changed: a unified diff without the frontmatter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// A section that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextSectionDiff {
    /// The words of its heading.
    pub title: String,
    /// What happened to it.
    pub change: ChangeKind,
}
