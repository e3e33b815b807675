//! The tables, for both databases.

use super::sql::SqlDialect;

/// Placeholders in braces are replaced with the types of the dialect.
const SCHEMA: &str = "
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

/// Creates what is missing in a database.
pub(super) fn schema(dialect: &SqlDialect) -> String {
    let tables =
        dialect.placeholders.iter().fold(SCHEMA.to_owned(), |schema, (placeholder, sql_type)| {
            schema.replace(placeholder, sql_type)
        });
    tables + dialect.search_schema
}
