//! `sp config`: what is in force, and which agents are on this machine.

use std::io::ErrorKind;

use sp_formats::config::{self, Config};
use sp_formats::output::{ConfigView, LimitItem, SinkItem, SinkOrigin};
use sp_tree::{Limits, read_limited};

use crate::agents::agents;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::home::recover_interrupted;
use crate::sinks::{
    BUILT_IN_SINKS, agent_for_sink, differing_agent_dir, global_dir, hint_agent_dir, real_path,
};

/// The surroundings with what the user's config says of them.
pub(crate) struct Session<'a> {
    pub context: &'a Context<'a>,
    pub config: Config,
    pub limits: Limits,
}

impl<'a> Session<'a> {
    /// What every verb starts with: the config is read, the limits are known, and whatever an
    /// interrupted run left behind is ended.
    pub(crate) fn begin(context: &'a Context<'a>) -> Result<Self> {
        let config = load_config(context)?;
        let limits = effective_limits(context, &config);
        recover_interrupted(context, &limits)?;
        Ok(Self { context, config, limits })
    }
}

/// Reads the user's config; none is an empty one.
fn load_config(context: &Context<'_>) -> Result<Config> {
    let path = context.home.join("config.yaml");
    let limits = effective_limits(context, &Config::default());
    let bytes = match read_limited(&path, limits.yaml_bytes) {
        Ok(bytes) => bytes,
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Config::default());
        }
        Err(e) => return Err(e.into()),
    };
    let (config, report) = config::read_bytes(&context.display_path(&path), &bytes, &limits);
    config.ok_or_else(|| Error::in_file("the config cannot be used", report))
}

/// The limits in force: the config's, then those of flags on top.
fn effective_limits(context: &Context<'_>, config: &Config) -> Limits {
    let mut limits = Limits::default();
    for (name, value) in config.limits.iter().chain(&context.limits) {
        // The names were checked when the config and the flags were read.
        let _ = limits.set(name, *value);
    }
    limits
}

/// What is in force, and which agents are on this machine.
pub fn config(context: &Context<'_>) -> Result<ConfigView> {
    let Session { config, limits, .. } = Session::begin(context)?;
    let configured = config.sinks.iter().map(|(name, _)| name.as_str());
    let built_in = BUILT_IN_SINKS.iter().map(|(name, ..)| *name);
    let table = agents().iter().map(|agent| agent.id);
    let mut seen = std::collections::HashSet::new();
    let names = built_in.chain(configured).chain(table).filter(|name| seen.insert(*name));
    let sinks: Vec<SinkItem> = names.map(|name| sink_item(context, &config, name)).collect();
    for sink in &sinks {
        if let Some(reads) = &sink.reads {
            hint_agent_dir(context, &sink.sink, &sink.agent, reads);
        }
    }
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
    let path = global_dir(context, config, name, agent).ok();
    let origin = if config.sinks.iter().any(|(sink, _)| sink == name) {
        SinkOrigin::Config
    } else if BUILT_IN_SINKS.iter().any(|(sink, ..)| *sink == name) {
        SinkOrigin::BuiltIn
    } else {
        SinkOrigin::Table
    };
    let real = path.as_deref().and_then(|path| real_path(context, path).ok());
    SinkItem {
        sink: name.into(),
        agent: agent.map_or(name, |agent| agent.name).into(),
        project_path: agent.map(|agent| agent.project.into()),
        origin,
        found: agent.is_some_and(|agent| agent.is_installed(context)),
        reads: real.and_then(|real| differing_agent_dir(context, name, &real)),
        path,
    }
}
