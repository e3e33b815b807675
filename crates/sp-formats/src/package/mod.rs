//! Packages: a `.ctxpkg` file is one JSON document with a manifest and content, hashed and
//! optionally signed.
//!
//! [`read`] parses a file once and verifies it. A [`Package`] exists only if content hash,
//! composite hash, size and signature are valid; everything else that is wrong is in the report.
//! The text is kept, so that an imported package is exported byte for byte. [`write()`] creates
//! packages in canonical form, from a [`PackageDraft`].
//!
//! Content is either a graph of nodes and edges ([`Graph`]), layers (schema 1), or the documents of
//! skills. Merging and ranking graphs is not part of this module.
//!
//! ```
//! use sp_formats::package::{self, PackageDraft, PackageKind, PackageName, PackageVersion};
//! use sp_tree::{Limits, PrivateKey};
//!
//! let draft = PackageDraft {
//!     name: PackageName::new("@team/notes")?,
//!     version: PackageVersion::new("1.0.0")?,
//!     description: "What we know about the build".into(),
//!     author: None,
//!     created_at: "2026-05-22T00:00:00Z".into(),
//!     kind: PackageKind::Context,
//!     level: None,
//!     tags: Vec::new(),
//!     dependencies: Vec::new(),
//!     conflicts: Vec::new(),
//!     tool_version: "0.1.0".into(),
//!     extra_members: Vec::new(),
//!     content: r#"{"context_graph": {
//!         "format": "ctxpkg-graph-v2",
//!         "nodes": [{"id": "a", "type": "fact", "content": "It takes an hour."}],
//!         "edges": []
//!     }}"#
//!     .into(),
//!     merged_graph: None,
//! };
//! let key = PrivateKey::from_seed(&[7; 32]);
//! let text = package::write(&draft, Some(&key), &Limits::default())?;
//!
//! let read = package::read("notes.ctxpkg", text.clone().into(), &Limits::default());
//! assert_eq!(read.package.expect("it is valid").node_count(), 1);
//!
//! let forged = text.replace("an hour", "a minute");
//! let read = package::read("notes.ctxpkg", forged.into(), &Limits::default());
//! assert!(read.package.is_none() && read.is_forged());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod dependencies;
mod documents;
pub mod envelope;
mod graph;
mod input;
mod integrity;
mod layers;
mod locate;
pub mod lock;
mod manifest;
mod manifest_fields;
mod name;
mod recorded_source;
pub mod rules;
mod signature;
mod skills;
pub mod store;
mod write;

use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::Serialize;
use sp_tree::{Digest, HashedBytes, Limits, LoadedTree};

use crate::json::{
    CompactDigest, JsonDocument, JsonError, JsonKind, JsonNumberFormat, JsonValue, canonicalize,
};
use crate::package::rules::{PK_01, PK_02, PK_03, PK_04};
use crate::report::{MAX_FINDINGS, Report, Severity};
use crate::text::ByteSize;

pub use dependencies::PackageDependency;
pub use documents::write as write_documents;
pub use graph::{
    CanonicalGraph, ConformanceLevel, GRAPH_FORMAT, Graph, GraphEdge, GraphNode, PackageStrictness,
    check_level,
};
pub use input::{PackageInput, read_input};
pub use layers::{GraphBuilder, NewEdge, NewNode, is_layer, layers_to_graph};
pub use locate::PackageInputFile;
pub use manifest::{Integrity, PackageKind, PackageManifest, Provenance};
pub use name::{PackageName, PackageNameError, PackageVersion, PackageVersionError, VersionRange};
pub use recorded_source::RecordedSource;
pub use signature::{SignatureCoverage, Signer};
pub use skills::BundledSkills;
pub use write::{PackageDraft, PackageWriteError, build, write, write_lean_ctx_compatible};

/// The extensions of package files. The second is only read, never written.
pub const PACKAGE_EXTENSIONS: [&str; 2] = ["ctxpkg", "lctxpkg"];

/// The result of a verification step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VerificationOutcome {
    Passed,
    /// There is a problem, but the package can be used.
    Warned,
    /// The package is rejected.
    Failed,
    /// Not run, because an earlier step failed.
    Skipped,
}

impl VerificationOutcome {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Warned => "warned",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// What a verification step checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerificationCheck {
    /// Whether the file follows the format.
    Form,
    ContentHash,
    CompositeHash,
    Size,
    Signature,
    /// Whether this machine trusts the signer.
    Signer,
    Provenance,
    /// The age of the package.
    Freshness,
}

