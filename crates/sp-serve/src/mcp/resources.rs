//! Resources: `SKILL.md` files, files of context packs, and packages.

use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceTemplate,
};
use serde_json::Value;
use sp_engine::hidden;
use sp_formats::mcp::{
    McpSkillEntry, decode_path, media_type, not_served_message, parse_skill_uri,
};
use sp_formats::percent::{self, URI_PATH};
use sp_formats::text::OverLimit;

use crate::mcp::backend::{McpBackend, McpContextPack, McpPackageSummary};
use crate::mcp::cursor::{decode_cursor, encode_cursor, unknown_cursor};
use crate::mcp::pagination::{LONG_TTL_MS, PAGE_SIZE, TTL_MS};
use crate::mcp::response::{internal_error, resource_contents};

pub(crate) const DIRECTORY_MEDIA_TYPE: &str = "inode/directory";
/// URI schemes.
pub(crate) const CONTEXT_PACK_SCHEME: &str = "context-pack://";
pub(crate) const PACKAGE_SCHEME: &str = "ctxpkg://";
/// Marks cursors that point behind the skills. No skill path contains a line feed.
const NON_SKILL_PREFIX: &str = "\n";
/// Larger packages are only available through `load_context`.
const MAX_PACKAGE_BYTES: u64 = 16 * 1024 * 1024;

pub(crate) fn skill_resource(skill: &McpSkillEntry) -> Resource {
    let text = |field: &str| {
        hidden::mark(skill.frontmatter.get(field).and_then(Value::as_str).unwrap_or_default())
            .into_owned()
    };
    let size =
        skill.resources.iter().find(|file| file.uri == skill.uri).map_or(0, |file| file.size);
    Resource::new(&skill.uri, text("name"))
        .with_description(text("description"))
        .with_mime_type("text/markdown")
        .with_size(size)
}

pub(crate) fn context_pack_uri(id: &str, file: &str) -> String {
    format!("{CONTEXT_PACK_SCHEME}{id}/{}", percent::encode(file, URI_PATH))
}

pub(crate) fn package_uri(name: &str, version: &str) -> String {
    format!(
        "{PACKAGE_SCHEME}{}/{}",
        percent::encode(name.trim_start_matches('@'), URI_PATH),
        percent::encode(version, URI_PATH)
    )
}

fn context_pack_resources(pack: &McpContextPack) -> impl Iterator<Item = Resource> {
    pack.files.iter().map(|(file, bytes)| {
        let name = hidden::mark(&pack.name);
        Resource::new(context_pack_uri(&pack.id, file), format!("{name}: {}", hidden::mark(file)))
            .with_description(hidden::mark(&pack.description))
            .with_mime_type(media_type(file))
            .with_size(bytes.len() as u64)
    })
}

fn package_resource(package: &McpPackageSummary) -> Resource {
    Resource::new(
        package_uri(&package.name, &package.version),
        format!("{} {}", package.name, package.version),
    )
    .with_description(hidden::mark(&package.description))
    .with_mime_type("application/json")
    .with_size(package.size)
}

/// Returns a page of resources: first the skills, then the files of context packs, then packages.
pub(crate) fn list<B: McpBackend>(
    backend: &B,
    cursor: Option<&str>,
) -> Result<ListResourcesResult, ErrorData> {
    let after = decode_cursor(cursor)?;
    let in_rest = after.as_deref().and_then(|key| key.strip_prefix(NON_SKILL_PREFIX));
    let (mut resources, mut next) = (Vec::new(), None);
    if in_rest.is_none() {
        let page = backend
            .skills(after.as_deref(), PAGE_SIZE)
            .map_err(|e| internal_error(&e))?
            .ok_or_else(unknown_cursor)?;
        resources.extend(page.items.iter().map(skill_resource));
        next = page.next;
    }
    if next.is_none() {
        let rest = non_skill_resources(backend)?;
        let start = match in_rest.filter(|uri| !uri.is_empty()) {
            None => 0,
            Some(uri) => {
                rest.iter().position(|resource| resource.uri == uri).ok_or_else(unknown_cursor)? + 1
            }
        };
        let remaining = PAGE_SIZE.saturating_sub(resources.len());
        resources.extend(rest[start..].iter().take(remaining).cloned());
        if rest.len() > start + remaining {
            let last =
                (start + remaining).checked_sub(1).map_or("", |last| rest[last].uri.as_str());
            next = Some(format!("{NON_SKILL_PREFIX}{last}"));
        }
    }
    let mut result = ListResourcesResult::with_all_items(resources);
    result.next_cursor = next.map(|next| encode_cursor(&next));
    Ok(result.with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Private))
}

