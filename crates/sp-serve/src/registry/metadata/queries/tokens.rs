//! Tokens and the audit log.

use std::collections::BTreeMap;

use sp_formats::registry::RegistryToken;
use sp_tree::Digest;

use super::super::sql::{SqlConnection, SqlParam, SqlRow, query_value};
use super::super::{
    AuditLogItem, Database, NewToken, Result, TokenOwner, TokenRevocation, TokenScope,
};
use super::{AuditActor, record_audit};

/// The columns of a [`RegistryToken`].
macro_rules! select_tokens {
    ($rest:literal) => {
        concat!(
            "SELECT id, username, scope, label, namespaces, created_at, expires_at, last_used_at, \
             revoked FROM tokens ",
            $rest
        )
    };
}

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
        new: &NewToken,
        who: &TokenOwner,
        at: &str,
    ) -> Result<RegistryToken> {
        self.write(|sql| {
            let id = add_token(sql, new, at)?;
            let subject = format!("token {id} for {} ({})", new.user, new.scope.as_str());
            record_audit(sql, AuditActor { who, at }, "mint", &subject)?;
            require_token(sql, id)
        })
    }

    /// Adds a token if there is none. Returns false otherwise; of several registries that start at
    /// once, one succeeds.
    pub(crate) fn add_first_token(&self, new: &NewToken, at: &str) -> Result<bool> {
        self.write(|sql| {
            let is_first = !has_tokens(sql)?;
            if is_first {
                add_token(sql, new, at)?;
            }
            Ok(is_first)
        })
    }

    /// Returns the owner of the token with this hash and when it was last used, unless it was
    /// revoked or has expired.
    pub(crate) fn token_owner(
        &self,
        hash: &Digest,
        now: &str,
    ) -> Result<Option<(TokenOwner, Option<String>)>> {
        const FIND: &str = "SELECT id, username, scope, namespaces, last_used_at FROM tokens
             WHERE hash = $1 AND NOT revoked AND (expires_at IS NULL OR expires_at > $2)";
        const MEMBERSHIPS: &str = "SELECT namespace FROM members WHERE username = $1";
        self.read(|sql| {
            let Some(mut row) = sql.first(FIND, &[hash.into(), now.into()])? else {
                return Ok(None);
            };
            let (id, user, scope): (i64, String, String) = (row.take()?, row.take()?, row.take()?);
            let limited_to = row.take::<Option<String>>()?.map(|text| split_names(&text));
            let last_used_at = row.take()?;
            let Some(scope) = TokenScope::parse(&scope) else { return Ok(None) };
            let rows = sql.query(MEMBERSHIPS, &[(&user).into()])?;
            let namespaces = rows.into_iter().map(|mut row| row.take()).collect::<Result<_>>()?;
            let mut owner =
                TokenOwner { token_id: Some(id), user, scope, limited_to, namespaces, job: None };
            let permitted = std::mem::take(&mut owner.namespaces);
            owner.namespaces = permitted.into_iter().filter(|name| owner.permits(name)).collect();
            Ok(Some((owner, last_used_at)))
        })
    }

    pub(crate) fn tokens(&self) -> Result<Vec<RegistryToken>> {
        const LIST: &str = select_tokens!("ORDER BY id");
        self.read(|sql| sql.query(LIST, &[]))?.into_iter().map(token_item).collect()
    }

    pub(crate) fn revoke_token(
        &self,
        id: i64,
        who: &TokenOwner,
        at: &str,
    ) -> Result<TokenRevocation> {
        self.write(|sql| {
            let Some(token) = find_token(sql, id)? else { return Ok(TokenRevocation::NotFound) };
            if is_last_admin(sql, &token, at)? {
                return Ok(TokenRevocation::LastAdmin);
            }
            sql.execute("UPDATE tokens SET revoked = TRUE WHERE id = $1", &[id.into()])?;
            record_audit(sql, AuditActor { who, at }, "revoke", &format!("token {id}"))?;
            Ok(TokenRevocation::Done)
        })
    }

    /// Replaces the secret of a token. Returns `None` if there is none with this ID, or it was
    /// revoked.
    pub(crate) fn rotate_token(
        &self,
        id: i64,
        hash: &Digest,
        who: &TokenOwner,
        at: &str,
    ) -> Result<Option<RegistryToken>> {
        const ROTATE: &str = "UPDATE tokens SET hash = $2 WHERE id = $1 AND NOT revoked";
        self.write(|sql| {
            if sql.execute(ROTATE, &[id.into(), hash.into()])? == 0 {
                return Ok(None);
            }
            record_audit(sql, AuditActor { who, at }, "rotate", &format!("token {id}"))?;
            find_token(sql, id)
        })
    }

    /// Records when tokens were last used.
    pub(crate) fn record_token_uses(&self, uses: &BTreeMap<i64, String>) -> Result<()> {
        const USE: &str = "UPDATE tokens SET last_used_at = $2 WHERE id = $1";
        self.write(|sql| {
            uses.iter()
                .try_for_each(|(id, at)| sql.execute(USE, &[(*id).into(), at.into()]).map(drop))
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

pub(super) fn add_token(sql: &mut dyn SqlConnection, new: &NewToken, at: &str) -> Result<i64> {
    const ADD: &str = "INSERT INTO tokens
        (username, scope, hash, created_at, label, expires_at, namespaces)
        VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id";
    let limited_to = new.limited_to.as_ref().map(|names| names.join(" "));
    let values = [
        (&new.user).into(),
        new.scope.as_str().into(),
        (&new.hash).into(),
        at.into(),
        new.label.as_deref().into(),
        new.expires_at.as_deref().into(),
        SqlParam::from(limited_to.as_deref()),
    ];
    query_value(sql, ADD, &values)
}

fn find_token(sql: &mut dyn SqlConnection, id: i64) -> Result<Option<RegistryToken>> {
    const FIND: &str = select_tokens!("WHERE id = $1");
    sql.first(FIND, &[id.into()])?.map(token_item).transpose()
}

fn require_token(sql: &mut dyn SqlConnection, id: i64) -> Result<RegistryToken> {
    find_token(sql, id)?
        .ok_or_else(|| super::super::MetadataError::Database("a new token is missing".into()))
}

/// Whether no other token could administrate the registry without this one.
fn is_last_admin(sql: &mut dyn SqlConnection, token: &RegistryToken, now: &str) -> Result<bool> {
    const OTHERS: &str = "SELECT EXISTS (SELECT 1 FROM tokens WHERE scope = 'admin'
        AND NOT revoked AND id <> $1 AND (expires_at IS NULL OR expires_at > $2))";
    let is_admin = token.scope == TokenScope::Admin.as_str() && !token.revoked;
    Ok(is_admin && !query_value::<bool>(sql, OTHERS, &[token.id.into(), now.into()])?)
}

fn token_item(mut row: SqlRow) -> Result<RegistryToken> {
    Ok(RegistryToken {
        id: row.take()?,
        user: row.take()?,
        scope: row.take()?,
        label: row.take()?,
        namespaces: row.take::<Option<String>>()?.map(|text| split_names(&text)),
        created_at: row.take()?,
        expires_at: row.take()?,
        last_used_at: row.take()?,
        revoked: row.take()?,
    })
}

fn split_names(text: &str) -> Vec<String> {
    text.split(' ').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
