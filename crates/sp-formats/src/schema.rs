//! JSON Schemas of the YAML files of `sp` for editors, generated from the types.
//!
//! A schema cannot express everything that `sp check` verifies, but what it rejects, `sp check`
//! rejects too. Doc comments on fields are the descriptions in the schema.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use sp_tree::LIMIT_NAMES;

use crate::accept::AcceptFile;
use crate::config::Config;
use crate::git_repo::{GitRef, GitRepo};
use crate::pack::{Pack, SpannedPattern};
use crate::policy::Policy;
use crate::project::manifest::ProjectManifest;

/// The files that have a schema.
pub const SCHEMA_FILES: &[&str] = &["pack", "config", "project", "accept", "policy"];

/// Returns the schema of a file.
pub fn file_schema(file: &str) -> Option<Schema> {
    match file {
        "pack" => Some(draft07_schema::<Pack>()),
        "config" => Some(draft07_schema::<Config>()),
        "project" => Some(draft07_schema::<ProjectManifest>()),
        "accept" => Some(draft07_schema::<AcceptFile>()),
        "policy" => Some(draft07_schema::<Policy>()),
        _ => None,
    }
}

/// Draft 7 has the best editor support.
fn draft07_schema<T: JsonSchema>() -> Schema {
    SchemaSettings::draft07().into_generator().into_root_schema_for::<T>()
}

/// Implements `JsonSchema` for a type whose form in a file differs from its fields.
macro_rules! impl_json_schema {
    ($type:ty, $name:literal, $schema:expr) => {
        impl JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

impl_json_schema!(
    SpannedPattern,
    "Pattern",
    json_schema!({
        "type": ["string", "number", "boolean"],
        "description": "A pattern that matches skill IDs: `*` matches within a path segment, `**` \
                        across segments.",
        "pattern": "^(?!\\.?/).*[^/]$",
        "maxLength": 4096
    })
);

impl_json_schema!(
    GitRepo,
    "Repository",
    json_schema!({
        "type": "string",
        "description": "A git URL, a shorthand such as `github.com/<org>/<repo>`, or a path.",
        "pattern": "^[^-\\s]"
    })
);

impl_json_schema!(
    GitRef,
    "Ref",
    json_schema!({
        "type": ["string", "number", "boolean"],
        "description": "A git tag, branch or commit.",
        "pattern": "^[^-\\s]"
    })
);

/// Text. YAML may read it as a number or boolean, but `sp` takes it as written.
pub(crate) struct TextSchema;

impl_json_schema!(
    TextSchema,
    "Text",
    json_schema!({ "type": ["string", "number", "boolean"], "minLength": 1 })
);

/// The ID of a rule, or `*`.
pub(crate) struct RuleIdSchema;

impl_json_schema!(
    RuleIdSchema,
    "RuleId",
    json_schema!({ "type": "string", "pattern": "^([A-Z]{2}-[0-9]{2,3}(-[0-9a-f]{10})?|\\*)$" })
);

/// A date.
pub(crate) struct DateSchema;

impl_json_schema!(
    DateSchema,
    "Date",
    json_schema!({ "type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" })
);

/// Text that becomes part of a folder name.
pub(crate) struct FolderPartSchema;

impl_json_schema!(
    FolderPartSchema,
    "FolderPart",
    json_schema!({ "type": ["string", "number", "boolean"], "pattern": "^[^/\\\\:<>\"|?*\\x00-\\x1f]*$" })
);

/// Paths of sinks by name.
pub(crate) struct SinkPathsSchema;

impl_json_schema!(
    SinkPathsSchema,
    "Sinks",
    json_schema!({
        "type": "object",
        "additionalProperties": { "type": "string", "pattern": "^(/|~$|~/)" }
    })
);

/// A registry: a URL, or a URL with the namespaces that are bound to it.
pub(crate) struct RegistryEntrySchema;

impl_json_schema!(RegistryEntrySchema, "Registry", {
    let url = serde_json::json!({ "type": "string", "pattern": "^https?://[^@?#\\s]+$" });
    json_schema!({
        "anyOf": [
            url,
            {
                "type": "object",
                "properties": {
                    "url": url,
                    "namespaces": { "type": ["array", "null"], "items": { "type": "string" } }
                },
                "required": ["url"],
                "additionalProperties": false
            }
        ]
    })
});

/// Numbers by the names of limits.
pub(crate) struct LimitsSchema;

impl_json_schema!(LimitsSchema, "Limits", {
    let number =
        |name: &&str| ((*name).to_owned(), serde_json::json!({ "type": "integer", "minimum": 0 }));
    let properties: serde_json::Map<_, _> = LIMIT_NAMES.iter().map(number).collect();
    json_schema!({ "type": "object", "properties": properties, "additionalProperties": false })
});

pub(crate) struct PublicKeySchema;

impl_json_schema!(
    PublicKeySchema,
    "Key",
    json_schema!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })
);
