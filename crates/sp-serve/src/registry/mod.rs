//! The registry: publishes packages, context packs and skills over HTTP, with web pages and MCP.
//!
//! ```text
//! router ──▶ api, pages ──▶ state ──▶ caches, tokens, sessions, mcp ──▶ metadata, object_store
//! ```
//!
//! Everything that is stored is in two modules: `metadata` (who, what, when; all SQL is there) and
//! `object_store` (bytes by digest). Bytes are stored before metadata refers to them, so a crash at
//! any point leaves a version either complete or absent. Whether a package is valid is decided by
//! `sp-formats`, not here.

mod api;
mod backup;
mod discovery;
mod download_counts;
mod environment;
mod error;
mod http_content;
mod index_cache;
mod local;
mod login_policy;
mod markdown;
mod mcp;
mod metadata;
mod middleware;
mod object_store;
mod object_store_identity;
mod oidc;
mod package_view;
mod pages;
mod published_skills;
mod quotas;
mod readiness;
pub mod redact;
mod router;
mod server_log;
mod sessions;
mod state;
mod token_uses;
mod tokens;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use sp_tree::{Dir, DirLock, Limits, StaticName};
use tokio::net::TcpListener;

use crate::address_range::AddressRange;
use crate::connections::{
    self, CertificateError, ConnectionCounts, ConnectionSettings, ServerCertificate, TlsFiles,
    shutdown_signal,
};
use crate::error::ServeError;
use crate::registry::discovery::DiscoveryCache;
use crate::registry::index_cache::RegistryIndexCache;
use crate::registry::mcp::{RegistryMcpEndpoint, RegistryStores};
use crate::registry::metadata::{
    DATABASE_FILE, Database, MetadataError, MetadataStore, TokenScope,
};
use crate::registry::middleware::{RateLimiter, RegistryMetrics, RequestMonitor};
use crate::registry::object_store::{ObjectAccess, ObjectStore};
use crate::registry::object_store_identity::{
    ObjectStoreIdentityError, claim_object_store, new_id,
};
use crate::registry::oidc::OidcService;
use crate::registry::package_view::PackageViewCache;
use crate::registry::published_skills::PublishedSkills;
use crate::registry::readiness::ReadinessCheck;
use crate::registry::server_log::ServerLog;
use crate::registry::state::{AppState, RegistryState};

pub use crate::registry::backup::{
    BackupContent, RegistryCopyError, RegistryCopySummary, back_up_registry, restore_registry,
};
pub use crate::registry::environment::RegistryEnvironment;
pub use crate::registry::local::{
    GarbageAction, LocalRegistry, LocalRegistryError, RegistryLocation,
};
pub use crate::registry::metadata::{PostgresAddress, PostgresAddressError};
pub use crate::registry::middleware::RequestRate;
pub use crate::registry::object_store::{BucketSettings, BucketUrl, BucketUrlError};
pub use crate::registry::oidc::{AccountPolicy, ClientSecret, OidcSettings, SignInSettings};
pub use crate::registry::quotas::{Quota, Quotas};
pub use crate::registry::server_log::{
    LogEntry, RegistryLogger, RequestLogEntry, ServerEvent, ServerEventKind,
};
pub use crate::registry::tokens::TokenRequest;

/// Limits on what happens after the last connection was closed.
const FINAL_FLUSH_TIMEOUT: Duration = Duration::from_secs(2);
const ABANDONED_WORK_TIMEOUT: Duration = Duration::from_secs(1);

/// The owner of the first token.
const ADMIN_USER: &str = "admin";

pub struct RegistrySettings {
    /// Contains the SQLite database and the objects, if they are not elsewhere.
    pub data_dir: PathBuf,
    /// Stores metadata in PostgreSQL instead of SQLite.
    pub database: Option<PostgresAddress>,
    /// Stores objects in a bucket instead of the data directory.
    pub bucket: Option<BucketSettings>,
    pub listen: SocketAddr,
    /// Serves HTTPS instead of HTTP.
    pub tls: Option<TlsFiles>,
    /// Limits on what may be published.
    pub limits: Limits,
    /// Requests per client; unlimited if `None`.
    pub rate_limit: Option<RequestRate>,
    /// Proxies whose `X-Forwarded-For` header is trusted.
    pub trusted_proxies: Vec<AddressRange>,
    /// Maximum duration of a request, without the time to transfer its body.
    pub request_timeout: Duration,
    /// Whether anonymous clients see nothing.
    pub login_required: bool,
    pub quotas: Quotas,
    pub oidc: OidcSettings,
    /// Maximum time to finish running requests at shutdown.
    pub shutdown_timeout: Duration,
    /// Called after each request, and for what happens besides them.
    pub logger: Option<RegistryLogger>,
    pub environment: RegistryEnvironment,
}

/// What a caller needs to know once the registry listens.
pub struct RunningRegistry {
    pub address: SocketAddr,
    /// The admin token, if it was created just now.
    pub admin_token: Option<String>,
}

