//! What the resolver chooses from: the skills of the workspace, and sources fetched on demand.

use std::path::{Path, PathBuf};

use sp_formats::workspace::{SkillDependency, SourceRef, WorkspaceSkill};

use super::located_source::LocatedSource;
use super::resolve::{DependencyProvider, SkillRequirement};
use super::source::WorkspaceSource;
use super::workspace_dir::Workspace;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::session::Session;

/// Provides the dependencies of skills. Fetches each source once.
pub(crate) struct WorkspaceProvider<'a> {
    pub session: &'a Session<'a>,
    pub workspace: &'a Workspace,
    /// The names of skills to fetch although they are in the workspace.
    pub upgraded: Vec<String>,
    sources: Vec<SourceCacheEntry>,
}

struct SourceCacheEntry {
    located: LocatedSource,
    version: Option<String>,
    source: WorkspaceSource,
}

impl<'a> WorkspaceProvider<'a> {
    pub(crate) fn new(
        session: &'a Session<'a>,
        workspace: &'a Workspace,
        upgraded: Vec<String>,
    ) -> Self {
        Self { session, workspace, upgraded, sources: Vec::new() }
    }

    /// Returns the directory that relative paths in a skill of the workspace start from. Returns
    /// `None` if the skill came from elsewhere: its author does not know this machine.
    fn local_base(&self, name: &str) -> Option<PathBuf> {
        let root = &self.workspace.root;
        let Some(record) = self.workspace.lock.skills.get(name) else {
            return Some(root.clone());
        };
        match SourceRef::new(&record.source) {
            Ok(SourceRef::Dir(path)) => Some(root.join(path)),
            _ => None,
        }
    }

    /// Returns a source, fetching it on first use.
    pub(crate) fn fetch_source(
        &mut self,
        located: &LocatedSource,
        version: Option<&str>,
    ) -> Result<&WorkspaceSource> {
        let matches = |entry: &SourceCacheEntry| {
            entry.located == *located && entry.version.as_deref() == version
        };
        let index = match self.sources.iter().position(matches) {
            Some(index) => index,
            None => {
                let source =
                    WorkspaceSource::open(self.session, &located.source, version, &located.base)?;
                self.sources.push(SourceCacheEntry {
                    located: located.clone(),
                    version: version.map(Into::into),
                    source,
                });
                self.sources.len() - 1
            }
        };
        Ok(&self.sources[index].source)
    }
}

impl DependencyProvider<LocatedSource> for WorkspaceProvider<'_> {
    fn local_dependencies(&self, name: &str) -> Option<Vec<SkillRequirement<LocatedSource>>> {
        if self.upgraded.iter().any(|upgraded| upgraded == name) {
            return None;
        }
        let skill = self.workspace.skill(name)?;
        Some(skill_requirements(self.session.context, skill, self.local_base(name).as_deref()))
    }

    fn remote_dependencies(
        &mut self,
        name: &str,
        source: &LocatedSource,
        version: Option<&str>,
    ) -> Result<Vec<SkillRequirement<LocatedSource>>> {
        if source.foreign && source.is_local() {
            let message = format!(
                "a downloaded skill declares the local path `{source}` as the source of `{name}`"
            );
            let hint = format!(
                "nothing was changed: declare `{name}` with a trusted source in `CONTEXT.md`"
            );
            return Err(Error::new(ErrorCode::ForeignLocalSource, message).hint(hint));
        }
        let base = source.content_base();
        let fetched = self.fetch_source(source, version)?;
        let skill = fetched.skill(name)?.clone();
        Ok(skill_requirements(self.session.context, &skill, base.as_deref()))
    }
}

/// Returns the dependencies of a skill. `base` is the directory that its relative paths start from,
/// if it may refer to sources on this machine.
fn skill_requirements(
    context: &Context<'_>,
    skill: &WorkspaceSkill,
    base: Option<&Path>,
) -> Vec<SkillRequirement<LocatedSource>> {
    let requested_by = format!("`{}`", skill.name);
    skill
        .dependencies
        .iter()
        .map(|dependency| requirement(context, dependency, base, requested_by.clone()))
        .collect()
}

/// Converts a declared dependency to a requirement.
pub(crate) fn requirement(
    context: &Context<'_>,
    dependency: &SkillDependency,
    base: Option<&Path>,
    requested_by: String,
) -> SkillRequirement<LocatedSource> {
    let located = dependency.source.clone().map(|source| match base {
        Some(base) => LocatedSource::new(context, source, base),
        None => LocatedSource::foreign(source),
    });
    SkillRequirement {
        name: dependency.name.to_string(),
        source: located,
        version: dependency.version.clone(),
        required: dependency.required,
        requested_by,
    }
}
