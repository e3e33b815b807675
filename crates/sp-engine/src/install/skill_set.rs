//! What a plan is made from: packs, packages of skills and projects, as values.
//!
//! A pack is a [`SkillSet`], and so is a package of skills, or what a project installs into one
//! sink; its [`SkillOrigin`] says which one.
//! Each skill of a set has a [`SkillSource`], which is everything that is needed to read it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::naming::FolderNaming;
use sp_formats::package::{PackageName, PackageVersion};
use sp_formats::state::InstallSource;
use sp_tree::{Digest, LoadedTree, Name, StampScope};

use crate::content_gate::ContentOwner;
use crate::source::git::GitCheckout;

/// The skills of a pack or package.
#[derive(Debug)]
pub(crate) struct SkillSet {
    pub origin: Arc<SkillOrigin>,
    pub skills: Vec<InstallableSkill>,
}

/// The pack, package or project that skills belong to, as plan IDs and records describe it.
#[derive(Debug)]
pub(crate) enum SkillOrigin {
    Pack(PackOrigin),
    Package(PackageOrigin),
    Project(ProjectOrigin),
}

/// A pack file, and the commits of its imports.
#[derive(Debug)]
pub(crate) struct PackOrigin {
    pub name: String,
    /// The real path of the pack file.
    pub file: PathBuf,
    pub naming: FolderNaming,
    pub imports: Vec<ImportedCommit>,
}

/// An import of a pack, with the commit that its ref resolved to.
#[derive(Debug)]
pub(crate) struct ImportedCommit {
    /// The repository as in the pack, without credentials.
    pub repo: String,
    pub git_ref: Option<String>,
    pub commit: String,
}

/// A version of a package of skills.
#[derive(Debug)]
pub(crate) struct PackageOrigin {
    pub name: PackageName,
    pub version: PackageVersion,
    /// The hash over name, version and content.
    pub sha256: String,
    pub naming: FolderNaming,
}

/// A project, for one sink.
#[derive(Debug)]
pub(crate) struct ProjectOrigin {
    /// The absolute path of the manifest. It is the name of the record.
    pub manifest: String,
    pub naming: FolderNaming,
    /// The digests of the folders that the lockfile assigned to this sink, by name. They belong to
    /// the project even if another machine installed them.
    pub locked_folders: BTreeMap<String, Digest>,
}

/// A skill, and the name of its folder in a sink.
#[derive(Debug, Clone)]
pub(crate) struct InstallableSkill {
    pub folder: Name,
    pub source: SkillSource,
}

/// Where the content of a skill comes from.
#[derive(Debug, Clone)]
pub(crate) enum SkillSource {
    /// A folder below the `skills/` of a repository.
    Local {
        skills_dir: Arc<Path>,
        id: String,
        /// What the digest index has to compare to know that the skill is unchanged.
        stamp_scope: StampScope,
    },
    /// A folder of a commit.
    Git {
        checkout: Arc<GitCheckout>,
        id: String,
        /// The position among the imports of the pack.
        import: usize,
    },
    /// A folder of a package, in memory.
    Package { package: PackageName, id: String, content: Arc<LoadedTree> },
    /// A folder with a known digest.
    Locked(LockedTree),
}

/// The content of a skill, by its digest. The bytes are only needed to write it.
#[derive(Debug, Clone)]
pub(crate) struct LockedTree {
    /// The source, for messages.
    pub source: Arc<str>,
    pub id: String,
    pub digest: Digest,
    pub owner: ContentOwner,
    pub content: Option<Arc<LoadedTree>>,
}

/// What contains a skill. Skills with equal containers and IDs have the same content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SkillContainer<'a> {
    Directory(&'a Path),
    Commit {
        url: &'a str,
        commit: &'a str,
    },
    Package(&'a PackageName),
    /// The content itself.
    Digest(Digest),
}

impl SkillOrigin {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Pack(pack) => &pack.name,
            Self::Package(package) => package.name.as_str(),
            Self::Project(project) => &project.manifest,
        }
    }

    /// Returns the digest of a folder that belongs to this origin, whether it is recorded or not.
    pub(crate) fn locked_folder(&self, name: &str) -> Option<Digest> {
        match self {
            Self::Pack(_) | Self::Package(_) => None,
            Self::Project(project) => project.locked_folders.get(name).copied(),
        }
    }

    /// Returns the folders that belong to this origin, whether they are recorded or not.
    pub(crate) fn locked_folders(&self) -> impl Iterator<Item = (&str, Digest)> {
        let folders = match self {
            Self::Pack(_) | Self::Package(_) => None,
            Self::Project(project) => Some(&project.locked_folders),
        };
        folders.into_iter().flatten().map(|(name, digest)| (name.as_str(), *digest))
    }

    pub(crate) fn naming(&self) -> &FolderNaming {
        match self {
            Self::Pack(pack) => &pack.naming,
            Self::Package(package) => &package.naming,
            Self::Project(project) => &project.naming,
        }
    }

    /// Returns the source that the state records.
    pub(crate) fn install_source(&self) -> InstallSource {
        match self {
            Self::Pack(pack) => InstallSource::PackFile(pack.file.to_string_lossy().into_owned()),
            Self::Package(package) => InstallSource::Package(package.name.clone()),
            Self::Project(project) => InstallSource::Project(project.manifest.clone()),
        }
    }
}

impl SkillSource {
    /// The path of the skill in its container.
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Local { id, .. } | Self::Git { id, .. } | Self::Package { id, .. } => id,
            Self::Locked(locked) => &locked.id,
        }
    }

    /// The position among the imports of the pack, if the skill is imported.
    pub(crate) fn import(&self) -> Option<usize> {
        match self {
            Self::Git { import, .. } => Some(*import),
            Self::Local { .. } | Self::Package { .. } | Self::Locked(_) => None,
        }
    }

    pub(crate) fn container(&self) -> SkillContainer<'_> {
        match self {
            Self::Local { skills_dir, .. } => SkillContainer::Directory(skills_dir),
            Self::Git { checkout, .. } => {
                SkillContainer::Commit { url: &checkout.url, commit: &checkout.commit }
            }
            Self::Package { package, .. } => SkillContainer::Package(package),
            Self::Locked(locked) => SkillContainer::Digest(locked.digest),
        }
    }
}
