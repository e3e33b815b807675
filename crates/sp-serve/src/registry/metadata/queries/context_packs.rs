//! Context packs, and the keys that sign their URLs.
//!
//! A key signs URLs of all packs, or of one. A signature opens a pack if its key is not revoked
//! and, if the pack has a key of its own, is that key. So all URLs of one pack can be revoked and
//! new ones created, although a signature contains only the pack, the expiry time and the key ID.

use sp_formats::context_pack::{HostedContextPack, UrlSigningKeyInfo};
use sp_tree::{Digest, from_hex};

use super::super::sql::{SqlConnection, SqlParam, SqlRow, query_value};
use super::super::{
    ContextPackPushOutcome, Database, MetadataError, NewContextPack, NewUrlKey, PublishContext,
    ReferencedObjects, Result, StoredContextPack, StoredContextPackFile, TokenOwner, TokenScope,
    UrlKey,
};
use super::{AuditActor, is_referenced, quotas, record_audit};
use crate::registry::quotas::QuotaUsage;

impl Database {
    /// Adds a pack. Its objects must be stored already.
    pub(crate) fn push_context_pack(
        &self,
        new: &NewContextPack,
        who: &TokenOwner,
        at: &str,
    ) -> Result<ContextPackPushOutcome> {
        const ADD: &str =
            "INSERT INTO context_packs (id, name, owner, digest, bytes, files, pushed_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING";
        let bytes = i64::try_from(new.bytes).unwrap_or(i64::MAX);
        self.write(|sql| {
            let (id, owner) = (SqlParam::from(&new.id), SqlParam::from(&who.user));
            let values = [
                id,
                (&new.name).into(),
                owner,
                (&new.digest).into(),
                bytes.into(),
                (&new.files).into(),
                at.into(),
            ];
            let is_new = sql.execute(ADD, &values)? > 0;
            let outcome = if is_new {
                ContextPackPushOutcome::Stored
            } else {
                restore_pack(sql, new, AuditActor { who, at })?
            };
            if outcome == ContextPackPushOutcome::Stored {
                record_audit(sql, AuditActor { who, at }, "push-pack", &new.id)?;
            }
            Ok(outcome)
        })
    }

    /// Returns the packs of a user, newest first; all packs for an admin.
    pub(crate) fn context_packs(&self, who: &TokenOwner) -> Result<Vec<HostedContextPack>> {
        const LIST: &str = "SELECT id, name, owner, digest, bytes, pushed_at FROM context_packs
             WHERE NOT removed AND ($1 OR owner = $2) ORDER BY pushed_at DESC, id DESC";
        let rows = self.read(|sql| sql.query(LIST, &[is_admin(who).into(), (&who.user).into()]))?;
        rows.into_iter().map(pack_item).collect()
    }

    /// Returns at most `most` packs of a user, with what is needed to serve them.
    pub(crate) fn stored_context_packs(
        &self,
        who: &TokenOwner,
        most: usize,
    ) -> Result<Vec<(String, StoredContextPack)>> {
        const LIST: &str = "SELECT id, digest, bytes, files, pushed_at FROM context_packs
             WHERE NOT removed AND ($1 OR owner = $2) ORDER BY pushed_at DESC, id DESC LIMIT $3";
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = self.read(|sql| {
            sql.query(LIST, &[is_admin(who).into(), (&who.user).into(), most.into()])
        })?;
        rows.into_iter().map(|mut row| Ok((row.take()?, kept_pack(row)?))).collect()
    }

    /// Returns a pack of a user, with what is needed to serve it.
    pub(crate) fn stored_context_pack(
        &self,
        id: &str,
        who: &TokenOwner,
    ) -> Result<Option<StoredContextPack>> {
        const FIND: &str = "SELECT digest, bytes, files, pushed_at FROM context_packs
             WHERE NOT removed AND ($1 OR owner = $2) AND id = $3";
        let found = self
            .read(|sql| sql.first(FIND, &[is_admin(who).into(), (&who.user).into(), id.into()]))?;
        found.map(kept_pack).transpose()
    }

    /// Returns a pack and the secret of a key, if that key opens the pack.
    pub(crate) fn pack_with_signing_secret(
        &self,
        id: &str,
        kid: &str,
    ) -> Result<Option<(Vec<u8>, StoredContextPack)>> {
        const FIND: &str = "SELECT signer.secret, pack.digest, pack.bytes, pack.files, pack.pushed_at
             FROM context_packs AS pack JOIN url_keys AS signer ON signer.kid = $2
             WHERE pack.id = $1 AND NOT pack.removed AND NOT signer.revoked AND (signer.pack = pack.id OR (
                 signer.pack IS NULL AND NOT EXISTS (SELECT 1 FROM url_keys AS own WHERE own.pack = pack.id)))";
        let found = self.read(|sql| sql.first(FIND, &[id.into(), kid.into()]))?;
        let opened = |mut row: SqlRow| {
            let secret = row.take()?;
            Ok((secret, kept_pack(row)?))
        };
        found.map(opened).transpose()
    }

