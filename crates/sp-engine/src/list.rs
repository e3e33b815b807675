//! `sp list` and `sp packs`: lists the skills and packs of a repository.

use std::path::Path;

use rayon::prelude::*;
use sp_formats::output::{PackItem, PackList, SkillItem, SkillList};
use sp_formats::skill::{self, SKILL_FILE};
use sp_tree::read_limited;

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
    let item = |id: String| {
        let path = dir.join(&id);
        SkillItem { description: read_description(&session, &path), id, path }
    };
    let skills = found.ids.into_par_iter().map(item).collect();
    Ok(SkillList { root: repository.root, skills, hidden: found.shadowed })
}

/// Returns the description of a skill. Problems in the skill are left to `sp check`.
fn read_description(session: &Session<'_>, dir: &Path) -> Option<String> {
    let bytes = read_limited(&dir.join(SKILL_FILE), session.limits.markdown_bytes).ok()?;
    let folder = dir.file_name()?.to_string_lossy();
    let (skill, _) = skill::read("", &folder, &bytes, &session.limits);
    skill?.description
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
