//! The tokens of a registry, for its admin; everybody else learns whose session it is.

use askama::Template;
use axum::Form;
use axum::extract::State as Shared;
use axum::extract::rejection::FormRejection;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect};

use super::forms::of_session;
use super::visit::{Frame, Visit};
use super::{Answer, page, show};
use crate::registry::metadata::{Bearer, Database, TokenItem};
use crate::registry::refusal::Refusal;
use crate::registry::state::State;
use crate::registry::tokens::{Minted, issue};

#[derive(Template)]
#[template(path = "tokens.html")]
struct Tokens<'a> {
    frame: &'a Frame,
    scope: &'a str,
    tokens: Vec<TokenLine>,
    minted: Option<Minted>,
    revoked: Option<i64>,
    /// Why no token was made.
    wrong: Option<String>,
}

struct TokenLine {
    day: String,
    item: TokenItem,
}

pub(super) async fn list(Shared(state): Shared<State>, visit: Visit) -> Answer {
    if visit.bearer.is_none() {
        return Ok(Redirect::to("/login?next=/tokens").into_response());
    }
    shown(&state, &visit, Done::Nothing).await
}

/// What was done before the list is shown.
enum Done {
    Nothing,
    Minted(Minted),
    Revoked(i64),
    Refused(String),
}

async fn shown(state: &State, visit: &Visit, done: Done) -> Answer {
    let bearer = visit.bearer.as_ref().ok_or_else(Refusal::unauthorized)?;
    let tokens = match visit.frame.is_admin {
        true => state.metadata.with(Database::tokens).await?,
        false => Vec::new(),
    };
    let line = |item: TokenItem| TokenLine { day: show::day(&item.created_at).into(), item };
    let mut view = Tokens {
        frame: &visit.frame,
        scope: bearer.scope.word(),
        tokens: tokens.into_iter().rev().map(line).collect(),
        minted: None,
        revoked: None,
        wrong: None,
    };
    match done {
        Done::Nothing => {}
        Done::Minted(minted) => view.minted = Some(minted),
        Done::Revoked(id) => view.revoked = Some(id),
        Done::Refused(why) => view.wrong = Some(why),
    }
    page(&view)
}

/// Who may do this: the admin, with a form of this session.
fn admin<'a>(visit: &'a Visit, headers: &HeaderMap, form_token: &str) -> Result<&'a Bearer, Refusal> {
    of_session(visit, headers, form_token)?;
    visit.bearer.as_ref().filter(|_| visit.frame.is_admin).ok_or_else(Refusal::not_found)
}

#[derive(serde::Deserialize)]
pub(super) struct Wanted {
    #[serde(default)]
    form_token: String,
    user: String,
    scope: String,
}

pub(super) async fn mint(
    Shared(state): Shared<State>,
    visit: Visit,
    headers: HeaderMap,
    form: Result<Form<Wanted>, FormRejection>,
) -> Answer {
    let Form(wanted) = form.map_err(|_| Refusal::foreign_form())?;
    let who = admin(&visit, &headers, &wanted.form_token)?;
    match issue(&state, who, wanted.user.trim(), &wanted.scope).await {
        Ok(minted) => shown(&state, &visit, Done::Minted(minted)).await,
        Err(refusal) => shown(&state, &visit, Done::Refused(refusal.told().0.message)).await,
    }
}

#[derive(serde::Deserialize)]
pub(super) struct Ended {
    #[serde(default)]
    form_token: String,
    id: i64,
}

pub(super) async fn revoke(
    Shared(state): Shared<State>,
    visit: Visit,
    headers: HeaderMap,
    form: Result<Form<Ended>, FormRejection>,
) -> Answer {
    let Form(ended) = form.map_err(|_| Refusal::foreign_form())?;
    let who = admin(&visit, &headers, &ended.form_token)?.clone();
    let (id, at) = (ended.id, state.timestamp());
    match state.metadata.with(move |database| database.revoke_token(id, &who, &at)).await? {
        true => shown(&state, &visit, Done::Revoked(id)).await,
        false => Err(Refusal::not_found()),
    }
}
