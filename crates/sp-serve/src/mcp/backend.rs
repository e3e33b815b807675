//! What a server has to offer, whoever keeps it: this machine, or a registry.

use std::collections::BTreeMap;
use std::sync::Arc;

use rmcp::model::Extensions;
use sp_engine::Result;
use sp_engine::library::CacheWeight;
use sp_formats::mcp::McpSkillEntry;
use sp_tree::RelPath;

use crate::mcp::tool::McpTool;

/// Decides which backend somebody sees.
pub trait BackendProvider: Send + Sync + 'static {
    /// The shelves behind it.
    type Backend: McpBackend;

    /// The backend for a request; what the transport knows of the client stands in its extensions.
    fn backend_for(&self, extensions: &Extensions) -> Arc<Self::Backend>;

    /// What an agent is told before anything else.
    fn instructions(&self) -> String;
}

/// A provider with one backend for everybody.
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

/// Some of many, in order.
#[derive(Debug)]
pub struct McpPage<T> {
    /// These.
    pub items: Vec<T>,
    /// The key of the last place that was looked at, if there are more behind it.
    pub next: Option<String>,
}

/// A skill, as far as lists show it.
#[derive(Debug, Clone)]
pub struct McpSkillSummary {
    /// Where it stands.
    pub path: String,
    /// Its name.
    pub name: String,
    /// What it does, and when it helps.
    pub description: String,
    /// Its `SKILL.md`, or the beginning of it.
    pub text: Arc<str>,
}

/// A context pack with its files.
#[derive(Debug, Clone)]
pub struct McpContextPack {
    /// What tells it from every other.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its files by name, with `pack.json`.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl CacheWeight for McpContextPack {
    fn weight(&self) -> u64 {
        self.files.values().map(|bytes| bytes.len() as u64).sum()
    }
}

/// A package.
#[derive(Debug, Clone)]
pub struct McpPackageSummary {
    /// Its name, as `@acme/notes`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it is about.
    pub description: String,
    /// How many bytes it has.
    pub size: u64,
}

/// Everything that can be asked for. Whoever calls may be made to wait.
pub trait McpBackend: Send + Sync + Sized + 'static {
    /// Skills behind the one with a key, so many at the most; those that no host would take are left out. None if
    /// the key is of no skill.
    fn skills(&self, after: Option<&str>, most: usize) -> Result<Option<McpPage<McpSkillEntry>>>;

    /// The skill whose `SKILL.md` or folder has a path.
    fn skill(&self, path: &RelPath) -> Result<Option<McpSkillEntry>>;

    /// A file of a skill.
    fn skill_file(&self, path: &RelPath) -> Result<Option<Vec<u8>>>;

    /// Every skill, to be looked for.
    fn skill_summaries(&self) -> Result<Vec<McpSkillSummary>>;

    /// Skills that are not served, with the reason.
    fn unserved_skills(&self) -> Result<Vec<String>>;

    /// The context packs.
    fn context_packs(&self) -> Result<Vec<Arc<McpContextPack>>>;

    /// A context pack, which need not be among those that are listed.
    fn context_pack(&self, id: &str) -> Result<Option<Arc<McpContextPack>>> {
        Ok(self.context_packs()?.into_iter().find(|pack| pack.id == id))
    }

    /// The packages.
    fn packages(&self) -> Result<Vec<McpPackageSummary>>;

    /// A version of a package, by its name without `@`. It need not be among those that are listed.
    fn find_package(&self, name: &str, version: &str) -> Result<Option<McpPackageSummary>> {
        let is_it = |one: &McpPackageSummary| {
            one.name.trim_start_matches('@') == name && one.version == version
        };
        Ok(self.packages()?.into_iter().find(is_it))
    }

    /// The text of a package.
    fn package_text(&self, name: &str, version: &str) -> Result<Option<String>>;

    /// What can be done here.
    fn tools() -> Vec<McpTool<Self>>;
}
