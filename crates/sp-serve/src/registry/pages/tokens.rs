//! The tokens page: admins manage tokens, other users see who they are.

use askama::Template;
use axum::Form;
use axum::extract::State as Shared;
use axum::extract::rejection::FormRejection;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect};

use super::forms::check_form_token;
use super::visitor::{PageLayout, PageVisitor};
use super::{PageResult, display, render_page};
use crate::registry::error::ResponseError;
use crate::registry::metadata::{Database, TokenItem, TokenOwner};
use crate::registry::state::AppState;
use crate::registry::tokens::{IssuedToken, issue_token};

#[derive(Template)]
#[template(path = "tokens.html")]
struct TokensPage<'a> {
    frame: &'a PageLayout,
    scope: &'a str,
    tokens: Vec<TokenView>,
    minted: Option<IssuedToken>,
    revoked: Option<i64>,
    /// Why no token was issued.
    wrong: Option<String>,
}

struct TokenView {
    day: String,
    item: TokenItem,
}

pub(super) async fn list(Shared(state): Shared<AppState>, visit: PageVisitor) -> PageResult {
    if visit.bearer.is_none() {
        return Ok(Redirect::to("/login?next=/tokens").into_response());
    }
    render_tokens(&state, &visit, TokenAction::Nothing).await
}

/// What was done before the page is shown.
enum TokenAction {
    Nothing,
    Minted(IssuedToken),
    Revoked(i64),
    Refused(String),
}

async fn render_tokens(state: &AppState, visit: &PageVisitor, done: TokenAction) -> PageResult {
    let bearer = visit.bearer.as_ref().ok_or_else(ResponseError::unauthorized)?;
    let tokens = if visit.layout.is_admin {
        state.metadata.with(Database::tokens).await?
    } else {
        Vec::new()
    };
    let line = |item: TokenItem| TokenView { day: display::date(&item.created_at).into(), item };
    let mut view = TokensPage {
        frame: &visit.layout,
        scope: bearer.scope.as_str(),
        tokens: tokens.into_iter().rev().map(line).collect(),
        minted: None,
        revoked: None,
        wrong: None,
    };
    match done {
        TokenAction::Nothing => {}
        TokenAction::Minted(minted) => view.minted = Some(minted),
        TokenAction::Revoked(id) => view.revoked = Some(id),
        TokenAction::Refused(why) => view.wrong = Some(why),
    }
    render_page(&view)
}

/// Requires an admin and a form of this session.
fn require_admin_form<'a>(
    visit: &'a PageVisitor,
    headers: &HeaderMap,
    form_token: &str,
) -> Result<&'a TokenOwner, ResponseError> {
    check_form_token(visit, headers, form_token)?;
    visit.bearer.as_ref().filter(|_| visit.layout.is_admin).ok_or_else(ResponseError::not_found)
}

#[derive(serde::Deserialize)]
pub(super) struct IssueTokenForm {
    #[serde(default)]
    form_token: String,
    user: String,
    scope: String,
}

pub(super) async fn mint(
    Shared(state): Shared<AppState>,
    visit: PageVisitor,
    headers: HeaderMap,
    form: Result<Form<IssueTokenForm>, FormRejection>,
) -> PageResult {
    let Form(request) = form.map_err(|_| ResponseError::invalid_form())?;
    let who = require_admin_form(&visit, &headers, &request.form_token)?;
    let issued =
        issue_token(&state.metadata, &state.environment, who, request.user.trim(), &request.scope);
    match issued.await {
        Ok(minted) => render_tokens(&state, &visit, TokenAction::Minted(minted)).await,
        Err(refusal) => {
            render_tokens(&state, &visit, TokenAction::Refused(refusal.error_body().0.message))
                .await
        }
    }
}

#[derive(serde::Deserialize)]
pub(super) struct RevokeTokenForm {
    #[serde(default)]
    form_token: String,
    id: i64,
}

pub(super) async fn revoke(
    Shared(state): Shared<AppState>,
    visit: PageVisitor,
    headers: HeaderMap,
    form: Result<Form<RevokeTokenForm>, FormRejection>,
) -> PageResult {
    let Form(ended) = form.map_err(|_| ResponseError::invalid_form())?;
    let who = require_admin_form(&visit, &headers, &ended.form_token)?.clone();
    let (id, at) = (ended.id, state.environment.timestamp());
    let found = state.metadata.with(move |database| database.revoke_token(id, &who, &at)).await?;
    if !found {
        return Err(ResponseError::not_found());
    }
    render_tokens(&state, &visit, TokenAction::Revoked(id)).await
}
