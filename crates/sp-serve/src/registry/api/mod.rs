//! The HTTP API, as a table of routes.
//!
//! The router and the OpenAPI document are built from [`routes`], so every route is documented.
//! Each submodule contains the handlers of one kind of resource.

mod badges;
mod context_packs;
mod discovery;
mod mcp;
mod namespaces;
mod openapi;
mod packages;
mod publish;
mod route;
mod signed_context_packs;
mod tokens;

use axum::Json;
use axum::extract::State as Shared;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use sp_formats::context_pack::{
    ContextPackUrlRequest, ContextPackUrlResponse, ListContextPacksResponse,
    PutContextPackResponse, UrlSigningKeyInfo,
};
use sp_formats::registry::{
    PublishedPackageIndex, RegistryErrorResponse, RegistryIndex, RegistrySearchResponse,
    TrustReport,
};

use crate::mcp::serve_http::MCP_PATH;
use crate::registry::metadata::{AuditLogItem, TokenItem};
use crate::registry::state::AppState;
use route::{QueryParam, RouteAccess};

pub(crate) use route::ApiRoute;

/// Media types of the files in packs and skills.
const FILE_MEDIA_TYPES: &[&str] =
    &["application/json", "text/markdown", "application/zip", "application/octet-stream"];

const METRICS_MEDIA_TYPE: &str = "application/openmetrics-text";

/// All routes of the API.
pub(crate) fn routes() -> Vec<ApiRoute> {
    let parts = [
        read_routes(),
        publish_routes(),
        member_routes(),
        token_routes(),
        context_pack_routes(),
        url_key_routes(),
        file_routes(),
        mcp_routes(),
        operation_routes(),
    ];
    parts.into_iter().flatten().collect()
}

fn read_routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get("/api/v1/index.json", packages::index)
            .summary("every package that one may see")
            .json_response::<RegistryIndex>(200)
            .empty_response(304),
        ApiRoute::get("/api/v1/search", packages::search)
            .summary("packages by name and description, the best first; words may be written a little wrong")
            .query_params(const { &[QueryParam::required("q", "words"), QueryParam::optional("limit", "how many at the most")] })
            .integer_params(&["limit"])
            .json_response::<RegistrySearchResponse>(200),
        ApiRoute::get("/api/v1/packages/{ns}/{name}/index.json", packages::versions)
            .summary("the versions of a package, the newest first")
            .json_response::<PublishedPackageIndex>(200),
        ApiRoute::get("/api/v1/packages/{ns}/{name}/{version}", packages::manifest)
            .summary("the manifest of a version, and what was verified")
            .json_response::<packages::VersionDetails>(200),
        ApiRoute::get("/api/v1/packages/{ns}/{name}/{version}/download", packages::download)
            .summary("the bytes of a version, with `x-ctxpkg-sha256`, `x-ctxpkg-yanked` and an `ETag`")
            .file_responses(&["application/json"]),
        ApiRoute::get("/api/v1/packages/{ns}/{name}/{version}/readme", packages::readme)
            .summary("what a version says of itself, as Markdown; not found if it says nothing")
            .media_response(200, "text/plain"),
        ApiRoute::get("/badges/{ns}/{file}", badges::version_badge)
            .summary("the newest version of a package, as a picture")
            .media_response(200, "image/svg+xml")
            .media_response(404, "image/svg+xml")
            // Paths without `.svg` get an ordinary error.
            .json_response::<RegistryErrorResponse>(404)
            .media_response(404, "text/html"),
        ApiRoute::get("/badges/{ns}/{name}/downloads.svg", badges::downloads_badge)
            .summary("how often a package was downloaded, as a picture")
            .media_response(200, "image/svg+xml")
            .media_response(404, "image/svg+xml"),
    ]
}

