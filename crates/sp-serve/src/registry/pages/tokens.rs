//! The tokens page: admins manage tokens, other users see who they are.

use askama::Template;
use axum::Form;
use axum::extract::State as Shared;
use axum::extract::rejection::FormRejection;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect};
use sp_formats::registry::{IssuedRegistryToken, RegistryToken};

use super::forms::check_form_token;
use super::visitor::{PageLayout, PageVisitor};
use super::{PageResult, display, render_page};
use crate::registry::error::ResponseError;
use crate::registry::metadata::{Database, TokenOwner};
use crate::registry::state::AppState;
use crate::registry::tokens::{TokenRequest, issue_token, revoke_token, rotate_token};

const SECONDS_PER_DAY: u64 = 24 * 60 * 60;

#[derive(Template)]
#[template(path = "tokens.html")]
struct TokensPage<'a> {
    frame: &'a PageLayout,
    scope: &'a str,
    tokens: Vec<TokenView>,
    minted: Option<IssuedRegistryToken>,
    revoked: Option<i64>,
    /// Why no token was issued.
    wrong: Option<String>,
}

struct TokenView {
    day: String,
    expires: String,
    used: String,
    namespaces: String,
    item: RegistryToken,
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
    Minted(IssuedRegistryToken),
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
    let day = |time: Option<&str>| time.map(display::date).unwrap_or_default().to_owned();
    let line = |item: RegistryToken| TokenView {
        day: day(Some(&item.created_at)),
        expires: day(item.expires_at.as_deref()),
        used: day(item.last_used_at.as_deref()),
        namespaces: item.namespaces.as_deref().unwrap_or_default().join(", "),
        item,
    };
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
    #[serde(default)]
    label: String,
    /// Days; empty for an unlimited lifetime.
    #[serde(default)]
    expires: String,
    /// Separated by spaces or commas; empty for all.
    #[serde(default)]
    namespaces: String,
}

impl IssueTokenForm {
    fn to_request(&self) -> Result<TokenRequest, ResponseError> {
        let expires_in = match self.expires.trim() {
            "" => None,
            days => {
                let days: u64 = days
                    .parse()
                    .map_err(|_| ResponseError::invalid("the lifetime must be in days"))?;
                Some(days.saturating_mul(SECONDS_PER_DAY))
            }
        };
        let names = self.namespaces.split([' ', ',']).filter(|name| !name.is_empty());
        let namespaces: Vec<String> = names.map(|name| name.trim_matches('@').to_owned()).collect();
        Ok(TokenRequest {
            user: self.user.trim().into(),
            scope: self.scope.clone(),
            label: Some(self.label.clone()),
            expires_in,
            namespaces: Some(namespaces).filter(|names| !names.is_empty()),
        })
    }
}

pub(super) async fn mint(
    Shared(state): Shared<AppState>,
    visit: PageVisitor,
    headers: HeaderMap,
    form: Result<Form<IssueTokenForm>, FormRejection>,
) -> PageResult {
    let Form(form) = form.map_err(|_| ResponseError::invalid_form())?;
    let who = require_admin_form(&visit, &headers, &form.form_token)?;
    let issued = match form.to_request() {
        Ok(request) => issue_token(&state.metadata, who, &request).await,
        Err(refusal) => Err(refusal),
    };
    render_issued(&state, &visit, issued).await
}

async fn render_issued(
    state: &AppState,
    visit: &PageVisitor,
    issued: Result<IssuedRegistryToken, ResponseError>,
) -> PageResult {
    let done = match issued {
        Ok(minted) => TokenAction::Minted(minted),
        Err(refusal) => TokenAction::Refused(refusal.error_body().0.message),
    };
    render_tokens(state, visit, done).await
}

/// A button of a token in the table.
#[derive(serde::Deserialize)]
pub(super) struct TokenButtonForm {
    #[serde(default)]
    form_token: String,
    id: i64,
}

pub(super) async fn rotate(
    Shared(state): Shared<AppState>,
    visit: PageVisitor,
    headers: HeaderMap,
    form: Result<Form<TokenButtonForm>, FormRejection>,
) -> PageResult {
    let Form(form) = form.map_err(|_| ResponseError::invalid_form())?;
    let who = require_admin_form(&visit, &headers, &form.form_token)?;
    let issued = rotate_token(&state.metadata, who, form.id).await;
    render_issued(&state, &visit, issued).await
}

pub(super) async fn revoke(
    Shared(state): Shared<AppState>,
    visit: PageVisitor,
    headers: HeaderMap,
    form: Result<Form<TokenButtonForm>, FormRejection>,
) -> PageResult {
    let Form(form) = form.map_err(|_| ResponseError::invalid_form())?;
    let who = require_admin_form(&visit, &headers, &form.form_token)?.clone();
    revoke_token(&state.metadata, &who, form.id).await?;
    render_tokens(&state, &visit, TokenAction::Revoked(form.id)).await
}
