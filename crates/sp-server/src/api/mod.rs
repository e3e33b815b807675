//! The surface: which address does what.

mod badges;
mod namespaces;
pub(crate) mod openapi;
mod packages;
mod publish;
mod route;
mod tokens;

use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use sp_formats::registry::{PackageIndex, RegistryIndex, SearchAnswer, TrustReport};
use tower::limit::GlobalConcurrencyLimitLayer;

use crate::metadata::{AuditItem, TokenItem};
use crate::pages;
use crate::refusal::Refusal;
use crate::state::State;
use route::{Route, Who};

/// How long a request may take, and how many are answered at once.
const PATIENCE: Duration = Duration::from_secs(60);
const AT_ONCE: usize = 512;

pub(crate) fn router(state: State) -> Router {
    let table = routes().into_iter().fold(Router::new(), |router, route| router.route(route.path, route.handler));
    table
        .merge(pages::router())
        .fallback(|| async { Refusal::not_found() })
        .layer(from_fn_with_state(state.clone(), pages::dress))
        .layer(from_fn(guard))
        .layer(GlobalConcurrencyLimitLayer::new(AT_ONCE))
        .with_state(state)
}

/// The surface, as a table: the router is made of it, and so is the document that describes it.
pub(crate) fn routes() -> Vec<Route> {
    let parts = [reading(), publishing(), people(), running()];
    parts.into_iter().flatten().collect()
}

/// What is there.
fn reading() -> Vec<Route> {
    vec![
        Route::get("/api/v1/index.json", packages::index)
            .does("every package that one may see")
            .answers::<RegistryIndex>(200),
        Route::get("/api/v1/search", packages::search)
            .does("packages by name and description, the best first; words may be written a little wrong")
            .query(&[("q", "words", true), ("limit", "how many at the most", false)])
            .answers::<SearchAnswer>(200),
        Route::get("/api/v1/packages/{ns}/{name}/index.json", packages::versions)
            .does("the versions of a package, the newest first")
            .answers::<PackageIndex>(200),
        Route::get("/api/v1/packages/{ns}/{name}/{version}", packages::manifest)
            .does("the manifest of a version, and what was verified")
            .answers::<packages::Described>(200),
        Route::get("/api/v1/packages/{ns}/{name}/{version}/download", packages::download)
            .does("the bytes of a version, with `x-ctxpkg-sha256`, `x-ctxpkg-yanked` and an `ETag`")
            .answers_media(200, "application/json")
            .answers_nothing(304),
        Route::get("/api/v1/packages/{ns}/{name}/{version}/readme", packages::readme)
            .does("what a version says of itself, as Markdown; not found if it says nothing")
            .answers_media(200, "text/plain"),
        Route::get("/badges/{ns}/{file}", badges::version)
            .does("the newest version of a package, as a picture")
            .answers_media(200, "image/svg+xml"),
        Route::get("/badges/{ns}/{name}/downloads.svg", badges::downloads)
            .does("how often a package was downloaded, as a picture")
            .answers_media(200, "image/svg+xml"),
    ]
}

/// What whoever publishes does.
fn publishing() -> Vec<Route> {
    vec![
        Route::put("/api/v1/packages/{ns}/{name}/{version}", publish::publish)
            .does("publishes a version, and tells what was verified")
            .by(Who::Publisher)
            .asks_bytes("application/json")
            .answers::<TrustReport>(201),
        Route::delete("/api/v1/packages/{ns}/{name}/{version}", publish::yank)
            .does("yanks a version: it leaves `latest`, and stays for those who have it locked")
            .by(Who::Publisher)
            .answers_nothing(204),
        Route::post("/api/v1/packages/{ns}/{name}/{version}/unyank", publish::unyank)
            .does("takes a yank back")
            .by(Who::Publisher)
            .answers_nothing(204),
        Route::put("/api/v1/packages/{ns}/{name}/private", namespaces::hide)
            .does("hides a package from strangers")
            .by(Who::Publisher)
            .answers_nothing(204),
        Route::delete("/api/v1/packages/{ns}/{name}/private", namespaces::show)
            .does("shows a package to all")
            .by(Who::Publisher)
            .answers_nothing(204),
    ]
}

/// Who may do what.
fn people() -> Vec<Route> {
    vec![
        Route::get("/api/v1/namespaces/{ns}/members", namespaces::members)
            .does("who may publish into a namespace")
            .by(Who::Publisher)
            .answers::<Vec<String>>(200),
        Route::put("/api/v1/namespaces/{ns}/members/{user}", namespaces::add)
            .does("lets somebody publish into a namespace")
            .by(Who::Publisher)
            .answers_nothing(204),
        Route::delete("/api/v1/namespaces/{ns}/members/{user}", namespaces::remove)
            .does("lets somebody no longer publish into a namespace")
            .by(Who::Publisher)
            .answers_nothing(204),
        Route::get("/api/v1/whoami", tokens::whoami)
            .does("whose token it is")
            .by(Who::Token)
            .answers::<tokens::Known>(200),
        Route::get("/api/v1/tokens", tokens::list)
            .does("every token, without what it is")
            .by(Who::Admin)
            .answers::<Vec<TokenItem>>(200),
        Route::post("/api/v1/tokens", tokens::mint)
            .does("makes a token, and shows it this once")
            .by(Who::Admin)
            .asks::<tokens::Wanted>()
            .answers::<crate::tokens::Minted>(201),
        Route::delete("/api/v1/tokens/{id}", tokens::revoke).does("ends a token").by(Who::Admin).answers_nothing(204),
        Route::get("/api/v1/audit", tokens::audit)
            .does("what was done, the latest first")
            .by(Who::Admin)
            .answers::<Vec<AuditItem>>(200),
    ]
}

/// What whoever runs the registry, or writes a program for it, looks at.
fn running() -> Vec<Route> {
    vec![
        Route::get("/api/openapi.json", || async { Json(&*openapi::DOCUMENT) })
            .does("this surface, as OpenAPI 3.1")
            .answers::<serde_json::Map<String, serde_json::Value>>(200),
        Route::get("/healthz", || async { "ok\n" }).does("whether the registry runs").answers_media(200, "text/plain"),
        Route::get("/readyz", packages::ready).does("whether the registry can answer").answers_media(200, "text/plain"),
    ]
}

/// Every answer comes in time, and says nothing that a browser could misread.
async fn guard(request: Request, next: Next) -> Response {
    let answer = tokio::time::timeout(PATIENCE, next.run(request)).await;
    let mut response = answer.unwrap_or_else(|_| Refusal::timed_out().into_response());
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // A page has a policy of its own.
    let nothing = HeaderValue::from_static("default-src 'none'");
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(nothing);
    response
}
