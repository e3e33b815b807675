//! What a version holds, as a page tells it. Bytes never change, so what was read of them lately is kept.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use sp_engine::graph::{GraphSvg, render_svg};
use sp_formats::package::{self, Graph, Package};
use sp_formats::printable::printable;
use sp_formats::skill::{self, SKILL_FILE};
use sp_tree::{Digest, Limits, LoadedTree, RelPath};
use tokio::sync::Semaphore;

use super::markdown;
use crate::registry::error::ResponseError;
use crate::registry::state::AppState;

/// So many packages are remembered.
const MAX_CACHED_VIEWS: usize = 32;
/// So many are read at once.
const MAX_CONCURRENT_READS: usize = 4;
/// So many nodes are drawn, and so many statements and skills are told.
const MAX_DRAWN_NODES: usize = 60;
const MAX_STATEMENTS: usize = 12;
const MAX_SKILLS: usize = 200;
/// Longer statements are cut.
const MAX_STATEMENT_CHARS: usize = 400;

/// What a version holds.
#[derive(Debug, Default)]
pub(crate) struct PackageContentView {
    /// The README as it is written, if there is one.
    pub readme: Option<String>,
    pub readme_html: String,
    pub readme_is_cut: bool,
    pub skills: Vec<PackageSkillView>,
    pub more_skills: usize,
    pub files: usize,
    pub nodes: usize,
    pub edges: usize,
    pub picture: Option<GraphSvg>,
    /// The most active statements: what they are, and what they say.
    pub statements: Vec<(String, String)>,
    pub layers: Vec<String>,
    pub tags: Vec<String>,
    pub author: Option<String>,
}

/// A skill in a package.
#[derive(Debug)]
pub(crate) struct PackageSkillView {
    pub name: String,
    pub description: String,
}

/// What was read lately, the latest last.
pub(crate) struct PackageViewCache {
    views: Mutex<VecDeque<(Digest, Arc<PackageContentView>)>>,
    /// A package may be large, and whoever asks costs memory while it is read.
    read_permits: Semaphore,
}

impl Default for PackageViewCache {
    fn default() -> Self {
        Self { views: Mutex::default(), read_permits: Semaphore::new(MAX_CONCURRENT_READS) }
    }
}

impl PackageViewCache {
    fn get(&self, digest: &Digest) -> Option<Arc<PackageContentView>> {
        let read = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        read.iter().find(|(known, _)| known == digest).map(|(_, about)| Arc::clone(about))
    }

    fn insert(&self, digest: Digest, about: &Arc<PackageContentView>) {
        let mut read = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        read.push_back((digest, Arc::clone(about)));
        if read.len() > MAX_CACHED_VIEWS {
            read.pop_front();
        }
    }
}

impl PackageContentView {
    /// What is in the bytes with a digest.
    pub(crate) async fn load(state: &AppState, digest: Digest) -> Result<Arc<Self>, ResponseError> {
        if let Some(about) = state.package_views.get(&digest) {
            return Ok(about);
        }
        let _turn = state
            .package_views
            .read_permits
            .acquire()
            .await
            .map_err(|_| ResponseError::internal())?;
        // Somebody else may have read it while this one waited.
        if let Some(about) = state.package_views.get(&digest) {
            return Ok(about);
        }
        let shared = Arc::clone(state);
        let read = tokio::task::spawn_blocking(move || {
            let bytes = shared.objects.get(&digest)?.ok_or_else(ResponseError::not_found)?;
            let read = package::read("package", bytes, &shared.limits);
            let about = Arc::new(
                read.package
                    .map(|package| Self::from_package(&package, &shared.limits))
                    .unwrap_or_default(),
            );
            shared.package_views.insert(digest, &about);
            Ok(about)
        });
        read.await.unwrap_or_else(|_| Err(ResponseError::internal()))
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

/// What a package says of itself: its README, or what its only skill says.
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
            let said = skill::read(SKILL_FILE, folder, bytes, limits).0.unwrap_or_default();
            let name = said.name.filter(|name| !name.is_empty()).unwrap_or_else(|| folder.into());
            PackageSkillView {
                name: printable(&name).into_owned(),
                description: printable(&said.description.unwrap_or_default()).into_owned(),
            }
        })
        .collect()
}

/// The statements that are worth the most, each on a line.
fn statements(graph: &Graph<'_>) -> Vec<(String, String)> {
    let activation = |at: usize| {
        graph.nodes[at]
            .value
            .get("activation")
            .and_then(sp_formats::json::JsonValue::as_f64)
            .unwrap_or(1.0)
    };
    let mut order: Vec<usize> = (0..graph.nodes.len()).collect();
    order.sort_by(|a, b| activation(*b).total_cmp(&activation(*a)));
    let told = order.into_iter().take(MAX_STATEMENTS).map(|at| &graph.nodes[at]);
    told.map(|node| {
        let said: String = node.content.chars().take(MAX_STATEMENT_CHARS).collect();
        let more = if said.len() < node.content.len() { "…" } else { "" };
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        (printable(&node.kind).into_owned(), format!("{}{more}", printable(&said)))
    })
    .collect()
}
