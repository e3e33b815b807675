//! `sp pkg graph`: draws the graph of packages.

use std::path::{Path, PathBuf};

use sp_analyze::graph::{render_page, to_dot, to_mermaid};
use sp_tree::atomic::{FileAccess, OutputFile};

use super::package_graphs::PackageGraphs;
use crate::context::Context;
use crate::error::Result;
use crate::output_file::{OUTPUT_OR_FORCE_HINT, Overwrite, write_output_file};
use crate::session::Session;

/// The output format of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphFormat {
    /// Graphviz.
    Dot,
    Mermaid,
    /// A self-contained page.
    Html,
}

/// Renders the merged graph of packages. Without names, those of the project are used.
pub fn render_graph(
    context: &Context<'_>,
    packages: &[String],
    root: Option<&Path>,
    format: GraphFormat,
) -> Result<String> {
    let session = Session::begin(context)?;
    let graphs = PackageGraphs::load(&session, packages, root)?;
    graphs.with_graph(&session.limits, |graph| {
        Ok(match format {
            GraphFormat::Dot => to_dot(graph),
            GraphFormat::Mermaid => to_mermaid(graph),
            GraphFormat::Html => render_page(graph, &title(&graphs.labels()), context.now),
        })
    })
}

/// Writes a rendered graph to a file, and returns the path of the file.
pub fn write_graph(
    context: &Context<'_>,
    text: &str,
    output: &Path,
    overwrite: Overwrite,
) -> Result<PathBuf> {
    let path = context.absolute(output);
    let file = OutputFile {
        bytes: text.as_bytes(),
        access: FileAccess::Ordinary,
        if_exists: overwrite.into(),
    };
    write_output_file(context, &path, file, OUTPUT_OR_FORCE_HINT)?;
    Ok(path.canonicalize().unwrap_or(path))
}

/// Returns the title of the page: the first three packages, and the number of the others.
fn title(labels: &[String]) -> String {
    match labels {
        [a, b, c, more @ ..] if !more.is_empty() => {
            format!("{a}, {b}, {c} and {} more", more.len())
        }
        few => few.join(", "),
    }
}
