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

mod context;
mod create;
mod diff;
mod evolve;
mod extract;
mod gathered;
mod install;
mod keys;
mod library;
mod load;
mod manage;
mod merge;
mod project;
mod query;
mod receive;
mod registry;
mod remote;
mod rollback;
mod secret;
mod send;
mod shelf;
mod skills;
mod solve;
mod stale;
mod subject;
mod trust;
mod verify;
mod work;

pub use create::{CreateRequest, Material, create};
pub use diff::diff;
pub use evolve::evolve;
pub use install::{InstallPackages, Optional, install, uninstall};
pub use keys::{KeyPart, export_key, import_key, list_keys, new_key, rotate_key, trust_key, trust_rotation};
pub use load::{LoadRequest, load, load_packages};
pub use manage::{
    Answer, Compat, ExportRequest, Overwrite, Packages, answer_waiting, export, import, info, list, log, remove,
};
pub use merge::{MergeRequest, merge};
pub use query::{Drawing, Query, QueryRequest, draw, keep_drawing, query, query_packages};
pub use receive::{Approval, EnvelopeSignature, PackageReceiver, ReceiveError, ReceiveRequest, ReceivedPackage};
pub use registry::{
    KnownPast, LoginRequest, PublishRequest, YankRequest, Yanking, info as registry_info, login, logout, publish,
    search, yank,
};
pub use rollback::rollback;
pub use secret::SecretFrom;
pub use send::{SendRequest, send};
pub use shelf::best_of;
pub use stale::{StaleRequest, stale};
pub use subject::named;
pub use trust::{Acceptance, Downgrade, NewKey, Unsigned};
pub use verify::verify;

pub(crate) use library::{skills_of_store, text_of};
pub(crate) use manage::{OUTPUT_OR_FORCE, deliver};
pub(crate) use project::installed_in;
pub(crate) use registry::{Asked, connect, downloads_in};
pub(crate) use subject::is_package_file;
pub(crate) use verify::signer_of;
