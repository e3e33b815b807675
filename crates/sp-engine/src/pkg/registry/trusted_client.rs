//! `sp publish --oidc`: publishes with the identity of a CI job instead of a stored token.
//!
//! The identity token comes from the environment or from GitHub. The registry exchanges it for a
//! token that lives for minutes, which is revoked as soon as the package is published. Neither is
//! ever printed.

use std::time::Duration;

use sp_formats::percent::{COMPONENT, encode};
use sp_formats::trusted_publisher::{
    IdentityAudience, IdentityTokenRequest, TRUSTED_TOKEN_PREFIX, TrustedToken,
};

use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::http::{HttpClient, HttpPolicy, Method, Request};
use crate::registry::{
    PUBLISH_TIMEOUT, RegistryClient, RegistryCredentials, RegistryRequest, select_registry,
};
use crate::session::Session;

const TOKEN_ENV: &str = "SP_ID_TOKEN";
const GITHUB_URL_ENV: &str = "ACTIONS_ID_TOKEN_REQUEST_URL";
const GITHUB_TOKEN_ENV: &str = "ACTIONS_ID_TOKEN_REQUEST_TOKEN";
const GITHUB_TIMEOUT: Duration = Duration::from_secs(20);
const MAX_GITHUB_BYTES: u64 = 64 * 1024;
const EXCHANGE_PATH: &str = "oidc/token";

/// Runs `work` with a client that has a token for this CI job, then revokes the token.
pub(super) fn with_trusted_client<T>(
    session: &Session<'_>,
    registry: Option<&str>,
    work: impl FnOnce(&RegistryClient<'_>) -> Result<T>,
) -> Result<T> {
    let context = session.context;
    let address = select_registry(session, registry, &RegistryCredentials::read(context)?)?;
    let anonymous = RegistryClient::new(context, &address, None)?;
    let request = IdentityTokenRequest { token: identity_token(context, &anonymous)? };
    let body = serde_json::to_vec(&request).map_err(|e| {
        Error::new(ErrorCode::InvalidSecret, "the identity token cannot be sent").because(e)
    })?;
    let exchanged = anonymous.execute(&RegistryRequest::post(EXCHANGE_PATH).with_body(&body))?;
    let token = exchanged.json::<TrustedToken>()?.token;
    let is_plain = token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !token.starts_with(TRUSTED_TOKEN_PREFIX) || !is_plain {
        return Err(Error::new(
            ErrorCode::InvalidResponse,
            format!("`{address}` did not return a token"),
        )
        .hint("check that the URL is correct"));
    }
    let client = RegistryClient::with_timeout(context, &address, Some(&token), PUBLISH_TIMEOUT)?;
    let done = work(&client);
    if client.probe(&RegistryRequest::delete(EXCHANGE_PATH)).is_err() {
        let warning = "the token could not be revoked; it expires within 15 minutes";
        context.emit(Event::Warning(warning.into()));
    }
    done
}

/// Returns the identity token of this CI job.
fn identity_token(context: &Context<'_>, registry: &RegistryClient<'_>) -> Result<String> {
    let variable = |name: &str| context.env.get(name).filter(|value| !value.is_empty());
    if let Some(token) = variable(TOKEN_ENV) {
        return Ok(token.trim().to_owned());
    }
    match (variable(GITHUB_URL_ENV), variable(GITHUB_TOKEN_ENV)) {
        (Some(url), Some(token)) => {
            let response = registry.execute(&RegistryRequest::get("oidc/audience"))?;
            let audience = response.json::<IdentityAudience>()?.audience;
            request_github_token(context, &with_audience(url, &audience), token)
        }
        _ => Err(Error::new(ErrorCode::MissingArgument, "there is no identity token")
            .hint("in GitHub Actions, add `permissions: {id-token: write}` to the job")
            .hint(format!(
                "in GitLab, add `id_tokens: {{{TOKEN_ENV}: {{aud: <host>}}}}` to the job"
            ))
            .hint(format!("elsewhere, set the environment variable `{TOKEN_ENV}`"))),
    }
}

fn with_audience(url: &str, audience: &str) -> String {
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}audience={}", encode(audience, COMPONENT))
}

fn request_github_token(context: &Context<'_>, url: &str, token: &str) -> Result<String> {
    let failed = |why: String| {
        Error::new(ErrorCode::Network, "cannot get an identity token from GitHub")
            .because(why)
            .hint("check that the job has `permissions: {id-token: write}`, and run it again")
    };
    let policy = HttpPolicy::one_server(GITHUB_TIMEOUT, "run the command without `--offline`");
    let client = HttpClient::new(context, url, "GitHub", policy)?;
    let request = Request::builder()
        .method(Method::GET)
        .uri(url)
        .header("accept", "application/json")
        .header("authorization", format!("Bearer {token}"));
    let reply = client.fetch(request, Vec::new(), MAX_GITHUB_BYTES)?;
    // The URL is not part of the message: it identifies the job.
    let reply = reply.map_err(|why| failed(why.to_string()))?;
    if reply.status.as_u16() != 200 {
        return Err(failed(format!("GitHub returned {}", reply.status)));
    }
    let body = reply.body.map_err(|why| failed(why.to_string()))?;
    let response: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let token = response.get("value").and_then(serde_json::Value::as_str);
    token.map(str::to_owned).ok_or_else(|| failed("the response contains no token".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rg_75_audience_is_added_to_the_url_of_github() {
        assert_eq!(with_audience("https://x/?v=2", "a:80"), "https://x/?v=2&audience=a%3A80");
        assert_eq!(with_audience("https://x/t", "a b"), "https://x/t?audience=a%20b");
    }
}
