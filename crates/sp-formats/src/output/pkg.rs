//! JSON output of `sp pkg` and `sp key`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::{FolderAction, SinkChange, TrashedFolder};
use crate::package::{PackageKind, VerificationOutcome};

/// `sp pkg create` and `sp pkg import`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StoredPackageList {
    /// The packages.
    pub packages: Vec<StoredPackageItem>,
}

/// A package that was put into the store.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StoredPackageItem {
    /// Its name, version and figures.
    #[serde(flatten)]
    pub package: PackageItem,
    /// Whether it was not in the store before.
    pub new: bool,
    /// The file that was written, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

/// `sp pkg list`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageList {
    /// The packages of the store, sorted by name and version.
    pub packages: Vec<PackageItem>,
    /// Packages that were received and wait to be taken.
    pub waiting: Vec<WaitingPackageItem>,
}

/// A package.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageItem {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// `context`, `skills`, `addon` or `grammar`.
    pub kind: PackageKind,
    /// What it is about.
    pub description: String,
    /// How many nodes its graph has.
    pub nodes: u64,
    /// How many edges its graph has.
    pub edges: u64,
    /// The bytes of its file.
    pub size: u64,
    /// The digest of its file.
    pub digest: String,
    /// What name, version and content hash to.
    pub sha256: String,
    /// Who signed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// When it was made, as it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// When it came into the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_at: Option<String>,
    /// Where it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Whether it was rolled back.
    pub withdrawn: bool,
    /// Whether this version is installed in this project.
    pub installed: bool,
}

/// A package that waits to be taken.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WaitingPackageItem {
    /// By which it is taken or refused.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Who sent it, as they say.
    pub sender: String,
    /// When it came.
    pub received_at: String,
}

/// `sp pkg info`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageInfo {
    /// Its name, version and figures.
    #[serde(flatten)]
    pub package: PackageItem,
    /// 1 or 2.
    pub schema_version: u64,
    /// The level that it claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conformance_level: Option<u64>,
    /// Who wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// What made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
    /// Its layers.
    pub layers: Vec<String>,
    /// Free words.
    pub tags: Vec<String>,
    /// How many nodes there are of each type.
    pub node_types: Vec<TypeCount>,
    /// How many edges there are of each type.
    pub edge_types: Vec<TypeCount>,
    /// What it needs.
    pub dependencies: Vec<PackageDependencyItem>,
    /// What it cannot be together with.
    pub conflicts: Vec<String>,
    /// The files that it carries.
    pub files: Vec<PackageFileItem>,
}

/// How many there are of a type.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TypeCount {
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
    /// How many.
    pub count: usize,
}

/// What a package needs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageDependencyItem {
    /// The package.
    pub name: String,
    /// Which versions of it.
    pub range: String,
    /// Whether it may be missing.
    pub optional: bool,
}

/// A file that a package carries.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageFileItem {
    /// Its path.
    pub path: String,
    /// Its bytes.
    pub size: u64,
}

/// `sp pkg export`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageExportReport {
    /// The package.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The file.
    pub file: PathBuf,
    /// Its bytes.
    pub size: u64,
}

/// `sp pkg remove`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageRemoveReport {
    /// What went out of the store.
    pub removed: Vec<PackageItem>,
}

/// `sp pkg log`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageLog {
    /// The package.
    pub name: String,
    /// Its versions, the newest first.
    pub versions: Vec<PackageItem>,
    /// Versions that were removed; their numbers are never free again.
    pub removed: Vec<String>,
}

/// `sp pkg verify`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageVerification {
    /// What was verified.
    pub subject: String,
    /// The package that it says it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The version that it says it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether it can be used.
    pub verified: bool,
    /// The steps, in order.
    pub steps: Vec<VerificationStepItem>,
}

/// A step of the verification.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct VerificationStepItem {
    /// `form`, `content hash`, `composite hash`, `size`, `signature`, `signer`, `provenance` or
    /// `freshness`.
    pub step: String,
    pub outcome: VerificationOutcome,
    /// The figure that it is about.
    pub detail: String,
}

/// `sp pkg diff`
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct PackageDiff {
    /// The first package.
    pub before: String,
    /// The second package.
    pub after: String,
    /// Members of the manifest that differ.
    pub manifest: Vec<MemberChange>,
    /// Nodes that differ.
    pub nodes: Vec<DiffEntry>,
    /// Edges that differ.
    pub edges: Vec<DiffEntry>,
    /// Files that differ.
    pub files: Vec<DiffEntry>,
    /// Layers and other members of the content that differ.
    pub content: Vec<DiffEntry>,
}

/// A member that differs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MemberChange {
    /// Which.
    pub member: String,
    /// What it was, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What it is, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Something that was added, removed or changed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffEntry {
    /// By what it is known: an id, two ids and a type, a path, a name.
    pub id: String,
    /// What happened to it.
    pub change: ChangeKind,
    /// What it says, or what of it changed.
    pub members: Vec<MemberChange>,
}

/// What happened to something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It is another.
    Changed,
}

/// `sp pkg install`, `sp pkg uninstall` and `sp pkg rollback`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageChangeReport {
    /// Whether it was done, or only planned.
    pub applied: bool,
    /// The project.
    pub root: PathBuf,
    /// What happens to packages, sorted by name.
    pub packages: Vec<PackageChangeItem>,
    /// What happens in sinks.
    pub sinks: Vec<SinkChange>,
    /// Old files that were kept because they had been edited.
    pub kept: Vec<TrashedFolder>,
    /// What that brings to what the project knows; nothing where that stays as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<GraphChangeReport>,
}