    /// Returns the key that signs URLs of a pack. Adds `fresh` if there is none.
    pub(crate) fn signing_key(
        &self,
        id: &str,
        fresh: &NewUrlKey,
        who: &TokenOwner,
        at: &str,
    ) -> Result<Option<UrlKey>> {
        const OWN: &str = "SELECT EXISTS (SELECT 1 FROM url_keys WHERE pack = $1)";
        const NEWEST_OWN: &str = "SELECT kid, secret FROM url_keys WHERE pack = $1 AND NOT revoked ORDER BY id DESC LIMIT 1";
        const NEWEST: &str = "SELECT kid, secret FROM url_keys WHERE pack IS NULL AND NOT revoked ORDER BY id DESC LIMIT 1";
        self.write(|sql| {
            if !owns_pack(sql, id, who)? {
                return Ok(None);
            }
            let own: bool = query_value(sql, OWN, &[id.into()])?;
            let found =
                if own { sql.first(NEWEST_OWN, &[id.into()])? } else { sql.first(NEWEST, &[])? };
            let key = match found {
                Some(mut row) => UrlKey { kid: row.take()?, secret: row.take()? },
                None => {
                    insert_url_key(sql, fresh, own.then_some(id), at)?;
                    UrlKey { kid: fresh.kid.clone(), secret: fresh.secret.to_vec() }
                }
            };
            record_audit(sql, AuditActor { who, at }, "url", &format!("{id} {}", key.kid))?;
            Ok(Some(key))
        })
    }

    /// Revokes all URLs of a pack. Returns false if there is no such pack.
    pub(crate) fn revoke_pack_urls(
        &self,
        id: &str,
        fresh: &NewUrlKey,
        who: &TokenOwner,
        at: &str,
    ) -> Result<bool> {
        self.write(|sql| {
            let found = owns_pack(sql, id, who)?;
            if found {
                revoke_urls(sql, id, fresh, at)?;
                record_audit(sql, AuditActor { who, at }, "revoke-pack", id)?;
            }
            Ok(found)
        })
    }

    /// Removes a pack. Its ID stays bound to it. Returns false if there is no such pack.
    pub(crate) fn remove_context_pack(
        &self,
        id: &str,
        fresh: &NewUrlKey,
        who: &TokenOwner,
        at: &str,
    ) -> Result<bool> {
        const REMOVE: &str = "UPDATE context_packs SET removed = TRUE WHERE id = $1";
        self.write(|sql| {
            let found = owns_pack(sql, id, who)?;
            if found {
                // Old URLs stay revoked if the pack is pushed again.
                revoke_urls(sql, id, fresh, at)?;
                sql.execute(REMOVE, &[id.into()])?;
                record_audit(sql, AuditActor { who, at }, "remove-pack", id)?;
            }
            Ok(found)
        })
    }

    /// Returns all keys without their secrets.
    pub(crate) fn url_keys(&self) -> Result<Vec<UrlSigningKeyInfo>> {
        const LIST: &str = "SELECT kid, pack, created_at, revoked FROM url_keys ORDER BY id";
        let item = |mut row: SqlRow| {
            let (kid, pack_id) = (row.take()?, row.take()?);
            Ok(UrlSigningKeyInfo { kid, pack_id, created_at: row.take()?, revoked: row.take()? })
        };
        self.read(|sql| sql.query(LIST, &[]))?.into_iter().map(item).collect()
    }

    /// Adds a key for all packs without a key of their own. It signs from now on.
    pub(crate) fn add_url_key(&self, fresh: &NewUrlKey, who: &TokenOwner, at: &str) -> Result<()> {
        self.write(|sql| {
            insert_url_key(sql, fresh, None, at)?;
            record_audit(sql, AuditActor { who, at }, "rotate-url-key", &fresh.kid)
        })
    }

    /// Revokes a key. Returns false if there is none with this ID.
    pub(crate) fn revoke_url_key(&self, kid: &str, who: &TokenOwner, at: &str) -> Result<bool> {
        const REVOKE: &str = "UPDATE url_keys SET revoked = TRUE WHERE kid = $1";
        self.write(|sql| {
            let found = sql.execute(REVOKE, &[kid.into()])? > 0;
            if found {
                record_audit(sql, AuditActor { who, at }, "revoke-url-key", kid)?;
            }
            Ok(found)
        })
    }

    /// Checks whether a pack may be pushed, without changing anything.
    pub(crate) fn check_context_pack(
        &self,
        new: &NewContextPack,
        context: &PublishContext,
    ) -> Result<ContextPackPushOutcome> {
        const FIND: &str = "SELECT owner, digest, removed FROM context_packs WHERE id = $1";
        self.read(|sql| {
            if let Some(mut row) = sql.first(FIND, &[(&new.id).into()])? {
                let (owner, digest, removed): (String, Digest, bool) =
                    (row.take()?, row.take()?, row.take()?);
                if digest != new.digest || !is_owner(&owner, &context.who) {
                    return Ok(ContextPackPushOutcome::IdTaken);
                }
                if !removed {
                    return Ok(ContextPackPushOutcome::Unchanged);
                }
            }
            let added = QuotaUsage { bytes: new.bytes, ..QuotaUsage::default() };
            let exceeded = quotas::exceeded(sql, "", context, &added)?;
            Ok(exceeded
                .map_or(ContextPackPushOutcome::Stored, ContextPackPushOutcome::QuotaExceeded))
        })
    }

