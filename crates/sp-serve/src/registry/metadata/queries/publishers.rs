//! Trusted publishers.

use std::collections::BTreeMap;

use sp_formats::registry::RegistryPackageName;
use sp_formats::trusted_publisher::{TrustedPublisher, TrustedPublishers};

use super::super::sql::{SqlConnection, SqlParam, SqlRow, query_value};
use super::super::{
    Database, MetadataError, NamespaceOutcome, NamespaceRole, NewPublisher, PublisherOutcome,
    Result, TokenOwner, TokenScope, TrustedJob,
};
use super::{AuditActor, members_of, package_privacy, record_audit, role_in};

/// The maximum number of publishers of a package.
const MAX_PER_PACKAGE: usize = 5;
/// The maximum number of publishers in a namespace whose packages do not exist.
const MAX_PENDING: i64 = 100;

/// The columns of a [`TrustedPublisher`], and a condition.
macro_rules! select_publishers {
    ($rest:literal) => {
        concat!(
            "SELECT publishers.id, publishers.namespace, publishers.name, issuer, audience, claims, \
             created_at, created_by, pending_until FROM publishers ",
            $rest
        )
    };
}

impl Database {
    /// Adds a publisher on behalf of a member who may publish.
    pub(crate) fn add_publisher(
        &self,
        new: &NewPublisher,
        who: &TokenOwner,
        at: &str,
    ) -> Result<PublisherOutcome> {
        let namespace = new.package.namespace();
        self.write(|sql| {
            let members = members_of(sql, namespace)?;
            // An admin must be a member too: the publisher works as long as its maker is one.
            let own = members.iter().find(|member| member.user == who.user);
            match own.filter(|_| who.permits(namespace)).map(|member| member.role) {
                Some(NamespaceRole::Publisher | NamespaceRole::Owner) => {}
                None if who.scope != TokenScope::Admin => return Ok(PublisherOutcome::NotFound),
                _ => return Ok(PublisherOutcome::Forbidden),
            }
            expire_pending(sql, at)?;
            let known = publishers_of(sql, &new.package)?;
            let is_same = |known: &TrustedPublisher| {
                (&known.issuer, &known.audience, &known.claims)
                    == (&new.issuer, &new.audience, &new.claims)
            };
            if known.iter().any(is_same) {
                return Ok(PublisherOutcome::Exists);
            }
            let is_pending = package_privacy(sql, &new.package)?.is_none();
            let is_full = known.len() >= MAX_PER_PACKAGE;
            if is_full || is_pending && count_pending(sql, namespace)? >= MAX_PENDING {
                return Ok(PublisherOutcome::TooMany);
            }
            let added = insert_publisher(sql, new, is_pending, AuditActor { who, at })?;
            Ok(PublisherOutcome::Added(added))
        })
    }

    /// Returns the publishers of a package, for members who may publish. `None` for others.
    pub(crate) fn publishers(
        &self,
        package: &RegistryPackageName,
        who: &TokenOwner,
        at: &str,
    ) -> Result<Option<TrustedPublishers>> {
        self.read(|sql| {
            if !may_manage(sql, package.namespace(), who)? {
                return Ok(None);
            }
            let trusted_only = is_trusted_only(sql, package)?;
            let mut publishers = publishers_of(sql, package)?;
            publishers.retain(|publisher| is_current(publisher, at));
            Ok(Some(TrustedPublishers { trusted_only, publishers }))
        })
    }

    /// Returns the publishers in a namespace, for members who may publish. `None` for others.
    pub(crate) fn namespace_publishers(
        &self,
        namespace: &str,
        who: &TokenOwner,
        at: &str,
    ) -> Result<Option<Vec<TrustedPublisher>>> {
        const LIST: &str =
            select_publishers!("WHERE publishers.namespace = $1 ORDER BY publishers.name, id");
        self.read(|sql| {
            if !may_manage(sql, namespace, who)? {
                return Ok(None);
            }
            let rows = sql.query(LIST, &[namespace.into()])?;
            let mut publishers = rows.into_iter().map(publisher).collect::<Result<Vec<_>>>()?;
            publishers.retain(|publisher| is_current(publisher, at));
            Ok(Some(publishers))
        })
    }

