//! Everything that the registry knows about packages, people and what they did. No query stands outside of here.

/// The packages that somebody may see: all (`$1`), or by name (`$2`).
macro_rules! may_see {
    () => {
        "($1 OR NOT private OR EXISTS (
            SELECT 1 FROM members WHERE members.namespace = packages.namespace AND username = $2))"
    };
}

mod packs;
mod postgres;
mod queries;
mod schema;
mod sql;
mod sqlite;

use std::path::Path;
use std::sync::Arc;

use sp_formats::registry::{IndexItem, PackageIndex, Place, VersionItem};
use sp_tree::Digest;
use thiserror::Error;

pub(crate) use packs::{KeptFile, KeptPack, NewKey, NewPack, PackOutcome, UrlKey};
use postgres::Postgres;
pub use postgres::{NoAddress, PostgresAddress};
use sql::{Dialect, Sql};
use sqlite::Sqlite;
pub(crate) use sqlite::snapshot;

/// The file of SQLite's.
pub(crate) const DATABASE: &str = "registry.db";

/// Why the database cannot do something.
#[derive(Debug, Error)]
pub(crate) enum MetadataError {
    /// The disk is full.
    #[error("there is no room left")]
    Full,
    /// It met another transaction, and can be tried again.
    #[error("others changed the same all the time")]
    Raced,
    /// The connection died before anything was changed.
    #[error("the database cannot be reached")]
    Lost(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Something else.
    #[error("the database cannot be used")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
}

pub(crate) type Result<T, E = MetadataError> = std::result::Result<T, E>;

/// What somebody may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Publish into namespaces of which one is a member, and read what is private there.
    Publish,
    /// Read what is private there.
    Read,
    /// Everything.
    Admin,
}

impl Scope {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Read => "read",
            Self::Admin => "admin",
        }
    }

    pub(crate) fn of(word: &str) -> Option<Self> {
        [Self::Publish, Self::Read, Self::Admin].into_iter().find(|scope| scope.word() == word)
    }
}

/// Whose token was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bearer {
    pub user: String,
    pub scope: Scope,
}

/// A token, without what it is.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct TokenItem {
    pub id: i64,
    pub user: String,
    pub scope: String,
    pub created_at: String,
    pub revoked: bool,
}

/// Something that was done.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct AuditItem {
    pub at: String,
    pub user: String,
    pub action: String,
    pub subject: String,
}

/// A change of a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    AddMember(String),
    RemoveMember(String),
    /// Whether strangers do not see a package.
    Private(Place, bool),
}

/// A version that is to be published.
#[derive(Debug, Clone)]
pub(crate) struct NewVersion {
    pub place: Place,
    pub kind: String,
    pub description: Option<String>,
    pub digest: Digest,
    pub item: VersionItem,
    /// The manifest, and what was said of it, as JSON.
    pub manifest: String,
    pub report: String,
}

/// What became of a version that was to be published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is there.
    Published,
    /// That version is there already.
    Exists,
    /// The namespace is somebody else's.
    Forbidden,
}

/// A version as it is downloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Download {
    pub digest: Digest,
    pub bytes: u64,
    pub yanked: bool,
}

/// The newest version of a package that was not yanked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Newest {
    pub namespace: String,
    pub name: String,
    pub kind: String,
    pub version: String,
    pub description: Option<String>,
    pub digest: Digest,
    pub bytes: u64,
}

/// What stands on the first page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Front {
    /// How many packages there are.
    pub packages: u64,
    /// Those that came last, the latest first.
    pub newest: Index,
    pub most_downloaded: Index,
}

/// The database. What it can be asked stands in [`queries`].
pub(crate) enum Database {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Database {
    /// Reads. It may be done more than once, until the database answers.
    fn read<T>(&self, work: impl Fn(&mut dyn Sql) -> Result<T>) -> Result<T> {
        match self {
            Self::Sqlite(database) => database.read(work),
            Self::Postgres(database) => database.read(work),
        }
    }

    /// Changes something, all of it or nothing, as if nobody else changed anything meanwhile. It may be tried more
    /// than once, and is done once at the most.
    fn change<T>(&self, work: impl Fn(&mut dyn Sql) -> Result<T>) -> Result<T> {
        match self {
            Self::Sqlite(database) => database.change(work),
            Self::Postgres(database) => database.change(work),
        }
    }

    fn dialect(&self) -> &'static Dialect {
        match self {
            Self::Sqlite(_) => &sqlite::DIALECT,
            Self::Postgres(_) => &postgres::DIALECT,
        }
    }
}

/// The database, shared by all who ask.
#[derive(Clone)]
pub(crate) struct Metadata {
    database: Arc<Database>,
}

impl Metadata {
    /// The database in a folder; it is made if it is missing.
    pub(crate) fn in_folder(folder: &Path) -> Result<Self> {
        Self::in_file(&folder.join(DATABASE))
    }

    /// The database in a file.
    pub(crate) fn in_file(path: &Path) -> Result<Self> {
        Ok(Self { database: Arc::new(Database::Sqlite(Sqlite::open(path)?)) })
    }

    /// The database of a server; its tables are made if they are missing.
    pub(crate) fn at(address: &PostgresAddress) -> Result<Self> {
        Ok(Self { database: Arc::new(Database::Postgres(Postgres::open(address)?)) })
    }

    /// Does something with the database on a thread that may wait.
    pub(crate) async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Database) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let database = Arc::clone(&self.database);
        let joined = tokio::task::spawn_blocking(move || work(&database)).await;
        joined.unwrap_or_else(|error| Err(MetadataError::Database(error.into())))
    }

    /// The same, where waiting is fine.
    pub(crate) fn now<T>(&self, work: impl FnOnce(&Database) -> Result<T>) -> Result<T> {
        work(&self.database)
    }
}

/// Who asks, as far as private packages go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reader {
    /// Somebody unknown.
    Stranger,
    /// Somebody with a token.
    User(String),
    /// Who may see everything.
    Admin,
}

impl Reader {
    pub(crate) fn of(bearer: Option<&Bearer>) -> Self {
        match bearer {
            None => Self::Stranger,
            Some(Bearer { scope: Scope::Admin, .. }) => Self::Admin,
            Some(Bearer { user, .. }) => Self::User(user.clone()),
        }
    }
}

pub(crate) type Index = Vec<IndexItem>;
pub(crate) type Versions = PackageIndex;
