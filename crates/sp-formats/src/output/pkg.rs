//! JSON output of `sp pkg` and `sp key`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::{FolderAction, PlanStatus, SinkChange, TrashedFolder};
use crate::package::{PackageKind, VerificationOutcome};

/// `sp pkg create` and `sp pkg import`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StoredPackageList {
    #[serde(flatten)]
    pub status: PlanStatus,
    /// Packages that were added to the store.
    pub packages: Vec<StoredPackageItem>,
}

/// A package that was added to the store.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StoredPackageItem {
    /// Name, version and statistics of the package.
    #[serde(flatten)]
    pub package: PackageItem,
    /// Whether the package was not in the store before.
    pub new: bool,
    /// Package file that is written, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

/// `sp pkg list`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageList {
    /// Packages in the store, sorted by name and version.
    pub packages: Vec<PackageItem>,
    /// Received packages that have not been accepted yet.
    pub waiting: Vec<WaitingPackageItem>,
}

/// A package.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageItem {
    /// Package name, including its scope.
    pub name: String,
    /// Package version.
    pub version: String,
    /// Kind of package: `context`, `skills`, `addon` or `grammar`.
    pub kind: PackageKind,
    /// Description from the manifest.
    pub description: String,
    /// Number of nodes in the graph.
    pub nodes: u64,
    /// Number of edges in the graph.
    pub edges: u64,
    /// Size of the package file in bytes.
    pub size: u64,
    /// SHA-256 of the package file.
    pub digest: String,
    /// Composite hash of name, version and content hash.
    pub sha256: String,
    /// Public key of the signer, in hex; absent if the package is not signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// Creation time from the manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// Time at which the package was added to the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_at: Option<String>,
    /// Source of the package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Whether the version was rolled back.
    pub withdrawn: bool,
    /// Whether this version is installed in the current project.
    pub installed: bool,
}

/// A received package that has not been accepted yet.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WaitingPackageItem {
    /// ID for accepting or rejecting the package.
    pub id: String,
    /// Package name, including its scope.
    pub name: String,
    /// Package version.
    pub version: String,
    /// Name that the sender gave; not verified.
    pub sender: String,
    /// Time of receipt.
    pub received_at: String,
}

/// `sp pkg info`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageInfo {
    /// Name, version and statistics of the package.
    #[serde(flatten)]
    pub package: PackageItem,
    /// Schema version of the manifest: 1 or 2.
    pub schema_version: u64,
    /// Conformance level that the manifest declares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conformance_level: Option<u64>,
    /// Author from the manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Name and version of the tool that created the package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
    /// Names of the layers in the package.
    pub layers: Vec<String>,
    /// Tags from the manifest.
    pub tags: Vec<String>,
    /// Number of nodes of each type.
    pub node_types: Vec<TypeCount>,
    /// Number of edges of each type.
    pub edge_types: Vec<TypeCount>,
    /// Packages that this package depends on.
    pub dependencies: Vec<PackageDependencyItem>,
    /// Packages that cannot be installed together with this package.
    pub conflicts: Vec<String>,
    /// Files that the package contains.
    pub files: Vec<PackageFileItem>,
}

/// Number of nodes or edges of a type.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TypeCount {
    /// Type of the nodes or edges.
    #[serde(rename = "type")]
    pub kind: String,
    /// Number of nodes or edges.
    pub count: usize,
}

/// A dependency of a package.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageDependencyItem {
    /// Name of the package.
    pub name: String,
    /// SemVer range of accepted versions.
    pub range: String,
    /// Whether the package can be used without this dependency.
    pub optional: bool,
}

/// A file in a package.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageFileItem {
    /// Path within the package.
    pub path: String,
    /// Uncompressed size in bytes.
    pub size: u64,
}

/// `sp pkg export`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageExportReport {
    /// Package name, including its scope.
    pub name: String,
    /// Package version.
    pub version: String,
    /// File that was written.
    pub file: PathBuf,
    /// Size of the file in bytes.
    pub size: u64,
}

/// `sp pkg remove`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageRemoveReport {
    #[serde(flatten)]
    pub status: PlanStatus,
    /// Packages that are removed from the store.
    pub removed: Vec<PackageItem>,
}

/// `sp pkg log`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageLog {
    /// Package name, including its scope.
    pub name: String,
    /// Versions in the store, newest first.
    pub versions: Vec<PackageItem>,
    /// Removed versions. Their numbers cannot be used again.
    pub removed: Vec<String>,
}

