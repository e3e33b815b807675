//! Projects: what `skillpack.yaml` declares and `skillpack.lock` pins.
//!
//! The formats are in `sp_formats::project`. [`catalog`] finds out what the sources of a project
//! offer.

#[allow(dead_code, unused_imports, reason = "the operations on projects use it")]
pub(crate) mod catalog;
