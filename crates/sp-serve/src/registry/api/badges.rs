//! Badges: the version or the downloads of a package, as SVG.
//!
//! They show what anonymous clients may see, even to authenticated ones, so proxies may cache them.

use axum::extract::{Path, State as Shared};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use sp_formats::registry::{PackageIndex, RegistryPackageName};
use sp_formats::text::escape_markup;

use crate::registry::error::{ApiResult, ResponseError};
use crate::registry::metadata::RegistryReader;
use crate::registry::state::AppState;

const BLUE: &str = "#2a53bf";
const GREY: &str = "#5c6470";

pub(super) async fn version_badge(
    shared: Shared<AppState>,
    Path((namespace, file)): Path<(String, String)>,
) -> ApiResult<Response> {
    let Some(name) = file.strip_suffix(".svg") else { return Err(ResponseError::not_found()) };
    badge(shared, (&namespace, name), |index| {
        let version = index.latest.map_or_else(|| "yanked".into(), |version| format!("v{version}"));
        (format!("@{}/{}", index.namespace, index.name), version)
    })
    .await
}

pub(super) async fn downloads_badge(
    shared: Shared<AppState>,
    Path((namespace, name)): Path<(String, String)>,
) -> ApiResult<Response> {
    badge(shared, (&namespace, &name), |index| {
        ("downloads".into(), compact_number(index.downloads))
    })
    .await
}

async fn badge(
    Shared(state): Shared<AppState>,
    (namespace, name): (&str, &str),
    label_and_value: impl Fn(PackageIndex) -> (String, String),
) -> ApiResult<Response> {
    let found = match RegistryPackageName::new(namespace, name) {
        Ok(package) => {
            state
                .metadata
                .with(move |database| database.versions(&package, &RegistryReader::Anonymous))
                .await?
        }
        Err(_) => None,
    };
    let (status, picture) = match found.map(label_and_value) {
        Some((label, value)) => (StatusCode::OK, render_svg(&label, &value, BLUE)),
        None => (StatusCode::NOT_FOUND, render_svg("package", "not found", GREY)),
    };
    let response_headers =
        [(header::CONTENT_TYPE, "image/svg+xml"), (header::CACHE_CONTROL, "public, max-age=300")];
    Ok((status, response_headers, picture).into_response())
}

fn render_svg(label: &str, value: &str, colour: &str) -> String {
    // No font metrics are available; most characters at this size are at most this wide.
    let width = |text: &str| text.chars().count() * 7 + 14;
    let (left, all) = (width(label), width(label) + width(value));
    let (label_at, value_at) = (left / 2, left + width(value) / 2);
    let (label, value) = (escape_markup(label), escape_markup(value));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all}\" height=\"20\" role=\"img\" aria-label=\"{label}: {value}\">\
         <title>{label}: {value}</title>\
         <clipPath id=\"r\"><rect width=\"{all}\" height=\"20\" rx=\"4\"/></clipPath>\
         <g clip-path=\"url(#r)\"><rect width=\"{left}\" height=\"20\" fill=\"#30363f\"/>\
         <rect x=\"{left}\" width=\"{}\" height=\"20\" fill=\"{colour}\"/></g>\
         <g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">\
         <text x=\"{label_at}\" y=\"14\">{label}</text><text x=\"{value_at}\" y=\"14\">{value}</text></g></svg>\n",
        all - left
    )
}

/// Formats a number compactly: `999`, `1.2k`, `3.4M`.
fn compact_number(number: u64) -> String {
    let tenths = |unit: u64, letter: char| {
        format!("{}.{}{letter}", number / unit, number % unit * 10 / unit)
    };
    match number {
        0..1000 => number.to_string(),
        1000..1_000_000 => tenths(1000, 'k'),
        _ => tenths(1_000_000, 'M'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn badges_escape_text_and_shorten_numbers() {
        let svg = render_svg("</text><script>", "\" onload=\"x", BLUE);
        assert!(!svg.contains("<script") && !svg.contains("\" onload"), "{svg}");
        assert_eq!(
            (compact_number(999), compact_number(1234), compact_number(5_600_000)),
            ("999".into(), "1.2k".into(), "5.6M".into())
        );
    }
}
