//! `.ctxpkg`: one JSON document with a manifest and content, hashed and signed.
//!
//! A package is read once, and its text is kept: what is imported is exported byte for byte. A
//! [`Package`] exists only if hash, composite hash, size and signature hold; whatever is odd
//! besides stands in the report.

mod documents;
pub mod envelope;
mod graph;
mod input;
mod layers;
mod locate;
pub mod lock;
mod manifest;
mod name;
mod signature;
mod skills;
pub mod store;
pub mod time;
mod write;

use std::sync::{Arc, OnceLock};

use sp_tree::{Content, Digest, Limits};

use crate::checks::{PK_01, PK_02, PK_03, PK_04, PK_08};
use crate::json::{Compact, Json, JsonError, Kind, Numbers, Value, canonical};
use crate::report::{MOST_FINDINGS, Report, Severity};

pub use documents::write as write_documents;
pub use graph::{CanonicalGraph, Edge, GRAPH_FORMAT, Graph, Level, Node, Strictness, check_level};
pub use input::{Input, read_input};
pub use layers::{NewEdge, NewGraph, NewNode, is_layer, to_graph};
pub use locate::InputFile;
pub use manifest::{Dependency, Integrity, Manifest, PackageKind, Provenance};
pub use name::{NameError, PackageName, PackageVersion, Range, VersionError};
pub use signature::{Coverage, Signer};
pub use skills::Carried;
pub use write::{Draft, WriteError, build, compatible, write};

/// The endings of a package's file name; the second is only read.
pub const EXTENSIONS: [&str; 2] = ["ctxpkg", "lctxpkg"];

/// How a step of the verification ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    Passed,
    /// It is not what it should be, and the package can be used all the same.
    Warned,
    /// It does not hold: the package is refused.
    Failed,
    /// It was not come to.
    Skipped,
}

impl Outcome {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Warned => "warned",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// A step of the verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Which.
    pub name: &'static str,
    /// How it ended.
    pub outcome: Outcome,
    /// The figure that it is about.
    pub detail: String,
}

impl Step {
    /// A step.
    pub fn new(name: &'static str, outcome: Outcome, detail: impl Into<String>) -> Self {
        Self { name, outcome, detail: detail.into() }
    }
}

/// A package whose hashes and signatures hold.
#[derive(Debug, Clone)]
pub struct Package {
    json: Json,
    /// Its manifest.
    pub manifest: Manifest,
    /// Who signed it, if anybody did.
    pub signer: Option<Signer>,
    /// The files of a package of skills.
    pub documents: Option<Content>,
    nodes: usize,
    edges: usize,
    /// Worked out once, by whoever needs it first.
    digest: OnceLock<Digest>,
}

impl Package {
    /// The text, to the letter.
    pub fn text(&self) -> &Arc<str> {
        self.json.text()
    }

    /// The content.
    pub fn content(&self) -> Value<'_> {
        self.member("content")
    }

    /// The manifest as it is written.
    pub fn raw_manifest(&self) -> Value<'_> {
        self.member("manifest")
    }

    fn member(&self, key: &str) -> Value<'_> {
        self.json.root().get(key).unwrap_or(self.json.root())
    }

    /// The nodes and edges.
    pub fn graph(&self) -> Graph<'_> {
        Graph::of(self.content())
    }

    /// How many nodes it has.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// How many edges it has.
    pub fn edges(&self) -> usize {
        self.edges
    }

    /// What makes a version this version: all of its manifest but the signature, and its content.
    pub fn identity(&self) -> Digest {
        let manifest = canonical(self.raw_manifest(), "signature", Numbers::Lossless).unwrap_or_default();
        Digest::of(format!("{manifest}\n{}", self.manifest.integrity.content_hash).as_bytes())
    }

    /// The digest of the file.
    pub fn digest(&self) -> Digest {
        *self.digest.get_or_init(|| Digest::of(self.text().as_bytes()))
    }
}

/// What was read.
pub struct Read {
    /// The package, if it can be trusted to be what it says.
    pub package: Option<Package>,
    /// What is wrong.
    pub report: Report,
    /// The verification, as far as it came.
    pub steps: Vec<Step>,
    /// Which package it says that it is, even if it is not.
    pub claims: Option<(PackageName, PackageVersion)>,
    /// Whether there is nothing to say of its layers and of its graph.
    sound: bool,
}

impl Read {
    /// Whether it was refused because hash or signature do not hold.
    pub fn is_forged(&self) -> bool {
        self.steps.iter().any(|step| step.outcome == Outcome::Failed && step.name != "form")
    }
}

