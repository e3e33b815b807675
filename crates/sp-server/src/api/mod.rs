//! The surface: which address does what.

mod context_packs;
mod discovery;
mod namespaces;
mod packages;
mod packs;
mod publish;
mod tokens;

use axum::Router;
use axum::extract::{Request, State as Shared};
use axum::http::{HeaderValue, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post, put};
use tower::limit::GlobalConcurrencyLimitLayer;

use crate::refusal::Refusal;
use crate::state::State;
use crate::watch::watch;

/// How many requests are answered at once.
const AT_ONCE: usize = 512;

pub(crate) fn router(state: State) -> Router {
    let version = "/api/v1/packages/{ns}/{name}/{version}";
    Router::new()
        .route("/api/v1/index.json", get(packages::index))
        .route("/api/v1/packages/{ns}/{name}/index.json", get(packages::versions))
        .route(version, get(packages::manifest).put(publish::publish).delete(publish::yank))
        .route(&format!("{version}/download"), get(packages::download))
        .route(&format!("{version}/unyank"), post(publish::unyank))
        .route("/api/v1/packages/{ns}/{name}/private", put(namespaces::hide).delete(namespaces::show))
        .route("/api/v1/namespaces/{ns}/members", get(namespaces::members))
        .route("/api/v1/namespaces/{ns}/members/{user}", put(namespaces::add).delete(namespaces::remove))
        .route("/api/v1/audit", get(tokens::audit))
        .route("/api/v1/search", get(packages::search))
        .route("/api/v1/whoami", get(tokens::whoami))
        .route("/api/v1/tokens", get(tokens::list).post(tokens::mint))
        .route("/api/v1/tokens/{id}", delete(tokens::revoke))
        .route("/api/v1/context-packs", get(context_packs::list))
        .route("/api/v1/context-packs/{id}", put(context_packs::push).delete(context_packs::remove))
        .route("/api/v1/context-packs/{id}/url", post(context_packs::url))
        .route("/api/v1/context-packs/{id}/revoke", post(context_packs::revoke))
        .route("/api/v1/url-keys", get(context_packs::keys).post(context_packs::rotate))
        .route("/api/v1/url-keys/{kid}", delete(context_packs::revoke_key))
        .route("/packs/{*file}", get(packs::serve))
        .route("/s/{*file}", get(packs::serve))
        .route("/.well-known/agent-skills/{*file}", get(discovery::serve))
        .route("/.well-known/skills/{*file}", get(discovery::serve_legacy))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/metrics", get(metrics))
        .route("/readyz", get(packages::ready))
        .fallback(|| async { Refusal::not_found() })
        .layer(from_fn_with_state(State::clone(&state), guard))
        .layer(GlobalConcurrencyLimitLayer::new(AT_ONCE))
        .layer(from_fn_with_state(State::clone(&state), watch))
        .with_state(state)
}

/// Every answer comes in time, and says nothing that a browser could misread.
async fn guard(Shared(state): Shared<State>, request: Request, next: Next) -> Response {
    let answer = tokio::time::timeout(state.patience, next.run(request)).await;
    let mut response = answer.unwrap_or_else(|_| Refusal::timed_out().into_response());
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'"));
    response
}

/// What is counted, for Prometheus.
async fn metrics(Shared(state): Shared<State>) -> impl IntoResponse {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], state.watch.metrics.text())
}
