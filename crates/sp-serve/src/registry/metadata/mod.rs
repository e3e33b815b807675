//! The database of a registry: packages, users, tokens, context packs and the audit log.
//!
//! A [`MetadataStore`] is shared by all requests. Its [`Database`] is SQLite or PostgreSQL; the
//! queries are in `queries` and are the same for both. All SQL is in this module. Every write runs
//! in one serializable transaction.

/// The condition for packages that a reader may see: all if `$1`, otherwise public ones and those
/// of the namespaces in `$2`, which has a space before and after each. Namespaces contain no
/// wildcards.
macro_rules! may_see {
    () => {
        "($1 OR NOT private OR $2 LIKE '% ' || packages.namespace || ' %')"
    };
}

mod context_packs;
mod copy;
mod postgres;
mod queries;
mod schema;
mod sql;
mod sqlite;
mod trusted_publishing;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sp_formats::registry::{
    PackageIndex, PackageVersionItem, RegistryIndexItem, RegistryPackageName,
};
use sp_tree::Digest;
use thiserror::Error;

use crate::registry::environment::RegistryEnvironment;
use crate::registry::quotas::{ExceededQuota, Quotas};
use crate::registry::token_uses::TokenUses;

pub(crate) use context_packs::{
    ContextPackPushOutcome, NewContextPack, NewUrlKey, StoredContextPack, StoredContextPackFile,
    UrlKey,
};
use postgres::PostgresDatabase;
pub use postgres::{PostgresAddress, PostgresAddressError};
use sql::{SqlConnection, SqlDialect};
use sqlite::SqliteDatabase;
pub(crate) use sqlite::snapshot;
pub(crate) use trusted_publishing::{
    NewPublisher, NewSignIn, NewTrustedToken, PublisherOutcome, SignInOutcome, TrustedJob,
};

/// The SQLite database in the data directory.
pub(crate) const DATABASE_FILE: &str = "registry.db";

#[derive(Debug, Error)]
pub(crate) enum MetadataError {
    #[error("the disk is full")]
    DiskFull,
    /// The transaction conflicted with others, too often to retry it again.
    #[error("too many conflicting transactions")]
    Conflict,
    /// The connection was lost before anything was changed.
    #[error("cannot connect to the database")]
    ConnectionLost(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error(
        "the database has version {found} of the schema; this version of `sp` supports {supported}"
    )]
    NewerSchema { found: i64, supported: usize },
    #[error("database error")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
}

pub(crate) type Result<T, E = MetadataError> = std::result::Result<T, E>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenScope {
    /// Publish into one's namespaces, and read private packages in them.
    Publish,
    /// Read private packages in one's namespaces.
    Read,
    Admin,
    /// Publish a package that trusts a CI job. No token in the table of tokens has this scope.
    Trusted,
}

impl TokenScope {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Read => "read",
            Self::Admin => "admin",
            Self::Trusted => "trusted",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        [Self::Publish, Self::Read, Self::Admin].into_iter().find(|scope| scope.as_str() == word)
    }
}

/// The user behind a token, and what the token permits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TokenOwner {
    /// `None` for commands on the machine of the registry.
    pub token_id: Option<i64>,
    pub user: String,
    pub scope: TokenScope,
    /// The namespaces that the token is limited to; all if `None`.
    pub limited_to: Option<Vec<String>>,
    /// The namespaces of which the user is a member, as far as the token permits them.
    pub namespaces: Vec<String>,
    /// The CI job that the token was issued to. The user is the one who trusted it.
    pub job: Option<TrustedJob>,
}

impl TokenOwner {
    /// An administrator who needs no token.
    pub(crate) fn operator(user: &str) -> Self {
        let (user, scope) = (user.into(), TokenScope::Admin);
        Self { token_id: None, user, scope, limited_to: None, namespaces: Vec::new(), job: None }
    }

    /// Whether the token may be used for a namespace.
    pub(crate) fn permits(&self, namespace: &str) -> bool {
        self.limited_to.as_ref().is_none_or(|only| only.iter().any(|one| one == namespace))
    }
}

