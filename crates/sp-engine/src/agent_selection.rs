//! Which agents `--agent` means: names, `detected` and `all`.

use crate::agents::{Agent, agents};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;

/// The agents that are found on this machine.
pub const DETECTED_AGENTS: &str = "detected";
/// The default agents of the config; without them, the detected ones.
pub const ALL_AGENTS: &str = "all";

/// Replaces [`DETECTED_AGENTS`] and [`ALL_AGENTS`] by names. Each name is kept once, in the order
/// in which it was given. A name that is not one of these is returned unchanged, known or not.
pub fn select_agents(context: &Context<'_>, names: &[String]) -> Result<Vec<String>> {
    select_supported_agents(context, names, &|_| true)
}

/// Like [`select_agents`]; `detected` and `all` stand for supported agents only.
pub(crate) fn select_supported_agents(
    context: &Context<'_>,
    names: &[String],
    is_supported: &dyn Fn(&str) -> bool,
) -> Result<Vec<String>> {
    let mut selected: Vec<String> = Vec::new();
    for name in names {
        let meant = match name.as_str() {
            DETECTED_AGENTS => detected_agents(context, is_supported)?,
            ALL_AGENTS => all_agents(context, is_supported)?,
            _ => vec![name.clone()],
        };
        for name in meant {
            if !selected.contains(&name) {
                selected.push(name);
            }
        }
    }
    Ok(selected)
}

fn all_agents(context: &Context<'_>, is_supported: &dyn Fn(&str) -> bool) -> Result<Vec<String>> {
    let mut defaults = Vec::new();
    for name in Session::begin(context)?.config.agents {
        match name.as_str() {
            DETECTED_AGENTS => defaults.extend(detected_agents(context, is_supported)?),
            _ => defaults.extend(is_supported(&name).then_some(name)),
        }
    }
    if defaults.is_empty() { detected_agents(context, is_supported) } else { Ok(defaults) }
}

fn detected_agents(
    context: &Context<'_>,
    is_supported: &dyn Fn(&str) -> bool,
) -> Result<Vec<String>> {
    let is_meant = |agent: &&Agent| is_supported(agent.id) && agent.is_installed(context);
    let names: Vec<String> =
        agents().iter().filter(is_meant).map(|agent| agent.id.to_owned()).collect();
    if names.is_empty() {
        return Err(Error::new(ErrorCode::AgentRequired, "no agent was detected on this machine")
            .hint("specify an agent, such as `--agent claude`; `sp config --verbose` lists them"));
    }
    Ok(names)
}
