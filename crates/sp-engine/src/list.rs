//! `sp list` and `sp packs`: lists the skills and packs of a repository.

use std::path::Path;

use sp_formats::output::{PackItem, PackList, SkillItem, SkillList};

use crate::context::{Context, Event};
use crate::error::Result;
use crate::repository::{SkillRepository, pack_name};
use crate::session::Session;

/// Returns the skills in `skills/`.
pub fn skills(context: &Context<'_>, root: Option<&Path>) -> Result<SkillList> {
    let session = Session::begin(context)?;
    let repository = SkillRepository::find(context, root)?;
    let found = repository.skills(&session, None)?;
    let dir = repository.skills_dir();
    let skills = found.ids.into_iter().map(|id| SkillItem { path: dir.join(&id), id }).collect();
    Ok(SkillList { root: repository.root, skills, hidden: found.shadowed })
}

/// Returns the packs in `packs/`, valid or not.
pub fn packs(context: &Context<'_>, root: Option<&Path>) -> Result<PackList> {
    let session = Session::begin(context)?;
    let repository = SkillRepository::find(context, root)?;
    let mut packs = Vec::new();
    for (path, pack, report) in repository.pack_files(&session)? {
        if pack.is_none() {
            context.emit(Event::Findings(&report));
        }
        packs.push(PackItem { name: pack_name(&path, pack.as_ref()), path, valid: pack.is_some() });
    }
    packs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(PackList { root: repository.root, packs })
}
