//! Who looks at a page, and from where.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};

use super::assets::{ICON, SCRIPT, STYLE};
use crate::registry::metadata::{Bearer, Reader, Scope};
use crate::registry::refusal::Refusal;
use crate::registry::sessions::form_token;
use crate::registry::state::State;

/// The name of the cookie that has a session.
pub(super) const COOKIE: &str = "sp-session";

/// Somebody who looks at a page.
#[derive(Default)]
pub(crate) struct Visit {
    /// The session, if one is logged in.
    pub session: Option<String>,
    /// Whose session it is.
    pub bearer: Option<Bearer>,
    /// What the layout shows.
    pub frame: Frame,
}

/// What is round every page.
#[derive(Default)]
pub(crate) struct Frame {
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

impl Frame {
    pub(super) fn style(&self) -> &'static str {
        &STYLE.address
    }

    pub(super) fn script(&self) -> &'static str {
        &SCRIPT.address
    }

    pub(super) fn icon(&self) -> &'static str {
        &ICON.address
    }
}

impl Visit {
    /// Who is behind a request.
    pub(super) async fn of(state: &State, parts: &Parts) -> Result<Self, Refusal> {
        let here = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
        let frame = Frame { here, address: address(&parts.headers), ..Frame::default() };
        let stranger = Self { session: None, bearer: None, frame };
        let Some(id) = cookie(&parts.headers) else { return Ok(stranger) };
        let Some(token) = state.sessions.token(state, id) else { return Ok(stranger) };
        // The token may have been revoked since.
        let Some(bearer) = state.metadata.with(move |database| database.bearer(&token)).await? else {
            return Ok(stranger);
        };
        let frame = Frame {
            user: bearer.user.clone(),
            is_admin: bearer.scope == Scope::Admin,
            form_token: form_token(id),
            ..stranger.frame
        };
        Ok(Self { session: Some(id.into()), bearer: Some(bearer), frame })
    }

    /// What one may see.
    pub(super) fn reader(&self) -> Reader {
        Reader::of(self.bearer.as_ref())
    }
}

impl FromRequestParts<State> for Visit {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Refusal> {
        Self::of(state, parts).await
    }
}

/// The session that a browser brings along.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let is_id = |id: &str| id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    pairs.find(|(name, id)| *name == COOKIE && is_id(id)).map(|(_, id)| id)
}

/// The address that the reader has before them. It is only shown.
pub(super) fn address(headers: &HeaderMap) -> String {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let scheme = if text("x-forwarded-proto") == "https" { "https" } else { "http" };
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".:-[]".contains(&byte);
    match text(header::HOST.as_str()) {
        host if !host.is_empty() && host.len() < 256 && host.bytes().all(is_host) => format!("{scheme}://{host}"),
        _ => "<this registry>".into(),
    }
}
