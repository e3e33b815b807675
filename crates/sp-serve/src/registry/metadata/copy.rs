//! Copies all tables from one database to another, of either kind.
//!
//! A backup of a PostgreSQL database is a SQLite database, so both kinds of registries have the
//! same backups, and a registry can move from one kind to the other.

use super::sql::{SqlCell, SqlConnection, SqlParam, query_value};
use super::{Database, Result};

/// Number of rows that are in memory at a time.
const PAGE_ROWS: i64 = 500;

/// A table and the statements that copy it.
struct CopiedTable {
    select: &'static str,
    insert_sqlite: &'static str,
    insert_postgres: &'static str,
    /// The positions of booleans, which SQLite stores as integers.
    booleans: &'static [usize],
    /// Continues the numbering of IDs in PostgreSQL.
    set_sequence: Option<&'static str>,
}

macro_rules! table {
    ($name:literal, $columns:literal, $values:literal, $order:literal, $booleans:expr) => {
        CopiedTable {
            select: concat!(
                "SELECT ",
                $columns,
                " FROM ",
                $name,
                " ORDER BY ",
                $order,
                " LIMIT $1 OFFSET $2"
            ),
            insert_sqlite: concat!(
                "INSERT INTO ",
                $name,
                " (",
                $columns,
                ") VALUES (",
                $values,
                ")"
            ),
            insert_postgres: concat!(
                "INSERT INTO ",
                $name,
                " (",
                $columns,
                ") OVERRIDING SYSTEM VALUE VALUES (",
                $values,
                ")"
            ),
            booleans: $booleans,
            set_sequence: None,
        }
    };
    ($name:literal, $columns:literal, $values:literal, $booleans:expr) => {
        CopiedTable {
            set_sequence: Some(concat!(
                "SELECT setval(pg_get_serial_sequence('",
                $name,
                "', 'id'),
                 (SELECT COALESCE(MAX(id), 0) + 1 FROM ",
                $name,
                "), FALSE)"
            )),
            ..table!($name, $columns, $values, "id", $booleans)
        }
    };
}

/// All tables but sessions and the tokens of CI jobs, which live for minutes. A table comes after
/// those that it refers to.
const TABLES: &[CopiedTable] = &[
    table!(
        "tokens",
        "id, username, scope, hash, created_at, revoked, label, expires_at, last_used_at, namespaces, is_web_login",
        "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11",
        &[5, 10]
    ),
    table!("members", "namespace, username, role", "$1, $2, $3", "namespace, username", &[]),
    table!("namespaces", "name, private", "$1, $2", "name", &[1]),
    table!(
        "packages",
        "id, namespace, name, kind, description, words, private, latest, downloads, trusted_only",
        "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10",
        &[6, 9]
    ),
    table!(
        "versions",
        "package, version, digest, bytes, published_at, published_by, yanked, signer, item, manifest, report, deleted_at, delete_reason",
        "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13",
        "package, version",
        &[6]
    ),
    table!(
        "context_packs",
        "id, name, owner, digest, bytes, files, pushed_at, removed",
        "$1, $2, $3, $4, $5, $6, $7, $8",
        "id",
        &[7]
    ),
    table!(
        "url_keys",
        "id, kid, secret, pack, created_at, revoked",
        "$1, $2, $3, $4, $5, $6",
        &[5]
    ),
    table!(
        "publishers",
        "id, namespace, name, issuer, audience, claims, created_at, created_by, pending_until",
        "$1, $2, $3, $4, $5, $6, $7, $8, $9",
        &[]
    ),
    table!(
        "used_identity_tokens",
        "issuer, token_id, expires_at",
        "$1, $2, $3",
        "issuer, token_id",
        &[]
    ),
    table!(
        "identities",
        "issuer, subject, username, created_at",
        "$1, $2, $3, $4",
        "issuer, subject",
        &[]
    ),
    table!("audit", "id, at, username, action, subject", "$1, $2, $3, $4, $5", &[]),
    table!("settings", "name, value", "$1, $2", "name", &[]),
];

impl Database {
    /// Copies everything but sessions into a database that is empty, in one transaction.
    pub(crate) fn copy_into(&self, target: &Self) -> Result<()> {
        target.write(|to| {
            self.read_snapshot(|from| {
                TABLES.iter().try_for_each(|table| table.copy(from, to, target))
            })
        })
    }

    /// Whether nothing was stored yet.
    pub(crate) fn is_empty(&self) -> Result<bool> {
        const ASK: &str = "SELECT NOT EXISTS (SELECT 1 FROM tokens)
            AND NOT EXISTS (SELECT 1 FROM packages) AND NOT EXISTS (SELECT 1 FROM context_packs)
            AND NOT EXISTS (SELECT 1 FROM settings)";
        self.read(|sql| query_value(sql, ASK, &[]))
    }

    /// Runs queries that all see the same state.
    fn read_snapshot<T>(
        &self,
        work: impl FnOnce(&mut dyn SqlConnection) -> Result<T>,
    ) -> Result<T> {
        match self {
            Self::Sqlite(database) => database.read_snapshot(work),
            Self::Postgres(database) => database.read_snapshot(work),
        }
    }
}

impl CopiedTable {
    fn copy(
        &self,
        from: &mut dyn SqlConnection,
        to: &mut dyn SqlConnection,
        target: &Database,
    ) -> Result<()> {
        let is_postgres = matches!(target, Database::Postgres(_));
        let insert = if is_postgres { self.insert_postgres } else { self.insert_sqlite };
        for page in 0.. {
            let rows = from.query(self.select, &[PAGE_ROWS.into(), (page * PAGE_ROWS).into()])?;
            let is_last = i64::try_from(rows.len()).is_ok_and(|count| count < PAGE_ROWS);
            for row in rows {
                let cells = row.into_cells();
                let values: Vec<SqlParam<'_>> =
                    cells.iter().enumerate().map(|cell| self.parameter(cell)).collect();
                to.execute(insert, &values)?;
            }
            if is_last {
                break;
            }
        }
        match self.set_sequence.filter(|_| is_postgres) {
            Some(set_sequence) => to.query(set_sequence, &[]).map(drop),
            None => Ok(()),
        }
    }

    fn parameter<'a>(&self, (index, cell): (usize, &'a SqlCell)) -> SqlParam<'a> {
        match cell {
            SqlCell::Null => SqlParam::Null,
            SqlCell::Bool(flag) => SqlParam::Bool(*flag),
            SqlCell::Integer(number) if self.booleans.contains(&index) => {
                SqlParam::Bool(*number != 0)
            }
            SqlCell::Integer(number) => SqlParam::Integer(*number),
            SqlCell::Text(text) => SqlParam::Text(text),
            SqlCell::Bytes(bytes) => SqlParam::Bytes(bytes),
        }
    }
}
