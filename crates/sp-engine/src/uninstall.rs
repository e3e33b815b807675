//! `sp uninstall`: removes the folders that the state records for a pack, and no others.
//!
//! A pack that several agents share is uninstalled for the given ones. The folders stay until the
//! last agent is gone.

use sp_formats::output::PackChangeReport;
use sp_formats::state::{InstallRecord, InstallState};
use sp_formats::suggest::list_few;

use crate::agent_set::{AgentSet, agents_after_uninstall};
use crate::apply_mode::ApplyMode;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::home::{DigestIndexes, LockedHome};
use crate::install::change::ChangeExecutor;
use crate::install::plan::{PlanRequest, SinkTarget};
use crate::plan_id::{ApplyOptions, PlanId};
use crate::session::Session;
use crate::sinks::{Sink, SinkRequest, merge_sinks, resolve_sinks};

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
    let sinks = sinks_with_packs(context, &state, sinks, &request.packs)?;
    let plan_request = PlanRequest {
        targets: SinkTarget::all(&sinks, &[]),
        removed_packs: request.packs.clone(),
        ..PlanRequest::default()
    };
    let mut indexes = DigestIndexes::new(context);
    let plan = change.plan(state, &plan_request, Vec::new(), &mut indexes)?;
    Ok(change.run(plan, &mut indexes)?.report)
}

/// Returns the sinks in which any of the packs is installed. A pack that is not installed in a sink
/// is looked up in the former sinks of its agents. Fails if it is not there either.
fn sinks_with_packs(
    context: &Context<'_>,
    state: &InstallState,
    sinks: Vec<Sink>,
    packs: &[String],
) -> Result<Vec<Sink>> {
    let mut found: Vec<Sink> = Vec::new();
    for mut sink in sinks {
        let former = std::mem::take(&mut sink.former);
        let mut is_found = false;
        for pack in packs {
            let records = || state.installs.iter().filter(|install| install.pack == *pack);
            if records().any(|install| uninstalls(&sink, install)) {
                is_found = true;
                continue;
            }
            let has_pack = |former: &&Sink| records().any(|install| former.has_install(install));
            let there: Vec<&Sink> = former.iter().filter(has_pack).collect();
            if there.is_empty() {
                return Err(not_installed_error(context, state, &sink, pack));
            }
            found.extend(there.into_iter().cloned());
        }
        if is_found {
            found.push(sink);
        }
    }
    Ok(merge_sinks(found))
}

/// Whether uninstalling a pack for the agents of a sink changes its record.
fn uninstalls(sink: &Sink, install: &InstallRecord) -> bool {
    sink.matches_record(install)
        && agents_after_uninstall(install, &sink.agents) != AgentSet::of_record(install)
}

fn not_installed_error(
    context: &Context<'_>,
    state: &InstallState,
    sink: &Sink,
    pack: &str,
) -> Error {
    let path = context.display_path(&sink.path);
    let installs: Vec<&InstallRecord> =
        state.installs.iter().filter(|install| sink.matches_record(install)).collect();
    if let Some(install) = installs.iter().find(|install| install.pack == pack) {
        let agents = AgentSet::of_record(install);
        let verb = if agents.names().len() == 1 { "reads" } else { "read" };
        return Error::new(
            ErrorCode::NotInstalled,
            format!("`{pack}` is not installed for {}", sink.agents.display_names()),
        )
        .because(format!(
            "it is in `{path}` for {}, which {verb} the same directory",
            agents.display_names()
        ))
        .hint(format!("to remove it there, use `--agent {}`", agents.names().join(",")));
    }
    let error =
        Error::new(ErrorCode::NotInstalled, format!("`{pack}` is not installed in `{path}`"));
    if installs.is_empty() {
        return error
            .hint("nothing is installed there; run `sp installed` to list what is installed");
    }
    let packs: Vec<&str> = installs.iter().map(|install| install.pack.as_str()).collect();
    let has_folder = |install: &&&InstallRecord| {
        install.installed_paths.iter().any(|path| path.rsplit('/').next() == Some(pack))
    };
    match installs.iter().find(has_folder) {
        Some(owner) => error.hint(format!("it is a skill of the pack `{}`", owner.pack)),
        None => error.hint(format!("installed there: {}", list_few(&packs))),
    }
}
