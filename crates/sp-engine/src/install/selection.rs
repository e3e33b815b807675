//! What to install: packs and packages, each with every skill it selects.
//!
//! [`resolve_pack`] reads a pack file, finds the local skills, fetches the imports and applies the
//! patterns of the pack. The result, a [`ResolvedPack`], is what `sp show` prints. A plan is made
//! from [`SkillSet`]s: a pack is one, and so is a package of skills. Each skill of a set has a
//! [`SkillSource`], which is everything that is needed to read it.
//!
//! The pure part, which matches patterns against IDs, is [`crate::select`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::naming::FolderNaming;
use sp_formats::package::{PackageName, PackageVersion};
use sp_formats::report::Severity;
use sp_formats::state::InstallSource;
use sp_tree::{LoadedTree, Name, StampScope};

use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::home::DigestIndexes;
use crate::repository::{SkillRepository, ValidPackFile, find_pack};
use crate::select::{ImportableSkills, SelectedSkill, select_skills};
use crate::session::Session;
use crate::source::git::{CheckoutOpener, GitCheckout};

/// The skills of a pack or package.
#[derive(Debug)]
pub(crate) struct SkillSet {
    pub origin: Arc<SkillOrigin>,
    pub skills: Vec<InstallableSkill>,
}

/// The pack or package that skills belong to, as plan IDs and records describe it.
#[derive(Debug)]
pub(crate) enum SkillOrigin {
    Pack(PackOrigin),
    Package(PackageOrigin),
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
}

/// What contains a skill. Skills with equal containers and IDs have the same content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SkillContainer<'a> {
    Directory(&'a Path),
    Commit { url: &'a str, commit: &'a str },
    Package(&'a PackageName),
}

impl SkillOrigin {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Pack(pack) => &pack.name,
            Self::Package(package) => package.name.as_str(),
        }
    }

    pub(crate) fn naming(&self) -> &FolderNaming {
        match self {
            Self::Pack(pack) => &pack.naming,
            Self::Package(package) => &package.naming,
        }
    }

    /// Returns the source that the state records.
    pub(crate) fn install_source(&self) -> InstallSource {
        match self {
            Self::Pack(pack) => InstallSource::PackFile(pack.file.to_string_lossy().into_owned()),
            Self::Package(package) => InstallSource::Package(package.name.clone()),
        }
    }
}

impl SkillSource {
    /// The path of the skill in its container.
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Local { id, .. } | Self::Git { id, .. } | Self::Package { id, .. } => id,
        }
    }

    /// The position among the imports of the pack, if the skill is imported.
    pub(crate) fn import(&self) -> Option<usize> {
        match self {
            Self::Git { import, .. } => Some(*import),
            Self::Local { .. } | Self::Package { .. } => None,
        }
    }

    pub(crate) fn container(&self) -> SkillContainer<'_> {
        match self {
            Self::Local { skills_dir, .. } => SkillContainer::Directory(skills_dir),
            Self::Git { checkout, .. } => {
                SkillContainer::Commit { url: &checkout.url, commit: &checkout.commit }
            }
            Self::Package { package, .. } => SkillContainer::Package(package),
        }
    }
}

/// A pack with everything it selects.
pub(crate) struct ResolvedPack {
    pub repository: SkillRepository,
    /// The path of the pack file as the user knows it.
    pub path: PathBuf,
    pub origin: PackOrigin,
    pub skills: Vec<InstallableSkill>,
}

impl From<ResolvedPack> for SkillSet {
    fn from(pack: ResolvedPack) -> Self {
        Self { origin: Arc::new(SkillOrigin::Pack(pack.origin)), skills: pack.skills }
    }
}

/// Resolves several packs, which must have different names.
pub(super) fn resolve_packs(
    session: &Session<'_>,
    root: Option<&Path>,
    specs: &[String],
    indexes: &mut DigestIndexes<'_>,
) -> Result<Vec<ResolvedPack>> {
    let mut packs: Vec<ResolvedPack> = Vec::new();
    for spec in specs {
        let pack = resolve_pack(session, root, spec, Some(indexes))?;
        if packs.iter().any(|other| other.origin.name == pack.origin.name) {
            return Err(Error::new(
                ErrorCode::DuplicateArgument,
                format!("the pack `{}` is named twice", pack.origin.name),
            )
            .hint("name it once"));
        }
        packs.push(pack);
    }
    Ok(packs)
}

