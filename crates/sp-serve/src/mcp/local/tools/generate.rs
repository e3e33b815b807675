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
    "Make a context pack for a project from the user's knowledge bases: conventions, skills, prompts and tasks, each \
     statement with its source. Gives the files; nothing is written.",
);

pub(super) fn tools() -> Vec<McpTool<LocalBackend>> {
    vec![McpTool::new(GENERATE_PACK, generate_pack)]
}

#[derive(Deserialize, JsonSchema)]
struct GeneratePackInput {
    /// What the project is called.
    name: String,
    /// What is intended, in one to three sentences.
    description: String,
    /// What the user asked for.
    prompt: Option<String>,
    /// What it is built with.
    #[serde(default)]
    stack: Vec<String>,
    /// Knowledge bases, by their folders; all that were added if nothing is said.
    #[serde(default)]
    kb: Vec<String>,
    /// Only what was captured since: `90d`, `12w`, `6m`, `1y` or a day.
    since: Option<String>,
    /// How many tokens each file has at the most; 6,000 if nothing is said.
    #[serde(default = "default_budget")]
    budget: usize,
    /// When it is made, as `2026-04-24T14:22:03Z`; now if nothing is said.
    generated_at: Option<String>,
    /// What tells it from every other, a ULID or a UUID; it follows from the rest if nothing is
    /// said.
    pack_id: Option<String>,
}

fn default_budget() -> usize {
    DEFAULT_FILE_BUDGET
}

#[derive(Serialize, JsonSchema)]
struct GeneratePackOutput {
    /// What tells it from every other.
    pack_id: String,
    /// When it was made.
    generated_at: String,
    /// Its files, with `pack.json`.
    files: Vec<GeneratedFile>,
    /// Its sources, the most needed first.
    sources: Vec<ContextPackSourceItem>,
    /// How many documents there are.
    documents: usize,
    /// How many of them have something of what is asked for.
    relevant: usize,
}

#[derive(Serialize, JsonSchema)]
struct GeneratedFile {
    /// Its name in the folder of the pack.
    path: String,
    /// The hash of its bytes.
    digest: String,
    /// How many bytes it has.
    size: usize,
    /// What it says, to the letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Its bytes in base64, where they could not be shown to the letter as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    blob: Option<String>,
}

fn generate_pack(
    local: &LocalBackend,
    input: GeneratePackInput,
    call: &ToolCall,
) -> Result<GeneratePackOutput> {
    if input.budget > MAX_BUDGET {
        let message = format!("{} tokens are more than {MAX_BUDGET}", input.budget);
        return Err(Error::new(ErrorCode::ArgumentTooLarge, message).hint("ask for fewer"));
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
