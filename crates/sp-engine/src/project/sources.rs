//! The opened sources of a project: what they offer, the dependencies of their skills, and the
//! content of what is selected.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use sp_formats::Report;
use sp_formats::project::lock::{LockedSource, ProjectLock, SourceKey};
use sp_formats::project::manifest::ProjectManifest;
use sp_formats::project::source::{ManifestSource, SourceVersion};
use sp_formats::workspace::{SkillDependency, SourceRef};
use sp_tree::{Digest, LoadedTree};

use super::catalog::{
    CatalogRequest, CatalogSkill, SourceCatalog, open_catalog, require_permitted_source,
};
use super::resolution::{OfferedId, SelectedSkill, SourceOffer, add_dependency, entry_source_key};
use super::source_demand::{DemandedVersion, SourceDemand};
use crate::context::Event;
use crate::error::{Error, ErrorCode, Result};
use crate::home::DigestIndexes;
use crate::install::plan::FilePlan;
use crate::io_threads::{MAX_CONCURRENT_DOWNLOADS, run_in_threads};
use crate::pkg::{SkillPackage, plan_skill_packages};
use crate::session::Session;

/// The maximum number of skills that a project installs, with all dependencies.
const MAX_SELECTED_SKILLS: usize = 10_000;

/// A skill in a source.
type SkillKey = (SourceKey, String);

/// Sources, opened when they are needed.
pub(super) struct ProjectSources<'a> {
    session: &'a Session<'a>,
    /// The directory that relative paths start from.
    base: &'a Path,
    /// The text of the manifest, for positions.
    manifest: Report,
    /// The sources that move to their newest version.
    refreshed: BTreeSet<SourceKey>,
    catalogs: BTreeMap<SourceKey, SourceCatalog>,
    contents: BTreeMap<SkillKey, Arc<LoadedTree>>,
}

/// A dependency whose source is known.
struct LocatedDependency<'c> {
    key: SourceKey,
    /// None if it is the source of the skill that needs it.
    source: Option<ManifestSource>,
    version: Option<SourceVersion>,
    declared: &'c SkillDependency,
}

impl<'a> ProjectSources<'a> {
    pub(super) fn new(
        session: &'a Session<'a>,
        base: &'a Path,
        manifest: Report,
        refreshed: BTreeSet<SourceKey>,
    ) -> Self {
        Self {
            session,
            base,
            manifest,
            refreshed,
            catalogs: BTreeMap::new(),
            contents: BTreeMap::new(),
        }
    }

    /// Adds a source that was opened before.
    pub(super) fn insert(&mut self, catalog: SourceCatalog) {
        self.catalogs.insert(catalog.key.clone(), catalog);
    }

    /// Adds what was read of directories to their indexes.
    pub(super) fn add_to_indexes(&self, indexes: &mut DigestIndexes<'_>) {
        self.catalogs.values().for_each(|catalog| catalog.add_to_index(indexes));
    }

    /// Returns the packages whose skills are used.
    pub(super) fn packages(&self) -> Vec<&SkillPackage> {
        self.catalogs.values().filter_map(|catalog| catalog.package.as_ref()).collect()
    }

    /// Plans to add the packages whose skills are used to the store.
    pub(super) fn plan_packages(&self) -> Result<(Vec<FilePlan>, Vec<Event<'static>>)> {
        let packages = self.packages();
        if packages.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        plan_skill_packages(self.session, &packages)
    }

    /// Returns what the opened sources resolved to.
    pub(super) fn locked(&self) -> BTreeMap<SourceKey, LockedSource> {
        self.catalogs.iter().map(|(key, it)| (key.clone(), it.locked.clone())).collect()
    }

    /// Opens sources that are not open, several at the same time.
    pub(super) fn open(&mut self, demands: &[SourceDemand], lock: &ProjectLock) -> Result<()> {
        let missing: Vec<&SourceDemand> =
            demands.iter().filter(|demand| !self.catalogs.contains_key(&demand.key)).collect();
        let (session, base) = (self.session, self.base);
        let opened = run_in_threads(&missing, MAX_CONCURRENT_DOWNLOADS, |demand| {
            open_demand(session, base, demand, lock.sources.get(&demand.key))
        });
        for (demand, catalog) in missing.into_iter().zip(opened) {
            let catalog = catalog.map_err(|error| match &demand.span {
                Some(span) => error.within(&self.manifest, span),
                None => error,
            });
            self.insert(catalog?);
        }
        Ok(())
    }

