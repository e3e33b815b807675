//! The skills extension: `skills/list`, `skills/get`, `resources/directory/read`.

use std::collections::BTreeSet;

use rmcp::ErrorData;
use rmcp::model::{ExtensionCapabilities, Resource};
use serde::Deserialize;
use serde_json::{Value, json};
use sp_engine::hidden;
use sp_formats::mcp::{EXTENSION, SkillEntry, media_type, not_served, path_of, skill_uri};
use sp_formats::printable::printable;
use sp_formats::skill::SKILL_FILE;

use crate::mcp::answer::failed;
use crate::mcp::cursor::{cursor, key, unknown};
use crate::mcp::pages::{PAGE, TTL_MS, page};
use crate::mcp::resources::{DIRECTORY, skill_resource};
use crate::mcp::shelf::Shelf;

/// The methods of the extension.
pub(crate) const METHODS: [&str; 3] = ["skills/list", "skills/get", "resources/directory/read"];

/// That the extension is here.
pub(crate) fn capability() -> ExtensionCapabilities {
    let mut extensions = ExtensionCapabilities::new();
    let settings = json!({ "directoryRead": true });
    extensions.insert(EXTENSION.into(), serde_json::from_value(settings).unwrap_or_default());
    extensions
}

#[derive(Default, Deserialize)]
struct Asked {
    uri: Option<String>,
    cursor: Option<String>,
}

/// Answers one of the methods; none if it is another one.
pub(crate) fn answer<S: Shelf>(shelf: &S, method: &str, params: Option<Value>) -> Option<Result<Value, ErrorData>> {
    let asked: Result<Asked, ErrorData> = match params {
        None | Some(Value::Null) => Ok(Asked::default()),
        Some(params) => serde_json::from_value(params)
            .map_err(|e| ErrorData::invalid_params(printable(&e.to_string()).into_owned(), None)),
    };
    let answer: fn(&S, &Asked) -> Result<Value, ErrorData> = match method {
        "skills/list" => list,
        "skills/get" => get,
        "resources/directory/read" => directory,
        _ => return None,
    };
    Some(asked.and_then(|asked| answer(shelf, &asked)))
}

fn list<S: Shelf>(shelf: &S, asked: &Asked) -> Result<Value, ErrorData> {
    let after = key(asked.cursor.as_deref())?;
    let page = shelf.skills(after.as_deref(), PAGE).map_err(|e| failed(&e))?.ok_or_else(unknown)?;
    let skills: Vec<Value> = page.items.iter().map(shown).collect();
    let mut answer = json!({
        "resultType": "complete", "skills": skills, "ttlMs": TTL_MS, "cacheScope": "private"
    });
    if let Some(next) = page.next {
        answer["nextCursor"] = cursor(&next).into();
    }
    Ok(answer)
}

fn get<S: Shelf>(shelf: &S, asked: &Asked) -> Result<Value, ErrorData> {
    let uri = wanted(asked)?;
    let suffix = format!("/{SKILL_FILE}");
    let path = path_of(uri).filter(|path| path.as_str().ends_with(&suffix));
    let found = path.map(|path| shelf.skill(&path)).transpose().map_err(|e| failed(&e))?.flatten();
    let skill = found.filter(|skill| path_of(&skill.uri) == path_of(uri)).ok_or_else(|| missing(uri))?;
    Ok(json!({ "resultType": "complete", "skill": shown(&skill), "ttlMs": TTL_MS, "cacheScope": "private" }))
}

fn directory<S: Shelf>(shelf: &S, asked: &Asked) -> Result<Value, ErrorData> {
    let uri = wanted(asked)?;
    let path = path_of(uri).ok_or_else(|| missing(uri))?;
    let skill = shelf.skill(&path).map_err(|e| failed(&e))?.ok_or_else(|| missing(uri))?;
    let children = children(&skill, path.as_str())
        .ok_or_else(|| ErrorData::invalid_params(format!("`{}` is not a directory", printable(uri)), None))?;
    let (page, next) = page(&children, asked.cursor.as_deref(), |one| &one.uri)?;
    let mut answer = json!({ "resultType": "complete", "resources": page, "ttlMs": TTL_MS, "cacheScope": "private" });
    if let Some(next) = next {
        answer["nextCursor"] = next.into();
    }
    Ok(answer)
}

/// An entry, to the letter. Hosts hold it against the file, so what is hidden in it stays, and it is said.
fn shown(skill: &SkillEntry) -> Value {
    let mut entry = json!(skill);
    let text = entry["frontmatter"].to_string();
    let hidden = hidden::find(&text).len();
    if hidden > 0 {
        entry["_meta"] = json!({ "skillpack/hidden": hidden });
    }
    entry
}

/// What lies directly in a folder of a skill; none if it is no folder of it.
fn children(skill: &SkillEntry, folder: &str) -> Option<Vec<Resource>> {
    let below = format!("{folder}/");
    let mut dirs = BTreeSet::new();
    let mut children = Vec::new();
    for file in &skill.resources {
        let path = path_of(&file.uri)?;
        let Some(rest) = path.as_str().strip_prefix(&below) else { continue };
        match rest.split_once('/') {
            Some((dir, _)) => {
                if dirs.insert(dir.to_owned()) {
                    children.push(Resource::new(skill_uri(folder, dir), hidden::mark(dir)).with_mime_type(DIRECTORY));
                }
            }
            None if file.uri == skill.uri => children.push(skill_resource(skill)),
            None => {
                let resource =
                    Resource::new(&file.uri, hidden::mark(rest)).with_mime_type(media_type(rest)).with_size(file.size);
                children.push(resource);
            }
        }
    }
    children.sort_by(|a, b| a.uri.cmp(&b.uri));
    (!children.is_empty()).then_some(children)
}

fn wanted(asked: &Asked) -> Result<&str, ErrorData> {
    asked.uri.as_deref().ok_or_else(|| ErrorData::invalid_params("`uri` is missing", None))
}

fn missing(uri: &str) -> ErrorData {
    ErrorData::invalid_params(not_served(uri), None)
}
