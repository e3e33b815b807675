//! What the files of other tools record, one item for each thing that was installed.
//!
//! If a tool has a manifest and a lockfile, the manifest determines source and version, and the
//! lockfile what was installed of it.

use sp_formats::foreign::{ForeignEntry, ForeignFileKind, ForeignSelection};

use super::records::RecordFile;

/// Something that another tool installed.
#[derive(Debug, Clone)]
pub(super) struct MigratedItem {
    /// The position of its file.
    pub file: usize,
    pub entry: ForeignEntry,
}

/// Combines the manifest and the lockfile of each tool.
pub(super) fn unite(records: &[RecordFile]) -> Vec<MigratedItem> {
    let mut items: Vec<MigratedItem> = Vec::new();
    for (number, file) in records.iter().enumerate() {
        if file.record.kind == ForeignFileKind::Manifest {
            let of_file =
                |entry: &ForeignEntry| MigratedItem { file: number, entry: entry.clone() };
            items.extend(file.record.entries.iter().map(of_file));
        }
    }
    let manifest_items = items.len();
    let mut is_installed = vec![false; manifest_items];
    for (number, file) in records.iter().enumerate() {
        if file.record.kind == ForeignFileKind::Lockfile {
            for locked in &file.record.entries {
                let is_same = |(at, item): &(usize, &MigratedItem)| {
                    *at < manifest_items
                        && records[item.file].record.tool == file.record.tool
                        && is_part_of(locked, &item.entry)
                };
                let declared = items.iter().enumerate().find(is_same).map(|(at, _)| at);
                match declared {
                    Some(at) if !is_installed[at] => {
                        is_installed[at] = true;
                        items[at].entry = installed(&items[at].entry, locked);
                    }
                    // Another skill of an entry that selects several.
                    Some(at) => {
                        let entry = installed(&items[at].entry, locked);
                        items.push(MigratedItem { file: items[at].file, entry });
                    }
                    // Something that another package needs, or a tool without a manifest.
                    None => items.push(MigratedItem { file: number, entry: locked.clone() }),
                }
            }
        }
    }
    items
}

/// Whether an entry of a lockfile comes from an entry of a manifest.
fn is_part_of(locked: &ForeignEntry, declared: &ForeignEntry) -> bool {
    let (of_lock, of_manifest) = (&locked.selection, &declared.selection);
    let is_same_folder = match (&of_lock.folder, &of_manifest.folder) {
        (Some(locked), Some(declared)) => locked == declared,
        _ => true,
    };
    let is_same_skill = of_manifest.skills.is_empty()
        || of_lock.skills.is_empty()
        || of_lock.skills.iter().any(|name| of_manifest.skills.contains(name));
    let is_excluded = of_lock.skills.iter().any(|name| of_manifest.exclude.contains(name));
    let versions = (&locked.version, &declared.version);
    let is_same_version = !matches!(versions, (Some(a), Some(b)) if a != b);
    locked.source.identity() == declared.source.identity()
        && is_same_folder
        && is_same_skill
        && !is_excluded
        && is_same_version
}

/// Returns an entry of a manifest with what the lockfile knows about it.
fn installed(declared: &ForeignEntry, locked: &ForeignEntry) -> ForeignEntry {
    let selection = ForeignSelection {
        folder: locked.selection.folder.clone().or_else(|| declared.selection.folder.clone()),
        skills: match locked.selection.skills.as_slice() {
            [] => declared.selection.skills.clone(),
            names => names.to_vec(),
        },
        ..declared.selection.clone()
    };
    ForeignEntry {
        selection,
        folder_name: locked.folder_name.clone().or_else(|| declared.folder_name.clone()),
        installed_folders: locked.installed_folders.clone(),
        commit: locked.commit.clone(),
        digest: locked.digest.clone(),
        ..declared.clone()
    }
}
