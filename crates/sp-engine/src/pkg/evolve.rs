//! `sp pkg touch`, `reinforce` and `prune`: creates a new version of a package with a changed
//! graph.

use sp_analyze::graph::{GraphEvolution, evolve as evolved};
use sp_formats::json::{JsonDocument, quoted};
use sp_formats::output::StoredPackageList;
use sp_formats::package::{ConformanceLevel, Graph, Package};
use sp_tree::Digest;

use super::create::{CreateRequest, CreateSource, create_from_origin};
use super::keys::PackageSigning;
use super::load_package::load_package;
use super::package_spec::PackageSpec;
use super::package_store::read_store_index;
use super::query::unknown_node_error;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::plan_id::ApplyOptions;
use crate::session::Session;

/// Creates the next version of a package. Returns it and the number of affected nodes.
pub fn evolve(
    context: &Context<'_>,
    package: &str,
    evolution: &GraphEvolution,
    signing: PackageSigning,
    apply: ApplyOptions,
) -> Result<(StoredPackageList, usize)> {
    let (text, count, level, origin) = {
        let session = Session::begin(context)?;
        let spec = PackageSpec::parse(&session, package)?;
        let package = load_package(&session, &read_store_index(context)?, &spec)?.package;
        check_nodes_exist(&package, evolution)?;
        let (content, count) = evolved(package.content(), evolution, context.now);
        // Without the removed nodes, the graph may no longer reach its level.
        let json = JsonDocument::parse(content.as_str(), &session.limits)
            .map_err(|e| Error::new(ErrorCode::Internal, e.to_string()))?;
        let reached = ConformanceLevel::of(&Graph::from_content(json.root())).reached;
        let level = package.manifest.level.map(|claimed| claimed.min(reached));
        // The new content depends on the time.
        let origin = Digest::of(format!("{} {evolution:?}", package.digest()).as_bytes());
        (to_input_text(&package, &content), count, level, origin)
    };
    let source = CreateSource::Text(text);
    let request = CreateRequest { signing, level, apply, ..CreateRequest::of(source) };
    Ok((create_from_origin(context, &request, Some(origin))?, count))
}

fn check_nodes_exist(package: &Package, evolution: &GraphEvolution) -> Result<()> {
    let ids: &[String] = match evolution {
        GraphEvolution::Touch(ids) | GraphEvolution::Reinforce(ids) => ids,
        GraphEvolution::Prune(_) => &[],
    };
    let graph = package.graph();
    match ids.iter().find(|id| !graph.nodes.iter().any(|node| node.id == **id)) {
        Some(id) => Err(unknown_node_error(&graph, id)),
        None if graph.nodes.is_empty() => Err(Error::new(
            ErrorCode::Unsupported,
            format!("`{}` has no graph", package.manifest.name),
        )
        .hint("run `sp pkg create --level 1` to create a graph from its layers")),
        None => Ok(()),
    }
}

/// Returns the text of an input file with the manifest of the package and other content. The
/// version, creation time and level are left out, so that they are set again.
fn to_input_text(package: &Package, content: &str) -> String {
    let excluded = ["version", "created_at", "conformance_level"];
    let members = package
        .raw_manifest()
        .members()
        .filter(|(key, _)| !excluded.iter().any(|name| key.eq_str(name)));
    let manifest: Vec<String> =
        members.map(|(key, value)| format!("{}:{}", key.raw(), value.raw())).collect();
    format!("{{{}:{{{}}},{}:{content}}}", quoted("manifest"), manifest.join(","), quoted("content"))
}
