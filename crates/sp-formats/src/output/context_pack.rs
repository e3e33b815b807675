//! JSON output of `sp context`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::{ChangeKind, DiffEntry, MemberChange};

/// `sp context new`, `seal`, `unzip`, `install` and `uninstall`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackWriteReport {
    /// The folder of the pack.
    pub dir: PathBuf,
    /// Its files.
    pub files: Vec<ContextPackWrittenFile>,
}

/// A file that was written, or was right already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackWrittenFile {
    /// Its path in the pack.
    pub path: String,
    /// How many bytes it has.
    pub bytes: usize,
    /// What became of it.
    pub change: FileChangeKind,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileChangeKind {
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
pub struct ContextPackZipReport {
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

/// `sp context push`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackPushReport {
    /// The registry.
    pub registry: String,
    /// The pack.
    pub pack_id: String,
    /// The hash of its zip.
    pub sha256: String,
    /// How many bytes the zip has.
    pub bytes: usize,
    /// How many files are in it.
    pub files: usize,
    /// Whether it is new there; if not, this very pack was there.
    pub new: bool,
    /// How many warnings the registry has.
    pub warnings: usize,
}

/// `sp context url`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackUrlReport {
    /// The registry.
    pub registry: String,
    /// The pack.
    pub pack_id: String,
    /// The folder of the pack, signed in its path: whoever has it may read the pack.
    pub url: String,
    /// The manifest, signed in its query.
    pub query_url: String,
    /// The zip, signed in its path.
    pub zip_url: String,
    /// The key that signed them.
    pub kid: String,
    /// Until when they are good.
    pub expires_at: String,
}

/// `sp context revoke`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackRevokeReport {
    /// The registry.
    pub registry: String,
    /// The pack, of which every address that was given so far opens nothing any more.
    pub pack_id: String,
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
    pub files: Vec<ContextPackFileItem>,
    /// Its sources.
    pub sources: Vec<ContextPackSourceItem>,
    /// Which tokenizer counted.
    pub tokenizer: String,
    /// How many errors `sp context check` reports.
    pub errors: usize,
    /// How many warnings.
    pub warnings: usize,
}

/// A file of a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackFileItem {
    /// Its path.
    pub path: String,
    /// How many bytes it has.
    pub bytes: usize,
    /// How many tokens it costs.
    pub tokens: usize,
}

/// A source of a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackSourceItem {
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

/// `sp context build`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackBuildReport {
    /// The folder of the pack.
    pub dir: PathBuf,
    /// The zip, if one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zip: Option<ContextPackZipReport>,
    /// What tells it from every other.
    pub pack_id: String,
    /// When it was made.
    pub generated_at: String,
    /// Its files.
    pub files: Vec<ContextPackBuiltFile>,
    /// Its sources, the most needed first.
    pub sources: Vec<ContextPackSourceItem>,
    /// How many documents there are.
    pub documents: usize,
    /// How many of them are within the window.
    pub in_window: usize,
    /// How many of those have something of what is asked for.
    pub relevant: usize,
    /// Which tokenizer counted.
    pub tokenizer: String,
    /// Files, and parts of files, that hold no document.
    pub skipped: Vec<KbSkippedItem>,
    /// What is not in the pack, and why; with `--explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<Vec<ContextPackOmission>>,
    /// What became of what a model chose, if one was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelChoiceReport>,
}

/// A file of a pack that was built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackBuiltFile {
    /// Its path in the pack.
    pub path: String,
    /// How many bytes it has.
    pub bytes: usize,
    /// How many tokens it costs.
    pub tokens: usize,
    /// What became of it.
    pub change: FileChangeKind,
}

/// Something that is not in a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackOmission {
    /// The address of the document.
    pub url: String,
    /// The sentence, if it is not the whole document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Why.
    pub why: String,
}

/// What a model chose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ModelChoiceReport {
    /// How many sentences it was offered.
    pub offered: usize,
    /// How many it chose that were taken.
    pub chosen: usize,
    /// What it chose that was refused, and why.
    pub refused: Vec<RejectedQuoteItem>,
    /// Why it was of no use, if it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// Something that a model said and that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RejectedQuoteItem {
    /// What it said.
    pub quote: String,
    /// Why it was refused.
    pub why: String,
}

