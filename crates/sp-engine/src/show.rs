//! `sp show`, and what `sp install` has in common with it: a pack and all that it selects.

use std::path::{Path, PathBuf};

use sp_formats::output::{ImportItem, PackView, SelectedSkillItem};
use sp_formats::report::Severity;
use sp_tree::{LoadedTree, StampScope};

use crate::config::Session;
use crate::context::{Context, Event};
use crate::error::{Error, Result};
use crate::home::DigestIndexes;
use crate::repository::{SkillRepository, ValidPackFile, find_pack};
use crate::resolve::{ImportableSkills, SelectedSkill, SkillSource, select_skills};
use crate::source::git::{CheckoutOpener, GitCheckout};

/// A pack with everything that it selects.
pub(crate) struct ResolvedPack {
    pub repository: SkillRepository,
    pub file: ValidPackFile,
    pub skills: Vec<SelectedSkill>,
    /// One for each import, in order.
    pub checkouts: Vec<GitCheckout>,
    /// What the index must still look at to know a local skill unchanged.
    pub stamp_scope: StampScope,
    /// The skills that a package carries, if it is one.
    pub packaged_skills: Option<PackagedSkills>,
}

/// The skills that a package carries.
pub(crate) struct PackagedSkills {
    pub version: String,
    /// What name, version and content hash to.
    pub sha256: String,
    /// One for each skill, in order.
    pub contents: Vec<LoadedTree>,
}

impl ResolvedPack {
    /// The directory of a local skill.
    pub(crate) fn local_skill_dir(&self, id: &str) -> PathBuf {
        self.repository.skills_dir().join(id)
    }
}

/// What the pack called `named` would install.
pub fn show(context: &Context<'_>, root: Option<&Path>, named: &str) -> Result<PackView> {
    let session = Session::begin(context)?;
    let chosen = resolve_pack(&session, root, named, None)?;
    let import = |origin| match origin {
        SkillSource::Local | SkillSource::Package(_) => None,
        SkillSource::Import(number) => Some(number),
    };
    Ok(PackView {
        pack: chosen.file.pack.name.clone(),
        pack_file: chosen.file.path.clone(),
        skills: chosen
            .skills
            .iter()
            .map(|skill| SelectedSkillItem {
                id: skill.id.clone(),
                import: import(skill.source),
                folder: skill.folder.to_string(),
            })
            .collect(),
        imports: chosen
            .file
            .pack
            .imports
            .iter()
            .zip(&chosen.checkouts)
            .map(|(import, checkout)| ImportItem {
                repo: import.repo.display_url.clone(),
                git_ref: import.git_ref.as_ref().map(ToString::to_string),
                commit: checkout.commit.clone(),
            })
            .collect(),
    })
}

/// Reads a pack, brings its imports here, and selects.
pub(crate) fn resolve_pack(
    session: &Session<'_>,
    root: Option<&Path>,
    named: &str,
    indexes: Option<&mut DigestIndexes<'_>>,
) -> Result<ResolvedPack> {
    let (context, limits) = (session.context, &session.limits);
    let (authoring, mut file) = find_pack(session, root, named)?;
    // A pack that only imports needs no `skills/`.
    let (local, check) = match file.pack.include.is_empty() {
        true => (Vec::new(), StampScope::All),
        false => {
            let index = indexes.map(|indexes| indexes.for_dir(&authoring.skills_dir()));
            let found = authoring.skills(session, index)?;
            (found.ids, found.stamp_scope)
        }
    };
    let checkouts =
        CheckoutOpener { context, limits, root: &authoring.root }.open(&file.pack.imports)?;
    let offers: Vec<ImportableSkills> =
        checkouts.iter().map(|checkout| importable_skills(context, checkout)).collect();
    let skills = select_skills(&file.pack, &local, &offers, &mut file.report);
    file.report.sort();
    if !file.report.is_usable() {
        let errors = file
            .report
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .count();
        let what = if errors == 1 { "a problem".into() } else { format!("{errors} problems") };
        return Err(Error::in_file(
            format!("the pack `{}` has {what}", file.pack.name),
            file.report,
        ));
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
    Ok(ResolvedPack {
        repository: authoring,
        file,
        skills,
        checkouts,
        stamp_scope: check,
        packaged_skills: None,
    })
}

/// What a repository at a commit offers to an import.
pub(crate) fn importable_skills(context: &Context<'_>, checkout: &GitCheckout) -> ImportableSkills {
    if checkout.tree.has_root_skill {
        context.emit(Event::Warning(format!(
            "`{}` has a `SKILL.md` at its root, which is ignored",
            checkout.repo
        )));
    }
    for hidden in &checkout.tree.shadowed {
        context.emit(Event::Detail(format!(
            "`{hidden}` of `{}` is no skill: another `SKILL.md` stands below it",
            checkout.repo
        )));
    }
    ImportableSkills {
        tree_key: format!("{}@{}", checkout.url, checkout.commit),
        ids: checkout.tree.ids.clone(),
    }
}