/// Reads a package from the bytes of its file.
pub fn read(file: &str, bytes: Vec<u8>, limits: &Limits) -> Read {
    if bytes.len() as u64 > limits.package_bytes {
        return too_large(file, bytes.len(), limits);
    }
    match String::from_utf8(bytes) {
        Ok(text) => read_text(file, text, None, limits),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let mut report = Report::new(file, String::from_utf8_lossy(&error.as_bytes()[..at]));
            report.error(&PK_01, at..at, "it is not UTF-8 text from here on").help("save it as UTF-8");
            unread(report)
        }
    }
}

/// Reads a package from its text. What its content hashes to is worked out, unless it is known
/// because the text was just put together from what was hashed.
fn read_text(file: &str, text: String, known: Option<Compact>, limits: &Limits) -> Read {
    if text.len() as u64 > limits.package_bytes {
        return too_large(file, text.len(), limits);
    }
    let text: Arc<str> = text.into();
    let mut report = Report::deferred(file);
    let hashed = if known.is_some() { "" } else { "content" };
    match Json::parse_hashing(Arc::clone(&text), hashed, limits) {
        Ok((json, compact)) => {
            let mut read = examine(json, known.or(compact), limits, report);
            read.report = read.report.about(&text);
            read
        }
        Err(JsonError { span, message, help }) => {
            report.error(&PK_01, span, message).help(help);
            unread(report.about(&text))
        }
    }
}

fn too_large(file: &str, size: usize, limits: &Limits) -> Read {
    let mut report = Report::deferred(file);
    let message = format!("it has {size} bytes, and the limit is {}", limits.package_bytes);
    report.whole(Severity::Error, &PK_01, message).help("raise it with `--max-size <bytes>` if you trust it");
    unread(report)
}

fn unread(report: Report) -> Read {
    let steps = vec![Step::new("form", Outcome::Failed, "it cannot be read")];
    Read { package: None, report, steps, claims: None, sound: false }
}

fn examine(json: Json, compact: Option<Compact>, limits: &Limits, mut report: Report) -> Read {
    let Some((manifest, compact)) = parts(&json, compact, &mut report) else { return unread(report) };
    let content = json.root().get("content").unwrap_or(json.root());
    let mut steps = vec![Step::new("form", Outcome::Passed, form(&manifest))];
    steps.extend(integrity(&json, &manifest, compact, &mut report));
    let (signer, step) = signature::verify(raw(&json), &manifest, &mut report);
    steps.push(step);
    steps.push(provenance(raw(&json), &manifest, &mut report));
    let before = report.findings.len();
    layers::check(content, &manifest, Strictness::Reading, &mut report);
    let figures = graph::check(content, Strictness::Reading, &mut report);
    let sound = report.findings.len() == before && before < MOST_FINDINGS;
    summary(raw(&json), &figures, &mut report);
    let documents = match manifest.kind {
        PackageKind::Skills => documents::read(content, limits, &mut report),
        _ => None,
    };
    let claims = Some((manifest.name.clone(), manifest.version.clone()));
    let usable = report.is_usable();
    let forged = steps.iter().any(|step| step.outcome == Outcome::Failed);
    if !usable && !forged {
        steps[0] = Step::new("form", Outcome::Failed, "it breaks the rules of the format");
    }
    let graph::Figures { nodes, edges, .. } = figures;
    let digest = OnceLock::new();
    let package = usable.then(|| Package { manifest, signer, documents, nodes, edges, digest, json });
    Read { package, report, steps, claims, sound }
}

fn raw(json: &Json) -> Value<'_> {
    json.root().get("manifest").unwrap_or(json.root())
}

/// Manifest and content, if both are there.
fn parts(json: &Json, compact: Option<Compact>, report: &mut Report) -> Option<(Manifest, Compact)> {
    let root = json.root();
    if root.kind() != Kind::Object {
        let message = format!("a package is an object, not {}", root.kind().word());
        report.error(&PK_01, root.span(), message).help("write `{\"manifest\": {…}, \"content\": {…}}`");
        return None;
    }
    for key in ["manifest", "content"] {
        match root.get(key) {
            None => {
                report
                    .error(&PK_01, 0..1, format!("`{key}` is missing"))
                    .help("write `{\"manifest\": {…}, \"content\": {…}}`");
            }
            Some(value) if value.kind() != Kind::Object => {
                let message = format!("`{key}` must be an object, not {}", value.kind().word());
                report.error(&PK_01, value.span(), message).help(format!("write `\"{key}\": {{…}}`"));
            }
            Some(_) => {}
        }
    }
    for (key, _) in root.members().filter(|(key, _)| !key.is("manifest") && !key.is("content")) {
        let message = format!("{} is covered by no hash and by no signature", manifest::described(key));
        report.warning(&PK_02, key.span(), message).help("it is kept, and nothing is made of it");
    }
    if !report.is_usable() {
        return None;
    }
    let has_graph = root.get("content").is_some_and(|content| content.get("context_graph").is_some());
    Some((manifest::read(root.get("manifest")?, has_graph, report)?, compact?))
}

