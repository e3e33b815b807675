//! The client of a registry, the server that `sp serve` runs.
//!
//! [`connect`] selects a registry, reads its token from [`RegistryCredentials`] and returns a
//! [`RegistryClient`], which sends one [`RegistryRequest`] at a time. Bodies have a maximum size,
//! requests a timeout, and a request that failed in the network is retried. A token is sent to the
//! registry it was stored for and to no other, and redirects are not followed.
//!
//! What the responses mean, and whether they can be trusted, is decided by `pkg` and
//! `context_pack`.

mod client;
mod credentials;
mod partial_download;

use std::time::Duration;

pub(crate) use self::client::{DownloadHeaders, REQUEST_TIMEOUT, RegistryClient, RegistryRequest};
pub(crate) use self::credentials::{
    CREDENTIALS_FILE, RegistryCredentials, TokenSource, select_registry,
};
pub(crate) use self::partial_download::{
    ExpectedBytes, KeepPartial, PartialDownload, downloads_dir,
};
use crate::error::Result;
use crate::session::Session;

/// The timeout of a publish: the registry audits the package before it responds.
pub(crate) const PUBLISH_TIMEOUT: Duration = Duration::from_mins(10);

/// Returns a client for the named registry, or for the default one.
pub(crate) fn connect<'a>(
    session: &Session<'a>,
    registry: Option<&str>,
) -> Result<RegistryClient<'a>> {
    connect_within(session, registry, REQUEST_TIMEOUT)
}

/// Returns a client for the named registry, or for the default one, with a timeout.
pub(crate) fn connect_within<'a>(
    session: &Session<'a>,
    registry: Option<&str>,
    timeout: Duration,
) -> Result<RegistryClient<'a>> {
    let credentials = RegistryCredentials::read(session.context)?;
    let address = select_registry(session, registry, &credentials)?;
    let token = credentials.token(&address, TokenSource::EnvironmentOrFile);
    RegistryClient::with_timeout(session.context, &address, token.as_deref(), timeout)
}
