//! A hermetic world for tests of `sp`: a temporary home, a cleared environment, a fixed clock, real
//! git repositories, and real git and PostgreSQL servers on loopback.
//!
//! Tests of the command line compare a [`Run`]: exit code, stdout and stderr together, with the
//! parts that differ from run to run replaced.

mod browser;
mod faults;
mod files;
pub mod fragments;
mod git;
mod gzip;
mod hang;
mod mcp;
mod mcp_http;
mod measure;
mod model_server;
mod noise;
mod postgres;
mod proxy;
mod registry;
mod run;
mod server;
mod swap;
mod tab;
mod tls;
mod trace;
mod web;
mod world;
mod zip;

pub use browser::Browser;
pub use faults::{FaultScenario, FaultSweep, Normalize, WorldState};
pub use files::{Entry, Files, files, sha256};
pub use git::Repo;
pub use gzip::gzip_blanks;
pub use hang::{HANG_TIMEOUT, eventually};
pub use mcp::{Mcp, McpChild, bytes_of, from_base64, messages, wait_for_exit};
pub use mcp_http::{Crowd, Cut, McpConnection, McpServing};
pub use measure::Measured;
pub use model_server::{Model, ModelRequest, ModelServer};
pub use noise::noise;
pub use postgres::{Postgres, PostgresDatabase};
pub use proxy::{Passing, Proxy};
pub use registry::{HttpAnswer, Registry};
pub use run::{CliError, CliFinding, Run};
pub use server::{Daemon, HttpServer};
pub use swap::SwapLoop;
pub use tab::Tab;
pub use tls::TlsServer;
pub use trace::TracePipe;
pub use web::{Answer, WebServer};
pub use world::World;
pub use zip::zip;

/// Creates a world that runs the `sp` of the package under test.
#[macro_export]
macro_rules! world {
    () => {
        $crate::World::new(env!("CARGO_BIN_EXE_sp"))
    };
    // On an in-memory file system, for tests with so many runs that the disk would dominate.
    (in memory) => {
        $crate::World::in_memory(env!("CARGO_BIN_EXE_sp"))
    };
}