impl VerificationCheck {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Form => "form",
            Self::ContentHash => "content hash",
            Self::CompositeHash => "composite hash",
            Self::Size => "size",
            Self::Signature => "signature",
            Self::Signer => "signer",
            Self::Provenance => "provenance",
            Self::Freshness => "freshness",
        }
    }
}

/// A step of the verification, for `sp pkg verify`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerificationStep {
    pub check: VerificationCheck,
    pub outcome: VerificationOutcome,
    /// The value that was checked, such as a hash.
    pub detail: String,
}

impl VerificationStep {
    pub fn new(
        check: VerificationCheck,
        outcome: VerificationOutcome,
        detail: impl Into<String>,
    ) -> Self {
        Self { check, outcome, detail: detail.into() }
    }
}

/// A package whose hashes and signatures are valid.
#[derive(Debug, Clone)]
pub struct Package {
    json: JsonDocument,
    pub manifest: PackageManifest,
    /// Who signed it, if anyone did.
    pub signer: Option<Signer>,
    /// The files, if it is a package of skills.
    pub documents: Option<LoadedTree>,
    node_count: usize,
    edge_count: usize,
    /// Computed on first use.
    digest: OnceLock<Digest>,
}

impl Package {
    /// The text of the file.
    pub fn text(&self) -> &Arc<str> {
        self.json.text()
    }

    pub fn content(&self) -> JsonValue<'_> {
        self.member("content")
    }

    /// The manifest as it is written.
    pub fn raw_manifest(&self) -> JsonValue<'_> {
        self.member("manifest")
    }

    fn member(&self, key: &str) -> JsonValue<'_> {
        self.json.root().get(key).unwrap_or(self.json.root())
    }

    pub fn graph(&self) -> Graph<'_> {
        Graph::from_content(self.content())
    }

    pub fn is_version(&self, name: &PackageName, version: &PackageVersion) -> bool {
        self.manifest.name == *name && self.manifest.version == *version
    }

    pub fn node_count(&self) -> usize {
        self.node_count
    }

    pub fn edge_count(&self) -> usize {
        self.edge_count
    }

    /// The digest that identifies this version: of the manifest without the signature, and of the
    /// content.
    pub fn identity(&self) -> Digest {
        let manifest = canonicalize(self.raw_manifest(), "signature", JsonNumberFormat::Lossless)
            .unwrap_or_default();
        Digest::of(format!("{manifest}\n{}", self.manifest.integrity.content_hash).as_bytes())
    }

    /// The digest of the file.
    pub fn digest(&self) -> Digest {
        *self.digest.get_or_init(|| Digest::of(self.text().as_bytes()))
    }
}

/// The result of reading a package.
pub struct PackageReadResult {
    /// The package, if it passed verification.
    pub package: Option<Package>,
    pub report: Report,
    /// The verification steps; only `form` if the file cannot be parsed.
    pub steps: Vec<VerificationStep>,
    /// The name and version in the manifest, even if verification failed.
    pub claimed_id: Option<(PackageName, PackageVersion)>,
    /// Whether layers and graph have no findings.
    content_is_clean: bool,
}

impl PackageReadResult {
    /// Whether it was rejected because a hash or signature is invalid.
    pub fn is_forged(&self) -> bool {
        self.steps.iter().any(|step| {
            step.outcome == VerificationOutcome::Failed && step.check != VerificationCheck::Form
        })
    }
}

/// Like [`read`], for bytes whose digest is known: [`Package::digest`] does not compute it again.
pub fn read_hashed(file: &str, hashed: HashedBytes, limits: &Limits) -> PackageReadResult {
    let digest = hashed.digest();
    let result = read(file, hashed.into_bytes(), limits);
    if let Some(package) = &result.package {
        let _ = package.digest.set(digest);
    }
    result
}

/// Reads a package from the bytes of its file.
pub fn read(file: &str, bytes: Vec<u8>, limits: &Limits) -> PackageReadResult {
    if bytes.len() as u64 > limits.package_bytes {
        return too_large(file, bytes.len(), limits);
    }
    match String::from_utf8(bytes) {
        Ok(text) => read_text(file, text, None, limits),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let mut report = Report::new(file, String::from_utf8_lossy(&error.as_bytes()[..at]));
            report.error(&PK_01, at..at, "invalid UTF-8").help("save the file as UTF-8");
            unreadable_result(report)
        }
    }
}

