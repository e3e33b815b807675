//! Logging in and out. A token is shown once, and what stays with the browser is no token.

use askama::Template;
use axum::Form;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Query, State as Shared};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::IntoResponse;

use super::forms::{from_here, local, of_session};
use super::visit::{COOKIE, Frame, Visit};
use super::{Answer, page};
use crate::registry::refusal::Refusal;
use crate::registry::sessions::LIFETIME;
use crate::registry::state::State;
use crate::registry::tokens::holder;

#[derive(Template)]
#[template(path = "login.html")]
struct Login<'a> {
    frame: &'a Frame,
    next: &'a str,
    is_wrong: bool,
}

#[derive(serde::Deserialize)]
pub(super) struct Asked {
    next: Option<String>,
}

pub(super) async fn ask(asked: Result<Query<Asked>, QueryRejection>, mut visit: Visit) -> Answer {
    // Nobody comes back to the login.
    visit.frame.here = String::new();
    let next = asked.ok().and_then(|Query(asked)| asked.next);
    page(&Login { frame: &visit.frame, next: local(next.as_deref()), is_wrong: false })
}

#[derive(serde::Deserialize)]
pub(super) struct Shown {
    token: String,
    next: Option<String>,
}

pub(super) async fn login(
    Shared(state): Shared<State>,
    visit: Visit,
    headers: HeaderMap,
    form: Result<Form<Shown>, FormRejection>,
) -> Answer {
    from_here(&headers)?;
    let Form(shown) = form.map_err(|wrong| Refusal::by_status(wrong.status()))?;
    let next = local(shown.next.as_deref());
    let Some((token, _)) = holder(&state, shown.token.trim()).await? else {
        let again = page(&Login { frame: &visit.frame, next, is_wrong: true })?;
        return Ok((StatusCode::UNAUTHORIZED, again).into_response());
    };
    // Whoever was logged in before is not any more.
    if let Some(id) = &visit.session {
        state.sessions.end(id);
    }
    let id = state.sessions.begin(&state, token).map_err(|_| Refusal::internal())?;
    let secure = match headers.get(header::ORIGIN).is_some_and(|origin| origin.as_bytes().starts_with(b"https://")) {
        true => "; Secure",
        false => "",
    };
    let cookie = format!("{COOKIE}={id}; Path=/; HttpOnly; SameSite=Strict; Max-Age={LIFETIME}{secure}");
    go(next, &cookie)
}

#[derive(serde::Deserialize)]
pub(super) struct Leaving {
    #[serde(default)]
    form_token: String,
}

pub(super) async fn logout(
    Shared(state): Shared<State>,
    visit: Visit,
    headers: HeaderMap,
    form: Result<Form<Leaving>, FormRejection>,
) -> Answer {
    let Form(leaving) = form.map_err(|_| Refusal::foreign_form())?;
    of_session(&visit, &headers, &leaving.form_token)?;
    if let Some(id) = &visit.session {
        state.sessions.end(id);
    }
    go("/", &format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"))
}

fn go(to: &str, cookie: &str) -> Answer {
    let value = |text: &str| HeaderValue::from_str(text).map_err(|_| Refusal::internal());
    let told = [(header::LOCATION, value(to)?), (header::SET_COOKIE, value(cookie)?)];
    Ok((StatusCode::SEE_OTHER, told).into_response())
}