fn publish_routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::put("/api/v1/packages/{ns}/{name}/{version}", publish::publish)
            .summary("publishes a version, and tells what was verified")
            .access(RouteAccess::Publisher)
            .media_body("application/json")
            .json_response::<TrustReport>(201),
        ApiRoute::delete("/api/v1/packages/{ns}/{name}/{version}", publish::yank)
            .summary("yanks a version: it leaves `latest`, and stays for those who have it locked")
            .access(RouteAccess::Publisher)
            .empty_response(204),
        ApiRoute::post("/api/v1/packages/{ns}/{name}/{version}/unyank", publish::unyank)
            .summary("takes a yank back")
            .access(RouteAccess::Publisher)
            .empty_response(204),
        ApiRoute::put("/api/v1/packages/{ns}/{name}/private", namespaces::make_private)
            .summary("hides a package from strangers")
            .access(RouteAccess::Publisher)
            .empty_response(204),
        ApiRoute::delete("/api/v1/packages/{ns}/{name}/private", namespaces::make_public)
            .summary("shows a package to all")
            .access(RouteAccess::Publisher)
            .empty_response(204),
    ]
}

fn member_routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get("/api/v1/namespaces/{ns}/members", namespaces::members)
            .summary("who may publish into a namespace")
            .access(RouteAccess::Publisher)
            .json_response::<Vec<String>>(200),
        ApiRoute::put("/api/v1/namespaces/{ns}/members/{user}", namespaces::add_member)
            .summary("lets somebody publish into a namespace")
            .access(RouteAccess::Publisher)
            .empty_response(204),
        ApiRoute::delete("/api/v1/namespaces/{ns}/members/{user}", namespaces::remove_member)
            .summary("lets somebody no longer publish into a namespace")
            .access(RouteAccess::Publisher)
            .empty_response(204),
    ]
}

fn token_routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get("/api/v1/whoami", tokens::whoami)
            .summary("whose token it is")
            .access(RouteAccess::Authenticated)
            .json_response::<tokens::WhoamiResponse>(200),
        ApiRoute::get("/api/v1/tokens", tokens::list)
            .summary("every token, without what it is")
            .access(RouteAccess::Admin)
            .json_response::<Vec<TokenItem>>(200),
        ApiRoute::post("/api/v1/tokens", tokens::mint)
            .summary("makes a token, and shows it this once")
            .access(RouteAccess::Admin)
            .json_body::<tokens::IssueTokenRequest>()
            .json_response::<crate::registry::tokens::IssuedToken>(201),
        ApiRoute::delete("/api/v1/tokens/{id}", tokens::revoke)
            .summary("ends a token")
            .access(RouteAccess::Admin)
            .integer_params(&["id"])
            .empty_response(204),
        ApiRoute::get("/api/v1/audit", tokens::audit)
            .summary("what was done, the latest first")
            .access(RouteAccess::Admin)
            .json_response::<Vec<AuditLogItem>>(200),
    ]
}

fn context_pack_routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get("/api/v1/context-packs", context_packs::list)
            .summary("the context packs that one has pushed; all of them for the admin")
            .access(RouteAccess::Publisher)
            .json_response::<ListContextPacksResponse>(200),
        ApiRoute::put("/api/v1/context-packs/{id}", context_packs::push)
            .summary(
                "takes a context pack as a zip; the same again is fine, and another one is refused",
            )
            .access(RouteAccess::Publisher)
            .media_body("application/zip")
            .json_response::<PutContextPackResponse>(200)
            .json_response::<PutContextPackResponse>(201),
        ApiRoute::delete("/api/v1/context-packs/{id}", context_packs::remove)
            .summary("takes a context pack away, and closes every address of it")
            .access(RouteAccess::Publisher)
            .empty_response(204),
        ApiRoute::post("/api/v1/context-packs/{id}/url", context_packs::url)
            .summary("an address that opens a context pack for a while")
            .access(RouteAccess::Publisher)
            .optional_json_body::<ContextPackUrlRequest>()
            .json_response::<ContextPackUrlResponse>(200),
        ApiRoute::post("/api/v1/context-packs/{id}/revoke", context_packs::revoke)
            .summary("closes every address of a context pack that was given so far")
            .access(RouteAccess::Publisher)
            .empty_response(204),
    ]
}

