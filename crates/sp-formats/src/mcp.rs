//! Skills over MCP, the extension `io.modelcontextprotocol/skills`: entries, URIs, and the
//! requirements on a skill.
//!
//! Hosts compare an entry with the bytes they read, so both must be made from the same bytes. The
//! protocol itself is part of `sp-serve`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use sp_tree::{Digest, Limits, RelPath};
use thiserror::Error;

use crate::percent::{self, URI_PATH};
use crate::printable::printable;
use crate::skill::{self, SKILL_FILE, SkillName, SkillNameError};

/// The name of the extension.
pub const SKILLS_EXTENSION: &str = "io.modelcontextprotocol/skills";
/// The number of files per skill that every host must accept.
pub const MAX_SKILL_FILES: usize = 512;
/// The number of bytes per skill that every host must accept.
pub const MAX_SKILL_BYTES: u64 = 16 * 1024 * 1024;
const MAX_DESCRIPTION_LEN: usize = 1024;
pub const SKILL_URI_SCHEME: &str = "skill://";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpSkillResource {
    pub uri: String,
    /// The digest of its bytes, `sha256:…`.
    pub digest: String,
    /// The number of bytes.
    pub size: u64,
}

/// The entry of a skill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct McpSkillEntry {
    /// The URI of its `SKILL.md`.
    pub uri: String,
    /// Every field of the frontmatter.
    pub frontmatter: Map<String, Json>,
    /// Every file once.
    pub resources: Vec<McpSkillResource>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct McpSkillFrontmatter {
    pub name: SkillName,
    pub description: String,
    /// Every field as written.
    pub fields: Map<String, Json>,
}

/// Why a skill cannot be served: hosts would reject it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum McpSkillError {
    #[error("its `{SKILL_FILE}` {0}")]
    Frontmatter(String),
    #[error("its name {0}")]
    InvalidName(#[from] SkillNameError),
    #[error("it has no description")]
    MissingDescription,
    #[error("its description has {0} characters, but clients accept at most {MAX_DESCRIPTION_LEN}")]
    DescriptionTooLong(usize),
    #[error("it has {0} files, but clients accept at most {MAX_SKILL_FILES}")]
    TooManyFiles(usize),
    #[error("it has {0} bytes, but clients accept at most {MAX_SKILL_BYTES}")]
    TooManyBytes(u64),
    #[error("{0}")]
    Unreadable(String),
}

/// Reads the frontmatter of a `SKILL.md`.
pub fn read_frontmatter(
    bytes: &[u8],
    limits: &Limits,
) -> Result<McpSkillFrontmatter, McpSkillError> {
    let fields = skill::frontmatter_json(bytes, limits).map_err(McpSkillError::Frontmatter)?;
    let text = |name: &str| fields.get(name).and_then(Json::as_str);
    let name = SkillName::new(text("name").unwrap_or_default())?;
    let description = text("description")
        .filter(|text| !text.trim().is_empty())
        .ok_or(McpSkillError::MissingDescription)?;
    let length = description.chars().count();
    if length > MAX_DESCRIPTION_LEN {
        return Err(McpSkillError::DescriptionTooLong(length));
    }
    Ok(McpSkillFrontmatter { name, description: description.into(), fields })
}

/// The path of a skill among those that are served. Its last segment is the name.
///
/// If the folder has another name, for example because of a prefix, the name is added below it.
pub fn skill_path(folder: &str, name: &SkillName) -> String {
    if folder.rsplit('/').next() == Some(name.as_str()) {
        folder.into()
    } else {
        format!("{folder}/{name}")
    }
}

/// Rejects a skill that is larger than hosts must accept.
pub fn check_size(files: usize, bytes: u64) -> Result<(), McpSkillError> {
    match (files, bytes) {
        (files, _) if files > MAX_SKILL_FILES => Err(McpSkillError::TooManyFiles(files)),
        (_, bytes) if bytes > MAX_SKILL_BYTES => Err(McpSkillError::TooManyBytes(bytes)),
        _ => Ok(()),
    }
}

/// Builds the entry of a skill from its files with their digests and sizes.
pub fn skill_entry<'a>(
    path: &str,
    front: McpSkillFrontmatter,
    files: impl Iterator<Item = (&'a RelPath, Digest, u64)>,
) -> Result<McpSkillEntry, McpSkillError> {
    let resource = |(file, digest, size): (&RelPath, Digest, u64)| McpSkillResource {
        uri: skill_uri(path, file.as_str()),
        digest: format!("sha256:{}", digest.hex()),
        size,
    };
    let resources: Vec<McpSkillResource> = files.map(resource).collect();
    check_size(resources.len(), resources.iter().map(|resource| resource.size).sum())?;
    Ok(McpSkillEntry { uri: skill_uri(path, SKILL_FILE), frontmatter: front.fields, resources })
}

