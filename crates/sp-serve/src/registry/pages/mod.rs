//! The pages: what the registry has, for people with a browser.
//!
//! Everything is rendered here, with one style and one small script of our own; no page asks anybody else for
//! anything, and all of them work without the script. A new page extends `templates/layout.html`, takes a
//! [`visit::Visit`], and gives back a [`page`]; text that somebody wrote in Markdown goes through [`markdown::render`].

mod about;
mod assets;
mod context_pack;
mod forms;
mod home;
mod login;
mod markdown;
mod package;
mod problem;
mod reference;
mod show;
mod tokens;
mod visit;

use askama::Template;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderValue, header};
use axum::middleware::map_response;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};

pub(crate) use about::{About, Shelf};
pub(crate) use context_pack::{Opened, context_pack};
pub(crate) use problem::dress;

use crate::registry::refusal::Refusal;
use crate::registry::state::State;

/// What a page gives back.
type Answer = Result<Response, Refusal>;

/// More than this is no form of ours.
const LARGEST_FORM: usize = 16 * 1024;

const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
                      form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

pub(crate) fn router() -> Router<State> {
    Router::new()
        .route("/", get(home::home))
        .route("/search", get(home::search))
        .route("/packages/{ns}/{name}", get(package::latest))
        .route("/packages/{ns}/{name}/{version}", get(package::version))
        .route("/namespaces/{ns}", get(home::namespace))
        .route("/login", get(login::ask).post(login::login))
        .route("/logout", post(login::logout))
        .route("/tokens", get(tokens::list).post(tokens::mint))
        .route("/tokens/revoke", post(tokens::revoke))
        .route("/api", get(reference::reference))
        .route("/-/static/{file}", get(assets::asset))
        .layer(DefaultBodyLimit::max(LARGEST_FORM))
        .layer(map_response(guard))
}

/// A page of a template.
fn page(template: &impl Template) -> Answer {
    template.render().map(|html| Html(html).into_response()).map_err(|_| Refusal::internal())
}

/// What holds for every page: nothing runs, shows or asks but what is ours.
async fn guard(mut response: Response) -> Response {
    protect(&mut response);
    response
}

fn protect(response: &mut Response) {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        // Not `no-referrer`: then a browser would not say where a form comes from.
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // What one reader may see is not kept for the next.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("private, no-store"));
}
