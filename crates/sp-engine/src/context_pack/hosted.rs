//! `sp context push`, `url` and `revoke`: context packs in a registry, and signed URLs that open
//! them.

use std::path::PathBuf;

use sp_formats::context_pack::{
    ContextPackUrlRequest, ContextPackUrlResponse, MAX_URL_LIFETIME_SECS, PutContextPackResponse,
    is_pack_id,
};
use sp_formats::output::{ContextPackPushReport, ContextPackRevokeReport, ContextPackUrlReport};
use sp_formats::printable::printable;
use sp_tree::Digest;

use super::archive::{read_valid_pack, zip_pack};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::registry::{RegistryRequest, connect};
use crate::session::Session;

/// The arguments of `sp context push`.
#[derive(Debug, Clone)]
pub struct ContextPackPushRequest {
    /// The pack: a directory, a zip or a URL.
    pub pack: PathBuf,
    /// The URL of the registry. The default is that of the config or of the last login.
    pub registry: Option<String>,
}

/// The arguments of `sp context url`.
#[derive(Debug, Clone)]
pub struct CreateUrlRequest {
    /// The pack ID.
    pub id: String,
    /// The lifetime, such as `30m`, `1h` or `7d`. The registry has a default.
    pub expires: Option<String>,
    /// The URL of the registry. The default is that of the config or of the last login.
    pub registry: Option<String>,
}

/// Uploads a valid pack to a registry. Uploading the same pack again changes nothing.
pub fn push(
    context: &Context<'_>,
    request: &ContextPackPushRequest,
) -> Result<ContextPackPushReport> {
    let session = Session::begin(context)?;
    let client = connect(&session, request.registry.as_deref())?;
    session.policies(None)?.require_registry(client.address())?;
    let (pack, entries) = read_valid_pack(&session, &request.pack)?;
    let (files, bytes) = zip_pack(&pack, &entries)?;
    let id = pack.manifest.pack_id;
    let response = client.execute(
        &RegistryRequest::put(&format!("context-packs/{id}"), &bytes)
            .with_content_type("application/zip"),
    )?;
    let new = response.is_created();
    let stored: PutContextPackResponse = response.json()?;
    let sha256 = Digest::of(&bytes).hex();
    if stored.sha256 != sha256 || stored.pack_id != id {
        return Err(Error::new(
            ErrorCode::DigestMismatch,
            format!(
                "`{}` reported a different digest for the uploaded context pack",
                client.address()
            ),
        )
        .because(format!("the local digest is {sha256}"))
        .hint("do not trust this registry"));
    }
    Ok(ContextPackPushReport {
        registry: client.address().into(),
        pack_id: id,
        sha256,
        bytes: bytes.len(),
        files,
        new,
        warnings: stored.findings.len(),
    })
}

/// Creates a URL that gives access to a pack until it expires.
pub fn create_url(
    context: &Context<'_>,
    request: &CreateUrlRequest,
) -> Result<ContextPackUrlReport> {
    let session = Session::begin(context)?;
    let id = parse_pack_id(&request.id)?;
    let expires_in = request.expires.as_deref().map(parse_expiry).transpose()?;
    let client = connect(&session, request.registry.as_deref())?;
    let body = serde_json::to_vec(&ContextPackUrlRequest { expires_in }).map_err(|why| {
        Error::new(ErrorCode::Internal, "cannot serialize the request").because(why)
    })?;
    let urls: ContextPackUrlResponse = client
        .execute(&RegistryRequest::post(&format!("context-packs/{id}/url")).with_body(&body))?
        .json()?;
    let address = client.address();
    let is_below = |path: &str| path.starts_with('/') && path.chars().all(|c| c.is_ascii_graphic());
    if ![&urls.folder, &urls.manifest, &urls.zip].into_iter().all(|path| is_below(path))
        || urls.pack_id != id
    {
        return Err(Error::new(
            ErrorCode::InvalidResponse,
            format!("`{address}` did not return a valid registry response"),
        )
        .hint("check that the URL is correct"));
    }
    Ok(ContextPackUrlReport {
        registry: address.into(),
        pack_id: id.into(),
        url: format!("{address}{}", urls.folder),
        query_url: format!("{address}{}", urls.manifest),
        zip_url: format!("{address}{}", urls.zip),
        kid: urls.kid,
        expires_at: urls.expires_at,
    })
}

/// Revokes every URL of a pack that was created so far.
pub fn revoke(
    context: &Context<'_>,
    id: &str,
    registry: Option<&str>,
) -> Result<ContextPackRevokeReport> {
    let session = Session::begin(context)?;
    let id = parse_pack_id(id)?;
    let client = connect(&session, registry)?;
    client.execute(&RegistryRequest::post(&format!("context-packs/{id}/revoke")))?;
    Ok(ContextPackRevokeReport { registry: client.address().into(), pack_id: id.into() })
}

fn parse_pack_id(text: &str) -> Result<&str> {
    if is_pack_id(text) {
        return Ok(text);
    }
    let message = format!("invalid context pack ID `{}`", printable(text));
    Err(Error::new(ErrorCode::InvalidId, message).hint(
        "use the ID that `sp context push` or `sp context show <pack>` prints: `pk_` and 26 \
         letters and digits",
    ))
}

/// Parses a lifetime such as `30m`, `1h` or `7d`, and returns seconds.
fn parse_expiry(text: &str) -> Result<u64> {
    let invalid = |why: &str| {
        Error::new(ErrorCode::InvalidTime, format!("invalid duration `{}`", printable(text)))
            .because(why.to_owned())
            .hint("use a duration such as `30m`, `1h` or `7d`")
    };
    let Some(duration) = sp_formats::time::parse_duration(text) else {
        return Err(invalid("a duration is a number followed by `s`, `m`, `h` or `d`"));
    };
    let seconds = duration.as_secs();
    if (1..=MAX_URL_LIFETIME_SECS).contains(&seconds) {
        Ok(seconds)
    } else {
        Err(invalid("a URL can be valid for 1 second to 7 days"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cp_16_url_lifetime_is_at_most_a_week() {
        for (text, expected) in [
            ("1s", Some(1)),
            ("30m", Some(1800)),
            ("1h", Some(3600)),
            ("7d", Some(MAX_URL_LIFETIME_SECS)),
            ("168h", Some(MAX_URL_LIFETIME_SECS)),
        ] {
            assert_eq!(parse_expiry(text).ok(), expected, "{text}");
        }
        for bad in [
            "",
            "1",
            "h",
            "0s",
            "8d",
            "169h",
            "1w",
            "-1h",
            "1.5h",
            "99999999999999999999s",
            "1h1m",
            "９h",
        ] {
            assert!(parse_expiry(bad).is_err(), "{bad}");
        }
    }
}
