//! `sp bag enter`, `run` and `params`: prepares a workspace and its skills for an agent.
//!
//! Nothing is executed. The agent gets instructions and parameter values.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use sp_formats::output::{
    ParameterItem, ParameterList, ParameterValueItem, WorkspaceOverview, WorkspaceOverviewSkill,
    WorkspaceRunReport, WorkspaceRunSkill,
};
use sp_formats::skill::{SKILL_FILE, SkillName};
use sp_formats::workspace::{
    CONTEXT_FILE, ENTRYPOINT_FILE, LayerSetting, ParameterLayer, ParameterLevel, ResolvedParameter,
    SettingFileLine, USER_CONTEXT_FILE, WorkspaceSkill, detect_secret, read_context,
    read_entrypoint, resolve_parameters,
};
use sp_tree::{Dir, Follow, Name, atomic};

use super::workspace_dir::{Workspace, read_optional_text};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;

/// Which skill to prepare.
#[derive(Debug, Clone)]
pub struct RunSkillRequest {
    /// The execution identifier, such as `convert_to_pdf`.
    pub identifier: String,
    /// Parameter values given on the command line.
    pub set: Vec<(String, String)>,
    pub save: SaveParameters,
    /// The workspace given with `--root`. By default, the nearest one upward.
    pub root: Option<PathBuf>,
}

/// Whether given parameter values are written to `USER_CONTEXT.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaveParameters {
    No,
    Yes,
}

/// Returns what an agent must know when it enters the workspace.
pub fn enter(context: &Context<'_>, root: Option<&Path>) -> Result<WorkspaceOverview> {
    let session = Session::begin(context)?;
    let workspace = Workspace::open(&session, root)?;
    let entrypoint =
        read_optional_text(&workspace.root.join(ENTRYPOINT_FILE), session.limits.markdown_bytes)?;
    let version = entrypoint
        .and_then(|text| read_entrypoint(ENTRYPOINT_FILE, &text).0)
        .map(|version| version.to_string());
    let contexts = [CONTEXT_FILE, USER_CONTEXT_FILE]
        .into_iter()
        .filter(|file| workspace.root.join(file).is_file());
    let overview = |skill: &WorkspaceSkill| WorkspaceOverviewSkill {
        name: skill.name.to_string(),
        run: skill.name.identifier(),
        description: skill.description.clone(),
        tags: workspace.tags(skill).0.into_iter().collect(),
    };
    let declared = workspace.contexts.iter().flat_map(|context| &context.dependencies);
    let mut missing: Vec<String> = declared
        .chain(workspace.skills.iter().flat_map(|skill| &skill.dependencies))
        .filter(|dependency| {
            dependency.required && workspace.skill(dependency.name.as_str()).is_none()
        })
        .map(|dependency| dependency.name.to_string())
        .collect();
    missing.sort();
    missing.dedup();
    Ok(WorkspaceOverview {
        root: workspace.root.clone(),
        version,
        contexts: contexts.map(Into::into).collect(),
        skills: workspace.skills.iter().map(overview).collect(),
        always: always_on_skills(&workspace)
            .into_iter()
            .map(|skill| skill.name.to_string())
            .collect(),
        missing,
    })
}

/// Returns the skills that always run, in their order.
fn always_on_skills(workspace: &Workspace) -> Vec<&WorkspaceSkill> {
    let mut always: Vec<&WorkspaceSkill> =
        workspace.skills.iter().filter(|skill| workspace.tags(skill).runs_always()).collect();
    // Skills that run last are sorted by name, the others by precedence.
    always.sort_by_key(|skill| {
        if workspace.tags(skill).runs_last() {
            (1, (usize::MAX, usize::MAX, skill.name.to_string()))
        } else {
            (0, workspace.rank(skill.name.as_str()))
        }
    });
    always
}

/// Returns a skill with everything that an agent needs to run it.
pub fn run(context: &Context<'_>, request: &RunSkillRequest) -> Result<WorkspaceRunReport> {
    let session = Session::begin(context)?;
    let workspace = Workspace::open(&session, request.root.as_deref())?;
    let name = SkillName::from_identifier(&request.identifier).map_err(|why| {
        let canonical = request.identifier.replace('-', "_");
        Error::new(ErrorCode::InvalidName, format!("the identifier `{}` {why}", request.identifier))
            .hint(format!(
                "skills are run by identifiers with underscores: `sp bag run {canonical}`"
            ))
    })?;
    let skill = find_skill(&workspace, name.as_str()).map_err(|error| Error {
        // Suggest identifiers instead of names.
        hints: error.hints.iter().map(|hint| hint.replace('-', "_")).collect(),
        ..error
    })?;
    let layer = conversation_layer(skill, &request.set)?;
    let resolved =
        resolve_parameters(&skill.parameters, SKILL_FILE, &workspace.layers(skill, layer));
    if request.save == SaveParameters::Yes {
        save_parameters(&session, &workspace, skill, &request.set)?;
    }
    let ready = |skill: &WorkspaceSkill| WorkspaceRunSkill {
        name: skill.name.to_string(),
        path: workspace.skills_dir().join(skill.name.as_str()),
        instructions: skill.instructions().to_owned(),
    };
    let tags = workspace.tags(skill);
    let mut companions: Vec<&WorkspaceSkill> = tags
        .companions()
        .filter(|other| *other != name.as_str())
        .filter_map(|name| workspace.skill(name))
        .collect();
    companions.sort_by_key(|skill| {
        (workspace.tags(skill).runs_last(), workspace.rank(skill.name.as_str()))
    });
    Ok(WorkspaceRunReport {
        missing: resolved
            .iter()
            .filter(|parameter| parameter.is_missing())
            .map(|parameter| parameter.parameter.name.clone())
            .collect(),
        parameters: resolved.iter().map(parameter_item).collect(),
        companions: companions.into_iter().map(ready).collect(),
        saved: request.save == SaveParameters::Yes && !request.set.is_empty(),
        skill: ready(skill),
    })
}