fn non_skill_resources<B: McpBackend>(backend: &B) -> Result<Vec<Resource>, ErrorData> {
    let packs = backend.context_packs().map_err(|e| internal_error(&e))?;
    let packages = backend.packages().map_err(|e| internal_error(&e))?;
    Ok(packs
        .iter()
        .flat_map(|pack| context_pack_resources(pack))
        .chain(packages.iter().map(package_resource))
        .collect())
}

/// The URI templates.
pub(crate) fn templates() -> ListResourceTemplatesResult {
    let template = |uri: &str, name: &str, about: &str, mime: Option<&str>| {
        let template = ResourceTemplate::new(uri, name).with_description(about);
        mime.iter().fold(template, |template, mime| template.with_mime_type(*mime))
    };
    let templates = vec![
        template(
            "skill://{+path}/SKILL.md",
            "skill",
            "Instructions of a skill (`SKILL.md`)",
            Some("text/markdown"),
        ),
        template("skill://{+path}/{+file}", "skill-file", "File of a skill", None),
        template("context-pack://{pack_id}/{file}", "context-pack", "File of a context pack", None),
        template(
            "ctxpkg://{+name}/{version}",
            "package",
            "Package of knowledge or skills",
            Some("application/json"),
        ),
    ];
    ListResourceTemplatesResult::with_all_items(templates)
        .with_ttl_ms(LONG_TTL_MS)
        .with_cache_scope(CacheScope::Public)
}

pub(crate) fn read<B: McpBackend>(backend: &B, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let (path, bytes) = read_bytes(backend, uri)?.ok_or_else(|| {
        ErrorData::resource_not_found(
            not_served_message(uri),
            Some(serde_json::json!({ "uri": uri })),
        )
    })?;
    let result = ReadResourceResult::new(vec![resource_contents(uri, &path, &bytes)]);
    Ok(result.with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Private))
}

/// Reads the resource at a URI. Also returns a path that determines its media type.
pub(crate) fn read_bytes<B: McpBackend>(
    backend: &B,
    uri: &str,
) -> Result<Option<(String, Vec<u8>)>, ErrorData> {
    if let Some(path) = parse_skill_uri(uri) {
        let file = backend.skill_file(&path).map_err(|e| internal_error(&e))?;
        return Ok(file.map(|bytes| (path.as_str().to_owned(), bytes)));
    }
    if let Some((id, file)) =
        uri.strip_prefix(CONTEXT_PACK_SCHEME).and_then(|rest| rest.split_once('/'))
    {
        let pack = backend.context_pack(id).map_err(|e| internal_error(&e))?;
        let file = decode_path(file).unwrap_or_default();
        return Ok(pack.and_then(|pack| pack.files.get(&file).cloned()).map(|bytes| (file, bytes)));
    }
    let Some((name, version)) =
        uri.strip_prefix(PACKAGE_SCHEME).and_then(decode_path).and_then(|rest| {
            rest.rsplit_once('/').map(|(name, version)| (name.to_owned(), version.to_owned()))
        })
    else {
        return Ok(None);
    };
    let found = backend.find_package(&name, &version).map_err(|e| internal_error(&e))?;
    let Some(package) = found else { return Ok(None) };
    if package.size > MAX_PACKAGE_BYTES {
        let message = format!(
            "the package is {}; use `load_context`",
            OverLimit { bytes: package.size, limit: MAX_PACKAGE_BYTES }
        );
        return Err(ErrorData::invalid_params(message, None));
    }
    let text =
        backend.package_text(&package.name, &package.version).map_err(|e| internal_error(&e))?;
    Ok(text.map(|text| ("package.ctxpkg".into(), text.into_bytes())))
}
