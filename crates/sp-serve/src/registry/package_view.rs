//! The contents of a package version, as the web pages show them.
//!
//! Published bytes never change, so views are cached by digest. [`PackageViewCache`] also limits
//! how many packages are read at the same time.

use std::sync::Arc;

use sp_engine::DigestCache;
use sp_engine::graph::{GraphSvg, render_svg};
use sp_formats::package::{self, Graph, Package};
use sp_formats::printable::printable;
use sp_formats::skill::{self, SKILL_FILE};
use sp_formats::text::truncate;
use sp_tree::{Digest, Limits, LoadedTree, RelPath};
use tokio::sync::Semaphore;

use crate::registry::error::{ApiResult, ResponseError};
use crate::registry::markdown;
use crate::registry::object_store::ObjectStore;

const MAX_CACHE_BYTES: u64 = 32 * 1024 * 1024;
/// A package may be large, and takes memory while it is read.
const MAX_CONCURRENT_READS: usize = 4;
const MAX_DRAWN_NODES: usize = 60;
const MAX_STATEMENTS: usize = 12;
const MAX_SKILLS: usize = 200;
/// Longer statements are truncated.
const MAX_STATEMENT_CHARS: usize = 400;

#[derive(Debug, Default)]
pub(crate) struct PackageContentView {
    /// The Markdown source.
    pub readme: Option<String>,
    pub readme_html: String,
    pub readme_is_cut: bool,
    pub skills: Vec<PackageSkillView>,
    pub more_skills: usize,
    pub files: usize,
    pub nodes: usize,
    pub edges: usize,
    pub picture: Option<GraphSvg>,
    /// The most active nodes of the graph: kind and content.
    pub statements: Vec<(String, String)>,
    pub layers: Vec<String>,
    pub tags: Vec<String>,
    pub author: Option<String>,
}

#[derive(Debug)]
pub(crate) struct PackageSkillView {
    pub name: String,
    pub description: String,
}

/// Reads packages, and keeps the views that were read last.
pub(crate) struct PackageViewCache {
    objects: ObjectStore,
    limits: Limits,
    views: DigestCache<Arc<PackageContentView>>,
    read_permits: Semaphore,
}

impl PackageViewCache {
    pub(crate) fn new(objects: ObjectStore, limits: Limits) -> Self {
        Self {
            objects,
            limits,
            views: DigestCache::new(MAX_CACHE_BYTES, |view| view.memory_bytes()),
            read_permits: Semaphore::new(MAX_CONCURRENT_READS),
        }
    }

    /// Returns the view of the package with this digest.
    pub(crate) async fn load(
        self: &Arc<Self>,
        digest: Digest,
    ) -> ApiResult<Arc<PackageContentView>> {
        if let Some(view) = self.views.get(&digest) {
            return Ok(view);
        }
        let _permit = self.read_permits.acquire().await.map_err(|_| ResponseError::internal())?;
        let cache = Arc::clone(self);
        let view = tokio::task::spawn_blocking(move || {
            cache.views.get_or_try_insert(&digest, || cache.read(&digest))
        });
        view.await.unwrap_or_else(|_| Err(ResponseError::internal()))
    }

    /// Reads the package from the object store. Blocks.
    fn read(&self, digest: &Digest) -> ApiResult<Arc<PackageContentView>> {
        let bytes = self.objects.require(digest)?;
        let package = package::read("package", bytes, &self.limits).package;
        let view = package
            .map(|package| PackageContentView::from_package(&package, &self.limits))
            .unwrap_or_default();
        Ok(Arc::new(view))
    }
}

