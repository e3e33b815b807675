//! What every request has at hand.

use std::sync::Arc;
use std::time::Duration;

use crate::mcp::Endpoint;
use jiff::Timestamp;
use sp_tree::{Limits, Lock};

use crate::registry::catalog::Catalog;
use crate::registry::counts::Counts;
use crate::registry::discovery::Discovery;
use crate::registry::mcp::RegistryDesk;
use crate::registry::metadata::Metadata;
use crate::registry::objects::Objects;
use crate::registry::pages::Shelf;
use crate::registry::sessions::Sessions;
use crate::registry::skills::PublishedSkills;
use crate::registry::watch::Watch;

/// What the server takes from its surroundings.
#[derive(Clone, Copy)]
pub struct Surroundings {
    /// The system's clock in nanoseconds.
    pub wall_clock: fn() -> i64,
    /// Fills bytes with random ones, from the system.
    pub random: fn(&mut [u8]) -> std::io::Result<()>,
}

pub(crate) struct Shared {
    pub metadata: Metadata,
    /// Held as long as the registry runs: nobody else changes its folder.
    #[expect(dead_code, reason = "what counts is that it is held")]
    pub lock: Lock,
    pub objects: Objects,
    pub counts: Counts,
    pub catalog: Catalog,
    pub discovery: Discovery,
    /// The skills of packages, unpacked.
    pub skills: Arc<PublishedSkills>,
    /// What answers agents.
    pub mcp: Endpoint<RegistryDesk>,
    pub limits: Limits,
    /// Who is logged in on the pages.
    pub sessions: Sessions,
    /// What was read of packages lately.
    pub shelf: Shelf,
    pub surroundings: Surroundings,
    /// How long a request may take.
    pub patience: Duration,
    pub watch: Watch,
}

pub(crate) type State = Arc<Shared>;

impl Shared {
    /// The time in whole seconds since 1970.
    pub(crate) fn seconds(&self) -> u64 {
        u64::try_from((self.surroundings.wall_clock)() / 1_000_000_000).unwrap_or(0)
    }

    /// The time that goes into records.
    pub(crate) fn timestamp(&self) -> String {
        let now = Timestamp::from_nanosecond((self.surroundings.wall_clock)().into()).unwrap_or_default();
        now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }
}
