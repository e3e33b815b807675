//! Members of namespaces, and the visibility of packages.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State as Shared};
use axum::http::{HeaderMap, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;

use super::packages::package_name;
use crate::registry::error::{ApiResult, ResponseError};
use crate::registry::metadata::{
    NamespaceChange, NamespaceMember, NamespaceOutcome, NamespaceRole,
};
use crate::registry::state::AppState;
use crate::registry::tokens::{is_valid_username, require_publisher};

pub(super) async fn members(
    Shared(state): Shared<AppState>,
    Path(namespace): Path<String>,
    headers: HeaderMap,
) -> ApiResult<Json<Vec<NamespaceMember>>> {
    let who = require_publisher(&state.metadata, &headers).await?;
    let found = state.metadata.with(move |database| database.members(&namespace, &who)).await?;
    found.map(Json).ok_or_else(ResponseError::not_found)
}

/// The role of a member.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RoleRequest {
    role: NamespaceRole,
}

pub(super) async fn add_member(
    shared: Shared<AppState>,
    path: Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> ApiResult<StatusCode> {
    let user = path.1.clone();
    if !is_valid_username(&user) {
        return Err(ResponseError::invalid(
            "a user name must have 1 to 64 letters, digits, `-`, `_`, `.` or `@`",
        ));
    }
    let role = if body.is_empty() {
        NamespaceRole::Publisher
    } else {
        let request: RoleRequest =
            serde_json::from_slice(&body).map_err(|why| ResponseError::invalid(why.to_string()))?;
        request.role
    };
    change_namespace(shared, path.0.0, headers, NamespaceChange::SetRole(user, role)).await
}

pub(super) async fn remove_member(
    shared: Shared<AppState>,
    path: Path<(String, String)>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    let user = path.1.clone();
    change_namespace(shared, path.0.0, headers, NamespaceChange::RemoveMember(user)).await
}

pub(super) async fn make_private(
    shared: Shared<AppState>,
    path: Path<(String, String)>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    let package = package_name(&path.0.0, &path.0.1)?;
    change_namespace(shared, path.0.0, headers, NamespaceChange::SetPrivate(package, true)).await
}

pub(super) async fn make_public(
    shared: Shared<AppState>,
    path: Path<(String, String)>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    let package = package_name(&path.0.0, &path.0.1)?;
    change_namespace(shared, path.0.0, headers, NamespaceChange::SetPrivate(package, false)).await
}

pub(super) async fn make_trusted_only(
    shared: Shared<AppState>,
    path: Path<(String, String)>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    let package = package_name(&path.0.0, &path.0.1)?;
    change_namespace(shared, path.0.0, headers, NamespaceChange::SetTrustedOnly(package, true))
        .await
}

pub(super) async fn allow_all_publishers(
    shared: Shared<AppState>,
    path: Path<(String, String)>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    let package = package_name(&path.0.0, &path.0.1)?;
    change_namespace(shared, path.0.0, headers, NamespaceChange::SetTrustedOnly(package, false))
        .await
}

pub(super) async fn make_new_private(
    shared: Shared<AppState>,
    Path(namespace): Path<String>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    change_namespace(shared, namespace, headers, NamespaceChange::SetPrivateByDefault(true)).await
}

pub(super) async fn make_new_public(
    shared: Shared<AppState>,
    Path(namespace): Path<String>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    change_namespace(shared, namespace, headers, NamespaceChange::SetPrivateByDefault(false)).await
}

/// Changes a namespace. To non-members it does not exist.
async fn change_namespace(
    Shared(state): Shared<AppState>,
    namespace: String,
    headers: HeaderMap,
    change: NamespaceChange,
) -> ApiResult<StatusCode> {
    let who = require_publisher(&state.metadata, &headers).await?;
    let at = state.environment.timestamp();
    let outcome = state
        .metadata
        .with(move |database| database.change_namespace(&namespace, &change, &who, &at))
        .await?;
    match outcome {
        NamespaceOutcome::Done => Ok(StatusCode::NO_CONTENT),
        NamespaceOutcome::NotFound => Err(ResponseError::not_found()),
        NamespaceOutcome::Forbidden => Err(ResponseError::not_owner()),
        NamespaceOutcome::MarkedPrivate => Err(ResponseError::marked_private()),
        NamespaceOutcome::LastOwner => Err(ResponseError::last_owner()),
    }
}
