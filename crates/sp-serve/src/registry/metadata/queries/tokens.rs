//! Tokens and the audit log.

use sp_tree::Digest;

use super::super::sql::{SqlConnection, query_value};
use super::super::{AuditLogItem, Database, Result, TokenItem, TokenOwner, TokenScope};
use super::{AuditActor, record_audit};

impl Database {
    /// Checks that the database responds.
    pub(crate) fn ping(&self) -> Result<()> {
        self.read(|sql| sql.query("SELECT 1", &[]).map(drop))
    }

    pub(crate) fn has_tokens(&self) -> Result<bool> {
        self.read(has_tokens)
    }

    pub(crate) fn add_token(
        &self,
        bearer: &TokenOwner,
        hash: &Digest,
        who: &TokenOwner,
        at: &str,
    ) -> Result<i64> {
        self.write(|sql| {
            let id = add_token(sql, bearer, hash, at)?;
            let subject = format!("token {id} for {} ({})", bearer.user, bearer.scope.as_str());
            record_audit(sql, AuditActor { who, at }, "mint", &subject)?;
            Ok(id)
        })
    }

    /// Adds a token if there is none. Returns false otherwise; of several registries that start at
    /// once, one succeeds.
    pub(crate) fn add_first_token(
        &self,
        bearer: &TokenOwner,
        hash: &Digest,
        at: &str,
    ) -> Result<bool> {
        self.write(|sql| {
            let is_first = !has_tokens(sql)?;
            if is_first {
                add_token(sql, bearer, hash, at)?;
            }
            Ok(is_first)
        })
    }

    /// Returns the owner of the token with this hash, unless it was revoked.
    pub(crate) fn token_owner(&self, hash: &Digest) -> Result<Option<TokenOwner>> {
        const FIND: &str = "SELECT username, scope FROM tokens WHERE hash = $1 AND NOT revoked";
        let Some(mut row) = self.read(|sql| sql.first(FIND, &[hash.into()]))? else {
            return Ok(None);
        };
        let (user, scope): (String, String) = (row.take()?, row.take()?);
        Ok(TokenScope::parse(&scope).map(|scope| TokenOwner { user, scope }))
    }

    pub(crate) fn tokens(&self) -> Result<Vec<TokenItem>> {
        const LIST: &str =
            "SELECT id, username, scope, created_at, revoked FROM tokens ORDER BY id";
        let rows = self.read(|sql| sql.query(LIST, &[]))?;
        let item = |mut row: super::SqlRow| {
            Ok(TokenItem {
                id: row.take()?,
                user: row.take()?,
                scope: row.take()?,
                created_at: row.take()?,
                revoked: row.take()?,
            })
        };
        rows.into_iter().map(item).collect()
    }

    /// Revokes a token. Returns false if there is none with this ID.
    pub(crate) fn revoke_token(&self, id: i64, who: &TokenOwner, at: &str) -> Result<bool> {
        self.write(|sql| {
            let found =
                sql.execute("UPDATE tokens SET revoked = TRUE WHERE id = $1", &[id.into()])? > 0;
            if found {
                record_audit(sql, AuditActor { who, at }, "revoke", &format!("token {id}"))?;
            }
            Ok(found)
        })
    }

    /// Returns the latest entries, newest first.
    pub(crate) fn audit_log(&self) -> Result<Vec<AuditLogItem>> {
        const LIST: &str =
            "SELECT at, username, action, subject FROM audit ORDER BY id DESC LIMIT 1000";
        let rows = self.read(|sql| sql.query(LIST, &[]))?;
        let item = |mut row: super::SqlRow| {
            Ok(AuditLogItem {
                at: row.take()?,
                user: row.take()?,
                action: row.take()?,
                subject: row.take()?,
            })
        };
        rows.into_iter().map(item).collect()
    }
}

fn has_tokens(sql: &mut dyn SqlConnection) -> Result<bool> {
    query_value(sql, "SELECT EXISTS (SELECT 1 FROM tokens)", &[])
}

fn add_token(
    sql: &mut dyn SqlConnection,
    bearer: &TokenOwner,
    hash: &Digest,
    at: &str,
) -> Result<i64> {
    const ADD: &str = "INSERT INTO tokens (username, scope, hash, created_at) VALUES ($1, $2, $3, $4) RETURNING id";
    query_value(
        sql,
        ADD,
        &[(&bearer.user).into(), bearer.scope.as_str().into(), hash.into(), at.into()],
    )
}
