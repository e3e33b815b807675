//! Several packages as one graph: those that are named, or those that a project has.

use std::path::{Path, PathBuf};

use sp_analyze::graph::{Ids, Merged, Voice, merge};
use sp_formats::json::Json;
use sp_formats::package::{Graph, Package, to_graph};
use sp_tree::Limits;

use super::context::stored;
use super::project::Project;
use super::shelf::read_shelf;
use super::subject::{Subject, load_all, load_file};
use crate::config::Session;
use crate::error::{Error, Kind, Result};

/// Packages that were read, to be looked at together.
pub(super) struct Gathered {
    packages: Vec<Package>,
    /// The contents of those that have layers and no graph, as graphs.
    made: Vec<Option<Json>>,
    /// In the place of packages: what a project knows, merged already, and what people call its packages.
    context: Option<(Json, Vec<String>)>,
}

impl Gathered {
    /// The packages that are named; with none, those of the project.
    pub(super) fn read(session: &Session<'_>, names: &[String], root: Option<&Path>) -> Result<Self> {
        let packages = match names.is_empty() {
            false => {
                let shelf = read_shelf(session.context)?;
                let subjects: Vec<Subject> =
                    names.iter().map(|text| Subject::parse(session, text)).collect::<Result<_>>()?;
                load_all(session, &shelf, &subjects)?
            }
            true => return Self::installed(session, root),
        };
        Self::of(&session.limits, packages)
    }

    /// These packages.
    pub(super) fn of(limits: &Limits, packages: Vec<Package>) -> Result<Self> {
        let made = packages.iter().map(|package| from_layers(limits, package)).collect::<Result<_>>()?;
        Ok(Self { packages, made, context: None })
    }

    /// The packages that a project has.
    fn installed(session: &Session<'_>, root: Option<&Path>) -> Result<Self> {
        let project = Project::find(session, root)?;
        let files = intact(session, &project)?;
        // One package needs no merging.
        let merged = if files.len() > 1 && files.len() == project.lock.knowledge().len() {
            stored(session, &project)?
        } else {
            None
        };
        if let Some(json) = merged {
            let labels = files.into_iter().map(|(_, label)| label).collect();
            return Ok(Self { packages: Vec::new(), made: Vec::new(), context: Some((json, labels)) });
        }
        let packages = files.iter().map(|(path, _)| load_file(session, path)).collect::<Result<_>>()?;
        Self::of(&session.limits, packages)
    }

    /// What people call them.
    pub(super) fn labels(&self) -> Vec<String> {
        match &self.context {
            Some((_, labels)) => labels.clone(),
            None => self.packages.iter().map(label).collect(),
        }
    }

    /// One graph of them all.
    pub(super) fn merge(&self) -> Merged {
        let voices: Vec<Voice<'_>> = self
            .packages
            .iter()
            .zip(&self.made)
            .map(|(package, made)| {
                let content = made.as_ref().map_or_else(|| package.content(), Json::root);
                let ours = package.manifest.provenance.as_ref().is_some_and(|by| by.tool == "skillpack");
                let ids = if ours { Ids::Global } else { Ids::of(&Graph::of(content)) };
                let source = package.manifest.integrity.content_hash[..16].to_owned();
                Voice { source, label: label(package), ids, content }
            })
            .collect();
        merge(&voices)
    }

    /// Gives the one graph of them all to whoever looks at it.
    pub(super) fn look<T>(&self, limits: &Limits, at: impl FnOnce(&Graph<'_>) -> Result<T>) -> Result<T> {
        if let Some((json, _)) = &self.context {
            return at(&Graph::in_graph(json.root()));
        }
        if let Some(graph) = self.only() {
            return at(&graph);
        }
        let merged = format!("{{\"context_graph\":{}}}", self.merge().graph.text);
        let limits = Limits { json_values: u64::MAX, ..limits.clone() };
        let json = Json::parse(merged, &limits).map_err(|e| Error::new(Kind::Data, e.to_string()))?;
        at(&Graph::of(json.root()))
    }

    /// The graph, where there is one package only and nothing to merge.
    fn only(&self) -> Option<Graph<'_>> {
        match (self.packages.as_slice(), self.made.as_slice()) {
            ([package], [None]) => Some(package.graph()),
            ([_], [Some(made)]) => Some(Graph::of(made.root())),
            _ => None,
        }
    }
}

fn label(package: &Package) -> String {
    format!("{} {}", package.manifest.name, package.manifest.version)
}

/// The files of the packages of knowledge that a project has, each with what people call it.
fn intact(session: &Session<'_>, project: &Project) -> Result<Vec<(PathBuf, String)>> {
    let mut packages = Vec::new();
    for (name, locked) in &project.lock.packages {
        if let Some(bytes) = project.read(session, name)? {
            let path = super::installed_in(&project.root).join(Project::file_name(name)?.as_str());
            if sp_tree::Digest::of(&bytes) != locked.digest {
                let message = format!("`{}` is not what `ctxpkg.lock` says", session.context.show(&path));
                return Err(Error::new(Kind::Trust, message).hint("`sp pkg install` puts it right"));
            }
            packages.push((path, format!("{name} {}", locked.version)));
        }
    }
    match packages.is_empty() {
        false => Ok(packages),
        true => {
            let shown = session.context.show(&project.root);
            Err(Error::new(Kind::Request, format!("`{shown}` has no packages of knowledge"))
                .hint("`sp pkg install <package>` installs one, or name packages"))
        }
    }
}

/// A package of layers as a graph.
fn from_layers(limits: &Limits, package: &Package) -> Result<Option<Json>> {
    if package.content().get("context_graph").is_some_and(|graph| !graph.is_null()) {
        return Ok(None);
    }
    let text = to_graph(package.content()).to_content();
    Json::parse(text, limits).map(Some).map_err(|e| Error::new(Kind::Data, e.to_string()))
}
