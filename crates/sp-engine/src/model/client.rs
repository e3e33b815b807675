//! Sends one request to an OpenAI-compatible endpoint, with a timeout and a maximum response size.
//!
//! The API key is sent only to the URL that the user named, over https or to this machine.
//! Redirects are not followed, and the key never appears in a message.

use std::time::Duration;

use sp_formats::json::JsonDocument;
use sp_formats::printable::printable;
use sp_formats::redact::{QueryAllowlist, redact_secrets, redact_url};
use sp_formats::text::ByteSize;
use sp_formats::web_url::{PlainHttp, UrlPolicy, WebUrlError};
use sp_tree::Limits;

use super::request::{ModelRequest, OPTIONAL_PARAMETERS};
use super::{ModelEndpoint, REDACTED, WITHOUT_MODEL_HINT, truncate_printable};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::http::{HeaderMap, HeaderValue, HttpClient, HttpError, HttpPolicy, Request, StatusCode};

/// The maximum size of a response, far more than the candidate sentences have.
const MAX_RESPONSE_BYTES: u64 = 4 * 1024 * 1024;
/// The maximum length of an error message of the provider.
const MAX_MESSAGE_LEN: usize = 200;
const COMPLETIONS_PATH: &str = "/chat/completions";

/// A client for one endpoint.
pub(super) struct ModelClient<'a> {
    url: String,
    /// The URL for messages, without its query, which may contain a secret.
    display_url: String,
    key: Option<&'a str>,
    authorization: Option<HeaderValue>,
    timeout: Duration,
}

impl<'a> ModelClient<'a> {
    /// Validates the endpoint. Nothing is sent yet.
    pub(super) fn new(endpoint: &'a ModelEndpoint) -> Result<Self> {
        let url = completions_url(&endpoint.url)?;
        let key = endpoint.key.as_deref().filter(|key| !key.is_empty());
        let authorization = key.map(bearer_header).transpose()?;
        Ok(Self { display_url: shown(&url), url, key, authorization, timeout: endpoint.timeout })
    }

    /// Returns the HTTP client. Fails with `--offline`.
    pub(super) fn connect<'c>(&self, context: &'c Context<'c>) -> Result<HttpClient<'c>> {
        let policy = HttpPolicy::one_server(self.timeout, WITHOUT_MODEL_HINT);
        HttpClient::new(context, &self.url, &self.display_url, policy)
    }

    /// Returns the URL for messages.
    pub(super) fn display_url(&self) -> &str {
        &self.display_url
    }

    /// Removes the key and the query values from untrusted text.
    pub(super) fn redact(&self, text: &str) -> String {
        let text = text.replace(&self.url, &self.display_url);
        let text = match self.key {
            Some(key) => text.replace(key, REDACTED),
            None => text,
        };
        redact_secrets(&text)
    }

    /// Posts a request and returns the body of the response. If the endpoint rejects the optional
    /// parameters, the request is sent once more without them.
    pub(super) fn send(
        &self,
        http: &HttpClient<'_>,
        question: &ModelRequest<'_>,
    ) -> Result<String> {
        match self.post(http, question.to_json())? {
            ModelResponse::Text(text) => Ok(text),
            ModelResponse::Rejected { status, body }
                if rejects_optional_parameters(status, &body) =>
            {
                match self.post(http, question.to_minimal_json())? {
                    ModelResponse::Text(text) => Ok(text),
                    ModelResponse::Rejected { status, body } => {
                        Err(self.status_error(status, &body))
                    }
                }
            }
            ModelResponse::Rejected { status, body } => Err(self.status_error(status, &body)),
        }
    }