fn form(manifest: &Manifest) -> String {
    let level = manifest.level.map(|level| format!(", level {level}")).unwrap_or_default();
    format!("{} package, schema {}{level}", manifest.kind.word(), manifest.schema)
}

/// The three parts of the integrity block, in order.
fn integrity(json: &Json, manifest: &Manifest, compact: Compact, report: &mut Report) -> Vec<Step> {
    let said = &manifest.integrity;
    let block = raw(json).get("integrity");
    let place = |key: &str| block.and_then(|block| block.get(key)).map_or(0..1, Value::span);
    let composite = composite(manifest.name.as_str(), manifest.version.as_str(), &said.content_hash);
    let size = |bytes: u64| if bytes == 1 { "1 byte".to_owned() } else { format!("{bytes} bytes") };
    let parts = [
        (
            "content hash",
            "content_hash",
            &said.content_hash,
            &compact.digest.hex(),
            "the content is not what was hashed",
        ),
        ("composite hash", "sha256", &said.sha256, &composite, "name, version and content hash do not belong together"),
        (
            "size",
            "byte_size",
            &size(said.byte_size),
            &size(compact.size),
            "the content does not have the size that is stated",
        ),
    ];
    let mut steps = Vec::new();
    for (name, key, said, is, message) in parts {
        if said == is {
            steps.push(Step::new(name, Outcome::Passed, said.as_str()));
            continue;
        }
        // The right digits in another case are another text.
        let (message, help) = match said.eq_ignore_ascii_case(is) {
            true => ("a hash has lower-case hex digits", "write it in lower case"),
            false => (message, "do not use it: get it again from whoever made it"),
        };
        let said = crate::printable::printable(&manifest::cut(said)).into_owned();
        report.error(&PK_08, place(key), format!("{message}: it is {is}, and the manifest says {said}")).help(help);
        steps.push(Step::new(name, Outcome::Failed, format!("it is {is}, and the manifest says {said}")));
    }
    steps
}

/// The hash over name, version and content hash.
pub(crate) fn composite(name: &str, version: &str, content_hash: &str) -> String {
    Digest::of(format!("{name}:{version}:{content_hash}").as_bytes()).hex()
}

fn provenance(raw: Value<'_>, manifest: &Manifest, report: &mut Report) -> Step {
    match &manifest.provenance {
        Some(Provenance { tool, tool_version }) => {
            Step::new("provenance", Outcome::Passed, format!("made by {tool} {tool_version}").trim_end().to_owned())
        }
        // What is there and cannot be read was told already.
        None if raw.get("provenance").is_some_and(|value| !value.is_null()) => {
            Step::new("provenance", Outcome::Warned, "it does not say what made it")
        }
        None => {
            report
                .whole(Severity::Warning, &PK_03, "it does not say what made it: `provenance` is missing")
                .help("`sp pkg create` writes it");
            Step::new("provenance", Outcome::Warned, "missing: it does not say what made it")
        }
    }
}

/// What the manifest says of the graph is held against the graph.
fn summary(manifest: Value<'_>, graph: &graph::Figures<'_>, report: &mut Report) {
    let Some(summary) = manifest.get("graph_summary").filter(|summary| !summary.is_null()) else { return };
    if summary.kind() != Kind::Object {
        let message = format!("`graph_summary` must be an object, not {}", summary.kind().word());
        report.warning(&PK_04, summary.span(), message).help("it is read as if it were not there");
        return;
    }
    for (key, count) in [("node_count", graph.nodes), ("edge_count", graph.edges)] {
        let Some(value) = summary.get(key).filter(|value| value.whole() != Some(count as u64)) else { continue };
        let message = match value.whole() {
            Some(said) => format!("`graph_summary.{key}` says {said}, and there are {count}"),
            None => format!("`graph_summary.{key}` must be a whole number, not {}", manifest::not_a_number(value)),
        };
        report.warning(&PK_04, value.span(), message).help("make the package anew");
    }
    if let Some(types) = summary.get("node_types") {
        let said: Vec<_> = types.items().filter_map(Value::text).collect();
        if !said.iter().eq(&graph.types) {
            report
                .warning(&PK_04, types.span(), "`graph_summary.node_types` are not the types of the nodes, sorted")
                .help("make the package anew");
        }
    }
}
