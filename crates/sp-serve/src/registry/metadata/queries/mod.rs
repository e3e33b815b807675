//! All queries. They run on both databases.

mod context_packs;
mod namespaces;
mod packages;
mod publish;
mod tokens;

use super::sql::{SqlConnection, SqlRow};
use super::{RegistryReader, Result, TokenOwner, TokenScope};
use sp_formats::registry::RegistryPackageName;

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
        RegistryReader::User(user) => (false, user),
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

/// Returns the members of a namespace; empty if it has no owner.
fn members_of(sql: &mut dyn SqlConnection, namespace: &str) -> Result<Vec<String>> {
    const LIST: &str = "SELECT username FROM members WHERE namespace = $1 ORDER BY username";
    sql.query(LIST, &[namespace.into()])?.into_iter().map(|mut row| row.take()).collect()
}

/// Whether `who` may publish into a namespace with these members.
fn can_manage(members: &[String], who: &TokenOwner) -> bool {
    who.scope == TokenScope::Admin || members.contains(&who.user)
}

fn add_member(sql: &mut dyn SqlConnection, namespace: &str, user: &str) -> Result<()> {
    const ADD: &str =
        "INSERT INTO members (namespace, username) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    sql.execute(ADD, &[namespace.into(), user.into()]).map(drop)
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
