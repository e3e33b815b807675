//! The arguments of `sp context build`, which [`generate`](super::generate()) takes as well.

use std::path::PathBuf;

use sp_analyze::knowledge::Brief;

use crate::model::ModelEndpoint;
use crate::output_file::Overwrite;

/// The default output directory.
pub(crate) const DEFAULT_OUT_DIR: &str = "context-pack";

/// Whether a zip is written next to the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZipOutput {
    Yes,
    No,
}

/// Whether the report lists what was left out, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainOmitted {
    Yes,
    No,
}

/// The arguments of `sp context build`.
#[derive(Debug, Clone)]
pub struct ContextPackBuildRequest {
    /// The directories of knowledge bases. The default is all that were added.
    pub kb: Vec<PathBuf>,
    /// The project that the pack is for, which decides what is relevant.
    pub brief: Brief,
    /// The start of the time window for documents: `90d`, `12w`, `6m`, `1y` or a date.
    pub since: Option<String>,
    /// The output directory. The default is `context-pack` in the current directory.
    pub out: Option<PathBuf>,
    pub zip: ZipOutput,
    /// The maximum number of tokens of each file.
    pub budget: usize,
    pub explain: ExplainOmitted,
    /// The creation time. The default is now.
    pub generated_at: Option<String>,
    /// The pack ID. The default is derived from the input.
    pub pack_id: Option<String>,
    /// Whether an existing zip, or an existing pack that was edited, may be replaced.
    pub overwrite: Overwrite,
    /// A model that selects and shortens quotes.
    pub model: Option<ModelEndpoint>,
}
