//! Who publishes into a namespace, and which packages of it strangers see.

use axum::Json;
use axum::extract::{Path, State as Shared};
use axum::http::{HeaderMap, StatusCode};

use super::packages::place;
use crate::registry::metadata::Change;
use crate::registry::refusal::Refusal;
use crate::registry::state::State;
use crate::registry::tokens::{is_user, publisher};

type Answer<T> = Result<T, Refusal>;

pub(super) async fn members(
    Shared(state): Shared<State>,
    Path(namespace): Path<String>,
    headers: HeaderMap,
) -> Answer<Json<Vec<String>>> {
    let who = publisher(&state, &headers).await?;
    let found = state.metadata.with(move |database| database.members(&namespace, &who)).await?;
    found.map(Json).ok_or_else(Refusal::not_found)
}

pub(super) async fn add(shared: Shared<State>, path: Path<(String, String)>, headers: HeaderMap) -> Answer<StatusCode> {
    let user = path.1.clone();
    if !is_user(&user) {
        return Err(Refusal::invalid("a user has 1 to 64 letters, digits, `-`, `_`, `.` and `@`"));
    }
    change(shared, path.0.0, headers, Change::AddMember(user)).await
}

pub(super) async fn remove(
    shared: Shared<State>,
    path: Path<(String, String)>,
    headers: HeaderMap,
) -> Answer<StatusCode> {
    let user = path.1.clone();
    change(shared, path.0.0, headers, Change::RemoveMember(user)).await
}

pub(super) async fn hide(
    shared: Shared<State>,
    path: Path<(String, String)>,
    headers: HeaderMap,
) -> Answer<StatusCode> {
    let place = place(&path.0.0, &path.0.1)?;
    change(shared, path.0.0, headers, Change::Private(place, true)).await
}

pub(super) async fn show(
    shared: Shared<State>,
    path: Path<(String, String)>,
    headers: HeaderMap,
) -> Answer<StatusCode> {
    let place = place(&path.0.0, &path.0.1)?;
    change(shared, path.0.0, headers, Change::Private(place, false)).await
}

/// Who is no member of a namespace learns nothing of it.
async fn change(
    Shared(state): Shared<State>,
    namespace: String,
    headers: HeaderMap,
    change: Change,
) -> Answer<StatusCode> {
    let who = publisher(&state, &headers).await?;
    let at = state.timestamp();
    match state.metadata.with(move |database| database.change_namespace(&namespace, &change, &who, &at)).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Refusal::not_found()),
    }
}
