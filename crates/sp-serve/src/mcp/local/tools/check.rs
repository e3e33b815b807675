//! `check` and `audit`.

use schemars::JsonSchema;
use serde::Deserialize;
use sp_engine::{AuditRequest, CheckRequest, Imports, Result, Strictness};
use sp_formats::output::{AuditReport, CheckReport};

use super::Local;
use crate::mcp::tools::{About, Call, Tool};

const CHECK: About = About::reads(
    "check",
    "Check",
    "Check skills, packs, bags, context packs and packages, and report every problem with its rule, file, line and \
     column, and what to do about it.",
);

const AUDIT: About = About::reads(
    "audit",
    "Audit",
    "What somebody should know before trusting skills, context packs and packages: hidden text, secrets, scripts, tools \
     that are asked for, hosts that are named, and who signed a package.",
);

pub(super) fn tools() -> Vec<Tool<Local>> {
    vec![Tool::new(CHECK, check), Tool::new(AUDIT, audit)]
}

#[derive(Deserialize, JsonSchema)]
struct CheckWanted {
    /// Files or folders below the current directory; all of it if nothing is said.
    #[serde(default)]
    paths: Vec<String>,
    /// Whether what is merely unwise counts as an error.
    #[serde(default)]
    strict: bool,
}

fn check(local: &Local, CheckWanted { paths, strict }: CheckWanted, call: &Call) -> Result<CheckReport> {
    let request = CheckRequest {
        paths: paths.iter().map(|path| local.inside(path)).collect::<Result<_>>()?,
        root: local.settings.shelves.root.clone(),
        strictness: if strict { Strictness::Strict } else { Strictness::Lenient },
        imports: Imports::Leave,
    };
    let checked = local.with(Some(call), |context| sp_engine::check(context, &request))?;
    Ok(checked.report(Vec::new()))
}

#[derive(Deserialize, JsonSchema)]
struct AuditWanted {
    /// Files or folders below the current directory; all of it if nothing is said.
    #[serde(default)]
    paths: Vec<String>,
}

fn audit(local: &Local, AuditWanted { paths }: AuditWanted, call: &Call) -> Result<AuditReport> {
    let request = AuditRequest {
        paths: paths.iter().map(|path| local.inside(path)).collect::<Result<_>>()?,
        root: local.settings.shelves.root.clone(),
        sinks: Vec::new(),
    };
    Ok(local.with(Some(call), |context| sp_engine::audit(context, &request))?.audit_report())
}
