//! The router: API and pages, and the middleware around both.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};

use crate::registry::api::ApiRoute;
use crate::registry::error::ResponseError;
use crate::registry::login_policy::require_login;
use crate::registry::middleware::{limit_rate, monitor_request};
use crate::registry::state::AppState;
use crate::registry::{api, pages};
use crate::request_gate::{GateLimits, GateRefusal, RequestGate, admit_request};

/// Maximum number of requests that are worked on; others wait.
const MAX_CONCURRENT_REQUESTS: usize = 512;
/// The same for one client.
const MAX_CONCURRENT_REQUESTS_PER_CLIENT: usize = 64;

pub(crate) fn router(state: AppState) -> Router {
    let gate = RequestGate::new(
        GateLimits {
            concurrent: MAX_CONCURRENT_REQUESTS,
            concurrent_per_client: MAX_CONCURRENT_REQUESTS_PER_CLIENT,
            timeout: state.request_timeout,
        },
        refusal_response,
    );
    // Monitoring must work while everything else is at its limit.
    let (monitoring, limited) =
        api::routes().into_iter().partition::<Vec<_>, _>(|route| route.is_unlimited);
    let limited = with_policy(
        route_table(limited)
            .merge(pages::router())
            .fallback(not_found)
            .layer(from_fn_with_state(AppState::clone(&state), require_login)),
        AppState::clone(&state),
    )
    .layer(from_fn_with_state(Arc::new(gate), admit_request))
    .layer(from_fn_with_state(Arc::clone(&state.monitor), limit_rate));
    with_policy(route_table(monitoring), AppState::clone(&state))
        .merge(limited)
        .layer(from_fn_with_state(Arc::clone(&state.monitor), monitor_request))
        .with_state(state)
}

fn route_table(routes: Vec<ApiRoute>) -> Router<AppState> {
    routes.into_iter().fold(Router::new(), |router, route| router.route(route.path, route.handler))
}

async fn not_found() -> ResponseError {
    ResponseError::not_found()
}

/// Adds what all responses have in common.
fn with_policy(router: Router<AppState>, state: AppState) -> Router<AppState> {
    router
        .layer(from_fn_with_state(state, pages::format_errors))
        .layer(from_fn(add_security_headers))
}

fn refusal_response(refusal: GateRefusal) -> Response {
    match refusal {
        GateRefusal::SlowBody => ResponseError::slow_body().into_response(),
        GateRefusal::TimedOut => ResponseError::timed_out().into_response(),
    }
}

async fn add_security_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Pages have a policy of their own.
    let policy = HeaderValue::from_static("default-src 'none'");
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(policy);
    response
}
