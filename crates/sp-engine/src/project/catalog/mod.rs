//! What the sources of a project offer.
//!
//! [`open_catalog`] opens a source at its newest or at its locked version, and returns its skills
//! with their texts and dependencies. Their other files are read by [`SourceCatalog::load`].
//! Nothing is written besides the cache.
//!
//! ```text
//! git, directory, zip ──▶ OpenedSource ──▶ skill_dirs: which folders are skills? ─┐
//! host with an index ──▶ hosted: index, artifacts, digests ───────────────────────┼▶ SourceCatalog
//! registry ──▶ pkg: version, signature, trust ────────────────────────────────────┘
//! ```
//!
//! [`newest_versions`] asks where sources are now, without reading their skills.

mod dir_index;
mod folders;
mod hosted;
mod newest;
mod package;
mod packs;
mod skill_dirs;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests move sources away")]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use sp_formats::package::PackageName;
use sp_formats::project::lock::{LockedSource, SourceKey};
use sp_formats::project::source::{ManifestSource, SourceVersion};
use sp_formats::report::Report;
use sp_formats::skill::{self, SKILL_FILE, SkillName};
use sp_formats::suggest::nearest_few;
use sp_formats::workspace::{SkillDependency, read_skill_dependencies};
use sp_tree::{Digest, Dir, LoadedTree, load_untrusted_dir};

use self::dir_index::{ReadDir, ReadZip};
use crate::error::{Error, ErrorCode, Result};
use crate::home::DigestIndexes;
use crate::pkg::SkillPackage;
use crate::session::Session;
use crate::source::{OpenedSource, load_commit_folders};

pub(crate) use dir_index::{IndexedDir, indexed_zip_digest};
pub(crate) use newest::{BranchHistory, NewestQuery, NewestSource, newest_versions};
pub(crate) use skill_dirs::ROOT_ID;

/// What a source offers.
pub(crate) struct SourceCatalog {
    pub key: SourceKey,
    /// What the source resolved to.
    pub locked: LockedSource,
    /// Of several skills with the same name, the one to prefer comes first.
    pub skills: Vec<CatalogSkill>,
    /// The installation steps of a SkillBag source that are not just copying. They are shown, never
    /// run.
    pub extra_steps: Option<String>,
    /// The package of a registry, which is added to the store when its skills are installed.
    pub package: Option<SkillPackage>,
    /// The source, unless the skills are in memory.
    opened: Option<OpenedSource>,
    /// What was read of a directory.
    read_dir: Option<ReadDir>,
    /// The zip file that was read.
    read_zip: Option<ReadZip>,
}

/// A skill that a source offers.
#[derive(Debug)]
pub(crate) struct CatalogSkill {
    /// The path from the root of the source; [`ROOT_ID`] if the source is a skill itself.
    pub id: String,
    /// The name in the frontmatter if it is valid, or else that of its folder.
    pub name: String,
    pub description: String,
    /// The skills that it declares to need.
    pub dependencies: Vec<SkillDependency>,
    content: SkillContent,
}

/// Where the files of a skill are.
#[derive(Debug)]
enum SkillContent {
    /// A folder of the opened source.
    Folder(String),
    Loaded(Arc<LoadedTree>),
    /// A folder of a source that a pack selects from.
    Elsewhere {
        source: Arc<OpenedSource>,
        path: String,
    },
}

/// Which version of a source to open.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CatalogRequest<'a> {
    /// The newest that the ref or range of the manifest allows.
    Newest(Option<&'a SourceVersion>),
    /// The one in the lockfile. What is on this machine is always opened as it is now, and so is an
    /// index that the cache does not have; the digests of skills in the lockfile detect changes.
    Locked { version: Option<&'a SourceVersion>, lock: &'a LockedSource },
}

impl<'a> CatalogRequest<'a> {
    fn version(self) -> Option<&'a SourceVersion> {
        match self {
            Self::Newest(version) | Self::Locked { version, .. } => version,
        }
    }

    fn lock(self) -> Option<&'a LockedSource> {
        match self {
            Self::Newest(_) => None,
            Self::Locked { lock, .. } => Some(lock),
        }
    }
}

/// Opens a source, fetching it if needed. Relative paths start at `base`.
#[tracing::instrument(level = "debug", skip_all, fields(source = %source))]
pub(crate) fn open_catalog(
    session: &Session<'_>,
    base: &Path,
    source: &ManifestSource,
    request: CatalogRequest<'_>,
) -> Result<SourceCatalog> {
    let key = SourceKey::new(source, request.version());
    let offered = match source {
        ManifestSource::Git(git) => folders::open_git(session, base, git, request)?,
        ManifestSource::Dir(path) => folders::open_dir(session, base, path)?,
        ManifestSource::Zip(path) => folders::open_zip(session, base, path)?,
        ManifestSource::WebZip(web) => folders::open_web_zip(session, web, request)?,
        ManifestSource::Index(url) => hosted::open_host(session, url, request)?,
        ManifestSource::Package(name) => package::open_package(session, name, request)?,
        ManifestSource::Pack(pack) => packs::open_pack(session, base, pack, request)?,
    };
    offered.into_catalog(source, key)
}

