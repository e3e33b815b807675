//! The state that handlers share.
//!
//! [`RegistryState`] owns the stores, the caches and the settings of one running registry. It is
//! above all of them: a store or a cache takes what it needs when it is created and never sees the
//! state. The handlers in `api` and `pages` are above the state.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde_json::Value;
use sp_tree::{DirLock, Limits};

use crate::registry::discovery::DiscoveryCache;
use crate::registry::download_counts::DownloadCounts;
use crate::registry::environment::RegistryEnvironment;
use crate::registry::index_cache::RegistryIndexCache;
use crate::registry::mcp::RegistryMcpEndpoint;
use crate::registry::metadata::MetadataStore;
use crate::registry::middleware::RequestMonitor;
use crate::registry::object_store::ObjectStore;
use crate::registry::oidc::OidcService;
use crate::registry::package_view::PackageViewCache;
use crate::registry::published_skills::PublishedSkills;
use crate::registry::readiness::ReadinessCheck;

pub(crate) struct RegistryState {
    pub metadata: MetadataStore,
    /// Keeps other processes from changing the data directory while this one runs.
    #[expect(dead_code, reason = "held for its effect, never read")]
    pub lock: DirLock,
    pub objects: ObjectStore,
    pub download_counts: Arc<DownloadCounts>,
    pub index_cache: RegistryIndexCache,
    pub discovery: DiscoveryCache,
    pub published_skills: Arc<PublishedSkills>,
    pub mcp: RegistryMcpEndpoint,
    pub limits: Limits,
    pub package_views: Arc<PackageViewCache>,
    pub environment: RegistryEnvironment,
    pub request_timeout: Duration,
    pub monitor: Arc<RequestMonitor>,
    pub readiness: ReadinessCheck,
    /// Whether anonymous clients see nothing.
    pub login_required: bool,
    pub oidc: OidcService,
    /// The OpenAPI document, built from the route table when it is first requested.
    pub openapi: LazyLock<Value>,
}

pub(crate) type AppState = Arc<RegistryState>;
