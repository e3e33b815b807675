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
    "Check files and directories in every supported format, such as skills and packages, and report every problem \
     with its rule, file, line and column, and how to fix it.",
);

const AUDIT: ToolSpec = ToolSpec::read_only(
    "audit",
    "Audit",
    "Report what to know before trusting files in any supported format, such as skills and packages: hidden text, \
     secrets, scripts, requested tools, hosts, and who signed a package.",
);

pub(super) fn tools() -> Vec<McpTool<LocalBackend>> {
    vec![McpTool::new(CHECK, check), McpTool::new(AUDIT, audit)]
}

#[derive(Deserialize, JsonSchema)]
struct CheckInput {
    /// Files or folders below the current directory; all of it if nothing is said.
    #[serde(default)]
    paths: Vec<String>,
    /// Whether what is merely unwise counts as an error.
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
    };
    let checked = local.with_context(Some(call), |context| sp_engine::check(context, &request))?;
    Ok(checked.to_report(Vec::new()))
}

#[derive(Deserialize, JsonSchema)]
struct AuditInput {
    /// Files or folders below the current directory; all of it if nothing is said.
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
    };
    Ok(local
        .with_context(Some(call), |context| sp_engine::audit(context, &request))?
        .to_audit_report())
}
