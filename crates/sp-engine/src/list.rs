//! `sp list` and `sp packs`: what an authoring repository has.

use std::path::Path;

use sp_formats::output::{PackItem, PackList, SkillItem, SkillList};

use crate::context::{Context, Event};
use crate::error::Result;
use crate::repository::{SkillRepository, pack_name};
use crate::session::Session;

/// The skills below `skills/`.
pub fn skills(context: &Context<'_>, root: Option<&Path>) -> Result<SkillList> {
    let session = Session::begin(context)?;
    let authoring = SkillRepository::find(context, root)?;
    let found = authoring.skills(&session, None)?;
    let dir = authoring.skills_dir();
    let skills = found.ids.into_iter().map(|id| SkillItem { path: dir.join(&id), id }).collect();
    Ok(SkillList { root: authoring.root, skills, hidden: found.shadowed })
}

/// The packs below `packs/`, good and bad.
pub fn packs(context: &Context<'_>, root: Option<&Path>) -> Result<PackList> {
    let session = Session::begin(context)?;
    let authoring = SkillRepository::find(context, root)?;
    let mut packs = Vec::new();
    for (path, pack, report) in authoring.pack_files(&session)? {
        if pack.is_none() {
            context.emit(Event::Findings(&report));
        }
        packs.push(PackItem { name: pack_name(&path, pack.as_ref()), path, valid: pack.is_some() });
    }
    packs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(PackList { root: authoring.root, packs })
}
