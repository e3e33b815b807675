//! `search`, `fetch`, `list_skills` and `read_skill`: tools that every backend has.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sp_engine::library::{SearchDocument, search_documents};
use sp_engine::{Error, ErrorCode, Result};
use sp_formats::mcp::{
    McpSkillEntry, SKILL_URI_SCHEME, not_served_message, parse_skill_uri, skill_uri,
};
use sp_formats::printable::printable;
use sp_formats::skill::SKILL_FILE;
use sp_tree::{Digest, RelPath};

use crate::mcp::backend::McpBackend;
use crate::mcp::cursor::{decode_cursor, encode_cursor};
use crate::mcp::pagination::PAGE_SIZE;
use crate::mcp::resources::{context_pack_uri, package_uri, read_bytes};
use crate::mcp::tool::{McpTool, ToolSpec};
use crate::mcp::tool_call::ToolCall;

const MAX_RESULTS: usize = 20;
/// Longer text is truncated.
const MAX_TEXT_BYTES: usize = 256 * 1024;

const SEARCH: ToolSpec = ToolSpec::read_only(
    "search",
    "Search",
    "Search skills, files of context packs, and packages. Returns IDs for `fetch`, best matches \
     first.",
);
const FETCH: ToolSpec =
    ToolSpec::read_only("fetch", "Fetch", "Read a search result or resource, by its ID or URI.")
        .with_data_fields(&["text"]);
const LIST_SKILLS: ToolSpec = ToolSpec::read_only(
    "list_skills",
    "List skills",
    "List the available skills, with what each one does and when to use it. Use `read_skill` to \
     read one.",
);
const READ_SKILL: ToolSpec = ToolSpec::read_only(
    "read_skill",
    "Read a skill",
    "Read the instructions of a skill, or one of its other files.",
)
.with_data_fields(&["text"]);

