//! What the user asked for, parsed.

use std::collections::{BTreeMap, BTreeSet};

use sp_formats::package::{PackageName, VersionRange};

use crate::pkg::project::SinksByPackage;
use crate::pkg::solve::SolveRequest;

/// A change of the packages of a project, as a value.
#[derive(Debug, Clone, Default)]
pub(in crate::pkg) struct ChangeRequest {
    /// What the new selection must satisfy.
    pub solve: SolveRequest,
    /// The requests that the lock records. They differ from those of `solve` in a rollback.
    pub locked_requests: BTreeMap<PackageName, VersionRange>,
    /// The packages that the user named.
    pub named: BTreeSet<PackageName>,
    pub candidates: CandidateScope,
    /// Packages that are removed from sinks although the lock does not name them.
    pub unlocked_removals: BTreeSet<PackageName>,
    pub unnamed_skills: UnnamedSkills,
    pub history: HistoryChange,
    /// The sinks of skills that a rollback restores.
    pub past_sinks: SinksByPackage,
}

/// Which versions can be selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::pkg) enum CandidateScope {
    /// Every version that a named file, the store, the lock or a registry has.
    #[default]
    All,
    /// Only the versions in the lock: nothing is installed.
    Locked,
}

/// What happens to locked skills that the user did not name and that are not in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::pkg) enum UnnamedSkills {
    /// They stay as they are.
    #[default]
    Keep,
    /// They are fetched and installed again.
    Restore,
    /// All folders of skills, named or not, belong to the manifest of the project.
    OfManifest,
}

/// How the history of the lock changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::pkg) enum HistoryChange {
    /// The old lock is appended.
    #[default]
    Append,
    /// Only this many entries are kept.
    Truncate(usize),
}
