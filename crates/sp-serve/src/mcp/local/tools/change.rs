//! `plan_install`, `install`, `plan_uninstall`, `uninstall`: what was shown is what is done.

use schemars::JsonSchema;
use serde::Deserialize;
use sp_engine::{
    Error, InstallRequest, Kind, Mode, Others, PlanId, Replace, Result, SinkRequest, UninstallRequest, install,
    uninstall,
};
use sp_formats::output::ChangeReport;
use sp_formats::printable::printable;

use super::{Local, Place};
use crate::mcp::local::Writing;
use crate::mcp::tools::{About, Call, Effect, Tool};

const PLAN_INSTALL: About = About::reads(
    "plan_install",
    "Plan an install",
    "Show what installing packs for agents would change, and change nothing. Gives the id that `install` asks for.",
)
.anywhere();
const INSTALL: About = About::reads(
    "install",
    "Install",
    "Install packs for agents, exactly as `plan_install` showed it, in one transaction. Only where the user started \
     this server with `--allow-write`.",
)
.that(Effect::Removes)
.anywhere();
const PLAN_UNINSTALL: About = About::reads(
    "plan_uninstall",
    "Plan an uninstall",
    "Show what uninstalling packs would remove, and change nothing. Gives the id that `uninstall` asks for.",
);
const UNINSTALL: About = About::reads(
    "uninstall",
    "Uninstall",
    "Uninstall packs from agents, exactly as `plan_uninstall` showed it, in one transaction. Only where the user \
     started this server with `--allow-write`.",
)
.that(Effect::Removes);

pub(super) fn tools() -> Vec<Tool<Local>> {
    vec![
        Tool::new(PLAN_INSTALL, |local: &Local, what: Packs, call: &Call| local.install(&what, None, call)),
        Tool::new(INSTALL, |local: &Local, wanted: Planned, call: &Call| {
            local.install(&wanted.what, Some(local.may_do(&wanted.plan)?), call)
        }),
        Tool::new(PLAN_UNINSTALL, |local: &Local, what: Packs, call: &Call| local.uninstall(&what, None, call)),
        Tool::new(UNINSTALL, |local: &Local, wanted: Planned, call: &Call| {
            local.uninstall(&wanted.what, Some(local.may_do(&wanted.plan)?), call)
        }),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct Packs {
    /// Packs by name.
    packs: Vec<String>,
    /// Agents by name: `claude`, `codex`, `cursor` or another.
    agents: Vec<String>,
    /// Where the agents read it.
    #[serde(default)]
    scope: Place,
}

#[derive(Deserialize, JsonSchema)]
struct Planned {
    /// What was planned.
    #[serde(flatten)]
    what: Packs,
    /// The id of the plan that was shown: `plan` of its result.
    plan: String,
}

impl Packs {
    fn sinks(&self) -> Vec<SinkRequest> {
        let sink = |name: &String| SinkRequest { name: name.clone(), path: None, scope: self.scope.into() };
        self.agents.iter().map(sink).collect()
    }

    /// A pack by its path could be one that lies anywhere.
    fn names(&self) -> Result<Vec<String>> {
        let is_path = |name: &&String| name.contains(['/', '\\']) || name.ends_with(".yaml") || name.ends_with(".yml");
        if let Some(path) = self.packs.iter().find(is_path) {
            return Err(Error::new(Kind::Usage, format!("`{}` is a path", printable(path)))
                .hint("name packs of the repository by their names"));
        }
        match self.packs.is_empty() || self.agents.is_empty() {
            true => Err(Error::new(Kind::Usage, "`packs` and `agents` each name at least one")),
            false => Ok(self.packs.clone()),
        }
    }
}

impl Local {
    /// The plan that is to be done, if anything may be changed here.
    fn may_do(&self, plan: &str) -> Result<PlanId> {
        if self.settings.writing == Writing::Off {
            return Err(Error::new(Kind::Request, "nothing may be changed through this server")
                .hint("the user can start it with `sp mcp --allow-write`"));
        }
        plan.parse().map_err(|why| {
            Error::new(Kind::Usage, format!("`{}` is no id of a plan", printable(plan)))
                .because(why)
                .hint("give `plan` of what `plan_install` or `plan_uninstall` answered")
        })
    }

    fn install(&self, what: &Packs, plan: Option<PlanId>, call: &Call) -> Result<ChangeReport> {
        let request = InstallRequest {
            packs: what.names()?,
            sinks: what.sinks(),
            root: self.settings.shelves.root.clone(),
            others: Others::Stay,
            replace: Replace::Refuse,
            mode: mode(plan),
            plan,
        };
        self.with(Some(call), |context| install(context, &request))
    }

    fn uninstall(&self, what: &Packs, plan: Option<PlanId>, call: &Call) -> Result<ChangeReport> {
        let request = UninstallRequest { packs: what.names()?, sinks: what.sinks(), mode: mode(plan), plan };
        self.with(Some(call), |context| uninstall(context, &request))
    }
}

fn mode(plan: Option<PlanId>) -> Mode {
    if plan.is_some() { Mode::Apply } else { Mode::DryRun }
}
