//! Tokens and the audit log.

use axum::Json;
use axum::extract::{Path, State as Shared};
use axum::http::{HeaderMap, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::registry::error::{ApiResult, ResponseError};
use crate::registry::metadata::{AuditLogItem, Database, TokenItem};
use crate::registry::state::AppState;
use crate::registry::tokens::{IssuedToken, authenticate, issue_token, require_admin};

/// User and scope of a new token.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct IssueTokenRequest {
    /// 1 to 64 letters, digits, `-`, `_`, `.` and `@`.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_.@-]{1,64}$"))]
    user: String,
    #[schemars(extend("enum" = ["publish", "read"]))]
    scope: String,
}

pub(super) async fn mint(
    Shared(state): Shared<AppState>,
    headers: HeaderMap,
    Json(request): Json<IssueTokenRequest>,
) -> ApiResult<(StatusCode, Json<IssuedToken>)> {
    let who = require_admin(&state.metadata, &headers).await?;
    let issued =
        issue_token(&state.metadata, &state.environment, &who, &request.user, &request.scope);
    Ok((StatusCode::CREATED, Json(issued.await?)))
}

pub(super) async fn list(
    Shared(state): Shared<AppState>,
    headers: HeaderMap,
) -> ApiResult<Json<Vec<TokenItem>>> {
    require_admin(&state.metadata, &headers).await?;
    Ok(Json(state.metadata.with(Database::tokens).await?))
}

pub(super) async fn revoke(
    Shared(state): Shared<AppState>,
    Path(id): Path<i64>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    let who = require_admin(&state.metadata, &headers).await?;
    let at = state.environment.timestamp();
    let found = state.metadata.with(move |database| database.revoke_token(id, &who, &at)).await?;
    if found { Ok(StatusCode::NO_CONTENT) } else { Err(ResponseError::not_found()) }
}

/// User and scope of the token of a request.
#[derive(Serialize, JsonSchema)]
pub(super) struct WhoamiResponse {
    user: String,
    scope: &'static str,
}

pub(super) async fn whoami(
    Shared(state): Shared<AppState>,
    headers: HeaderMap,
) -> ApiResult<Json<WhoamiResponse>> {
    let known =
        authenticate(&state.metadata, &headers).await?.ok_or_else(ResponseError::unauthorized)?;
    Ok(Json(WhoamiResponse { scope: known.scope.as_str(), user: known.user }))
}

/// Returns the latest entries of the audit log.
pub(super) async fn audit(
    Shared(state): Shared<AppState>,
    headers: HeaderMap,
) -> ApiResult<Json<Vec<AuditLogItem>>> {
    require_admin(&state.metadata, &headers).await?;
    Ok(Json(state.metadata.with(Database::audit_log).await?))
}
