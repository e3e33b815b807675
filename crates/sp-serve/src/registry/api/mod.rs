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
mod trusted_publishing;

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
    IssuedRegistryToken, PublishedPackageIndex, RegistryErrorResponse, RegistryIndex,
    RegistrySearchResponse, RegistryToken, TrustReport,
};

use sp_formats::trusted_publisher::{
    IdentityAudience, IdentityTokenRequest, TrustedPublisher, TrustedPublishers, TrustedToken,
};

use crate::mcp::serve_http::MCP_PATH;
use crate::registry::metadata::{AuditLogItem, NamespaceMember};
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
        publisher_routes(),
        identity_routes(),
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
            .summary(
                "List the packages that are visible to you, at most 10,000 at a time; pass \
                 `next` as `after` to get more",
            )
            .query_params(
                const {
                    &[
                        QueryParam::optional("after", "List the packages after this one"),
                        QueryParam::optional("limit", "Maximum number of packages"),
                    ]
                },
            )
            .integer_params(&["limit"])
            .json_response::<RegistryIndex>(200)
            .empty_response(304),
        ApiRoute::get("/api/v1/search", packages::search)
            .summary(
                "Search packages by name and description, best matches first; small typos are \
                 tolerated",
            )
            .query_params(
                const {
                    &[
                        QueryParam::required("q", "Search terms"),
                        QueryParam::optional("limit", "Maximum number of results"),
                    ]
                },
            )
            .integer_params(&["limit"])
            .json_response::<RegistrySearchResponse>(200),
        ApiRoute::get("/api/v1/packages/{ns}/{name}/index.json", packages::versions)
            .summary("List the versions of a package, newest first")
            .json_response::<PublishedPackageIndex>(200),
        ApiRoute::get("/api/v1/packages/{ns}/{name}/{version}", packages::manifest)
            .summary("Get the manifest of a version and its verification report")
            .json_response::<packages::VersionDetails>(200),
        ApiRoute::get("/api/v1/packages/{ns}/{name}/{version}/download", packages::download)
            .summary(
                "Download a version, with the headers `x-ctxpkg-sha256`, `x-ctxpkg-yanked` \
                 and `ETag`",
            )
            .file_responses(&["application/json"]),
        ApiRoute::get("/api/v1/packages/{ns}/{name}/{version}/readme", packages::readme)
            .summary("Get the readme of a version as Markdown; 404 if it has none")
            .media_response(200, "text/plain"),
        ApiRoute::get("/badges/{ns}/{file}", badges::version_badge)
            .summary("Get a badge with the latest version of a package")
            .media_response(200, "image/svg+xml")
            .media_response(404, "image/svg+xml")
            // Paths without `.svg` get an ordinary error.
            .json_response::<RegistryErrorResponse>(404)
            .media_response(404, "text/html"),
        ApiRoute::get("/badges/{ns}/{name}/downloads.svg", badges::downloads_badge)
            .summary("Get a badge with the download count of a package")
            .media_response(200, "image/svg+xml")
            .media_response(404, "image/svg+xml"),
    ]
}

fn publish_routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::put("/api/v1/packages/{ns}/{name}/{version}", publish::publish)
            .summary("Publish a version; returns its verification report")
            .query_params(
                const { &[QueryParam::optional("visibility", "`private` to make it private")] },
            )
            .access(RouteAccess::Publisher)
            .media_body("application/json")
            .json_response::<TrustReport>(201),
        ApiRoute::delete("/api/v1/packages/{ns}/{name}/{version}", publish::yank)
            .summary("Yank a version: new resolutions skip it, existing lockfiles keep working")
            .access(RouteAccess::Publisher)
            .empty_response(204),
        ApiRoute::post("/api/v1/packages/{ns}/{name}/{version}/unyank", publish::unyank)
            .summary("Unyank a version")
            .access(RouteAccess::Publisher)
            .empty_response(204),
        ApiRoute::post("/api/v1/packages/{ns}/{name}/{version}/delete", publish::delete)
            .summary("Delete the content of a version; its number cannot be used again")
            .access(RouteAccess::Admin)
            .json_body::<publish::DeleteVersionRequest>()
            .empty_response(204),
        ApiRoute::put("/api/v1/packages/{ns}/{name}/private", namespaces::make_private)
            .summary("Make a package private: only members of its namespace see it")
            .access(RouteAccess::Owner)
            .empty_response(204),
        ApiRoute::delete("/api/v1/packages/{ns}/{name}/private", namespaces::make_public)
            .summary("Make a package public")
            .access(RouteAccess::Owner)
            .empty_response(204),
    ]
}

