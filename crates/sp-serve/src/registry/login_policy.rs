//! `--login-required`: nothing is visible without a token or a session.

use axum::extract::{FromRequestParts as _, Request, State as Shared};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use sp_formats::percent;

use crate::registry::error::ResponseError;
use crate::registry::pages::PageVisitor;
use crate::registry::state::AppState;
use crate::registry::tokens::authenticate;

/// Paths that work without a login: the login itself, and signed URLs.
const OPEN_PATHS: [&str; 4] = ["/login", "/-/static/", "/packs/", "/s/"];

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
