//! Who is logged in on the pages. A session is a random number of which only a hash is kept, in memory, and it
//! stands for a token: when that is revoked, the session is worth nothing.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use sp_tree::{Digest, to_hex};

use crate::registry::state::Shared;

/// How long somebody stays logged in, in seconds.
pub(crate) const LIFETIME: i64 = 12 * 60 * 60;
/// So many at once; then those that end first make room.
const MOST: usize = 10_000;
const NANOSECONDS: i64 = 1_000_000_000;

/// The sessions of a registry.
#[derive(Default)]
pub(crate) struct Sessions {
    open: Mutex<HashMap<Digest, Session>>,
}

#[derive(Clone, Copy)]
struct Session {
    /// The hash of the token that was shown.
    token: Digest,
    /// When it ends, by the clock of the system.
    ends: i64,
}

impl Sessions {
    /// Begins a session for a token that is known to be good. What is given back goes into a cookie.
    pub(crate) fn begin(&self, shared: &Shared, token: Digest) -> std::io::Result<String> {
        let mut bytes = [0; 32];
        (shared.surroundings.random)(&mut bytes)?;
        let id = to_hex(&bytes);
        let now = (shared.surroundings.wall_clock)();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, session| session.ends > now);
        if open.len() >= MOST
            && let Some(first) = open.iter().min_by_key(|(_, session)| session.ends).map(|(hash, _)| *hash)
        {
            open.remove(&first);
        }
        open.insert(kept(&id), Session { token, ends: now.saturating_add(LIFETIME * NANOSECONDS) });
        Ok(id)
    }

    /// The hash of the token for which a session stands, if it has not ended.
    pub(crate) fn token(&self, shared: &Shared, id: &str) -> Option<Digest> {
        let now = (shared.surroundings.wall_clock)();
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.get(&kept(id)).filter(|session| session.ends > now).map(|session| session.token)
    }

    /// Ends a session.
    pub(crate) fn end(&self, id: &str) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&kept(id));
    }
}

fn kept(id: &str) -> Digest {
    Digest::of(format!("session {id}").as_bytes())
}

/// What a form of this session must bring along. It tells nothing of the session.
pub(crate) fn form_token(id: &str) -> String {
    Digest::of(format!("form {id}").as_bytes()).hex()
}
