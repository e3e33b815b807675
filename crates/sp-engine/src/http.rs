//! How servers are spoken to, whoever does it.

use std::net::IpAddr;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use ureq::config::ConfigBuilder;
use ureq::http::Uri;
use ureq::tls::{RootCerts, TlsConfig};
use ureq::typestate::AgentScope;

use crate::context::{Context, LOOK_AGAIN};
use crate::error::{Error, Kind};

/// What every client has: the name that it gives, and whom it trusts, a company's own authority included.
pub(crate) fn settings() -> ConfigBuilder<AgentScope> {
    ureq::Agent::config_builder()
        .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
        .user_agent("sp")
}

/// A client for what is meant for one server and no other: a token, a key, a package.
///
/// It follows no redirect, and plain http stays on this machine, where no proxy carries it all to another.
pub(crate) fn for_one_server(url: &str, timeout: Duration) -> ureq::Agent {
    let is_here = url.parse::<Uri>().is_ok_and(|uri| uri.host().is_some_and(is_here));
    let config = settings().timeout_global(Some(timeout)).max_redirects(0).http_status_as_error(false);
    let config = config.https_only(!is_here);
    if is_here { config.proxy(None).build().into() } else { config.build().into() }
}

/// Waits for a server as long as the answer is wanted. What is given up ends by itself, at its own limit of time.
pub(crate) fn while_wanted<T: Send + 'static>(
    context: &Context<'_>,
    ask: impl FnOnce() -> Result<T, ureq::Error> + Send + 'static,
) -> crate::error::Result<Result<T, ureq::Error>> {
    context.go_on()?;
    let (answer, answers) = mpsc::channel();
    // If nobody waits any more, nobody hears the answer either.
    std::thread::spawn(move || drop(answer.send(ask())));
    loop {
        match answers.recv_timeout(LOOK_AGAIN) {
            Ok(answer) => return Ok(answer),
            Err(RecvTimeoutError::Timeout) => context.go_on()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::new(Kind::Environment, "a request ended unexpectedly"));
            }
        }
    }
}

/// Whether a host is this machine.
pub(crate) fn is_here(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
