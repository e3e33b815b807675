//! `sp pkg send`: posts a package in a signed envelope to another machine.

use std::collections::BTreeMap;
use std::time::Duration;

use sp_formats::output::PackageSendReport;
use sp_formats::package::Package;
use sp_formats::package::envelope::{
    Envelope, EnvelopeSender, EnvelopeSignatureScheme, HANDOFF_PATH,
};
use sp_formats::package::store::PackageStoreIndex;
use sp_formats::redact::redact_secrets;
use sp_formats::suggest::list_few;
use sp_formats::text::OverLimit;

use super::load_package::load_package;
use super::package_spec::PackageSpec;
use super::package_store::read_store_index;
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::http::{HttpClient, HttpError, HttpPolicy, Request, StatusCode};
use crate::secret::{SecretSource, TRANSPORT_SECRET_ENV, read_secret_if_set, require_env};
use crate::server_url::{display_server_url, normalize_server_url};
use crate::session::Session;

const TIMEOUT: Duration = Duration::from_secs(60);
/// The maximum size of a response, which is printed.
const MAX_RESPONSE_BYTES: u64 = 64 * 1024;

/// The arguments of `sp pkg send`.
#[derive(Debug, Clone)]
pub struct SendRequest {
    /// The package. The default is the only package of the store.
    pub package: Option<String>,
    /// The host or URL of the receiver.
    pub target: String,
    /// The agent that the envelope is addressed to.
    pub recipient: Option<String>,
    /// The name under which the receiver knows this machine.
    pub sender: String,
    /// The shared secret that signs the envelope.
    pub secret: SecretSource,
    /// The environment variable with a bearer token.
    pub token_env: Option<String>,
    pub form: EnvelopeSignatureScheme,
}

/// Sends a package, and returns the response of the receiver.
pub fn send(context: &Context<'_>, request: &SendRequest) -> Result<PackageSendReport> {
    let session = Session::begin(context)?;
    let secret = read_secret_if_set(context, &request.secret)?;
    let url = handoff_url(&request.target)?;
    let index = read_store_index(context)?;
    let spec = match &request.package {
        Some(text) => PackageSpec::parse(&session, text)?,
        None => only_package(&index)?,
    };
    let package = load_package(&session, &index, &spec)?.package;
    let mut envelope = unsigned_envelope(context, request, &package);
    match &secret {
        Some(secret) => envelope.sign(secret, request.form),
        None => context.emit(Event::Warning(format!(
            "the envelope is not signed, so only `sp pkg receive --allow-unsigned` accepts it; to \
             sign it, set `{TRANSPORT_SECRET_ENV}` or use `--secret-file`"
        ))),
    }
    let text = envelope.to_json();
    check_envelope_size(&session, &text)?;
    let token = request.token_env.as_deref().map(|name| require_env(context, name)).transpose()?;
    let answer = post(context, &url, &text, token.as_deref())?;
    Ok(PackageSendReport {
        name: package.manifest.name.to_string(),
        version: package.manifest.version.to_string(),
        target: display_server_url(&url),
        answer,
    })
}

fn unsigned_envelope(context: &Context<'_>, request: &SendRequest, package: &Package) -> Envelope {
    let signer = package.signer.map(|signer| signer.key.short_hex());
    Envelope {
        sent_at: context.now,
        sender: EnvelopeSender {
            agent_id: request.sender.clone(),
            agent_type: "skillpack".into(),
            daemon_fingerprint: signer.unwrap_or_default(),
            capabilities: vec!["context_package".into()],
        },
        recipient: request.recipient.clone(),
        metadata: BTreeMap::new(),
        payload: package.text().to_string(),
        signature: None,
    }
}

fn check_envelope_size(session: &Session<'_>, text: &str) -> Result<()> {
    let limit = session.limits.envelope_bytes;
    if text.len() as u64 <= limit {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::LimitExceeded,
        format!("the envelope is {}", OverLimit { bytes: text.len() as u64, limit }),
    )
    .hint("export the package and copy the file, or reduce the size of the package"))
}

fn only_package(index: &PackageStoreIndex) -> Result<PackageSpec> {
    let mut names: Vec<_> = index.packages.iter().map(|stored| &stored.name).collect();
    names.dedup();
    match names.as_slice() {
        [name] => Ok(PackageSpec::Named((*name).clone(), None)),
        [] => Err(Error::new(ErrorCode::NothingFound, "the store has no packages to send")
            .hint("specify a file, or create a package with `sp pkg create`")),
        many => {
            let names: Vec<String> = many.iter().map(ToString::to_string).collect();
            Err(Error::new(ErrorCode::AmbiguousPackage, "the store has multiple packages")
                .hint(format!("specify one of: {}", list_few(&names))))
        }
    }
}

fn handoff_url(target: &str) -> Result<String> {
    Ok(format!("{}{HANDOFF_PATH}", normalize_server_url(target)?))
}

fn post(context: &Context<'_>, url: &str, text: &str, token: Option<&str>) -> Result<String> {
    let target = display_server_url(url);
    let policy = HttpPolicy::one_server(TIMEOUT, "run the command without `--offline`");
    let http = HttpClient::new(context, url, &target, policy)?;
    let mut request = Request::post(url).header("content-type", "application/json");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let response = http.fetch(request, text.into(), MAX_RESPONSE_BYTES)?.map_err(|e| {
        Error::new(ErrorCode::Network, format!("cannot connect to `{target}`"))
            .because(redact_secrets(&e.to_string()))
            .hint("check the URL and that the receiver is running")
    })?;
    let status = response.status;
    let answer = match response.into_text() {
        Ok(text) => text.trim().to_owned(),
        Err(why @ HttpError::TooLarge { .. }) => {
            return Err(Error::new(
                ErrorCode::InvalidResponse,
                format!("cannot read the response of `{target}`"),
            )
            .because(why)
            .hint(format!("check the URL; the server returned {status}")));
        }
        // The status alone decides whether the package was accepted.
        Err(_) => String::new(),
    };
    if status.is_success() { Ok(answer) } else { Err(rejected_error(&target, status, &answer)) }
}

fn rejected_error(target: &str, status: StatusCode, answer: &str) -> Error {
    let code =
        if status.as_u16() < 500 { ErrorCode::ReceiverRefused } else { ErrorCode::Unavailable };
    Error::new(code, format!("`{target}` rejected the package"))
        .because(format!("the server returned {status}: {answer}"))
        .hint("check the secret, the recipient and the clocks of both machines")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pk_14_target_without_scheme_is_https_and_http_is_loopback_only() {
        for (target, url) in [
            ("agent.local", "https://agent.local/v1/a2a/handoff"),
            ("agent.local:8443/base/", "https://agent.local:8443/base/v1/a2a/handoff"),
            ("127.0.0.1:8765", "http://127.0.0.1:8765/v1/a2a/handoff"),
            ("[::1]:1", "http://[::1]:1/v1/a2a/handoff"),
            ("http://localhost", "http://localhost/v1/a2a/handoff"),
            ("HTTPS://x.example", "https://x.example/v1/a2a/handoff"),
        ] {
            assert_eq!(handoff_url(target).unwrap(), url);
        }
        for bad in [
            "",
            "http://x.example",
            "ftp://x",
            "a b",
            "https://",
            "http://127.0.0.1@evil.example",
            "file:///etc/passwd",
        ] {
            assert!(handoff_url(bad).is_err(), "{bad}");
        }
    }
}