/// Reads a package from its text. The content digest is passed in if the text was just assembled
/// from content that was hashed.
fn read_text(
    file: &str,
    text: String,
    known: Option<CompactDigest>,
    limits: &Limits,
) -> PackageReadResult {
    if text.len() as u64 > limits.package_bytes {
        return too_large(file, text.len(), limits);
    }
    let text: Arc<str> = text.into();
    let mut report = Report::deferred(file);
    let hashed = if known.is_some() { "" } else { "content" };
    match JsonDocument::parse_hashing(Arc::clone(&text), hashed, limits) {
        Ok((json, compact)) => {
            let mut read = check_document(json, known.or(compact), limits, report);
            read.report = read.report.with_text(&text);
            read
        }
        Err(JsonError { span, message, help }) => {
            report.error(&PK_01, span, message).help(help);
            unreadable_result(report.with_text(&text))
        }
    }
}

fn too_large(file: &str, size: usize, limits: &Limits) -> PackageReadResult {
    let mut report = Report::deferred(file);
    let (size, limit) = (ByteSize(size as u64), ByteSize(limits.package_bytes));
    let message = format!("the package is {size}; the limit is {limit}");
    report
        .whole_file(Severity::Error, &PK_01, message)
        .help("if you trust the package, raise the limit with `--max-size <bytes>`");
    unreadable_result(report)
}

fn unreadable_result(report: Report) -> PackageReadResult {
    let steps = vec![VerificationStep::new(
        VerificationCheck::Form,
        VerificationOutcome::Failed,
        "the package cannot be read",
    )];
    PackageReadResult { package: None, report, steps, claimed_id: None, content_is_clean: false }
}

fn check_document(
    json: JsonDocument,
    compact: Option<CompactDigest>,
    limits: &Limits,
    mut report: Report,
) -> PackageReadResult {
    let Some((manifest, compact)) = read_manifest_and_content(&json, compact, &mut report) else {
        return unreadable_result(report);
    };
    let content = json.root().get("content").unwrap_or(json.root());
    let Verification { mut steps, signer } = verify(&json, &manifest, compact, &mut report);
    let earlier_findings = report.findings.len();
    layers::check(content, &manifest, PackageStrictness::Reading, &mut report);
    let counts = graph::check(content, PackageStrictness::Reading, &mut report);
    let content_is_clean =
        report.findings.len() == earlier_findings && earlier_findings < MAX_FINDINGS;
    check_graph_summary(manifest_value(&json), &counts, &mut report);
    let documents = match manifest.kind {
        PackageKind::Skills => documents::read(content, limits, &mut report),
        _ => None,
    };
    let claimed_id = Some((manifest.name.clone(), manifest.version.clone()));
    let usable = report.is_usable();
    if !usable {
        fail_form(&mut steps);
    }
    let graph::GraphCounts { node_count, edge_count, .. } = counts;
    let digest = OnceLock::new();
    let package = usable.then(|| Package {
        manifest,
        signer,
        documents,
        node_count,
        edge_count,
        digest,
        json,
    });
    PackageReadResult { package, report, steps, claimed_id, content_is_clean }
}

/// The steps of a verification, and who signed the package.
struct Verification {
    steps: Vec<VerificationStep>,
    signer: Option<Signer>,
}

/// Verifies the hashes, the signature and the provenance.
fn verify(
    json: &JsonDocument,
    manifest: &PackageManifest,
    compact: CompactDigest,
    report: &mut Report,
) -> Verification {
    let value = manifest_value(json);
    let mut steps = vec![VerificationStep::new(
        VerificationCheck::Form,
        VerificationOutcome::Passed,
        describe_form(manifest),
    )];
    steps.extend(integrity::verify(value, manifest, compact, report));
    let (signer, step) = signature::verify(value, manifest, report);
    steps.push(step);
    steps.push(verify_provenance(value, manifest, report));
    Verification { steps, signer }
}

/// Marks the form as invalid, unless another step explains why the package is not usable.
fn fail_form(steps: &mut [VerificationStep]) {
    if steps.iter().all(|step| step.outcome != VerificationOutcome::Failed) {
        let why = "the package violates the format";
        steps[0] = VerificationStep::new(VerificationCheck::Form, VerificationOutcome::Failed, why);
    }
}

fn manifest_value(json: &JsonDocument) -> JsonValue<'_> {
    json.root().get("manifest").unwrap_or(json.root())
}