    /// Returns what the opened sources offer to the entries of a manifest.
    pub(super) fn offers(
        &self,
        manifest: &ProjectManifest,
    ) -> Result<BTreeMap<SourceKey, SourceOffer>> {
        let mut offers = BTreeMap::new();
        for (key, catalog) in &self.catalogs {
            let of_key = manifest.skills.iter().filter(|entry| entry_source_key(entry) == *key);
            let entries: Vec<_> = of_key.collect();
            let is_selected = |id: &str| entries.iter().any(|entry| entry.selects(id));
            let selected = catalog.select(self.session, &is_selected)?;
            let offered =
                |skill: &CatalogSkill| OfferedId { id: skill.id.clone(), name: skill.name.clone() };
            let offer = SourceOffer {
                locked: catalog.locked.clone(),
                ids: catalog.skills.iter().map(|skill| skill.id.clone()).collect(),
                selected: selected.into_iter().map(offered).collect(),
            };
            offers.insert(key.clone(), offer);
        }
        Ok(offers)
    }

    /// Adds the skills that selected skills of opened sources need, and opens their sources.
    pub(super) fn add_dependencies(
        &mut self,
        manifest: &ProjectManifest,
        lock: &ProjectLock,
        selected: &mut Vec<SelectedSkill>,
    ) -> Result<()> {
        let mut next = 0;
        while let Some(skill) = selected.get(next).cloned() {
            next += 1;
            if selected.len() > MAX_SELECTED_SKILLS {
                let message = format!("the project has more than {MAX_SELECTED_SKILLS} skills");
                return Err(Error::new(ErrorCode::LimitExceeded, message)
                    .hint("select fewer skills with `include`"));
            }
            if skill.locked_digest.is_some() {
                continue;
            }
            let Some(catalog) = self.catalogs.get(&skill.key) else { continue };
            let declared = catalog.skill(&skill.id)?.dependencies.clone();
            for dependency in &declared {
                let located = locate(&skill, dependency)?;
                self.open_dependency(&located, lock)?;
                self.add_located(manifest, &located, &skill, selected)?;
            }
        }
        Ok(())
    }

    fn open_dependency(
        &mut self,
        located: &LocatedDependency<'_>,
        lock: &ProjectLock,
    ) -> Result<()> {
        let Some(source) = &located.source else { return Ok(()) };
        let is_locked =
            lock.sources.contains_key(&located.key) && !self.refreshed.contains(&located.key);
        let demand = SourceDemand {
            key: located.key.clone(),
            source: source.clone(),
            version: located.version.clone(),
            demanded: if is_locked { DemandedVersion::Locked } else { DemandedVersion::Newest },
            span: None,
        };
        self.open(&[demand], lock)
    }

    fn add_located(
        &self,
        manifest: &ProjectManifest,
        located: &LocatedDependency<'_>,
        requirer: &SelectedSkill,
        selected: &mut Vec<SelectedSkill>,
    ) -> Result<()> {
        let name = located.declared.name.as_str();
        let offered = self.catalogs.get(&located.key).map(|it| it.skills.as_slice());
        let is_meant =
            |skill: &&CatalogSkill| skill.name == name || skill.id.rsplit('/').next() == Some(name);
        let Some(found) = offered.unwrap_or_default().iter().find(is_meant) else {
            return self.missing_dependency(located, requirer);
        };
        let entry = requirer.entries.first().and_then(|number| manifest.skills.get(*number));
        let folder = entry.map(|entry| entry.folder_name(&found.name)).transpose();
        let Ok(Some(folder)) = folder else { return self.missing_dependency(located, requirer) };
        let dependency = SelectedSkill {
            key: located.key.clone(),
            id: found.id.clone(),
            folder,
            entries: requirer.entries.clone(),
            required_by: BTreeSet::new(),
            locked_digest: None,
        };
        add_dependency(selected, dependency, requirer.folder.as_str());
        Ok(())
    }

    fn missing_dependency(
        &self,
        located: &LocatedDependency<'_>,
        requirer: &SelectedSkill,
    ) -> Result<()> {
        let name = located.declared.name.as_str();
        let message =
            format!("`{}` needs the skill `{name}`, which `{}` lacks", requirer.id, located.key);
        if !located.declared.required {
            self.session.context.emit(Event::Warning(message));
            return Ok(());
        }
        Err(Error::new(ErrorCode::SkillNotFound, message)
            .hint("exclude the skill, or ask its author to declare where the other one comes from"))
    }

    /// Loads the selected skills of opened sources whose digest is not known.
    pub(super) fn load(&mut self, selected: &[SelectedSkill]) -> Result<()> {
        let mut missing: BTreeMap<&SourceKey, BTreeSet<&str>> = BTreeMap::new();
        for skill in selected.iter().filter(|skill| skill.locked_digest.is_none()) {
            if !self.contents.contains_key(&(skill.key.clone(), skill.id.clone())) {
                missing.entry(&skill.key).or_default().insert(&skill.id);
            }
        }
        for (key, ids) in missing {
            self.load_ids(key, &ids.into_iter().collect::<Vec<_>>())?;
        }
        Ok(())
    }

