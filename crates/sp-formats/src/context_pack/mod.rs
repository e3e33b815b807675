//! Context packs: a manifest `pack.json` and Markdown files in which every statement cites a
//! source.
//!
//! [`read()`] takes the files of a pack, wherever they came from, and returns a [`ContextPack`]
//! together with one [`Report`](crate::Report) per file. A pack is valid if no report has an error.
//! The layout of each Markdown file is a recommendation; deviations are warnings.
//!
//! The rest of the module writes packs ([`ContextPackDraft`], [`seal_files`]), zips and unzips
//! them, inserts a [`MarkedBlock`] into project files, and defines the HTTP API and the signed URLs
//! of a registry that hosts packs. The same input always gives the same bytes. Nothing here reads
//! files or the clock.
//!
//! ```
//! use sp_formats::context_pack::{self, ContextPackEntries, ContextPackEntry, MANIFEST_FILE};
//! use sp_tree::Limits;
//!
//! let manifest = br#"{"spec_version": "0.1", "pack_id": "01KPZXWZQR5NRHCGNQ4TR480B2"}"#;
//! let entries = ContextPackEntries::from([(
//!     MANIFEST_FILE.to_owned(),
//!     ContextPackEntry::File(manifest.to_vec()),
//! )]);
//! let read = context_pack::read(&entries, &Limits::default());
//! assert!(!read.is_valid());
//! let messages: Vec<&str> =
//!     read.reports[0].findings.iter().map(|finding| finding.message.as_str()).collect();
//! assert!(messages.contains(&"`generated_at` is missing"));
//! assert!(messages.contains(&"`files` is missing"));
//! ```

mod archive;
mod checked_file;
mod citations;
mod document;
mod entries;
mod footnotes;
mod heading_label;
mod layout;
mod manifest;
mod manifest_file;
mod manifest_object;
mod marked_block;
mod pack_id;
mod prompts;
mod read;
mod registry_api;
pub mod rules;
mod sentences;
mod text_file;
mod url_signature;
mod value_syntax;
mod write;

pub use archive::{ContextPackZipError, listed_files, unzip_entries, zip_files};
pub use document::{ContextPackDocument, sections_by_title};
pub use entries::{ContextPackEntries, ContextPackEntry, manifest_digest};
pub use footnotes::{SourceFootnote, footnotes};
pub use manifest::{
    ContextPackFileEntry, ContextPackGenerator, ContextPackManifest, ContextPackProject,
    ContextPackSourceEntry, ContextPackWindow,
};
pub use manifest_object::UnknownMembers;
pub use marked_block::{
    MarkedBlock, MarkedBlockError, TextWithoutBlock, find_block, put_block, remove_block,
};
pub use pack_id::{crockford_digits, derive_pack_id};
pub use prompts::{ContextPackPrompt, read_prompts};
pub use read::{ContextPack, ContextPackReadResult, read};
pub use registry_api::{
    ContextPackUrlRequest, ContextPackUrlResponse, HostedContextPack, ListContextPacksResponse,
    PutContextPackResponse, UrlSigningKeyInfo,
};
pub use sentences::count_sentences;
pub use url_signature::{DEFAULT_URL_LIFETIME_SECS, MAX_URL_LIFETIME_SECS, UrlSignature};
pub use value_syntax::{is_pack_id, is_source_id};
pub use write::{
    ContextPackDraft, render_manifest, seal_files, with_frontmatter, without_frontmatter,
};

/// The supported version of the specification.
pub const SPEC_VERSION: &str = "0.1";
pub const MANIFEST_FILE: &str = "pack.json";
/// Rules for Cursor.
pub const CURSOR_FILE: &str = "cursor.md";
/// Rules for every agent.
pub const AGENTS_FILE: &str = "AGENTS.md";
/// Reusable techniques.
pub const SKILLS_FILE: &str = "skills.md";
/// The citations.
pub const SOURCES_FILE: &str = "sources.md";
/// Prompts to paste.
pub const PROMPTS_FILE: &str = "prompts.md";
/// Tasks in order.
pub const TASKS_FILE: &str = "tasks.md";
/// Every Markdown file that a pack may have, in manifest order.
pub const KNOWN_FILES: &[&str] =
    &[CURSOR_FILE, AGENTS_FILE, SKILLS_FILE, SOURCES_FILE, PROMPTS_FILE, TASKS_FILE];
