//! Everything that the registry knows about packages, people and what they did. No query stands outside of here.

/// The packages that somebody may see: all (`$1`), or by name (`$2`).
macro_rules! may_see {
    () => {
        "($1 OR NOT private OR EXISTS (
            SELECT 1 FROM members WHERE members.namespace = packages.namespace AND username = $2))"
    };
}

mod context_packs;
mod postgres;
mod queries;
mod schema;
mod sql;
mod sqlite;

use std::path::Path;
use std::sync::Arc;

use sp_formats::registry::{
    PackageIndex, PackageVersionItem, RegistryIndexItem, RegistryPackageName,
};
use sp_tree::Digest;
use thiserror::Error;

pub(crate) use context_packs::{
    ContextPackPushOutcome, NewContextPack, NewUrlKey, StoredContextPack, StoredContextPackFile,
    UrlKey,
};
use postgres::PostgresDatabase;
pub use postgres::{PostgresAddress, PostgresAddressError};
use sql::{SqlConnection, SqlDialect};
use sqlite::SqliteDatabase;
pub(crate) use sqlite::snapshot;

/// The file of SQLite's.
pub(crate) const DATABASE_FILE: &str = "registry.db";

/// Why the database cannot do something.
#[derive(Debug, Error)]
pub(crate) enum MetadataError {
    /// The disk is full.
    #[error("there is no room left")]
    DiskFull,
    /// It met another transaction, and can be tried again.
    #[error("others changed the same all the time")]
    Conflict,
    /// The connection died before anything was changed.
    #[error("the database cannot be reached")]
    ConnectionLost(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Something else.
    #[error("the database cannot be used")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
}

pub(crate) type Result<T, E = MetadataError> = std::result::Result<T, E>;

/// What somebody may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenScope {
    /// Publish into namespaces of which one is a member, and read what is private there.
    Publish,
    /// Read what is private there.
    Read,
    /// Everything.
    Admin,
}

impl TokenScope {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Read => "read",
            Self::Admin => "admin",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        [Self::Publish, Self::Read, Self::Admin].into_iter().find(|scope| scope.as_str() == word)
    }
}

/// Whose token was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TokenOwner {
    pub user: String,
    pub scope: TokenScope,
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
pub(crate) struct AuditLogItem {
    pub at: String,
    pub user: String,
    pub action: String,
    pub subject: String,
}

/// A change of a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NamespaceChange {
    AddMember(String),
    RemoveMember(String),
    /// Whether strangers do not see a package.
    SetPrivate(RegistryPackageName, bool),
}

/// A version that is to be published.
#[derive(Debug, Clone)]
pub(crate) struct NewPackageVersion {
    pub package: RegistryPackageName,
    pub kind: String,
    pub description: Option<String>,
    pub digest: Digest,
    pub item: PackageVersionItem,
    /// The manifest, and what was said of it, as JSON.
    pub manifest: String,
    pub trust_report: String,
}

/// What became of a version that was to be published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PublishOutcome {
    /// It is there.
    Published,
    /// That version is there already.
    AlreadyExists,
    /// The namespace is somebody else's.
    Forbidden,
}

/// A version as it is downloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredVersion {
    pub digest: Digest,
    pub bytes: u64,
    pub yanked: bool,
}

/// The newest version of a package that was not yanked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LatestVersion {
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
pub(crate) struct HomePageData {
    /// How many packages there are.
    pub packages: u64,
    /// Those that came last, the latest first.
    pub newest: IndexItems,
    pub most_downloaded: IndexItems,
}

/// The database. What it can be asked stands in [`queries`].
pub(crate) enum Database {
    Sqlite(SqliteDatabase),
    Postgres(PostgresDatabase),
}

impl Database {
    /// Reads. It may be done more than once, until the database answers.
    fn read<T>(&self, work: impl Fn(&mut dyn SqlConnection) -> Result<T>) -> Result<T> {
        match self {
            Self::Sqlite(database) => database.read(work),
            Self::Postgres(database) => database.read(work),
        }
    }

    /// Changes something, all of it or nothing, as if nobody else changed anything meanwhile. It may be tried more
    /// than once, and is done once at the most.
    fn write<T>(&self, work: impl Fn(&mut dyn SqlConnection) -> Result<T>) -> Result<T> {
        match self {
            Self::Sqlite(database) => database.write(work),
            Self::Postgres(database) => database.write(work),
        }
    }

    fn dialect(&self) -> &'static SqlDialect {
        match self {
            Self::Sqlite(_) => &sqlite::DIALECT,
            Self::Postgres(_) => &postgres::DIALECT,
        }
    }
}

/// The database, shared by all who ask.
#[derive(Clone)]
pub(crate) struct MetadataStore {
    database: Arc<Database>,
}

impl MetadataStore {
    /// The database in a folder; it is made if it is missing.
    pub(crate) fn open_dir(folder: &Path) -> Result<Self> {
        Self::open_file(&folder.join(DATABASE_FILE))
    }

    /// The database in a file.
    pub(crate) fn open_file(path: &Path) -> Result<Self> {
        Ok(Self { database: Arc::new(Database::Sqlite(SqliteDatabase::open(path)?)) })
    }

    /// The database of a server; its tables are made if they are missing.
    pub(crate) fn connect(address: &PostgresAddress) -> Result<Self> {
        Ok(Self { database: Arc::new(Database::Postgres(PostgresDatabase::open(address)?)) })
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
    pub(crate) fn with_blocking<T>(&self, work: impl FnOnce(&Database) -> Result<T>) -> Result<T> {
        work(&self.database)
    }
}

/// Who asks, as far as private packages go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RegistryReader {
    /// Somebody unknown.
    Anonymous,
    /// Somebody with a token.
    User(String),
    /// Who may see everything.
    Admin,
}

impl RegistryReader {
    pub(crate) fn from_owner(bearer: Option<&TokenOwner>) -> Self {
        match bearer {
            None => Self::Anonymous,
            Some(TokenOwner { scope: TokenScope::Admin, .. }) => Self::Admin,
            Some(TokenOwner { user, .. }) => Self::User(user.clone()),
        }
    }
}

pub(crate) type IndexItems = Vec<RegistryIndexItem>;
pub(crate) type PackageVersions = PackageIndex;
