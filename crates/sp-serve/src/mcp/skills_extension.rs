//! The skills extension: `skills/list`, `skills/get`, `resources/directory/read`.

use std::collections::BTreeSet;

use rmcp::ErrorData;
use rmcp::model::{ExtensionCapabilities, Resource};
use serde::Deserialize;
use serde_json::{Value, json};
use sp_engine::hidden;
use sp_formats::mcp::{
    McpSkillEntry, SKILLS_EXTENSION, media_type, not_served_message, parse_skill_uri, skill_uri,
};
use sp_formats::printable::printable;
use sp_formats::skill::SKILL_FILE;

use crate::mcp::backend::McpBackend;
use crate::mcp::cursor::{decode_cursor, encode_cursor, unknown_cursor};
use crate::mcp::pagination::{PAGE_SIZE, TTL_MS, paginate};
use crate::mcp::resources::{DIRECTORY_MEDIA_TYPE, skill_resource};
use crate::mcp::response::internal_error;

pub(crate) const METHODS: [&str; 3] = ["skills/list", "skills/get", "resources/directory/read"];

pub(crate) fn capability() -> ExtensionCapabilities {
    let mut extensions = ExtensionCapabilities::new();
    let settings = json!({ "directoryRead": true });
    extensions
        .insert(SKILLS_EXTENSION.into(), serde_json::from_value(settings).unwrap_or_default());
    extensions
}

#[derive(Default, Deserialize)]
struct SkillsExtensionParams {
    uri: Option<String>,
    cursor: Option<String>,
}

/// Handles a method of the extension. Returns `None` for other methods.
pub(crate) fn handle_method<B: McpBackend>(
    backend: &B,
    method: &str,
    params: Option<Value>,
) -> Option<Result<Value, ErrorData>> {
    let params: Result<SkillsExtensionParams, ErrorData> = match params {
        None | Some(Value::Null) => Ok(SkillsExtensionParams::default()),
        Some(params) => serde_json::from_value(params)
            .map_err(|e| ErrorData::invalid_params(printable(&e.to_string()).into_owned(), None)),
    };
    let handle: fn(&B, &SkillsExtensionParams) -> Result<Value, ErrorData> = match method {
        "skills/list" => list_skills,
        "skills/get" => get_skill,
        "resources/directory/read" => read_directory,
        _ => return None,
    };
    Some(params.and_then(|params| handle(backend, &params)))
}

fn list_skills<B: McpBackend>(
    backend: &B,
    params: &SkillsExtensionParams,
) -> Result<Value, ErrorData> {
    let after = decode_cursor(params.cursor.as_deref())?;
    let page = backend
        .skills(after.as_deref(), PAGE_SIZE)
        .map_err(|e| internal_error(&e))?
        .ok_or_else(unknown_cursor)?;
    let skills: Vec<Value> = page.items.iter().map(entry_json).collect();
    let mut answer = json!({
        "resultType": "complete", "skills": skills, "ttlMs": TTL_MS, "cacheScope": "private"
    });
    if let Some(next) = page.next {
        answer["nextCursor"] = encode_cursor(&next).into();
    }
    Ok(answer)
}

fn get_skill<B: McpBackend>(
    backend: &B,
    params: &SkillsExtensionParams,
) -> Result<Value, ErrorData> {
    let uri = required_uri(params)?;
    let suffix = format!("/{SKILL_FILE}");
    let path = parse_skill_uri(uri).filter(|path| path.as_str().ends_with(&suffix));
    let found = path
        .map(|path| backend.skill(&path))
        .transpose()
        .map_err(|e| internal_error(&e))?
        .flatten();
    let skill = found
        .filter(|skill| parse_skill_uri(&skill.uri) == parse_skill_uri(uri))
        .ok_or_else(|| not_served_error(uri))?;
    Ok(
        json!({ "resultType": "complete", "skill": entry_json(&skill), "ttlMs": TTL_MS, "cacheScope": "private" }),
    )
}

fn read_directory<B: McpBackend>(
    backend: &B,
    params: &SkillsExtensionParams,
) -> Result<Value, ErrorData> {
    let uri = required_uri(params)?;
    let path = parse_skill_uri(uri).ok_or_else(|| not_served_error(uri))?;
    let skill = backend
        .skill(&path)
        .map_err(|e| internal_error(&e))?
        .ok_or_else(|| not_served_error(uri))?;
    let children = children(&skill, path.as_str()).ok_or_else(|| {
        ErrorData::invalid_params(format!("`{}` is not a directory", printable(uri)), None)
    })?;
    let (page, next) = paginate(&children, params.cursor.as_deref(), |resource| &resource.uri)?;
    let mut answer = json!({ "resultType": "complete", "resources": page, "ttlMs": TTL_MS, "cacheScope": "private" });
    if let Some(next) = next {
        answer["nextCursor"] = next.into();
    }
    Ok(answer)
}

/// Returns an entry as JSON. Hosts compare it with the file, so hidden characters stay in it and
/// are reported in `_meta`.
fn entry_json(skill: &McpSkillEntry) -> Value {
    let mut entry = json!(skill);
    let text = entry["frontmatter"].to_string();
    let hidden = hidden::find(&text).len();
    if hidden > 0 {
        entry["_meta"] = json!({ "skillpack/hidden": hidden });
    }
    entry
}

/// Returns the direct children of a folder of a skill, or `None` if the skill has no such folder.
fn children(skill: &McpSkillEntry, folder: &str) -> Option<Vec<Resource>> {
    let below = format!("{folder}/");
    let mut dirs = BTreeSet::new();
    let mut children = Vec::new();
    for file in &skill.resources {
        let path = parse_skill_uri(&file.uri)?;
        let Some(rest) = path.as_str().strip_prefix(&below) else { continue };
        match rest.split_once('/') {
            Some((dir, _)) => {
                if dirs.insert(dir.to_owned()) {
                    children.push(
                        Resource::new(skill_uri(folder, dir), hidden::mark(dir))
                            .with_mime_type(DIRECTORY_MEDIA_TYPE),
                    );
                }
            }
            None if file.uri == skill.uri => children.push(skill_resource(skill)),
            None => {
                let resource = Resource::new(&file.uri, hidden::mark(rest))
                    .with_mime_type(media_type(rest))
                    .with_size(file.size);
                children.push(resource);
            }
        }
    }
    children.sort_by(|a, b| a.uri.cmp(&b.uri));
    (!children.is_empty()).then_some(children)
}

fn required_uri(params: &SkillsExtensionParams) -> Result<&str, ErrorData> {
    params.uri.as_deref().ok_or_else(|| ErrorData::invalid_params("missing parameter `uri`", None))
}

fn not_served_error(uri: &str) -> ErrorData {
    ErrorData::invalid_params(not_served_message(uri), None)
}