fn member_routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get("/api/v1/namespaces/{ns}/members", namespaces::members)
            .summary("List the members of a namespace and their roles")
            .access(RouteAccess::Publisher)
            .json_response::<Vec<NamespaceMember>>(200),
        ApiRoute::put("/api/v1/namespaces/{ns}/private", namespaces::make_new_private)
            .summary("Make new packages of a namespace private")
            .access(RouteAccess::Owner)
            .empty_response(204),
        ApiRoute::delete("/api/v1/namespaces/{ns}/private", namespaces::make_new_public)
            .summary("Make new packages of a namespace public, which is the default")
            .access(RouteAccess::Owner)
            .empty_response(204),
        ApiRoute::put("/api/v1/namespaces/{ns}/members/{user}", namespaces::add_member)
            .summary("Add a member to a namespace, or change the role of a member")
            .access(RouteAccess::Owner)
            .optional_json_body::<namespaces::RoleRequest>()
            .empty_response(204),
        ApiRoute::delete("/api/v1/namespaces/{ns}/members/{user}", namespaces::remove_member)
            .summary("Remove a member from a namespace; the last owner cannot be removed")
            .access(RouteAccess::Owner)
            .empty_response(204),
    ]
}

fn token_routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get("/api/v1/whoami", tokens::whoami)
            .summary("Get the user and scope of the token")
            .access(RouteAccess::Authenticated)
            .json_response::<tokens::WhoamiResponse>(200),
        ApiRoute::get("/api/v1/tokens", tokens::list)
            .summary("List all tokens, without their secrets")
            .access(RouteAccess::Admin)
            .json_response::<Vec<RegistryToken>>(200),
        ApiRoute::post("/api/v1/tokens", tokens::mint)
            .summary("Create a token; its secret is returned only once")
            .access(RouteAccess::Admin)
            .json_body::<crate::registry::tokens::TokenRequest>()
            .json_response::<IssuedRegistryToken>(201),
        ApiRoute::delete("/api/v1/tokens/{id}", tokens::revoke)
            .summary("Revoke a token")
            .access(RouteAccess::Admin)
            .integer_params(&["id"])
            .empty_response(204),
        ApiRoute::post("/api/v1/tokens/{id}/rotate", tokens::rotate)
            .summary("Replace the secret of a token; requires an admin token or the token itself")
            .access(RouteAccess::Authenticated)
            .integer_params(&["id"])
            .json_response::<IssuedRegistryToken>(200),
        ApiRoute::get("/api/v1/audit", tokens::audit)
            .summary("List the audit log, newest entries first")
            .access(RouteAccess::Admin)
            .json_response::<Vec<AuditLogItem>>(200),
    ]
}

fn publisher_routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get("/api/v1/packages/{ns}/{name}/publishers", trusted_publishing::list)
            .summary("List the trusted publishers of a package")
            .access(RouteAccess::Publisher)
            .json_response::<TrustedPublishers>(200),
        ApiRoute::post("/api/v1/packages/{ns}/{name}/publishers", trusted_publishing::add)
            .summary(
                "Register a trusted publisher. If the package does not exist, the publisher can \
                 publish it within 30 days",
            )
            .access(RouteAccess::Publisher)
            .json_body::<crate::registry::oidc::PublisherRequest>()
            .json_response::<TrustedPublisher>(201),
        ApiRoute::delete(
            "/api/v1/packages/{ns}/{name}/publishers/{id}",
            trusted_publishing::remove,
        )
        .summary("Delete a trusted publisher; its tokens become invalid")
        .access(RouteAccess::Publisher)
        .integer_params(&["id"])
        .empty_response(204),
        ApiRoute::get("/api/v1/namespaces/{ns}/publishers", trusted_publishing::list_of_namespace)
            .summary("List the trusted publishers of all packages in a namespace")
            .access(RouteAccess::Publisher)
            .json_response::<Vec<TrustedPublisher>>(200),
        ApiRoute::put("/api/v1/packages/{ns}/{name}/trusted-only", namespaces::make_trusted_only)
            .summary("Allow only trusted publishers to publish a package")
            .access(RouteAccess::Owner)
            .empty_response(204),
        ApiRoute::delete(
            "/api/v1/packages/{ns}/{name}/trusted-only",
            namespaces::allow_all_publishers,
        )
        .summary("Allow all members who may publish to publish a package, which is the default")
        .access(RouteAccess::Owner)
        .empty_response(204),
    ]
}

fn identity_routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get("/api/v1/oidc/audience", trusted_publishing::audience)
            .summary("Get the audience that identity tokens of CI jobs must have")
            .json_response::<IdentityAudience>(200),
        ApiRoute::post("/api/v1/oidc/token", trusted_publishing::exchange)
            .summary(
                "Exchange the identity token of a CI job for a token that may publish the \
                 packages that trust the job, for 15 minutes",
            )
            .json_body::<IdentityTokenRequest>()
            .json_response::<TrustedToken>(200),
        ApiRoute::delete("/api/v1/oidc/token", trusted_publishing::revoke)
            .summary("Revoke the token of a CI job that is sent with the request")
            .access(RouteAccess::Authenticated)
            .empty_response(204),
        ApiRoute::get("/_/oidc/audience", trusted_publishing::audience)
            .summary("The same, for clients of the Python Package Index")
            .json_response::<IdentityAudience>(200),
        ApiRoute::post("/_/oidc/mint-token", trusted_publishing::mint_compatible)
            .summary("Exchange an identity token, for clients of the Python Package Index")
            .json_body::<IdentityTokenRequest>()
            .json_response::<trusted_publishing::MintTokenResponse>(200),
    ]
}

