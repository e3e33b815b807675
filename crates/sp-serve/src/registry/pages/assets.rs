//! The style, the script and the picture of the pages. Their names have a digest, so that they may be kept for ever.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use sp_tree::Digest;

use crate::registry::refusal::Refusal;

/// A file that is part of the program.
pub(super) struct Asset {
    /// Its address.
    pub address: String,
    media: &'static str,
    text: &'static str,
}

impl Asset {
    fn new((stem, ending): (&str, &str), media: &'static str, text: &'static str) -> Self {
        let digest = Digest::of(text.as_bytes()).hex();
        Self { address: format!("/-/static/{stem}.{}.{ending}", &digest[..16]), media, text }
    }
}

pub(super) static STYLE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new(("site", "css"), "text/css; charset=utf-8", include_str!("site.css")));
pub(super) static SCRIPT: LazyLock<Asset> =
    LazyLock::new(|| Asset::new(("site", "js"), "text/javascript; charset=utf-8", include_str!("site.js")));
pub(super) static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new(("icon", "svg"), "image/svg+xml", include_str!("icon.svg")));

pub(super) async fn asset(Path(file): Path<String>) -> Result<Response, Refusal> {
    let known = [&*STYLE, &*SCRIPT, &*ICON].into_iter().find(|asset| asset.address.ends_with(&format!("/{file}")));
    let asset = known.ok_or_else(Refusal::not_found)?;
    let told = [(header::CONTENT_TYPE, asset.media), (header::CACHE_CONTROL, "public, max-age=31536000, immutable")];
    Ok((told, asset.text).into_response())
}
