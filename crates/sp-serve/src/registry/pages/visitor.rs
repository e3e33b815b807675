//! Who looks at a page, and from where.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};

use super::assets::{ICON, SCRIPT, STYLE};
use crate::registry::error::ResponseError;
use crate::registry::metadata::{RegistryReader, TokenOwner, TokenScope};
use crate::registry::sessions::form_token;
use crate::registry::state::AppState;

/// The name of the cookie that has a session.
pub(super) const SESSION_COOKIE: &str = "sp-session";

/// Somebody who looks at a page.
#[derive(Default)]
pub(crate) struct PageVisitor {
    /// The session, if one is logged in.
    pub session: Option<String>,
    /// Whose session it is.
    pub bearer: Option<TokenOwner>,
    /// What the layout shows.
    pub layout: PageLayout,
}

/// What is round every page.
#[derive(Default)]
pub(crate) struct PageLayout {
    /// Who is logged in; empty for a stranger.
    pub user: String,
    pub is_admin: bool,
    /// What a form must bring along.
    pub form_token: String,
    /// Where one comes back to after a login.
    pub here: String,
    /// What stands in the search field.
    pub query: String,
    /// Under which address the reader knows this registry.
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
    /// Who is behind a request.
    pub(super) async fn load(state: &AppState, parts: &Parts) -> Result<Self, ResponseError> {
        let here = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
        let frame = PageLayout { here, address: base_url(&parts.headers), ..PageLayout::default() };
        let stranger = Self { session: None, bearer: None, layout: frame };
        let Some(id) = session_id(&parts.headers) else { return Ok(stranger) };
        let Some(token) = state.sessions.token_hash(&state.environment, id) else {
            return Ok(stranger);
        };
        // The token may have been revoked since.
        let Some(bearer) =
            state.metadata.with(move |database| database.token_owner(&token)).await?
        else {
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

    /// What one may see.
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

/// The session that a browser brings along.
fn session_id(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs =
        cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let is_id = |id: &str| id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    pairs.find(|(name, id)| *name == SESSION_COOKIE && is_id(id)).map(|(_, id)| id)
}

/// The address that the reader has before them. It is only shown.
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
