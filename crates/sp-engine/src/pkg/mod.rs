//! Packages: `sp pkg`, `sp key`, and the registry commands such as `sp publish`.
//!
//! ```text
//! file, registry, sender ──▶ load_package ──▶ trust ──▶ package_store (records, blobs by digest)
//!                                                            │
//!                         solve ◀────────────────────────────┘
//!                           └──▶ project_change ──▶ one transaction: .ctxpkg/, lock, sinks, store
//! ```
//!
//! Each command is a function in a file of its own that takes a request and returns a report. The
//! central types are shared: `PackageSpec` is a package as the user names it, `LoadedPackage` one
//! that was verified, `PackageStore` holds the records of the store while they change,
//! `PackageProject` is a project with its lock, and `ProjectChange` is one change of it, in steps:
//! `ChangeRequest`, `Resolution`, `ProjectPlan`.
//!
//! No package is used before it was read completely and verified (`load_package`), and none is
//! added to the store before its signer was checked (`trust`). The formats of packages, locks and
//! records are defined in `sp_formats::package`, and the operations on graphs in
//! `sp_analyze::graph`.

mod create;
mod details;
mod diff;
mod evolve;
mod export;
mod extract;
mod graph;
mod import;
mod info;
mod install;
mod installed_packages;
mod items;
mod keys;
mod list;
mod load;
mod load_package;
mod log;
mod merge;
mod merged_context;
mod merged_context_update;
mod package_gate;
mod package_graphs;
mod package_spec;
mod package_store;
mod project;
mod project_change;
mod query;
mod receive;
mod registry;
mod remove;
mod review;
mod rollback;
mod rotate_key;
mod send;
#[allow(dead_code, reason = "the operations on projects use it")]
mod skill_package;
mod solve;
mod stale;
mod store_contents;
mod store_health;
mod store_record;
mod stored_package;
mod trust;
mod trust_key;
mod uninstall;
mod verify;
mod write_error;

pub use create::{CreateRequest, CreateSource, create};
pub use details::{PackageDetails, package_details};
pub use diff::diff;
pub use evolve::evolve;
pub use export::{ExportCompat, ExportRequest, export};
pub use graph::{GraphFormat, render_graph, write_graph};
pub use import::{ImportRequest, import};
pub use info::info;
pub use install::{PackageInstallRequest, install};
pub use keys::{KeyPart, PackageSigning, export_key, import_key, list_keys, new_key};
pub use list::list;
pub use load::{LoadRequest, load, load_packages};
pub use log::log;
pub use merge::{MergeRequest, merge};
pub use package_gate::{PackageAudit, audit_package};
pub use package_spec::parse_versioned_name;
pub use package_store::select_best_version;
pub use query::{GraphQuery, QueryRequest, query, query_packages};
pub use receive::{
    EnvelopeSignature, PackageReceiver, ReceiveAction, ReceiveError, ReceiveRequest,
    ReceivedPackage, SenderToken,
};
pub use registry::{
    LoginRequest, PublishCredentials, PublishRequest, PublishVisibility, PublisherAction,
    PublisherChangeRequest, RegistryHistoryPolicy, TrustedIdentity, YankAction, YankRequest,
    change_publishers, login, logout, publish, search, yank,
};
pub use remove::remove;
pub use review::{ReviewDecision, review_waiting_package};
pub use rollback::{PackageRollbackRequest, rollback};
pub(crate) use rollback::{RollbackTarget, select_rollback};
pub use rotate_key::rotate_key;
pub use send::{SendRequest, send};
pub use solve::OptionalDependencies;
pub use stale::{StaleRequest, stale};
pub use trust::{DowngradePolicy, NewKeyPolicy, TrustOverrides, UnsignedPolicy};
pub use trust_key::{trust_key, trust_rotation};
pub use uninstall::{PackageUninstallRequest, uninstall};
pub use verify::verify;

pub use crate::output_file::Overwrite;
pub use crate::secret::SecretSource;

pub(crate) use keys::KEYS_DIR;
pub(crate) use list::stored_package_versions;
pub(crate) use load_package::load_stored;
pub(crate) use package_gate::{PackagePolicy, package_policy};
pub(crate) use package_spec::is_package_file;
pub(crate) use project::{
    installed_packages_dir, nearest_package_root, package_file_name, parse_own_lock,
};
pub(crate) use project_change::{
    ManifestPackageOptions, ManifestPackages, PackageSelection, ResolvedPackages,
};
pub(crate) use skill_package::{
    LockedSkillPackage, NewestPackageQuery, SkillPackage, SkillPackageVersion,
    newest_package_versions, open_skill_package, plan_skill_packages,
};
pub(crate) use store_contents::{load_package_text, newest_skill_packages};
pub(crate) use store_health::{StoredBlobProblem, invalid_records, stored_blob_problems};
pub(crate) use verify::verify_signer;
