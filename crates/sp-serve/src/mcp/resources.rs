//! Resources: skills, context packs and their files, packages; each with a template.

use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource, ResourceTemplate,
};
use serde_json::Value;
use sp_engine::hidden;
use sp_formats::mcp::{SkillEntry, escaped, media_type, not_served, path_of, unescaped};

use crate::mcp::answer::{contents, failed};
use crate::mcp::cursor::{cursor, key, unknown};
use crate::mcp::pages::{LONG_TTL_MS, PAGE, TTL_MS};
use crate::mcp::shelf::{PackCard, PackageCard, Shelf};

/// The media type of a folder.
pub(crate) const DIRECTORY: &str = "inode/directory";
/// How the addresses of context packs and of packages start.
pub(crate) const PACK: &str = "context-pack://";
pub(crate) const PACKAGE: &str = "ctxpkg://";
/// In front of the keys of what is no skill, so that a cursor says where it stands.
const BEHIND_SKILLS: &str = "\n";
/// A larger package is not read as a whole: `load_context` gives the best of it.
const LARGEST_PACKAGE: u64 = 16 * 1024 * 1024;

/// A skill as a resource: its `SKILL.md`.
pub(crate) fn skill_resource(skill: &SkillEntry) -> Resource {
    let text = |field: &str| {
        hidden::mark(skill.frontmatter.get(field).and_then(Value::as_str).unwrap_or_default()).into_owned()
    };
    let size = skill.resources.iter().find(|file| file.uri == skill.uri).map_or(0, |file| file.size);
    Resource::new(&skill.uri, text("name"))
        .with_description(text("description"))
        .with_mime_type("text/markdown")
        .with_size(size)
}

/// Where a file of a context pack is read.
pub(crate) fn pack_uri(id: &str, file: &str) -> String {
    format!("{PACK}{id}/{}", escaped(file))
}

/// Where a package is read.
pub(crate) fn package_uri(name: &str, version: &str) -> String {
    format!("{PACKAGE}{}/{}", escaped(name.trim_start_matches('@')), escaped(version))
}

fn pack_files(pack: &PackCard) -> impl Iterator<Item = Resource> {
    pack.files.iter().map(|(file, bytes)| {
        let name = hidden::mark(&pack.name);
        Resource::new(pack_uri(&pack.id, file), format!("{name}: {}", hidden::mark(file)))
            .with_description(hidden::mark(&pack.description))
            .with_mime_type(media_type(file))
            .with_size(bytes.len() as u64)
    })
}

fn package_resource(package: &PackageCard) -> Resource {
    Resource::new(package_uri(&package.name, &package.version), format!("{} {}", package.name, package.version))
        .with_description(hidden::mark(&package.description))
        .with_mime_type("application/json")
        .with_size(package.size)
}

/// A page of resources: the skills first, then the files of context packs, then packages.
pub(crate) fn list<S: Shelf>(shelf: &S, given: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    let after = key(given)?;
    let in_rest = after.as_deref().and_then(|key| key.strip_prefix(BEHIND_SKILLS));
    let (mut resources, mut next) = (Vec::new(), None);
    if in_rest.is_none() {
        let page = shelf.skills(after.as_deref(), PAGE).map_err(|e| failed(&e))?.ok_or_else(unknown)?;
        resources.extend(page.items.iter().map(skill_resource));
        next = page.next;
    }
    if next.is_none() {
        let rest = rest(shelf)?;
        let start = match in_rest.filter(|uri| !uri.is_empty()) {
            None => 0,
            Some(uri) => rest.iter().position(|one| one.uri == uri).ok_or_else(unknown)? + 1,
        };
        let room = PAGE.saturating_sub(resources.len());
        resources.extend(rest[start..].iter().take(room).cloned());
        if rest.len() > start + room {
            let last = (start + room).checked_sub(1).map_or("", |last| rest[last].uri.as_str());
            next = Some(format!("{BEHIND_SKILLS}{last}"));
        }
    }
    let mut result = ListResourcesResult::with_all_items(resources);
    result.next_cursor = next.map(|next| cursor(&next));
    Ok(result.with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Private))
}

/// Everything but skills.
fn rest<S: Shelf>(shelf: &S) -> Result<Vec<Resource>, ErrorData> {
    let packs = shelf.packs().map_err(|e| failed(&e))?;
    let packages = shelf.packages().map_err(|e| failed(&e))?;
    Ok(packs.iter().flat_map(|pack| pack_files(pack)).chain(packages.iter().map(package_resource)).collect())
}

/// How addresses are made.
pub(crate) fn templates() -> ListResourceTemplatesResult {
    let template = |uri: &str, name: &str, about: &str, mime: Option<&str>| {
        let template = ResourceTemplate::new(uri, name).with_description(about);
        mime.iter().fold(template, |template, mime| template.with_mime_type(*mime))
    };
    let templates = vec![
        template("skill://{+path}/SKILL.md", "skill", "The instructions of a skill", Some("text/markdown")),
        template("skill://{+path}/{+file}", "skill-file", "A file of a skill", None),
        template("context-pack://{pack_id}/{file}", "context-pack", "A file of a context pack", None),
        template("ctxpkg://{+name}/{version}", "package", "A package of knowledge or skills", Some("application/json")),
    ];
    ListResourceTemplatesResult::with_all_items(templates).with_ttl_ms(LONG_TTL_MS).with_cache_scope(CacheScope::Public)
}

/// Reads a resource.
pub(crate) fn read<S: Shelf>(shelf: &S, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let (path, bytes) = bytes(shelf, uri)?
        .ok_or_else(|| ErrorData::resource_not_found(not_served(uri), Some(serde_json::json!({ "uri": uri }))))?;
    let result = ReadResourceResult::new(vec![contents(uri, &path, &bytes)]);
    Ok(result.with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Private))
}

/// What stands at an address, with the path that tells what it is.
pub(crate) fn bytes<S: Shelf>(shelf: &S, uri: &str) -> Result<Option<(String, Vec<u8>)>, ErrorData> {
    if let Some(path) = path_of(uri) {
        let file = shelf.skill_file(&path).map_err(|e| failed(&e))?;
        return Ok(file.map(|bytes| (path.as_str().to_owned(), bytes)));
    }
    if let Some((id, file)) = uri.strip_prefix(PACK).and_then(|rest| rest.split_once('/')) {
        let pack = shelf.pack(id).map_err(|e| failed(&e))?;
        let file = unescaped(file).unwrap_or_default();
        return Ok(pack.and_then(|pack| pack.files.get(&file).cloned()).map(|bytes| (file, bytes)));
    }
    let Some((name, version)) = uri
        .strip_prefix(PACKAGE)
        .and_then(unescaped)
        .and_then(|rest| rest.rsplit_once('/').map(|(name, version)| (name.to_owned(), version.to_owned())))
    else {
        return Ok(None);
    };
    let found = shelf.find_package(&name, &version).map_err(|e| failed(&e))?;
    let Some(package) = found else { return Ok(None) };
    if package.size > LARGEST_PACKAGE {
        let message =
            format!("the package has {} bytes, and {LARGEST_PACKAGE} can be read; use `load_context`", package.size);
        return Err(ErrorData::invalid_params(message, None));
    }
    let text = shelf.package(&package.name, &package.version).map_err(|e| failed(&e))?;
    Ok(text.map(|text| ("package.ctxpkg".into(), text.into_bytes())))
}
