//! `--login-required`: nothing is visible without a token or a session.

use axum::extract::{FromRequestParts as _, Request, State as Shared};
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use sp_formats::percent;

use crate::registry::error::ResponseError;
use crate::registry::pages::PageVisitor;
use crate::registry::state::AppState;
use crate::registry::tokens::{authenticate, trusted_token_hash};

/// Paths that work without a login: the login itself, signed URLs, and the exchange of identity
/// tokens.
const OPEN_PATHS: [&str; 6] =
    ["/login", "/-/static/", "/packs/", "/s/", "/api/v1/oidc/", "/_/oidc/"];

pub(super) async fn require_login(
    Shared(state): Shared<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    if !state.login_required || OPEN_PATHS.iter().any(|open| path.starts_with(open)) {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    let trusted = trusted_token_hash(&parts.headers);
    if let Some(hash) = trusted.filter(|_| parts.method == Method::PUT) {
        // Such a token permits to publish, and nothing else.
        let now = state.environment.timestamp();
        let found = state.metadata.with(move |database| database.has_trusted_token(&hash, &now));
        return match found.await {
            Ok(true) => next.run(Request::from_parts(parts, body)).await,
            Ok(false) => ResponseError::unauthorized().into_response(),
            Err(error) => ResponseError::from(error).into_response(),
        };
    }
    let is_known = match authenticate(&state.metadata, &parts.headers).await {
        Ok(Some(_)) => true,
        Ok(None) => match PageVisitor::from_request_parts(&mut parts, &state).await {
            Ok(visitor) => visitor.bearer.is_some(),
            Err(error) => return error.into_response(),
        },
        Err(error) => return error.into_response(),
    };
    if is_known {
        return next.run(Request::from_parts(parts, body)).await;
    }
    let accept = parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    if accept.is_some_and(|accept| accept.contains("text/html")) {
        let next = percent::encode(parts.uri.path(), percent::COMPONENT);
        return Redirect::to(&format!("/login?next={next}")).into_response();
    }
    ResponseError::unauthorized().into_response()
}