fn context_pack_routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get("/api/v1/context-packs", context_packs::list)
            .summary("List your context packs, or all context packs for an admin")
            .access(RouteAccess::Publisher)
            .json_response::<ListContextPacksResponse>(200),
        ApiRoute::put("/api/v1/context-packs/{id}", context_packs::push)
            .summary(
                "Push a context pack as a zip; pushing identical content again has no effect, \
                 other content under the same ID is rejected",
            )
            .access(RouteAccess::Publisher)
            .media_body("application/zip")
            .json_response::<PutContextPackResponse>(200)
            .json_response::<PutContextPackResponse>(201),
        ApiRoute::delete("/api/v1/context-packs/{id}", context_packs::remove)
            .summary("Remove a context pack and revoke all its URLs")
            .access(RouteAccess::Publisher)
            .empty_response(204),
        ApiRoute::post("/api/v1/context-packs/{id}/url", context_packs::url)
            .summary("Create signed, expiring URLs for a context pack")
            .access(RouteAccess::Publisher)
            .optional_json_body::<ContextPackUrlRequest>()
            .json_response::<ContextPackUrlResponse>(200),
        ApiRoute::post("/api/v1/context-packs/{id}/revoke", context_packs::revoke)
            .summary("Revoke all existing URLs of a context pack")
            .access(RouteAccess::Publisher)
            .empty_response(204),
    ]
}

fn url_key_routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get("/api/v1/url-keys", context_packs::list_keys)
            .summary("List the keys that sign URLs, without their secrets")
            .access(RouteAccess::Admin)
            .json_response::<Vec<UrlSigningKeyInfo>>(200),
        ApiRoute::post("/api/v1/url-keys", context_packs::rotate_key)
            .summary("Create a key that signs new URLs from now on")
            .access(RouteAccess::Admin)
            .json_response::<UrlSigningKeyInfo>(201),
        ApiRoute::delete("/api/v1/url-keys/{kid}", context_packs::revoke_key)
            .summary("Revoke a key and all URLs that it signed")
            .access(RouteAccess::Admin)
            .empty_response(204),
    ]
}

/// Routes of single files, of context packs and for other installers.
fn file_routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::get("/packs/{*file}", signed_context_packs::serve)
            .summary(
                "Get a file of a context pack, or the context pack as a zip, with the \
                 signature in `?exp=…&kid=…&sig=…`",
            )
            .query_params(
                const {
                    &[
                        QueryParam::optional("exp", "Expiry time, in seconds since the Unix epoch"),
                        QueryParam::optional("kid", "Key ID"),
                        QueryParam::optional("sig", "Signature"),
                    ]
                },
            )
            .file_responses(FILE_MEDIA_TYPES),
        ApiRoute::get("/s/{*file}", signed_context_packs::serve)
            .summary(
                "Get the same files, with the signature in the path: \
                 `/s/{kid}.{exp}.{sig}/packs/{id}/…`",
            )
            .file_responses(FILE_MEDIA_TYPES),
        ApiRoute::get("/.well-known/agent-skills/{*file}", discovery::serve)
            .summary(
                "Get `index.json`, which lists all public skills for other installers, or a \
                 file that it lists",
            )
            .file_responses(FILE_MEDIA_TYPES),
        ApiRoute::get("/.well-known/skills/{*file}", discovery::serve_legacy)
            .summary("Get the same index and files in the format that older installers expect")
            .file_responses(FILE_MEDIA_TYPES),
    ]
}

fn mcp_routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::post(MCP_PATH, mcp::handle)
            .summary(
                "Send a JSON-RPC message to the MCP server, which provides skills, packages \
                 and context packs",
            )
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
            .summary("Get this API description as OpenAPI 3.1")
            .json_response::<serde_json::Map<String, serde_json::Value>>(200),
        ApiRoute::get("/healthz", || async { "ok\n" })
            .summary("Check whether the registry is running")
            .unlimited()
            .media_response(200, "text/plain"),
        ApiRoute::get("/metrics", metrics)
            .summary("Get metrics for Prometheus")
            .unlimited()
            .media_response(200, METRICS_MEDIA_TYPE),
        ApiRoute::get("/readyz", packages::ready)
            .summary("Check whether the registry can handle requests")
            .unlimited()
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
    (
        [(header::CONTENT_TYPE, kind)],
        state.monitor.metrics.encode_text(&state.objects, &state.metadata.counts),
    )
}
