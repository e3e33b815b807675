//! JSON output of `sp context`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::{ChangeKind, DiffEntry, MemberChange, PlanStatus};

/// `sp context new`, `seal`, `unzip`, `install` and `uninstall`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackWriteReport {
    /// Whether the changes were applied, and the ID of the plan.
    #[serde(flatten)]
    pub status: PlanStatus,
    /// Directory of the context pack.
    pub dir: PathBuf,
    /// Files of the context pack.
    pub files: Vec<ContextPackWrittenFile>,
}

/// A file of a context pack that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackWrittenFile {
    /// Path within the context pack.
    pub path: String,
    /// Size in bytes.
    pub bytes: usize,
    /// What happened to the file.
    pub change: FileChangeKind,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileChangeKind {
    /// The file was created.
    New,
    /// The file was changed.
    Changed,
    /// The file was already up to date.
    Same,
    /// The file was removed.
    Gone,
}

/// `sp context zip`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackZipReport {
    /// Path of the zip file.
    pub file: PathBuf,
    /// ID of the context pack.
    pub pack_id: String,
    /// Size of the zip file in bytes.
    pub bytes: usize,
    /// SHA-256 of the zip file, in hex.
    pub sha256: String,
    /// Number of files in the zip file.
    pub files: usize,
}

/// `sp context push`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackPushReport {
    /// URL of the registry.
    pub registry: String,
    /// ID of the context pack.
    pub pack_id: String,
    /// SHA-256 of the zip file, in hex.
    pub sha256: String,
    /// Size of the zip file in bytes.
    pub bytes: usize,
    /// Number of files in the zip file.
    pub files: usize,
    /// Whether the context pack is new; `false` if the same bytes had already been pushed.
    pub new: bool,
    /// Number of warnings from the registry.
    pub warnings: usize,
}

/// `sp context url`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackUrlReport {
    /// URL of the registry.
    pub registry: String,
    /// ID of the context pack.
    pub pack_id: String,
    /// Base URL of the context pack with the signature in the path. Anyone with this URL can read
    /// the context pack.
    pub url: String,
    /// URL of the manifest with the signature in the query.
    pub query_url: String,
    /// URL of the zip file with the signature in the path.
    pub zip_url: String,
    /// ID of the key that signed the URLs.
    pub kid: String,
    /// Time at which the URLs expire.
    pub expires_at: String,
}

/// `sp context revoke`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackRevokeReport {
    /// URL of the registry.
    pub registry: String,
    /// ID of the context pack. All signed URLs issued so far are invalid.
    pub pack_id: String,
}

/// `sp context show`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackView {
    /// ID of the context pack (ULID or UUID).
    pub pack_id: String,
    /// Creation time.
    pub generated_at: String,
    /// Tool that created the context pack.
    pub generator: String,
    /// Name of the project.
    pub name: String,
    /// Description of the project.
    pub description: String,
    /// Technologies that the project uses.
    pub stack: Vec<String>,
    /// Files of the context pack.
    pub files: Vec<ContextPackFileItem>,
    /// Sources of the context pack.
    pub sources: Vec<ContextPackSourceItem>,
    /// Tokenizer that was used to count tokens.
    pub tokenizer: String,
    /// Number of errors that `sp context check` reports.
    pub errors: usize,
    /// Number of warnings that `sp context check` reports.
    pub warnings: usize,
}

/// A file of a context pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackFileItem {
    /// Path within the context pack.
    pub path: String,
    /// Size in bytes.
    pub bytes: usize,
    /// Number of tokens.
    pub tokens: usize,
}

/// A source of a context pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackSourceItem {
    /// ID that footnotes use to refer to the source.
    pub id: String,
    /// Title of the source.
    pub title: String,
    /// URL of the source.
    pub url: String,
    /// Kind of source.
    pub kind: String,
    /// Time of capture.
    pub captured_at: String,
}

/// `sp context build`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackBuildReport {
    #[serde(flatten)]
    pub status: PlanStatus,
    /// Directory of the context pack.
    pub dir: PathBuf,
    /// The zip file, if requested; absent in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zip: Option<ContextPackZipReport>,
    /// ID of the context pack (ULID or UUID).
    pub pack_id: String,
    /// Creation time.
    pub generated_at: String,
    /// Files of the context pack.
    pub files: Vec<ContextPackBuiltFile>,
    /// Sources of the context pack, most important first.
    pub sources: Vec<ContextPackSourceItem>,
    /// Number of documents in the knowledge bases.
    pub documents: usize,
    /// Number of documents within the time window.
    pub in_window: usize,
    /// Number of documents within the time window that are relevant to the brief.
    pub relevant: usize,
    /// Tokenizer that was used to count tokens.
    pub tokenizer: String,
    /// Files, and parts of files, that were skipped because they contain no document.
    pub skipped: Vec<KbSkippedItem>,
    /// Documents and sentences that were left out, with reasons; only with `--explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<Vec<ContextPackOmission>>,
    /// Result of the model's selection, if a model was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelChoiceReport>,
}

/// A file of a context pack that was built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackBuiltFile {
    /// Path within the context pack.
    pub path: String,
    /// Size in bytes.
    pub bytes: usize,
    /// Number of tokens.
    pub tokens: usize,
    /// What happened to the file.
    pub change: FileChangeKind,
}

/// A document or sentence that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackOmission {
    /// URL of the document.
    pub url: String,
    /// The sentence; absent if the whole document was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Reason for leaving it out.
    pub why: String,
}

