//! `sp pkg` and `sp key`: packages, whom they are trusted from, and what becomes of them.
//!
//! ```text
//! file ──▶ read and verify ──▶ trust ──▶ shelf (records) + store (bytes by digest)
//!                                          │
//!                       solve ◀────────────┘
//!                         └──▶ plan ──▶ one transaction: .ctxpkg/, sinks, lock, records
//! ```
//!
//! Nothing is taken that was not read whole (`subject`) and judged (`trust`).

mod create;
mod diff;
mod evolve;
mod extract;
mod install;
mod keys;
mod load;
mod manage;
mod merge;
mod merged_context;
mod package_graphs;
mod package_spec;
mod package_store;
mod project;
mod project_change;
mod query;
mod receive;
mod registry;
mod registry_lookup;
mod rollback;
mod secret;
mod send;
mod skill_plan;
mod solve;
mod stale;
mod store_contents;
mod trust;
mod verify;

pub use create::{CreateRequest, CreateSource, create};
pub use diff::diff;
pub use evolve::evolve;
pub use install::{OptionalDependencies, PackageInstallRequest, install, uninstall};
pub use keys::{
    KeyPart, export_key, import_key, list_keys, new_key, rotate_key, trust_key, trust_rotation,
};
pub use load::{LoadRequest, load, load_packages};
pub use manage::{
    ExportCompat, ExportRequest, ImportRequest, Overwrite, ReviewDecision, export, import, info,
    list, log, remove, review_waiting_package,
};
pub use merge::{MergeRequest, merge};
pub use package_spec::parse_versioned_name;
pub use package_store::select_best_version;
pub use query::{
    GraphFormat, GraphQuery, QueryRequest, query, query_packages, render_graph, write_graph,
};
pub use receive::{
    EnvelopeSignature, PackageReceiver, ReceiveAction, ReceiveError, ReceiveRequest,
    ReceivedPackage,
};
pub use registry::{
    LoginRequest, PublishRequest, RegistryHistoryPolicy, YankAction, YankRequest,
    info as registry_info, login, logout, publish, search, yank,
};
pub use rollback::rollback;
pub use secret::SecretSource;
pub use send::{SendRequest, send};
pub use stale::{StaleRequest, stale};
pub use trust::{DowngradePolicy, NewKeyPolicy, TrustOverrides, UnsignedPolicy};
pub use verify::verify;

pub(crate) use manage::{OUTPUT_OR_FORCE_HINT, write_output_file};
pub(crate) use package_spec::is_package_file;
pub(crate) use project::installed_packages_dir;
pub(crate) use registry::{RegistryRequest, connect, downloads_dir};
pub(crate) use store_contents::{load_package_text, stored_skills};
pub(crate) use verify::verify_signer;
