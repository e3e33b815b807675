//! `sp config`: the effective configuration, and the agents on this machine.

use sp_formats::config::Config;
use sp_formats::output::{ConfigView, LimitItem, SinkItem, SinkOrigin};

use crate::agents::agents;
use crate::built_in_sinks::{BUILT_IN_SINKS, BuiltInSink, agent_for_sink};
use crate::context::Context;
use crate::error::Result;
use crate::session::Session;
use crate::sinks::{dir_read_elsewhere, global_dirs, real_path};

/// Returns the effective configuration, and the agents on this machine.
pub fn config(context: &Context<'_>) -> Result<ConfigView> {
    let Session { config, limits, .. } = Session::begin(context)?;
    let configured = config.sinks.iter().map(|(name, _)| name.as_str());
    let built_in = BUILT_IN_SINKS.iter().map(|sink| sink.name);
    let table = agents().iter().map(|agent| agent.id);
    let mut seen = std::collections::HashSet::new();
    let names = built_in.chain(configured).chain(table).filter(|name| seen.insert(*name));
    let sinks = names.map(|name| sink_item(context, &config, name)).collect();
    Ok(ConfigView {
        home: context.home.clone(),
        config_file: context.home.join("config.yaml"),
        cache: context.cache_dir(),
        sinks,
        limits: limits
            .all()
            .into_iter()
            .map(|(name, value)| LimitItem { name: name.into(), value })
            .collect(),
    })
}

fn sink_item(context: &Context<'_>, config: &Config, name: &str) -> SinkItem {
    let agent = agent_for_sink(name);
    let dirs = global_dirs(context, config, name).ok();
    let origin = if config.sinks.iter().any(|(sink, _)| sink == name) {
        SinkOrigin::Config
    } else if BuiltInSink::find(name).is_some() {
        SinkOrigin::BuiltIn
    } else {
        SinkOrigin::Table
    };
    let real = dirs.as_ref().and_then(|dirs| real_path(context, &dirs.dir).ok());
    let (path, instead_of) = dirs.map(|dirs| (dirs.dir, dirs.unread_default)).unzip();
    SinkItem {
        sink: name.into(),
        agent: agent.map_or(name, |agent| agent.name).into(),
        project_path: agent.map(|agent| agent.project.into()),
        origin,
        found: agent.is_some_and(|agent| agent.is_installed(context)),
        reads: real.and_then(|real| dir_read_elsewhere(context, name, &real)),
        path,
        instead_of: instead_of.flatten(),
    }
}