/// A token to add. Only the hash of its secret is stored.
#[derive(Debug, Clone)]
pub(crate) struct NewToken {
    pub user: String,
    pub scope: TokenScope,
    pub label: Option<String>,
    /// The namespaces that the token is limited to.
    pub limited_to: Option<Vec<String>>,
    pub expires_at: Option<String>,
    pub hash: Digest,
}

/// A login session to add. Only the hash of its ID is stored.
#[derive(Debug, Clone)]
pub(crate) struct NewSession {
    pub hash: Digest,
    /// Of the token that the user logged in with.
    pub token_hash: Digest,
    pub expires_at: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenRevocation {
    Done,
    NotFound,
    /// No one could administrate the registry any longer.
    LastAdmin,
}

/// What a member of a namespace may do. A role includes the ones before it.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NamespaceRole {
    /// Read private packages.
    Reader,
    /// Publish and yank versions.
    Publisher,
    /// Change members and the visibility of packages.
    Owner,
}

impl NamespaceRole {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Publisher => "publisher",
            Self::Owner => "owner",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        [Self::Reader, Self::Publisher, Self::Owner].into_iter().find(|role| role.as_str() == word)
    }
}

/// A member of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct NamespaceMember {
    pub user: String,
    pub role: NamespaceRole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamespaceOutcome {
    Done,
    /// There is no such namespace, member or package that the user may know of.
    NotFound,
    /// Only owners may do this.
    Forbidden,
    /// A namespace keeps its last owner.
    LastOwner,
    /// A version of the package says that it is private.
    MarkedPrivate,
}

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct AuditLogItem {
    pub at: String,
    pub user: String,
    pub action: String,
    pub subject: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NamespaceChange {
    SetRole(String, NamespaceRole),
    RemoveMember(String),
    /// Whether only members see a package.
    SetPrivate(RegistryPackageName, bool),
    /// Whether new packages are private.
    SetPrivateByDefault(bool),
    /// Whether only trusted publishers may publish a package.
    SetTrustedOnly(RegistryPackageName, bool),
}

#[derive(Debug, Clone)]
pub(crate) struct NewPackageVersion {
    pub package: RegistryPackageName,
    pub kind: String,
    pub description: Option<String>,
    pub digest: Digest,
    pub item: PackageVersionItem,
    /// Whether the package says that it is private, or the publisher does.
    pub private: bool,
    /// JSON.
    pub manifest: String,
    pub trust_report: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PublishOutcome {
    Published,
    AlreadyExists,
    /// The namespace belongs to other users.
    Forbidden,
    /// Only trusted publishers may publish the package.
    TrustedOnly,
    QuotaExceeded(ExceededQuota),
}

/// Who publishes, when, and within which limits.
#[derive(Debug, Clone)]
pub(crate) struct PublishContext {
    pub who: TokenOwner,
    pub at: String,
    /// An hour before.
    pub hour_ago: String,
    pub quotas: Quotas,
}

/// What would be stored, to check whether that is permitted.
#[derive(Debug, Clone)]
pub(crate) struct PublishTarget {
    pub key: VersionKey,
    /// 0 if it is not known yet.
    pub bytes: u64,
}

/// A version of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VersionKey {
    pub package: RegistryPackageName,
    pub version: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum YankOutcome {
    Done,
    NotFound,
    /// The namespace belongs to other users.
    Forbidden,
}

/// What is needed to serve a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredVersion {
    pub digest: Digest,
    pub bytes: u64,
    pub yanked: bool,
    pub deleted: bool,
    /// Whether only members see the package.
    pub private: bool,
}

/// A version that was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeletedVersion {
    pub digest: Digest,
    /// Whether something else consists of the same bytes.
    pub is_shared: bool,
}

/// Objects, each with the names of what consists of it.
pub(crate) type ReferencedObjects = BTreeMap<Digest, Vec<String>>;

/// The newest version of a package that is not yanked.
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

/// A part of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexPage {
    /// The last package of the page before.
    pub after: Option<RegistryPackageName>,
    /// Maximum number of packages.
    pub limit: usize,
}

impl IndexPage {
    /// Maximum number of packages on a page.
    pub(crate) const MAX_PACKAGES: usize = 10_000;

