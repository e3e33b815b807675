//! What resolution may choose from: the workspace's own skills, and sources fetched as they are needed.

use std::path::{Path, PathBuf};

use sp_formats::bag::{BagSkill, Dependency, SourceRef};

use super::located::Located;
use super::resolve::{Offers, Wish};
use super::source::BagSource;
use super::workspace::Workspace;
use crate::config::Session;
use crate::context::Context;
use crate::error::{Error, Kind, Result};

/// The workspace, and every source that was fetched.
pub(crate) struct BagOffers<'a> {
    pub session: &'a Session<'a>,
    pub workspace: &'a Workspace,
    /// Skills that are here but are to be fetched anew.
    pub renewed: Vec<String>,
    fetched: Vec<Fetched>,
}

struct Fetched {
    located: Located,
    version: Option<String>,
    source: BagSource,
}

impl<'a> BagOffers<'a> {
    pub(crate) fn new(session: &'a Session<'a>, workspace: &'a Workspace, renewed: Vec<String>) -> Self {
        Self { session, workspace, renewed, fetched: Vec::new() }
    }

    /// Where relative paths in a skill that is here start; none if it came from elsewhere, and
    /// so was written by somebody who does not know this machine.
    fn base_of(&self, name: &str) -> Option<PathBuf> {
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
    pub(crate) fn source(&mut self, located: &Located, version: Option<&str>) -> Result<&BagSource> {
        let known = |one: &Fetched| one.located == *located && one.version.as_deref() == version;
        let at = match self.fetched.iter().position(known) {
            Some(at) => at,
            None => {
                let source = BagSource::open(self.session, &located.source, version, &located.base)?;
                self.fetched.push(Fetched { located: located.clone(), version: version.map(Into::into), source });
                self.fetched.len() - 1
            }
        };
        Ok(&self.fetched[at].source)
    }
}

impl Offers<Located> for BagOffers<'_> {
    fn local(&self, name: &str) -> Option<Vec<Wish<Located>>> {
        if self.renewed.iter().any(|renewed| renewed == name) {
            return None;
        }
        let skill = self.workspace.skill(name)?;
        Some(wishes(self.session.context, skill, self.base_of(name).as_deref()))
    }

    fn remote(&mut self, name: &str, source: &Located, version: Option<&str>) -> Result<Vec<Wish<Located>>> {
        if source.foreign && source.is_here() {
            let message =
                format!("a skill that comes from elsewhere names `{source}` on this machine as the source of `{name}`");
            let hint = format!("nothing was changed: declare `{name}` in `CONTEXT.md` with a source of your own");
            return Err(Error::new(Kind::Trust, message).hint(hint));
        }
        let base = source.inner_base();
        let fetched = self.source(source, version)?;
        let skill = fetched.skill(name)?.clone();
        Ok(wishes(self.session.context, &skill, base.as_deref()))
    }
}

/// What a skill needs. `base` is where its relative paths start, if it may name places of this machine.
fn wishes(context: &Context<'_>, skill: &BagSkill, base: Option<&Path>) -> Vec<Wish<Located>> {
    let by = format!("`{}`", skill.name);
    skill.dependencies.iter().map(|dependency| wish(context, dependency, base, by.clone())).collect()
}

/// A declared dependency as a wish.
pub(crate) fn wish(context: &Context<'_>, dependency: &Dependency, base: Option<&Path>, by: String) -> Wish<Located> {
    let located = dependency.source.clone().map(|source| match base {
        Some(base) => Located::new(context, source, base),
        None => Located::foreign(source),
    });
    Wish {
        name: dependency.name.to_string(),
        source: located,
        version: dependency.version.clone(),
        required: dependency.required,
        by,
    }
}
