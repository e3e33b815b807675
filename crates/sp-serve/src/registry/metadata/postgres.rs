//! A PostgreSQL database, with a pool of connections.
//!
//! Writes run in SERIALIZABLE transactions, which are retried when they conflict. Reads are retried
//! when their connection turns out to be closed.

use std::borrow::Cow;
use std::collections::HashMap;
use std::error::Error as _;
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::str::FromStr;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use postgres::config::{Host, SslMode};
use postgres::error::SqlState;
use postgres::types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked};
use postgres::{Client, Config, NoTls, Statement};
use rustls_platform_verifier::BuilderVerifierExt;
use thiserror::Error;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::schema::{SchemaConnection, count_pending, migrate};
use super::sql::{SqlCell, SqlConnection, SqlDialect, SqlParam, SqlRow};
use super::{MetadataError, Result};

/// Maximum time to wait for a connection, and to retry a transaction.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(20);
const TCP_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_CONNECTIONS: usize = 8;
const MAX_RETRY_DELAY_MS: u64 = 40;

/// No statement or idle transaction lasts forever.
const SESSION_SETUP: &str =
    "SET statement_timeout = '30s'; SET idle_in_transaction_session_timeout = '60s'";

/// Several registries may start at once; one at a time changes the schema.
const SCHEMA_LOCK: &str = "BEGIN; SELECT pg_advisory_xact_lock(7878787878);";

pub(super) const DIALECT: SqlDialect = SqlDialect {
    placeholders: &[
        ("{id}", "BIGINT GENERATED ALWAYS AS IDENTITY"),
        // Names sort by bytes, whatever the locale of the server is.
        ("{name}", "TEXT COLLATE \"C\""),
        ("{bytes}", "BYTEA"),
    ],
    table_exists_query: "SELECT to_regclass($1) IS NOT NULL",
    search_schema: "
        CREATE EXTENSION IF NOT EXISTS pg_trgm;
        CREATE INDEX IF NOT EXISTS packages_words ON packages USING gin (words gin_trgm_ops);
    ",
    match_all_query: concat!(
        "SELECT namespace, name, kind, latest, description, downloads FROM packages
         WHERE words LIKE ALL (string_to_array($3, ' ')) AND ",
        may_see!(),
        " ORDER BY id DESC LIMIT $4"
    ),
    match_any_query: concat!(
        "SELECT namespace, name, kind, latest, description, downloads FROM packages
         WHERE words LIKE ANY (string_to_array($3, ' ')) AND ",
        may_see!(),
        " ORDER BY id DESC LIMIT $4"
    ),
    match_all_expression: like_patterns,
    match_any_expression: like_patterns,
};

fn like_patterns(words: &[String]) -> String {
    words.iter().map(|word| format!("%{word}%")).collect::<Vec<_>>().join(" ")
}

/// The address of a PostgreSQL database. `Display` and `Debug` leave out the password.
#[derive(Clone)]
pub struct PostgresAddress(Box<Config>);

/// An invalid database address. Not part of the message, since it may contain a password.
#[derive(Debug, Error)]
#[error("invalid database URL; expected `postgres://user:password@host/database`")]
pub struct PostgresAddressError;

impl FromStr for PostgresAddress {
    type Err = PostgresAddressError;

    fn from_str(text: &str) -> Result<Self, PostgresAddressError> {
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(PostgresAddressError);
        }
        let mut config: Config = text.parse().map_err(|_| PostgresAddressError)?;
        if config.get_hosts().is_empty() {
            return Err(PostgresAddressError);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(DATABASE_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("sp");
        }
        config.tcp_user_timeout(TCP_TIMEOUT).keepalives_idle(TCP_TIMEOUT);
        Ok(Self(Box::new(config)))
    }
}

impl fmt::Display for PostgresAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = self.0.get_ports().first().copied().unwrap_or(5432);
        match self.0.get_hosts().first() {
            Some(Host::Tcp(host)) => write!(out, "postgres://{host}:{port}")?,
            Some(Host::Unix(path)) => write!(out, "postgres://{}:{port}", path.display())?,
            None => write!(out, "postgres://")?,
        }
        self.0.get_dbname().map_or(Ok(()), |name| write!(out, "/{name}"))
    }
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

pub(crate) struct PostgresDatabase {
    address: PostgresAddress,
    tls: Option<MakeRustlsConnect>,
    pool: Mutex<PostgresPool>,
    released: Condvar,
}

#[derive(Default)]
struct PostgresPool {
    idle: Vec<PostgresConnection>,
    open_count: usize,
}

impl PostgresDatabase {
    pub(super) fn open(address: &PostgresAddress) -> Result<Self> {
        let opened = Self::new(address)?;
        let mut lease = opened.lease()?;
        let connection = lease.connection()?;
        connection.execute_batch(SCHEMA_LOCK)?;
        let migrated = migrate(connection, &DIALECT);
        let end = if migrated.is_ok() { "COMMIT" } else { "ROLLBACK" };
        connection.execute_batch(end)?;
        migrated?;
        lease.release();
        Ok(opened)
    }

