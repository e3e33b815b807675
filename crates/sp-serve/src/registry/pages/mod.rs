//! The pages: what the registry has, for people with a browser.
//!
//! Everything is rendered here, with one style and one small script of our own; no page asks anybody else for
//! anything, and all of them work without the script. A new page extends `templates/layout.html`, takes a
//! [`visit::Visit`], and gives back a [`page`]; text that somebody wrote in Markdown goes through [`markdown::render`].

mod api_reference;
mod assets;
mod context_pack;
mod display;
mod error_page;
mod forms;
mod home;
mod login;
mod package;
mod tokens;
mod visitor;

use askama::Template;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderValue, header};
use axum::middleware::map_response;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};

pub(crate) use context_pack::{OpenedContextPack, render_context_pack};
pub(crate) use error_page::format_errors;

use crate::registry::error::{ApiResult, ResponseError};
use crate::registry::state::AppState;

/// What a page gives back.
type PageResult = ApiResult<Response>;

/// More than this is no form of ours.
const MAX_FORM_BYTES: usize = 16 * 1024;

const PAGE_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
                      form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

pub(crate) fn router() -> Router<AppState> {
    Router::new()
        .route("/", get(home::home))
        .route("/search", get(home::search))
        .route("/packages/{ns}/{name}", get(package::latest))
        .route("/packages/{ns}/{name}/{version}", get(package::version))
        .route("/namespaces/{ns}", get(home::namespace))
        .route("/login", get(login::login_page).post(login::login))
        .route("/logout", post(login::logout))
        .route("/tokens", get(tokens::list).post(tokens::mint))
        .route("/tokens/revoke", post(tokens::revoke))
        .route("/api", get(api_reference::reference))
        .route("/-/static/{file}", get(assets::serve_asset))
        .layer(DefaultBodyLimit::max(MAX_FORM_BYTES))
        .layer(map_response(add_page_headers))
}

/// A page of a template.
fn render_page(template: &impl Template) -> PageResult {
    template.render().map(|html| Html(html).into_response()).map_err(|_| ResponseError::internal())
}

/// What holds for every page: nothing runs, shows or asks but what is ours.
async fn add_page_headers(mut response: Response) -> Response {
    set_page_headers(&mut response);
    response
}

fn set_page_headers(response: &mut Response) {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, PAGE_SECURITY_POLICY),
        // Not `no-referrer`: then a browser would not say where a form comes from.
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // What one reader may see is not kept for the next.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("private, no-store"));
}