/// The URI of a file of a skill, or of its folder if `file` is empty.
pub fn skill_uri(path: &str, file: &str) -> String {
    let file = if file.is_empty() {
        String::new()
    } else {
        format!("/{}", percent::encode(file, URI_PATH))
    };
    format!("{SKILL_URI_SCHEME}{}{file}", percent::encode(path, URI_PATH))
}

/// Parses a URI below `skill://` to a path without escapes.
pub fn parse_skill_uri(uri: &str) -> Option<RelPath> {
    let path = uri.strip_prefix(SKILL_URI_SCHEME)?;
    RelPath::new(&decode_path(path)?).ok()
}

/// Decodes a path in a URI; `None` if it has a query or is not UTF-8.
pub fn decode_path(path: &str) -> Option<String> {
    if path.contains(['?', '#']) { None } else { percent::decode(path) }
}

/// Guesses the media type of a file from its name.
pub fn media_type(path: &str) -> &'static str {
    let leaf = path.rsplit('/').next().unwrap_or(path);
    match leaf.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).as_deref() {
        Some("md" | "markdown") => "text/markdown",
        Some("json" | "ctxpkg") => "application/json",
        Some("yaml" | "yml") => "application/yaml",
        Some("html" | "htm") => "text/html",
        Some("css") => "text/css",
        Some("csv") => "text/csv",
        Some("js" | "mjs" | "cjs") => "text/javascript",
        Some("py") => "text/x-python",
        Some("sh" | "bash") => "text/x-shellscript",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        Some("svg") => "image/svg+xml",
        Some("pdf") => "application/pdf",
        Some("zip") => "application/zip",
        _ => "text/plain",
    }
}

/// The error message for a URI that is not served.
pub fn not_served_message(uri: &str) -> String {
    format!("no resource found at `{}`", printable(uri))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frontmatter(text: &str) -> Result<McpSkillFrontmatter, McpSkillError> {
        read_frontmatter(text.as_bytes(), &Limits::default())
    }

    #[test]
    fn mc_02_entry_has_every_frontmatter_field() {
        let text = "---\nname: a-b\ndescription: x\nversion: 1.10\nhex: 0x1F\nok: true\nnothing:\nlist: [1, two]\n\
                    metadata:\n  deep: {er: \"1\"}\n---\n# Body\n";
        let fields = frontmatter(text).unwrap().fields;
        let expected = serde_json::json!({
            "name": "a-b", "description": "x", "version": 1.1, "hex": 31, "ok": true, "nothing": null,
            "list": [1, "two"], "metadata": {"deep": {"er": "1"}}
        });
        assert_eq!(Json::Object(fields), expected);
    }

    #[test]
    fn mc_02_skill_that_hosts_would_reject_is_not_served() {
        for (text, expected) in [
            (
                "---\nname: A\ndescription: x\n---\n",
                McpSkillError::InvalidName(SkillNameError::InvalidCharacter('A')),
            ),
            (
                "---\nname: 12\ndescription: x\n---\n",
                McpSkillError::InvalidName(SkillNameError::Empty),
            ),
            ("---\nname: a\n---\n", McpSkillError::MissingDescription),
        ] {
            assert_eq!(frontmatter(text), Err(expected), "{text}");
        }
        let valid = "---\nname: a\ndescription: x\n---\n";
        assert!(frontmatter(valid).is_ok());
        for text in [
            "# No frontmatter\n".to_owned(),
            valid.replace(": x", ": x: y"),
            // JSON has no infinity, no numbers this large, and only strings as keys.
            valid.replace(": x", ": x\nsize: .inf"),
            valid.replace(": x", ": x\nsize: 1e400"),
            valid.replace(": x", ": x\nnull: y"),
        ] {
            assert!(matches!(frontmatter(&text), Err(McpSkillError::Frontmatter(_))), "{text}");
        }
    }

    #[test]
    fn mc_02_last_path_segment_is_the_name() {
        let name = SkillName::new("review").unwrap();
        assert_eq!(skill_path("repo/team/review", &name), "repo/team/review");
        assert_eq!(
            skill_path("sink/claude/team__review", &name),
            "sink/claude/team__review/review"
        );
    }

    #[test]
    fn mc_02_uri_round_trips_to_one_path() {
        for path in ["a/SKILL.md", "a/with space.md", "a/100%.md", "a/ä#.md"] {
            let uri = skill_uri("repo/x", path);
            assert!(uri.bytes().all(|byte| byte.is_ascii_graphic()), "{uri}");
            assert_eq!(parse_skill_uri(&uri).unwrap().as_str(), format!("repo/x/{path}"));
        }
        for hostile in [
            "skill://../x",
            "skill://a/../b",
            "skill://a//b",
            "skill://a/%2e%2e/b",
            "skill://a/%2",
            "skill://",
            "skill://a/%00",
            "skill://a?b",
            "file:///etc/passwd",
            "skill:///etc/passwd",
            "skill://a/%ff",
        ] {
            assert_eq!(parse_skill_uri(hostile), None, "{hostile}");
        }
    }
}
