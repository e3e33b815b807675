//! A pack and everything it selects.
//!
//! [`resolve_pack`] reads a pack file, finds the local skills, fetches the imports and applies the
//! patterns of the pack. The result, a [`ResolvedPack`], is what `sp show` prints and what a plan
//! is made from. The pure part, which matches patterns against IDs, is [`crate::select`].

use std::path::{Path, PathBuf};

use sp_formats::report::Severity;
use sp_tree::{LoadedTree, StampScope};

use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::home::DigestIndexes;
use crate::repository::{SkillRepository, ValidPackFile, find_pack};
use crate::select::{ImportableSkills, SelectedSkill, select_skills};
use crate::session::Session;
use crate::source::git::{CheckoutOpener, GitCheckout};

/// A pack with everything it selects.
pub(crate) struct ResolvedPack {
    pub repository: SkillRepository,
    pub file: ValidPackFile,
    pub skills: Vec<SelectedSkill>,
    /// One for each import, in order.
    pub checkouts: Vec<GitCheckout>,
    /// What the digest index has to compare to know that a local skill is unchanged.
    pub stamp_scope: StampScope,
    /// The skills of a package, if the pack is one.
    pub packaged_skills: Option<PackagedSkills>,
}

/// The skills that a package contains.
pub(crate) struct PackagedSkills {
    pub version: String,
    /// The hash over name, version and content.
    pub sha256: String,
    /// One for each skill, in order.
    pub contents: Vec<LoadedTree>,
}

/// The position of a selected skill: `packs[pack].skills[skill]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SkillIndex {
    pub pack: usize,
    pub skill: usize,
}

impl ResolvedPack {
    pub(crate) fn name(&self) -> &str {
        &self.file.pack.name
    }

    /// Returns the directory of a local skill.
    pub(crate) fn local_skill_dir(&self, id: &str) -> PathBuf {
        self.repository.skills_dir().join(id)
    }
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
    let skills = select_skills(&file.pack, &local_ids, &offers, &mut file.report);
    file.report.sort();
    if !file.report.is_usable() {
        return Err(unusable_pack(file));
    }
    if !file.report.findings.is_empty() {
        context.emit(Event::Findings(&file.report));
    }
    if skills.is_empty() {
        context.emit(Event::Warning(format!(
            "the pack `{}` selects no skill: its excludes take everything out",
            file.pack.name
        )));
    }
    Ok(ResolvedPack { repository, file, skills, checkouts, stamp_scope, packaged_skills: None })
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
