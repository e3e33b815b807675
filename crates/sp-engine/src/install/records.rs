//! The install records that the state has after a plan was applied.
//!
//! Members of a record that this version does not know are copied from the old record.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use sp_formats::state::{
    ImportRecord, InstallRecord, InstallSource, SkillRecord, UnknownRecordMembers,
};

use super::plan::{ChangePlan, FolderPlan, PlannedPack, SinkPlan};
use super::skill_set::{ImportedCommit, PackOrigin, PackageOrigin, SkillOrigin, SkillSource};
use crate::agent_set::AgentSet;

impl ChangePlan {
    /// Returns all records after the plan: those of its packs updated, removed or added, and all
    /// others unchanged. The digests of all folders must be known.
    pub(super) fn records(&self, timestamp: &str) -> Vec<InstallRecord> {
        let mut records = Vec::new();
        let mut kept: HashSet<(&Path, &str)> = HashSet::new();
        for install in &self.state.installs {
            let sink = self.sinks.iter().find(|sink| sink.sink.matches_record(install));
            let Some(sink) = sink else {
                records.push(install.clone());
                continue;
            };
            if let Some(record) = sink.record_after(install, timestamp) {
                kept.insert((&sink.sink.path, &install.pack));
                records.push(record);
            }
        }
        for sink in &self.sinks {
            for pack in &sink.packs {
                let name = pack.origin.name();
                if !kept.contains(&(&sink.sink.path, name)) {
                    records.push(sink.record(pack, self.moved_record(sink, name), timestamp));
                }
            }
        }
        records.retain(|record| !is_empty_project(record));
        records
    }

    /// Returns the record of a pack in a former sink of this one.
    fn moved_record(&self, sink: &SinkPlan, pack: &str) -> Option<&InstallRecord> {
        let is_moved = |install: &&InstallRecord| {
            install.pack == pack && sink.sink.former.iter().any(|it| it.has_install(install))
        };
        self.state.installs.iter().find(is_moved)
    }
}

impl SinkPlan {
    /// Returns what becomes of a record of this sink. `None` if the pack is removed.
    fn record_after(&self, install: &InstallRecord, timestamp: &str) -> Option<InstallRecord> {
        if let Some(pack) = self.planned_pack(&install.pack) {
            return Some(self.updated_record(pack, install, timestamp));
        }
        match self.recorded_pack(&install.pack) {
            Some(pack) if pack.agents_after.is_empty() => None,
            Some(pack) if pack.agents_after != pack.agents => Some(InstallRecord {
                sink: recorded_sink(&pack.agents_after, Some(install)),
                agents: pack.agents_after.names().to_vec(),
                ..install.clone()
            }),
            _ => Some(install.clone()),
        }
    }

    /// Returns the new record of a pack. It keeps its time if nothing changes but its agents.
    fn updated_record(
        &self,
        pack: &PlannedPack,
        old: &InstallRecord,
        timestamp: &str,
    ) -> InstallRecord {
        let mut record = self.record(pack, Some(old), &old.installed_at);
        let with_agents = InstallRecord {
            sink: record.sink.clone(),
            agents: record.agents.clone(),
            ..old.clone()
        };
        if self.folders.iter().any(FolderPlan::is_changed) || record != with_agents {
            timestamp.clone_into(&mut record.installed_at);
        }
        record
    }

    fn record(
        &self,
        pack: &PlannedPack,
        old: Option<&InstallRecord>,
        installed_at: &str,
    ) -> InstallRecord {
        let origin = &*pack.origin;
        let is_of_pack =
            |folder: &&FolderPlan| folder.source.is_some() && folder.pack == origin.name();
        let folders: Vec<&FolderPlan> = self.folders.iter().filter(is_of_pack).collect();
        let path_of = |folder: &&FolderPlan| {
            self.sink.path.join(folder.name.as_str()).to_string_lossy().into_owned()
        };
        let naming = origin.naming();
        InstallRecord {
            sink: recorded_sink(&pack.agents, old),
            sink_path: self.sink.path.to_string_lossy().into_owned(),
            sink_id: self.sink.id(),
            agents: pack.agents.names().to_vec(),
            pack: origin.name().to_owned(),
            source: origin.install_source(),
            prefix: naming.prefix.clone(),
            sep: naming.sep.clone(),
            flatten: naming.flatten,
            imports: import_records(origin, old),
            installed_paths: folders.iter().map(path_of).collect(),
            skills: skill_records(&folders, old),
            installed_at: installed_at.to_owned(),
            extra: old.map_or_else(UnknownRecordMembers::default, |old| old.extra.clone()),
        }
    }
}

/// Returns the member `sink`: the one that was recorded, or else the first agent.
fn recorded_sink(agents: &AgentSet, old: Option<&InstallRecord>) -> String {
    let old = old.map(|old| old.sink.as_str()).filter(|old| agents.contains(old));
    old.unwrap_or_else(|| agents.first()).to_owned()
}

/// Whether a record is that of a project that has no skill in the sink anymore. A pack stays
/// installed until it is uninstalled; a project has no such command.
fn is_empty_project(record: &InstallRecord) -> bool {
    matches!(record.source, InstallSource::Project(_)) && record.installed_paths.is_empty()
}

fn skill_records(folders: &[&FolderPlan], old: Option<&InstallRecord>) -> Vec<SkillRecord> {
    let old_skills: HashMap<&str, &SkillRecord> = old
        .iter()
        .flat_map(|old| &old.skills)
        .map(|skill| (skill.folder.as_str(), skill))
        .collect();
    let record = |folder: &&FolderPlan| {
        let source = folder.source.as_ref()?;
        let git_tree = match source {
            SkillSource::Git { checkout, id, .. } => checkout.tree.folder_object(id),
            SkillSource::Local { .. } | SkillSource::Package { .. } | SkillSource::Locked(_) => {
                None
            }
        };
        let old_skill = old_skills.get(folder.name.as_str());
        Some(SkillRecord {
            folder: folder.name.to_string(),
            id: source.id().to_owned(),
            import: source.import(),
            digest: folder.recorded_digest.or(folder.digest)?,
            git_tree: git_tree.map(Into::into),
            extra: old_skill.map(|old| old.extra.clone()).unwrap_or_default(),
        })
    };
    folders.iter().filter_map(record).collect()
}

fn import_records(origin: &SkillOrigin, old: Option<&InstallRecord>) -> Vec<ImportRecord> {
    match origin {
        SkillOrigin::Pack(pack) => pack_imports(pack, old),
        SkillOrigin::Package(package) => vec![package_import(package, origin)],
        // The lockfile has the commits.
        SkillOrigin::Project(_) => Vec::new(),
    }
}

fn pack_imports(pack: &PackOrigin, old: Option<&InstallRecord>) -> Vec<ImportRecord> {
    let record = |import: &ImportedCommit| {
        let old_import =
            old.and_then(|old| old.imports.iter().find(|known| known.repo == import.repo));
        ImportRecord {
            repo: import.repo.clone(),
            git_ref: import.git_ref.clone(),
            commit: import.commit.clone(),
            extra: old_import.map(|old| old.extra.clone()).unwrap_or_default(),
        }
    };
    pack.imports.iter().map(record).collect()
}

/// A package is recorded as an import of itself, with its version and hash.
fn package_import(package: &PackageOrigin, origin: &SkillOrigin) -> ImportRecord {
    ImportRecord {
        repo: origin.install_source().to_string(),
        git_ref: Some(package.version.to_string()),
        commit: package.sha256.clone(),
        extra: UnknownRecordMembers::default(),
    }
}
