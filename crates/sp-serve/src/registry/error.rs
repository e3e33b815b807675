//! Error responses.
//!
//! A [`ResponseError`] becomes JSON with a stable code, a message and a hint. Its internal cause is
//! not part of the response: it travels to the request log as an extension. For browsers, `pages`
//! turns the response into a page.

use std::error::Error;
use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sp_formats::registry::{RegistryErrorResponse, TrustFinding};
use sp_formats::text::ByteSize;
use sp_tree::FileError;

use crate::registry::metadata::MetadataError;
use crate::registry::object_store::is_unavailable;
use crate::registry::quotas::{ExceededQuota, QuotaLimit};

/// When a client may try to publish again.
const PUBLISH_RETRY_DELAY: Duration = Duration::from_mins(10);

/// When a client may try again after a conflict or a lost connection of the database.
const BUSY_RETRY_DELAY: Duration = Duration::from_secs(1);
/// When a client may try again after the issuer of its identity token did not respond.
const ISSUER_RETRY_DELAY: Duration = Duration::from_secs(5);
/// When a client may try to use the object store again.
const OBJECTS_RETRY_DELAY: Duration = Duration::from_secs(4);

/// The result of a handler.
pub(crate) type ApiResult<T> = Result<T, ResponseError>;

/// The body of an error response, as an extension: pages render it again.
#[derive(Debug, Clone)]
pub(crate) struct ResponseErrorBody(pub Box<RegistryErrorResponse>);

#[derive(Debug)]
pub(crate) struct ResponseError {
    status: StatusCode,
    body: Box<RegistryErrorResponse>,
    retry_after: Option<Duration>,
    cause: Option<InternalCause>,
}

/// Why a request failed, as an extension: for the request log, never for the client.
#[derive(Debug, Clone)]
pub(crate) struct InternalCause(pub String);

/// Marks error responses that already have their final format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PreformattedError;

impl InternalCause {
    pub(crate) fn from_error(error: &(dyn Error + 'static)) -> Self {
        let chain = std::iter::successors(Some(error), |error| (*error).source());
        Self(chain.map(ToString::to_string).collect::<Vec<_>>().join(": "))
    }
}

impl ResponseError {
    fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        let body = RegistryErrorResponse {
            code: code.into(),
            message: message.into(),
            help: None,
            findings: Vec::new(),
        };
        Self { status, body: Box::new(body), retry_after: None, cause: None }
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.body.help = Some(help.into());
        self
    }

    pub(crate) fn with_findings(mut self, findings: Vec<TrustFinding>) -> Self {
        self.body.findings = findings;
        self
    }

