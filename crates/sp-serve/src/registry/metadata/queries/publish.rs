//! Publishing, yanking, and taking that back.

use sp_formats::package::PackageVersion;
use sp_formats::registry::{Place, latest};

use super::super::sql::{Sql, value};
use super::super::{Bearer, Database, MetadataError, NewVersion, Outcome, Reader, Result};
use super::packages::searched;
use super::{Deed, add_member, is_among, members_of, note, package};

impl Database {
    /// Publishes a version whose bytes are stored already. Nothing is changed unless it is published.
    pub(crate) fn publish(&self, new: &NewVersion, who: &Bearer, at: &str) -> Result<Outcome> {
        let namespace = new.place.namespace();
        self.change(|sql| {
            let members = members_of(sql, namespace)?;
            let is_free = members.is_empty();
            if !is_free && !is_among(&members, who) {
                return Ok(Outcome::Forbidden);
            }
            if is_there(sql, &new.place, &new.item.version)? {
                return Ok(Outcome::Exists);
            }
            if is_free {
                // The first who publishes into a namespace owns it.
                add_member(sql, namespace, &who.user)?;
            }
            let id = package_id(sql, new)?;
            add_version(sql, id, new, Deed { who, at })?;
            renew_latest(sql, id)?;
            note(sql, Deed { who, at }, "publish", &format!("{} {}", new.place, new.item.version))?;
            Ok(Outcome::Published)
        })
    }

    /// Yanks a version, or takes that back; false if there is none, none if one may not.
    pub(crate) fn yank(
        &self,
        (place, version): (&Place, &str),
        yanked: bool,
        who: &Bearer,
        at: &str,
    ) -> Result<Option<bool>> {
        const YANK: &str = "UPDATE versions SET yanked = $3 WHERE package = $1 AND version = $2";
        self.change(|sql| {
            let Some(package) = package(sql, place, &Reader::of(Some(who)))? else { return Ok(Some(false)) };
            if !is_among(&members_of(sql, place.namespace())?, who) {
                return Ok(None);
            }
            if sql.execute(YANK, &[package.id.into(), version.into(), yanked.into()])? == 0 {
                return Ok(Some(false));
            }
            renew_latest(sql, package.id)?;
            let action = if yanked { "yank" } else { "unyank" };
            note(sql, Deed { who, at }, action, &format!("{place} {version}"))?;
            Ok(Some(true))
        })
    }
}

fn is_there(sql: &mut dyn Sql, place: &Place, version: &str) -> Result<bool> {
    const ASK: &str = "SELECT EXISTS (SELECT 1 FROM versions JOIN packages ON packages.id = versions.package
        WHERE namespace = $1 AND name = $2 AND version = $3)";
    value(sql, ASK, &[place.namespace().into(), place.name().into(), version.into()])
}

fn package_id(sql: &mut dyn Sql, new: &NewVersion) -> Result<i64> {
    const RENEW: &str = "INSERT INTO packages (namespace, name, kind, description, words) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (namespace, name) DO UPDATE SET description = excluded.description, words = excluded.words
        RETURNING id";
    let (namespace, name) = (new.place.namespace(), new.place.name());
    let words = searched((namespace, name), new.description.as_deref());
    let values =
        [namespace.into(), name.into(), (&new.kind).into(), new.description.as_deref().into(), (&words).into()];
    value(sql, RENEW, &values)
}

fn add_version(sql: &mut dyn Sql, package: i64, new: &NewVersion, deed: Deed<'_>) -> Result<()> {
    const ADD: &str = "INSERT INTO versions
        (package, version, digest, bytes, published_at, published_by, signer, item, manifest, report)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    let item = serde_json::to_string(&new.item).map_err(|e| MetadataError::Database(e.into()))?;
    let bytes = i64::try_from(new.item.bytes).map_err(|e| MetadataError::Database(e.into()))?;
    let values = [
        package.into(),
        (&new.item.version).into(),
        (&new.digest).into(),
        bytes.into(),
        deed.at.into(),
        (&deed.who.user).into(),
        new.item.signer.as_deref().into(),
        (&item).into(),
        (&new.manifest).into(),
        (&new.report).into(),
    ];
    sql.execute(ADD, &values).map(drop)
}

/// The newest version that was not yanked.
fn renew_latest(sql: &mut dyn Sql, package: i64) -> Result<()> {
    const LIST: &str = "SELECT version FROM versions WHERE package = $1 AND NOT yanked";
    const RENEW: &str = "UPDATE packages SET latest = $2 WHERE id = $1";
    let rows = sql.query(LIST, &[package.into()])?.into_iter();
    let versions: Vec<String> = rows.map(|mut row| row.take()).collect::<Result<_>>()?;
    let versions: Vec<PackageVersion> = versions.iter().filter_map(|text| PackageVersion::new(text).ok()).collect();
    let newest = latest(versions.iter()).map(PackageVersion::as_str);
    sql.execute(RENEW, &[package.into(), newest.into()]).map(drop)
}
