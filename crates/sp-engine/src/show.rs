//! `sp show`, and what `sp install` has in common with it: a pack and all that it selects.

use std::path::{Path, PathBuf};

use sp_formats::output::{ImportItem, PackView, SelectedItem};
use sp_formats::report::Severity;
use sp_tree::{Check, Content};

use crate::authoring::{Authoring, PackFile, find_pack};
use crate::config::Session;
use crate::context::{Context, Event};
use crate::error::{Error, Result};
use crate::home::Indexes;
use crate::resolve::{Offer, Origin, Selected, resolve};
use crate::source::git::{Checkout, Checkouts};

/// A pack with everything that it selects.
pub(crate) struct Chosen {
    pub authoring: Authoring,
    pub file: PackFile,
    pub skills: Vec<Selected>,
    /// One for each import, in order.
    pub checkouts: Vec<Checkout>,
    /// What the index must still look at to know a local skill unchanged.
    pub check: Check,
    /// The skills that a package carries, if it is one.
    pub packed: Option<PackedSkills>,
}

/// The skills that a package carries.
pub(crate) struct PackedSkills {
    pub version: String,
    /// What name, version and content hash to.
    pub sha256: String,
    /// One for each skill, in order.
    pub contents: Vec<Content>,
}

impl Chosen {
    /// The directory of a local skill.
    pub(crate) fn local_dir(&self, id: &str) -> PathBuf {
        self.authoring.skills_dir().join(id)
    }
}

/// What the pack called `named` would install.
pub fn show(context: &Context<'_>, root: Option<&Path>, named: &str) -> Result<PackView> {
    let session = Session::begin(context)?;
    let chosen = choose(&session, root, named, None)?;
    let import = |origin| match origin {
        Origin::Local | Origin::Packed(_) => None,
        Origin::Import(number) => Some(number),
    };
    Ok(PackView {
        pack: chosen.file.pack.name.clone(),
        pack_file: chosen.file.path.clone(),
        skills: chosen
            .skills
            .iter()
            .map(|skill| SelectedItem {
                id: skill.id.clone(),
                import: import(skill.origin),
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
                repo: import.repo.written.clone(),
                git_ref: import.git_ref.as_ref().map(ToString::to_string),
                commit: checkout.commit.clone(),
            })
            .collect(),
    })
}

/// Reads a pack, brings its imports here, and selects.
pub(crate) fn choose(
    session: &Session<'_>,
    root: Option<&Path>,
    named: &str,
    indexes: Option<&mut Indexes<'_>>,
) -> Result<Chosen> {
    let (context, limits) = (session.context, &session.limits);
    let (authoring, mut file) = find_pack(session, root, named)?;
    // A pack that only imports needs no `skills/`.
    let (local, check) = match file.pack.include.is_empty() {
        true => (Vec::new(), Check::All),
        false => {
            let index = indexes.map(|indexes| indexes.of(&authoring.skills_dir()));
            let found = authoring.skills(session, index)?;
            (found.ids, found.check)
        }
    };
    let checkouts = Checkouts { context, limits, root: &authoring.root }.open(&file.pack.imports)?;
    let offers: Vec<Offer> = checkouts.iter().map(|checkout| offer(context, checkout)).collect();
    let skills = resolve(&file.pack, &local, &offers, &mut file.report);
    file.report.sort();
    if !file.report.is_usable() {
        let errors = file.report.findings.iter().filter(|finding| finding.severity == Severity::Error).count();
        let what = if errors == 1 { "a problem".into() } else { format!("{errors} problems") };
        return Err(Error::in_file(format!("the pack `{}` has {what}", file.pack.name), file.report));
    }
    if !file.report.findings.is_empty() {
        context.tell(Event::Findings(&file.report));
    }
    if skills.is_empty() {
        context.tell(Event::Warning(format!(
            "the pack `{}` selects no skill: its excludes take everything out",
            file.pack.name
        )));
    }
    Ok(Chosen { authoring, file, skills, checkouts, check, packed: None })
}

/// What a repository at a commit offers to an import.
pub(crate) fn offer(context: &Context<'_>, checkout: &Checkout) -> Offer {
    if checkout.tree.root_skill {
        context.tell(Event::Warning(format!("`{}` has a `SKILL.md` at its root, which is ignored", checkout.repo)));
    }
    for hidden in &checkout.tree.hidden {
        context.tell(Event::Detail(format!(
            "`{hidden}` of `{}` is no skill: another `SKILL.md` stands below it",
            checkout.repo
        )));
    }
    Offer { tree: format!("{}@{}", checkout.url, checkout.commit), ids: checkout.tree.ids.clone() }
}
