//! `sp pkg touch`, `reinforce` and `prune`: a new version of a package, and never a change of the old one.

use sp_analyze::graph::{Evolution, evolve as evolved};
use sp_formats::json::{Json, quoted};
use sp_formats::output::PackagesStored;
use sp_formats::package::{Graph, Level, Package};

use super::create::{CreateRequest, Material, create};
use super::shelf::read_shelf;
use super::subject::Subject;
use crate::config::Session;
use crate::context::Context;
use crate::error::{Error, Kind, Result};

/// Makes the next version of a package; how many nodes it is about, is told.
pub fn evolve(
    context: &Context<'_>,
    package: &str,
    evolution: &Evolution,
    sign: Option<Option<String>>,
) -> Result<(PackagesStored, usize)> {
    let (text, count, level) = {
        let session = Session::begin(context)?;
        let (package, _) = Subject::parse(&session, package)?.load(&session, &read_shelf(context)?)?;
        refuse_unknown(&package, evolution)?;
        let (content, count) = evolved(package.content(), evolution, context.now);
        // What is taken out may take the level with it.
        let json = Json::parse(content.as_str(), &session.limits).map_err(|e| Error::new(Kind::Data, e.to_string()))?;
        let reached = Level::of(&Graph::of(json.root())).reached;
        let level = package.manifest.level.map(|claimed| claimed.min(reached));
        (rewritten(&package, &content), count, level)
    };
    let request = CreateRequest { sign, level, ..CreateRequest::of(Material::Text(text)) };
    Ok((create(context, &request)?, count))
}

fn refuse_unknown(package: &Package, evolution: &Evolution) -> Result<()> {
    let ids: &[String] = match evolution {
        Evolution::Touch(ids) | Evolution::Reinforce(ids) => ids,
        Evolution::Prune(_) => &[],
    };
    let graph = package.graph();
    match ids.iter().find(|id| !graph.nodes.iter().any(|node| node.id == **id)) {
        Some(id) => Err(super::query::unknown(&graph, id)),
        None if graph.nodes.is_empty() => {
            Err(Error::new(Kind::Request, format!("`{}` has no graph", package.manifest.name))
                .hint("`sp pkg create --level 1` makes one of layers"))
        }
        None => Ok(()),
    }
}

/// The package as somebody would write it, with another content and without its version.
fn rewritten(package: &Package, content: &str) -> String {
    let goes = ["version", "created_at", "conformance_level"];
    let stays = package.raw_manifest().members().filter(|(key, _)| !goes.iter().any(|name| key.is(name)));
    let manifest: Vec<String> = stays.map(|(key, value)| format!("{}:{}", key.raw(), value.raw())).collect();
    format!("{{{}:{{{}}},{}:{content}}}", quoted("manifest"), manifest.join(","), quoted("content"))
}
