//! What a command asks for when it changes a project.

use std::collections::BTreeSet;

use sp_formats::project::disabled::DisabledSkills;
use sp_formats::project::lock::SourceKey;
use sp_formats::project::manifest_edit::ManifestEdit;

use super::edits::EditChoice;
use super::overrides::FolderOverrides;
use super::skill_changes::FileTexts;
use crate::install::plan::FilePlan;
use crate::pkg::PackageSelection;
use crate::plan_id::ApplyOptions;

/// Whether a command may change the lockfile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockChange {
    Allowed,
    Refused,
}

/// What a command changes.
pub(super) struct LifecycleRequest {
    pub edits: Vec<ManifestEdit>,
    /// The sources that move to their newest version.
    pub refreshed: BTreeSet<SourceKey>,
    /// The locations of the context packs that move to their newest version.
    pub refreshed_contexts: BTreeSet<String>,
    pub lock_change: LockChange,
    pub edit_choice: EditChoice,
    pub texts: FileTexts,
    /// Folders that belong to the project from now on, if they exist.
    pub adopted: BTreeSet<String>,
    /// Folders for which the command decides what they contain.
    pub overrides: FolderOverrides,
    /// The versions of packages to select.
    pub packages: PackageSelection,
    /// The skills that are disabled after the change, if that changes.
    pub disabled: Option<DisabledSkills>,
    /// Files to write in addition.
    pub files: Vec<FilePlan>,
    pub options: ApplyOptions,
}

impl LifecycleRequest {
    /// A change of the manifest. Nothing moves to a newer version.
    pub(super) fn edit(edits: Vec<ManifestEdit>, options: ApplyOptions) -> Self {
        Self {
            edits,
            refreshed: BTreeSet::new(),
            refreshed_contexts: BTreeSet::new(),
            lock_change: LockChange::Allowed,
            edit_choice: EditChoice::Policy,
            texts: FileTexts::Omit,
            adopted: BTreeSet::new(),
            overrides: FolderOverrides::new(),
            packages: PackageSelection::default(),
            disabled: None,
            files: Vec::new(),
            options,
        }
    }
}