/// Returns the value of each parameter of a skill, and where it comes from.
pub fn params(
    context: &Context<'_>,
    root: Option<&Path>,
    name: &str,
    set: &[(String, String)],
) -> Result<ParameterList> {
    let session = Session::begin(context)?;
    let workspace = Workspace::open(&session, root)?;
    let skill = find_skill(&workspace, name)?;
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

fn find_skill<'a>(workspace: &'a Workspace, name: &str) -> Result<&'a WorkspaceSkill> {
    workspace.skill(name).ok_or_else(|| {
        let broken = workspace
            .invalid_skills
            .iter()
            .find(|(path, _)| path.parent().is_some_and(|dir| dir.ends_with(name)));
        if let Some((_, report)) = broken {
            return Error::in_file(
                ErrorCode::InvalidSkill,
                format!("the skill `{name}` cannot be used"),
                report.clone(),
            );
        }
        let names: Vec<&str> = workspace.skills.iter().map(|skill| skill.name.as_str()).collect();
        let error = Error::new(
            ErrorCode::SkillNotFound,
            format!("there is no skill called `{name}` in `.skills/`"),
        );
        match sp_formats::suggest::nearest(name, names.iter().copied()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(format!("the skills are: {}", names.join(", "))),
        }
    })
}

/// Returns the layer of the values given on the command line. Fails on an unknown parameter.
fn conversation_layer(skill: &WorkspaceSkill, set: &[(String, String)]) -> Result<ParameterLayer> {
    for (name, _) in set {
        let names = || skill.parameters.all.iter().map(|parameter| parameter.name.as_str());
        if !names().any(|known| known == name) {
            let error = Error::new(
                ErrorCode::UnknownParameter,
                format!("`{}` asks for no parameter called `{name}`", skill.name),
            );
            return Err(match sp_formats::suggest::nearest(name, names()) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => {
                    error.hint(format!("it asks for: {}", names().collect::<Vec<_>>().join(", ")))
                }
            });
        }
    }
    let settings = set.iter().map(|(name, value)| LayerSetting {
        name: name.clone(),
        value: Json::from(value.as_str()),
        source: SettingFileLine { file: "--set".into(), line: None },
    });
    Ok(ParameterLayer { settings: settings.collect(), prohibitions: Vec::new() })
}

fn parameter_item(resolved: &ResolvedParameter) -> ParameterItem {
    let origin =
        |(value, origin): &(Json, sp_formats::workspace::SettingLocation)| ParameterValueItem {
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

/// Writes values to `USER_CONTEXT.md`, unless one of them is a secret.
fn save_parameters(
    session: &Session<'_>,
    workspace: &Workspace,
    skill: &WorkspaceSkill,
    set: &[(String, String)],
) -> Result<()> {
    if set.is_empty() {
        return Ok(());
    }
    for (name, value) in set {
        if let Some(why) = detect_secret(name, value) {
            return Err(Error::new(
                ErrorCode::SecretInPlainFile,
                format!("the value of `{name}` is not written to `{USER_CONTEXT_FILE}`: {why}"),
            )
            .hint("nothing was written: give it with `--set` each time, without `--save`"));
        }
    }
    let path = workspace.root.join(USER_CONTEXT_FILE);
    let text = read_optional_text(&path, session.limits.markdown_bytes)?.unwrap_or_default();
    let values: serde_json::Map<String, Json> =
        set.iter().map(|(name, value)| (name.clone(), Json::from(value.as_str()))).collect();
    // JSON is valid YAML, and quotes all strings.
    let block = serde_json::json!({ "skills": { skill.name.as_str(): values } });
    let gap = if text.is_empty() || text.ends_with("\n\n") {
        ""
    } else if text.ends_with('\n') {
        "\n"
    } else {
        "\n\n"
    };
    let new = format!("{text}{gap}## Parameters\n\n```yaml\n{block}\n```\n");
    let saved = read_context(USER_CONTEXT_FILE, &new, &session.limits).0.settings;
    let is_saved = |(name, value): &(String, String)| {
        saved.iter().any(|setting| {
            setting.skill.as_deref() == Some(skill.name.as_str())
                && setting.name == *name
                && setting.value == value.as_str()
        })
    };
    if !set.iter().all(is_saved) {
        return Err(Error::new(
            ErrorCode::InvalidValue,
            format!("a value cannot be written to `{USER_CONTEXT_FILE}` so that it is found again"),
        )
        .hint("nothing was written: perhaps a code block in it is not closed"));
    }
    let dir = Dir::open(&workspace.root)?;
    let name = Name::new(USER_CONTEXT_FILE)?;
    let temp = Name::new(&format!(".{USER_CONTEXT_FILE}.sp-new"))?;
    let _home = crate::home::LockedHome::open(session.context, &session.limits)?;
    match dir.stat(&name, Follow::Never)? {
        Some(stamp) => {
            if !atomic::replace_if_unchanged(&dir, &name, &stamp, &temp, new.as_bytes())? {
                return Err(Error::new(
                    ErrorCode::ChangedMeanwhile,
                    format!("`{USER_CONTEXT_FILE}` changed meanwhile"),
                )
                .hint("run it again"));
            }
        }
        None => {
            dir.remove_tree(&temp)?;
            let mut file = dir.create_file(&temp, false)?;
            file.write(new.as_bytes())?;
            file.sync()?;
            dir.rename_noreplace(&temp, &dir, &name)?;
            dir.sync()?;
        }
    }
    Ok(())
}
