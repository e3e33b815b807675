//! Publish, yank and unyank versions.

use sp_engine::pkg::YankAction;
use sp_formats::package::PackageVersion;
use sp_formats::registry::{RegistryPackageName, latest_version};
use sp_tree::Digest;

use crate::registry::quotas::QuotaUsage;

use super::super::sql::{SqlConnection, query_value};
use super::super::{
    Database, DeletedVersion, MetadataError, NamespaceRole, NewPackageVersion, PublishContext,
    PublishOutcome, PublishTarget, RegistryReader, Result, TokenOwner, VersionKey, YankOutcome,
};
use super::packages::search_text;
use super::publishers::{is_trusted_only, may_job_publish, settle_pending};
use super::quotas;
use super::{
    AuditActor, can_publish, find_package, is_referenced, members_of, package_privacy,
    record_audit, set_role,
};

impl Database {
    /// Checks whether a version may be published, without changing anything.
    pub(crate) fn check_publish(
        &self,
        target: &PublishTarget,
        context: &PublishContext,
    ) -> Result<PublishOutcome> {
        self.read(|sql| refusal(sql, target, context))
            .map(|refusal| refusal.unwrap_or(PublishOutcome::Published))
    }

    /// Publishes a version. Its object must be stored already.
    pub(crate) fn publish(
        &self,
        new: &NewPackageVersion,
        context: &PublishContext,
    ) -> Result<PublishOutcome> {
        let namespace = new.package.namespace();
        let actor = AuditActor { who: &context.who, at: &context.at };
        let key = VersionKey { package: new.package.clone(), version: new.item.version.clone() };
        let target = PublishTarget { key, bytes: new.item.bytes };
        self.write(|sql| {
            if let Some(refusal) = refusal(sql, &target, context)? {
                return Ok(refusal);
            }
            if members_of(sql, namespace)?.is_empty() {
                // The first user to publish in a namespace owns it.
                set_role(sql, namespace, &context.who.user, NamespaceRole::Owner)?;
            }
            let was_private = package_privacy(sql, &new.package)?;
            let is_private = new.private
                || match was_private {
                    Some(was_private) => was_private,
                    None => is_private_by_default(sql, namespace)?,
                };
            let id = upsert_package(sql, new)?;
            if is_private && was_private != Some(true) {
                sql.execute("UPDATE packages SET private = TRUE WHERE id = $1", &[id.into()])?;
                record_audit(sql, actor, "hide", &new.package.to_string())?;
            }
            add_version(sql, id, new, actor)?;
            update_latest(sql, id)?;
            if was_private.is_none() {
                settle_pending(sql, &new.package, actor)?;
            }
            record_audit(sql, actor, "publish", &publish_subject(new, &context.who))?;
            Ok(PublishOutcome::Published)
        })
    }

    /// Deletes the content of a version. Its number stays taken. Returns `None` if there is no such
    /// version, or it was deleted before.
    pub(crate) fn delete_version(
        &self,
        key: &VersionKey,
        reason: &str,
        who: &TokenOwner,
        at: &str,
    ) -> Result<Option<DeletedVersion>> {
        const FIND: &str = "SELECT digest FROM versions
            WHERE package = $1 AND version = $2 AND deleted_at IS NULL";
        const DELETE: &str = "UPDATE versions SET deleted_at = $3, delete_reason = $4,
            yanked = TRUE, manifest = '{}', report = '{}' WHERE package = $1 AND version = $2";
        let VersionKey { package: name, version } = key;
        self.write(|sql| {
            let Some(package) = find_package(sql, name, &RegistryReader::Admin)? else {
                return Ok(None);
            };
            let values = [package.id.into(), version.into(), at.into(), reason.into()];
            let Some(mut row) = sql.first(FIND, &values[..2])? else { return Ok(None) };
            let digest: Digest = row.take()?;
            sql.execute(DELETE, &values)?;
            update_latest(sql, package.id)?;
            update_description(sql, package.id, name)?;
            let subject = format!("{name} {version}: {reason}");
            record_audit(sql, AuditActor { who, at }, "delete", &subject)?;
            Ok(Some(DeletedVersion { digest, is_shared: is_referenced(sql, &digest)? }))
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
        const YANK: &str = "UPDATE versions SET yanked = $3
            WHERE package = $1 AND version = $2 AND deleted_at IS NULL";
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

/// Returns why a version cannot be published.
fn refusal(
    sql: &mut dyn SqlConnection,
    target: &PublishTarget,
    context: &PublishContext,
) -> Result<Option<PublishOutcome>> {
    let PublishTarget { key: VersionKey { package, version }, bytes } = target;
    let namespace = package.namespace();
    let is_permitted = match &context.who.job {
        Some(job) => may_job_publish(sql, job, package, &context.at)?,
        None => can_publish(namespace, &members_of(sql, namespace)?, &context.who),
    };
    if !is_permitted {
        return Ok(Some(PublishOutcome::Forbidden));
    }
    if context.who.job.is_none() && is_trusted_only(sql, package)? {
        return Ok(Some(PublishOutcome::TrustedOnly));
    }
    if version_exists(sql, package, version)? {
        return Ok(Some(PublishOutcome::AlreadyExists));
    }
    let is_new = package_privacy(sql, package)?.is_none();
    let added = QuotaUsage { bytes: *bytes, packages: is_new.into(), publishes: 1 };
    let exceeded = quotas::exceeded(sql, namespace, context, &added)?;
    Ok(exceeded.map(PublishOutcome::QuotaExceeded))
}

/// Describes a publish for the audit log.
fn publish_subject(new: &NewPackageVersion, who: &TokenOwner) -> String {
    let subject = format!("{} {}", new.package, new.item.version);
    match &who.job {
        Some(job) => format!("{subject} by publisher {}: {}", job.publisher, job.identity),
        None => subject,
    }
}

fn is_private_by_default(sql: &mut dyn SqlConnection, namespace: &str) -> Result<bool> {
    const ASK: &str = "SELECT EXISTS (SELECT 1 FROM namespaces WHERE name = $1 AND private)";
    query_value(sql, ASK, &[namespace.into()])
}

/// Takes the description from the latest version, after another one was deleted.
fn update_description(
    sql: &mut dyn SqlConnection,
    package: i64,
    name: &RegistryPackageName,
) -> Result<()> {
    const LATEST: &str = "SELECT manifest FROM versions JOIN packages ON packages.id = package
        WHERE package = $1 AND version = latest";
    const RENEW: &str = "UPDATE packages SET description = $2, words = $3 WHERE id = $1";
    let manifest = sql.first(LATEST, &[package.into()])?.map(|mut row| row.take::<String>());
    let manifest: serde_json::Value =
        serde_json::from_str(&manifest.transpose()?.unwrap_or_default()).unwrap_or_default();
    let description = manifest.get("description").and_then(serde_json::Value::as_str);
    let words = search_text((name.namespace(), name.name()), description);
    sql.execute(RENEW, &[package.into(), description.into(), (&words).into()]).map(drop)
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
