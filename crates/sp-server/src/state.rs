//! What every request has at hand.

use std::sync::Arc;

use jiff::Timestamp;
use sp_tree::Limits;

use crate::metadata::Metadata;
use crate::objects::Objects;
use crate::pages::Shelf;
use crate::sessions::Sessions;

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
    pub objects: Objects,
    pub limits: Limits,
    /// Who is logged in on the pages.
    pub sessions: Sessions,
    /// What was read of packages lately.
    pub shelf: Shelf,
    pub surroundings: Surroundings,
}

pub(crate) type State = Arc<Shared>;

impl Shared {
    /// The time that goes into records.
    pub(crate) fn timestamp(&self) -> String {
        let now = Timestamp::from_nanosecond((self.surroundings.wall_clock)().into()).unwrap_or_default();
        now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }
}
