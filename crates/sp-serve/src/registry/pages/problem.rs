//! What did not work, in the same look; programs are told in JSON.

use askama::Template;
use axum::extract::{Request, State as Shared};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};

use super::protect;
use super::visit::{Frame, Visit};
use crate::registry::refusal::{AsItIs, Refusal, Told};
use crate::registry::state::State;

#[derive(Template)]
#[template(path = "problem.html")]
struct Problem<'a> {
    frame: &'a Frame,
    status: u16,
    title: &'a str,
    message: &'a str,
    help: Option<&'a str>,
}

/// Gives every refusal its form: a page for people, JSON for programs.
pub(crate) async fn dress(Shared(state): Shared<State>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let asked = parts.clone();
    let response = next.run(Request::from_parts(parts, body)).await;
    let is_refusal = response.status().is_client_error() || response.status().is_server_error();
    if !is_refusal || is_picture(&response) || response.extensions().get::<AsItIs>().is_some() {
        return response;
    }
    match wants_a_page(&asked) {
        true => shown(&state, &asked, response).await,
        false if response.extensions().get::<Told>().is_some() => response,
        // What is refused by its status alone is told as everything else is.
        false => with_headers_of(&response, Refusal::by_status(response.status()).into_response()),
    }
}

/// The same refusal in another form: what its head says besides, as `Allow` or `Content-Range`, still holds.
fn with_headers_of(first: &Response, mut other: Response) -> Response {
    let is_beside = |name: &HeaderName| *name != header::CONTENT_TYPE && *name != header::CONTENT_LENGTH;
    for (name, value) in first.headers().iter().filter(|(name, _)| is_beside(name)) {
        other.headers_mut().entry(name).or_insert(value.clone());
    }
    other
}

/// A badge that says so is one all the same.
fn is_picture(response: &Response) -> bool {
    response.headers().get(header::CONTENT_TYPE).is_some_and(|media| media.as_bytes().starts_with(b"image/"))
}

fn wants_a_page(parts: &Parts) -> bool {
    let accepts = parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    !parts.uri.path().starts_with("/api/") && accepts.is_some_and(|accepts| accepts.contains("text/html"))
}

async fn shown(state: &State, parts: &Parts, response: Response) -> Response {
    let status = response.status();
    let told = response.extensions().get::<Told>().cloned().unwrap_or_else(|| Refusal::by_status(status).told());
    let mut visit = Visit::of(state, parts).await.unwrap_or_default();
    // What was asked for is not said again: what is hidden and what never was look the same.
    visit.frame.here = String::new();
    let title = match status {
        StatusCode::NOT_FOUND => "There is nothing here",
        StatusCode::FORBIDDEN => "That was not done",
        StatusCode::UNAUTHORIZED => "You are not logged in",
        status if status.is_server_error() => "The registry could not do this",
        _ => "That cannot be",
    };
    let (message, help) = (&told.0.message, told.0.help.as_deref());
    let problem = Problem { frame: &visit.frame, status: status.as_u16(), title, message, help };
    let Ok(html) = problem.render() else { return response };
    let mut page = with_headers_of(&response, (status, Html(html)).into_response());
    protect(&mut page);
    page.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    page
}
