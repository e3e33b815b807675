//! `sp pkg touch`, `reinforce` and `prune`: a new version of a package, and never a change of the old one.

use sp_analyze::graph::{GraphEvolution, evolve as evolved};
use sp_formats::json::{JsonDocument, quoted};
use sp_formats::output::StoredPackageList;
use sp_formats::package::{ConformanceLevel, Graph, Package};

use super::create::{CreateRequest, CreateSource, create};
use super::package_spec::PackageSpec;
use super::package_store::read_store_index;
use crate::context::Context;
use crate::error::{Error, FailureKind, Result};
use crate::session::Session;

/// Makes the next version of a package; how many nodes it is about, is told.
pub fn evolve(
    context: &Context<'_>,
    package: &str,
    evolution: &GraphEvolution,
    sign: Option<Option<String>>,
) -> Result<(StoredPackageList, usize)> {
    let (text, count, level) = {
        let session = Session::begin(context)?;
        let (package, _) =
            PackageSpec::parse(&session, package)?.load(&session, &read_store_index(context)?)?;
        check_nodes_exist(&package, evolution)?;
        let (content, count) = evolved(package.content(), evolution, context.now);
        // What is taken out may take the level with it.
        let json = JsonDocument::parse(content.as_str(), &session.limits)
            .map_err(|e| Error::new(FailureKind::Data, e.to_string()))?;
        let reached = ConformanceLevel::of(&Graph::from_content(json.root())).reached;
        let level = package.manifest.level.map(|claimed| claimed.min(reached));
        (to_input_text(&package, &content), count, level)
    };
    let request = CreateRequest { sign, level, ..CreateRequest::of(CreateSource::Text(text)) };
    Ok((create(context, &request)?, count))
}

fn check_nodes_exist(package: &Package, evolution: &GraphEvolution) -> Result<()> {
    let ids: &[String] = match evolution {
        GraphEvolution::Touch(ids) | GraphEvolution::Reinforce(ids) => ids,
        GraphEvolution::Prune(_) => &[],
    };
    let graph = package.graph();
    match ids.iter().find(|id| !graph.nodes.iter().any(|node| node.id == **id)) {
        Some(id) => Err(super::query::unknown_node_error(&graph, id)),
        None if graph.nodes.is_empty() => Err(Error::new(
            FailureKind::Request,
            format!("`{}` has no graph", package.manifest.name),
        )
        .hint("`sp pkg create --level 1` makes one of layers")),
        None => Ok(()),
    }
}

/// The package as somebody would write it, with another content and without its version.
fn to_input_text(package: &Package, content: &str) -> String {
    let goes = ["version", "created_at", "conformance_level"];
    let stays = package
        .raw_manifest()
        .members()
        .filter(|(key, _)| !goes.iter().any(|name| key.eq_str(name)));
    let manifest: Vec<String> =
        stays.map(|(key, value)| format!("{}:{}", key.raw(), value.raw())).collect();
    format!("{{{}:{{{}}},{}:{content}}}", quoted("manifest"), manifest.join(","), quoted("content"))
}
