//! The database in a PostgreSQL server: a few connections that are lent, and replaced when they die.
//!
//! Whatever changes several things does so in a SERIALIZABLE transaction, and once more if it met another one.

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

use super::schema::schema;
use super::sql::{Cell, Dialect, Row, Sql, Value};
use super::{MetadataError, Result};

/// How long a connection, or a transaction that meets others, is waited for.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a silent server counts as alive.
const SILENCE: Duration = Duration::from_secs(30);
/// So many connections are open at the most.
const CONNECTIONS: usize = 8;
/// The longest pause before a transaction is tried again, in milliseconds.
const LONGEST_PAUSE: u64 = 40;

/// What every connection begins with: nothing holds the registry, or the database, for ever.
const BEGINNING: &str = "SET statement_timeout = '30s'; SET idle_in_transaction_session_timeout = '60s'";

/// The schema is made by one registry at a time, however many start at once.
const ONE_AT_A_TIME: &str = "BEGIN; SELECT pg_advisory_xact_lock(7878787878);";

pub(super) const DIALECT: Dialect = Dialect {
    words: &[
        ("{id}", "BIGINT GENERATED ALWAYS AS IDENTITY"),
        // Names have the same order everywhere, whatever language the server speaks.
        ("{name}", "TEXT COLLATE \"C\""),
        ("{bytes}", "BYTEA"),
    ],
    schema: "
        CREATE EXTENSION IF NOT EXISTS pg_trgm;
        CREATE INDEX IF NOT EXISTS packages_words ON packages USING gin (words gin_trgm_ops);
    ",
    with_all: concat!(
        "SELECT namespace, name, kind, latest, description, downloads FROM packages
         WHERE words LIKE ALL (string_to_array($3, ' ')) AND ",
        may_see!(),
        " ORDER BY id DESC LIMIT $4"
    ),
    with_any: concat!(
        "SELECT namespace, name, kind, latest, description, downloads FROM packages
         WHERE words LIKE ANY (string_to_array($3, ' ')) AND ",
        may_see!(),
        " ORDER BY id DESC LIMIT $4"
    ),
    all: patterns,
    any: patterns,
};

fn patterns(words: &[String]) -> String {
    words.iter().map(|word| format!("%{word}%")).collect::<Vec<_>>().join(" ")
}

/// Where a PostgreSQL database is, and how one gets in. Shown, it has no password.
#[derive(Clone)]
pub struct PostgresAddress(Box<Config>);

/// A text that is no address of a database. The text may hold a password, so it is not shown.
#[derive(Debug, Error)]
#[error("the address of the database is not `postgres://user:password@host/database`")]
pub struct NoAddress;

impl FromStr for PostgresAddress {
    type Err = NoAddress;

    fn from_str(text: &str) -> Result<Self, NoAddress> {
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(NoAddress);
        }
        let mut config: Config = text.parse().map_err(|_| NoAddress)?;
        if config.get_hosts().is_empty() {
            return Err(NoAddress);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(PATIENCE);
        }
        if config.get_application_name().is_none() {
            config.application_name("sp");
        }
        config.tcp_user_timeout(SILENCE).keepalives_idle(SILENCE);
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

/// The server, with the connections that nobody uses just now.
pub(crate) struct Postgres {
    address: PostgresAddress,
    tls: Option<MakeRustlsConnect>,
    pool: Mutex<Pool>,
    freed: Condvar,
}

#[derive(Default)]
struct Pool {
    idle: Vec<Link>,
    open: usize,
}

impl Postgres {
    pub(super) fn open(address: &PostgresAddress) -> Result<Self> {
        let tls = match address.0.get_ssl_mode() {
            SslMode::Require => Some(tls()?),
            _ => None,
        };
        let opened = Self { address: address.clone(), tls, pool: Mutex::new(Pool::default()), freed: Condvar::new() };
        let mut lease = opened.lease()?;
        let script = format!("{ONE_AT_A_TIME} {} COMMIT", schema(&DIALECT));
        lease.link()?.run(&script)?;
        lease.give_back();
        Ok(opened)
    }