/// Runs a registry until SIGINT or SIGTERM. Calls `started` once it listens.
pub fn serve(
    settings: &RegistrySettings,
    started: impl FnOnce(RunningRegistry),
) -> Result<(), ServeError> {
    // Closing database connections blocks, so the state must outlive the runtime.
    let counts = Arc::<ConnectionCounts>::default();
    let certificate = load_certificate(settings)?;
    let state = open_state(settings, &counts)?;
    let admin_token = create_admin_token(&state, settings)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(ServeError::Io)?;
    let served = runtime.block_on(async {
        let listener = TcpListener::bind(settings.listen)
            .await
            .map_err(|e| ServeError::Listen(settings.listen, e))?;
        let address = listener.local_addr().map_err(ServeError::Io)?;
        let signal = shutdown_signal();
        started(RunningRegistry { address, admin_token });
        let log = server_log(settings);
        log.event(ServerEventKind::Started, Some(address.to_string()));
        let router = router::router(AppState::clone(&state));
        let flushing = tokio::spawn(download_counts::flush_periodically(
            Arc::clone(&state.download_counts),
            state.metadata.clone(),
            log.clone(),
        ));
        let mut connections = connection_settings(settings, counts);
        let mut reloading = None;
        if let Some((certificate, config)) = certificate {
            connections.tls = Some(config.into());
            let log = log.clone();
            let report = move |reloaded| report_certificate(&log, reloaded);
            reloading = Some(tokio::spawn(certificate.reload_periodically(report)));
        }
        let stop = async {
            signal.await;
            log.event(ServerEventKind::Stopping, None);
        };
        connections::run(listener, router, connections, stop).await;
        flushing.abort();
        reloading.inspect(tokio::task::JoinHandle::abort);
        let flushed = state.download_counts.flush(&state.metadata);
        // The counts of a second are lost if the database does not respond.
        let _ = tokio::time::timeout(FINAL_FLUSH_TIMEOUT, flushed).await;
        Ok(())
    });
    // Work that still runs was started for clients that are gone.
    runtime.shutdown_timeout(ABANDONED_WORK_TIMEOUT);
    server_log(settings).event(ServerEventKind::Stopped, None);
    served
}

/// Checks whether a registry can start with these settings, without changing anything.
pub fn check_settings(settings: &RegistrySettings) -> Result<(), ServeError> {
    load_certificate(settings)?;
    let pending = match &settings.database {
        None => Database::pending_migrations_of_dir(&settings.data_dir),
        Some(address) => Database::pending_migrations_of(address),
    };
    let pending = pending.map_err(|e| database_error(settings, e))?;
    oidc::check_provider(&settings.oidc).map_err(|e| ServeError::LoginProvider(e.into()))?;
    let (folder, bucket) = (&settings.data_dir, settings.bucket.as_ref());
    let failed = |error| local::object_error(folder, bucket, error);
    if bucket.is_some() {
        let objects = ObjectStore::open(folder, bucket, ObjectAccess::Share).map_err(failed)?;
        new_id(&settings.environment).and_then(|name| objects.probe(&name)).map_err(failed)?;
    }
    // An older database does not contain the ID of its object store.
    if pending == 0 {
        let location = RegistryLocation {
            data_dir: settings.data_dir.clone(),
            database: settings.database.clone(),
            bucket: settings.bucket.clone(),
            environment: settings.environment,
        };
        local::check_location(location)?;
    }
    Ok(())
}

type LoadedTls = (Arc<ServerCertificate>, Arc<rustls::ServerConfig>);

fn load_certificate(settings: &RegistrySettings) -> Result<Option<LoadedTls>, ServeError> {
    let Some(files) = &settings.tls else { return Ok(None) };
    let loaded = ServerCertificate::load(files).map_err(|e| ServeError::Certificate(e.into()))?;
    let loaded = Arc::new(loaded);
    let config = loaded.server_config().map_err(|e| ServeError::Certificate(e.into()))?;
    Ok(Some((loaded, config)))
}

fn connection_settings(
    settings: &RegistrySettings,
    counts: Arc<ConnectionCounts>,
) -> ConnectionSettings {
    ConnectionSettings {
        shutdown_timeout: settings.shutdown_timeout,
        proxies: settings.trusted_proxies.clone(),
        counts,
        ..ConnectionSettings::new(settings.request_timeout)
    }
}

