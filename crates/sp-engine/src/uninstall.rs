//! `sp uninstall`: deletes exactly what is recorded.

use sp_formats::output::PackChangeReport;

use crate::config::Session;
use crate::context::Context;
use crate::error::{Error, FailureKind, Result};
use crate::home::{DigestIndexes, read_state};
use crate::install::{ApplyMode, ApplyOptions, change_sinks, dedup_sinks};
use crate::plan::{OtherPacks, PackTargets, PlanRequest, ReplacePolicy};
use crate::plan_id::PlanId;
use crate::sinks::{Sink, SinkRequest, resolve_sink};

/// What is to be uninstalled from where.
#[derive(Debug, Clone)]
pub struct UninstallRequest {
    /// The packs, by name.
    pub packs: Vec<String>,
    /// The sinks.
    pub sinks: Vec<SinkRequest>,
    /// Whether it is done.
    pub mode: ApplyMode,
    /// The plan that was shown: another is refused.
    pub expected_plan: Option<PlanId>,
}

/// Uninstalls packs from sinks. Neither the repository nor the pack file need exist any more.
pub fn uninstall(context: &Context<'_>, request: &UninstallRequest) -> Result<PackChangeReport> {
    let session = Session::begin(context)?;
    let sinks = dedup_sinks(
        request.sinks.iter().map(|sink| resolve_sink(&session, sink)).collect::<Result<_>>()?,
    );
    let state = read_state(context)?;
    for (sink, pack) in
        sinks.iter().flat_map(|sink| request.packs.iter().map(move |pack| (sink, pack)))
    {
        let here: Vec<&str> = state
            .installs
            .iter()
            .filter(|install| sink.matches_record(install))
            .map(|install| install.pack.as_str())
            .collect();
        if !here.contains(&pack.as_str()) {
            return Err(not_installed(context, sink, pack, &here));
        }
    }
    let wanted = PlanRequest {
        packs: &[],
        removed_packs: request.packs.clone(),
        other_packs: OtherPacks::Keep,
        replace: ReplacePolicy::Refuse,
        targets: PackTargets::AllSinks,
    };
    let terms = ApplyOptions { mode: request.mode, expected_plan: request.expected_plan };
    change_sinks(&session, &sinks, &wanted, terms, &mut DigestIndexes::new(context))
}

fn not_installed(context: &Context<'_>, sink: &Sink, pack: &str, here: &[&str]) -> Error {
    let error = Error::new(
        FailureKind::Request,
        format!("`{pack}` is not installed in `{}`", context.display_path(&sink.path)),
    );
    match here {
        [] => error.hint("nothing is installed there; `sp installed` lists all sinks"),
        here => error.hint(format!("installed there: {}", here.join(", "))),
    }
}
