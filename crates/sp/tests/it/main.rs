//! Tests of the command line: each runs `sp` in a `World` of `sp-testkit`, with a temporary home, a
//! cleared environment and a fixed clock.
//!
//! All tests of the crate are in one binary, because linking is slow. A module is a command or a
//! theme; `support` has what several of them share.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests set up files with std and stop at the first failure"
)]

mod agent_dirs;
mod audit;
mod bag;
mod bag_trust;
mod check;
mod context;
mod context_build;
mod corpus;
mod discovery;
mod doctor;
mod first_session;
mod gates;
mod git;
mod hooks;
mod hostile;
mod install;
mod local_only;
mod mcp;
mod mcp_install;
mod network;
mod output;
mod packs;
mod pages;
mod pkg;
mod plans;
mod project;
mod properties;
mod rules;
mod serve;
mod serve_context_packs;
mod serve_mcp;
mod shared_sinks;
mod sinks;
mod state;
mod support;
mod tls;
mod transaction;
mod url_secrets;
mod user_files;
mod walkthrough;
