//! Login with an identity provider. The browser gets the same session cookie as with a token.

use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State as Shared};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use sp_formats::percent::{COMPONENT, decode, encode};
use sp_formats::printable::printable;

use super::forms::safe_redirect_path;
use super::login::session_cookie;
use super::visitor::{PageLayout, PageVisitor, cookie_values};
use super::{PageResult, render_page};
use crate::registry::error::{ApiResult, ResponseError};
use crate::registry::metadata::{NewSignIn, SignInOutcome};
use crate::registry::oidc::{
    AccountPolicy, ProviderIdentity, SignInAttempt, SignInRefusal, SignInSettings,
};
use crate::registry::sessions::{SESSION_LIFETIME_SECS, create_session, end_session};
use crate::registry::state::AppState;
use crate::registry::tokens::{hash_token, random_secret};

/// Holds the login while the user is at the provider. It is sent when the provider links back,
/// which a cookie with `SameSite=Strict` is not.
const LOGIN_COOKIE: &str = "sp-login";
const LOGIN_LIFETIME_SECS: u64 = 10 * 60;
const MAX_SHOWN_CHARS: usize = 200;

#[derive(serde::Deserialize)]
pub(super) struct BeginParams {
    next: Option<String>,
}

pub(super) async fn begin(
    Shared(state): Shared<AppState>,
    query: Result<Query<BeginParams>, QueryRejection>,
) -> PageResult {
    let provider = provider(&state)?;
    let next = query.ok().and_then(|Query(query)| query.next);
    let next = encode(safe_redirect_path(next.as_deref()), COMPONENT);
    let attempt =
        SignInAttempt::begin(&state.environment).map_err(|_| ResponseError::internal())?;
    let url = state.oidc.authorization_url(provider, &attempt).await.map_err(|e| refusal(&e))?;
    let cookie =
        login_cookie(&state, &format!("{}.{next}", attempt.cookie()), LOGIN_LIFETIME_SECS)?;
    Ok((AppendHeaders([(header::SET_COOKIE, cookie)]), Redirect::to(&url)).into_response())
}

#[derive(serde::Deserialize)]
pub(super) struct CallbackParams {
    code: Option<String>,
    state: Option<String>,
    error: Option<String>,
    iss: Option<String>,
}

pub(super) async fn complete(
    Shared(state): Shared<AppState>,
    visit: PageVisitor,
    headers: HeaderMap,
    query: Result<Query<CallbackParams>, QueryRejection>,
) -> PageResult {
    let provider = provider(&state)?;
    let Query(params) = query.map_err(|_| ResponseError::unknown_login())?;
    let (attempt, next) = begun_login(&headers).ok_or_else(ResponseError::unknown_login)?;
    let is_same = params.state.as_deref().is_some_and(|state| attempt.has_state(state));
    if !is_same || params.iss.is_some_and(|issuer| issuer != provider.issuer) {
        return Err(ResponseError::unknown_login());
    }
    if let Some(error) = params.error {
        let reason: String = printable(&error).chars().take(MAX_SHOWN_CHARS).collect();
        return Err(ResponseError::login_refused(&format!("the provider returned `{reason}`")));
    }
    let code = params.code.ok_or_else(ResponseError::unknown_login)?;
    let identity =
        state.oidc.complete_sign_in(provider, &attempt, (&code, &state.environment)).await;
    let session = open_session(&state, provider, identity.map_err(|e| refusal(&e))?).await?;
    if let Some(id) = &visit.session {
        end_session(&state.metadata, id).await?;
    }
    render_login(&state, &session, safe_redirect_path(Some(&next)))
}

fn provider(state: &AppState) -> ApiResult<&SignInSettings> {
    state.oidc.settings.sign_in.as_ref().ok_or_else(ResponseError::not_found)
}

/// Returns the login that this browser has begun, and where to go afterwards.
fn begun_login(headers: &HeaderMap) -> Option<(SignInAttempt, String)> {
    let (secret, next) = cookie_values(headers, LOGIN_COOKIE).next()?.split_once('.')?;
    Some((SignInAttempt::from_cookie(secret)?, decode(next)?))
}

fn is_https(state: &AppState) -> bool {
    let url = state.oidc.settings.public_url.as_deref();
    url.is_some_and(|url| url.starts_with("https://"))
}

fn login_cookie(state: &AppState, value: &str, lifetime: u64) -> ApiResult<HeaderValue> {
    let secure = if is_https(state) { "; Secure" } else { "" };
    let cookie = format!(
        "{LOGIN_COOKIE}={value}; Path=/login/oidc; HttpOnly; SameSite=Lax; Max-Age={lifetime}{secure}"
    );
    HeaderValue::from_str(&cookie).map_err(|_| ResponseError::internal())
}

/// Returns the ID of a new session of the user.
async fn open_session(
    state: &AppState,
    provider: &SignInSettings,
    identity: ProviderIdentity,
) -> ApiResult<String> {
    // No one ever has this token: it makes the session visible to admins, who can revoke it.
    let secret = random_secret(&state.environment).map_err(|_| ResponseError::internal())?;
    let token_hash = hash_token(&secret);
    let new = NewSignIn {
        issuer: identity.issuer,
        subject: identity.subject,
        user: identity.user,
        may_create: provider.accounts == AccountPolicy::Create,
        token_hash,
        expires_at: state.environment.timestamp_in(SESSION_LIFETIME_SECS),
    };
    let now = state.environment.timestamp();
    match state.metadata.with(move |database| database.sign_in(&new, &now)).await? {
        SignInOutcome::Done => create_session(&state.metadata, token_hash).await,
        SignInOutcome::UnknownUser => {
            Err(ResponseError::login_refused("the user is not known, and none are created"))
        }
        SignInOutcome::NameTaken => {
            Err(ResponseError::login_refused("another user of the provider has the name"))
        }
    }
}

fn refusal(refusal: &SignInRefusal) -> ResponseError {
    if refusal.is_user_refused() {
        ResponseError::login_refused(&refusal.to_string())
    } else {
        ResponseError::provider_unavailable(refusal)
    }
}

#[derive(Template)]
#[template(path = "logged_in.html")]
struct LoggedInPage<'a> {
    frame: &'a PageLayout,
    next: &'a str,
}

/// Shows a page that leads to `next`. After a redirect, the browser would not send the session
/// cookie, because the provider started the navigation.
fn render_login(state: &AppState, session: &str, next: &str) -> PageResult {
    let frame = PageLayout::default();
    let page = render_page(&LoggedInPage { frame: &frame, next })?;
    let session = HeaderValue::from_str(&session_cookie(session, is_https(state)))
        .map_err(|_| ResponseError::internal())?;
    let ended = login_cookie(state, "", 0)?;
    let cookies = AppendHeaders([(header::SET_COOKIE, session), (header::SET_COOKIE, ended)]);
    let mut response: Response = (cookies, page).into_response();
    let refresh =
        HeaderValue::from_str(&format!("0; url={next}")).map_err(|_| ResponseError::internal())?;
    response.headers_mut().insert(header::REFRESH, refresh);
    Ok(response)
}