    fn post(&self, http: &HttpClient<'_>, body: String) -> Result<ModelResponse> {
        let mut request = Request::post(&self.url).header("content-type", "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        let reply = http.fetch(request, body.into(), MAX_RESPONSE_BYTES)?;
        let reply = reply.map_err(|e| self.connection_error(&e))?;
        let (status, headers) = (reply.status, reply.headers);
        let bytes = reply.body.map_err(|e| match e {
            HttpError::TooLarge { max_bytes } => self
                .invalid_response(&format!("the response is larger than {}", ByteSize(max_bytes))),
            e => self.connection_error(&e),
        });
        match status {
            status if status.is_success() => {
                let text = String::from_utf8(bytes?)
                    .map_err(|_| self.invalid_response("the response is not valid UTF-8"))?;
                Ok(ModelResponse::Text(text))
            }
            status if status.is_redirection() => Err(self.redirect_error(status, &headers)),
            // The status is enough if the body cannot be read.
            status => Ok(ModelResponse::Rejected { status, body: bytes.unwrap_or_default() }),
        }
    }

    fn connection_error(&self, e: &HttpError) -> Error {
        let why = match e {
            HttpError::Timeout(_) => {
                format!("no response within {} s", self.timeout.as_secs_f32())
            }
            HttpError::Closed => "the server closed the connection".into(),
            e => self.redact(&e.to_string()),
        };
        Error::new(ErrorCode::Network, format!("cannot connect to `{}`", self.display_url))
            .because(why)
            .hint("check the URL and that the model server is running")
            .hint(WITHOUT_MODEL_HINT)
    }

    fn invalid_response(&self, why: &str) -> Error {
        Error::new(
            ErrorCode::InvalidResponse,
            format!("invalid response from `{}`", self.display_url),
        )
        .because(why.to_owned())
        .hint("check that the URL is an OpenAI-compatible endpoint")
        .hint(WITHOUT_MODEL_HINT)
    }

    fn redirect_error(&self, status: StatusCode, headers: &HeaderMap) -> Error {
        let to = headers.get("location").and_then(|to| to.to_str().ok()).unwrap_or_default();
        Error::new(
            ErrorCode::Redirected,
            format!("`{}` redirects to another URL", self.display_url),
        )
        .because(format!(
            "the server returned {}: {}",
            status.as_u16(),
            truncate_printable(&self.redact(to), MAX_MESSAGE_LEN)
        ))
        .hint(
            "use that URL directly if you trust it; redirects are not followed, to protect \
                 sources and keys",
        )
        .hint(WITHOUT_MODEL_HINT)
    }

    fn status_error(&self, status: StatusCode, body: &[u8]) -> Error {
        let message = truncate_printable(
            &self.redact(&error_message(&String::from_utf8_lossy(body))),
            MAX_MESSAGE_LEN,
        );
        let code = status.as_u16();
        let why = if message.is_empty() {
            format!("the server returned {status}")
        } else {
            format!("the server returned {code}: {message}")
        };
        let hint = match code {
            401 | 403 => "check the key and its access to this model",
            404 | 405 => "check the URL and the name of the model",
            408 | 425 | 429 => "wait a while, then run the command again",
            400..=499 => {
                "check the name of the model and that it supports JSON output, or use fewer \
                 sources to reduce the request size"
            }
            _ => "run the command again later; the provider has a problem",
        };
        Error::new(ErrorCode::Unavailable, format!("request to `{}` failed", self.display_url))
            .because(why)
            .hint(hint)
            .hint(WITHOUT_MODEL_HINT)
    }
}

/// The response of an endpoint.
enum ModelResponse {
    /// The body of a successful response.
    Text(String),
    /// An error response.
    Rejected { status: StatusCode, body: Vec<u8> },
}

/// Returns whether an endpoint rejected the optional parameters, which not every model supports.
fn rejects_optional_parameters(status: StatusCode, body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body);
    matches!(status.as_u16(), 400 | 422)
        && OPTIONAL_PARAMETERS.iter().any(|name| text.contains(name))
}

/// Returns the authorization header, marked as sensitive so that it is not logged.
fn bearer_header(key: &str) -> Result<HeaderValue> {
    let header = HeaderValue::from_str(&format!("Bearer {key}")).ok();
    let mut header =
        header.filter(|_| key.bytes().all(|byte| byte.is_ascii_graphic())).ok_or_else(|| {
            Error::new(ErrorCode::InvalidSecret, "invalid model API key")
                .because("the key contains whitespace or other characters that are not allowed")
                .hint("remove any trailing newline or space")
        })?;
    header.set_sensitive(true);
    Ok(header)
}

/// Returns the first line of an error message; empty for an HTML page.
fn error_message(body: &str) -> String {
    let parsed = JsonDocument::parse(body, &Limits::default()).ok();
    let text = parsed.as_ref().and_then(|json| {
        let root = json.root();
        let [error, message, detail] = root.get_many(["error", "message", "detail"]);
        let inner = error.and_then(|error| error.get("message"));
        [inner, error, message, detail]
            .into_iter()
            .flatten()
            .find_map(|value| value.text().map(String::from))
    });
    let text = match text {
        Some(text) => text,
        None if parsed.is_some() || body.trim_start().starts_with('<') => String::new(),
        None => body.to_owned(),
    };
    text.trim().lines().next().unwrap_or_default().trim().to_owned()
}

/// Returns a URL for messages, without credentials and query.
pub(super) fn shown(url: &str) -> String {
    printable(&redact_url(url, &QueryAllowlist::default())).into_owned()
}

/// Validates the URL of the endpoint, and returns the URL to post to.
fn completions_url(url: &str) -> Result<String> {
    const POLICY: UrlPolicy = UrlPolicy { userinfo: false, query: true, http: PlainHttp::Loopback };
    let endpoint = POLICY.check(url).map_err(|why| {
        let hint = match why {
            WebUrlError::Userinfo => "remove them, and pass the key separately",
            WebUrlError::PlainHttp => {
                "use HTTPS; over HTTP, your sources and the key are not encrypted"
            }
            _ => "use a URL such as `https://api.example/v1` or `http://localhost:11434/v1`",
        };
        Error::new(ErrorCode::InvalidUrl, format!("invalid model URL `{}`", shown(url)))
            .because(why)
            .hint(hint)
    })?;
    let query = endpoint.query().map(|query| format!("?{query}")).unwrap_or_default();
    let path = completions_path(endpoint.path());
    Ok(format!("{}://{}{path}{query}", endpoint.scheme(), endpoint.authority()))
}

