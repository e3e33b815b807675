//! `sp install`, `sp switch` and `sp uninstall`.

use std::path::Path;

use sp_engine::{
    Context, InstallRequest, OtherPacks, ReplacePolicy, Result, SinkRequest, UninstallRequest,
};

use super::pack_changes::print_pack_changes;
use super::{mode, sink_requests};
use crate::cli;
use crate::terminal::Terminal;

pub(super) fn install(
    context: &Context<'_>,
    root: Option<&Path>,
    install: &cli::InstallArgs,
    others: OtherPacks,
    terminal: &Terminal,
) -> Result<()> {
    let request = InstallRequest {
        packs: install.packs.clone(),
        sinks: sinks_of(context, &install.agents)?,
        root: root.map(Into::into),
        other_packs: others,
        replace: if install.replace { ReplacePolicy::Allow } else { ReplacePolicy::Refuse },
        mode: mode(install.plan.dry_run),
        expected_plan: install.plan.plan,
    };
    let context = &install.consent.apply_to(context);
    let report = sp_engine::install(context, &request)?;
    print_pack_changes(context, &report, terminal)
}

pub(super) fn uninstall(
    context: &Context<'_>,
    uninstall: &cli::UninstallArgs,
    terminal: &Terminal,
) -> Result<()> {
    let request = UninstallRequest {
        packs: uninstall.packs.clone(),
        sinks: sinks_of(context, &uninstall.agents)?,
        mode: mode(uninstall.plan.dry_run),
        expected_plan: uninstall.plan.plan,
    };
    let report = sp_engine::uninstall(context, &request)?;
    print_pack_changes(context, &report, terminal)
}

fn sinks_of(context: &Context<'_>, agents: &cli::AgentArgs) -> Result<Vec<SinkRequest>> {
    sink_requests(context, &agents.agent, agents.path.as_deref(), agents.scope)
}