    pub(super) fn pending_migrations(address: &PostgresAddress) -> Result<usize> {
        Self::new(address)?.read(|sql| count_pending(sql, &DIALECT))
    }

    fn new(address: &PostgresAddress) -> Result<Self> {
        let tls = match address.0.get_ssl_mode() {
            SslMode::Require => Some(tls_connector()?),
            _ => None,
        };
        Ok(Self {
            address: address.clone(),
            tls,
            pool: Mutex::new(PostgresPool::default()),
            released: Condvar::new(),
        })
    }

    pub(super) fn read<T>(&self, work: impl Fn(&mut dyn SqlConnection) -> Result<T>) -> Result<T> {
        self.with_retries(|lease| work(lease.connection()?))
    }

    pub(super) fn write<T>(&self, work: impl Fn(&mut dyn SqlConnection) -> Result<T>) -> Result<T> {
        self.with_retries(|lease| {
            let link = lease.connection()?;
            link.execute_batch("BEGIN ISOLATION LEVEL SERIALIZABLE")?;
            let done = match work(link) {
                Ok(done) => done,
                Err(error) => {
                    // If this fails, the connection is lost and the server rolls back.
                    let _ = link.execute_batch("ROLLBACK");
                    return Err(error);
                }
            };
            link.execute_batch("COMMIT").map_err(|error| match error {
                // Whether the commit took effect is unknown, so do not retry it.
                MetadataError::ConnectionLost(source) => MetadataError::Database(source),
                other => other,
            })?;
            Ok(done)
        })
    }

    /// Runs queries that all see the same state. They are not retried.
    pub(super) fn read_snapshot<T>(
        &self,
        work: impl FnOnce(&mut dyn SqlConnection) -> Result<T>,
    ) -> Result<T> {
        let mut lease = self.lease()?;
        let connection = lease.connection()?;
        connection.execute_batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        let done = work(connection)?;
        connection.execute_batch("COMMIT")?;
        lease.release();
        Ok(done)
    }

    /// Retries conflicts and lost connections with exponential backoff.
    fn with_retries<T>(&self, work: impl Fn(&mut PostgresLease<'_>) -> Result<T>) -> Result<T> {
        let begun = Instant::now();
        let mut pause = 1;
        loop {
            let mut lease = self.lease()?;
            let done = work(&mut lease);
            lease.release();
            match done {
                Err(MetadataError::Conflict | MetadataError::ConnectionLost(_))
                    if begun.elapsed() < DATABASE_TIMEOUT => {}
                done => return done,
            }
            std::thread::sleep(Duration::from_millis(1 + random_jitter() % pause));
            pause = (pause * 2).min(MAX_RETRY_DELAY_MS);
        }
    }

    fn lease(&self) -> Result<PostgresLease<'_>> {
        let begun = Instant::now();
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(link) = pool.idle.pop() {
                return Ok(PostgresLease { database: self, connection: Some(link) });
            }
            if pool.open_count < MAX_CONNECTIONS {
                pool.open_count += 1;
                drop(pool);
                let mut lease = PostgresLease { database: self, connection: None };
                lease.connection = Some(self.connect()?);
                return Ok(lease);
            }
            let left = DATABASE_TIMEOUT.checked_sub(begun.elapsed());
            let left = left.ok_or_else(|| {
                MetadataError::Database("timed out waiting for a database connection".into())
            })?;
            pool = self.released.wait_timeout(pool, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn connect(&self) -> Result<PostgresConnection> {
        let connected = match &self.tls {
            Some(tls) => self.address.0.connect(tls.clone()),
            None => {
                let mut config = self.address.0.clone();
                config.ssl_mode(SslMode::Disable).connect(NoTls)
            }
        };
        let mut link = PostgresConnection {
            client: connected.map_err(|e| classify_error(e, false))?,
            prepared: HashMap::new(),
        };
        link.execute_batch(SESSION_SETUP)?;
        Ok(link)
    }
}

/// Uses the certificates that the operating system trusts.
fn tls_connector() -> Result<MakeRustlsConnect> {
    let provider = rustls::crypto::ring::default_provider().into();
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(|e| MetadataError::Database(e.into()))?;
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

/// Avoids that conflicting transactions are retried at the same moment.
fn random_jitter() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A connection that is in use. Dropping it without `release`, as in a panic, closes the
/// connection.
struct PostgresLease<'a> {
    database: &'a PostgresDatabase,
    connection: Option<PostgresConnection>,
}

impl PostgresLease<'_> {
    fn connection(&mut self) -> Result<&mut PostgresConnection> {
        self.connection
            .as_mut()
            .ok_or_else(|| MetadataError::Database("the connection was closed".into()))
    }

    fn release(mut self) {
        let Some(link) = self.connection.take_if(|link| !link.client.is_closed()) else { return };
        let mut pool = self.database.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.idle.push(link);
        // Balances the decrement when this lease is dropped.
        pool.open_count += 1;
    }
}

impl Drop for PostgresLease<'_> {
    fn drop(&mut self) {
        drop(self.connection.take());
        let mut pool = self.database.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.open_count -= 1;
        drop(pool);
        self.database.released.notify_one();
    }
}

