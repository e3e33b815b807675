//! `plan_install`, `install`, `plan_uninstall`, `uninstall`: changes are applied only by the ID of
//! a plan that was shown.

use schemars::JsonSchema;
use serde::Deserialize;
use sp_engine::{
    ApplyMode, Context, Error, ErrorCode, InstallRequest, OtherPacks, PlanId, ReplacePolicy,
    Result, SinkRequest, UninstallRequest, install, select_agents, uninstall,
};
use sp_formats::output::PackChangeReport;
use sp_formats::printable::printable;

use super::{LocalBackend, ScopeInput};
use crate::mcp::local::WriteAccess;
use crate::mcp::tool::{McpTool, ToolEffect, ToolSpec};
use crate::mcp::tool_call::ToolCall;

const PLAN_INSTALL: ToolSpec = ToolSpec::read_only(
    "plan_install",
    "Plan an install",
    "Show what installing packs for agents would change, without changing anything. Returns the \
     plan ID that `install` requires.",
)
.open_world();
const INSTALL: ToolSpec = ToolSpec::read_only(
    "install",
    "Install",
    "Install packs for agents in one transaction, exactly as planned. Call `plan_install` first, \
     then pass the same arguments and its plan ID. Requires that the user started the server with \
     `--allow-write`.",
)
.with_effect(ToolEffect::Destructive)
.open_world();
const PLAN_UNINSTALL: ToolSpec = ToolSpec::read_only(
    "plan_uninstall",
    "Plan an uninstall",
    "Show what uninstalling packs would remove, without changing anything. Returns the plan ID \
     that `uninstall` requires.",
);
const UNINSTALL: ToolSpec = ToolSpec::read_only(
    "uninstall",
    "Uninstall",
    "Uninstall packs from agents in one transaction, exactly as planned. Call `plan_uninstall` \
     first, then pass the same arguments and its plan ID. Requires that the user started the \
     server with `--allow-write`.",
)
.with_effect(ToolEffect::Destructive);

pub(super) fn tools() -> Vec<McpTool<LocalBackend>> {
    vec![
        McpTool::new(
            PLAN_INSTALL,
            |local: &LocalBackend, what: PackChangeInput, call: &ToolCall| {
                local.install(&what, None, call)
            },
        ),
        McpTool::new(
            INSTALL,
            |local: &LocalBackend, input: PlannedChangeInput, call: &ToolCall| {
                local.install(&input.what, Some(local.authorize_plan(&input.plan)?), call)
            },
        ),
        McpTool::new(
            PLAN_UNINSTALL,
            |local: &LocalBackend, what: PackChangeInput, call: &ToolCall| {
                local.uninstall(&what, None, call)
            },
        ),
        McpTool::new(
            UNINSTALL,
            |local: &LocalBackend, input: PlannedChangeInput, call: &ToolCall| {
                local.uninstall(&input.what, Some(local.authorize_plan(&input.plan)?), call)
            },
        ),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct PackChangeInput {
    /// Names of packs in the repository.
    packs: Vec<String>,
    /// Names of agents, such as `claude`, `codex` or `cursor`; `detected` for the agents on this
    /// machine; `all` for the agents of the project's manifest, or else the default agents of the
    /// config file, or else the detected ones.
    agents: Vec<String>,
    /// Whether the packs are for the user or for the project.
    #[serde(default)]
    scope: ScopeInput,
}

#[derive(Deserialize, JsonSchema)]
struct PlannedChangeInput {
    /// The same arguments as for the plan.
    #[serde(flatten)]
    what: PackChangeInput,
    /// Plan ID: `plan` in the result of `plan_install` or `plan_uninstall`.
    plan: String,
}

impl PackChangeInput {
    fn sink_requests(&self, context: &Context<'_>) -> Result<Vec<SinkRequest>> {
        let sink = |name| SinkRequest { name, path: None, scope: self.scope.into() };
        Ok(select_agents(context, &self.agents)?.into_iter().map(sink).collect())
    }

    /// Returns the names of the packs. Paths are rejected: they could point to any file.
    fn pack_names(&self) -> Result<Vec<String>> {
        let is_path = |name: &&String| {
            name.contains(['/', '\\']) || name.ends_with(".yaml") || name.ends_with(".yml")
        };
        if let Some(path) = self.packs.iter().find(is_path) {
            return Err(Error::new(
                ErrorCode::InvalidArguments,
                format!("`{}` is a path, not the name of a pack", printable(path)),
            )
            .hint("use the names of packs in the repository"));
        }
        if self.packs.is_empty() || self.agents.is_empty() {
            return Err(Error::new(
                ErrorCode::MissingArgument,
                "`packs` and `agents` must not be empty",
            ));
        }
        Ok(self.packs.clone())
    }
}

impl LocalBackend {
    /// Parses a plan ID, if clients may change anything.
    fn authorize_plan(&self, plan: &str) -> Result<PlanId> {
        if self.settings.write_access == WriteAccess::Denied {
            return Err(Error::new(ErrorCode::ReadOnlyServer, "this server is read-only")
                .hint("ask the user to start it with `sp mcp --allow-write`"));
        }
        plan.parse().map_err(|why| {
            Error::new(ErrorCode::InvalidId, format!("invalid plan ID `{}`", printable(plan)))
                .because(why)
                .hint("use `plan` from the result of `plan_install` or `plan_uninstall`")
        })
    }

    fn install(
        &self,
        input: &PackChangeInput,
        plan: Option<PlanId>,
        call: &ToolCall,
    ) -> Result<PackChangeReport> {
        let packs = input.pack_names()?;
        self.with_context(Some(call), |context| {
            let request = InstallRequest {
                packs,
                sinks: input.sink_requests(context)?,
                root: self.settings.library_filter.root.clone(),
                other_packs: OtherPacks::Keep,
                replace: ReplacePolicy::Refuse,
                mode: mode(plan),
                expected_plan: plan,
            };
            install(context, &request)
        })
    }

    fn uninstall(
        &self,
        input: &PackChangeInput,
        plan: Option<PlanId>,
        call: &ToolCall,
    ) -> Result<PackChangeReport> {
        let packs = input.pack_names()?;
        self.with_context(Some(call), |context| {
            let request = UninstallRequest {
                packs,
                sinks: input.sink_requests(context)?,
                mode: mode(plan),
                expected_plan: plan,
            };
            uninstall(context, &request)
        })
    }
}

fn mode(plan: Option<PlanId>) -> ApplyMode {
    if plan.is_some() { ApplyMode::Apply } else { ApplyMode::DryRun }
}
