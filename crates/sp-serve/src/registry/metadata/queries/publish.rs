//! Publish, yank and unyank versions.

use sp_engine::pkg::YankAction;
use sp_formats::package::PackageVersion;
use sp_formats::registry::{RegistryPackageName, latest_version};

use super::super::sql::{SqlConnection, query_value};
use super::super::{
    Database, MetadataError, NamespaceRole, NewPackageVersion, PublishOutcome, RegistryReader,
    Result, TokenOwner, VersionKey, YankOutcome,
};
use super::packages::search_text;
use super::{AuditActor, can_publish, find_package, members_of, record_audit, set_role};

impl Database {
    /// Publishes a version. Its object must be stored already.
    pub(crate) fn publish(
        &self,
        new: &NewPackageVersion,
        who: &TokenOwner,
        at: &str,
    ) -> Result<PublishOutcome> {
        let namespace = new.package.namespace();
        self.write(|sql| {
            let members = members_of(sql, namespace)?;
            if !can_publish(namespace, &members, who) {
                return Ok(PublishOutcome::Forbidden);
            }
            if version_exists(sql, &new.package, &new.item.version)? {
                return Ok(PublishOutcome::AlreadyExists);
            }
            if members.is_empty() {
                // The first user to publish in a namespace owns it.
                set_role(sql, namespace, &who.user, NamespaceRole::Owner)?;
            }
            let id = upsert_package(sql, new)?;
            add_version(sql, id, new, AuditActor { who, at })?;
            update_latest(sql, id)?;
            let subject = format!("{} {}", new.package, new.item.version);
            record_audit(sql, AuditActor { who, at }, "publish", &subject)?;
            Ok(PublishOutcome::Published)
        })
    }

    /// Yanks or unyanks a version.
    pub(crate) fn yank(
        &self,
        key: &VersionKey,
        action: YankAction,
        who: &TokenOwner,
        at: &str,
    ) -> Result<YankOutcome> {
        const YANK: &str = "UPDATE versions SET yanked = $3 WHERE package = $1 AND version = $2";
        let VersionKey { package: name, version } = key;
        self.write(|sql| {
            let Some(package) = find_package(sql, name, &RegistryReader::from_owner(Some(who)))?
            else {
                return Ok(YankOutcome::NotFound);
            };
            let namespace = name.namespace();
            if !can_publish(namespace, &members_of(sql, namespace)?, who) {
                return Ok(YankOutcome::Forbidden);
            }
            let (yanked, label) = match action {
                YankAction::Yank => (true, "yank"),
                YankAction::Undo => (false, "unyank"),
            };
            if sql.execute(YANK, &[package.id.into(), version.into(), yanked.into()])? == 0 {
                return Ok(YankOutcome::NotFound);
            }
            update_latest(sql, package.id)?;
            record_audit(sql, AuditActor { who, at }, label, &format!("{name} {version}"))?;
            Ok(YankOutcome::Done)
        })
    }
}

fn version_exists(
    sql: &mut dyn SqlConnection,
    name: &RegistryPackageName,
    version: &str,
) -> Result<bool> {
    const ASK: &str =
        "SELECT EXISTS (SELECT 1 FROM versions JOIN packages ON packages.id = versions.package
        WHERE namespace = $1 AND name = $2 AND version = $3)";
    query_value(sql, ASK, &[name.namespace().into(), name.name().into(), version.into()])
}

fn upsert_package(sql: &mut dyn SqlConnection, new: &NewPackageVersion) -> Result<i64> {
    const RENEW: &str = "INSERT INTO packages (namespace, name, kind, description, words) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (namespace, name) DO UPDATE SET description = excluded.description, words = excluded.words
        RETURNING id";
    let (namespace, name) = (new.package.namespace(), new.package.name());
    let words = search_text((namespace, name), new.description.as_deref());
    let values = [
        namespace.into(),
        name.into(),
        (&new.kind).into(),
        new.description.as_deref().into(),
        (&words).into(),
    ];
    query_value(sql, RENEW, &values)
}

fn add_version(
    sql: &mut dyn SqlConnection,
    package: i64,
    new: &NewPackageVersion,
    actor: AuditActor<'_>,
) -> Result<()> {
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
        actor.at.into(),
        (&actor.who.user).into(),
        new.item.signer.as_deref().into(),
        (&item).into(),
        (&new.manifest).into(),
        (&new.trust_report).into(),
    ];
    sql.execute(ADD, &values).map(drop)
}

/// Updates the latest version of a package: the newest one that is not yanked.
fn update_latest(sql: &mut dyn SqlConnection, package: i64) -> Result<()> {
    const LIST: &str = "SELECT version FROM versions WHERE package = $1 AND NOT yanked";
    const RENEW: &str = "UPDATE packages SET latest = $2 WHERE id = $1";
    let rows = sql.query(LIST, &[package.into()])?.into_iter();
    let versions: Vec<String> = rows.map(|mut row| row.take()).collect::<Result<_>>()?;
    let versions: Vec<PackageVersion> =
        versions.iter().filter_map(|text| PackageVersion::new(text).ok()).collect();
    let newest = latest_version(versions.iter()).map(PackageVersion::as_str);
    sql.execute(RENEW, &[package.into(), newest.into()]).map(drop)
}