/// Returns manifest and content, if both are present.
fn read_manifest_and_content(
    json: &JsonDocument,
    compact: Option<CompactDigest>,
    report: &mut Report,
) -> Option<(PackageManifest, CompactDigest)> {
    let root = json.root();
    if root.kind() != JsonKind::Object {
        let message = format!("a package must be an object, not {}", root.kind().describe());
        report.error(&PK_01, root.span(), message).help(PACKAGE_FORM_HELP);
        return None;
    }
    for key in ["manifest", "content"] {
        check_object_member(root, key, report);
    }
    for (key, _) in
        root.members().filter(|(key, _)| !key.eq_str("manifest") && !key.eq_str("content"))
    {
        let name = manifest_fields::describe_value(key);
        let message = format!("{name} is not covered by any hash or signature");
        report
            .warning(&PK_02, key.span(), message)
            .help("`sp` keeps this member, but does not use it");
    }
    if !report.is_usable() {
        return None;
    }
    let has_graph =
        root.get("content").is_some_and(|content| content.get("context_graph").is_some());
    Some((manifest::read(root.get("manifest")?, has_graph, report)?, compact?))
}

const PACKAGE_FORM_HELP: &str = "write `{\"manifest\": {…}, \"content\": {…}}`";

/// Reports a member of the package that is missing or not an object.
fn check_object_member(root: JsonValue<'_>, key: &str, report: &mut Report) {
    match root.get(key) {
        None => {
            report.error(&PK_01, 0..1, format!("`{key}` is missing")).help(PACKAGE_FORM_HELP);
        }
        Some(value) if value.kind() != JsonKind::Object => {
            let message = format!("`{key}` must be an object, not {}", value.kind().describe());
            report.error(&PK_01, value.span(), message).help(format!("write `\"{key}\": {{…}}`"));
        }
        Some(_) => {}
    }
}

fn describe_form(manifest: &PackageManifest) -> String {
    let level = manifest.level.map(|level| format!(", level {level}")).unwrap_or_default();
    format!("{} package, schema {}{level}", manifest.kind.as_str(), manifest.schema)
}

fn verify_provenance(
    raw: JsonValue<'_>,
    manifest: &PackageManifest,
    report: &mut Report,
) -> VerificationStep {
    let step = |outcome, detail: &str| {
        VerificationStep::new(VerificationCheck::Provenance, outcome, detail)
    };
    match &manifest.provenance {
        Some(Provenance { tool, tool_version }) => {
            let detail = format!("created by {tool} {tool_version}");
            step(VerificationOutcome::Passed, detail.trim_end())
        }
        // A value that cannot be read is reported already.
        None if raw.get("provenance").is_some_and(|value| !value.is_null()) => {
            step(VerificationOutcome::Warned, "unknown tool")
        }
        None => {
            let message = "`provenance` is missing";
            report
                .whole_file(Severity::Warning, &PK_03, message)
                .help("create the package with `sp pkg create`, which adds it");
            step(VerificationOutcome::Warned, "`provenance` is missing")
        }
    }
}

/// Compares the graph summary in the manifest with the graph.
fn check_graph_summary(
    manifest: JsonValue<'_>,
    graph: &graph::GraphCounts<'_>,
    report: &mut Report,
) {
    let Some(summary) = manifest.get("graph_summary").filter(|summary| !summary.is_null()) else {
        return;
    };
    if summary.kind() != JsonKind::Object {
        let message =
            format!("`graph_summary` must be an object, not {}", summary.kind().describe());
        report.warning(&PK_04, summary.span(), message).help("the value is ignored");
        return;
    }
    check_summary_count(summary, "node_count", graph.node_count, report);
    check_summary_count(summary, "edge_count", graph.edge_count, report);
    if let Some(types) = summary.get("node_types") {
        let stated: Vec<_> = types.items().filter_map(JsonValue::text).collect();
        if !stated.iter().eq(&graph.node_types) {
            let message = "`graph_summary.node_types` must list the types of all nodes, sorted";
            report.warning(&PK_04, types.span(), message).help("create the package again");
        }
    }
}

fn check_summary_count(summary: JsonValue<'_>, key: &str, count: usize, report: &mut Report) {
    let Some(value) = summary.get(key).filter(|value| value.as_u64() != Some(count as u64)) else {
        return;
    };
    let message = match value.as_u64() {
        Some(stated) => {
            format!("`graph_summary.{key}` is {stated}, but the actual number is {count}")
        }
        None => format!(
            "`graph_summary.{key}` must be a whole number, not {}",
            manifest_fields::describe_non_number(value)
        ),
    };
    report.warning(&PK_04, value.span(), message).help("create the package again");
}
