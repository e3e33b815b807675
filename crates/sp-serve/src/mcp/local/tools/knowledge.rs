//! What packages of this machine know, for `load_context` and `graph_neighbors`.

use sp_engine::Result;
use sp_engine::graph::Shape;
use sp_engine::pkg::{LoadRequest, Query, QueryRequest, load, named, query};
use sp_formats::output::{GraphView, PackageLoaded};

use super::Local;
use crate::mcp::tools::Call;
use crate::mcp::tools::knowledge::{Knowledge, Loading};

impl Knowledge for Local {
    fn load(&self, packages: &[String], wanted: Loading, call: &Call) -> Result<PackageLoaded> {
        let request = LoadRequest {
            packages: self.packages_named(packages)?,
            budget: wanted.budget,
            focus: wanted.focus,
            at: None,
            shape: Shape::Markdown,
            root: self.settings.shelves.root.clone(),
        };
        self.with(Some(call), |context| load(context, &request))
    }

    fn query(&self, packages: &[String], asked: Query, call: &Call) -> Result<GraphView> {
        let request = QueryRequest {
            packages: self.packages_named(packages)?,
            query: asked,
            root: self.settings.shelves.root.clone(),
        };
        self.with(Some(call), |context| query(context, &request))
    }
}

impl Local {
    /// Packages by name, or files of packages that lie where this server looks.
    fn packages_named(&self, names: &[String]) -> Result<Vec<String>> {
        // What could be a file is one: the engine would take it for that.
        let is_name = |name: &str| named(name).is_ok() && self.here(name).symlink_metadata().is_err();
        let named = |name: &String| match is_name(name) {
            true => Ok(name.clone()),
            false => self.inside(name).map(|path| path.to_string_lossy().into_owned()),
        };
        names.iter().map(named).collect()
    }
}
