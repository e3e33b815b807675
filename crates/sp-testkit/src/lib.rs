//! A hermetic world for tests of `sp`: a temporary home, a cleared environment, a fixed clock, real
//! git repositories, and real git, PostgreSQL and S3 servers on loopback.
//!
//! Tests of the command line compare a [`Run`]: exit code, stdout and stderr together, with the
//! parts that differ from run to run replaced.

mod answer_barrier;
mod audit_corpus;
mod browser;
mod faults;
mod files;
pub mod fragments;
mod git;
mod gzip;
mod hang;
mod issuer;
mod mcp;
mod mcp_http;
mod measure;
mod model_server;
mod nginx;
mod postgres;
mod proxy;
mod random_bytes;
mod registry;
mod run;
mod s3;
mod server;
mod signing_keys;
mod slow_clients;
mod snapshot;
mod swap;
mod tab;
mod terminal;
mod tls;
mod trace;
mod url_like;
mod web;
mod world;
mod zip;

pub use answer_barrier::AnswerBarrier;
pub use audit_corpus::{AuditSample, CorpusPart, audit_samples};
pub use browser::Browser;
pub use faults::{
    FaultScenario, FaultSweep, Faults, Invariant, Messages, NextCommand, Observe, WorldState,
    next_command, observed_files, sweep, sweep_every, whole_world,
};
pub use files::{FileEntry, FileMap, files, sha256};
pub use git::GitRepository;
pub use gzip::gzip_blanks;
pub use hang::{HANG_TIMEOUT, eventually};
pub use issuer::{ISSUER_CLIENT_ID, ISSUER_CLIENT_SECRET, Issuer, IssuerBehavior, unix_seconds};
pub use mcp::{McpChild, McpClient, from_base64, resource_bytes, response_messages, wait_for_exit};
pub use mcp_http::{DisconnectPoint, LoadResult, McpConnection, McpHttpServer};
pub use measure::MeasuredRun;
pub use model_server::{ModelBehavior, ModelRequest, ModelServer};
pub use nginx::Nginx;
pub use postgres::{Postgres, PostgresDatabase};
pub use proxy::{ProxiedResponse, Proxy};
pub use random_bytes::random_bytes;
pub use registry::{HttpResponse, Registry};
pub use run::{CliError, CliFinding, CliPosition, Run};
pub use s3::S3Server;
pub use server::{Daemon, HttpServer};
pub use signing_keys::{JwtKey, SigningKeys, to_base64url};
pub use slow_clients::SlowClients;
pub use swap::SwapLoop;
pub use tab::Tab;
pub use tls::{TlsServer, self_signed_certificate};
pub use trace::TracePipe;
pub use url_like::url_like;
pub use web::{WebResponse, WebServer};
pub use world::World;
pub use zip::zip;

/// Creates a world that runs the `sp` of the package under test.
#[macro_export]
macro_rules! world {
    () => {
        $crate::World::new(env!("CARGO_BIN_EXE_sp"))
    };
    // Not in memory, for tests that need two file systems.
    (on disk) => {
        $crate::World::on_disk(env!("CARGO_BIN_EXE_sp"))
    };
}