/// `sp pkg verify`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageVerification {
    /// File or package that was verified.
    pub subject: String,
    /// Package name from the manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Package version from the manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether no step failed, so that the package can be used.
    pub verified: bool,
    /// Verification steps, in order.
    pub steps: Vec<VerificationStepItem>,
}

/// A step of the verification.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct VerificationStepItem {
    /// Name of the step: `form`, `content hash`, `composite hash`, `size`, `signature`, `signer`,
    /// `provenance` or `freshness`.
    pub step: String,
    pub outcome: VerificationOutcome,
    /// Details, such as the hash or key that was verified.
    pub detail: String,
}

/// `sp pkg diff`
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct PackageDiff {
    /// First package.
    pub before: String,
    /// Second package.
    pub after: String,
    /// Manifest members that differ.
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
    /// Path of the member.
    pub member: String,
    /// Old value, as JSON; absent if the member was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// New value, as JSON; absent if the member was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// An item that was added, removed or changed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiffEntry {
    /// Identifies the item: an ID, two IDs and a type, a path, or a name.
    pub id: String,
    /// Whether the item was added, removed or changed.
    pub change: ChangeKind,
    /// Members of the item that differ.
    pub members: Vec<MemberChange>,
}

/// How an item differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// Only the new version has it.
    Added,
    /// Only the old version has it.
    Removed,
    /// Both versions have it, and it differs.
    Changed,
}

/// `sp pkg install`, `sp pkg uninstall` and `sp pkg rollback`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageChangeReport {
    #[serde(flatten)]
    pub status: PlanStatus,
    /// Root directory of the project.
    pub root: PathBuf,
    /// Package changes, sorted by name.
    pub packages: Vec<PackageChangeItem>,
    /// Changes in agents' skills directories.
    pub sinks: Vec<SinkChange>,
    /// Replaced or removed files that had been edited and were moved to the trash.
    pub kept: Vec<TrashedFolder>,
    /// Changes to the merged graph of the project; absent if it does not change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<GraphChangeReport>,
}

/// Changes to the merged graph of a project.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GraphChangeReport {
    /// Number of nodes after the change.
    pub nodes: usize,
    /// Number of edges after the change.
    pub edges: usize,
    /// IDs of new nodes.
    pub added: Vec<String>,
    /// IDs of nodes whose content, members or activation changed.
    pub updated: Vec<String>,
    /// IDs of removed nodes.
    pub removed: Vec<String>,
    /// Nodes that are superseded after the change.
    pub superseded: Vec<SupersededNodeItem>,
    /// Nodes that contradict each other after the change.
    pub contradictions: Vec<ContradictionItem>,
}

/// Change to a package of a project.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageChangeItem {
    /// Package name, including its scope.
    pub name: String,
    /// The change.
    pub action: FolderAction,
    /// New version, or the version that is removed.
    pub version: String,
    /// Version that was installed before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_version: Option<String>,
    /// Kind of package: `context` or `skills`.
    pub kind: PackageKind,
    /// Packages that depend on this one; empty if it was requested directly.
    pub needed_by: Vec<String>,
}

/// `sp pkg send`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageSendReport {
    /// Package name, including its scope.
    pub name: String,
    /// Package version.
    pub version: String,
    /// URL that the package was sent to.
    pub target: String,
    /// Response of the receiver.
    pub answer: String,
}

/// A line of output of `sp pkg receive`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageReceiveEvent {
    /// Type of event: `listening`, `imported`, `waiting` or `refused`.
    pub event: String,
    /// Listen address; only for `listening`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Name and version of the package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// Name that the sender gave; not verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// Reason, if the package was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// `sp key list`, `sp key new` and their like
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct KeyList {
    /// Whether the change was applied, and the ID of its plan; absent if the command only lists.
    #[serde(flatten)]
    pub status: Option<PlanStatus>,
    /// Signing keys of this machine.
    pub keys: Vec<KeyItem>,
    /// Public keys that are trusted, by namespace.
    pub trusted: Vec<KeyPinItem>,
}

/// A signing key of this machine.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct KeyItem {
    /// Name of the key.
    pub name: String,
    /// Public key, in hex; empty in a dry run, for a key that is not generated yet.
    pub public_key: String,
    /// File that contains the private key.
    pub file: PathBuf,
    /// Whether the key was replaced by a rotation.
    pub retired: bool,
}

