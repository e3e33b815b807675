//! The tables, for both databases, and the upgrade of older databases.
//!
//! The database contains the version of its schema. When it is opened, the scripts of all later
//! versions run in one transaction. A script that was released is never changed; add a new one.

use super::sql::{SqlConnection, SqlDialect, query_value};
use super::{MetadataError, Result};

/// The scripts that create version 1, 2 and so on from the version before. Placeholders in braces
/// are replaced with the types of the dialect.
const MIGRATIONS: [&str; 5] = [VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5];

const VERSION_1: &str = "
    CREATE TABLE IF NOT EXISTS tokens (
        id {id} PRIMARY KEY, username {name} NOT NULL, scope {name} NOT NULL, hash {bytes} NOT NULL UNIQUE,
        created_at {name} NOT NULL, revoked BOOLEAN NOT NULL DEFAULT FALSE);
    CREATE TABLE IF NOT EXISTS members (
        namespace {name} NOT NULL, username {name} NOT NULL, PRIMARY KEY (namespace, username));
    CREATE TABLE IF NOT EXISTS packages (
        id {id} PRIMARY KEY, namespace {name} NOT NULL, name {name} NOT NULL, kind {name} NOT NULL, description TEXT,
        words TEXT NOT NULL, private BOOLEAN NOT NULL DEFAULT FALSE, latest {name},
        downloads BIGINT NOT NULL DEFAULT 0, UNIQUE (namespace, name));
    CREATE INDEX IF NOT EXISTS packages_by_downloads ON packages (downloads DESC, id);
    CREATE TABLE IF NOT EXISTS versions (
        package BIGINT NOT NULL REFERENCES packages, version {name} NOT NULL, digest {bytes} NOT NULL,
        bytes BIGINT NOT NULL, published_at {name} NOT NULL, published_by {name} NOT NULL,
        yanked BOOLEAN NOT NULL DEFAULT FALSE, signer TEXT, item TEXT NOT NULL, manifest TEXT NOT NULL,
        report TEXT NOT NULL, PRIMARY KEY (package, version));
    CREATE TABLE IF NOT EXISTS context_packs (
        id {name} PRIMARY KEY, name TEXT NOT NULL, owner {name} NOT NULL, digest {bytes} NOT NULL,
        bytes BIGINT NOT NULL, files TEXT NOT NULL, pushed_at {name} NOT NULL,
        removed BOOLEAN NOT NULL DEFAULT FALSE);
    CREATE TABLE IF NOT EXISTS url_keys (
        id {id} PRIMARY KEY, kid {name} NOT NULL UNIQUE, secret {bytes} NOT NULL, pack {name},
        created_at {name} NOT NULL, revoked BOOLEAN NOT NULL DEFAULT FALSE);
    CREATE TABLE IF NOT EXISTS audit (
        id {id} PRIMARY KEY, at {name} NOT NULL, username {name} NOT NULL, action {name} NOT NULL,
        subject TEXT NOT NULL);
";

/// Tokens that expire and are limited to namespaces; roles of members.
const VERSION_2: &str = "
    ALTER TABLE tokens ADD COLUMN label TEXT;
    ALTER TABLE tokens ADD COLUMN expires_at {name};
    ALTER TABLE tokens ADD COLUMN last_used_at {name};
    ALTER TABLE tokens ADD COLUMN namespaces TEXT;
    ALTER TABLE members ADD COLUMN role {name} NOT NULL DEFAULT 'owner';
    CREATE INDEX members_by_user ON members (username);
";

/// Settings of namespaces, and tombstones of versions.
const VERSION_3: &str = "
    CREATE TABLE namespaces (
        name {name} PRIMARY KEY, private BOOLEAN NOT NULL DEFAULT FALSE);
    ALTER TABLE versions ADD COLUMN deleted_at {name};
    ALTER TABLE versions ADD COLUMN delete_reason TEXT;
    CREATE INDEX versions_by_publisher ON versions (published_by, published_at);
    CREATE INDEX versions_by_digest ON versions (digest);
";