    /// Removes a publisher. Its tokens become invalid.
    pub(crate) fn remove_publisher(
        &self,
        package: &RegistryPackageName,
        id: i64,
        who: &TokenOwner,
        at: &str,
    ) -> Result<NamespaceOutcome> {
        const REMOVE: &str =
            "DELETE FROM publishers WHERE id = $1 AND namespace = $2 AND name = $3";
        self.write(|sql| {
            if !may_manage(sql, package.namespace(), who)? {
                return Ok(NamespaceOutcome::NotFound);
            }
            let values = [id.into(), package.namespace().into(), package.name().into()];
            if sql.execute(REMOVE, &values)? == 0 {
                return Ok(NamespaceOutcome::NotFound);
            }
            let subject = format!("{package} publisher {id}");
            record_audit(sql, AuditActor { who, at }, "remove-publisher", &subject)?;
            Ok(NamespaceOutcome::Done)
        })
    }

    /// Whether any publisher has an issuer.
    pub(crate) fn is_known_issuer(&self, issuer: &str, at: &str) -> Result<bool> {
        const ASK: &str = "SELECT EXISTS (SELECT 1 FROM publishers
            WHERE issuer = $1 AND (pending_until IS NULL OR pending_until > $2))";
        self.read(|sql| query_value(sql, ASK, &[issuer.into(), at.into()]))
    }

    /// Returns the publishers of an issuer whose makers may still publish.
    pub(crate) fn issuer_publishers(
        &self,
        issuer: &str,
        at: &str,
    ) -> Result<Vec<TrustedPublisher>> {
        const LIST: &str = select_publishers!(
            "JOIN members ON members.namespace = publishers.namespace AND username = created_by
             WHERE issuer = $1 AND role <> 'reader'
             AND (pending_until IS NULL OR pending_until > $2) ORDER BY publishers.id"
        );
        let rows = self.read(|sql| sql.query(LIST, &[issuer.into(), at.into()]))?;
        rows.into_iter().map(publisher).collect()
    }
}

/// Whether a user may see and change the publishers in a namespace.
fn may_manage(sql: &mut dyn SqlConnection, namespace: &str, who: &TokenOwner) -> Result<bool> {
    let members = members_of(sql, namespace)?;
    Ok(role_in(namespace, &members, who) >= Some(NamespaceRole::Publisher))
}

fn is_current(publisher: &TrustedPublisher, at: &str) -> bool {
    publisher.pending_until.as_deref().is_none_or(|until| until > at)
}

fn publishers_of(
    sql: &mut dyn SqlConnection,
    package: &RegistryPackageName,
) -> Result<Vec<TrustedPublisher>> {
    const LIST: &str = select_publishers!(
        "WHERE publishers.namespace = $1 AND publishers.name = $2 ORDER BY publishers.id"
    );
    let rows = sql.query(LIST, &[package.namespace().into(), package.name().into()])?;
    rows.into_iter().map(publisher).collect()
}

fn insert_publisher(
    sql: &mut dyn SqlConnection,
    new: &NewPublisher,
    is_pending: bool,
    actor: AuditActor<'_>,
) -> Result<TrustedPublisher> {
    const ADD: &str = "INSERT INTO publishers
        (namespace, name, issuer, audience, claims, created_at, created_by, pending_until)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id";
    let claims =
        serde_json::to_string(&new.claims).map_err(|e| MetadataError::Database(e.into()))?;
    let pending_until = Some(new.pending_until.clone()).filter(|_| is_pending);
    let values = [
        new.package.namespace().into(),
        new.package.name().into(),
        (&new.issuer).into(),
        (&new.audience).into(),
        (&claims).into(),
        actor.at.into(),
        (&actor.who.user).into(),
        SqlParam::from(pending_until.as_deref()),
    ];
    let id = query_value(sql, ADD, &values)?;
    let subject = format!("{} publisher {id}: {} {claims}", new.package, new.issuer);
    record_audit(sql, actor, "add-publisher", &subject)?;
    Ok(TrustedPublisher {
        id,
        package: new.package.to_string(),
        issuer: new.issuer.clone(),
        audience: new.audience.clone(),
        claims: new.claims.clone(),
        created_at: actor.at.into(),
        created_by: actor.who.user.clone(),
        pending_until,
    })
}

