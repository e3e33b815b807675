//! `sp uninstall`: removes the folders that the state records for a pack, and no others.

use sp_formats::output::PackChangeReport;
use sp_formats::state::InstallState;

use crate::apply_mode::ApplyMode;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::home::{DigestIndexes, LockedHome};
use crate::install::change::ChangeExecutor;
use crate::install::plan::{PlanRequest, SinkTarget};
use crate::plan_id::{ApplyOptions, PlanId};
use crate::session::Session;
use crate::sinks::{Sink, SinkRequest, resolve_sinks};

/// Which packs to uninstall, and from where.
#[derive(Debug, Clone)]
pub struct UninstallRequest {
    /// Pack names.
    pub packs: Vec<String>,
    pub sinks: Vec<SinkRequest>,
    pub mode: ApplyMode,
    /// The plan ID of an earlier dry run. If set, any other plan is refused.
    pub expected_plan: Option<PlanId>,
}

/// Uninstalls packs from sinks. The repository and the pack file need not exist anymore.
pub fn uninstall(context: &Context<'_>, request: &UninstallRequest) -> Result<PackChangeReport> {
    let session = Session::begin(context)?;
    let sinks = resolve_sinks(&session, &request.sinks)?;
    // Without a home directory nothing is installed, so that none is created for the error.
    let home = if context.home.exists() {
        Some(LockedHome::open(context, &session.limits)?)
    } else {
        None
    };
    let options = ApplyOptions { mode: request.mode, expected_plan: request.expected_plan };
    let change = ChangeExecutor { session: &session, home: home.as_ref(), options };
    let state = change.state()?;
    for sink in &sinks {
        for pack in &request.packs {
            require_installed(context, &state, sink, pack)?;
        }
    }
    let plan_request = PlanRequest {
        targets: SinkTarget::all(&sinks, &[]),
        removed_packs: request.packs.clone(),
        ..PlanRequest::default()
    };
    let mut indexes = DigestIndexes::new(context);
    let plan = change.plan(state, &plan_request, Vec::new(), &mut indexes)?;
    Ok(change.run(plan, &mut indexes)?.report)
}

fn require_installed(
    context: &Context<'_>,
    state: &InstallState,
    sink: &Sink,
    pack: &str,
) -> Result<()> {
    let installed: Vec<&str> = state
        .installs
        .iter()
        .filter(|install| sink.matches_record(install))
        .map(|install| install.pack.as_str())
        .collect();
    if installed.contains(&pack) {
        return Ok(());
    }
    let error = Error::new(
        ErrorCode::NotInstalled,
        format!("`{pack}` is not installed in `{}`", context.display_path(&sink.path)),
    );
    Err(if installed.is_empty() {
        error.hint("nothing is installed there; run `sp installed` to list what is installed")
    } else {
        error.hint(format!("installed there: {}", installed.join(", ")))
    })
}
