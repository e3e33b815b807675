//! Why a server cannot start or go on.

use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;

/// Why a server cannot run.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The folder cannot be used.
    #[error("cannot use `{}`", .0.display())]
    DataDir(PathBuf, #[source] Box<dyn std::error::Error + Send + Sync>),
    /// Another registry is at work there.
    #[error("another registry uses `{}`", .0.display())]
    DataDirInUse(PathBuf),
    /// The database cannot be used. The address is shown without its password.
    #[error("cannot use the database `{0}`")]
    Database(String, #[source] Box<dyn std::error::Error + Send + Sync>),
    /// The address cannot be used.
    #[error("cannot listen on `{0}`")]
    Listen(SocketAddr, #[source] std::io::Error),
    /// The system refused something else.
    #[error("the server cannot run")]
    Io(#[source] std::io::Error),
}
