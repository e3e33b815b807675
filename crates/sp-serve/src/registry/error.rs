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
        Self::new(StatusCode::NOT_FOUND, "not_found", "there is nothing here")
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", message)
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "a token is needed that may do this")
            .with_help("send it as `Authorization: Bearer ctxp_…`")
    }

    pub(crate) fn forbidden() -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "the namespace is somebody else's")
            .with_help("ask a member of it to add you")
    }

    /// Does not reveal what is wrong with a signed URL, nor whether its pack exists.
    pub(crate) fn invalid_signed_url() -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "this address opens nothing")
            .with_help("it may have expired: ask for a new one, which `sp context url <id>` gives")
    }

    /// An ID stays bound to the first content that was pushed under it, and to its owner.
    pub(crate) fn pack_id_taken() -> Self {
        Self::new(
            StatusCode::CONFLICT,
            "exists",
            "another pack has this id, and a pack never changes",
        )
        .with_help("build it anew: every pack that is built has an id of its own")
    }

    pub(crate) fn version_exists() -> Self {
        Self::new(
            StatusCode::CONFLICT,
            "exists",
            "that version is there, and a version never changes",
        )
        .with_help("publish it under a new version")
    }

    pub(crate) fn too_large(most: u64) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("the limit is {}", ByteSize(most)),
        )
    }

    pub(crate) fn timed_out() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "timed_out", "it took too long")
    }

    pub(crate) fn too_many_requests(wait: Duration) -> Self {
        let refusal =
            Self::new(StatusCode::TOO_MANY_REQUESTS, "too_often", "that is asked for too often");
        Self { retry_after: Some(wait), ..refusal }.with_help("wait as long as `Retry-After` says")
    }

    fn with_cause(mut self, error: &(dyn Error + 'static)) -> Self {
        self.cause = Some(InternalCause::from_error(error));
        self
    }

    fn storage_full() -> Self {
        Self::new(StatusCode::INSUFFICIENT_STORAGE, "full", "the registry has no room left")
    }

    fn busy() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "the registry cannot do this now")
            .with_help("try it again in a moment; nothing was changed")
    }

    /// A form that was not sent by a page of this session.
    pub(crate) fn invalid_form() -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "forbidden",
            "this form does not come from a page of your session",
        )
        .with_help("open the page again and send the form from there")
    }

    /// The error for a status that has no body, often set by the framework.
    pub(crate) fn from_status(status: StatusCode) -> Self {
        match status {
            StatusCode::METHOD_NOT_ALLOWED => {
                Self::new(status, "method_not_allowed", "that cannot be done here")
            }
            StatusCode::PAYLOAD_TOO_LARGE => {
                Self::new(status, "too_large", "that is more than is taken here")
            }
            StatusCode::PRECONDITION_FAILED => {
                Self::new(status, "invalid", "it is not what you want it to be")
            }
            StatusCode::RANGE_NOT_SATISFIABLE => {
                Self::new(status, "invalid", "no byte of it is in that range")
            }
            status if status.is_server_error() => Self::internal(),
            status => Self::new(status, "invalid", "it cannot be read"),
        }
    }

    pub(crate) fn error_body(&self) -> ResponseErrorBody {
        ResponseErrorBody(self.body.clone())
    }

    pub(crate) fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the registry could not do this")
    }
}

impl From<MetadataError> for ResponseError {
    fn from(error: MetadataError) -> Self {
        let refusal = match &error {
            MetadataError::DiskFull => Self::storage_full(),
            MetadataError::Conflict | MetadataError::ConnectionLost(_) => Self::busy(),
            MetadataError::Database(_) => Self::internal(),
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
