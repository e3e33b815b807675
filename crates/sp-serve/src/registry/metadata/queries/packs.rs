//! Context packs, and the keys that sign their addresses.
//!
//! A key is for all packs, or for one. What a key signed opens a pack as long as the key is not revoked, and,
//! if the pack has a key of its own, only if it is that: so every address of one pack can be taken back, and
//! new ones given, though what is signed never says more than the pack, the time and the key.

use std::collections::BTreeSet;

use sp_formats::context_pack::{PackItem, UrlKeyItem};
use sp_tree::{Digest, from_hex};

use super::super::sql::{Row, Sql, Value, value};
use super::super::{
    Bearer, Database, KeptFile, KeptPack, MetadataError, NewKey, NewPack, PackOutcome, Result, Scope, UrlKey,
};
use super::{Deed, note};

impl Database {
    /// Keeps a pack whose bytes are stored already.
    pub(crate) fn push_pack(&self, new: &NewPack, who: &Bearer, at: &str) -> Result<PackOutcome> {
        const ADD: &str = "INSERT INTO context_packs (id, name, owner, digest, bytes, files, pushed_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING";
        const FIND: &str = "SELECT owner, digest, removed FROM context_packs WHERE id = $1";
        const RESTORE: &str = "UPDATE context_packs SET removed = FALSE, pushed_at = $2 WHERE id = $1";
        let bytes = i64::try_from(new.bytes).unwrap_or(i64::MAX);
        self.change(|sql| {
            let (id, owner) = (Value::from(&new.id), Value::from(&who.user));
            let values =
                [id, (&new.name).into(), owner, (&new.digest).into(), bytes.into(), (&new.files).into(), at.into()];
            if sql.execute(ADD, &values)? == 0 {
                let Some(mut row) = sql.first(FIND, &[id])? else { return Ok(PackOutcome::Exists) };
                let (owner, digest, removed): (String, Digest, bool) = (row.take()?, row.take()?, row.take()?);
                if digest != new.digest || !is_of(&owner, who) {
                    return Ok(PackOutcome::Exists);
                }
                if !removed {
                    return Ok(PackOutcome::Same);
                }
                sql.execute(RESTORE, &[id, at.into()])?;
            }
            note(sql, Deed { who, at }, "push-pack", &new.id)?;
            Ok(PackOutcome::Taken)
        })
    }

    /// The packs of somebody, the newest first; all of them for whoever runs the registry.
    pub(crate) fn packs(&self, who: &Bearer) -> Result<Vec<PackItem>> {
        const LIST: &str = "SELECT id, name, owner, digest, bytes, pushed_at FROM context_packs
             WHERE NOT removed AND ($1 OR owner = $2) ORDER BY pushed_at DESC, id DESC";
        let rows = self.read(|sql| sql.query(LIST, &[is_admin(who).into(), (&who.user).into()]))?;
        rows.into_iter().map(pack_item).collect()
    }

    /// The same with what is served of them, so many at the most.
    pub(crate) fn kept_packs(&self, who: &Bearer, most: usize) -> Result<Vec<(String, KeptPack)>> {
        const LIST: &str = "SELECT id, digest, bytes, files, pushed_at FROM context_packs
             WHERE NOT removed AND ($1 OR owner = $2) ORDER BY pushed_at DESC, id DESC LIMIT $3";
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = self.read(|sql| sql.query(LIST, &[is_admin(who).into(), (&who.user).into(), most.into()]))?;
        rows.into_iter().map(|mut row| Ok((row.take()?, kept_pack(row)?))).collect()
    }

    /// A pack of somebody with what is served of it.
    pub(crate) fn kept_pack(&self, id: &str, who: &Bearer) -> Result<Option<KeptPack>> {
        const FIND: &str = "SELECT digest, bytes, files, pushed_at FROM context_packs
             WHERE NOT removed AND ($1 OR owner = $2) AND id = $3";
        let found = self.read(|sql| sql.first(FIND, &[is_admin(who).into(), (&who.user).into(), id.into()]))?;
        found.map(kept_pack).transpose()
    }

