//! The install records that the state has after a plan was applied.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use sp_formats::output::FolderAction;
use sp_formats::state::{
    ImportRecord, InstallRecord, InstallState, SkillRecord, UnknownRecordMembers,
};
use sp_tree::Name;

use super::plan::{ChangePlan, FolderPlan, SinkPlan};
use super::selection::ResolvedPack;
use super::stage::StagedSkills;
use crate::select::SkillSource;

/// Computes the records of a plan.
///
/// Members of a record that this version does not know are copied from the old record.
pub(super) struct RecordBuilder<'a> {
    pub packs: &'a [ResolvedPack],
    pub staged: &'a StagedSkills,
    pub timestamp: String,
}

impl RecordBuilder<'_> {
    /// Returns all records after the plan: the packs of the plan updated, removed or added, and all
    /// others unchanged.
    pub(super) fn records(&self, state: &InstallState, plan: &ChangePlan) -> Vec<InstallRecord> {
        let sink_of = |install: &InstallRecord| {
            plan.sinks.iter().position(|sink| sink.sink.matches_record(install))
        };
        let pack_of = |install: &InstallRecord| {
            self.packs.iter().position(|pack| pack.name() == install.pack)
        };
        let mut updated: HashSet<(usize, usize)> = HashSet::new();
        let mut records = Vec::new();
        for install in &state.installs {
            match (sink_of(install), pack_of(install)) {
                (Some(sink), _) if plan.sinks[sink].removed_packs.contains(&install.pack) => {}
                (Some(sink), Some(pack)) if plan.sinks[sink].packs.contains(&pack) => {
                    updated.insert((sink, pack));
                    records.push(self.updated_record(&plan.sinks[sink], pack, install));
                }
                _ => records.push(install.clone()),
            }
        }
        for (sink_index, sink) in plan.sinks.iter().enumerate() {
            let new = sink.packs.iter().copied().filter(|&it| !updated.contains(&(sink_index, it)));
            records.extend(new.map(|pack| self.record(sink, pack, None)));
        }
        records
    }

    /// Returns the new record of a pack. It keeps its time if nothing changes.
    fn updated_record(&self, sink: &SinkPlan, pack: usize, old: &InstallRecord) -> InstallRecord {
        let mut record = self.record(sink, pack, Some(old));
        let unchanged = sink.folders.iter().all(|folder| folder.action == FolderAction::Keep);
        let now = std::mem::replace(&mut record.installed_at, old.installed_at.clone());
        if !unchanged || record != *old {
            record.installed_at = now;
        }
        record
    }

    fn record(&self, sink: &SinkPlan, pack: usize, old: Option<&InstallRecord>) -> InstallRecord {
        let resolved = &self.packs[pack];
        let source = &resolved.file.pack;
        let folders: Vec<&FolderPlan> = sink
            .folders
            .iter()
            .filter(|folder| folder.skill.is_some_and(|index| index.pack == pack))
            .collect();
        let path_of =
            |name: &Name| sink.sink.path.join(name.as_str()).to_string_lossy().into_owned();
        InstallRecord {
            sink: sink.sink.name.clone(),
            sink_path: sink.sink.path.to_string_lossy().into_owned(),
            sink_id: sink.sink.id(),
            pack: source.name.clone(),
            pack_file: canonical_path(&resolved.file.path),
            prefix: source.naming.prefix.clone(),
            sep: source.naming.sep.clone(),
            flatten: source.naming.flatten,
            imports: import_records(resolved, old),
            installed_paths: folders.iter().map(|folder| path_of(&folder.name)).collect(),
            skills: self.skill_records(resolved, &folders, old),
            installed_at: self.timestamp.clone(),
            extra: old.map_or_else(UnknownRecordMembers::default, |old| old.extra.clone()),
        }
    }

    fn skill_records(
        &self,
        pack: &ResolvedPack,
        folders: &[&FolderPlan],
        old: Option<&InstallRecord>,
    ) -> Vec<SkillRecord> {
        let old_skills: HashMap<&str, &SkillRecord> = old
            .iter()
            .flat_map(|old| &old.skills)
            .map(|skill| (skill.folder.as_str(), skill))
            .collect();
        let record = |folder: &&FolderPlan| {
            let index = folder.skill?;
            let skill = &pack.skills[index.skill];
            let digest = folder
                .unchanged_digest
                .or_else(|| self.staged.get(&index).map(|staged| staged.digest))?;
            let import = match skill.source {
                SkillSource::Local | SkillSource::Package(_) => None,
                SkillSource::Import(number) => Some(number),
            };
            let git_tree = import
                .and_then(|number| pack.checkouts[number].tree.folder_object(&skill.id))
                .map(Into::into);
            let old_skill = old_skills.get(folder.name.as_str());
            Some(SkillRecord {
                folder: folder.name.to_string(),
                id: skill.id.clone(),
                import,
                digest,
                git_tree,
                extra: old_skill.map(|old| old.extra.clone()).unwrap_or_default(),
            })
        };
        folders.iter().filter_map(record).collect()
    }
}

fn import_records(resolved: &ResolvedPack, old: Option<&InstallRecord>) -> Vec<ImportRecord> {
    let pack = &resolved.file.pack;
    let imports = pack.imports.iter().zip(&resolved.checkouts).map(|(import, checkout)| {
        let old_import =
            old.and_then(|old| old.imports.iter().find(|it| it.repo == import.repo.display_url));
        ImportRecord {
            repo: import.repo.display_url.clone(),
            git_ref: import.git_ref.as_ref().map(ToString::to_string),
            commit: checkout.commit.clone(),
            extra: old_import.map(|old| old.extra.clone()).unwrap_or_default(),
        }
    });
    // A package is recorded as an import of itself, with its version and hash.
    let package = resolved.packaged_skills.as_ref().map(|packaged| ImportRecord {
        repo: resolved.file.path.to_string_lossy().into_owned(),
        git_ref: Some(packaged.version.clone()),
        commit: packaged.sha256.clone(),
        extra: UnknownRecordMembers::default(),
    });
    imports.chain(package).collect()
}

fn canonical_path(path: &Path) -> String {
    path.canonicalize().unwrap_or_else(|_| path.into()).to_string_lossy().into_owned()
}
