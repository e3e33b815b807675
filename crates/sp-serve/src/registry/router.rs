//! The router: API and pages, and the middleware around both.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State as Shared};
use axum::http::{HeaderValue, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tower::limit::GlobalConcurrencyLimitLayer;

use crate::registry::error::ResponseError;
use crate::registry::middleware::monitor_request;
use crate::registry::state::AppState;
use crate::registry::{api, pages};

/// Maximum number of concurrent requests; others are queued.
const MAX_CONCURRENT_REQUESTS: usize = 512;

pub(crate) fn router(state: AppState) -> Router {
    let table = api::routes()
        .into_iter()
        .fold(Router::new(), |router, route| router.route(route.path, route.handler));
    table
        .merge(pages::router())
        .fallback(|| async { ResponseError::not_found() })
        .layer(from_fn_with_state(AppState::clone(&state), pages::format_errors))
        .layer(from_fn_with_state(AppState::clone(&state), apply_response_policy))
        .layer(GlobalConcurrencyLimitLayer::new(MAX_CONCURRENT_REQUESTS))
        .layer(from_fn_with_state(Arc::clone(&state.monitor), monitor_request))
        .with_state(state)
}

/// Limits how long a request may take, and sets security headers.
async fn apply_response_policy(
    Shared(state): Shared<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let result = tokio::time::timeout(state.request_timeout, next.run(request)).await;
    let mut response = result.unwrap_or_else(|_| ResponseError::timed_out().into_response());
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Pages have a policy of their own.
    let policy = HeaderValue::from_static("default-src 'none'");
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(policy);
    response
}
