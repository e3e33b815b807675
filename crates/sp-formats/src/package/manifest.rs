//! The manifest of a package: name, version, dependencies, hashes and provenance.

use std::collections::HashSet;
use std::ops::Range as Bytes;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::json::{JsonKind, JsonValue};
use crate::package::rules::{PK_02, PK_03, PK_04, PK_08};
use crate::printable::printable;
use crate::report::Report;
use crate::time::is_timestamp;

use super::dependencies::{PackageDependency, read_conflicts, read_dependencies};
use super::manifest_fields::{
    ManifestFields, describe_non_number, describe_value, invalid_name_message, start_span,
    truncate_for_message, warn_kind,
};
use super::name::{PackageName, PackageVersion};

/// What a package contains.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum PackageKind {
    /// Knowledge as a graph or layers.
    Context,
    /// Skills as documents.
    Skills,
    /// An extension of a tool.
    Addon,
    /// A grammar for a tool.
    Grammar,
}

impl PackageKind {
    const ALL: [Self; 4] = [Self::Context, Self::Skills, Self::Addon, Self::Grammar];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Skills => "skills",
            Self::Addon => "addon",
            Self::Grammar => "grammar",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// The hashes in the manifest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Integrity {
    /// The digest over name, version and content hash.
    pub sha256: String,
    /// The digest of the content without insignificant white space.
    pub content_hash: String,
    /// The size of the content without insignificant white space.
    pub byte_size: u64,
}

/// The tool that created a package.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Provenance {
    pub tool: String,
    pub tool_version: String,
}

/// A parsed manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageManifest {
    /// The schema version, 1 or 2.
    pub schema: u64,
    pub kind: PackageKind,
    /// Whether only members of the namespace may see the package in a registry.
    pub is_private: bool,
    pub name: PackageName,
    pub version: PackageVersion,
    pub description: Option<String>,
    pub author: Option<String>,
    /// As written; not trusted.
    pub created_at: Option<String>,
    /// As written; not trusted.
    pub updated_at: Option<String>,
    /// The conformance level that the package claims.
    pub level: Option<u64>,
    /// The declared layers, each with its span.
    pub layers: Vec<(String, Bytes<usize>)>,
    pub tags: Vec<String>,
    pub dependencies: Vec<PackageDependency>,
    /// Packages that cannot be installed together with this one.
    pub conflicts: Vec<PackageName>,
    pub integrity: Integrity,
    pub provenance: Option<Provenance>,
}

/// Reads a manifest. Returns `None` without a valid name, version or integrity block.
pub(super) fn read(
    value: JsonValue<'_>,
    has_graph: bool,
    report: &mut Report,
) -> Option<PackageManifest> {
    let fields = ManifestFields { value };
    let identity = read_identity(&fields, has_graph, report);
    // Everything is read before a missing member ends the function, so that all problems are
    // reported at once.
    let description = recommended_text(&fields, "description", report);
    let author = fields.text("author", report);
    let [created_at, updated_at] =
        ["created_at", "updated_at"].map(|key| read_time(&fields, key, report));
    let layers = read_layers(&fields, identity.schema, report);
    let tags = fields.text_list("tags", report).into_iter().map(|(word, _)| word).collect();
    let dependencies = read_dependencies(&fields, report);
    let conflicts = read_conflicts(&fields, report);
    let provenance = read_provenance(&fields, report);
    let is_private = read_visibility(&fields, report);
    let name = identity.name?;
    check_scope(&fields, &name, report);
    Some(PackageManifest {
        schema: identity.schema?,
        kind: identity.kind?,
        is_private,
        name,
        version: identity.version?,
        description,
        author,
        created_at,
        updated_at,
        level: identity.level,
        layers,
        tags,
        dependencies,
        conflicts,
        integrity: identity.integrity?,
        provenance,
    })
}

/// What makes a package this package. An invalid member is `None` and was reported.
struct PackageIdentity {
    level: Option<u64>,
    schema: Option<u64>,
    kind: Option<PackageKind>,
    name: Option<PackageName>,
    version: Option<PackageVersion>,
    integrity: Option<Integrity>,
}

fn read_identity(
    fields: &ManifestFields<'_>,
    has_graph: bool,
    report: &mut Report,
) -> PackageIdentity {
    let level = fields.integer("conformance_level", &PK_04, report);
    let schema = read_schema(fields, level.is_some() || has_graph, report);
    let kind = read_kind(fields, schema, report);
    let name = read_name(fields, schema, report);
    let version = read_version(fields, report);
    let integrity = read_integrity(fields, report);
    if let Some((claimed, value)) = level.zip(fields.get("conformance_level"))
        && !(1..=3).contains(&claimed)
    {
        report
            .error(&PK_04, value.span(), format!("invalid conformance level {claimed}"))
            .help("valid levels: 1, 2, 3");
    }
    PackageIdentity { level, schema, kind, name, version, integrity }
}

