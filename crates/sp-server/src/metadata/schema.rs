//! The tables, once for both databases.

use super::sql::Dialect;

/// Every table. What is in braces is said in each database's own words.
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
    CREATE TABLE IF NOT EXISTS versions (
        package BIGINT NOT NULL REFERENCES packages, version {name} NOT NULL, digest {bytes} NOT NULL,
        bytes BIGINT NOT NULL, published_at {name} NOT NULL, published_by {name} NOT NULL,
        yanked BOOLEAN NOT NULL DEFAULT FALSE, signer TEXT, item TEXT NOT NULL, manifest TEXT NOT NULL,
        report TEXT NOT NULL, PRIMARY KEY (package, version));
    CREATE TABLE IF NOT EXISTS audit (
        id {id} PRIMARY KEY, at {name} NOT NULL, username {name} NOT NULL, action {name} NOT NULL,
        subject TEXT NOT NULL);
";

/// Everything that a new database is given; an old one has it already.
pub(super) fn schema(dialect: &Dialect) -> String {
    let said = dialect.words.iter().fold(SCHEMA.to_owned(), |schema, (word, said)| schema.replace(word, said));
    said + dialect.schema
}
