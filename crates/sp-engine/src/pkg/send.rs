//! `sp pkg send`: a package in an envelope, posted to another machine.

use std::collections::BTreeMap;
use std::time::Duration;

use sp_formats::address::{KeptQuery, shown_url, without_secrets};
use sp_formats::output::PackageSent;
use sp_formats::package::envelope::{Envelope, Form, PATH, Sender};
use sp_formats::printable::printable;

use super::secret::{SecretFrom, TRANSPORT_SECRET, env, find_secret};
use super::shelf::read_shelf;
use super::subject::Subject;
use crate::config::Session;
use crate::context::{Context, Event, Network};
use crate::error::{Error, Kind, Result};
use crate::http::{BodyError, ResponseBody, for_one_server, is_here};

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
    pub secret: SecretFrom,
    /// The environment variable that holds a bearer token.
    pub token_env: Option<String>,
    /// How the envelope is signed.
    pub form: Form,
}

/// Sends a package.
pub fn send(context: &Context<'_>, request: &SendRequest) -> Result<PackageSent> {
    let session = Session::begin(context)?;
    let secret = find_secret(context, &request.secret)?;
    let url = address(&request.target)?;
    let shelf = read_shelf(context)?;
    let subject = match &request.package {
        Some(text) => Subject::parse(&session, text)?,
        None => only(&shelf)?,
    };
    let (package, _) = subject.load(&session, &shelf)?;
    let mut envelope = Envelope {
        sent_at: context.now,
        sender: Sender {
            agent_id: request.sender.clone(),
            agent_type: "skillpack".into(),
            daemon_fingerprint: package.signer.map(|signer| signer.key.short()).unwrap_or_default(),
            capabilities: vec!["context_package".into()],
        },
        recipient: request.recipient.clone(),
        metadata: BTreeMap::new(),
        payload: package.text().to_string(),
        signature: None,
    };
    match &secret {
        Some(secret) => envelope.sign(secret, request.form),
        None => context.tell(Event::Warning(format!(
            "the envelope is not signed, so the receiver cannot verify who sent it: it is accepted only by \
             `sp pkg receive --allow-unsigned`. To sign it, set `{TRANSPORT_SECRET}` or use `--secret-file`"
        ))),
    }
    let text = envelope.to_json();
    let limit = session.limits.envelope_bytes;
    if text.len() as u64 > limit {
        return Err(Error::new(
            Kind::Data,
            format!("the envelope would have {} bytes, and the limit is {limit}", text.len()),
        )
        .hint("export the package and copy the file, or leave something out of it"));
    }
    let token = request.token_env.as_deref().map(|name| env(context, name)).transpose()?;
    let answer = post(context, &url, &text, token.as_deref())?;
    Ok(PackageSent {
        name: package.manifest.name.to_string(),
        version: package.manifest.version.to_string(),
        target: shown(&url),
        answer,
    })
}

fn only(shelf: &sp_formats::package::store::Shelf) -> Result<Subject> {
    let mut names: Vec<_> = shelf.packages.iter().map(|stored| &stored.name).collect();
    names.dedup();
    match names.as_slice() {
        [one] => Ok(Subject::Named((*one).clone(), None)),
        [] => Err(Error::new(Kind::Request, "there is nothing in the store to send")
            .hint("name a file, or make a package with `sp pkg create`")),
        many => {
            let names: Vec<String> = many.iter().map(ToString::to_string).collect();
            Err(Error::new(Kind::Usage, "the store has more than one package")
                .hint(format!("name one of: {}", names.join(", "))))
        }
    }
}

/// The address to post to.
fn address(target: &str) -> Result<String> {
    Ok(format!("{}{PATH}", base(target)?))
}

/// A target as it may be printed.
fn shown(target: &str) -> String {
    // A user is found only after a scheme, which a target need not have.
    if target.contains("://") {
        return shown_url(target, &KeptQuery::default());
    }
    shown_url(&format!("https://{target}"), &KeptQuery::default()).trim_start_matches("https://").to_owned()
}

/// The address of a server: https where no scheme is said, http only on this machine.
pub(super) fn base(target: &str) -> Result<String> {
    let wrong = |why: &str| {
        Error::new(Kind::Usage, format!("invalid target `{}`", printable(&shown(target))))
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
    let here = is_here(host);
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
    let shown = shown(url);
    if context.network == Network::Offline {
        return Err(
            Error::new(Kind::Environment, format!("`{shown}` cannot be reached with `--offline`")).hint("leave it out")
        );
    }
    let agent = for_one_server(url, TIMEOUT);
    let mut request = agent.post(url).header("content-type", "application/json");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let failed = |why: String| {
        Error::new(Kind::Environment, format!("`{shown}` cannot be reached"))
            .because(without_secrets(&why))
            .hint("check the address, and that the other side listens")
    };
    let response = request.send(text).map_err(|e| failed(e.to_string()))?;
    let status = response.status();
    let answer = match ResponseBody::new(response, MAX_RESPONSE_BYTES).read_text() {
        Ok(answer) => answer.trim().to_owned(),
        Err(why @ BodyError::TooLarge { .. }) => {
            return Err(Error::new(Kind::Data, format!("cannot read the response of `{shown}`"))
                .because(why)
                .hint(format!("the other side answered {status}; check the address")));
        }
        // The status says whether the package was taken.
        Err(_) => String::new(),
    };
    match status.as_u16() {
        200..=299 => Ok(answer),
        code => Err(Error::new(
            if code < 500 { Kind::Trust } else { Kind::Environment },
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
            assert_eq!(address(target).unwrap(), url);
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
            assert!(address(bad).is_err(), "{bad}");
        }
    }
}