    /// Missing things and things that the client may not see get the same response.
    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "not found")
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", message)
    }

    /// The audit of the content has findings that block it.
    pub(crate) fn blocked_content(findings: Vec<TrustFinding>) -> Self {
        let ids: Vec<&str> = findings.iter().filter_map(|finding| finding.id.as_deref()).collect();
        let message = format!("the audit blocks the content: {}", ids.join(", "));
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "blocked_content", message)
            .with_help("run `sp audit` on the package, and remove what it reports as certain")
            .with_findings(findings)
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "the token is missing, invalid or lacks the required scope",
        )
        .with_help("send it as `Authorization: Bearer ctxp_…`")
    }

    pub(crate) fn forbidden() -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "you are not a member of the namespace")
            .with_help("ask a member to add you")
    }

    pub(crate) fn deleted() -> Self {
        Self::new(StatusCode::GONE, "deleted", "the version was deleted by an administrator")
            .with_help("use another version")
    }

    pub(crate) fn marked_private() -> Self {
        let message = "a version of the package has `visibility: private`";
        Self::new(StatusCode::CONFLICT, "marked_private", message)
            .with_help("publish the package under another name")
    }

    pub(crate) fn quota_exceeded(exceeded: ExceededQuota) -> Self {
        let ExceededQuota { of, limit } = exceeded;
        let message = match limit {
            QuotaLimit::Bytes(bytes) => format!("the {of} may store at most {}", ByteSize(bytes)),
            QuotaLimit::Packages(count) => format!("the {of} may have at most {count} packages"),
            QuotaLimit::PublishesPerHour(count) => {
                let message = format!("the {of} may publish at most {count} versions per hour");
                let refusal = Self::new(StatusCode::TOO_MANY_REQUESTS, "quota", message);
                return Self { retry_after: Some(PUBLISH_RETRY_DELAY), ..refusal };
            }
        };
        Self::new(StatusCode::FORBIDDEN, "quota", message)
            .with_help("ask the administrator of the registry")
    }

    pub(crate) fn not_owner() -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "you are not an owner of the namespace")
            .with_help("ask an owner; members can list them")
    }

    pub(crate) fn last_owner() -> Self {
        Self::new(StatusCode::CONFLICT, "last_owner", "a namespace must have an owner")
            .with_help("make another member an owner first")
    }

    pub(crate) fn last_admin() -> Self {
        Self::new(StatusCode::CONFLICT, "last_admin", "the registry must have an admin token")
            .with_help("create another admin token first")
    }

    /// Does not reveal what is wrong with a signed URL, nor whether its pack exists.
    pub(crate) fn invalid_signed_url() -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "the URL is invalid or has expired")
            .with_help("request a new URL; the owner can create one with `sp context url <id>`")
    }

    /// An ID stays bound to the first content that was pushed under it, and to its owner.
    pub(crate) fn pack_id_taken() -> Self {
        Self::new(
            StatusCode::CONFLICT,
            "exists",
            "another context pack with this ID exists, and context packs cannot be changed",
        )
        .with_help("build the context pack again to get a new ID")
    }

    /// The response to every identity token that is not valid. The reason is only logged.
    pub(crate) fn invalid_identity_token(reason: &(dyn Error + 'static)) -> Self {
        let message = "the identity token is invalid";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_token", message)
            .with_help("request a new one with the audience of the registry; the log of the registry has the reason")
            .with_cause(reason)
    }

    /// An identity token is valid, but nothing trusts it.
    pub(crate) fn no_publisher() -> Self {
        let message = "no package trusts the CI job";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "no_publisher", message).with_help(
            "compare the claims of the job with `sp publisher list`; a publisher works as long as \
             the user who registered it may publish",
        )
    }

    pub(crate) fn refused_event(event: &str) -> Self {
        let message = format!("jobs for the event `{event}` cannot publish");
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "no_publisher", message)
            .with_help("publish in a workflow for tags, releases or manual runs")
    }

    pub(crate) fn issuer_unavailable(reason: &(dyn Error + 'static)) -> Self {
        let message = "the issuer of the identity token did not respond with its keys";
        let refusal = Self::new(StatusCode::SERVICE_UNAVAILABLE, "issuer_unavailable", message)
            .with_help("try again in a minute");
        Self { retry_after: Some(ISSUER_RETRY_DELAY), ..refusal }.with_cause(reason)
    }

    /// The provider for logins does not respond as it should.
    pub(crate) fn provider_unavailable(reason: &(dyn Error + 'static)) -> Self {
        let message = "the login provider did not respond as expected";
        Self::new(StatusCode::BAD_GATEWAY, "issuer_unavailable", message)
            .with_help("try again in a minute, or log in with a token")
            .with_cause(reason)
    }

    /// The provider has identified a user who may not log in.
    pub(crate) fn login_refused(reason: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, "login_refused", "you are not permitted to log in")
            .with_help("ask the administrator of the registry, or log in with a token")
            .with_reason(reason)
    }

    /// A response of the provider that belongs to no login of this browser.
    pub(crate) fn unknown_login() -> Self {
        let message = "the login has expired, or was started in another browser";
        Self::new(StatusCode::BAD_REQUEST, "invalid", message).with_help("log in again")
    }

    /// A feature that the operator has not configured.
    pub(crate) fn not_configured(help: &str) -> Self {
        let message = "the registry is not configured for this";
        Self::new(StatusCode::NOT_FOUND, "not_configured", message).with_help(help)
    }

    pub(crate) fn publisher_exists() -> Self {
        Self::new(StatusCode::CONFLICT, "exists", "the package has this publisher already")
    }

    pub(crate) fn too_many_publishers() -> Self {
        let message = "the package has as many publishers as are allowed";
        Self::new(StatusCode::CONFLICT, "too_many", message).with_help("delete one first")
    }

    pub(crate) fn trusted_only() -> Self {
        let message = "only trusted publishers may publish the package";
        Self::new(StatusCode::FORBIDDEN, "trusted_only", message)
            .with_help("publish it from CI with `sp publish --oidc`; an owner can change this")
    }

    /// A valid token of a CI job that no publisher of the package trusts.
    pub(crate) fn token_of_other_package() -> Self {
        let message = "the token was issued for other packages";
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
            .with_help("register the CI job with `sp publisher add`, then run it again")
    }

    pub(crate) fn version_exists() -> Self {
        Self::new(
            StatusCode::CONFLICT,
            "exists",
            "the version already exists, and versions cannot be changed",
        )
        .with_help("publish a new version")
    }

    pub(crate) fn too_large(most: u64) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("the request exceeds the limit of {}", ByteSize(most)),
        )
    }

    pub(crate) fn timed_out() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "timed_out", "the request timed out")
    }

    pub(crate) fn slow_body() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "timed_out", "the request body was sent too slowly")
    }

    /// The registry cannot do its work at the moment.
    pub(crate) fn unavailable() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "the registry is not ready")
    }

    pub(crate) fn too_many_requests(wait: Duration) -> Self {
        let refusal = Self::new(StatusCode::TOO_MANY_REQUESTS, "too_often", "too many requests");
        Self { retry_after: Some(wait), ..refusal }.with_help("wait for the time in `Retry-After`")
    }

    fn with_reason(self, reason: &str) -> Self {
        Self { cause: Some(InternalCause(reason.to_owned())), ..self }
    }

    fn with_cause(mut self, error: &(dyn Error + 'static)) -> Self {
        self.cause = Some(InternalCause::from_error(error));
        self
    }

    /// The object store does not respond.
    pub(crate) fn objects_unavailable() -> Self {
        let message = "the object store of the registry is not available";
        let refusal = Self::new(StatusCode::SERVICE_UNAVAILABLE, "objects_unavailable", message)
            .with_help("try again later; metadata can still be read");
        Self { retry_after: Some(OBJECTS_RETRY_DELAY), ..refusal }
    }

    fn storage_full() -> Self {
        Self::new(StatusCode::INSUFFICIENT_STORAGE, "full", "the storage of the registry is full")
    }

    fn busy() -> Self {
        let refusal = Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "the registry is busy")
            .with_help("try again later; nothing was changed");
        Self { retry_after: Some(BUSY_RETRY_DELAY), ..refusal }
    }

    /// A form that was not sent by a page of this session.
    pub(crate) fn invalid_form() -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "forbidden",
            "the form was not sent from a page of your session",
        )
        .with_help("reload the page and submit the form again")
    }

    /// The error for a status that has no body, often set by the framework.
    pub(crate) fn from_status(status: StatusCode) -> Self {
        match status {
            StatusCode::METHOD_NOT_ALLOWED => {
                Self::new(status, "method_not_allowed", "method not allowed")
            }
            StatusCode::PAYLOAD_TOO_LARGE => {
                Self::new(status, "too_large", "the request body is too large")
            }
            StatusCode::PRECONDITION_FAILED => {
                Self::new(status, "invalid", "a precondition of the request does not match")
            }
            StatusCode::RANGE_NOT_SATISFIABLE => {
                Self::new(status, "invalid", "the requested range is outside the content")
            }
            status if status.is_server_error() => Self::internal(),
            status => Self::new(status, "invalid", "invalid request"),
        }
    }

    pub(crate) fn error_body(&self) -> ResponseErrorBody {
        ResponseErrorBody(self.body.clone())
    }

    pub(crate) fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "internal error in the registry")
    }
}

impl From<MetadataError> for ResponseError {
    fn from(error: MetadataError) -> Self {
        let refusal = match &error {
            MetadataError::DiskFull => Self::storage_full(),
            MetadataError::Conflict | MetadataError::ConnectionLost(_) => Self::busy(),
            MetadataError::Database(_) | MetadataError::NewerSchema { .. } => Self::internal(),
        };
        refusal.with_cause(&error)
    }
}

impl From<FileError> for ResponseError {
    fn from(error: FileError) -> Self {
        let refusal = match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                Self::storage_full()
            }
            _ if is_unavailable(&error) => Self::objects_unavailable(),
            _ => Self::internal(),
        };
        refusal.with_cause(&error)
    }
}

impl IntoResponse for ResponseError {
    fn into_response(self) -> Response {
        let error_body = self.error_body();
        let mut response = (self.status, Json(*self.body)).into_response();
        response.extensions_mut().insert(error_body);
        if self.status == StatusCode::UNAUTHORIZED {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(wait) = self.retry_after {
            // Rounded up to whole seconds.
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from(wait.as_secs() + 1));
        }
        if let Some(cause) = self.cause {
            response.extensions_mut().insert(cause);
        }
        response
    }
}
