//! `sp pkg send`: a package in an envelope, posted to another machine.

use std::collections::BTreeMap;
use std::time::Duration;

use sp_formats::output::PackageSendReport;
use sp_formats::package::envelope::{
    Envelope, EnvelopeSender, EnvelopeSignatureScheme, HANDOFF_PATH,
};
use sp_formats::printable::printable;
use sp_formats::redact::{QueryAllowlist, redact_secrets, redact_url};

use super::package_spec::PackageSpec;
use super::package_store::read_store_index;
use super::secret::{SecretSource, TRANSPORT_SECRET_ENV, read_secret_if_set, require_env};
use crate::context::{Context, Event, Network};
use crate::error::{Error, FailureKind, Result};
use crate::http::{BodyError, ResponseBody, is_loopback, single_server_client};
use crate::session::Session;

const TIMEOUT: Duration = Duration::from_secs(60);
/// The longest response that is read and shown.
const MAX_RESPONSE_BYTES: u64 = 64 * 1024;

/// What is to be sent.
#[derive(Debug, Clone)]
pub struct SendRequest {
    /// The package; none means the only one that the store has.
    pub package: Option<String>,
    /// To where.
    pub target: String,
    /// To whom.
    pub recipient: Option<String>,
    /// By which name the other side knows us.
    pub sender: String,
    /// The secret.
    pub secret: SecretSource,
    /// The environment variable that holds a bearer token.
    pub token_env: Option<String>,
    /// How the envelope is signed.
    pub form: EnvelopeSignatureScheme,
}

/// Sends a package.
pub fn send(context: &Context<'_>, request: &SendRequest) -> Result<PackageSendReport> {
    let session = Session::begin(context)?;
    let secret = read_secret_if_set(context, &request.secret)?;
    let url = handoff_url(&request.target)?;
    let shelf = read_store_index(context)?;
    let subject = match &request.package {
        Some(text) => PackageSpec::parse(&session, text)?,
        None => only_package(&shelf)?,
    };
    let (package, _) = subject.load(&session, &shelf)?;
    let mut envelope = Envelope {
        sent_at: context.now,
        sender: EnvelopeSender {
            agent_id: request.sender.clone(),
            agent_type: "skillpack".into(),
            daemon_fingerprint: package
                .signer
                .map(|signer| signer.key.short_hex())
                .unwrap_or_default(),
            capabilities: vec!["context_package".into()],
        },
        recipient: request.recipient.clone(),
        metadata: BTreeMap::new(),
        payload: package.text().to_string(),
        signature: None,
    };
    match &secret {
        Some(secret) => envelope.sign(secret, request.form),
        None => context.emit(Event::Warning(format!(
            "the envelope is not signed, so the receiver cannot verify who sent it: it is accepted only by \
             `sp pkg receive --allow-unsigned`. To sign it, set `{TRANSPORT_SECRET_ENV}` or use `--secret-file`"
        ))),
    }
    let text = envelope.to_json();
    let limit = session.limits.envelope_bytes;
    if text.len() as u64 > limit {
        return Err(Error::new(
            FailureKind::Data,
            format!("the envelope would have {} bytes, and the limit is {limit}", text.len()),
        )
        .hint("export the package and copy the file, or leave something out of it"));
    }
    let token = request.token_env.as_deref().map(|name| require_env(context, name)).transpose()?;
    let answer = post(context, &url, &text, token.as_deref())?;
    Ok(PackageSendReport {
        name: package.manifest.name.to_string(),
        version: package.manifest.version.to_string(),
        target: display_target(&url),
        answer,
    })
}

fn only_package(shelf: &sp_formats::package::store::PackageStoreIndex) -> Result<PackageSpec> {
    let mut names: Vec<_> = shelf.packages.iter().map(|stored| &stored.name).collect();
    names.dedup();
    match names.as_slice() {
        [one] => Ok(PackageSpec::Named((*one).clone(), None)),
        [] => Err(Error::new(FailureKind::Request, "there is nothing in the store to send")
            .hint("name a file, or make a package with `sp pkg create`")),
        many => {
            let names: Vec<String> = many.iter().map(ToString::to_string).collect();
            Err(Error::new(FailureKind::Usage, "the store has more than one package")
                .hint(format!("name one of: {}", names.join(", "))))
        }
    }
}