pub fn tools<B: McpBackend>() -> Vec<McpTool<B>> {
    vec![
        McpTool::new(SEARCH, search),
        McpTool::new(FETCH, fetch),
        McpTool::new(LIST_SKILLS, list_skills),
        McpTool::new(READ_SKILL, read_skill),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct SearchInput {
    /// Search terms.
    query: String,
}

#[derive(Serialize, JsonSchema)]
struct SearchOutput {
    /// Best matches first.
    results: Vec<SearchHit>,
}

#[derive(Serialize, JsonSchema)]
struct SearchHit {
    /// ID to pass to `fetch`.
    id: String,
    /// Name of the skill, file or package.
    title: String,
    /// Resource URI.
    url: String,
    /// Description from the skill, context pack or package.
    about: String,
}

impl SearchHit {
    fn new(uri: String, title: String, about: String) -> Self {
        Self { id: uri.clone(), title, url: uri, about }
    }
}

fn search<B: McpBackend>(
    backend: &B,
    SearchInput { query }: SearchInput,
    call: &ToolCall,
) -> Result<SearchOutput> {
    let items = searchable_items(backend)?;
    if call.is_cancelled() {
        return Err(Error::new(ErrorCode::Cancelled, "the search was cancelled"));
    }
    let documents = items.iter().map(|item| SearchDocument {
        title: &item.hit.title,
        about: &item.hit.about,
        text: &item.text,
    });
    let ranked = search_documents(&query, &documents.collect::<Vec<_>>(), MAX_RESULTS)?;
    let mut hits: Vec<Option<SearchHit>> = items.into_iter().map(|item| Some(item.hit)).collect();
    Ok(SearchOutput {
        results: ranked.into_iter().filter_map(|index| hits[index].take()).collect(),
    })
}

/// A possible hit, and the text that is searched.
struct SearchableItem {
    hit: SearchHit,
    text: Arc<str>,
}

/// Returns the skills, the files of context packs, and the packages.
fn searchable_items<B: McpBackend>(backend: &B) -> Result<Vec<SearchableItem>> {
    let mut items = Vec::new();
    for skill in backend.skill_summaries()? {
        let uri = skill_uri(&skill.path, SKILL_FILE);
        let hit = SearchHit::new(uri, skill.name, skill.description);
        items.push(SearchableItem { hit, text: skill.text });
    }
    for pack in backend.context_packs()? {
        for (file, bytes) in &pack.files {
            let title = format!("{}: {file}", pack.name);
            let uri = context_pack_uri(&pack.id, file);
            let hit = SearchHit::new(uri, title, pack.description.clone());
            items.push(SearchableItem { hit, text: String::from_utf8_lossy(bytes).into() });
        }
    }
    for package in backend.packages()? {
        let title = format!("{} {}", package.name, package.version);
        let uri = package_uri(&package.name, &package.version);
        let hit = SearchHit::new(uri, title, package.description);
        items.push(SearchableItem { hit, text: "".into() });
    }
    Ok(items)
}

#[derive(Deserialize, JsonSchema)]
struct FetchInput {
    /// ID from `search`, or a resource URI.
    id: String,
}

#[derive(Serialize, JsonSchema)]
struct FetchOutput {
    /// The requested ID.
    id: String,
    /// Path of the file.
    title: String,
    /// Contents, possibly truncated.
    text: String,
    /// Resource URI.
    url: String,
    /// Digest and size of the contents.
    metadata: FetchMetadata,
}

#[derive(Serialize, JsonSchema)]
struct FetchMetadata {
    /// SHA-256 of the contents.
    digest: String,
    /// Size in bytes.
    size: usize,
    /// Whether `text` is truncated.
    truncated: bool,
}

fn fetch<B: McpBackend>(backend: &B, input: FetchInput, _: &ToolCall) -> Result<FetchOutput> {
    let found = read_bytes(backend, &input.id)
        .map_err(|e| Error::new(ErrorCode::FileNotFound, e.message.into_owned()))?;
    let (path, bytes) = found.ok_or_else(|| {
        Error::new(ErrorCode::FileNotFound, not_served_message(&input.id))
            .hint("use an ID from `search`")
    })?;
    let (text, truncated) = decode_text(&bytes)?;
    let metadata = FetchMetadata { digest: format_digest(&bytes), size: bytes.len(), truncated };
    Ok(FetchOutput { title: path, text, url: input.id.clone(), id: input.id, metadata })
}

#[derive(Deserialize, JsonSchema)]
struct ListSkillsInput {
    /// `next` from the previous page. Omit it for the first page.
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct ListSkillsOutput {
    /// Skills on this page.
    skills: Vec<ListedSkill>,
    /// `cursor` for the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// Skills that are not served, each with the reason. Only on the first page.
    left_out: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct ListedSkill {
    /// Name of the skill.
    name: String,
    /// What the skill does and when to use it, from its frontmatter.
    description: String,
    /// Resource URI of `SKILL.md`.
    uri: String,
    /// Number of files.
    files: usize,
    /// Total size of the files in bytes.
    size: u64,
}

fn list_skills<B: McpBackend>(
    backend: &B,
    ListSkillsInput { cursor }: ListSkillsInput,
    _: &ToolCall,
) -> Result<ListSkillsOutput> {
    let unknown = || {
        Error::new(ErrorCode::InvalidId, "unknown cursor")
            .hint("omit `cursor` to list from the start")
    };
    let after = decode_cursor(cursor.as_deref()).map_err(|_| unknown())?;
    let left_out = if after.is_none() { backend.unserved_skills()? } else { Vec::new() };
    let page = backend.skills(after.as_deref(), PAGE_SIZE)?.ok_or_else(unknown)?;
    let skills = page.items.into_iter().map(listed_skill).collect();
    Ok(ListSkillsOutput { skills, next: page.next.map(|next| encode_cursor(&next)), left_out })
}

fn listed_skill(skill: McpSkillEntry) -> ListedSkill {
    let text = |field: &str| {
        skill.frontmatter.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    ListedSkill {
        name: text("name"),
        description: text("description"),
        files: skill.resources.len(),
        size: skill.resources.iter().map(|file| file.size).sum(),
        uri: skill.uri,
    }
}

#[derive(Deserialize, JsonSchema)]
struct ReadSkillInput {
    /// Resource URI of the skill, or its name if that is unique.
    skill: String,
    /// Path of a file in the skill. Default: `SKILL.md`.
    file: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct ReadSkillOutput {
    /// Resource URI.
    uri: String,
    /// Contents, possibly truncated.
    text: String,
    /// SHA-256 of the contents.
    digest: String,
    /// Whether `text` is truncated.
    truncated: bool,
    /// Paths of all files of the skill.
    files: Vec<String>,
}

fn read_skill<B: McpBackend>(
    backend: &B,
    ReadSkillInput { skill, file }: ReadSkillInput,
    _: &ToolCall,
) -> Result<ReadSkillOutput> {
    let skill = find_skill(backend, &skill)?;
    let root = parse_skill_uri(&skill.uri)
        .and_then(|path| path.parent().map(str::to_owned))
        .unwrap_or_default();
    let file = file.as_deref().unwrap_or(SKILL_FILE);
    let missing = || {
        Error::new(ErrorCode::FileNotFound, format!("the skill has no file `{}`", printable(file)))
            .hint("use a path from `files` in a result of `read_skill`")
    };
    let path = RelPath::new(&format!("{root}/{file}")).map_err(|_| missing())?;
    let bytes = backend.skill_file(&path)?.ok_or_else(missing)?;
    let (text, truncated) = decode_text(&bytes)?;
    let inside = format!("{root}/");
    let name = |uri: &str| {
        parse_skill_uri(uri).and_then(|path| path.as_str().strip_prefix(&inside).map(str::to_owned))
    };
    Ok(ReadSkillOutput {
        uri: skill_uri(&root, file),
        text,
        digest: format_digest(&bytes),
        truncated,
        files: skill.resources.iter().filter_map(|file| name(&file.uri)).collect(),
    })
}

fn find_skill<B: McpBackend>(backend: &B, name: &str) -> Result<McpSkillEntry> {
    let none = || {
        Error::new(ErrorCode::SkillNotFound, format!("unknown skill `{}`", printable(name)))
            .hint("use `list_skills` to list the skills")
    };
    if name.starts_with(SKILL_URI_SCHEME) {
        let path = parse_skill_uri(name).ok_or_else(none)?;
        return backend.skill(&path)?.ok_or_else(none);
    }
    let skills = backend.skill_summaries()?;
    let paths: Vec<&str> = skills
        .iter()
        .filter(|skill| skill.name == name || skill.path == name)
        .map(|skill| skill.path.as_str())
        .collect();
    match paths[..] {
        [] => Err(none()),
        [path] => {
            let path = RelPath::new(&format!("{path}/{SKILL_FILE}")).map_err(|_| none())?;
            backend.skill(&path)?.ok_or_else(none)
        }
        _ => {
            let uris: Vec<String> = paths.iter().map(|path| skill_uri(path, SKILL_FILE)).collect();
            Err(Error::new(
                ErrorCode::AmbiguousSkill,
                format!("several skills are named `{}`", printable(name)),
            )
            .hint(format!("use one of the URIs: {}", uris.join(", "))))
        }
    }
}

/// Decodes a text file and truncates it to [`MAX_TEXT_BYTES`].
fn decode_text(bytes: &[u8]) -> Result<(String, bool)> {
    let text = std::str::from_utf8(bytes).map_err(|_| {
        Error::new(ErrorCode::Unsupported, "not a text file").hint("read it as a resource")
    })?;
    let end = text.floor_char_boundary(MAX_TEXT_BYTES);
    Ok((text[..end].to_owned(), end < text.len()))
}

fn format_digest(bytes: &[u8]) -> String {
    format!("sha256:{}", Digest::of(bytes).hex())
}
