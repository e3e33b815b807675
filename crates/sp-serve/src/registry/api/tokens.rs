//! Tokens and the audit log.

use axum::Json;
use axum::extract::{Path, State as Shared};
use axum::http::{HeaderMap, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use sp_formats::registry::{IssuedRegistryToken, RegistryToken};

use crate::registry::error::{ApiResult, ResponseError};
use crate::registry::metadata::{AuditLogItem, Database};
use crate::registry::state::AppState;
use crate::registry::tokens::{
    TokenRequest, authenticate, issue_token, require_admin, revoke_token, rotate_token,
};

pub(super) async fn mint(
    Shared(state): Shared<AppState>,
    headers: HeaderMap,
    Json(request): Json<TokenRequest>,
) -> ApiResult<(StatusCode, Json<IssuedRegistryToken>)> {
    let who = require_admin(&state.metadata, &headers).await?;
    let issued = issue_token(&state.metadata, &who, &request).await?;
    Ok((StatusCode::CREATED, Json(issued)))
}

pub(super) async fn list(
    Shared(state): Shared<AppState>,
    headers: HeaderMap,
) -> ApiResult<Json<Vec<RegistryToken>>> {
    require_admin(&state.metadata, &headers).await?;
    Ok(Json(state.metadata.with(Database::tokens).await?))
}

pub(super) async fn revoke(
    Shared(state): Shared<AppState>,
    Path(id): Path<i64>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    let who = require_admin(&state.metadata, &headers).await?;
    revoke_token(&state.metadata, &who, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn rotate(
    Shared(state): Shared<AppState>,
    Path(id): Path<i64>,
    headers: HeaderMap,
) -> ApiResult<Json<IssuedRegistryToken>> {
    let who =
        authenticate(&state.metadata, &headers).await?.ok_or_else(ResponseError::unauthorized)?;
    Ok(Json(rotate_token(&state.metadata, &who, id).await?))
}

/// User and scope of the token of a request.
#[derive(Serialize, JsonSchema)]
pub(super) struct WhoamiResponse {
    user: String,
    scope: &'static str,
    /// Number of the token.
    id: Option<i64>,
    /// Namespaces that the token is limited to; all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    namespaces: Option<Vec<String>>,
}

pub(super) async fn whoami(
    Shared(state): Shared<AppState>,
    headers: HeaderMap,
) -> ApiResult<Json<WhoamiResponse>> {
    let known =
        authenticate(&state.metadata, &headers).await?.ok_or_else(ResponseError::unauthorized)?;
    Ok(Json(WhoamiResponse {
        scope: known.scope.as_str(),
        user: known.user,
        id: known.token_id,
        namespaces: known.limited_to,
    }))
}

/// Returns the latest entries of the audit log.
pub(super) async fn audit(
    Shared(state): Shared<AppState>,
    headers: HeaderMap,
) -> ApiResult<Json<Vec<AuditLogItem>>> {
    require_admin(&state.metadata, &headers).await?;
    Ok(Json(state.metadata.with(Database::audit_log).await?))
}
