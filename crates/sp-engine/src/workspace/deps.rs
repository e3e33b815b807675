//! `sp bag deps`: the declared dependencies of a workspace.

use std::path::Path;

use sp_formats::output::{WorkspaceDependencyItem, WorkspaceDependencyReport};
use sp_formats::workspace::SkillDependency;

use super::workspace_dir::Workspace;
use crate::context::Context;
use crate::error::Result;
use crate::session::Session;

/// Returns the dependencies that contexts and skills declare. Fetches nothing.
pub fn deps(context: &Context<'_>, root: Option<&Path>) -> Result<WorkspaceDependencyReport> {
    let session = Session::begin(context)?;
    let workspace = Workspace::open(&session, root)?;
    let dependencies = declared_dependencies(&workspace);
    Ok(WorkspaceDependencyReport {
        conflicts: find_conflicts(&dependencies),
        skills: workspace.skills.iter().map(|skill| skill.name.to_string()).collect(),
        root: workspace.root,
        dependencies,
    })
}

/// Returns the dependencies of the contexts, then those of the skills.
fn declared_dependencies(workspace: &Workspace) -> Vec<WorkspaceDependencyItem> {
    let item = |by: &str, dependency: &SkillDependency| WorkspaceDependencyItem {
        name: dependency.name.to_string(),
        by: by.into(),
        source: dependency.source.as_ref().map(ToString::to_string),
        version: dependency.version.clone(),
        required: dependency.required,
        present: workspace.skill(dependency.name.as_str()).is_some(),
    };
    let mut items = Vec::new();
    for context in &workspace.contexts {
        items.extend(context.dependencies.iter().map(|dependency| item(&context.file, dependency)));
    }
    for skill in &workspace.skills {
        let name = skill.name.as_str();
        items.extend(skill.dependencies.iter().map(|dependency| item(name, dependency)));
    }
    items
}

/// Returns the pairs of declarations with different sources or versions that no context overrides.
fn find_conflicts(dependencies: &[WorkspaceDependencyItem]) -> Vec<String> {
    let mut conflicts = Vec::new();
    for (index, dependency) in dependencies.iter().enumerate() {
        let earlier = dependencies[..index]
            .iter()
            .filter(|other| other.name == dependency.name && !other.by.ends_with(".md"));
        let conflicting = earlier.filter(|other| {
            differ(dependency.source.as_ref(), other.source.as_ref())
                || differ(dependency.version.as_ref(), other.version.as_ref())
        });
        conflicts.extend(conflicting.map(|other| describe_conflict(other, dependency)));
    }
    conflicts
}

/// Returns whether both values are present and not the same.
fn differ(a: Option<&String>, b: Option<&String>) -> bool {
    a.is_some() && b.is_some() && a != b
}

fn describe_conflict(first: &WorkspaceDependencyItem, second: &WorkspaceDependencyItem) -> String {
    let describe = |item: &WorkspaceDependencyItem| {
        let parts = [item.source.clone(), item.version.clone()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" at ")
    };
    format!(
        "`{}`: {} requires {}, {} requires {}",
        second.name,
        first.by,
        describe(first),
        second.by,
        describe(second)
    )
}