    /// Reads; once more if the connection turns out to be dead.
    pub(super) fn read<T>(&self, work: impl Fn(&mut dyn Sql) -> Result<T>) -> Result<T> {
        self.until_done(|lease| work(lease.link()?))
    }

    /// Changes something, all of it or nothing.
    pub(super) fn change<T>(&self, work: impl Fn(&mut dyn Sql) -> Result<T>) -> Result<T> {
        self.until_done(|lease| {
            let link = lease.link()?;
            link.run("BEGIN ISOLATION LEVEL SERIALIZABLE")?;
            let done = match work(link) {
                Ok(done) => done,
                Err(error) => {
                    // Whoever cannot even roll back has lost the connection, and with it the transaction.
                    let _ = link.run("ROLLBACK");
                    return Err(error);
                }
            };
            link.run("COMMIT").map_err(|error| match error {
                // Nobody knows whether it was done, so it is not done again.
                MetadataError::Lost(source) => MetadataError::Database(source),
                other => other,
            })?;
            Ok(done)
        })
    }

    /// Tries again what met another transaction, or a connection that had died.
    fn until_done<T>(&self, work: impl Fn(&mut Lease<'_>) -> Result<T>) -> Result<T> {
        let begun = Instant::now();
        let mut pause = 1;
        loop {
            let mut lease = self.lease()?;
            let done = work(&mut lease);
            lease.give_back();
            match done {
                Err(MetadataError::Raced | MetadataError::Lost(_)) if begun.elapsed() < PATIENCE => {}
                done => return done,
            }
            std::thread::sleep(Duration::from_millis(1 + dice() % pause));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn lease(&self) -> Result<Lease<'_>> {
        let begun = Instant::now();
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(link) = pool.idle.pop() {
                return Ok(Lease { home: self, link: Some(link) });
            }
            if pool.open < CONNECTIONS {
                pool.open += 1;
                drop(pool);
                let mut lease = Lease { home: self, link: None };
                lease.link = Some(self.connect()?);
                return Ok(lease);
            }
            let left = PATIENCE.checked_sub(begun.elapsed());
            let left = left.ok_or_else(|| MetadataError::Database("every connection is busy".into()))?;
            pool = self.freed.wait_timeout(pool, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn connect(&self) -> Result<Link> {
        let connected = match &self.tls {
            Some(tls) => self.address.0.connect(tls.clone()),
            None => {
                let mut config = self.address.0.clone();
                config.ssl_mode(SslMode::Disable).connect(NoTls)
            }
        };
        let mut link = Link { client: connected.map_err(|e| failed(e, false))?, prepared: HashMap::new() };
        link.run(BEGINNING)?;
        Ok(link)
    }
}

/// Certificates are those that the system trusts.
fn tls() -> Result<MakeRustlsConnect> {
    let provider = rustls::crypto::ring::default_provider().into();
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(|e| MetadataError::Database(e.into()))?;
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

/// Some number: those who met once do not meet again at the same moment.
fn dice() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A connection that is lent. What is not given back, as after a panic, is closed.
struct Lease<'a> {
    home: &'a Postgres,
    link: Option<Link>,
}

impl Lease<'_> {
    fn link(&mut self) -> Result<&mut Link> {
        self.link.as_mut().ok_or_else(|| MetadataError::Database("the connection is gone".into()))
    }

    fn give_back(mut self) {
        let Some(link) = self.link.take_if(|link| !link.client.is_closed()) else { return };
        let mut pool = self.home.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.idle.push(link);
        // Dropping what is left of this lease must not count the connection as closed.
        pool.open += 1;
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        drop(self.link.take());
        let mut pool = self.home.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.open -= 1;
        drop(pool);
        self.home.freed.notify_one();
    }
}

/// A connection, and what is prepared on it.
struct Link {
    client: Client,
    prepared: HashMap<&'static str, Statement>,
}

impl Link {
    fn run(&mut self, script: &str) -> Result<()> {
        self.client.batch_execute(script).map_err(|e| failed(e, self.client.is_closed()))
    }

    fn prepare(&mut self, sql: &'static str) -> Result<Statement> {
        if let Some(known) = self.prepared.get(sql) {
            return Ok(known.clone());
        }
        let new = self.client.prepare(sql).map_err(|e| failed(e, self.client.is_closed()))?;
        self.prepared.insert(sql, new.clone());
        Ok(new)
    }
}

fn parameters<'a>(values: &'a [Value<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

impl Sql for Link {
    fn query(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>> {
        let statement = self.prepare(sql)?;
        let rows = self.client.query(&statement, &parameters(values));
        rows.map_err(|e| failed(e, self.client.is_closed()))?.iter().map(row).collect()
    }

    fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<u64> {
        let statement = self.prepare(sql)?;
        self.client.execute(&statement, &parameters(values)).map_err(|e| failed(e, self.client.is_closed()))
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Flag(flag) => flag.to_sql(kind, out),
            Self::Integer(number) => number.to_sql(kind, out),
            Self::Text(text) => plain(text).to_sql(kind, out),
            Self::Bytes(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// PostgreSQL has no text with NUL in it. Nothing that is looked up by name has one; in prose it is shown as
/// what could not be shown.
fn plain(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

fn row(row: &postgres::Row) -> Result<Row> {
    let cells = row.columns().iter().enumerate().map(|(index, column)| cell(row, index, column.type_()));
    Ok(Row::new(cells.collect::<Result<_, postgres::Error>>().map_err(|e| MetadataError::Database(e.into()))?))
}

fn cell(row: &postgres::Row, index: usize, kind: &Type) -> Result<Cell, postgres::Error> {
    let found = match *kind {
        Type::BOOL => row.try_get::<_, Option<bool>>(index)?.map(Cell::Flag),
        Type::INT8 => row.try_get::<_, Option<i64>>(index)?.map(Cell::Integer),
        Type::INT4 => row.try_get::<_, Option<i32>>(index)?.map(|number| Cell::Integer(number.into())),
        Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(index)?.map(Cell::Bytes),
        _ => row.try_get::<_, Option<String>>(index)?.map(Cell::Text),
    };
    Ok(found.unwrap_or(Cell::Null))
}

/// What an error means for whoever may try again.
fn failed(error: postgres::Error, is_closed: bool) -> MetadataError {
    let code = error.code().cloned();
    let is = |codes: &[SqlState]| code.as_ref().is_some_and(|code| codes.contains(code));
    if is(&[SqlState::DISK_FULL]) {
        return MetadataError::Full;
    }
    if is(&[SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED]) {
        return MetadataError::Raced;
    }
    let is_ending = is(&[SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW]);
    let is_cut = error.source().is_some_and(<dyn std::error::Error>::is::<std::io::Error>);
    match is_closed || is_ending || is_cut || error.is_closed() {
        true => MetadataError::Lost(error.into()),
        false => MetadataError::Database(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_shown_has_no_password() {
        let address: PostgresAddress = "postgres://ann:s3cret@db.test:5433/registry?sslmode=require".parse().unwrap();
        assert_eq!(address.to_string(), "postgres://db.test:5433/registry");
        assert!(!format!("{address:?}").contains("s3cret"));
    }

    #[test]
    fn what_is_no_address_is_not_shown_either() {
        for text in ["mysql://ann:s3cret@db/x", "postgres://ann:s3cret@db/x?s3cret=1", "host=db password=s3cret", ""] {
            let error = text.parse::<PostgresAddress>().unwrap_err();
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
    }
}