    /// A pack and the key that is said to have signed an address of it, if such a key opens the pack.
    pub(crate) fn opened(&self, id: &str, kid: &str) -> Result<Option<(Vec<u8>, KeptPack)>> {
        const FIND: &str = "SELECT signer.secret, pack.digest, pack.bytes, pack.files, pack.pushed_at
             FROM context_packs AS pack JOIN url_keys AS signer ON signer.kid = $2
             WHERE pack.id = $1 AND NOT pack.removed AND NOT signer.revoked AND (signer.pack = pack.id OR (
                 signer.pack IS NULL AND NOT EXISTS (SELECT 1 FROM url_keys AS own WHERE own.pack = pack.id)))";
        let found = self.read(|sql| sql.first(FIND, &[id.into(), kid.into()]))?;
        let opened = |mut row: Row| {
            let secret = row.take()?;
            Ok((secret, kept_pack(row)?))
        };
        found.map(opened).transpose()
    }

    /// The key that signs addresses of somebody's pack; a fresh one where there is none.
    pub(crate) fn signing_key(&self, id: &str, fresh: &NewKey, who: &Bearer, at: &str) -> Result<Option<UrlKey>> {
        const OWN: &str = "SELECT EXISTS (SELECT 1 FROM url_keys WHERE pack = $1)";
        const NEWEST_OWN: &str =
            "SELECT kid, secret FROM url_keys WHERE pack = $1 AND NOT revoked ORDER BY id DESC LIMIT 1";
        const NEWEST: &str =
            "SELECT kid, secret FROM url_keys WHERE pack IS NULL AND NOT revoked ORDER BY id DESC LIMIT 1";
        self.change(|sql| {
            if !has_pack(sql, id, who)? {
                return Ok(None);
            }
            let own: bool = value(sql, OWN, &[id.into()])?;
            let found = if own { sql.first(NEWEST_OWN, &[id.into()])? } else { sql.first(NEWEST, &[])? };
            let key = match found {
                Some(mut row) => UrlKey { kid: row.take()?, secret: row.take()? },
                None => {
                    add_key(sql, fresh, own.then_some(id), at)?;
                    UrlKey { kid: fresh.kid.clone(), secret: fresh.secret.to_vec() }
                }
            };
            note(sql, Deed { who, at }, "url", &format!("{id} {}", key.kid))?;
            Ok(Some(key))
        })
    }

    /// Closes every address of somebody's pack that was given so far; false if there is no such pack.
    pub(crate) fn revoke_pack(&self, id: &str, fresh: &NewKey, who: &Bearer, at: &str) -> Result<bool> {
        self.change(|sql| {
            let found = has_pack(sql, id, who)?;
            if found {
                close(sql, id, fresh, at)?;
                note(sql, Deed { who, at }, "revoke-pack", id)?;
            }
            Ok(found)
        })
    }

    /// Takes somebody's pack away; its id stays bound to it. False if there is no such pack.
    pub(crate) fn remove_pack(&self, id: &str, fresh: &NewKey, who: &Bearer, at: &str) -> Result<bool> {
        const REMOVE: &str = "UPDATE context_packs SET removed = TRUE WHERE id = $1";
        self.change(|sql| {
            let found = has_pack(sql, id, who)?;
            if found {
                // If it comes back, its old addresses do not.
                close(sql, id, fresh, at)?;
                sql.execute(REMOVE, &[id.into()])?;
                note(sql, Deed { who, at }, "remove-pack", id)?;
            }
            Ok(found)
        })
    }

    /// The keys, without what they are.
    pub(crate) fn url_keys(&self) -> Result<Vec<UrlKeyItem>> {
        const LIST: &str = "SELECT kid, pack, created_at, revoked FROM url_keys ORDER BY id";
        let item = |mut row: Row| {
            let (kid, pack_id) = (row.take()?, row.take()?);
            Ok(UrlKeyItem { kid, pack_id, created_at: row.take()?, revoked: row.take()? })
        };
        self.read(|sql| sql.query(LIST, &[]))?.into_iter().map(item).collect()
    }