/// Result of the model's selection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ModelChoiceReport {
    /// Number of sentences that the model could select.
    pub offered: usize,
    /// Number of selected sentences that were accepted.
    pub chosen: usize,
    /// Selected quotes that were rejected.
    pub refused: Vec<RejectedQuoteItem>,
    /// Reason why the model could not be used; absent on success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// A quote from the model that was rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RejectedQuoteItem {
    /// Text that the model returned.
    pub quote: String,
    /// Reason for the rejection.
    pub why: String,
}

/// `sp context kb add`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KbAddReport {
    #[serde(flatten)]
    pub status: PlanStatus,
    /// Directory of the knowledge base.
    pub dir: PathBuf,
    /// Number of files that can contain documents.
    pub files: usize,
    /// Number of documents in these files.
    pub documents: usize,
    /// Number of files that were read because they are new or may have changed.
    pub read: usize,
    /// Number of files that no longer exist.
    pub removed: usize,
    /// Files, and parts of files, that were skipped because they contain no document.
    pub skipped: Vec<KbSkippedItem>,
}

/// A file, or a part of one, that was skipped because it contains no document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KbSkippedItem {
    /// Path within the knowledge base.
    pub file: String,
    /// Line number, if only a part of the file was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Reason for skipping it.
    pub why: String,
}

/// `sp context kb remove`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KbRemoveReport {
    #[serde(flatten)]
    pub status: PlanStatus,
    /// Directory that is no longer indexed. Its files are not deleted.
    pub dir: PathBuf,
}

/// `sp context kb list`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KbList {
    /// All knowledge bases.
    pub bases: Vec<KnowledgeBaseItem>,
    /// Documents of the given knowledge base, newest first; absent if none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documents: Option<Vec<KbDocument>>,
}

/// A knowledge base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KnowledgeBaseItem {
    /// Directory of the knowledge base.
    pub dir: PathBuf,
    /// Number of files that can contain documents.
    pub files: usize,
    /// Number of documents in these files.
    pub documents: usize,
    /// Time of the last indexing.
    pub indexed_at: String,
}

/// A document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KbDocument {
    /// Title of the document.
    pub title: String,
    /// URL of the document.
    pub url: String,
    /// Kind of document.
    pub kind: String,
    /// Time of publication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_at: Option<String>,
    /// Time of capture.
    pub captured_at: String,
    /// Tags of the document.
    pub tags: Vec<String>,
    /// File that contains the document.
    pub file: String,
}

/// `sp context kb search`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KbSearchReport {
    /// Search query.
    pub query: String,
    /// Number of documents that were searched.
    pub documents: usize,
    /// Number of documents that match.
    pub found: usize,
    /// Best matches.
    pub hits: Vec<KbHit>,
}

/// A document that matches a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KbHit {
    /// Title of the document.
    pub title: String,
    /// URL of the document.
    pub url: String,
    /// Kind of document.
    pub kind: String,
    /// Time of publication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_at: Option<String>,
    /// Time of capture.
    pub captured_at: String,
    /// File that contains the document.
    pub file: PathBuf,
    /// Sentence that matches the query best.
    pub snippet: String,
    /// Relevance score. Only comparable within the same search.
    pub score: u64,
    /// Whether the file has changed since it was indexed.
    pub state: KbFileState,
}

/// Whether a file has changed since it was indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KbFileState {
    /// The file has not changed.
    Fresh,
    /// The file has changed.
    Changed,
    /// The file no longer exists.
    Gone,
}

/// `sp context kb stats`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KbStats {
    /// All knowledge bases.
    pub bases: Vec<KnowledgeBaseItem>,
    /// Number of files that can contain documents.
    pub files: usize,
    /// Number of documents in these files.
    pub documents: usize,
    /// Number of documents of each kind.
    pub kinds: Vec<KbKindCount>,
    /// Number of files, or parts of files, that contain no document.
    pub skipped: usize,
    /// Earliest time of capture; empty if there are no documents.
    pub oldest: String,
    /// Latest time of capture; empty if there are no documents.
    pub newest: String,
    /// Number of documents that were captured more than a year before the newest.
    pub old: usize,
    /// Number of files added since the last indexing.
    pub new: usize,
    /// Number of files changed since the last indexing.
    pub changed: usize,
    /// Number of files removed since the last indexing.
    pub gone: usize,
}

/// Number of documents of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KbKindCount {
    /// Kind of document.
    pub kind: String,
    /// Number of documents.
    pub documents: usize,
}

/// `sp context diff`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ContextPackDiff {
    /// Location of the first context pack.
    pub before: String,
    /// Location of the second context pack.
    pub after: String,
    /// Whether both context packs are equal, apart from `pack_id` and `generated_at`.
    pub same: bool,
    /// Differences in `pack_id` and `generated_at`.
    pub generation: Vec<MemberChange>,
    /// Differences in other members of the manifest.
    pub manifest: Vec<MemberChange>,
    /// Technologies that only one of the context packs lists.
    pub stack: Vec<DiffEntry>,
    /// Sources that differ.
    pub sources: Vec<DiffEntry>,
    /// Files that differ, ignoring the frontmatter of Markdown files.
    pub files: Vec<ContextPackFileDiff>,
}

/// A file that differs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ContextPackFileDiff {
    /// Path within the context pack.
    pub path: String,
    /// Whether the file was added, removed or changed.
    pub change: ChangeKind,
    /// Differences in the file's manifest entry. Hash and size are included only for files other
    /// than Markdown.
    pub members: Vec<MemberChange>,
    /// `##` sections that differ, for changed Markdown files.
    pub sections: Vec<ContextPackSectionDiff>,
    /// Unified diff of a Markdown file without its frontmatter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// A section that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContextPackSectionDiff {
    /// Heading of the section.
    pub title: String,
    /// Whether the section was added, removed or changed.
    pub change: ChangeKind,
}