fn url_key_routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get("/api/v1/url-keys", context_packs::list_keys)
            .summary("the keys that sign addresses, without what they are")
            .access(RouteAccess::Admin)
            .json_response::<Vec<UrlSigningKeyInfo>>(200),
        ApiRoute::post("/api/v1/url-keys", context_packs::rotate_key)
            .summary("makes a new key, which signs from now on")
            .access(RouteAccess::Admin)
            .json_response::<UrlSigningKeyInfo>(201),
        ApiRoute::delete("/api/v1/url-keys/{kid}", context_packs::revoke_key)
            .summary("closes everything that a key has signed")
            .access(RouteAccess::Admin)
            .empty_response(204),
    ]
}

/// Routes of single files, of context packs and for other installers.
fn file_routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get("/packs/{*file}", signed_context_packs::serve)
            .summary("a file of a context pack, or all of it as a zip, behind `?exp=…&kid=…&sig=…`")
            .query_params(const { &[QueryParam::optional("exp", "until when"), QueryParam::optional("kid", "which key"), QueryParam::optional("sig", "the signature")] })
            .file_responses(FILE_MEDIA_TYPES),
        ApiRoute::get("/s/{*file}", signed_context_packs::serve)
            .summary("the same, with what opens it in the path: `/s/{kid}.{exp}.{sig}/packs/{id}/…`")
            .file_responses(FILE_MEDIA_TYPES),
        ApiRoute::get("/.well-known/agent-skills/{*file}", discovery::serve)
            .summary("`index.json`: every public skill, where other installers look; and what that names")
            .file_responses(FILE_MEDIA_TYPES),
        ApiRoute::get("/.well-known/skills/{*file}", discovery::serve_legacy)
            .summary("the same for older installers")
            .file_responses(FILE_MEDIA_TYPES),
    ]
}

fn mcp_routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::post(MCP_PATH, mcp::handle)
            .summary("MCP: skills, packages and context packs for agents, a message of JSON-RPC each time")
            .access(RouteAccess::Authenticated)
            .media_body("application/json")
            .media_response(200, "application/json")
            .media_response(200, "text/event-stream")
            .empty_response(202)
            // MCP errors have their own formats.
            .media_response(400, "application/json")
            .media_response(400, "text/plain")
            .media_response(403, "text/plain")
            .media_response(404, "application/json")
            .media_response(406, "text/plain")
            .media_response(413, "text/plain")
            .media_response(415, "text/plain"),
    ]
}

fn operation_routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get("/api/openapi.json", openapi_json)
            .summary("this surface, as OpenAPI 3.1")
            .json_response::<serde_json::Map<String, serde_json::Value>>(200),
        ApiRoute::get("/healthz", || async { "ok\n" })
            .summary("whether the registry runs")
            .media_response(200, "text/plain"),
        ApiRoute::get("/metrics", metrics)
            .summary("figures for Prometheus")
            .media_response(200, METRICS_MEDIA_TYPE),
        ApiRoute::get("/readyz", packages::ready)
            .summary("whether the registry can answer")
            .media_response(200, "text/plain"),
    ]
}

/// Describes the routes as an OpenAPI document.
pub(crate) fn openapi_document() -> Value {
    openapi::build_document(&routes())
}

async fn openapi_json(Shared(state): Shared<AppState>) -> Response {
    Json(&*state.openapi).into_response()
}

async fn metrics(Shared(state): Shared<AppState>) -> impl IntoResponse {
    let kind = format!("{METRICS_MEDIA_TYPE}; version=1.0.0; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], state.monitor.metrics.encode_text())
}
