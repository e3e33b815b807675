//! A pack and everything it selects.
//!
//! [`resolve_pack`] reads a pack file, finds the local skills, fetches the imports and applies the
//! patterns of the pack. The result, a [`ResolvedPack`], is what `sp show` prints, and becomes a
//! [`SkillSet`] to make a plan from. The pure part, which matches patterns against IDs, is
//! [`crate::select`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::report::Severity;
use sp_tree::StampScope;

use super::skill_set::{
    ImportedCommit, InstallableSkill, PackOrigin, SkillOrigin, SkillSet, SkillSource,
};
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::home::DigestIndexes;
use crate::pack_intentions::find_pack;
use crate::repository::{SkillRepository, ValidPackFile};
use crate::select::{ImportableSkills, SelectedSkill, select_skills};
use crate::session::Session;
use crate::source::git::{CheckoutOpener, GitCheckout};

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
                format!("the pack `{}` is specified twice", pack.origin.name),
            )
            .hint("specify it once"));
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
    let opener = CheckoutOpener { context, limits, root: &repository.root };
    let checkouts = opener.open(&file.pack.imports).map_err(|error| error.in_pack(&file.report))?;
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
            "the pack `{}` selects no skills: its `exclude` patterns match all of them",
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
    let problems = if errors == 1 { "1 problem".into() } else { format!("{errors} problems") };
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
            "`{shadowed}` in `{}` is not a skill, because a subdirectory contains another `SKILL.md`",
            checkout.repo
        )));
    }
    ImportableSkills {
        tree_key: format!("{}@{}", checkout.url, checkout.commit),
        ids: checkout.tree.ids.clone(),
    }
}