/// Refuses a source elsewhere that policies deny, before it is contacted. Local sources are judged
/// when their content is known, because the project's own skills are exempt.
pub(crate) fn require_permitted_source(
    session: &Session<'_>,
    base: &Path,
    source: &ManifestSource,
) -> Result<()> {
    if source.is_local() {
        return Ok(());
    }
    session.policies(Some(base))?.require_source(&source.to_string(), base)
}

/// Returns the catalog of a package of skills that is open already.
pub(crate) fn package_catalog(
    session: &Session<'_>,
    name: &PackageName,
    package: SkillPackage,
) -> Result<SourceCatalog> {
    let source = ManifestSource::Package(name.clone());
    let offered = package::offered_by(session, name, package);
    offered.into_catalog(&source, SourceKey::new(&source, None))
}

/// Opens a local source that need not exist yet.
pub(crate) fn open_local_or_empty(
    session: &Session<'_>,
    base: &Path,
    source: &ManifestSource,
) -> Result<SourceCatalog> {
    let missing = [ErrorCode::SourceNotFound, ErrorCode::NothingFound];
    match open_catalog(session, base, source, CatalogRequest::Newest(None)) {
        Err(error) if missing.into_iter().any(|code| error.has_code(code)) => Ok(SourceCatalog {
            key: SourceKey::new(source, None),
            locked: LockedSource::default(),
            skills: Vec::new(),
            extra_steps: None,
            package: None,
            opened: None,
            read_dir: None,
            read_zip: None,
        }),
        opened => opened,
    }
}

fn no_skills_error(source: &ManifestSource) -> Error {
    Error::new(ErrorCode::NothingFound, format!("`{source}` contains no skills"))
        .because(format!("none of its directories has a `{SKILL_FILE}`"))
        .hint("nothing was changed: check the URL or path, and the folder in it")
}

/// The members of a catalog that depend on the kind of its source.
#[derive(Default)]
struct OfferedSkills {
    locked: LockedSource,
    skills: Vec<CatalogSkill>,
    extra_steps: Option<String>,
    package: Option<SkillPackage>,
    opened: Option<OpenedSource>,
    read_dir: Option<ReadDir>,
    read_zip: Option<ReadZip>,
}

impl OfferedSkills {
    fn into_catalog(self, source: &ManifestSource, key: SourceKey) -> Result<SourceCatalog> {
        if self.skills.is_empty() {
            return Err(no_skills_error(source));
        }
        let Self { locked, skills, extra_steps, package, opened, read_dir, read_zip } = self;
        Ok(SourceCatalog { key, locked, skills, extra_steps, package, opened, read_dir, read_zip })
    }
}

impl SourceCatalog {
    /// Adds what was read of a directory or of a zip file to its index.
    pub(crate) fn add_to_index(&self, indexes: &mut DigestIndexes<'_>) {
        if let Some(read) = &self.read_zip {
            read.add_to_index(indexes);
        }
        if let Some(read) = &self.read_dir {
            read.add_to_index(indexes);
        }
    }

