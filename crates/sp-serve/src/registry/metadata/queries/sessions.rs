//! Login sessions of the web pages.

use sp_tree::Digest;

use super::super::sql::query_value;
use super::super::{Database, NewSession, Result};

/// Maximum number of sessions. Beyond it, those that expire first are dropped.
const MAX_SESSIONS: i64 = 10_000;

impl Database {
    pub(crate) fn add_session(&self, new: &NewSession, now: &str) -> Result<()> {
        const EXPIRE: &str = "DELETE FROM sessions WHERE expires_at <= $1";
        const COUNT: &str = "SELECT COUNT(*) FROM sessions";
        const DROP: &str = "DELETE FROM sessions WHERE hash IN
            (SELECT hash FROM sessions ORDER BY expires_at LIMIT $1)";
        const ADD: &str = "INSERT INTO sessions (hash, token_hash, expires_at) VALUES ($1, $2, $3)";
        self.write(|sql| {
            sql.execute(EXPIRE, &[now.into()])?;
            let surplus = query_value::<i64>(sql, COUNT, &[])? + 1 - MAX_SESSIONS;
            if surplus > 0 {
                sql.execute(DROP, &[surplus.into()])?;
            }
            let NewSession { hash, token_hash, expires_at } = new;
            sql.execute(ADD, &[hash.into(), token_hash.into(), expires_at.into()]).map(drop)
        })
    }

    /// Returns the hash of a session's token, unless the session has expired.
    pub(crate) fn session_token(&self, hash: &Digest, now: &str) -> Result<Option<Digest>> {
        const FIND: &str = "SELECT token_hash FROM sessions WHERE hash = $1 AND expires_at > $2";
        let found = self.read(|sql| sql.first(FIND, &[hash.into(), now.into()]))?;
        found.map(|mut row| row.take()).transpose()
    }

    pub(crate) fn remove_session(&self, hash: &Digest) -> Result<()> {
        const REMOVE: &str = "DELETE FROM sessions WHERE hash = $1";
        self.write(|sql| sql.execute(REMOVE, &[hash.into()]).map(drop))
    }
}
