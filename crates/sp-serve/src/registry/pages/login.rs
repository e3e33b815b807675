//! Login and logout. The browser gets a session cookie and never stores a token.

use askama::Template;
use axum::Form;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Query, State as Shared};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::IntoResponse;

use super::forms::{check_form_token, check_same_origin, safe_redirect_path};
use super::visitor::{PageLayout, PageVisitor, SESSION_COOKIE};
use super::{PageResult, render_page};
use crate::registry::error::ResponseError;
use crate::registry::sessions::{SESSION_LIFETIME_SECS, create_session, end_session};
use crate::registry::state::AppState;
use crate::registry::tokens::find_token_owner;

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage<'a> {
    frame: &'a PageLayout,
    next: &'a str,
    is_wrong: bool,
    /// The host of the login provider.
    provider: Option<&'a str>,
}

#[derive(serde::Deserialize)]
pub(super) struct LoginPageParams {
    next: Option<String>,
}

pub(super) async fn login_page(
    Shared(state): Shared<AppState>,
    query: Result<Query<LoginPageParams>, QueryRejection>,
    mut visit: PageVisitor,
) -> PageResult {
    // Logging in must not lead back to this page.
    visit.layout.here = String::new();
    let next = query.ok().and_then(|Query(query)| query.next);
    render_page(&LoginPage {
        frame: &visit.layout,
        next: safe_redirect_path(next.as_deref()),
        is_wrong: false,
        provider: state.oidc.provider_host(),
    })
}

#[derive(serde::Deserialize)]
pub(super) struct LoginForm {
    token: String,
    next: Option<String>,
}

pub(super) async fn login(
    Shared(state): Shared<AppState>,
    visit: PageVisitor,
    headers: HeaderMap,
    form: Result<Form<LoginForm>, FormRejection>,
) -> PageResult {
    check_same_origin(&headers)?;
    let Form(shown) = form.map_err(|wrong| ResponseError::from_status(wrong.status()))?;
    let next = safe_redirect_path(shown.next.as_deref());
    let Some(token) = find_token_owner(&state.metadata, shown.token.trim()).await? else {
        let provider = state.oidc.provider_host();
        let again =
            render_page(&LoginPage { frame: &visit.layout, next, is_wrong: true, provider })?;
        return Ok((StatusCode::UNAUTHORIZED, again).into_response());
    };
    // End the previous session.
    if let Some(id) = &visit.session {
        end_session(&state.metadata, id).await?;
    }
    let id = create_session(&state.metadata, token.hash).await?;
    let is_https = headers
        .get(header::ORIGIN)
        .is_some_and(|origin| origin.as_bytes().starts_with(b"https://"));
    redirect_with_cookie(next, &session_cookie(&id, is_https))
}

/// Returns the cookie of a new session.
pub(super) fn session_cookie(id: &str, is_https: bool) -> String {
    let secure = if is_https { "; Secure" } else { "" };
    format!(
        "{SESSION_COOKIE}={id}; Path=/; HttpOnly; SameSite=Strict; Max-Age={SESSION_LIFETIME_SECS}{secure}"
    )
}

#[derive(serde::Deserialize)]
pub(super) struct LogoutForm {
    #[serde(default)]
    form_token: String,
}

pub(super) async fn logout(
    Shared(state): Shared<AppState>,
    visit: PageVisitor,
    headers: HeaderMap,
    form: Result<Form<LogoutForm>, FormRejection>,
) -> PageResult {
    let Form(leaving) = form.map_err(|_| ResponseError::invalid_form())?;
    check_form_token(&visit, &headers, &leaving.form_token)?;
    if let Some(id) = &visit.session {
        end_session(&state.metadata, id).await?;
    }
    redirect_with_cookie(
        "/",
        &format!("{SESSION_COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"),
    )
}

fn redirect_with_cookie(to: &str, cookie: &str) -> PageResult {
    let value = |text: &str| HeaderValue::from_str(text).map_err(|_| ResponseError::internal());
    let response_headers = [(header::LOCATION, value(to)?), (header::SET_COOKIE, value(cookie)?)];
    Ok((StatusCode::SEE_OTHER, response_headers).into_response())
}
