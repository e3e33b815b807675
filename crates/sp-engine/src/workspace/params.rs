//! `sp bag params`: the values of the parameters of a skill.

use std::path::Path;

use serde_json::Value as Json;
use sp_formats::output::{ParameterItem, ParameterList, ParameterValueItem};
use sp_formats::skill::SKILL_FILE;
use sp_formats::workspace::{
    LayerSetting, ParameterLayer, ParameterLevel, ResolvedParameter, SettingFileLine,
    SettingLocation, WorkspaceSkill, resolve_parameters,
};

use super::workspace_dir::Workspace;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;

/// Returns the value of each parameter of a skill, and where it comes from.
pub fn params(
    context: &Context<'_>,
    root: Option<&Path>,
    name: &str,
    set: &[(String, String)],
) -> Result<ParameterList> {
    let session = Session::begin(context)?;
    let workspace = Workspace::open(&session, root)?;
    let skill = workspace.require_skill(name)?;
    let file = format!(".skills/{name}/{SKILL_FILE}");
    let resolved = resolve_parameters(
        &skill.parameters,
        &file,
        &workspace.layers(skill, conversation_layer(skill, set)?),
    );
    Ok(ParameterList {
        skill: name.into(),
        parameters: resolved.iter().map(parameter_item).collect(),
    })
}

/// Returns the layer of the values given on the command line. Fails on an unknown parameter.
pub(super) fn conversation_layer(
    skill: &WorkspaceSkill,
    set: &[(String, String)],
) -> Result<ParameterLayer> {
    for (name, _) in set {
        if !skill.parameters.all.iter().any(|parameter| parameter.name == *name) {
            return Err(unknown_parameter(skill, name));
        }
    }
    let settings = set.iter().map(|(name, value)| LayerSetting {
        name: name.clone(),
        value: Json::from(value.as_str()),
        source: SettingFileLine { file: "--set".into(), line: None },
    });
    Ok(ParameterLayer { settings: settings.collect(), prohibitions: Vec::new() })
}

fn unknown_parameter(skill: &WorkspaceSkill, name: &str) -> Error {
    let names: Vec<&str> =
        skill.parameters.all.iter().map(|parameter| parameter.name.as_str()).collect();
    let error = Error::new(
        ErrorCode::UnknownParameter,
        format!("`{}` has no parameter `{name}`", skill.name),
    );
    error.suggest(name, &names, "available parameters")
}

pub(super) fn parameter_item(resolved: &ResolvedParameter) -> ParameterItem {
    let origin = |(value, origin): &(Json, SettingLocation)| ParameterValueItem {
        value: value.clone(),
        level: level_name(origin.level).into(),
        file: origin.file.clone(),
        line: origin.line,
        prohibited_by: None,
    };
    let blocked = resolved.blocked.iter().map(|blocked| ParameterValueItem {
        prohibited_by: Some(match blocked.blocked_by.line {
            Some(line) => format!("{}:{line}", blocked.blocked_by.file),
            None => blocked.blocked_by.file.clone(),
        }),
        ..origin(&(blocked.value.clone(), blocked.location.clone()))
    });
    ParameterItem {
        name: resolved.parameter.name.clone(),
        required: resolved.parameter.required,
        description: resolved.parameter.description.clone(),
        from: resolved.value.as_ref().map(origin),
        overrode: resolved.overridden.iter().map(origin).collect(),
        kept_out: blocked.collect(),
    }
}

fn level_name(level: ParameterLevel) -> &'static str {
    match level {
        ParameterLevel::Conversation => "conversation",
        ParameterLevel::UserContext => "user context",
        ParameterLevel::Context => "context",
        ParameterLevel::Entrypoint => "entrypoint",
        ParameterLevel::Skill => "skill",
    }
}
