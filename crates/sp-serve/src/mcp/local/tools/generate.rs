//! `generate_pack`: returns the files that `sp context build` would write.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sp_engine::context_pack::{ContextPackBuildRequest, ExplainOmitted, ZipOutput, generate};
use sp_engine::hidden;
use sp_engine::pkg::Overwrite;
use sp_engine::{Brief, Error, ErrorCode, Result, kb};
use sp_formats::output::ContextPackSourceItem;
use sp_tree::Digest;

use super::LocalBackend;
use crate::mcp::response::base64_encode;
use crate::mcp::tool::{McpTool, ToolSpec};
use crate::mcp::tool_call::ToolCall;
use crate::mcp::tools::knowledge::MAX_BUDGET;

const DEFAULT_FILE_BUDGET: usize = 6_000;

const GENERATE_PACK: ToolSpec = ToolSpec::read_only(
    "generate_pack",
    "Generate a context pack",
    "Generate a context pack for a project from the user's knowledge bases: conventions, skills, \
     prompts and tasks, each statement with its source. Returns the files without writing them.",
);

pub(super) fn tools() -> Vec<McpTool<LocalBackend>> {
    vec![McpTool::new(GENERATE_PACK, generate_pack)]
}

#[derive(Deserialize, JsonSchema)]
struct GeneratePackInput {
    /// Name of the project.
    name: String,
    /// What the project is for, in one to three sentences.
    description: String,
    /// The request of the user, in their own words.
    prompt: Option<String>,
    /// Languages, frameworks and tools of the project, such as `rust` or `react`.
    #[serde(default)]
    stack: Vec<String>,
    /// Directories of knowledge bases. Default: all knowledge bases that the user added.
    #[serde(default)]
    kb: Vec<String>,
    /// Use only documents captured since this date or within this age, such as `90d`, `12w`, `6m`
    /// or `1y`.
    since: Option<String>,
    /// Maximum number of tokens per file. Default: 6000.
    #[serde(default = "default_budget")]
    budget: usize,
    /// Time of generation, such as `2026-04-24T14:22:03Z`. Default: now.
    generated_at: Option<String>,
    /// Pack ID (ULID or UUID). Default: derived from the contents.
    pack_id: Option<String>,
}

fn default_budget() -> usize {
    DEFAULT_FILE_BUDGET
}

#[derive(Serialize, JsonSchema)]
struct GeneratePackOutput {
    /// Pack ID (ULID or UUID).
    pack_id: String,
    /// Time of generation.
    generated_at: String,
    /// Files of the context pack, including `pack.json`.
    files: Vec<GeneratedFile>,
    /// Sources of the context pack, the most relevant first.
    sources: Vec<ContextPackSourceItem>,
    /// Number of documents in the knowledge bases.
    documents: usize,
    /// Number of documents that are relevant to the project.
    relevant: usize,
}

#[derive(Serialize, JsonSchema)]
struct GeneratedFile {
    /// Path in the context pack.
    path: String,
    /// SHA-256 of the contents.
    digest: String,
    /// Size in bytes.
    size: usize,
    /// The exact contents, if they can be sent as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The contents in base64, if they cannot be sent unchanged as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    blob: Option<String>,
}

fn generate_pack(
    local: &LocalBackend,
    input: GeneratePackInput,
    call: &ToolCall,
) -> Result<GeneratePackOutput> {
    if input.budget > MAX_BUDGET {
        let message =
            format!("a budget of {} tokens exceeds the maximum of {MAX_BUDGET}", input.budget);
        return Err(Error::new(ErrorCode::ArgumentTooLarge, message).hint("use a smaller `budget`"));
    }
    let request = build_request(local, input)?;
    let pack = local.with_context(Some(call), |context| generate(context, &request))?;
    Ok(GeneratePackOutput {
        pack_id: pack.pack_id,
        generated_at: pack.generated_at,
        files: pack.files.into_iter().map(generated_file).collect(),
        sources: pack.sources,
        documents: pack.documents.total,
        relevant: pack.documents.relevant,
    })
}

fn build_request(
    local: &LocalBackend,
    input: GeneratePackInput,
) -> Result<ContextPackBuildRequest> {
    Ok(ContextPackBuildRequest {
        kb: local.knowledge_bases(&input.kb)?,
        brief: Brief {
            name: input.name,
            description: input.description,
            prompt: input.prompt,
            stack: input.stack,
        },
        since: input.since,
        out: None,
        zip: ZipOutput::No,
        budget: input.budget,
        explain: ExplainOmitted::No,
        generated_at: input.generated_at,
        pack_id: input.pack_id,
        overwrite: Overwrite::Refuse,
        // A client must not choose which model receives the user's documents.
        model: None,
    })
}

fn generated_file((path, bytes): (String, Vec<u8>)) -> GeneratedFile {
    let (digest, size) = (format!("sha256:{}", Digest::of(&bytes).hex()), bytes.len());
    // Text that `hidden::mark` would change is sent as base64, to stay byte-identical.
    let is_plain = |text: &String| matches!(hidden::mark(text), std::borrow::Cow::Borrowed(_));
    let (text, blob) = match String::from_utf8(bytes) {
        Ok(text) if is_plain(&text) => (Some(text), None),
        Ok(text) => (None, Some(base64_encode(text.as_bytes()))),
        Err(other) => (None, Some(base64_encode(other.as_bytes()))),
    };
    GeneratedFile { path, digest, size, text, blob }
}

impl LocalBackend {
    /// Resolves knowledge bases: those that the user added, and directories that clients may read.
    fn knowledge_bases(&self, paths: &[String]) -> Result<Vec<PathBuf>> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let known = self
            .with_context(None, |context| kb::list(context, None))
            .map(|list| list.bases)
            .unwrap_or_default();
        let base = |path: &String| {
            let path_from_here = self.absolute_path(path);
            let real = path_from_here.canonicalize().unwrap_or(path_from_here);
            if known.iter().any(|base| base.dir == real) {
                Ok(real)
            } else {
                self.allowed_path(path)
            }
        };
        paths.iter().map(base).collect()
    }
}
