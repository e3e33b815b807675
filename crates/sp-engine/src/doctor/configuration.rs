//! `config.yaml`, the agents that it names, and policies.

use sp_formats::output::DoctorCode;

use super::examination::ExaminedMachine;
use super::problem::{AreaResult, FoundProblem};
use crate::agent_selection::{ALL_AGENTS, DETECTED_AGENTS};
use crate::built_in_sinks::{CUSTOM_SINK, agent_for_sink};
use crate::policy::{policy_paths, read_policy};
use crate::session::load_config;

/// Without its policies, `sp` installs nothing.
fn policy_problems(machine: &ExaminedMachine<'_>) -> Vec<FoundProblem> {
    let session = machine.session;
    let mut problems = Vec::new();
    for at in policy_paths(session.context, machine.root.as_deref()) {
        let path = at.path.clone();
        if let Err(error) = read_policy(session.context, at, &session.limits) {
            let problem = FoundProblem::of_error(DoctorCode::PolicyInvalid, &error).at(path);
            problems.push(problem.command("sp policy check"));
        }
    }
    problems
}

pub(super) fn examine(machine: &ExaminedMachine<'_>) -> AreaResult {
    let context = machine.session.context;
    let path = context.home.join("config.yaml");
    let shown = context.display_path(&path);
    let config = match load_config(context) {
        Ok(config) => config,
        Err(error) => {
            let problem = FoundProblem::of_error(DoctorCode::ConfigInvalid, &error).at(path);
            return AreaResult::new("", vec![problem]);
        }
    };
    let is_known = |name: &str| {
        [ALL_AGENTS, DETECTED_AGENTS, CUSTOM_SINK].contains(&name)
            || agent_for_sink(name).is_some()
            || config.sinks.iter().any(|(sink, _)| sink == name)
    };
    let unknown = config.agents.iter().filter(|name| !is_known(name)).map(|name| {
        let message = format!("`agents` in `{shown}` contains the unknown agent `{name}`");
        FoundProblem::new(DoctorCode::AgentUnknown, message)
            .at(&path)
            .command("sp config --verbose")
            .help("select an agent that `sp config --verbose` lists, or add it to `sinks`")
    });
    let mut problems: Vec<FoundProblem> = unknown.collect();
    problems.extend(policy_problems(machine));
    let detail = if path.exists() { shown } else { format!("defaults (no `{shown}`)") };
    AreaResult::new(detail, problems)
}