    /// Returns the objects of all packages and context packs, each with what consists of it.
    pub(crate) fn referenced_objects(&self) -> Result<ReferencedObjects> {
        const VERSIONS: &str = "SELECT namespace, name, version, digest FROM versions
            JOIN packages ON packages.id = package WHERE deleted_at IS NULL";
        const PACKS: &str = "SELECT id, digest, files FROM context_packs";
        let (versions, packs) =
            self.read(|sql| Ok((sql.query(VERSIONS, &[])?, sql.query(PACKS, &[])?)))?;
        let mut objects = ReferencedObjects::new();
        for mut row in versions {
            let (namespace, name, version): (String, String, String) =
                (row.take()?, row.take()?, row.take()?);
            let user = format!("@{namespace}/{name} {version}");
            objects.entry(row.take()?).or_default().push(user);
        }
        for mut row in packs {
            let user = format!("context pack {}", row.take::<String>()?);
            let zip: Digest = row.take()?;
            let files: Vec<StoredContextPackFile> = serde_json::from_str(&row.take::<String>()?)
                .map_err(|e| MetadataError::Database(e.into()))?;
            let files = files.iter().filter_map(|file| from_hex(&file.sha256));
            for digest in files.map(Digest::from_bytes).chain([zip]) {
                objects.entry(digest).or_default().push(user.clone());
            }
        }
        Ok(objects)
    }

    /// Whether anything consists of an object.
    pub(crate) fn is_referenced(&self, digest: &Digest) -> Result<bool> {
        self.read(|sql| is_referenced(sql, digest))
    }
}

fn is_admin(who: &TokenOwner) -> bool {
    who.scope == TokenScope::Admin
}

fn is_owner(owner: &str, who: &TokenOwner) -> bool {
    is_admin(who) || owner == who.user
}

/// Whether the pack exists and `who` may change it.
fn owns_pack(sql: &mut dyn SqlConnection, id: &str, who: &TokenOwner) -> Result<bool> {
    const OWNER: &str = "SELECT owner FROM context_packs WHERE id = $1 AND NOT removed";
    let Some(mut row) = sql.first(OWNER, &[id.into()])? else { return Ok(false) };
    Ok(is_owner(&row.take::<String>()?, who))
}

/// Replaces the keys of a pack with a new one of its own.
fn revoke_urls(sql: &mut dyn SqlConnection, id: &str, fresh: &NewUrlKey, at: &str) -> Result<()> {
    const REVOKE: &str = "UPDATE url_keys SET revoked = TRUE WHERE pack = $1";
    sql.execute(REVOKE, &[id.into()])?;
    insert_url_key(sql, fresh, Some(id), at)
}

fn insert_url_key(
    sql: &mut dyn SqlConnection,
    fresh: &NewUrlKey,
    pack: Option<&str>,
    at: &str,
) -> Result<()> {
    const ADD: &str =
        "INSERT INTO url_keys (kid, secret, pack, created_at) VALUES ($1, $2, $3, $4)";
    sql.execute(ADD, &[(&fresh.kid).into(), SqlParam::Bytes(&fresh.secret), pack.into(), at.into()])
        .map(drop)
}

fn kept_pack(mut row: SqlRow) -> Result<StoredContextPack> {
    Ok(StoredContextPack {
        digest: row.take()?,
        bytes: row.take()?,
        files: row.take()?,
        pushed_at: row.take()?,
    })
}

fn pack_item(mut row: SqlRow) -> Result<HostedContextPack> {
    let (pack_id, name, owner) = (row.take()?, row.take()?, row.take()?);
    let digest: Digest = row.take()?;
    Ok(HostedContextPack {
        pack_id,
        name,
        owner,
        sha256: digest.hex(),
        bytes: row.take()?,
        pushed_at: row.take()?,
    })
}

/// Restores a pack with a known ID, if it was removed and is the same pack of the same owner.
fn restore_pack(
    sql: &mut dyn SqlConnection,
    new: &NewContextPack,
    actor: AuditActor<'_>,
) -> Result<ContextPackPushOutcome> {
    const FIND: &str = "SELECT owner, digest, removed FROM context_packs WHERE id = $1";
    const RESTORE: &str = "UPDATE context_packs SET removed = FALSE, pushed_at = $2 WHERE id = $1";
    let id = SqlParam::from(&new.id);
    let Some(mut row) = sql.first(FIND, &[id])? else {
        return Ok(ContextPackPushOutcome::IdTaken);
    };
    let (owner, digest, removed): (String, Digest, bool) = (row.take()?, row.take()?, row.take()?);
    if digest != new.digest || !is_owner(&owner, actor.who) {
        return Ok(ContextPackPushOutcome::IdTaken);
    }
    if !removed {
        return Ok(ContextPackPushOutcome::Unchanged);
    }
    sql.execute(RESTORE, &[id, actor.at.into()])?;
    Ok(ContextPackPushOutcome::Stored)
}
