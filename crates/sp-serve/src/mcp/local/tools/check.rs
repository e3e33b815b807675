//! `check` and `audit`.

use schemars::JsonSchema;
use serde::Deserialize;
use sp_engine::{AuditRequest, CheckRequest, CheckStrictness, ImportPolicy, Result};
use sp_formats::output::{AuditReport, CheckReport};

use super::LocalBackend;
use crate::mcp::tool::{McpTool, ToolSpec};
use crate::mcp::tool_call::ToolCall;

const CHECK: ToolSpec = ToolSpec::read_only(
    "check",
    "Check",
    "Check files and directories in all supported formats, such as skills and packages. Returns \
     every problem with its rule, file, line and column, and how to fix it. Use it after you \
     create or edit such files.",
);

const AUDIT: ToolSpec = ToolSpec::read_only(
    "audit",
    "Audit",
    "Report what to review before you trust skills, packages or other files: hidden text, secrets, \
     scripts, requested tools, hosts, and package signers. Use it before you install or follow \
     content from others.",
);

pub(super) fn tools() -> Vec<McpTool<LocalBackend>> {
    vec![McpTool::new(CHECK, check), McpTool::new(AUDIT, audit)]
}

#[derive(Deserialize, JsonSchema)]
struct CheckInput {
    /// Files or directories below the current directory. Default: the current directory.
    #[serde(default)]
    paths: Vec<String>,
    /// Treat warnings as errors.
    #[serde(default)]
    strict: bool,
}

fn check(
    local: &LocalBackend,
    CheckInput { paths, strict }: CheckInput,
    call: &ToolCall,
) -> Result<CheckReport> {
    let request = CheckRequest {
        paths: paths.iter().map(|path| local.allowed_path(path)).collect::<Result<_>>()?,
        root: local.settings.library_filter.root.clone(),
        strictness: if strict { CheckStrictness::Strict } else { CheckStrictness::Lenient },
        imports: ImportPolicy::Skip,
        baseline: None,
    };
    let checked = local.with_context(Some(call), |context| sp_engine::check(context, &request))?;
    Ok(checked.to_report(Vec::new()))
}

#[derive(Deserialize, JsonSchema)]
struct AuditInput {
    /// Files or directories below the current directory. Default: the current directory.
    #[serde(default)]
    paths: Vec<String>,
}

fn audit(
    local: &LocalBackend,
    AuditInput { paths }: AuditInput,
    call: &ToolCall,
) -> Result<AuditReport> {
    let request = AuditRequest {
        paths: paths.iter().map(|path| local.allowed_path(path)).collect::<Result<_>>()?,
        root: local.settings.library_filter.root.clone(),
        sinks: Vec::new(),
        baseline: None,
        imports: ImportPolicy::Skip,
    };
    Ok(local
        .with_context(Some(call), |context| sp_engine::audit(context, &request))?
        .to_audit_report())
}
