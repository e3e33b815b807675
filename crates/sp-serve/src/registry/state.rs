//! What every request has at hand.

use std::sync::Arc;
use std::time::Duration;

use crate::mcp::McpEndpoint;
use jiff::Timestamp;
use sp_tree::{DirLock, Limits};

use crate::registry::discovery::DiscoveryCache;
use crate::registry::download_counts::DownloadCounts;
use crate::registry::index_cache::RegistryIndexCache;
use crate::registry::mcp::RegistryBackendProvider;
use crate::registry::metadata::MetadataStore;
use crate::registry::middleware::RequestMonitor;
use crate::registry::object_store::ObjectStore;
use crate::registry::pages::PackageViewCache;
use crate::registry::published_skills::PublishedSkills;
use crate::registry::sessions::SessionStore;

/// What the server takes from its surroundings.
#[derive(Clone, Copy)]
pub struct RegistryEnvironment {
    /// The system's clock in nanoseconds.
    pub wall_clock: fn() -> i64,
    /// Fills bytes with random ones, from the system.
    pub random: fn(&mut [u8]) -> std::io::Result<()>,
}

pub(crate) struct RegistryState {
    pub metadata: MetadataStore,
    /// Held as long as the registry runs: nobody else changes its folder.
    #[expect(dead_code, reason = "what counts is that it is held")]
    pub lock: DirLock,
    pub objects: ObjectStore,
    pub download_counts: DownloadCounts,
    pub index_cache: RegistryIndexCache,
    pub discovery: DiscoveryCache,
    /// The skills of packages, unpacked.
    pub published_skills: Arc<PublishedSkills>,
    /// What answers agents.
    pub mcp: McpEndpoint<RegistryBackendProvider>,
    pub limits: Limits,
    /// Who is logged in on the pages.
    pub sessions: SessionStore,
    /// What was read of packages lately.
    pub package_views: PackageViewCache,
    pub environment: RegistryEnvironment,
    /// How long a request may take.
    pub request_timeout: Duration,
    pub monitor: RequestMonitor,
}

pub(crate) type AppState = Arc<RegistryState>;

impl RegistryState {
    /// The time in whole seconds since 1970.
    pub(crate) fn unix_seconds(&self) -> u64 {
        u64::try_from((self.environment.wall_clock)() / 1_000_000_000).unwrap_or(0)
    }

    /// The time that goes into records.
    pub(crate) fn timestamp(&self) -> String {
        let now =
            Timestamp::from_nanosecond((self.environment.wall_clock)().into()).unwrap_or_default();
        now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }
}