/// `sp context kb add`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KbAddReport {
    /// The folder.
    pub dir: PathBuf,
    /// How many files in it may hold documents.
    pub files: usize,
    /// How many documents they hold.
    pub documents: usize,
    /// How many files were read: those that are new, or may have changed.
    pub read: usize,
    /// How many are gone.
    pub removed: usize,
    /// Files, and parts of files, that hold no document.
    pub skipped: Vec<KbSkippedItem>,
}

/// A file, or a part of one, that holds no document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KbSkippedItem {
    /// Its path in the folder.
    pub file: String,
    /// The line, where it is one of many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Why.
    pub why: String,
}

/// `sp context kb remove`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KbRemoveReport {
    /// The folder that was forgotten. It is still there.
    pub dir: PathBuf,
}

/// `sp context kb list`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KbList {
    /// The folders.
    pub bases: Vec<KnowledgeBaseItem>,
    /// The documents, if a folder was named, the latest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documents: Option<Vec<KbDocument>>,
}

/// A knowledge base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KnowledgeBaseItem {
    /// The folder.
    pub dir: PathBuf,
    /// How many files in it may hold documents.
    pub files: usize,
    /// How many documents they hold.
    pub documents: usize,
    /// When it was read.
    pub indexed_at: String,
}

/// A document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KbDocument {
    /// What it is called.
    pub title: String,
    /// Where it is from.
    pub url: String,
    /// What it is.
    pub kind: String,
    /// When it was published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_at: Option<String>,
    /// When it was captured.
    pub captured_at: String,
    /// What it is about.
    pub tags: Vec<String>,
    /// The file that it is in.
    pub file: String,
}

/// `sp context kb search`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KbSearchReport {
    /// What was looked for.
    pub query: String,
    /// Among how many documents.
    pub documents: usize,
    /// How many have something of it.
    pub found: usize,
    /// The best of them.
    pub hits: Vec<KbHit>,
}

/// A document that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KbHit {
    /// What it is called.
    pub title: String,
    /// Where it is from.
    pub url: String,
    /// What it is.
    pub kind: String,
    /// When it was published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_at: Option<String>,
    /// When it was captured.
    pub captured_at: String,
    /// The file that it is in.
    pub file: PathBuf,
    /// The sentence that is nearest to what was looked for.
    pub snippet: String,
    /// How near it is; only to be compared with others of the same search.
    pub score: u64,
    /// Whether its file is as it was when it was read.
    pub state: KbFileState,
}

/// Whether a file is as it was when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KbFileState {
    /// It is.
    Fresh,
    /// It was changed since.
    Changed,
    /// It is not there any more.
    Gone,
}

/// `sp context kb stats`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KbStats {
    /// The folders.
    pub bases: Vec<KnowledgeBaseItem>,
    /// How many files may hold documents.
    pub files: usize,
    /// How many documents they hold.
    pub documents: usize,
    /// How many documents there are of each kind.
    pub kinds: Vec<KbKindCount>,
    /// How many files, or parts of files, hold none.
    pub skipped: usize,
    /// When the first document was captured; empty without any.
    pub oldest: String,
    /// When the last one was.
    pub newest: String,
    /// How many were captured more than a year before the last one.
    pub old: usize,
    /// How many files are new since they were read.
    pub new: usize,
    /// How many were changed.
    pub changed: usize,
    /// How many are gone.
    pub gone: usize,
}

/// How many documents are of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KbKindCount {
    /// The kind.
    pub kind: String,
    /// How many.
    pub documents: usize,
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
    pub stack: Vec<DiffEntry>,
    /// Sources that differ.
    pub sources: Vec<DiffEntry>,
    /// Files that differ. The frontmatter of Markdown does not count.
    pub files: Vec<ContextPackFileDiff>,
}

/// A file that differs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ContextPackFileDiff {
    /// Its path.
    pub path: String,
    /// What happened to it.
    pub change: ChangeKind,
    /// What differs in its entry of the manifest; for what is no Markdown its hash and its size
    /// too.
    pub members: Vec<MemberChange>,
    /// The `##` sections that differ, in Markdown that changed.
    pub sections: Vec<ContextPackSectionDiff>,
    /// How Markdown changed: a unified diff without the frontmatter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// A section that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackSectionDiff {
    /// The words of its heading.
    pub title: String,
    /// What happened to it.
    pub change: ChangeKind,
}