fn read_schema(
    fields: &ManifestFields<'_>,
    looks_like_2: bool,
    report: &mut Report,
) -> Option<u64> {
    let Some(value) = fields.get("schema_version") else {
        let schema = if looks_like_2 { 2 } else { 1 };
        let message = format!("`schema_version` is missing; assuming {schema}");
        report
            .warning(&PK_02, start_span(fields.value), message)
            .help(format!("add `\"schema_version\": {schema}`"));
        return Some(schema);
    };
    match value.as_u64() {
        Some(schema @ (1 | 2)) => Some(schema),
        _ => {
            let help = match value.as_u64() {
                Some(newer) if newer > 2 => "a newer version of `sp` may support it",
                _ => "write `\"schema_version\": 2`",
            };
            let message =
                format!("`schema_version` must be 1 or 2, not {}", describe_non_number(value));
            report.error(&PK_03, value.span(), message).help(help);
            None
        }
    }
}

fn read_kind(
    fields: &ManifestFields<'_>,
    schema: Option<u64>,
    report: &mut Report,
) -> Option<PackageKind> {
    let Some(value) = fields.get("kind") else { return Some(PackageKind::Context) };
    let Some(kind) = value.text().and_then(|word| PackageKind::parse(&word)) else {
        let message = format!("unknown package kind {}", describe_value(value));
        let help = "valid kinds: context, skills, addon, grammar; a newer version of `sp` may \
                    support more";
        report.error(&PK_04, value.span(), message).help(help);
        return None;
    };
    if kind != PackageKind::Context && schema == Some(1) {
        let message = format!("the package kind `{}` requires schema 2", kind.as_str());
        report.error(&PK_04, value.span(), message).help("write `\"schema_version\": 2`");
        return None;
    }
    Some(kind)
}

fn read_name(
    fields: &ManifestFields<'_>,
    schema: Option<u64>,
    report: &mut Report,
) -> Option<PackageName> {
    let value = required_text(fields, "name", report)?;
    let text = value.text().unwrap_or_default();
    match PackageName::new(&text) {
        Ok(name) if name.scope().is_some() && schema == Some(1) => {
            let message = format!("the name `{name}` has a scope, which requires schema 2");
            report
                .error(&PK_03, value.span(), message)
                .help("write `\"schema_version\": 2`, or remove the scope");
            None
        }
        Ok(name) => Some(name),
        Err(why) => {
            let message = invalid_name_message(&text, &why);
            report
                .error(&PK_03, value.span(), message)
                .help("use a name such as `my-project` or `@team/my-project`");
            None
        }
    }
}

fn read_version(fields: &ManifestFields<'_>, report: &mut Report) -> Option<PackageVersion> {
    let value = required_text(fields, "version", report)?;
    let text = value.text().unwrap_or_default();
    match PackageVersion::new(&text) {
        Ok(version) => {
            if version.semver().is_none() {
                report
                    .warning(
                        &PK_03,
                        value.span(),
                        format!("the version `{version}` is not a SemVer version"),
                    )
                    .help(
                        "use a version such as `1.2.3`; version ranges do not match other versions",
                    );
            }
            Some(version)
        }
        Err(why) => {
            let message = format!("invalid version `{}`: {why}", truncate_for_message(&text));
            report.error(&PK_03, value.span(), message).help("use a version such as `1.2.3`");
            None
        }
    }
}

fn required_text<'j>(
    fields: &ManifestFields<'j>,
    key: &str,
    report: &mut Report,
) -> Option<JsonValue<'j>> {
    match fields.value.get(key) {
        Some(value) if value.kind() == JsonKind::Text => Some(value),
        Some(value) => {
            let message = format!("`{key}` must be a string, not {}", value.kind().describe());
            report.error(&PK_03, value.span(), message).help(format!("write `\"{key}\": \"…\"`"));
            None
        }
        None => {
            report
                .error(&PK_03, start_span(fields.value), format!("`{key}` is missing"))
                .help(format!("add `\"{key}\"`"));
            None
        }
    }
}

/// Text whose absence is a warning.
fn recommended_text(fields: &ManifestFields<'_>, key: &str, report: &mut Report) -> Option<String> {
    let text = fields.text(key, report);
    if fields.get(key).is_none() {
        let help = format!("add `\"{key}\"`; other tools require it");
        report.warning(&PK_03, start_span(fields.value), format!("`{key}` is missing")).help(help);
    }
    text
}

