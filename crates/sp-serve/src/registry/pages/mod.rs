//! The web pages of the registry.
//!
//! Pages are rendered on the server, with one stylesheet and one small script. No page loads
//! anything from elsewhere, and all of them work without the script. A new page extends
//! `templates/layout.html`, takes a [`visitor::PageVisitor`], and returns [`render_page`].
//! Untrusted Markdown must go through [`markdown::render`](crate::registry::markdown::render).

mod api_reference;
mod assets;
mod context_pack;
mod display;
mod error_page;
mod forms;
mod home;
mod login;
mod members;
mod package;
mod provider_login;
mod publishers;
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
pub(crate) use visitor::PageVisitor;

use crate::registry::error::{ApiResult, ResponseError};
use crate::registry::oidc::CALLBACK_PATH;
use crate::registry::state::AppState;

type PageResult = ApiResult<Response>;

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
        .route("/namespaces/{ns}/members", post(members::change))
        .route("/namespaces/{ns}/publishers", get(publishers::list).post(publishers::add))
        .route("/namespaces/{ns}/publishers/remove", post(publishers::remove))
        .route("/login", get(login::login_page).post(login::login))
        .route("/login/oidc", get(provider_login::begin))
        .route(CALLBACK_PATH, get(provider_login::complete))
        .route("/logout", post(login::logout))
        .route("/tokens", get(tokens::list).post(tokens::mint))
        .route("/tokens/revoke", post(tokens::revoke))
        .route("/tokens/rotate", post(tokens::rotate))
        .route("/api", get(api_reference::reference))
        .route("/-/static/{file}", get(assets::serve_asset))
        .layer(DefaultBodyLimit::max(MAX_FORM_BYTES))
        .layer(map_response(add_page_headers))
}

fn render_page(template: &impl Template) -> PageResult {
    template.render().map(|html| Html(html).into_response()).map_err(|_| ResponseError::internal())
}

/// Sets the headers of every page: only resources of this host may load.
async fn add_page_headers(mut response: Response) -> Response {
    set_page_headers(&mut response);
    response
}

fn set_page_headers(response: &mut Response) {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, PAGE_SECURITY_POLICY),
        // With `no-referrer`, browsers would send `Origin: null` with forms.
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Pages depend on the user, so they are not cached.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("private, no-store"));
}
