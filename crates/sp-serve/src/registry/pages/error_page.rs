//! Error pages for browsers; other clients get JSON.

use askama::Template;
use axum::extract::{Request, State as Shared};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};

use super::set_page_headers;
use super::visitor::{PageLayout, PageVisitor};
use crate::registry::error::{InternalCause, PreformattedError, ResponseError, ResponseErrorBody};
use crate::registry::state::AppState;

#[derive(Template)]
#[template(path = "problem.html")]
struct ErrorPage<'a> {
    frame: &'a PageLayout,
    status: u16,
    title: &'a str,
    message: &'a str,
    help: Option<&'a str>,
}

/// Converts error responses to a page for browsers and to JSON for other clients.
pub(crate) async fn format_errors(
    Shared(state): Shared<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    let request_parts = parts.clone();
    let response = next.run(Request::from_parts(parts, body)).await;
    let is_error = response.status().is_client_error() || response.status().is_server_error();
    if !is_error
        || is_image(&response)
        || response.extensions().get::<PreformattedError>().is_some()
    {
        return response;
    }
    if wants_html(&request_parts) {
        return render_error_page(&state, &request_parts, response).await;
    }
    if response.extensions().get::<ResponseErrorBody>().is_some() {
        return response;
    }
    // A status without a body, as from the framework.
    copy_headers(&response, ResponseError::from_status(response.status()).into_response())
}

/// Copies the other headers of a response, such as `Allow` or `Content-Range`.
fn copy_headers(first: &Response, mut other: Response) -> Response {
    let is_beside =
        |name: &HeaderName| *name != header::CONTENT_TYPE && *name != header::CONTENT_LENGTH;
    for (name, value) in first.headers().iter().filter(|(name, _)| is_beside(name)) {
        other.headers_mut().entry(name).or_insert(value.clone());
    }
    other
}

/// Badges report errors as an image.
fn is_image(response: &Response) -> bool {
    response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|media| media.as_bytes().starts_with(b"image/"))
}

fn wants_html(parts: &Parts) -> bool {
    let accepts = parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    !parts.uri.path().starts_with("/api/")
        && accepts.is_some_and(|accepts| accepts.contains("text/html"))
}

async fn render_error_page(state: &AppState, parts: &Parts, response: Response) -> Response {
    let status = response.status();
    let error = response
        .extensions()
        .get::<ResponseErrorBody>()
        .cloned()
        .unwrap_or_else(|| ResponseError::from_status(status).error_body());
    let mut visit = PageVisitor::load(state, parts).await.unwrap_or_default();
    // Hidden and missing pages must look the same, so the page does not repeat the path.
    visit.layout.here = String::new();
    let title = match status {
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::FORBIDDEN => "Forbidden",
        StatusCode::UNAUTHORIZED => "Login required",
        status if status.is_server_error() => "Server error",
        _ => "Request failed",
    };
    let (message, help) = (&error.0.message, error.0.help.as_deref());
    let problem = ErrorPage { frame: &visit.layout, status: status.as_u16(), title, message, help };
    let Ok(html) = problem.render() else { return response };
    let mut page = copy_headers(&response, (status, Html(html)).into_response());
    // For the request log and the metrics.
    if let Some(cause) = response.extensions().get::<InternalCause>() {
        page.extensions_mut().insert(cause.clone());
    }
    page.extensions_mut().insert(error.clone());
    set_page_headers(&mut page);
    page.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    page
}