/// The address to post to.
fn handoff_url(target: &str) -> Result<String> {
    Ok(format!("{}{HANDOFF_PATH}", normalize_server_url(target)?))
}

/// A target as it may be printed.
fn display_target(target: &str) -> String {
    // A user is found only after a scheme, which a target need not have.
    if target.contains("://") {
        return redact_url(target, &QueryAllowlist::default());
    }
    redact_url(&format!("https://{target}"), &QueryAllowlist::default())
        .trim_start_matches("https://")
        .to_owned()
}

/// The address of a server: https where no scheme is said, http only on this machine.
pub(super) fn normalize_server_url(target: &str) -> Result<String> {
    let wrong = |why: &str| {
        Error::new(
            FailureKind::Usage,
            format!("invalid target `{}`", printable(&display_target(target))),
        )
        .because(why.to_owned())
        .hint("name a host such as `agent.example` or `127.0.0.1:8765`")
    };
    if target.is_empty() || target.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(wrong("it is empty, or has white space in it"));
    }
    let (scheme, rest) = match target.split_once("://") {
        Some((scheme, rest)) => (Some(scheme.to_ascii_lowercase()), rest),
        None => (None, target),
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(inner) => inner.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    if host.is_empty() {
        return Err(wrong("it has no host"));
    }
    // A path is added to it, so that there is no place for them.
    if rest[authority.rfind('@').map_or(0, |at| at + 1)..].contains(['?', '#']) {
        return Err(wrong("it has a query or a fragment"));
    }
    let here = is_loopback(host);
    let scheme = match scheme.as_deref() {
        None if here => "http",
        None | Some("https") => "https",
        Some("http") if here => "http",
        Some("http") => return Err(wrong("http would show the package to everybody on the way")),
        Some(_) => return Err(wrong("only https is spoken, and http on this machine")),
    };
    Ok(format!("{scheme}://{}", rest.trim_end_matches('/')))
}

fn post(context: &Context<'_>, url: &str, text: &str, token: Option<&str>) -> Result<String> {
    let shown = display_target(url);
    if context.network == Network::Offline {
        return Err(Error::new(
            FailureKind::Environment,
            format!("`{shown}` cannot be reached with `--offline`"),
        )
        .hint("leave it out"));
    }
    let agent = single_server_client(url, TIMEOUT);
    let mut request = agent.post(url).header("content-type", "application/json");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let failed = |why: String| {
        Error::new(FailureKind::Environment, format!("`{shown}` cannot be reached"))
            .because(redact_secrets(&why))
            .hint("check the address, and that the other side listens")
    };
    let response = request.send(text).map_err(|e| failed(e.to_string()))?;
    let status = response.status();
    let answer = match ResponseBody::new(response, MAX_RESPONSE_BYTES).read_text() {
        Ok(answer) => answer.trim().to_owned(),
        Err(why @ BodyError::TooLarge { .. }) => {
            return Err(Error::new(
                FailureKind::Data,
                format!("cannot read the response of `{shown}`"),
            )
            .because(why)
            .hint(format!("the other side answered {status}; check the address")));
        }
        // The status says whether the package was taken.
        Err(_) => String::new(),
    };
    match status.as_u16() {
        200..=299 => Ok(answer),
        code => Err(Error::new(
            if code < 500 { FailureKind::Trust } else { FailureKind::Environment },
            format!("`{shown}` did not take the package"),
        )
        .because(format!("it answered {status}: {answer}"))
        .hint("the other side says why; the secret, the clock and the recipient must fit")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pk_14_a_target_without_a_scheme_is_https_and_http_stays_on_this_machine() {
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
