//! The database in one SQLite file.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, Statement, ToSql, TransactionBehavior};

use super::schema::{SchemaConnection, count_pending, migrate};
use super::sql::{SqlCell, SqlConnection, SqlDialect, SqlParam, SqlRow};
use super::{MetadataError, Result};

const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
const READER_COUNT: usize = 4;
/// Number of prepared statements per connection.
const STATEMENT_CACHE_SIZE: usize = 128;

pub(super) const DIALECT: SqlDialect = SqlDialect {
    placeholders: &[("{id}", "INTEGER"), ("{name}", "TEXT"), ("{bytes}", "BLOB")],
    table_exists_query: "SELECT EXISTS (
        SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1)",
    search_schema: "
        CREATE VIRTUAL TABLE IF NOT EXISTS found USING fts5 (name, words, tokenize = 'trigram');
        CREATE TRIGGER IF NOT EXISTS found_first AFTER INSERT ON packages BEGIN
            INSERT INTO found (rowid, name, words) VALUES (new.id, new.namespace || '/' || new.name, new.words);
        END;
        CREATE TRIGGER IF NOT EXISTS found_again AFTER UPDATE OF words ON packages WHEN old.words <> new.words BEGIN
            UPDATE found SET words = new.words WHERE rowid = new.id;
        END;
    ",
    // The match expression decides between all and any.
    match_all_query: MATCH_QUERY,
    match_any_query: MATCH_QUERY,
    match_all_expression: |words| quote_words(words).join(" AND "),
    match_any_expression: |parts| quote_words(parts).join(" OR "),
};

const MATCH_QUERY: &str = concat!(
    "SELECT namespace, packages.name, kind, latest, description, downloads
     FROM found JOIN packages ON packages.id = found.rowid
     WHERE found MATCH $3 AND ",
    may_see!(),
    " ORDER BY found.rowid DESC LIMIT $4"
);

/// A quoted word also matches within other words.
fn quote_words(words: &[String]) -> Vec<String> {
    words.iter().map(|word| format!("\"{word}\"")).collect()
}

/// A SQLite file with one connection for writing and several for reading.
pub(crate) struct SqliteDatabase {
    writer: Mutex<Connection>,
    readers: Vec<Mutex<Connection>>,
}

impl SqliteDatabase {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let mut writer = connect(path)?;
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        migrate(&mut SqliteSession(&transaction), &DIALECT)?;
        transaction.commit()?;
        let readers =
            (0..READER_COUNT).map(|_| connect(path).map(Mutex::new)).collect::<Result<_>>()?;
        Ok(Self { writer: Mutex::new(writer), readers })
    }

    /// Returns how many upgrades a file lacks, without changing it. A missing one lacks all.
    pub(super) fn pending_migrations(path: &Path) -> Result<usize> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = match Connection::open_with_flags(path, flags) {
            Ok(connection) => connection,
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) => {
                Connection::open_in_memory()?
            }
            Err(error) => return Err(error.into()),
        };
        connection.busy_timeout(BUSY_TIMEOUT)?;
        count_pending(&mut SqliteSession(&connection), &DIALECT)
    }

    /// Reads with an idle connection.
    pub(super) fn read<T>(&self, work: impl Fn(&mut dyn SqlConnection) -> Result<T>) -> Result<T> {
        let free = self.readers.iter().find_map(|reader| reader.try_lock().ok());
        let reader = match free {
            Some(reader) => reader,
            // All are busy: wait for the first one.
            None => self.readers[0].lock().unwrap_or_else(PoisonError::into_inner),
        };
        work(&mut SqliteSession(&reader))
    }

    /// Runs queries that all see the same state.
    pub(super) fn read_snapshot<T>(
        &self,
        work: impl FnOnce(&mut dyn SqlConnection) -> Result<T>,
    ) -> Result<T> {
        let mut reader = self.readers[0].lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = reader.transaction()?;
        let done = work(&mut SqliteSession(&transaction))?;
        transaction.commit()?;
        Ok(done)
    }

    pub(super) fn write<T>(&self, work: impl Fn(&mut dyn SqlConnection) -> Result<T>) -> Result<T> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = work(&mut SqliteSession(&transaction))?;
        transaction.commit()?;
        Ok(done)
    }
}

struct SqliteSession<'a>(&'a Connection);

impl SqlConnection for SqliteSession<'_> {
    fn query(&mut self, sql: &'static str, values: &[SqlParam<'_>]) -> Result<Vec<SqlRow>> {
        let mut statement = self.0.prepare_cached(sql)?;
        bind(&mut statement, values)?;
        let width = statement.column_count();
        let mut rows = statement.raw_query();
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let cells =
                (0..width).map(|index| to_cell(row.get_ref(index)?)).collect::<Result<_>>()?;
            found.push(SqlRow::new(cells));
        }
        Ok(found)
    }

    fn execute(&mut self, sql: &'static str, values: &[SqlParam<'_>]) -> Result<u64> {
        let mut statement = self.0.prepare_cached(sql)?;
        bind(&mut statement, values)?;
        Ok(statement.raw_execute()? as u64)
    }
}

impl SchemaConnection for SqliteSession<'_> {
    fn run_script(&mut self, script: &str) -> Result<()> {
        Ok(self.0.execute_batch(script)?)
    }
}

/// In SQLite, `$1` is a name and not an index: bind each parameter by its name.
fn bind(statement: &mut Statement<'_>, values: &[SqlParam<'_>]) -> Result<()> {
    for index in 1..=statement.parameter_count() {
        let number = statement
            .parameter_name(index)
            .and_then(|name| name.strip_prefix('$')?.parse::<usize>().ok());
        let value = number.and_then(|number| values.get(number.checked_sub(1)?));
        let value = value
            .ok_or_else(|| MetadataError::Database("missing value for a query parameter".into()))?;
        statement.raw_bind_parameter(index, value)?;
    }
    Ok(())
}

impl ToSql for SqlParam<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Bool(flag) => ValueRef::Integer((*flag).into()),
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

fn to_cell(value: ValueRef<'_>) -> Result<SqlCell> {
    Ok(match value {
        ValueRef::Null => SqlCell::Null,
        ValueRef::Integer(number) => SqlCell::Integer(number),
        ValueRef::Text(text) => SqlCell::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => SqlCell::Bytes(bytes.to_vec()),
        ValueRef::Real(_) => {
            return Err(MetadataError::Database("unexpected floating-point column".into()));
        }
    })
}

/// Copies a consistent snapshot of a database, which may be in use.
pub(crate) fn snapshot(from: &Path, to: &Path) -> Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(from, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    let found: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if found != "ok" {
        return Err(MetadataError::Database(
            format!("`{}` is damaged: {found}", from.display()).into(),
        ));
    }
    let to = to.to_str().ok_or_else(|| {
        MetadataError::Database("the path of the data directory is not valid UTF-8".into())
    })?;
    connection.execute("VACUUM INTO ?1", [to])?;
    Ok(())
}

fn connect(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE_SIZE);
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // A version that was acknowledged with 201 survives a power failure.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}

impl From<rusqlite::Error> for MetadataError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            _ => Self::Database(error.into()),
        }
    }
}
