//! Trusted publishing: publishers of packages, and tokens for CI jobs.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State as Shared};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use sp_formats::registry::RegistryPackageName;
use sp_formats::trusted_publisher::{
    IdentityAudience, IdentityTokenRequest, TrustedPublisher, TrustedPublishers, TrustedToken,
};

use super::packages::package_name;
use crate::registry::error::{ApiResult, PreformattedError, ResponseError};
use crate::registry::oidc::{PublisherRequest, add_publisher, exchange_token, remove_publisher};
use crate::registry::state::AppState;
use crate::registry::tokens::{require_publisher, trusted_token_hash};

/// The longest request with an identity token, which has at most 16 KiB itself.
const MAX_REQUEST_BYTES: usize = 32 * 1024;

pub(super) async fn audience(Shared(state): Shared<AppState>) -> ApiResult<Json<IdentityAudience>> {
    let audience = state.oidc.audience().map(str::to_owned).ok_or_else(no_public_url)?;
    Ok(Json(IdentityAudience { audience }))
}

fn no_public_url() -> ResponseError {
    ResponseError::not_configured("its administrator must set `--public-url`")
}

pub(super) async fn exchange(Shared(state): Shared<AppState>, body: Bytes) -> ApiResult<Response> {
    let minted = mint(&state, &body).await?;
    // The response contains a secret.
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(minted)).into_response())
}

async fn mint(state: &AppState, body: &[u8]) -> ApiResult<TrustedToken> {
    if body.len() > MAX_REQUEST_BYTES {
        return Err(ResponseError::too_large(MAX_REQUEST_BYTES as u64));
    }
    let request: IdentityTokenRequest = serde_json::from_slice(body)
        .map_err(|_| ResponseError::invalid("the body must be JSON with a `token`"))?;
    let minted = exchange_token(&state.oidc, &state.metadata, &request.token).await?;
    Ok(TrustedToken { token: minted.token, expires: minted.expires })
}

/// A response of the exchange for clients of other registries.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct MintTokenResponse {
    success: bool,
    #[serde(flatten)]
    token: TrustedToken,
}

/// The same exchange as clients of the Python Package Index expect it.
pub(super) async fn mint_compatible(Shared(state): Shared<AppState>, body: Bytes) -> Response {
    let refusal = match mint(&state, &body).await {
        Ok(token) => {
            let response = MintTokenResponse { success: true, token };
            return ([(header::CACHE_CONTROL, "no-store")], Json(response)).into_response();
        }
        Err(refusal) => refusal,
    };
    let body = refusal.error_body().0;
    let mut response = refusal.into_response();
    let compatible = json!({
        "success": false,
        "code": body.code,
        "message": body.message,
        "help": body.help,
        "errors": [{"code": body.code, "description": body.message}],
    });
    *response.body_mut() = compatible.to_string().into();
    response.headers_mut().remove(header::CONTENT_LENGTH);
    response.extensions_mut().insert(PreformattedError);
    response
}

/// Revokes the token of a request.
pub(super) async fn revoke(
    Shared(state): Shared<AppState>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    let hash = trusted_token_hash(&headers).ok_or_else(ResponseError::unauthorized)?;
    let now = state.environment.timestamp();
    match state.metadata.with(move |database| database.remove_trusted_token(&hash, &now)).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(ResponseError::unauthorized()),
    }
}

pub(super) async fn list(
    Shared(state): Shared<AppState>,
    Path((namespace, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> ApiResult<Json<TrustedPublishers>> {
    let who = require_publisher(&state.metadata, &headers).await?;
    let package = package_name(&namespace, &name)?;
    let at = state.environment.timestamp();
    let found = state.metadata.with(move |database| database.publishers(&package, &who, &at));
    found.await?.map(Json).ok_or_else(ResponseError::not_found)
}

pub(super) async fn list_of_namespace(
    Shared(state): Shared<AppState>,
    Path(namespace): Path<String>,
    headers: HeaderMap,
) -> ApiResult<Json<Vec<TrustedPublisher>>> {
    let who = require_publisher(&state.metadata, &headers).await?;
    let at = state.environment.timestamp();
    let found =
        state.metadata.with(move |database| database.namespace_publishers(&namespace, &who, &at));
    found.await?.map(Json).ok_or_else(ResponseError::not_found)
}

pub(super) async fn add(
    Shared(state): Shared<AppState>,
    Path((namespace, name)): Path<(String, String)>,
    headers: HeaderMap,
    Json(request): Json<PublisherRequest>,
) -> ApiResult<(StatusCode, Json<TrustedPublisher>)> {
    let who = require_publisher(&state.metadata, &headers).await?;
    let package = RegistryPackageName::new(&namespace, &name)
        .map_err(|why| ResponseError::invalid(why.to_string()))?;
    let added = add_publisher(&state.oidc, &state.metadata, who, (package, request)).await?;
    Ok((StatusCode::CREATED, Json(added)))
}

pub(super) async fn remove(
    Shared(state): Shared<AppState>,
    Path((namespace, name, id)): Path<(String, String, i64)>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    let who = require_publisher(&state.metadata, &headers).await?;
    let package = package_name(&namespace, &name)?;
    remove_publisher(&state.metadata, who, package, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
