//! Everything that answers requests.
//!
//! - [`registry`]: packages, context packs and skills over HTTP, with pages for people;
//! - [`mcp`]: the same, and what this machine has, for agents that speak MCP over stdio or HTTP;
//! - [`receiver`]: takes packages that `sp pkg send` sends.
//!
//! Nothing here decides what is valid: that is `sp-formats`, and every operation has its home in
//! `sp-engine`. Only this crate is asynchronous.

mod connections;
mod error;
pub mod mcp;
pub mod receiver;
pub mod registry;

pub use error::ServeError;