fn open_state(
    settings: &RegistrySettings,
    counts: &Arc<ConnectionCounts>,
) -> Result<AppState, ServeError> {
    let unusable = |e: Box<dyn std::error::Error + Send + Sync>| {
        ServeError::DataDir(settings.data_dir.clone(), e)
    };
    // Private, since it contains the keys that sign URLs.
    let data = Dir::create_all_private(&settings.data_dir).map_err(|e| unusable(e.into()))?;
    let lock = DirLock::try_acquire(&data).map_err(|e| unusable(e.into()))?;
    let lock = lock.ok_or_else(|| ServeError::DataDirInUse(settings.data_dir.clone()))?;
    if settings.database.is_none() {
        // SQLite would create the file with the default permissions.
        data.ensure_file(&StaticName(DATABASE_FILE)).map_err(|e| unusable(e.into()))?;
    }
    let opened = match &settings.database {
        None => Database::open_dir(&settings.data_dir),
        Some(address) => Database::connect(address),
    };
    let database = opened.map_err(|e| database_error(settings, e))?;
    let objects = open_objects(settings, &database)?;
    let metadata = MetadataStore::new(database, settings.environment, settings.quotas);
    let skills = Arc::new(PublishedSkills::new(objects.clone(), settings.limits.clone()));
    let environment = settings.environment;
    let stores = RegistryStores { metadata, objects, skills, environment };
    Ok(build_state(settings, lock, stores, request_monitor(settings, counts)))
}

/// Opens the objects, and makes sure that they belong to the database.
fn open_objects(
    settings: &RegistrySettings,
    database: &Database,
) -> Result<ObjectStore, ServeError> {
    let (folder, bucket) = (&settings.data_dir, settings.bucket.as_ref());
    let failed = |error| local::object_error(folder, bucket, error);
    let objects = ObjectStore::open(folder, bucket, ObjectAccess::Serve).map_err(failed)?;
    let prepared = new_id(&settings.environment)
        .and_then(|name| objects.probe(&name))
        .map_err(ObjectStoreIdentityError::from)
        .and_then(|()| {
            // In one directory, both belong together.
            let is_split = settings.database.is_some() || settings.bucket.is_some();
            if is_split {
                claim_object_store(database, &objects, &settings.environment)
            } else {
                Ok(())
            }
        });
    prepared.map(|()| objects.clone()).map_err(|error| match error {
        ObjectStoreIdentityError::Database(error) => database_error(settings, error),
        ObjectStoreIdentityError::Objects(error) => failed(error),
        ObjectStoreIdentityError::Mismatch(why) => {
            ServeError::WrongObjectStore(objects.describe(), why.into())
        }
    })
}

fn build_state(
    settings: &RegistrySettings,
    lock: DirLock,
    stores: RegistryStores,
    monitor: RequestMonitor,
) -> AppState {
    let (metadata, objects) = (stores.metadata.clone(), stores.objects.clone());
    Arc::new(RegistryState {
        lock,
        download_counts: Arc::default(),
        index_cache: RegistryIndexCache::new(metadata.clone()),
        discovery: DiscoveryCache::default(),
        published_skills: Arc::clone(&stores.skills),
        mcp: RegistryMcpEndpoint::new(stores),
        limits: settings.limits.clone(),
        package_views: Arc::new(PackageViewCache::new(objects.clone(), settings.limits.clone())),
        metadata,
        objects,
        environment: settings.environment,
        request_timeout: settings.request_timeout,
        monitor: Arc::new(monitor),
        readiness: ReadinessCheck::default(),
        login_required: settings.login_required,
        oidc: OidcService::new(settings.oidc.clone()),
        openapi: LazyLock::new(api::openapi_document),
    })
}

fn server_log(settings: &RegistrySettings) -> ServerLog {
    ServerLog { logger: settings.logger.clone(), environment: settings.environment }
}

fn report_certificate(log: &ServerLog, reloaded: Result<(), CertificateError>) {
    match reloaded {
        Ok(()) => log.event(ServerEventKind::CertificateReplaced, None),
        Err(error) => log.event(ServerEventKind::CertificateRejected, Some(error.to_string())),
    }
}

fn request_monitor(settings: &RegistrySettings, counts: &Arc<ConnectionCounts>) -> RequestMonitor {
    RequestMonitor {
        metrics: RegistryMetrics::new(Arc::clone(counts)),
        limiter: settings.rate_limit.map(RateLimiter::new),
        log: server_log(settings),
        trusted_proxies: settings.trusted_proxies.clone(),
        environment: settings.environment,
    }
}

fn database_error(settings: &RegistrySettings, error: MetadataError) -> ServeError {
    local::database_error(&settings.data_dir, settings.database.as_ref(), error)
}

/// Creates the admin token, if there is no token yet.
fn create_admin_token(
    state: &AppState,
    settings: &RegistrySettings,
) -> Result<Option<String>, ServeError> {
    let unusable = |e| database_error(settings, e);
    if state.metadata.with_blocking(Database::has_tokens).map_err(unusable)? {
        return Ok(None);
    }
    let request = TokenRequest {
        user: ADMIN_USER.into(),
        scope: TokenScope::Admin.as_str().into(),
        ..TokenRequest::default()
    };
    let (new, token) = request
        .generate(&state.environment)
        .map_err(|why| ServeError::Io(std::io::Error::other(why)))?;
    let at = state.environment.timestamp();
    let is_first = state
        .metadata
        .with_blocking(|database| database.add_first_token(&new, &at))
        .map_err(unusable)?;
    Ok(is_first.then_some(token))
}