    /// Returns the skills with a selected ID. A skill with the same name and the same files as an
    /// earlier one is left out: some repositories have a copy for each agent.
    pub(crate) fn select(
        &self,
        session: &Session<'_>,
        is_selected: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<&CatalogSkill>> {
        let mut by_name: BTreeMap<&str, Vec<&CatalogSkill>> = BTreeMap::new();
        let mut selected = Vec::new();
        for skill in self.skills.iter().filter(|skill| is_selected(&skill.id)) {
            let namesakes = by_name.entry(&skill.name).or_default();
            if !namesakes.is_empty() {
                let all: Vec<&str> =
                    namesakes.iter().chain([&skill]).map(|skill| skill.id.as_str()).collect();
                let digests: Vec<Digest> =
                    self.load(session, &all)?.iter().map(|tree| tree.digest()).collect();
                if digests[..digests.len() - 1].contains(&digests[digests.len() - 1]) {
                    continue;
                }
            }
            namesakes.push(skill);
            selected.push(skill);
        }
        Ok(selected)
    }

    /// Loads all files of skills, by ID and in this order.
    pub(crate) fn load(&self, session: &Session<'_>, ids: &[&str]) -> Result<Vec<Arc<LoadedTree>>> {
        let skills: Vec<&CatalogSkill> =
            ids.iter().map(|id| self.skill(id)).collect::<Result<_>>()?;
        let folders = skills.iter().filter_map(|skill| match &skill.content {
            SkillContent::Folder(path) => Some(path.clone()),
            SkillContent::Loaded(_) | SkillContent::Elsewhere { .. } => None,
        });
        let mut elsewhere = load_elsewhere(session, &skills)?;
        let mut folders = self.load_folders(session, &folders.collect::<Vec<_>>())?.into_iter();
        let tree = |skill: &&CatalogSkill| match &skill.content {
            SkillContent::Loaded(tree) => Arc::clone(tree),
            SkillContent::Folder(_) => folders.next().unwrap_or_default().into(),
            SkillContent::Elsewhere { .. } => {
                elsewhere.remove(skill.id.as_str()).unwrap_or_default().into()
            }
        };
        Ok(skills.iter().map(tree).collect())
    }

    fn load_folders(&self, session: &Session<'_>, folders: &[String]) -> Result<Vec<LoadedTree>> {
        match &self.opened {
            Some(OpenedSource::Git(checkout)) => load_commit_folders(session, checkout, folders),
            Some(OpenedSource::Dir(root)) => self.load_dir_folders(session, root, folders),
            Some(opened) => {
                folders.iter().map(|folder| opened.load_folder(session, folder)).collect()
            }
            None => Ok(Vec::new()),
        }
    }

    fn load_dir_folders(
        &self,
        session: &Session<'_>,
        root: &Path,
        folders: &[String],
    ) -> Result<Vec<LoadedTree>> {
        let load = |folder: &String| {
            session.context.check_cancelled()?;
            let loaded = load_untrusted_dir(&Dir::open(&root.join(folder))?, &session.limits)?;
            if let Some(read) = &self.read_dir {
                let now = (session.context.wall_clock)();
                read.record(folder, loaded.tree.digest(), loaded.stamps, now);
            }
            Ok(loaded.tree)
        };
        folders.par_iter().map(load).collect()
    }

    /// Adds a skill that the source will have when the change is applied.
    pub(crate) fn with_skill(
        mut self,
        session: &Session<'_>,
        id: &str,
        tree: &Arc<LoadedTree>,
    ) -> Result<Self> {
        let draft = SkillDraft {
            id: id.to_owned(),
            folder: id.rsplit('/').next().unwrap_or(id),
            bytes: tree.get(SKILL_FILE).unwrap_or_default(),
            content: SkillContent::Loaded(Arc::clone(tree)),
        };
        let skill = draft.read(session).ok_or_else(|| {
            Error::new(ErrorCode::InvalidSkill, format!("the `{SKILL_FILE}` of `{id}` is not text"))
                .hint("nothing was changed: save it as UTF-8")
        })?;
        self.skills.retain(|known| known.id != id);
        self.skills.push(skill);
        Ok(self)
    }

    /// Returns the skill with this ID.
    pub(crate) fn skill(&self, id: &str) -> Result<&CatalogSkill> {
        self.skills.iter().find(|skill| skill.id == id).ok_or_else(|| {
            let ids = self.skills.iter().map(|skill| skill.id.as_str());
            let error =
                Error::new(ErrorCode::SkillNotFound, format!("`{}` has no skill `{id}`", self.key));
            match nearest_few(id, ids, 3).as_slice() {
                [] => error,
                near => error.hint(format!("similar skills: {}", near.join(", "))),
            }
        })
    }
}

/// Loads the skills of packs, by ID. Those of one source are fetched together.
fn load_elsewhere<'s>(
    session: &Session<'_>,
    skills: &[&'s CatalogSkill],
) -> Result<BTreeMap<&'s str, LoadedTree>> {
    let mut groups: Vec<(&Arc<OpenedSource>, Vec<&str>, Vec<String>)> = Vec::new();
    for skill in skills {
        let SkillContent::Elsewhere { source, path } = &skill.content else { continue };
        let known = groups.iter().position(|(known, _, _)| Arc::ptr_eq(known, source));
        let at = known.unwrap_or_else(|| {
            groups.push((source, Vec::new(), Vec::new()));
            groups.len() - 1
        });
        groups[at].1.push(&skill.id);
        groups[at].2.push(path.clone());
    }
    let mut loaded = BTreeMap::new();
    for (source, ids, paths) in groups {
        let trees = match &**source {
            OpenedSource::Git(checkout) => load_commit_folders(session, checkout, &paths)?,
            other => paths
                .iter()
                .map(|path| other.load_folder(session, path))
                .collect::<Result<Vec<_>>>()?,
        };
        loaded.extend(ids.into_iter().zip(trees));
    }
    Ok(loaded)
}

/// The parts of a skill that are known before its `SKILL.md` is read.
struct SkillDraft<'a> {
    id: String,
    /// The name of its folder.
    folder: &'a str,
    /// The `SKILL.md`.
    bytes: &'a [u8],
    content: SkillContent,
}

impl SkillDraft<'_> {
    /// Reads the `SKILL.md`. None if it is not text; an agent cannot use such a skill.
    fn read(self, session: &Session<'_>) -> Option<CatalogSkill> {
        let (metadata, _) = skill::read(&self.id, self.folder, self.bytes, &session.limits);
        let metadata = metadata?;
        let text = str::from_utf8(self.bytes).ok()?;
        // `sp check` reports invalid dependencies; here they do not count.
        let mut report = Report::new(&self.id, text);
        let dependencies = read_skill_dependencies(&metadata, text, &session.limits, &mut report);
        let own_name = metadata.name.filter(|name| SkillName::new(name).is_ok());
        let description = metadata.description.unwrap_or_default();
        Some(CatalogSkill {
            name: own_name.unwrap_or_else(|| self.folder.to_owned()),
            id: self.id,
            description: description.split_whitespace().collect::<Vec<_>>().join(" "),
            dependencies,
            content: self.content,
        })
    }
}
