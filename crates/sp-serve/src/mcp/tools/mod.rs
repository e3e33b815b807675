//! Tools that more than one backend has.
//!
//! [`common`] searches and reads what any [`McpBackend`](crate::mcp::backend::McpBackend) offers;
//! [`knowledge`] queries the graphs of packages, for backends that can load them. Tools of this
//! machine alone are in [`local`](crate::mcp::local).

pub mod common;
pub mod knowledge;
