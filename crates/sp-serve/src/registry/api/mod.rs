//! The surface: which address does what.

mod badges;
mod context_packs;
mod discovery;
mod namespaces;
pub(crate) mod openapi;
mod packages;
mod packs;
mod publish;
mod route;
mod tokens;

use axum::extract::{Request, State as Shared};
use axum::http::{HeaderValue, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use sp_formats::context_pack::{PackItems, PackTaken, UrlGiven, UrlKeyItem, UrlWanted};
use sp_formats::registry::{PublishedIndex, Refused, RegistryIndex, SearchAnswer, TrustReport};
use tower::limit::GlobalConcurrencyLimitLayer;

use crate::mcp::serve_http::PATH as MCP_PATH;
use crate::registry::mcp;
use crate::registry::metadata::{AuditItem, TokenItem};
use crate::registry::pages;
use crate::registry::refusal::Refusal;
use crate::registry::state::State;
use crate::registry::watch::watch;
use route::{Route, Who};

/// As what the files of packs and skills are served: an index or a manifest, a text, all of it, or anything else.
const PACK_MEDIA: &[&str] = &["application/json", "text/markdown", "application/zip", "application/octet-stream"];

/// As what figures are told.
const FIGURES: &str = "application/openmetrics-text";

/// How many requests are answered at once.
const AT_ONCE: usize = 512;

pub(crate) fn router(state: State) -> Router {
    let table = routes().into_iter().fold(Router::new(), |router, route| router.route(route.path, route.handler));
    table
        .merge(pages::router())
        .fallback(|| async { Refusal::not_found() })
        .layer(from_fn_with_state(State::clone(&state), pages::dress))
        .layer(from_fn_with_state(State::clone(&state), guard))
        .layer(GlobalConcurrencyLimitLayer::new(AT_ONCE))
        .layer(from_fn_with_state(State::clone(&state), watch))
        .with_state(state)
}

/// The surface, as a table: the router is made of it, and so is the document that describes it.
pub(crate) fn routes() -> Vec<Route> {
    let parts = [reading(), publishing(), people(), context_packs(), agents(), running()];
    parts.into_iter().flatten().collect()
}

/// What is there.
fn reading() -> Vec<Route> {
    vec![
        Route::get("/api/v1/index.json", packages::index)
            .does("every package that one may see")
            .answers::<RegistryIndex>(200)
            .answers_nothing(304),
        Route::get("/api/v1/search", packages::search)
            .does("packages by name and description, the best first; words may be written a little wrong")
            .query(&[("q", "words", true), ("limit", "how many at the most", false)])
            .numbers(&["limit"])
            .answers::<SearchAnswer>(200),
        Route::get("/api/v1/packages/{ns}/{name}/index.json", packages::versions)
            .does("the versions of a package, the newest first")
            .answers::<PublishedIndex>(200),
        Route::get("/api/v1/packages/{ns}/{name}/{version}", packages::manifest)
            .does("the manifest of a version, and what was verified")
            .answers::<packages::Described>(200),
        Route::get("/api/v1/packages/{ns}/{name}/{version}/download", packages::download)
            .does("the bytes of a version, with `x-ctxpkg-sha256`, `x-ctxpkg-yanked` and an `ETag`")
            .serves(&["application/json"]),
        Route::get("/api/v1/packages/{ns}/{name}/{version}/readme", packages::readme)
            .does("what a version says of itself, as Markdown; not found if it says nothing")
            .answers_media(200, "text/plain"),
        Route::get("/badges/{ns}/{file}", badges::version)
            .does("the newest version of a package, as a picture")
            .answers_media(200, "image/svg+xml")
            .answers_media(404, "image/svg+xml")
            // What does not end as a picture does is not answered as one.
            .answers::<Refused>(404)
            .answers_media(404, "text/html"),
        Route::get("/badges/{ns}/{name}/downloads.svg", badges::downloads)
            .does("how often a package was downloaded, as a picture")
            .answers_media(200, "image/svg+xml")
            .answers_media(404, "image/svg+xml"),
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
            .answers::<crate::registry::tokens::Minted>(201),
        Route::delete("/api/v1/tokens/{id}", tokens::revoke)
            .does("ends a token")
            .by(Who::Admin)
            .numbers(&["id"])
            .answers_nothing(204),
        Route::get("/api/v1/audit", tokens::audit)
            .does("what was done, the latest first")
            .by(Who::Admin)
            .answers::<Vec<AuditItem>>(200),
    ]
}

/// Context packs, what opens them, and skills for other installers.
fn context_packs() -> Vec<Route> {
    vec![
        Route::get("/api/v1/context-packs", context_packs::list)
            .does("the context packs that one has pushed; all of them for the admin")
            .by(Who::Publisher)
            .answers::<PackItems>(200),
        Route::put("/api/v1/context-packs/{id}", context_packs::push)
            .does("takes a context pack as a zip; the same again is fine, and another one is refused")
            .by(Who::Publisher)
            .asks_bytes("application/zip")
            .answers::<PackTaken>(200)
            .answers::<PackTaken>(201),
        Route::delete("/api/v1/context-packs/{id}", context_packs::remove)
            .does("takes a context pack away, and closes every address of it")
            .by(Who::Publisher)
            .answers_nothing(204),
        Route::post("/api/v1/context-packs/{id}/url", context_packs::url)
            .does("an address that opens a context pack for a while")
            .by(Who::Publisher)
            .may_ask::<UrlWanted>()
            .answers::<UrlGiven>(200),
        Route::post("/api/v1/context-packs/{id}/revoke", context_packs::revoke)
            .does("closes every address of a context pack that was given so far")
            .by(Who::Publisher)
            .answers_nothing(204),
        Route::get("/api/v1/url-keys", context_packs::keys)
            .does("the keys that sign addresses, without what they are")
            .by(Who::Admin)
            .answers::<Vec<UrlKeyItem>>(200),
        Route::post("/api/v1/url-keys", context_packs::rotate)
            .does("makes a new key, which signs from now on")
            .by(Who::Admin)
            .answers::<UrlKeyItem>(201),
        Route::delete("/api/v1/url-keys/{kid}", context_packs::revoke_key)
            .does("closes everything that a key has signed")
            .by(Who::Admin)
            .answers_nothing(204),
        Route::get("/packs/{*file}", packs::serve)
            .does("a file of a context pack, or all of it as a zip, behind `?exp=…&kid=…&sig=…`")
            .query(&[("exp", "until when", false), ("kid", "which key", false), ("sig", "the signature", false)])
            .serves(PACK_MEDIA),
        Route::get("/s/{*file}", packs::serve)
            .does("the same, with what opens it in the path: `/s/{kid}.{exp}.{sig}/packs/{id}/…`")
            .serves(PACK_MEDIA),
        Route::get("/.well-known/agent-skills/{*file}", discovery::serve)
            .does("`index.json`: every public skill, where other installers look; and what that names")
            .serves(PACK_MEDIA),
        Route::get("/.well-known/skills/{*file}", discovery::serve_legacy)
            .does("the same for older installers")
            .serves(PACK_MEDIA),
    ]
}

/// Agents that ask for themselves.
fn agents() -> Vec<Route> {
    vec![
        Route::post(MCP_PATH, mcp::answer)
            .does("MCP: skills, packages and context packs for agents, a message of JSON-RPC each time")
            .by(Who::Token)
            .asks_bytes("application/json")
            .answers_media(200, "application/json")
            .answers_media(200, "text/event-stream")
            .answers_nothing(202)
            // Refusals of the protocol are told in its own words.
            .answers_media(400, "application/json")
            .answers_media(400, "text/plain")
            .answers_media(403, "text/plain")
            .answers_media(404, "application/json")
            .answers_media(406, "text/plain")
            .answers_media(413, "text/plain")
            .answers_media(415, "text/plain"),
    ]
}

/// What whoever runs the registry, or writes a program for it, looks at.
fn running() -> Vec<Route> {
    vec![
        Route::get("/api/openapi.json", || async { Json(&*openapi::DOCUMENT) })
            .does("this surface, as OpenAPI 3.1")
            .answers::<serde_json::Map<String, serde_json::Value>>(200),
        Route::get("/healthz", || async { "ok\n" }).does("whether the registry runs").answers_media(200, "text/plain"),
        Route::get("/metrics", metrics).does("figures for Prometheus").answers_media(200, FIGURES),
        Route::get("/readyz", packages::ready).does("whether the registry can answer").answers_media(200, "text/plain"),
    ]
}

/// Every answer comes in time, and says nothing that a browser could misread.
async fn guard(Shared(state): Shared<State>, request: Request, next: Next) -> Response {
    let answer = tokio::time::timeout(state.patience, next.run(request)).await;
    let mut response = answer.unwrap_or_else(|_| Refusal::timed_out().into_response());
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // A page has a policy of its own.
    let nothing = HeaderValue::from_static("default-src 'none'");
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(nothing);
    response
}

/// What is counted, for Prometheus.
async fn metrics(Shared(state): Shared<State>) -> impl IntoResponse {
    let kind = format!("{FIGURES}; version=1.0.0; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], state.watch.metrics.text())
}