fn read_time(fields: &ManifestFields<'_>, key: &str, report: &mut Report) -> Option<String> {
    let text = if key == "created_at" {
        recommended_text(fields, key, report)
    } else {
        fields.text(key, report)
    };
    if let (Some(text), Some(value)) = (&text, fields.get(key))
        && !is_timestamp(text)
    {
        let message = format!("invalid time in `{key}`: `{}`", truncate_for_message(text));
        report
            .warning(&PK_03, value.span(), message)
            .help("use RFC 3339, such as `2026-05-22T00:00:00Z`");
    }
    text
}

fn read_layers(
    fields: &ManifestFields<'_>,
    schema: Option<u64>,
    report: &mut Report,
) -> Vec<(String, Bytes<usize>)> {
    let layers = fields.text_list("layers", report);
    let mut seen = HashSet::new();
    for (layer, span) in &layers {
        if !seen.insert(layer) {
            let message = format!("duplicate layer `{}`", printable(layer));
            report.error(&PK_03, span.clone(), message).help("remove the duplicate");
        }
    }
    if layers.is_empty() {
        let span = fields.value.get("layers").map_or(start_span(fields.value), JsonValue::span);
        match schema {
            Some(1) => {
                report
                    .error(&PK_03, span, "schema 1 requires at least one declared layer")
                    .help("list the layers of `content`, such as `\"layers\": [\"knowledge\"]`");
            }
            _ if fields.get("layers").is_none() => {
                let help = "add `\"layers\": []`; other tools require it";
                report
                    .warning(&PK_03, span, "`layers` is missing; assuming an empty list")
                    .help(help);
            }
            _ => {}
        }
    }
    layers
}

fn read_integrity(fields: &ManifestFields<'_>, report: &mut Report) -> Option<Integrity> {
    let Some(value) = fields.get("integrity").filter(|value| value.kind() == JsonKind::Object)
    else {
        let member = fields.value.get("integrity");
        let message = match member {
            None => "`integrity` is missing".into(),
            Some(value) => {
                format!("`integrity` must be an object, not {}", value.kind().describe())
            }
        };
        report
            .error(&PK_08, member.map_or(start_span(fields.value), JsonValue::span), message)
            .help("run `sp pkg create --input <file>` to create a package from a handwritten file");
        return None;
    };
    let mut hash = |key: &str| {
        let text = value.get(key).and_then(JsonValue::text).map(std::borrow::Cow::into_owned);
        if text.is_none() {
            let span = value.get(key).map_or(start_span(value), JsonValue::span);
            report
                .error(&PK_08, span, format!("`integrity.{key}` must be 64 hex digits"))
                .help("create the package again");
        }
        text
    };
    let (sha256, content_hash) = (hash("sha256"), hash("content_hash"));
    let byte_size = value.get("byte_size").and_then(JsonValue::as_u64);
    if byte_size.is_none() {
        let span = value.get("byte_size").map_or(start_span(value), JsonValue::span);
        report
            .error(&PK_08, span, "`integrity.byte_size` must be a whole number")
            .help("create the package again");
    }
    Some(Integrity { sha256: sha256?, content_hash: content_hash?, byte_size: byte_size? })
}

fn read_provenance(fields: &ManifestFields<'_>, report: &mut Report) -> Option<Provenance> {
    let value = fields.get("provenance")?;
    if value.kind() != JsonKind::Object {
        warn_kind(value, "provenance", "an object", report);
        return None;
    }
    let inner = ManifestFields { value };
    let [tool, tool_version] = ["tool", "tool_version"].map(|key| {
        let text = inner.text(key, report);
        if text.is_none() {
            report
                .warning(&PK_03, value.span(), format!("`provenance.{key}` is missing"))
                .help("add the tool that created the package");
        }
        text
    });
    Some(Provenance { tool: tool?, tool_version: tool_version.unwrap_or_default() })
}

fn check_scope(fields: &ManifestFields<'_>, name: &PackageName, report: &mut Report) {
    let Some(value) = fields.get("scope") else { return };
    let stated = value.text();
    let plain = stated.as_deref().map(|stated| stated.strip_prefix('@').unwrap_or(stated));
    if plain.is_none() || name.scope().map(|scope| &scope[1..]) != plain {
        let message = format!("`scope` is {}, but the name is `{name}`", describe_value(value));
        report
            .warning(&PK_04, value.span(), message)
            .help("set `scope` to the part of the name before `/`");
    }
}

/// Whether registries must make the package private.
fn read_visibility(fields: &ManifestFields<'_>, report: &mut Report) -> bool {
    let value = fields.get("visibility");
    if let Some(value) = value
        && !(value.eq_str("public") || value.eq_str("private"))
    {
        let message =
            format!("`visibility` must be `public` or `private`, not {}", describe_value(value));
        report.warning(&PK_04, value.span(), message).help("use `public` or `private`");
    }
    value.is_some_and(|value| value.eq_str("private"))
}
