//! Login sessions of the web pages.
//!
//! A session ID is random, is stored only as a hash, and only in memory. A session refers to the
//! token that it was created with, so revoking the token also ends the session.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use sp_tree::{Digest, to_hex};

use crate::registry::environment::RegistryEnvironment;

/// Lifetime of a session, in seconds.
pub(crate) const SESSION_LIFETIME_SECS: i64 = 12 * 60 * 60;
/// Maximum number of sessions. Beyond it, the one that expires first is dropped.
const MAX_SESSIONS: usize = 10_000;
const NANOS_PER_SECOND: i64 = 1_000_000_000;

#[derive(Default)]
pub(crate) struct SessionStore {
    sessions: Mutex<HashMap<Digest, LoginSession>>,
}

#[derive(Clone, Copy)]
struct LoginSession {
    /// Hash of the token that the user logged in with.
    token_hash: Digest,
    /// Wall-clock time in nanoseconds.
    expires_at: i64,
}

impl SessionStore {
    /// Creates a session for a token that was verified. Returns the session ID, for a cookie.
    pub(crate) fn create(
        &self,
        environment: &RegistryEnvironment,
        token_hash: Digest,
    ) -> std::io::Result<String> {
        let mut bytes = [0; 32];
        environment.fill_random(&mut bytes)?;
        let id = to_hex(&bytes);
        let now = environment.now_nanos();
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
                token_hash,
                expires_at: now.saturating_add(SESSION_LIFETIME_SECS * NANOS_PER_SECOND),
            },
        );
        Ok(id)
    }

    /// Returns the hash of the session's token, unless the session has expired.
    pub(crate) fn token_hash(&self, environment: &RegistryEnvironment, id: &str) -> Option<Digest> {
        let now = environment.now_nanos();
        let open = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        open.get(&session_key(id))
            .filter(|session| session.expires_at > now)
            .map(|session| session.token_hash)
    }

    pub(crate) fn remove(&self, id: &str) {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(&session_key(id));
    }
}

fn session_key(id: &str) -> Digest {
    Digest::of(format!("session {id}").as_bytes())
}

/// The CSRF token of a session's forms. The session ID cannot be derived from it.
pub(crate) fn form_token(id: &str) -> String {
    Digest::of(format!("form {id}").as_bytes()).hex()
}