/// A public key that is trusted for a namespace.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct KeyPinItem {
    /// Scope, or name of a package without a scope.
    pub namespace: String,
    /// Public key, in hex.
    pub public_key: String,
    /// Time since which the key is trusted.
    pub since: String,
    /// Reason for trusting the key: `first use`, `you said so` (explicitly trusted) or `rotation`.
    pub because: String,
}

/// `sp pkg merge`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageMergeReport {
    #[serde(flatten)]
    pub status: PlanStatus,
    /// The merged package.
    #[serde(flatten)]
    pub stored: StoredPackageItem,
    /// Packages that were merged.
    pub sources: Vec<String>,
    /// IDs of nodes that more than one package contains.
    pub shared: Vec<String>,
    /// IDs of nodes that the first package does not contain.
    pub added: Vec<String>,
    /// IDs of nodes of the first package that other packages extend.
    pub updated: Vec<String>,
    /// Nodes that are superseded by other nodes.
    pub superseded: Vec<SupersededNodeItem>,
    /// Nodes that contradict each other.
    pub contradictions: Vec<ContradictionItem>,
}

/// A node that another node supersedes.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SupersededNodeItem {
    /// ID of the superseded node.
    pub old: String,
    /// ID of the node that supersedes it.
    pub new: String,
}

/// Two nodes that contradict each other.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ContradictionItem {
    /// ID of the first node.
    pub from: String,
    /// Content of the first node.
    pub from_content: String,
    /// ID of the second node.
    pub to: String,
    /// Content of the second node.
    pub to_content: String,
    /// Whether both nodes had the same ID in two packages.
    pub same_id: bool,
}

/// `sp pkg load`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PackageLoadReport {
    /// Text for the agent.
    pub context: String,
    /// Number of tokens in the text.
    pub tokens: usize,
    /// Maximum number of tokens.
    pub budget: usize,
    /// Tokenizer that was used to count tokens.
    pub tokenizer: String,
    /// Packages that the nodes are from.
    pub sources: Vec<String>,
    /// Nodes in the text, best first.
    pub nodes: Vec<LoadedNode>,
    /// Nodes that were left out, by reason.
    pub left_out: Vec<OmittedNodes>,
}

/// A selected node.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LoadedNode {
    /// ID of the node.
    pub id: String,
    /// Type of the node.
    #[serde(rename = "type")]
    pub kind: String,
    /// Relevance score, from 0 to 1.
    pub worth: f64,
}

/// Nodes that were left out for the same reason.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OmittedNodes {
    /// Reason: `superseded`, `faded` (not relevant enough) or `no room` (over the budget).
    pub reason: String,
    /// Number of nodes.
    pub count: usize,
    /// IDs of the best nodes among them.
    pub best: Vec<String>,
}

/// `sp pkg stale`
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StaleReport {
    /// Packages that were compared with the files of the project.
    pub sources: Vec<String>,
    /// Number of nodes whose source lines have not changed.
    pub fresh: usize,
    /// Number of nodes without a source file, or without information to compare it with.
    pub unknown: usize,
    /// All other nodes, by file.
    pub stale: Vec<StaleNode>,
}

/// A node whose source file has changed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StaleNode {
    /// ID of the node.
    pub id: String,
    /// Type of the node.
    #[serde(rename = "type")]
    pub kind: String,
    /// How the source file has changed.
    pub state: StaleState,
    /// Path of the source file.
    pub file: String,
    /// First line that the node was extracted from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Current number of that line, if it has moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_now: Option<usize>,
    /// Content of the node.
    pub content: String,
}

/// State of the source lines of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StaleState {
    /// The lines have not changed.
    Fresh,
    /// The lines are unchanged, but at a different position.
    Moved,
    /// The lines or the file have changed.
    Changed,
    /// The file no longer exists.
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
    /// Packages that the graph is from.
    pub sources: Vec<String>,
    /// Selected nodes. For a path query, in the order of the path.
    pub nodes: Vec<GraphNodeItem>,
    /// Edges between the selected nodes. For a path query, only those on the path.
    pub edges: Vec<GraphEdgeItem>,
}

/// A node.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GraphNodeItem {
    /// ID of the node.
    pub id: String,
    /// Type of the node.
    #[serde(rename = "type")]
    pub kind: String,
    /// Content of the node.
    pub content: String,
    /// Current activation, after decay.
    pub activation: f64,
    /// Path of the source file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// First line in the source file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// An edge.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GraphEdgeItem {
    /// ID of the start node.
    pub from: String,
    /// ID of the end node.
    pub to: String,
    /// Type of the edge.
    #[serde(rename = "type")]
    pub kind: String,
    /// Weight of the edge.
    pub weight: f64,
}
