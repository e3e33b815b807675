//! The state of the context packs of a project, from the markers in its instruction files.

use sp_formats::output::{
    ContextPackReason, ContextPackStatusItem, ManifestEntryItem, SkillStatus,
};
use sp_formats::project::manifest::ContextEntry;
use sp_tree::Digest;

use super::context_packs::{
    ContextPackSource, ContextPacks, LockedContextPacks, context_pack_key, named_context_pack,
};
use super::files::ProjectDir;
use super::known_newest::{KnownSubject, known_newest};
use super::view::ProjectView;
use crate::context_pack::{InstalledInstructions, InstructionFiles, read_manifest_digest};
use crate::error::Result;
use crate::session::Session;

const OUTDATED_NOTE: &str = "a newer version is known; run `sp update`";

/// Returns the state of each locked context pack, sorted by location.
pub(super) fn context_pack_statuses(
    view: &ProjectView<'_>,
    packs: &ContextPacks<'_>,
) -> Result<Vec<ContextPackStatusItem>> {
    let locked = &view.files.lock.contexts;
    if locked.is_empty() {
        return Ok(Vec::new());
    }
    let (status, note) = installed_status(view.session, &view.files.dir, (packs, locked))?;
    let mut items = Vec::new();
    for source in &packs.sources {
        let Some(version) = locked.get(&source.key) else { continue };
        let is_current = status == SkillStatus::UpToDate;
        let is_outdated = is_current && has_newer_version(view, source, version.manifest);
        let (status, note) = if is_outdated {
            (SkillStatus::Outdated, Some(OUTDATED_NOTE.to_owned()))
        } else {
            (status, note.clone())
        };
        let (location, pack_id) = (source.key.clone(), version.id.clone());
        items.push(ContextPackStatusItem { location, pack_id, status, note });
    }
    items.sort_by(|a, b| a.location.cmp(&b.location));
    Ok(items)
}

/// Returns the worst state of the instruction files, which all packs share.
pub(super) fn installed_status(
    session: &Session<'_>,
    dir: &ProjectDir,
    (packs, locked): (&ContextPacks<'_>, &LockedContextPacks),
) -> Result<(SkillStatus, Option<String>)> {
    let files = InstructionFiles::new(session, dir.path.clone());
    let expected = packs.marker(locked);
    let mut worst = (SkillStatus::UpToDate, None);
    for file in packs.wanted_files(&files, locked)? {
        let (status, note) = match files.installed(file) {
            Ok(InstalledInstructions::Absent) => {
                (SkillStatus::Missing, Some(format!("not in `{file}`")))
            }
            Ok(InstalledInstructions::Present { marker, .. }) if marker != expected => {
                let note = format!("another version is in `{file}`");
                (SkillStatus::Unsynced, Some(note))
            }
            Ok(InstalledInstructions::Present { is_edited: true, .. }) => {
                (SkillStatus::Edited, Some(format!("the block in `{file}` was edited")))
            }
            Ok(InstalledInstructions::Present { content, .. })
                if packs.known_content(file, locked).is_some_and(|known| known != content) =>
            {
                (SkillStatus::Unsynced, Some(format!("`{file}` differs from the context pack")))
            }
            Ok(InstalledInstructions::Present { .. }) => continue,
            Err(error) => (SkillStatus::Edited, Some(error.to_string())),
        };
        let rank = |status| match status {
            SkillStatus::Missing => 3,
            SkillStatus::Unsynced => 2,
            SkillStatus::Edited => 1,
            _ => 0,
        };
        if rank(status) > rank(worst.0) {
            worst = (status, note);
        }
    }
    Ok(worst)
}

/// Whether the manifest of a pack on this machine changed, or a newer version of another one was
/// seen.
fn has_newer_version(view: &ProjectView<'_>, source: &ContextPackSource, locked: Digest) -> bool {
    if source.location.is_local() {
        let newest = read_manifest_digest(view.session, &source.location);
        return newest.is_ok_and(|newest| newest != locked);
    }
    let subject = KnownSubject::ContextPack(&source.key);
    known_newest(view.session.context, subject, &|| locked.to_string()).is_some()
}

/// Returns why a context pack is installed; none if there is no such pack.
pub(super) fn context_pack_reason(
    view: &ProjectView<'_>,
    name: &str,
) -> Result<Option<ContextPackReason>> {
    let files = &view.files;
    let Some(location) = named_context_pack(&files.lock.contexts, name) else { return Ok(None) };
    let version = &files.lock.contexts[location];
    let is_meant = |entry: &&ContextEntry| context_pack_key(&entry.location) == location;
    let entry = files.manifest.context.iter().find(is_meant);
    let report = view.manifest_report();
    let packs =
        ContextPacks::new(view.session, &files.dir, (&files.manifest, &files.manifest_text))?;
    let instructions = InstructionFiles::new(view.session, files.dir.path.clone());
    let wanted = packs.wanted_files(&instructions, &files.lock.contexts)?;
    Ok(Some(ContextPackReason {
        location: location.to_owned(),
        pack_id: version.id.clone(),
        entry: entry.map(|entry| ManifestEntryItem {
            source: location.to_owned(),
            location: report.format_position(entry.span.start),
        }),
        files: wanted.into_iter().map(str::to_owned).collect(),
    }))
}
