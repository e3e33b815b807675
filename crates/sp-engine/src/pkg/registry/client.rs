//! Speaks to a registry: within a size and a time, again where the network failed, never elsewhere.

use std::time::Duration;

use serde::de::DeserializeOwned;
use sp_formats::printable::{masked, printable};
use sp_formats::registry::{API, Refused};
use ureq::tls::{RootCerts, TlsConfig};

use crate::context::{Context, Event, Network};
use crate::error::{Error, Kind, Result};

const TIMEOUT: Duration = Duration::from_secs(60);
const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// How long it is waited before it is tried again.
const PAUSES: [Duration; 3] = [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(3)];

/// What is asked for.
pub(super) struct Asked<'a> {
    method: ureq::http::Method,
    path: &'a str,
    body: &'a [u8],
}

impl<'a> Asked<'a> {
    pub(super) fn get(path: &'a str) -> Self {
        Self { method: ureq::http::Method::GET, path, body: b"" }
    }

    pub(super) fn put(path: &'a str, body: &'a [u8]) -> Self {
        Self { method: ureq::http::Method::PUT, path, body }
    }

    pub(super) fn post(path: &'a str) -> Self {
        Self { method: ureq::http::Method::POST, path, body: b"" }
    }

    pub(super) fn delete(path: &'a str) -> Self {
        Self { method: ureq::http::Method::DELETE, path, body: b"" }
    }
}

/// What a registry says.
pub(super) struct Told {
    text: String,
    address: String,
}

impl Told {
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(&self.text).map_err(|why| {
            Error::new(Kind::Data, format!("`{}` answers something else than a registry does", self.address))
                .because(why)
                .hint("check the address")
        })
    }
}

/// A registry that is spoken to.
pub(super) struct Client<'a> {
    context: &'a Context<'a>,
    agent: ureq::Agent,
    address: String,
    token: Option<String>,
}

impl<'a> Client<'a> {
    pub(super) fn new(context: &'a Context<'a>, address: &str, token: Option<&str>) -> Result<Self> {
        if context.network == Network::Offline {
            return Err(Error::new(Kind::Environment, format!("`{address}` cannot be reached with `--offline`"))
                .hint("leave it out"));
        }
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            // A token goes to whom it was given for.
            .max_redirects(0)
            .http_status_as_error(false)
            .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
            .user_agent("sp");
        Ok(Self { context, agent: config.build().into(), address: address.into(), token: token.map(str::to_owned) })
    }

    /// Asks, and again if the network failed or the registry could not answer just then.
    pub(super) fn ask(&self, asked: &Asked<'_>) -> Result<Told> {
        let mut pauses = PAUSES.iter();
        loop {
            let (error, pause) = match (self.try_once(asked), pauses.next()) {
                (Ok(told), _) => return told,
                (Err(error), None) => return Err(error),
                (Err(error), Some(pause)) => (error, pause),
            };
            self.context.tell(Event::Detail(format!("{error}; it is tried again")));
            std::thread::sleep(*pause);
        }
    }

    /// The answer, or why it may be worth to try again.
    fn try_once(&self, asked: &Asked<'_>) -> std::result::Result<Result<Told>, Error> {
        let url = format!("{}{API}/{}", self.address, asked.path);
        let mut request = ureq::http::Request::builder().method(asked.method.clone()).uri(&url);
        request = request.header("content-type", "application/json");
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let failed = |why: String| {
            Error::new(Kind::Environment, format!("`{}` cannot be reached", self.address))
                .because(masked(&why).into_owned())
                .hint("check the address, and that the registry runs")
        };
        let request = match request.body(asked.body) {
            Ok(request) => request,
            Err(why) => return Ok(Err(failed(why.to_string()))),
        };
        let mut response = self.agent.run(request).map_err(|why| failed(why.to_string()))?;
        let status = response.status();
        let text = response.body_mut().with_config().limit(MOST_BYTES).read_to_string();
        let text = text.map_err(|why| failed(why.to_string()))?;
        match status.as_u16() {
            200..=299 => Ok(Ok(Told { text, address: self.address.clone() })),
            502..=504 => Err(failed(format!("it answered {status}"))),
            code => Ok(Err(self.refused(code, &text))),
        }
    }

    fn refused(&self, code: u16, text: &str) -> Error {
        let told: Option<Refused> = serde_json::from_str(text).ok();
        let kind = match code {
            401 | 403 => Kind::Trust,
            400 | 413 => Kind::Data,
            404 | 409 => Kind::Request,
            _ => Kind::Environment,
        };
        let why = told.as_ref().map_or_else(|| format!("it answered {code}"), |told| told.message.clone());
        let error = Error::new(kind, format!("`{}` refused it", self.address)).because(printable(&why).into_owned());
        let help = told.and_then(|told| told.help).map(|help| printable(&help).into_owned());
        match (code, help) {
            (401, _) => error.hint(format!("`sp login {}` with a token that may do this", self.address)),
            (_, Some(help)) => error.hint(help),
            _ => error,
        }
    }
}