    fn load_ids(&mut self, key: &SourceKey, ids: &[&str]) -> Result<()> {
        self.session.context.check_cancelled()?;
        let Some(catalog) = self.catalogs.get(key) else { return Ok(()) };
        let trees = catalog.load(self.session, ids)?;
        let keys = ids.iter().map(|id| (key.clone(), (*id).to_owned()));
        self.contents.extend(keys.zip(trees));
        Ok(())
    }

    /// Returns the digest of a selected skill. Skills of opened sources must be loaded.
    pub(super) fn digest(&self, skill: &SelectedSkill) -> Digest {
        let loaded = || {
            let key = (skill.key.clone(), skill.id.clone());
            self.contents.get(&key).map(|tree| tree.digest())
        };
        skill.locked_digest.or_else(loaded).unwrap_or_else(|| LoadedTree::default().digest())
    }

    /// Returns the content of a skill if it is loaded and has this digest.
    pub(super) fn loaded(
        &self,
        key: &SourceKey,
        id: &str,
        expected: Digest,
    ) -> Option<Arc<LoadedTree>> {
        let content = self.contents.get(&(key.clone(), id.to_owned()))?;
        (content.digest() == expected).then(|| Arc::clone(content))
    }

    /// Returns the content that a skill had at the locked version of a source, which may be open at
    /// a newer one. None if the source does not have it anymore.
    pub(super) fn earlier_content(
        &self,
        demand: &SourceDemand,
        id: &str,
        expected: Digest,
        lock: &ProjectLock,
    ) -> Option<Arc<LoadedTree>> {
        let locked = lock.sources.get(&demand.key);
        let catalog = open_demand(self.session, self.base, demand, locked).ok()?;
        let tree = catalog.load(self.session, &[id]).ok()?.into_iter().next()?;
        (tree.digest() == expected).then_some(tree)
    }

    /// Returns the content of a skill, which must have this digest. Opens its source at the locked
    /// version if necessary.
    pub(super) fn content(
        &mut self,
        demand: &SourceDemand,
        id: &str,
        expected: Digest,
        lock: &ProjectLock,
    ) -> Result<Arc<LoadedTree>> {
        let key = (demand.key.clone(), id.to_owned());
        if !self.contents.contains_key(&key) {
            self.open(std::slice::from_ref(demand), lock)?;
            self.load_ids(&demand.key, &[id])?;
        }
        let content = self.contents.get(&key).cloned().unwrap_or_default();
        if content.digest() == expected {
            return Ok(content);
        }
        let message = format!("`{id}` of `{}` differs from the lockfile", demand.key);
        Err(Error::new(ErrorCode::LockMismatch, message)
            .because(format!("its digest is {}, and the lockfile has {expected}", content.digest()))
            .hint("nothing was changed: run `sp update` to see and accept the new version"))
    }
}

fn open_demand(
    session: &Session<'_>,
    base: &Path,
    demand: &SourceDemand,
    locked: Option<&LockedSource>,
) -> Result<SourceCatalog> {
    let version = demand.version.as_ref();
    let request = match (demand.demanded, locked) {
        (DemandedVersion::Locked, Some(lock)) => CatalogRequest::Locked { version, lock },
        _ => CatalogRequest::Newest(version),
    };
    require_permitted_source(session, base, &demand.source)?;
    open_catalog(session, base, &demand.source, request)
}

/// Finds out where a dependency of a skill comes from: from its declared source, or else from the
/// source of the skill.
fn locate<'c>(
    requirer: &SelectedSkill,
    declared: &'c SkillDependency,
) -> Result<LocatedDependency<'c>> {
    let Some(source) = &declared.source else {
        return Ok(LocatedDependency {
            key: requirer.key.clone(),
            source: None,
            version: None,
            declared,
        });
    };
    let invalid = |why: String| {
        let message = format!(
            "invalid source of the skill `{}`, which `{}` needs",
            declared.name.as_str(),
            requirer.id
        );
        Error::new(ErrorCode::InvalidSkill, message).because(why).hint("exclude the skill")
    };
    if matches!(source, SourceRef::Dir(_) | SourceRef::Zip(_)) {
        let message = format!(
            "`{}` needs the skill `{}` from a path on this machine",
            requirer.id,
            declared.name.as_str()
        );
        return Err(Error::new(ErrorCode::ForeignLocalSource, message)
            .because(format!("the path is `{source}`"))
            .hint("exclude the skill, or ask its author to use a repository"));
    }
    let source =
        ManifestSource::new(&source.to_string()).map_err(|why| invalid(why.to_string()))?;
    let version = declared.version.as_deref();
    let version = version.map(|it| SourceVersion::new(&source, it)).transpose().map_err(invalid)?;
    let key = SourceKey::new(&source, version.as_ref());
    Ok(LocatedDependency { key, source: Some(source), version, declared })
}
