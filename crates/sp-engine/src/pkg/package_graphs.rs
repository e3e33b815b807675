//! Several packages as one graph: those that are named, or those that a project has.

use std::path::{Path, PathBuf};

use sp_analyze::graph::{MergeInput, MergedGraph, NodeIdScheme, merge};
use sp_formats::json::JsonDocument;
use sp_formats::package::{Graph, Package, layers_to_graph};
use sp_tree::Limits;

use super::merged_context::read_merged_context;
use super::package_spec::{PackageSpec, load_all, load_file};
use super::package_store::read_store_index;
use super::project::PackageProject;
use crate::error::{Error, FailureKind, Result};
use crate::session::Session;

/// Packages that were read, to be looked at together.
pub(super) struct PackageGraphs {
    packages: Vec<Package>,
    /// The contents of those that have layers and no graph, as graphs.
    layer_graphs: Vec<Option<JsonDocument>>,
    /// In the place of packages: what a project knows, merged already, and what people call its packages.
    merged_context: Option<(JsonDocument, Vec<String>)>,
}

impl PackageGraphs {
    /// The packages that are named; with none, those of the project.
    pub(super) fn load(
        session: &Session<'_>,
        names: &[String],
        root: Option<&Path>,
    ) -> Result<Self> {
        let packages = match names.is_empty() {
            false => {
                let shelf = read_store_index(session.context)?;
                let subjects: Vec<PackageSpec> = names
                    .iter()
                    .map(|text| PackageSpec::parse(session, text))
                    .collect::<Result<_>>()?;
                load_all(session, &shelf, &subjects)?
            }
            true => return Self::load_installed(session, root),
        };
        Self::from_packages(&session.limits, packages)
    }

    /// These packages.
    pub(super) fn from_packages(limits: &Limits, packages: Vec<Package>) -> Result<Self> {
        let made = packages
            .iter()
            .map(|package| graph_from_layers(limits, package))
            .collect::<Result<_>>()?;
        Ok(Self { packages, layer_graphs: made, merged_context: None })
    }

    /// The packages that a project has.
    fn load_installed(session: &Session<'_>, root: Option<&Path>) -> Result<Self> {
        let project = PackageProject::find(session, root)?;
        let files = installed_files(session, &project)?;
        // One package needs no merging.
        let merged = if files.len() > 1 && files.len() == project.lock.knowledge_digests().len() {
            read_merged_context(session, &project)?
        } else {
            None
        };
        if let Some(json) = merged {
            let labels = files.into_iter().map(|(_, label)| label).collect();
            return Ok(Self {
                packages: Vec::new(),
                layer_graphs: Vec::new(),
                merged_context: Some((json, labels)),
            });
        }
        let packages =
            files.iter().map(|(path, _)| load_file(session, path)).collect::<Result<_>>()?;
        Self::from_packages(&session.limits, packages)
    }

    /// What people call them.
    pub(super) fn labels(&self) -> Vec<String> {
        match &self.merged_context {
            Some((_, labels)) => labels.clone(),
            None => self.packages.iter().map(package_label).collect(),
        }
    }

    /// One graph of them all.
    pub(super) fn merge(&self) -> MergedGraph {
        let voices: Vec<MergeInput<'_>> = self
            .packages
            .iter()
            .zip(&self.layer_graphs)
            .map(|(package, made)| {
                let content = made.as_ref().map_or_else(|| package.content(), JsonDocument::root);
                let ours =
                    package.manifest.provenance.as_ref().is_some_and(|by| by.tool == "skillpack");
                let ids = if ours {
                    NodeIdScheme::Global
                } else {
                    NodeIdScheme::of(&Graph::from_content(content))
                };
                let source = package.manifest.integrity.content_hash[..16].to_owned();
                MergeInput { source, label: package_label(package), id_scheme: ids, content }
            })
            .collect();
        merge(&voices)
    }

    /// Gives the one graph of them all to whoever looks at it.
    pub(super) fn with_graph<T>(
        &self,
        limits: &Limits,
        at: impl FnOnce(&Graph<'_>) -> Result<T>,
    ) -> Result<T> {
        if let Some((json, _)) = &self.merged_context {
            return at(&Graph::from_graph_json(json.root()));
        }
        if let Some(graph) = self.single_graph() {
            return at(&graph);
        }
        let merged = format!("{{\"context_graph\":{}}}", self.merge().graph.json);
        let limits = Limits { json_values: u64::MAX, ..limits.clone() };
        let json = JsonDocument::parse(merged, &limits)
            .map_err(|e| Error::new(FailureKind::Data, e.to_string()))?;
        at(&Graph::from_content(json.root()))
    }

    /// The graph, where there is one package only and nothing to merge.
    fn single_graph(&self) -> Option<Graph<'_>> {
        match (self.packages.as_slice(), self.layer_graphs.as_slice()) {
            ([package], [None]) => Some(package.graph()),
            ([_], [Some(made)]) => Some(Graph::from_content(made.root())),
            _ => None,
        }
    }
}

fn package_label(package: &Package) -> String {
    format!("{} {}", package.manifest.name, package.manifest.version)
}

/// The files of the packages of knowledge that a project has, each with what people call it.
fn installed_files(
    session: &Session<'_>,
    project: &PackageProject,
) -> Result<Vec<(PathBuf, String)>> {
    let mut packages = Vec::new();
    for (name, locked) in &project.lock.packages {
        if let Some(bytes) = project.read_package(session, name)? {
            let path = super::installed_packages_dir(&project.root)
                .join(PackageProject::package_file_name(name)?.as_str());
            if sp_tree::Digest::of(&bytes) != locked.digest {
                let message = format!(
                    "`{}` is not what `ctxpkg.lock` says",
                    session.context.display_path(&path)
                );
                return Err(
                    Error::new(FailureKind::Trust, message).hint("`sp pkg install` puts it right")
                );
            }
            packages.push((path, format!("{name} {}", locked.version)));
        }
    }
    match packages.is_empty() {
        false => Ok(packages),
        true => {
            let shown = session.context.display_path(&project.root);
            Err(Error::new(FailureKind::Request, format!("`{shown}` has no packages of knowledge"))
                .hint("`sp pkg install <package>` installs one, or name packages"))
        }
    }
}

/// A package of layers as a graph.
fn graph_from_layers(limits: &Limits, package: &Package) -> Result<Option<JsonDocument>> {
    if package.content().get("context_graph").is_some_and(|graph| !graph.is_null()) {
        return Ok(None);
    }
    let text = layers_to_graph(package.content()).to_content_json();
    JsonDocument::parse(text, limits)
        .map(Some)
        .map_err(|e| Error::new(FailureKind::Data, e.to_string()))
}
