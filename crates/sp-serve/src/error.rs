//! Errors that keep a server from starting or running.

use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;

#[derive(Debug, Error)]
pub enum ServeError {
    #[error("cannot use the data directory `{}`", .0.display())]
    DataDir(PathBuf, #[source] Box<dyn std::error::Error + Send + Sync>),
    /// Another process holds the lock of the data directory.
    #[error("another registry is using `{}`", .0.display())]
    DataDirInUse(PathBuf),
    /// The string is the address without its password.
    #[error("cannot use the database `{0}`")]
    Database(String, #[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database was upgraded by a newer version.
    #[error("cannot use the database of a newer version")]
    NewerDatabase(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The string is the URL of the object store.
    #[error("cannot use the object store `{0}`")]
    ObjectStore(String, #[source] Box<dyn std::error::Error + Send + Sync>),
    /// The object store belongs to another database. The string is its directory or URL.
    #[error("`{0}` is not the object store of this registry")]
    WrongObjectStore(String, #[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("cannot use the TLS certificate")]
    Certificate(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The provider for logins to the web pages.
    #[error("cannot use the login provider")]
    LoginProvider(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("cannot listen on `{0}`")]
    Listen(SocketAddr, #[source] std::io::Error),
    #[error("cannot run the server")]
    Io(#[source] std::io::Error),
}
