//! What resolution may choose from: the workspace's own skills, and sources fetched as they are needed.

use std::path::{Path, PathBuf};

use sp_formats::workspace::{SkillDependency, SourceRef, WorkspaceSkill};

use super::located_source::LocatedSource;
use super::resolve::{DependencyProvider, SkillRequirement};
use super::source::WorkspaceSource;
use super::workspace_dir::Workspace;
use crate::context::Context;
use crate::error::{Error, FailureKind, Result};
use crate::session::Session;

/// The workspace, and every source that was fetched.
pub(crate) struct WorkspaceProvider<'a> {
    pub session: &'a Session<'a>,
    pub workspace: &'a Workspace,
    /// Skills that are here but are to be fetched anew.
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

    /// Where relative paths in a skill that is here start; none if it came from elsewhere, and
    /// so was written by somebody who does not know this machine.
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

    /// A source, fetched once.
    pub(crate) fn fetch_source(
        &mut self,
        located: &LocatedSource,
        version: Option<&str>,
    ) -> Result<&WorkspaceSource> {
        let known =
            |one: &SourceCacheEntry| one.located == *located && one.version.as_deref() == version;
        let at = match self.sources.iter().position(known) {
            Some(at) => at,
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
        Ok(&self.sources[at].source)
    }
}

impl DependencyProvider<LocatedSource> for WorkspaceProvider<'_> {
    fn local_dependencies(&self, name: &str) -> Option<Vec<SkillRequirement<LocatedSource>>> {
        if self.upgraded.iter().any(|renewed| renewed == name) {
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
                "a skill that comes from elsewhere names `{source}` on this machine as the source of `{name}`"
            );
            let hint = format!(
                "nothing was changed: declare `{name}` in `CONTEXT.md` with a source of your own"
            );
            return Err(Error::new(FailureKind::Trust, message).hint(hint));
        }
        let base = source.content_base();
        let fetched = self.fetch_source(source, version)?;
        let skill = fetched.skill(name)?.clone();
        Ok(skill_requirements(self.session.context, &skill, base.as_deref()))
    }
}

/// What a skill needs. `base` is where its relative paths start, if it may name places of this machine.
fn skill_requirements(
    context: &Context<'_>,
    skill: &WorkspaceSkill,
    base: Option<&Path>,
) -> Vec<SkillRequirement<LocatedSource>> {
    let by = format!("`{}`", skill.name);
    skill
        .dependencies
        .iter()
        .map(|dependency| requirement(context, dependency, base, by.clone()))
        .collect()
}

/// A declared dependency as a wish.
pub(crate) fn requirement(
    context: &Context<'_>,
    dependency: &SkillDependency,
    base: Option<&Path>,
    by: String,
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
        requested_by: by,
    }
}