    /// A key for all packs that have none of their own; it signs from now on.
    pub(crate) fn add_url_key(&self, fresh: &NewKey, who: &Bearer, at: &str) -> Result<()> {
        self.change(|sql| {
            add_key(sql, fresh, None, at)?;
            note(sql, Deed { who, at }, "rotate-url-key", &fresh.kid)
        })
    }

    /// Whether there was such a key. Nothing is opened by it any more.
    pub(crate) fn revoke_url_key(&self, kid: &str, who: &Bearer, at: &str) -> Result<bool> {
        const REVOKE: &str = "UPDATE url_keys SET revoked = TRUE WHERE kid = $1";
        self.change(|sql| {
            let found = sql.execute(REVOKE, &[kid.into()])? > 0;
            if found {
                note(sql, Deed { who, at }, "revoke-url-key", kid)?;
            }
            Ok(found)
        })
    }

    /// Every object that anything speaks of: packages, and context packs with their files.
    pub(crate) fn digests(&self) -> Result<Vec<Digest>> {
        const PACKAGES: &str = "SELECT DISTINCT digest FROM versions";
        const PACKS: &str = "SELECT digest, files FROM context_packs";
        let (packages, packs) = self.read(|sql| Ok((sql.query(PACKAGES, &[])?, sql.query(PACKS, &[])?)))?;
        let mut digests: BTreeSet<Digest> = packages.into_iter().map(|mut row| row.take()).collect::<Result<_>>()?;
        for mut row in packs {
            digests.insert(row.take()?);
            let files: String = row.take()?;
            let files: Vec<KeptFile> = serde_json::from_str(&files).map_err(|e| MetadataError::Database(e.into()))?;
            digests.extend(files.iter().filter_map(|file| from_hex(&file.sha256)).map(Digest::from_bytes));
        }
        Ok(digests.into_iter().collect())
    }
}

fn is_admin(who: &Bearer) -> bool {
    who.scope == Scope::Admin
}

fn is_of(owner: &str, who: &Bearer) -> bool {
    is_admin(who) || owner == who.user
}

/// Whether there is a pack that somebody may do something with.
fn has_pack(sql: &mut dyn Sql, id: &str, who: &Bearer) -> Result<bool> {
    const OWNER: &str = "SELECT owner FROM context_packs WHERE id = $1 AND NOT removed";
    let Some(mut row) = sql.first(OWNER, &[id.into()])? else { return Ok(false) };
    Ok(is_of(&row.take::<String>()?, who))
}

/// From now on a pack is opened by a fresh key of its own, and by no other.
fn close(sql: &mut dyn Sql, id: &str, fresh: &NewKey, at: &str) -> Result<()> {
    const REVOKE: &str = "UPDATE url_keys SET revoked = TRUE WHERE pack = $1";
    sql.execute(REVOKE, &[id.into()])?;
    add_key(sql, fresh, Some(id), at)
}

fn add_key(sql: &mut dyn Sql, fresh: &NewKey, pack: Option<&str>, at: &str) -> Result<()> {
    const ADD: &str = "INSERT INTO url_keys (kid, secret, pack, created_at) VALUES ($1, $2, $3, $4)";
    sql.execute(ADD, &[(&fresh.kid).into(), Value::Bytes(&fresh.secret), pack.into(), at.into()]).map(drop)
}

fn kept_pack(mut row: Row) -> Result<KeptPack> {
    Ok(KeptPack { digest: row.take()?, bytes: row.take()?, files: row.take()?, pushed_at: row.take()? })
}

fn pack_item(mut row: Row) -> Result<PackItem> {
    let (pack_id, name, owner) = (row.take()?, row.take()?, row.take()?);
    let digest: Digest = row.take()?;
    Ok(PackItem { pack_id, name, owner, sha256: digest.hex(), bytes: row.take()?, pushed_at: row.take()? })
}
