//! Who is logged in on the pages. A session is a random number of which only a hash is kept, in memory, and it
//! stands for a token: when that is revoked, the session is worth nothing.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use sp_tree::{Digest, to_hex};

use crate::registry::state::RegistryState;

/// How long somebody stays logged in, in seconds.
pub(crate) const SESSION_LIFETIME_SECS: i64 = 12 * 60 * 60;
/// So many at once; then those that end first make room.
const MAX_SESSIONS: usize = 10_000;
const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// The sessions of a registry.
#[derive(Default)]
pub(crate) struct SessionStore {
    sessions: Mutex<HashMap<Digest, LoginSession>>,
}

#[derive(Clone, Copy)]
struct LoginSession {
    /// The hash of the token that was shown.
    token_hash: Digest,
    /// When it ends, by the clock of the system.
    expires_at: i64,
}

impl SessionStore {
    /// Begins a session for a token that is known to be good. What is given back goes into a cookie.
    pub(crate) fn create(&self, shared: &RegistryState, token: Digest) -> std::io::Result<String> {
        let mut bytes = [0; 32];
        (shared.environment.random)(&mut bytes)?;
        let id = to_hex(&bytes);
        let now = (shared.environment.wall_clock)();
        let mut open = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, session| session.expires_at > now);
        if open.len() >= MAX_SESSIONS
            && let Some(first) =
                open.iter().min_by_key(|(_, session)| session.expires_at).map(|(hash, _)| *hash)
        {
            open.remove(&first);
        }
        open.insert(
            session_key(&id),
            LoginSession {
                token_hash: token,
                expires_at: now.saturating_add(SESSION_LIFETIME_SECS * NANOS_PER_SECOND),
            },
        );
        Ok(id)
    }

    /// The hash of the token for which a session stands, if it has not ended.
    pub(crate) fn token_hash(&self, shared: &RegistryState, id: &str) -> Option<Digest> {
        let now = (shared.environment.wall_clock)();
        let open = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        open.get(&session_key(id))
            .filter(|session| session.expires_at > now)
            .map(|session| session.token_hash)
    }

    /// Ends a session.
    pub(crate) fn remove(&self, id: &str) {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(&session_key(id));
    }
}

fn session_key(id: &str) -> Digest {
    Digest::of(format!("session {id}").as_bytes())
}

/// What a form of this session must bring along. It tells nothing of the session.
pub(crate) fn form_token(id: &str) -> String {
    Digest::of(format!("form {id}").as_bytes()).hex()
}
