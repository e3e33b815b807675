//! Which agents `--agent` means: names, `detected` and `all`.

use crate::agents::{Agent, agents};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::manifest_dir::manifest_agents;
use crate::session::load_config;

/// The agents that are found on this machine.
pub const DETECTED_AGENTS: &str = "detected";
/// The agents of the manifest of the current project; without them, the default agents of the
/// config; without them, the detected ones.
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
    if !names.iter().any(|name| name == ALL_AGENTS) {
        return select_default_agents(context, names, is_supported);
    }
    let of_manifest: Vec<String> = manifest_agents(context)
        .into_iter()
        .filter(|name| matches!(name.as_str(), ALL_AGENTS | DETECTED_AGENTS) || is_supported(name))
        .collect();
    select_default_agents(context, &replace_all(names, &of_manifest), is_supported)
}

/// Replaces [`ALL_AGENTS`] by the agents of a manifest, if it has any.
pub(crate) fn replace_all(names: &[String], of_manifest: &[String]) -> Vec<String> {
    let replaced = |name: &String| {
        let is_all = name == ALL_AGENTS && !of_manifest.is_empty();
        if is_all { of_manifest.to_vec() } else { vec![name.clone()] }
    };
    names.iter().flat_map(replaced).collect()
}

/// Like [`select_supported_agents`], whatever the manifest of the current project names.
pub(crate) fn select_default_agents(
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
    for name in load_config(context)?.agents {
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