/// What several registries on one database share: sessions, and the ID of their object store.
const VERSION_4: &str = "
    CREATE TABLE sessions (
        hash {bytes} PRIMARY KEY, token_hash {bytes} NOT NULL, expires_at {name} NOT NULL);
    CREATE INDEX sessions_by_expiry ON sessions (expires_at);
    CREATE TABLE settings (name {name} PRIMARY KEY, value TEXT NOT NULL);
";

/// Trusted publishers and their tokens, and users of an identity provider.
const VERSION_5: &str = "
    CREATE TABLE publishers (
        id {id} PRIMARY KEY, namespace {name} NOT NULL, name {name} NOT NULL, issuer {name} NOT NULL,
        audience TEXT NOT NULL, claims TEXT NOT NULL, created_at {name} NOT NULL,
        created_by {name} NOT NULL, pending_until {name});
    CREATE INDEX publishers_by_package ON publishers (namespace, name);
    CREATE INDEX publishers_by_issuer ON publishers (issuer);
    CREATE TABLE trusted_tokens (
        hash {bytes} PRIMARY KEY, publisher_ids TEXT NOT NULL, identity TEXT NOT NULL,
        expires_at {name} NOT NULL);
    CREATE TABLE used_identity_tokens (
        issuer {name} NOT NULL, token_id {bytes} NOT NULL, expires_at {name} NOT NULL,
        PRIMARY KEY (issuer, token_id));
    CREATE INDEX used_identity_tokens_by_expiry ON used_identity_tokens (expires_at);
    CREATE TABLE identities (
        issuer {name} NOT NULL, subject {name} NOT NULL, username {name} NOT NULL,
        created_at {name} NOT NULL, PRIMARY KEY (issuer, subject));
    ALTER TABLE packages ADD COLUMN trusted_only BOOLEAN NOT NULL DEFAULT FALSE;
    ALTER TABLE tokens ADD COLUMN is_web_login BOOLEAN NOT NULL DEFAULT FALSE;
";

/// A connection that can change the schema.
pub(super) trait SchemaConnection: SqlConnection {
    /// Runs several statements.
    fn run_script(&mut self, script: &str) -> Result<()>;
}

/// Upgrades a database to the current version. The caller runs this in a transaction that excludes
/// all others.
pub(super) fn migrate(sql: &mut dyn SchemaConnection, dialect: &SqlDialect) -> Result<()> {
    let found = schema_version(sql, dialect)?;
    let missing = usize::try_from(found).ok().and_then(|found| MIGRATIONS.get(found..));
    let missing =
        missing.ok_or(MetadataError::NewerSchema { found, supported: MIGRATIONS.len() })?;
    if missing.is_empty() {
        return Ok(());
    }
    for script in missing {
        let script = dialect
            .placeholders
            .iter()
            .fold((*script).to_owned(), |script, (name, kind)| script.replace(name, kind));
        sql.run_script(&script)?;
    }
    if found == 0 {
        sql.run_script(dialect.search_schema)?;
    }
    let version = MIGRATIONS.len();
    sql.run_script(&format!(
        "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL);
         DELETE FROM schema_version;
         INSERT INTO schema_version (version) VALUES ({version});"
    ))
}

/// Returns how many upgrades a database lacks.
pub(super) fn count_pending(sql: &mut dyn SqlConnection, dialect: &SqlDialect) -> Result<usize> {
    let found = schema_version(sql, dialect)?;
    let pending = usize::try_from(found).ok().and_then(|found| MIGRATIONS.len().checked_sub(found));
    pending.ok_or(MetadataError::NewerSchema { found, supported: MIGRATIONS.len() })
}

/// Returns the version of the schema; 0 for an empty database.
fn schema_version(sql: &mut dyn SqlConnection, dialect: &SqlDialect) -> Result<i64> {
    let mut exists =
        |table: &str| query_value::<bool>(sql, dialect.table_exists_query, &[table.into()]);
    // Version 1 does not contain its version.
    let (is_versioned, is_first) = (exists("schema_version")?, exists("tokens")?);
    if is_versioned {
        query_value(sql, "SELECT MAX(version) FROM schema_version", &[])
    } else {
        Ok(is_first.into())
    }
}
