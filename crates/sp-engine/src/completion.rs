//! What a shell can complete: names that are known on this machine.
//!
//! A shell calls this on every key press, so nothing here takes a lock, recovers an interrupted
//! run, uses the network, or reads more than names. Whatever cannot be read is left out.

use std::path::{Path, PathBuf};

use sp_tree::LIMIT_NAMES;

use crate::agent_selection::{ALL_AGENTS, DETECTED_AGENTS};
use crate::agents::agents;
use crate::built_in_sinks::{BUILT_IN_SINKS, CUSTOM_SINK};
use crate::check::check_rules;
use crate::context::Context;
use crate::home::installed_pack_names;
use crate::pkg::stored_package_versions;
use crate::project::{ProjectLocation, locked_names};
use crate::repository::SkillRepository;
use crate::session::Session;
use crate::workspace::find_root;
use crate::workspace::workspace_dir::skill_folders;

/// A kind of name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionKind {
    /// A pack of the repository.
    Pack,
    InstalledPack,
    /// A skill of a project, by its name.
    ProjectSkill,
    /// A skill or a source of a project.
    ProjectItem,
    /// A skill of a SkillBag workspace.
    WorkspaceSkill,
    Agent,
    /// A package of the store, with and without its version.
    Package,
    Rule,
    Limit,
}

/// A name, and what to show next to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionValue {
    pub value: String,
    pub description: String,
}

/// Returns the known names of a kind, in no particular order. `location` has the values of `--root`
/// and `--global`.
pub fn completion_values(
    context: &Context<'_>,
    kind: CompletionKind,
    location: &ProjectLocation,
) -> Vec<CompletionValue> {
    let root = location.root.as_deref();
    match kind {
        CompletionKind::Pack => plain(pack_names(context, root)),
        CompletionKind::InstalledPack => plain(installed_pack_names(context)),
        CompletionKind::ProjectSkill => plain(locked_names(context, location).skills),
        CompletionKind::ProjectItem => {
            let names = locked_names(context, location);
            // The source of a pack is named by the pack.
            let source = |key: String| match key.strip_prefix("pack ") {
                Some(pack) => pack.to_owned(),
                None => key,
            };
            let sources = names.sources.into_iter().map(source).collect();
            plain([names.skills, sources, names.contexts].concat())
        }
        CompletionKind::WorkspaceSkill => plain(workspace_skills(context, root)),
        CompletionKind::Agent => agent_names(context),
        CompletionKind::Package => package_specs(context),
        CompletionKind::Rule => {
            let value = |rule: &&sp_formats::rules::CheckRule| CompletionValue {
                value: rule.id.into(),
                description: rule.title.into(),
            };
            check_rules().iter().map(value).collect()
        }
        CompletionKind::Limit => plain(LIMIT_NAMES.iter().map(|name| format!("{name}=")).collect()),
    }
}

fn plain(values: Vec<String>) -> Vec<CompletionValue> {
    let value = |value| CompletionValue { value, description: String::new() };
    values.into_iter().map(value).collect()
}

/// Returns the packs by the names of their files, which are not read.
fn pack_names(context: &Context<'_>, root: Option<&Path>) -> Vec<String> {
    let paths = SkillRepository::find(context, root).and_then(|repository| repository.pack_paths());
    let stem = |path: PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
    paths.unwrap_or_default().into_iter().filter_map(stem).collect()
}

fn workspace_skills(context: &Context<'_>, root: Option<&Path>) -> Vec<String> {
    let root = find_root(context, root);
    root.and_then(|root| skill_folders(&root.join(".skills"))).unwrap_or_default()
}

fn agent_names(context: &Context<'_>) -> Vec<CompletionValue> {
    let named = |value: &str, description: &str| CompletionValue {
        value: value.into(),
        description: description.into(),
    };
    let mut values = vec![
        named(ALL_AGENTS, "agents of the manifest, else of the config, else the detected ones"),
        named(DETECTED_AGENTS, "agents that are found on this machine"),
        named(CUSTOM_SINK, "the directory given with --path"),
    ];
    values.extend(BUILT_IN_SINKS.iter().map(|sink| named(sink.name, "")));
    let config = Session::read_only(context).config;
    values.extend(config.sinks.iter().map(|(name, _)| named(name, "from the config")));
    for agent in agents() {
        match values.iter_mut().find(|value| value.value == agent.id) {
            Some(known) => known.description = agent.name.into(),
            None => values.push(named(agent.id, agent.name)),
        }
    }
    values
}

fn package_specs(context: &Context<'_>) -> Vec<CompletionValue> {
    let mut values: Vec<String> = Vec::new();
    for (name, version) in stored_package_versions(context) {
        values.push(format!("{name}@{version}"));
        values.push(name);
    }
    plain(values)
}
