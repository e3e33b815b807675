//! Graph queries on the packages of this machine, for `load_context` and `graph_neighbors`.

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
        load_request: KnowledgeLoadRequest,
        call: &ToolCall,
    ) -> Result<PackageLoadReport> {
        let request = LoadRequest {
            packages: self.allowed_packages(packages)?,
            budget: load_request.budget,
            focus: load_request.focus,
            at: None,
            shape: ContextFormat::Markdown,
            root: self.settings.library_filter.root.clone(),
        };
        self.with_context(Some(call), |context| load(context, &request))
    }

    fn query(
        &self,
        packages: &[String],
        graph_query: GraphQuery,
        call: &ToolCall,
    ) -> Result<GraphView> {
        let request = QueryRequest {
            packages: self.allowed_packages(packages)?,
            query: graph_query,
            root: self.settings.library_filter.root.clone(),
        };
        self.with_context(Some(call), |context| query(context, &request))
    }
}

impl LocalBackend {
    /// Resolves packages by name, and package files that clients may read.
    fn allowed_packages(&self, names: &[String]) -> Result<Vec<String>> {
        // The engine prefers an existing file to a package name, so a name that is also a file is a
        // path.
        let is_name = |name: &str| {
            parse_versioned_name(name).is_ok()
                && self.absolute_path(name).symlink_metadata().is_err()
        };
        let allowed = |name: &String| {
            if is_name(name) {
                return Ok(name.clone());
            }
            self.allowed_path(name).map(|path| path.to_string_lossy().into_owned())
        };
        names.iter().map(allowed).collect()
    }
}