    pub(crate) fn first() -> Self {
        Self { after: None, limit: Self::MAX_PACKAGES }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HomePageData {
    /// Number of packages.
    pub packages: u64,
    /// Latest first.
    pub newest: IndexItems,
    pub most_downloaded: IndexItems,
}

/// A database. Its queries are in [`queries`].
pub(crate) enum Database {
    Sqlite(SqliteDatabase),
    Postgres(PostgresDatabase),
}

impl Database {
    /// Runs a read-only query. `work` may be called several times, if the connection is lost.
    fn read<T>(&self, work: impl Fn(&mut dyn SqlConnection) -> Result<T>) -> Result<T> {
        match self {
            Self::Sqlite(database) => database.read(work),
            Self::Postgres(database) => database.read(work),
        }
    }

    /// Runs a serializable transaction. `work` may be called several times, but takes effect at
    /// most once.
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

/// A shared database, and the clock of the registry.
#[derive(Clone)]
pub(crate) struct MetadataStore {
    database: Arc<Database>,
    pub environment: RegistryEnvironment,
    /// When tokens were last used; written from time to time.
    pub token_uses: Arc<TokenUses>,
    pub quotas: Quotas,
    pub counts: Arc<DatabaseCounts>,
}

/// For metrics.
#[derive(Debug, Default)]
pub(crate) struct DatabaseCounts {
    pub operations: AtomicU64,
    pub failures: AtomicU64,
}

impl Database {
    /// Opens the SQLite database in a directory; creates it if it is missing.
    pub(crate) fn open_dir(folder: &Path) -> Result<Self> {
        Self::open_file(&folder.join(DATABASE_FILE))
    }

    pub(crate) fn open_file(path: &Path) -> Result<Self> {
        Ok(Self::Sqlite(SqliteDatabase::open(path)?))
    }

    /// Returns how many upgrades a database in a directory lacks. A missing one lacks all.
    pub(crate) fn pending_migrations_of_dir(folder: &Path) -> Result<usize> {
        SqliteDatabase::pending_migrations(&folder.join(DATABASE_FILE))
    }

    /// Returns how many upgrades a PostgreSQL database lacks. An empty one lacks all.
    pub(crate) fn pending_migrations_of(address: &PostgresAddress) -> Result<usize> {
        PostgresDatabase::pending_migrations(address)
    }

    /// Connects to PostgreSQL; creates missing tables.
    pub(crate) fn connect(address: &PostgresAddress) -> Result<Self> {
        Ok(Self::Postgres(PostgresDatabase::open(address)?))
    }
}

impl MetadataStore {
    pub(crate) fn new(
        database: Database,
        environment: RegistryEnvironment,
        quotas: Quotas,
    ) -> Self {
        Self {
            database: Arc::new(database),
            environment,
            token_uses: Arc::default(),
            quotas,
            counts: Arc::default(),
        }
    }

    /// Runs `work` on a blocking thread.
    pub(crate) async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Database) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let database = Arc::clone(&self.database);
        let joined = tokio::task::spawn_blocking(move || work(&database)).await;
        let done = joined.unwrap_or_else(|error| Err(MetadataError::Database(error.into())));
        self.counts.operations.fetch_add(1, Ordering::Relaxed);
        self.counts.failures.fetch_add(done.is_err().into(), Ordering::Relaxed);
        done
    }

    /// Runs `work` on this thread. Blocks.
    pub(crate) fn with_blocking<T>(&self, work: impl FnOnce(&Database) -> Result<T>) -> Result<T> {
        work(&self.database)
    }
}

/// Who reads, which decides what is visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RegistryReader {
    Anonymous,
    /// The namespaces of a user, with a space before and after each.
    Member(String),
    /// Sees everything.
    Admin,
}

impl RegistryReader {
    pub(crate) fn from_owner(bearer: Option<&TokenOwner>) -> Self {
        match bearer {
            None => Self::Anonymous,
            Some(TokenOwner { scope: TokenScope::Admin, .. }) => Self::Admin,
            Some(TokenOwner { namespaces, .. }) => {
                let namespaces = namespaces.iter().flat_map(|name| [name, " "]);
                Self::Member(" ".to_owned() + &namespaces.collect::<String>())
            }
        }
    }
}

pub(crate) type IndexItems = Vec<RegistryIndexItem>;
pub(crate) type PackageVersions = PackageIndex;
