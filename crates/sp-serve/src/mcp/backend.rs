//! The interface between the MCP server and what it serves.
//!
//! An [`McpBackend`] provides skills, context packs, packages and tools; it is implemented for this
//! machine ([`LocalBackend`](crate::mcp::LocalBackend)) and for a registry. A [`BackendProvider`]
//! selects the backend of each request, so that clients of a registry see what their tokens may
//! read. Backends may block; the server calls them on blocking threads.

use std::collections::BTreeMap;
use std::sync::Arc;

use rmcp::model::Extensions;
use sp_engine::Result;
use sp_formats::mcp::McpSkillEntry;
use sp_tree::RelPath;

use crate::mcp::tool::McpTool;

/// Selects the backend of a request.
pub trait BackendProvider: Send + Sync + 'static {
    type Backend: McpBackend;

    /// Returns the backend for a request. The transport stores what it knows about the client in
    /// `extensions`.
    fn backend_for(&self, extensions: &Extensions) -> Arc<Self::Backend>;

    /// The instructions that clients receive when they connect.
    fn instructions(&self) -> String;
}

/// A provider with one backend for all clients, and its instructions.
pub struct SharedBackend<B>(pub Arc<B>, pub String);

impl<B: McpBackend> BackendProvider for SharedBackend<B> {
    type Backend = B;

    fn backend_for(&self, _: &Extensions) -> Arc<B> {
        Arc::clone(&self.0)
    }

    fn instructions(&self) -> String {
        self.1.clone()
    }
}

/// One page of a list.
#[derive(Debug)]
pub struct McpPage<T> {
    pub items: Vec<T>,
    /// The key of the last item that was considered, if more follow.
    pub next: Option<String>,
}

/// What lists and searches need of a skill.
#[derive(Debug, Clone)]
pub struct McpSkillSummary {
    /// The path in its `skill://` URI.
    pub path: String,
    pub name: String,
    pub description: String,
    /// `SKILL.md`, possibly truncated.
    pub text: Arc<str>,
}

#[derive(Debug, Clone)]
pub struct McpContextPack {
    pub id: String,
    pub name: String,
    pub description: String,
    /// Files by name, including `pack.json`.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl McpContextPack {
    /// The size of the files in bytes.
    pub fn total_bytes(&self) -> u64 {
        self.files.values().map(|bytes| bytes.len() as u64).sum()
    }
}

#[derive(Debug, Clone)]
pub struct McpPackageSummary {
    /// For example `@acme/notes`.
    pub name: String,
    pub version: String,
    pub description: String,
    /// In bytes.
    pub size: u64,
}

/// What a server serves. Methods may block.
pub trait McpBackend: Send + Sync + Sized + 'static {
    /// Returns at most `most` skills after the one with the key `after`, without invalid skills.
    /// Returns `None` if no skill has that key.
    fn skills(&self, after: Option<&str>, most: usize) -> Result<Option<McpPage<McpSkillEntry>>>;

    /// Returns the skill whose folder or `SKILL.md` has this path.
    fn skill(&self, path: &RelPath) -> Result<Option<McpSkillEntry>>;

    /// Returns a file of a skill.
    fn skill_file(&self, path: &RelPath) -> Result<Option<Vec<u8>>>;

    /// Returns all skills, for searching.
    fn skill_summaries(&self) -> Result<Vec<McpSkillSummary>>;

    /// Returns the skills that are not served, each with the reason.
    fn unserved_skills(&self) -> Result<Vec<String>>;

    fn context_packs(&self) -> Result<Vec<Arc<McpContextPack>>>;

    /// Returns a context pack, which may be one that `context_packs` leaves out.
    fn context_pack(&self, id: &str) -> Result<Option<Arc<McpContextPack>>> {
        Ok(self.context_packs()?.into_iter().find(|pack| pack.id == id))
    }

    fn packages(&self) -> Result<Vec<McpPackageSummary>>;

    /// Returns a version of a package by its name without `@`. It may be one that `packages` leaves
    /// out.
    fn find_package(&self, name: &str, version: &str) -> Result<Option<McpPackageSummary>> {
        let is_it = |one: &McpPackageSummary| {
            one.name.trim_start_matches('@') == name && one.version == version
        };
        Ok(self.packages()?.into_iter().find(is_it))
    }

    /// Returns the contents of a package file.
    fn package_text(&self, name: &str, version: &str) -> Result<Option<String>>;

    /// The tools of this kind of backend.
    fn tools() -> Vec<McpTool<Self>>;
}