/// Returns the path to post to. For a host alone, that is the common default.
fn completions_path(path: &str) -> String {
    match path.trim_end_matches('/') {
        "" => format!("/v1{COMPLETIONS_PATH}"),
        path if path.ends_with(COMPLETIONS_PATH) => path.to_owned(),
        path => format!("{path}{COMPLETIONS_PATH}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sp_formats::web_url::WebUrl;

    use super::*;
    use crate::http::Uri;

    #[test]
    fn base_url_is_completed_to_the_chat_completions_url() {
        for (base, url) in [
            ("https://api.example/v1", "https://api.example/v1/chat/completions"),
            ("https://api.example/v1/", "https://api.example/v1/chat/completions"),
            ("https://api.example", "https://api.example/v1/chat/completions"),
            ("HTTPS://api.example:8443/", "https://api.example:8443/v1/chat/completions"),
            ("https://api.example/openai", "https://api.example/openai/chat/completions"),
            ("https://api.example/x/chat/completions", "https://api.example/x/chat/completions"),
            (
                "https://api.example/x/chat/completions/?v=1",
                "https://api.example/x/chat/completions?v=1",
            ),
            ("http://localhost:11434", "http://localhost:11434/v1/chat/completions"),
            ("http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1/chat/completions"),
            ("http://[::1]:1/v1", "http://[::1]:1/v1/chat/completions"),
        ] {
            assert_eq!(completions_url(base).unwrap(), url, "{base}");
        }
    }

    #[test]
    fn se_07_http_is_loopback_only_and_urls_with_credentials_are_refused() {
        for bad in [
            "",
            "api.example",
            "/v1",
            "http://api.example/v1",
            "http://10.0.0.1/v1",
            "http://0.0.0.0/v1",
            "http://localhost.example/v1",
            "http://127.0.0.1.example/v1",
            "http://127.0.0.1@api.example/v1",
            "http://127.0.0.1\\@api.example/v1",
            "https://me:secret@api.example/v1",
            "ftp://localhost/v1",
            "file:///etc/passwd",
            "https:// api.example",
        ] {
            let error = completions_url(bad).unwrap_err();
            assert_eq!(error.code(), "E-invalid-url", "{bad}");
            assert!(!format!("{error:?}").contains("secret"), "{bad}");
        }
    }

    #[test]
    fn se_07_key_that_breaks_its_header_is_refused_and_not_printed() {
        for key in ["sk-1\r\nx: y", "sk 1", "sk-é", "sk-1\n"] {
            let endpoint = ModelEndpoint {
                url: "https://api.example".into(),
                name: "m".into(),
                key: Some(key.into()),
                timeout: Duration::from_secs(1),
            };
            let Err(error) = ModelClient::new(&endpoint) else { panic!("accepted {key:?}") };
            assert!(!format!("{error:?} {endpoint:?}").contains("sk"), "{key}");
        }
    }

    #[test]
    fn provider_error_is_reduced_to_one_line() {
        for (body, expected) in [
            (r#"{"error":{"message":"no such model\nat all","type":"x"}}"#, "no such model"),
            (r#"{"error":"model `x` not found"}"#, "model `x` not found"),
            (r#"{"object":"error","message":"too long"}"#, "too long"),
            (r#"{"detail":"Unauthorized"}"#, "Unauthorized"),
            (r#"{"error":{"code":1}}"#, ""),
            ("\n upstream is down \r\nmore", "upstream is down"),
            ("<!DOCTYPE html>\n<html>", ""),
            ("", ""),
        ] {
            assert_eq!(error_message(body), expected, "{body}");
        }
    }

    proptest! {
        #[test]
        fn se_07_http_client_posts_to_the_server_that_was_checked(text in sp_testkit::url_like()) {
            let Ok(url) = completions_url(&text) else { return Ok(()) };
            // What the client cannot read is never requested.
            let Ok(uri) = url.parse::<Uri>() else { return Ok(()) };
            let checked = WebUrl::parse(&url).unwrap();
            let authority = uri.authority().unwrap();
            prop_assert_eq!(authority.as_str(), checked.authority());
            prop_assert!(!authority.as_str().contains('@'));
            let is_same_host = authority.host().eq_ignore_ascii_case(checked.host());
            prop_assert!(is_same_host || authority.host().starts_with('['));
            prop_assert!(checked.is_https() || checked.is_loopback());
            prop_assert!(uri.path().ends_with(COMPLETIONS_PATH));
        }
    }
}
