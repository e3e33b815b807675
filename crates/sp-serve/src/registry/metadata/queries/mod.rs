//! All queries. They run on both databases.

mod context_packs;
mod namespaces;
mod packages;
mod publish;
mod publishers;
mod quotas;
mod sessions;
mod settings;
mod sign_ins;
mod tokens;
mod trusted_tokens;

use super::sql::{SqlConnection, SqlRow, query_value};
use super::{NamespaceMember, NamespaceRole, RegistryReader, Result, TokenOwner, TokenScope};
use sp_formats::registry::RegistryPackageName;
use sp_tree::Digest;

struct PackageRow {
    id: i64,
    latest: Option<String>,
    private: bool,
    downloads: u64,
}

/// The first two parameters of queries that use `may_see!`.
fn visibility_params(reader: &RegistryReader) -> (bool, &str) {
    match reader {
        RegistryReader::Anonymous => (false, ""),
        RegistryReader::Member(namespaces) => (false, namespaces),
        RegistryReader::Admin => (true, ""),
    }
}

/// Finds a package that `reader` may see.
fn find_package(
    sql: &mut dyn SqlConnection,
    name: &RegistryPackageName,
    reader: &RegistryReader,
) -> Result<Option<PackageRow>> {
    const FIND: &str = concat!(
        "SELECT id, latest, private, downloads FROM packages WHERE namespace = $3 AND name = $4 AND ",
        may_see!()
    );
    let (all, user) = visibility_params(reader);
    let found =
        sql.first(FIND, &[all.into(), user.into(), name.namespace().into(), name.name().into()])?;
    let package = |mut row: SqlRow| {
        Ok(PackageRow {
            id: row.take()?,
            latest: row.take()?,
            private: row.take()?,
            downloads: row.take()?,
        })
    };
    found.map(package).transpose()
}

/// Returns whether a package is private; `None` if it does not exist.
fn package_privacy(
    sql: &mut dyn SqlConnection,
    name: &RegistryPackageName,
) -> Result<Option<bool>> {
    const FIND: &str = "SELECT private FROM packages WHERE namespace = $1 AND name = $2";
    let found = sql.first(FIND, &[name.namespace().into(), name.name().into()])?;
    found.map(|mut row| row.take()).transpose()
}

/// Returns the members of a namespace; empty if it has no owner.
fn members_of(sql: &mut dyn SqlConnection, namespace: &str) -> Result<Vec<NamespaceMember>> {
    const LIST: &str = "SELECT username, role FROM members WHERE namespace = $1 ORDER BY username";
    let member = |mut row: SqlRow| {
        let (user, role): (String, String) = (row.take()?, row.take()?);
        // The role of a later version permits nothing here.
        let role = NamespaceRole::parse(&role).unwrap_or(NamespaceRole::Reader);
        Ok(NamespaceMember { user, role })
    };
    sql.query(LIST, &[namespace.into()])?.into_iter().map(member).collect()
}

/// Returns the role of `who` in a namespace with these members.
fn role_in(
    namespace: &str,
    members: &[NamespaceMember],
    who: &TokenOwner,
) -> Option<NamespaceRole> {
    if who.scope == TokenScope::Admin {
        return Some(NamespaceRole::Owner);
    }
    let own = members.iter().find(|member| member.user == who.user);
    own.filter(|_| who.permits(namespace)).map(|member| member.role)
}

/// Whether `who` may publish into a namespace with these members. Anyone may publish into a
/// namespace without members.
fn can_publish(namespace: &str, members: &[NamespaceMember], who: &TokenOwner) -> bool {
    if members.is_empty() {
        who.permits(namespace)
    } else {
        role_in(namespace, members, who) >= Some(NamespaceRole::Publisher)
    }
}

fn set_role(
    sql: &mut dyn SqlConnection,
    namespace: &str,
    user: &str,
    role: NamespaceRole,
) -> Result<()> {
    const SET: &str = "INSERT INTO members (namespace, username, role) VALUES ($1, $2, $3)
        ON CONFLICT (namespace, username) DO UPDATE SET role = excluded.role";
    sql.execute(SET, &[namespace.into(), user.into(), role.as_str().into()]).map(drop)
}

#[derive(Clone, Copy)]
struct AuditActor<'a> {
    who: &'a TokenOwner,
    at: &'a str,
}

/// Adds an entry to the audit log.
fn record_audit(
    sql: &mut dyn SqlConnection,
    actor: AuditActor<'_>,
    action: &str,
    subject: &str,
) -> Result<()> {
    const NOTE: &str = "INSERT INTO audit (at, username, action, subject) VALUES ($1, $2, $3, $4)";
    let AuditActor { who, at } = actor;
    sql.execute(NOTE, &[at.into(), (&who.user).into(), action.into(), subject.into()]).map(drop)
}

/// Whether anything consists of an object.
fn is_referenced(sql: &mut dyn SqlConnection, digest: &Digest) -> Result<bool> {
    const ASK: &str = "SELECT
        EXISTS (SELECT 1 FROM versions WHERE digest = $1 AND deleted_at IS NULL)
        OR EXISTS (SELECT 1 FROM context_packs WHERE digest = $1 OR files LIKE $2)";
    let file = format!("%{}%", digest.hex());
    query_value(sql, ASK, &[digest.into(), (&file).into()])
}