impl PackageContentView {
    /// The approximate size in bytes.
    fn memory_bytes(&self) -> u64 {
        let texts = [&self.readme, &self.author].into_iter().flatten();
        let lists = self.layers.iter().chain(&self.tags);
        let pairs = self
            .skills
            .iter()
            .map(|skill| (&skill.name, &skill.description))
            .chain(self.statements.iter().map(|(kind, text)| (kind, text)));
        let strings = texts
            .chain(lists)
            .chain(pairs.flat_map(|(one, other)| [one, other]))
            .chain([&self.readme_html])
            .chain(self.picture.as_ref().map(|picture| &picture.svg));
        let bytes: usize = strings.map(|text| text.len() + size_of::<String>()).sum();
        bytes as u64
    }

    fn from_package(package: &Package, limits: &Limits) -> Self {
        let manifest = &package.manifest;
        let graph = package.graph();
        let mut skills =
            package.documents.as_ref().map(|files| skills(files, limits)).unwrap_or_default();
        let more_skills = skills.len().saturating_sub(MAX_SKILLS);
        skills.truncate(MAX_SKILLS);
        let readme = package.documents.as_ref().and_then(|files| readme(files, limits));
        let (readme_html, readme_is_cut) =
            readme.as_deref().map(markdown::render).unwrap_or_default();
        let shown = |text: &String| printable(text).into_owned();
        Self {
            readme,
            readme_html,
            readme_is_cut,
            skills,
            more_skills,
            files: package.documents.as_ref().map_or(0, |files| files.files().count()),
            nodes: package.node_count(),
            edges: package.edge_count(),
            statements: statements(&graph),
            picture: render_svg(&graph, MAX_DRAWN_NODES),
            layers: manifest.layers.iter().map(|(layer, _)| shown(layer)).collect(),
            tags: manifest.tags.iter().map(shown).collect(),
            author: manifest.author.as_ref().map(shown),
        }
    }
}

/// The README of a package, or the body of its only skill.
fn readme(files: &LoadedTree, limits: &Limits) -> Option<String> {
    let is_readme = |path: &RelPath| path.as_str().eq_ignore_ascii_case("readme.md");
    if let Some((_, _, bytes)) = files.files().find(|(path, ..)| is_readme(path)) {
        return String::from_utf8(bytes.to_vec()).ok();
    }
    let mut found = files.files().filter(|(path, ..)| path.file_name() == SKILL_FILE);
    let (path, _, bytes) = found.next().filter(|_| found.next().is_none())?;
    let (skill, _) = skill::read(SKILL_FILE, path.parent().unwrap_or_default(), bytes, limits);
    std::str::from_utf8(bytes)
        .ok()?
        .get(skill?.body_start..)
        .map(str::to_owned)
        .filter(|body| !body.trim().is_empty())
}

fn skills(files: &LoadedTree, limits: &Limits) -> Vec<PackageSkillView> {
    let found = files.files().filter(|(path, ..)| path.file_name() == SKILL_FILE);
    found
        .map(|(path, _, bytes)| {
            let folder = path.parent().unwrap_or_default();
            let skill = skill::read(SKILL_FILE, folder, bytes, limits).0.unwrap_or_default();
            let name = skill.name.filter(|name| !name.is_empty()).unwrap_or_else(|| folder.into());
            PackageSkillView {
                name: printable(&name).into_owned(),
                description: printable(&skill.description.unwrap_or_default()).into_owned(),
            }
        })
        .collect()
}

/// The nodes with the highest activation, each as one line.
fn statements(graph: &Graph<'_>) -> Vec<(String, String)> {
    let activation = |index: usize| {
        graph.nodes[index]
            .value
            .get("activation")
            .and_then(sp_formats::json::JsonValue::as_f64)
            .unwrap_or(1.0)
    };
    let mut order: Vec<usize> = (0..graph.nodes.len()).collect();
    order.sort_by(|a, b| activation(*b).total_cmp(&activation(*a)));
    let nodes = order.into_iter().take(MAX_STATEMENTS).map(|index| &graph.nodes[index]);
    nodes
        .map(|node| {
            let text = truncate(&node.content, MAX_STATEMENT_CHARS);
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            (printable(&node.kind).into_owned(), printable(&text).into_owned())
        })
        .collect()
}