/// Reads a pack, fetches its imports, and selects its skills.
///
/// Problems in the pack that do not prevent its use are emitted as events.
pub(crate) fn resolve_pack(
    session: &Session<'_>,
    root: Option<&Path>,
    spec: &str,
    indexes: Option<&mut DigestIndexes<'_>>,
) -> Result<ResolvedPack> {
    let (context, limits) = (session.context, &session.limits);
    let (repository, mut file) = find_pack(session, root, spec)?;
    // A pack that only imports needs no `skills/`.
    let (local_ids, stamp_scope) = if file.pack.include.is_empty() {
        (Vec::new(), StampScope::All)
    } else {
        let index = indexes.map(|indexes| indexes.for_dir(&repository.skills_dir()));
        let local = repository.skills(session, index)?;
        (local.ids, local.stamp_scope)
    };
    let checkouts =
        CheckoutOpener { context, limits, root: &repository.root }.open(&file.pack.imports)?;
    let offers: Vec<ImportableSkills> =
        checkouts.iter().map(|checkout| importable_skills(context, checkout)).collect();
    let selected = select_skills(&file.pack, &local_ids, &offers, &mut file.report);
    file.report.sort();
    if !file.report.is_usable() {
        return Err(unusable_pack(file));
    }
    if !file.report.findings.is_empty() {
        context.emit(Event::Findings(&file.report));
    }
    if selected.is_empty() {
        context.emit(Event::Warning(format!(
            "the pack `{}` selects no skill: its excludes take everything out",
            file.pack.name
        )));
    }
    let checkouts: Vec<Arc<GitCheckout>> = checkouts.into_iter().map(Arc::new).collect();
    let sources = SkillSources {
        skills_dir: repository.skills_dir().into(),
        stamp_scope,
        checkouts: &checkouts,
    };
    let skills = selected.into_iter().map(|skill| sources.installable(skill)).collect();
    Ok(ResolvedPack { origin: pack_origin(&file, &checkouts), repository, path: file.path, skills })
}

/// Where a pack takes its skills from.
struct SkillSources<'a> {
    skills_dir: Arc<Path>,
    stamp_scope: StampScope,
    /// One for each import, in order.
    checkouts: &'a [Arc<GitCheckout>],
}

impl SkillSources<'_> {
    fn installable(&self, selected: SelectedSkill) -> InstallableSkill {
        let SelectedSkill { import, id, folder } = selected;
        let source = match import {
            None => SkillSource::Local {
                skills_dir: Arc::clone(&self.skills_dir),
                id,
                stamp_scope: self.stamp_scope,
            },
            Some(import) => {
                SkillSource::Git { checkout: Arc::clone(&self.checkouts[import]), id, import }
            }
        };
        InstallableSkill { folder, source }
    }
}

fn pack_origin(file: &ValidPackFile, checkouts: &[Arc<GitCheckout>]) -> PackOrigin {
    let imports =
        file.pack.imports.iter().zip(checkouts).map(|(import, checkout)| ImportedCommit {
            repo: import.repo.display_url.clone(),
            git_ref: import.git_ref.as_ref().map(ToString::to_string),
            commit: checkout.commit.clone(),
        });
    PackOrigin {
        name: file.pack.name.clone(),
        file: file.path.canonicalize().unwrap_or_else(|_| file.path.clone()),
        naming: file.pack.naming.clone(),
        imports: imports.collect(),
    }
}

fn unusable_pack(file: ValidPackFile) -> Error {
    let is_error = |severity: Severity| severity == Severity::Error;
    let errors = file.report.findings.iter().filter(|finding| is_error(finding.severity)).count();
    let problems = if errors == 1 { "a problem".into() } else { format!("{errors} problems") };
    Error::in_file(
        ErrorCode::InvalidPack,
        format!("the pack `{}` has {problems}", file.pack.name),
        file.report,
    )
}

/// Returns the skills that a checkout offers to an import.
pub(crate) fn importable_skills(context: &Context<'_>, checkout: &GitCheckout) -> ImportableSkills {
    if checkout.tree.has_root_skill {
        context.emit(Event::Warning(format!(
            "`{}` has a `SKILL.md` at its root, which is ignored",
            checkout.repo
        )));
    }
    for shadowed in &checkout.tree.shadowed {
        context.emit(Event::Detail(format!(
            "`{shadowed}` of `{}` is no skill: another `SKILL.md` stands below it",
            checkout.repo
        )));
    }
    ImportableSkills {
        tree_key: format!("{}@{}", checkout.url, checkout.commit),
        ids: checkout.tree.ids.clone(),
    }
}
