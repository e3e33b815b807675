//! What packages of this machine know, for `load_context` and `graph_neighbors`.

use sp_engine::Result;
use sp_engine::graph::ContextFormat;
use sp_engine::pkg::{GraphQuery, LoadRequest, QueryRequest, load, parse_versioned_name, query};
use sp_formats::output::{GraphView, PackageLoadReport};

use super::LocalBackend;
use crate::mcp::tool_call::ToolCall;
use crate::mcp::tools::knowledge::{KnowledgeBackend, KnowledgeLoadRequest};

impl KnowledgeBackend for LocalBackend {
    fn load(
        &self,
        packages: &[String],
        wanted: KnowledgeLoadRequest,
        call: &ToolCall,
    ) -> Result<PackageLoadReport> {
        let request = LoadRequest {
            packages: self.allowed_packages(packages)?,
            budget: wanted.budget,
            focus: wanted.focus,
            at: None,
            shape: ContextFormat::Markdown,
            root: self.settings.library_filter.root.clone(),
        };
        self.with_context(Some(call), |context| load(context, &request))
    }

    fn query(&self, packages: &[String], asked: GraphQuery, call: &ToolCall) -> Result<GraphView> {
        let request = QueryRequest {
            packages: self.allowed_packages(packages)?,
            query: asked,
            root: self.settings.library_filter.root.clone(),
        };
        self.with_context(Some(call), |context| query(context, &request))
    }
}

impl LocalBackend {
    /// Packages by name, or files of packages that lie where this server looks.
    fn allowed_packages(&self, names: &[String]) -> Result<Vec<String>> {
        // What could be a file is one: the engine would take it for that.
        let is_name = |name: &str| {
            parse_versioned_name(name).is_ok()
                && self.absolute_path(name).symlink_metadata().is_err()
        };
        let named = |name: &String| match is_name(name) {
            true => Ok(name.clone()),
            false => self.allowed_path(name).map(|path| path.to_string_lossy().into_owned()),
        };
        names.iter().map(named).collect()
    }
}
