//! The user who views a page, and what the layout shows of them.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};

use super::assets::{ICON, SCRIPT, STYLE};
use crate::registry::error::ResponseError;
use crate::registry::metadata::{RegistryReader, TokenOwner, TokenScope};
use crate::registry::sessions::{form_token, session_token};
use crate::registry::state::AppState;
use crate::registry::tokens::find_owner_by_hash;

pub(super) const SESSION_COOKIE: &str = "sp-session";

#[derive(Default)]
pub(crate) struct PageVisitor {
    /// The session ID, if the user is logged in.
    pub session: Option<String>,
    pub bearer: Option<TokenOwner>,
    pub layout: PageLayout,
}

/// What the layout of every page shows.
#[derive(Default)]
pub(crate) struct PageLayout {
    /// Empty if not logged in.
    pub user: String,
    pub is_admin: bool,
    /// The CSRF token of forms.
    pub form_token: String,
    /// Where to return to after a login.
    pub here: String,
    /// The contents of the search field.
    pub query: String,
    /// The base URL of this registry, as the user sees it.
    pub address: String,
}

impl PageLayout {
    pub(super) fn style(&self) -> &'static str {
        &STYLE.path
    }

    pub(super) fn script(&self) -> &'static str {
        &SCRIPT.path
    }

    pub(super) fn icon(&self) -> &'static str {
        &ICON.path
    }
}

impl PageVisitor {
    /// Identifies the user by the session cookie.
    pub(super) async fn load(state: &AppState, parts: &Parts) -> Result<Self, ResponseError> {
        let here = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
        let frame = PageLayout { here, address: base_url(&parts.headers), ..PageLayout::default() };
        let stranger = Self { session: None, bearer: None, layout: frame };
        let Some(id) = session_id(&parts.headers) else { return Ok(stranger) };
        let Some(token) = session_token(&state.metadata, id).await? else {
            return Ok(stranger);
        };
        // The token may have been revoked in the meantime.
        let Some(bearer) = find_owner_by_hash(&state.metadata, token).await? else {
            return Ok(stranger);
        };
        let frame = PageLayout {
            user: bearer.user.clone(),
            is_admin: bearer.scope == TokenScope::Admin,
            form_token: form_token(id),
            ..stranger.layout
        };
        Ok(Self { session: Some(id.into()), bearer: Some(bearer), layout: frame })
    }

    pub(super) fn reader(&self) -> RegistryReader {
        RegistryReader::from_owner(self.bearer.as_ref())
    }
}

impl FromRequestParts<AppState> for PageVisitor {
    type Rejection = ResponseError;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &AppState,
    ) -> Result<Self, ResponseError> {
        Self::load(state, parts).await
    }
}

/// The session ID in the cookies.
fn session_id(headers: &HeaderMap) -> Option<&str> {
    let is_id = |id: &&str| id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    cookie_values(headers, SESSION_COOKIE).find(is_id)
}

/// Returns the values of the cookies with a name.
pub(super) fn cookie_values<'h>(
    headers: &'h HeaderMap,
    name: &'static str,
) -> impl Iterator<Item = &'h str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs =
        cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(move |(found, _)| *found == name).map(|(_, value)| value)
}

/// The base URL, from headers that are not trusted. Only for display.
pub(super) fn base_url(headers: &HeaderMap) -> String {
    let text =
        |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let scheme = if text("x-forwarded-proto") == "https" { "https" } else { "http" };
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".:-[]".contains(&byte);
    match text(header::HOST.as_str()) {
        host if !host.is_empty() && host.len() < 256 && host.bytes().all(is_host) => {
            format!("{scheme}://{host}")
        }
        _ => "<this registry>".into(),
    }
}
