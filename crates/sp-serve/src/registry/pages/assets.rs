//! The stylesheet, the script and the icon. Their names contain a digest, so browsers may cache
//! them forever.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use sp_tree::Digest;

use crate::registry::error::ResponseError;

pub(super) struct StaticAsset {
    /// The URL path.
    pub path: String,
    content_type: &'static str,
    text: &'static str,
}

impl StaticAsset {
    fn new((stem, ending): (&str, &str), content_type: &'static str, text: &'static str) -> Self {
        let digest = Digest::of(text.as_bytes()).hex();
        Self { path: format!("/-/static/{stem}.{}.{ending}", &digest[..16]), content_type, text }
    }
}

pub(super) static STYLE: LazyLock<StaticAsset> = LazyLock::new(|| {
    StaticAsset::new(("site", "css"), "text/css; charset=utf-8", include_str!("site.css"))
});
pub(super) static SCRIPT: LazyLock<StaticAsset> = LazyLock::new(|| {
    StaticAsset::new(("site", "js"), "text/javascript; charset=utf-8", include_str!("site.js"))
});
pub(super) static ICON: LazyLock<StaticAsset> =
    LazyLock::new(|| StaticAsset::new(("icon", "svg"), "image/svg+xml", include_str!("icon.svg")));

pub(super) async fn serve_asset(Path(file): Path<String>) -> Result<Response, ResponseError> {
    let known = [&*STYLE, &*SCRIPT, &*ICON]
        .into_iter()
        .find(|asset| asset.path.ends_with(&format!("/{file}")));
    let asset = known.ok_or_else(ResponseError::not_found)?;
    let response_headers = [
        (header::CONTENT_TYPE, asset.content_type),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    Ok((response_headers, asset.text).into_response())
}
