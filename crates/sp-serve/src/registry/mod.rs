//! The registry: it accepts what `sp-formats` accepts, keeps bytes by their digest, and answers over HTTP.
//!
//! Two small modules hold everything that is stored: `metadata` (who, what, when; no query stands
//! outside of it) and `objects` (bytes by digest). Bytes are stored before anything speaks of them, so that
//! a death at any point leaves a version wholly there or wholly absent.

mod api;
mod catalog;
mod copy;
mod counts;
mod discovery;
mod mcp;
mod metadata;
mod objects;
mod pages;
pub mod redact;
mod refusal;
mod served;
mod sessions;
mod skills;
mod state;
mod tokens;
mod watch;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sp_tree::{Dir, Fixed, Limits, Lock};
use tokio::net::TcpListener;

use crate::connections::{self, shutdown_signal};
use crate::error::ServeError;
use crate::registry::catalog::Catalog;
use crate::registry::counts::Counts;
use crate::registry::discovery::Discovery;
use crate::registry::mcp::{Stock, serving};
use crate::registry::metadata::{Bearer, DATABASE, Database, Metadata, MetadataError, Scope};
use crate::registry::objects::Objects;
use crate::registry::pages::Shelf;
use crate::registry::sessions::Sessions;
use crate::registry::skills::PublishedSkills;
use crate::registry::state::{Shared, State};
use crate::registry::watch::{Limiter, Metrics, Watch};

pub use crate::registry::copy::{Copied, CopyError, copy};
pub use crate::registry::metadata::{NoAddress, PostgresAddress};
pub use crate::registry::state::Surroundings;
pub use crate::registry::watch::{Log, Rate, RequestLine};

/// Who runs the registry.
const ADMIN: &str = "admin";

/// How a registry is to run.
pub struct Settings {
    /// The folder of everything that is stored.
    pub data: PathBuf,
    /// What it knows stands here instead of in the folder.
    pub database: Option<PostgresAddress>,
    /// Where it listens.
    pub listen: SocketAddr,
    /// The ceilings.
    pub limits: Limits,
    /// How often one client may ask; as often as it likes if this is none.
    pub rate: Option<Rate>,
    /// Proxies whose word on who the client is counts.
    pub trusted: Vec<IpAddr>,
    /// How long a request may take.
    pub patience: Duration,
    /// Who is told of requests.
    pub log: Option<Log>,
    /// What it takes from its surroundings.
    pub surroundings: Surroundings,
}

/// A registry that runs.
pub struct Started {
    /// Where it listens.
    pub address: SocketAddr,
    /// The token of whoever runs it, the first time only.
    pub admin_token: Option<String>,
}

/// Runs a registry until it is told to stop.
pub fn serve(settings: &Settings, started: impl FnOnce(Started)) -> Result<(), ServeError> {
    // The connections to a database must not end where nobody may wait, so this outlives the runtime.
    let state = open(settings)?;
    let admin_token = first_token(&state, settings)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(ServeError::Run)?;
    runtime.block_on(async {
        let listener = TcpListener::bind(settings.listen).await.map_err(|e| ServeError::Listen(settings.listen, e))?;
        let address = listener.local_addr().map_err(ServeError::Run)?;
        started(Started { address, admin_token });
        let router = api::router(State::clone(&state));
        let counting = tokio::spawn(counts::write_regularly(State::clone(&state)));
        connections::run(listener, router, settings.patience, shutdown_signal()).await;
        counting.abort();
        counts::write(&state).await;
        Ok(())
    })
}

fn open(settings: &Settings) -> Result<State, ServeError> {
    let unusable = |e: Box<dyn std::error::Error + Send + Sync>| ServeError::Data(settings.data.clone(), e);
    // The keys that sign addresses are in it.
    let data = Dir::create_private(&settings.data).map_err(|e| unusable(e.into()))?;
    let lock = Lock::try_take(&data).map_err(|e| unusable(e.into()))?;
    let lock = lock.ok_or_else(|| ServeError::Used(settings.data.clone()))?;
    if settings.database.is_none() {
        // SQLite would make the file readable to others.
        match data.create_file(&Fixed(DATABASE), false) {
            Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => return Err(unusable(e.into())),
            _ => {}
        }
    }
    let metadata = match &settings.database {
        None => Metadata::in_folder(&settings.data),
        Some(address) => Metadata::at(address),
    };
    let metadata = metadata.map_err(|e| no_database(settings, e))?;
    let objects = Objects::open(&settings.data).map_err(|e| unusable(e.into()))?;
    let skills = Arc::new(PublishedSkills::new(objects.clone(), settings.limits.clone()));
    let stock = Stock {
        metadata: metadata.clone(),
        objects: objects.clone(),
        skills: Arc::clone(&skills),
        wall_clock: settings.surroundings.wall_clock,
    };
    Ok(Arc::new(Shared {
        metadata,
        lock,
        objects,
        counts: Counts::default(),
        catalog: Catalog::default(),
        discovery: Discovery::default(),
        skills,
        mcp: serving(stock),
        limits: settings.limits.clone(),
        sessions: Sessions::default(),
        shelf: Shelf::default(),
        surroundings: settings.surroundings,
        patience: settings.patience,
        watch: Watch {
            metrics: Metrics::new(),
            limiter: settings.rate.map(Limiter::new),
            log: settings.log.clone(),
            trusted: settings.trusted.clone(),
        },
    }))
}

fn no_database(settings: &Settings, error: MetadataError) -> ServeError {
    match &settings.database {
        None => ServeError::Data(settings.data.clone(), error.into()),
        Some(address) => ServeError::Database(address.to_string(), error.into()),
    }
}

/// The token of whoever runs the registry, if there is none yet.
fn first_token(state: &State, settings: &Settings) -> Result<Option<String>, ServeError> {
    let unusable = |e| no_database(settings, e);
    if state.metadata.now(Database::has_tokens).map_err(unusable)? {
        return Ok(None);
    }
    let token = tokens::mint(state, Scope::Admin).map_err(ServeError::Run)?;
    let bearer = Bearer { user: ADMIN.into(), scope: Scope::Admin };
    let (hash, at) = (tokens::hash(&token), state.timestamp());
    let is_first = state.metadata.now(|database| database.add_first_token(&bearer, &hash, &at)).map_err(unusable)?;
    Ok(is_first.then_some(token))
}
