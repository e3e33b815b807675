//! The servers of Skillpack.
//!
//! - [`registry`]: packages, context packs and skills over HTTP, with web pages;
//! - [`mcp`]: skills, packages and context packs for agents, over stdio or HTTP;
//! - [`receiver`]: accepts packages that `sp pkg send` sends.
//!
//! This crate decides nothing about validity: `sp-formats` does, and every operation lives in
//! `sp-engine`. It is the only asynchronous crate.

mod address_range;
mod connections;
mod error;
pub mod mcp;
pub mod receiver;
pub mod registry;
mod request_gate;

pub use address_range::AddressRange;
pub use connections::{CertificateError, TlsFiles};
pub use error::ServeError;
