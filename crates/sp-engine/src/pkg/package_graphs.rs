//! Several packages as one graph, for the commands that query, load, draw or check graphs.
//!
//! The packages are those that the user names, or those that a project has installed. For a
//! project, the graph that was merged at installation is used where it is up to date.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_analyze::graph::{MergeInput, MergedGraph, NodeIdScheme, merge};
use sp_formats::json::{JsonDocument, JsonValue};
use sp_formats::package::{Graph, Package, layers_to_graph};
use sp_tree::{HashedBytes, Limits};

use super::load_package::{load_all, load_hashed};
use super::merged_context::read_merged_context;
use super::package_spec::PackageSpec;
use super::package_store::read_store_index;
use super::project::{PackageProject, installed_packages_dir, package_file_name};
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;

/// Packages whose graphs are used together.
pub(super) enum PackageGraphs {
    Packages(Vec<PackageWithGraph>),
    /// The merged graph of a project, and the labels of its packages.
    MergedContext {
        graph: JsonDocument,
        labels: Vec<String>,
    },
}

/// A package, and a graph made from its layers if it has no graph of its own.
pub(super) struct PackageWithGraph {
    package: Arc<Package>,
    layer_graph: Option<JsonDocument>,
}

impl PackageWithGraph {
    fn content(&self) -> JsonValue<'_> {
        self.layer_graph.as_ref().map_or_else(|| self.package.content(), JsonDocument::root)
    }

    fn graph(&self) -> Graph<'_> {
        match &self.layer_graph {
            None => self.package.graph(),
            Some(json) => Graph::from_content(json.root()),
        }
    }

    fn merge_input(&self) -> MergeInput<'_> {
        let (manifest, content) = (&self.package.manifest, self.content());
        let is_ours = manifest.provenance.as_ref().is_some_and(|by| by.tool == "skillpack");
        let id_scheme = if is_ours {
            NodeIdScheme::Global
        } else {
            NodeIdScheme::of(&Graph::from_content(content))
        };
        let source = manifest.integrity.content_hash[..16].to_owned();
        MergeInput { source, label: package_label(&self.package), id_scheme, content }
    }
}

impl PackageGraphs {
    /// Loads the named packages, or those of the project if no name is given.
    pub(super) fn load(
        session: &Session<'_>,
        names: &[String],
        root: Option<&Path>,
    ) -> Result<Self> {
        if names.is_empty() {
            return Self::load_installed(session, root);
        }
        let index = read_store_index(session.context)?;
        let specs: Vec<PackageSpec> =
            names.iter().map(|text| PackageSpec::parse(session, text)).collect::<Result<_>>()?;
        Self::from_packages(&session.limits, load_all(session, &index, &specs)?)
    }

    pub(super) fn from_packages(
        limits: &Limits,
        packages: impl IntoIterator<Item = impl Into<Arc<Package>>>,
    ) -> Result<Self> {
        let with_graph = |package: Arc<Package>| {
            let layer_graph = graph_from_layers(limits, &package)?;
            Ok(PackageWithGraph { package, layer_graph })
        };
        packages
            .into_iter()
            .map(Into::into)
            .map(with_graph)
            .collect::<Result<_>>()
            .map(Self::Packages)
    }

    fn load_installed(session: &Session<'_>, root: Option<&Path>) -> Result<Self> {
        let project = PackageProject::find(session, root)?;
        let files = installed_files(session, &project)?;
        // A single package is not merged, so its own graph is used.
        let merged = if files.len() > 1 && files.len() == project.lock.knowledge_digests().len() {
            read_merged_context(session, &project)?
        } else {
            None
        };
        if let Some(graph) = merged {
            let labels = files.into_iter().map(|file| file.label).collect();
            return Ok(Self::MergedContext { graph, labels });
        }
        let load = |file: InstalledFile| load_hashed(session, &file.path, file.bytes);
        let packages: Vec<Package> = files.into_iter().map(load).collect::<Result<_>>()?;
        Self::from_packages(&session.limits, packages)
    }

    /// Returns the name and version of each package.
    pub(super) fn labels(&self) -> Vec<String> {
        match self {
            Self::MergedContext { labels, .. } => labels.clone(),
            Self::Packages(packages) => {
                packages.iter().map(|with_graph| package_label(&with_graph.package)).collect()
            }
        }
    }

    /// Merges the graphs of the packages.
    pub(super) fn merge(&self) -> MergedGraph {
        let inputs: Vec<MergeInput<'_>> = match self {
            Self::MergedContext { .. } => Vec::new(),
            Self::Packages(packages) => {
                packages.iter().map(PackageWithGraph::merge_input).collect()
            }
        };
        merge(&inputs)
    }

    /// Calls `use_graph` with the graph of the only package, or with the merged graph.
    pub(super) fn with_graph<T>(
        &self,
        limits: &Limits,
        use_graph: impl FnOnce(&Graph<'_>) -> Result<T>,
    ) -> Result<T> {
        match self {
            Self::MergedContext { graph, .. } => use_graph(&Graph::from_graph_json(graph.root())),
            Self::Packages(packages) => match packages.as_slice() {
                [package] => use_graph(&package.graph()),
                _ => {
                    let content = format!("{{\"context_graph\":{}}}", self.merge().graph.json);
                    // Each package was within the limits.
                    let limits = Limits { json_values: u64::MAX, ..limits.clone() };
                    let json = JsonDocument::parse(content, &limits)
                        .map_err(|e| Error::new(ErrorCode::Internal, e.to_string()))?;
                    use_graph(&Graph::from_content(json.root()))
                }
            },
        }
    }
}

fn package_label(package: &Package) -> String {
    format!("{} {}", package.manifest.name, package.manifest.version)
}

/// The file of a package of a project.
struct InstalledFile {
    path: PathBuf,
    bytes: HashedBytes,
    /// The name and version of the package.
    label: String,
}

/// Reads the files of the context packages of a project.
fn installed_files(session: &Session<'_>, project: &PackageProject) -> Result<Vec<InstalledFile>> {
    let mut packages = Vec::new();
    for (name, locked) in &project.lock.packages {
        if let Some(bytes) = project.read_package(session, name)? {
            let path =
                installed_packages_dir(&project.root).join(package_file_name(name)?.as_str());
            if bytes.digest() != locked.digest {
                let message = format!(
                    "`{}` does not match the lockfile",
                    session.context.display_path(&path)
                );
                return Err(Error::new(ErrorCode::LockMismatch, message)
                    .hint("run `sp pkg install` to restore it"));
            }
            packages.push(InstalledFile {
                path,
                bytes,
                label: format!("{name} {}", locked.version),
            });
        }
    }
    if packages.is_empty() {
        let root = session.context.display_path(&project.root);
        let message = format!("no context packages installed in `{root}`");
        return Err(Error::new(ErrorCode::NothingFound, message)
            .hint("run `sp pkg install <package>` to install one, or specify packages"));
    }
    Ok(packages)
}

/// Converts the layers of a package to a graph; none if it has a graph.
fn graph_from_layers(limits: &Limits, package: &Package) -> Result<Option<JsonDocument>> {
    if package.content().get("context_graph").is_some_and(|graph| !graph.is_null()) {
        return Ok(None);
    }
    let text = layers_to_graph(package.content()).to_content_json();
    JsonDocument::parse(text, limits)
        .map(Some)
        .map_err(|e| Error::new(ErrorCode::Internal, e.to_string()))
}
