//! Tokens: minted, listed and revoked by whoever runs the registry.

use axum::Json;
use axum::extract::{Path, State as Shared};
use axum::http::{HeaderMap, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::registry::metadata::{AuditItem, Database, TokenItem};
use crate::registry::refusal::Refusal;
use crate::registry::state::State;
use crate::registry::tokens::{Minted, admin, bearer, issue};

type Answer<T> = Result<T, Refusal>;

/// Whose token is wanted, and for what.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// 1 to 64 letters, digits, `-`, `_`, `.` and `@`.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_.@-]{1,64}$"))]
    user: String,
    #[schemars(extend("enum" = ["publish", "read"]))]
    scope: String,
}

pub(super) async fn mint(
    Shared(state): Shared<State>,
    headers: HeaderMap,
    Json(wanted): Json<Wanted>,
) -> Answer<(StatusCode, Json<Minted>)> {
    let who = admin(&state, &headers).await?;
    Ok((StatusCode::CREATED, Json(issue(&state, &who, &wanted.user, &wanted.scope).await?)))
}

pub(super) async fn list(Shared(state): Shared<State>, headers: HeaderMap) -> Answer<Json<Vec<TokenItem>>> {
    admin(&state, &headers).await?;
    Ok(Json(state.metadata.with(Database::tokens).await?))
}

pub(super) async fn revoke(
    Shared(state): Shared<State>,
    Path(id): Path<i64>,
    headers: HeaderMap,
) -> Answer<StatusCode> {
    let who = admin(&state, &headers).await?;
    let at = state.timestamp();
    match state.metadata.with(move |database| database.revoke_token(id, &who, &at)).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Refusal::not_found()),
    }
}

/// Whose token it is.
#[derive(Serialize, JsonSchema)]
pub(super) struct Known {
    user: String,
    scope: &'static str,
}

pub(super) async fn whoami(Shared(state): Shared<State>, headers: HeaderMap) -> Answer<Json<Known>> {
    let known = bearer(&state, &headers).await?.ok_or_else(Refusal::unauthorized)?;
    Ok(Json(Known { scope: known.scope.word(), user: known.user }))
}

/// What was done last.
pub(super) async fn audit(Shared(state): Shared<State>, headers: HeaderMap) -> Answer<Json<Vec<AuditItem>>> {
    admin(&state, &headers).await?;
    Ok(Json(state.metadata.with(Database::audit).await?))
}