/// A connection and its prepared statements.
struct PostgresConnection {
    client: Client,
    prepared: HashMap<&'static str, Statement>,
}

impl PostgresConnection {
    fn execute_batch(&mut self, script: &str) -> Result<()> {
        self.client.batch_execute(script).map_err(|e| classify_error(e, self.client.is_closed()))
    }

    fn prepare(&mut self, sql: &'static str) -> Result<Statement> {
        if let Some(known) = self.prepared.get(sql) {
            return Ok(known.clone());
        }
        let new =
            self.client.prepare(sql).map_err(|e| classify_error(e, self.client.is_closed()))?;
        self.prepared.insert(sql, new.clone());
        Ok(new)
    }
}

fn to_parameters<'a>(values: &'a [SqlParam<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

impl SqlConnection for PostgresConnection {
    fn query(&mut self, sql: &'static str, values: &[SqlParam<'_>]) -> Result<Vec<SqlRow>> {
        let statement = self.prepare(sql)?;
        let rows = self.client.query(&statement, &to_parameters(values));
        rows.map_err(|e| classify_error(e, self.client.is_closed()))?.iter().map(to_row).collect()
    }

    fn execute(&mut self, sql: &'static str, values: &[SqlParam<'_>]) -> Result<u64> {
        let statement = self.prepare(sql)?;
        self.client
            .execute(&statement, &to_parameters(values))
            .map_err(|e| classify_error(e, self.client.is_closed()))
    }
}

impl SchemaConnection for PostgresConnection {
    fn run_script(&mut self, script: &str) -> Result<()> {
        self.execute_batch(script)
    }
}

impl ToSql for SqlParam<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Bool(flag) => flag.to_sql(kind, out),
            Self::Integer(number) => number.to_sql(kind, out),
            Self::Text(text) => replace_nul(text).to_sql(kind, out),
            Self::Bytes(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// PostgreSQL cannot store NUL in text. Names never contain it; in descriptions it is replaced.
fn replace_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

fn to_row(row: &postgres::Row) -> Result<SqlRow> {
    let cells =
        row.columns().iter().enumerate().map(|(index, column)| to_cell(row, index, column.type_()));
    Ok(SqlRow::new(
        cells
            .collect::<Result<_, postgres::Error>>()
            .map_err(|e| MetadataError::Database(e.into()))?,
    ))
}

fn to_cell(row: &postgres::Row, index: usize, kind: &Type) -> Result<SqlCell, postgres::Error> {
    let found = match *kind {
        Type::BOOL => row.try_get::<_, Option<bool>>(index)?.map(SqlCell::Bool),
        Type::INT8 => row.try_get::<_, Option<i64>>(index)?.map(SqlCell::Integer),
        Type::INT4 => {
            row.try_get::<_, Option<i32>>(index)?.map(|number| SqlCell::Integer(number.into()))
        }
        Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(index)?.map(SqlCell::Bytes),
        _ => row.try_get::<_, Option<String>>(index)?.map(SqlCell::Text),
    };
    Ok(found.unwrap_or(SqlCell::Null))
}

/// Classifies an error by whether a retry may help.
fn classify_error(error: postgres::Error, is_closed: bool) -> MetadataError {
    let code = error.code().cloned();
    let is = |codes: &[SqlState]| code.as_ref().is_some_and(|code| codes.contains(code));
    if is(&[SqlState::DISK_FULL]) {
        return MetadataError::DiskFull;
    }
    if is(&[SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED]) {
        return MetadataError::Conflict;
    }
    let is_ending =
        is(&[SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW]);
    let is_cut = error.source().is_some_and(<dyn std::error::Error>::is::<std::io::Error>);
    if is_closed || is_ending || is_cut || error.is_closed() {
        MetadataError::ConnectionLost(error.into())
    } else {
        MetadataError::Database(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_and_debug_omit_the_password() {
        let address: PostgresAddress =
            "postgres://ann:s3cret@db.test:5433/registry?sslmode=require".parse().unwrap();
        assert_eq!(address.to_string(), "postgres://db.test:5433/registry");
        assert!(!format!("{address:?}").contains("s3cret"));
    }

    #[test]
    fn parse_errors_do_not_contain_the_input() {
        for text in [
            "mysql://ann:s3cret@db/x",
            "postgres://ann:s3cret@db/x?s3cret=1",
            "host=db password=s3cret",
            "",
        ] {
            let error = text.parse::<PostgresAddress>().unwrap_err();
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
    }
}