/// What changes in the merged graph of a project.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GraphChangeReport {
    /// How many nodes it has.
    pub nodes: usize,
    /// How many edges it has.
    pub edges: usize,
    /// Nodes that are new.
    pub added: Vec<String>,
    /// Nodes of which something else is said: another content, other members, or another
    /// activation.
    pub updated: Vec<String>,
    /// Nodes that go.
    pub removed: Vec<String>,
    /// Nodes that another supersedes now.
    pub superseded: Vec<SupersededNodeItem>,
    /// Nodes that contradict each other now.
    pub contradictions: Vec<ContradictionItem>,
}

/// What happens to a package of a project.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageChangeItem {
    /// The package.
    pub name: String,
    /// What happens.
    pub action: FolderAction,
    /// Its version; of one that goes, the version that goes.
    pub version: String,
    /// The version that was there before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_version: Option<String>,
    /// `context` or `skills`.
    pub kind: PackageKind,
    /// Who needs it; empty for one that was asked for.
    pub needed_by: Vec<String>,
}

/// `sp pkg send`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageSendReport {
    /// The package.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Where it went.
    pub target: String,
    /// What the other side answered.
    pub answer: String,
}

/// A line of `sp pkg receive`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageReceiveEvent {
    /// `listening`, `imported`, `waiting` or `refused`.
    pub event: String,
    /// The address, when it starts to listen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// Who sent it, as they say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// `sp key list`, `sp key new` and their like
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct KeyList {
    /// Our own keys.
    pub keys: Vec<KeyItem>,
    /// Whom we trust for which names.
    pub trusted: Vec<KeyPinItem>,
}

/// A key of our own.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct KeyItem {
    /// Its name.
    pub name: String,
    /// Its public half.
    pub public_key: String,
    /// Where the private half is.
    pub file: PathBuf,
    /// Whether it was rotated away.
    pub retired: bool,
}

/// Whom we trust for a namespace.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct KeyPinItem {
    /// A scope, or the name of a package without one.
    pub namespace: String,
    /// The key.
    pub public_key: String,
    /// Since when.
    pub since: String,
    /// Why: `first use`, `you said so` or `rotation`.
    pub because: String,
}

/// `sp pkg merge`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageMergeReport {
    /// The package that it became.
    #[serde(flatten)]
    pub stored: StoredPackageItem,
    /// The packages that it is made of.
    pub sources: Vec<String>,
    /// Nodes that more than one of them has.
    pub shared: Vec<String>,
    /// Nodes that the first of them does not have.
    pub added: Vec<String>,
    /// Nodes that the first of them has, and of which the others say more.
    pub updated: Vec<String>,
    /// Nodes that another supersedes.
    pub superseded: Vec<SupersededNodeItem>,
    /// Nodes that contradict each other.
    pub contradictions: Vec<ContradictionItem>,
}

/// A node that another took the place of.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SupersededNodeItem {
    /// The old one.
    pub old: String,
    /// The new one.
    pub new: String,
}

/// Two nodes that contradict each other.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ContradictionItem {
    /// The first.
    pub from: String,
    /// What it says.
    pub from_content: String,
    /// The second.
    pub to: String,
    /// What it says.
    pub to_content: String,
    /// Whether the two had one id in two packages.
    pub same_id: bool,
}

/// `sp pkg load`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageLoadReport {
    /// What an agent reads.
    pub context: String,
    /// How many tokens it has.
    pub tokens: usize,
    /// How many it may have.
    pub budget: usize,
    /// Which tokenizer counted.
    pub tokenizer: String,
    /// The packages that it is from.
    pub sources: Vec<String>,
    /// The nodes that are in it, the best first.
    pub nodes: Vec<LoadedNode>,
    /// How many nodes were left out, by reason.
    pub left_out: Vec<OmittedNodes>,
}

/// A node that was chosen.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LoadedNode {
    /// Its id.
    pub id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it is worth to the question, from 0 to 1.
    pub worth: f64,
}

/// Nodes that were left out for one reason.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OmittedNodes {
    /// `superseded`, `faded` or `no room`.
    pub reason: String,
    /// How many.
    pub count: usize,
    /// The best of them, by their ids.
    pub best: Vec<String>,
}

/// `sp pkg stale`
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StaleReport {
    /// The packages that were compared.
    pub sources: Vec<String>,
    /// How many nodes are as their files are.
    pub fresh: usize,
    /// How many nodes have no file, or nothing to compare it with.
    pub unknown: usize,
    /// The others, by file.
    pub stale: Vec<StaleNode>,
}

/// A node whose file is not what it was.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StaleNode {
    /// Its id.
    pub id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// How it stands to its file.
    pub state: StaleState,
    /// Its file.
    pub file: String,
    /// The first line that it was read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The first line now, where the lines moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_now: Option<usize>,
    /// What it says.
    pub content: String,
}

/// How a node stands to its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StaleState {
    /// The lines are as they were.
    Fresh,
    /// The lines are as they were, further up or down.
    Moved,
    /// The lines, or the file, were changed.
    Changed,
    /// The file is not there any more.
    Gone,
}

impl StaleState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Moved => "moved",
            Self::Changed => "changed",
            Self::Gone => "gone",
        }
    }
}

/// `sp pkg query` and `sp pkg graph --format json`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GraphView {
    /// The packages that it is from.
    pub sources: Vec<String>,
    /// The nodes; on a way from one to another, in its order.
    pub nodes: Vec<GraphNodeItem>,
    /// The edges between them; on a way, those that it goes along.
    pub edges: Vec<GraphEdgeItem>,
}

/// A node.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GraphNodeItem {
    /// Its id.
    pub id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it says.
    pub content: String,
    /// How active it is now.
    pub activation: f64,
    /// Its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The first line of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// An edge.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GraphEdgeItem {
    /// From which node.
    pub from: String,
    /// To which node.
    pub to: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// How strong it is.
    pub weight: f64,
}