fn count_pending(sql: &mut dyn SqlConnection, namespace: &str) -> Result<i64> {
    const COUNT: &str =
        "SELECT COUNT(*) FROM publishers WHERE namespace = $1 AND pending_until IS NOT NULL";
    query_value(sql, COUNT, &[namespace.into()])
}

/// Removes publishers whose package was not published in time.
fn expire_pending(sql: &mut dyn SqlConnection, at: &str) -> Result<()> {
    const EXPIRE: &str = "DELETE FROM publishers WHERE pending_until <= $1";
    sql.execute(EXPIRE, &[at.into()]).map(drop)
}

/// Whether a job may publish a package: its publisher still exists, and its maker may publish.
pub(super) fn may_job_publish(
    sql: &mut dyn SqlConnection,
    job: &TrustedJob,
    package: &RegistryPackageName,
    at: &str,
) -> Result<bool> {
    const ASK: &str = "SELECT EXISTS (SELECT 1 FROM publishers
        JOIN members ON members.namespace = publishers.namespace AND username = created_by
        WHERE publishers.id = $1 AND publishers.namespace = $2 AND publishers.name = $3
        AND role <> 'reader' AND (pending_until IS NULL OR pending_until > $4))";
    let values =
        [job.publisher.into(), package.namespace().into(), package.name().into(), at.into()];
    Ok(job.package == *package && query_value(sql, ASK, &values)?)
}

/// After a package was published for the first time, the publishers that its publisher had
/// registered for it stay, and those of other users are removed.
pub(super) fn settle_pending(
    sql: &mut dyn SqlConnection,
    package: &RegistryPackageName,
    actor: AuditActor<'_>,
) -> Result<()> {
    const KEEP: &str = "UPDATE publishers SET pending_until = NULL
        WHERE namespace = $1 AND name = $2 AND created_by = $3 AND pending_until > $4";
    const REMOVE: &str =
        "DELETE FROM publishers WHERE namespace = $1 AND name = $2 AND pending_until IS NOT NULL";
    let (user, at) = ((&actor.who.user).into(), actor.at.into());
    let values = [package.namespace().into(), package.name().into(), user, at];
    let kept = sql.execute(KEEP, &values)?;
    if kept > 0 {
        let subject = format!("{package} publishers: {kept}");
        record_audit(sql, actor, "activate-publisher", &subject)?;
    }
    let removed = sql.execute(REMOVE, &values[..2])?;
    if removed > 0 {
        let subject = format!("{package} publishers of others: {removed}");
        record_audit(sql, actor, "remove-publisher", &subject)?;
    }
    Ok(())
}

pub(super) fn is_trusted_only(
    sql: &mut dyn SqlConnection,
    package: &RegistryPackageName,
) -> Result<bool> {
    const ASK: &str = "SELECT EXISTS (SELECT 1 FROM packages
        WHERE namespace = $1 AND name = $2 AND trusted_only)";
    query_value(sql, ASK, &[package.namespace().into(), package.name().into()])
}

fn publisher(mut row: SqlRow) -> Result<TrustedPublisher> {
    let id = row.take()?;
    let (namespace, name): (String, String) = (row.take()?, row.take()?);
    let (issuer, audience, claims): (String, String, String) =
        (row.take()?, row.take()?, row.take()?);
    let claims: BTreeMap<String, String> =
        serde_json::from_str(&claims).map_err(|e| MetadataError::Database(e.into()))?;
    Ok(TrustedPublisher {
        id,
        package: format!("@{namespace}/{name}"),
        issuer,
        audience,
        claims,
        created_at: row.take()?,
        created_by: row.take()?,
        pending_until: row.take()?,
    })
}
