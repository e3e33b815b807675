//! Serves context packs by signed URL, with the signature in the path or in the query.
//!
//! An invalid signature and a missing pack get the same response.

use axum::extract::State as Shared;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use axum::response::{IntoResponse, Response};
use sp_formats::context_pack::{MANIFEST_FILE, UrlSignature, is_pack_id};
use sp_formats::percent;
use sp_tree::Digest;

use crate::registry::error::{ApiResult, ResponseError};
use crate::registry::http_content::{HttpContent, HttpContentBytes};
use crate::registry::metadata::{StoredContextPack, StoredContextPackFile};
use crate::registry::object_store::ObjectStore;
use crate::registry::pages::{OpenedContextPack, render_context_pack};
use crate::registry::state::AppState;

/// Used when there is no key, so that the response takes as long as with one.
const DUMMY_KEY: [u8; 32] = [0; 32];

/// Responses are not cached by proxies, and the URL is not sent as a referrer.
const RESPONSE_HEADERS: [(HeaderName, HeaderValue); 2] = [
    (header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
];

pub(super) async fn serve(
    Shared(state): Shared<AppState>,
    address: Uri,
    method: Method,
    headers: HeaderMap,
) -> Response {
    let answer = open_pack(&state, &address, &method, &headers).await;
    let mut response = answer.unwrap_or_else(IntoResponse::into_response);
    for (name, value) in RESPONSE_HEADERS {
        response.headers_mut().insert(name, value);
    }
    response
}

async fn open_pack(
    state: &AppState,
    address: &Uri,
    method: &Method,
    headers: &HeaderMap,
) -> ApiResult<Response> {
    let parsed = SignedContextPackRequest::parse(address.path(), address.query());
    let SignedContextPackRequest { id, file, signature: opening } =
        parsed.ok_or_else(ResponseError::invalid_signed_url)?;
    let (pack, kid) = (id.clone(), opening.kid().to_owned());
    let found =
        state.metadata.with(move |database| database.pack_with_signing_secret(&pack, &kid)).await?;
    let key = found.as_ref().map_or(&DUMMY_KEY[..], |(key, _)| key.as_slice());
    let opens = opening.is_valid_for(key, &id, state.environment.unix_seconds());
    let (_, pack) = found.filter(|_| opens).ok_or_else(ResponseError::invalid_signed_url)?;
    if file == SignedContextPackFile::Named(String::new()) {
        return folder_page(state, (&id, &pack), address, headers).await;
    }
    let served = file_content(&state.objects, &pack, &file).ok_or_else(ResponseError::not_found)?;
    served.respond(method, headers).await
}

/// Renders the page of a pack.
async fn folder_page(
    state: &AppState,
    (id, pack): (&str, &StoredContextPack),
    address: &Uri,
    headers: &HeaderMap,
) -> ApiResult<Response> {
    let files: Vec<StoredContextPackFile> =
        serde_json::from_str(&pack.files).map_err(|_| ResponseError::not_found())?;
    let manifest = read_text(state, files.iter().find(|file| file.path == MANIFEST_FILE)).await?;
    let opened = OpenedContextPack {
        id,
        path: address.path(),
        query: address.query(),
        manifest: serde_json::from_str(&manifest).map_err(|_| ResponseError::not_found())?,
        bytes: pack.bytes,
        text: read_text(state, OpenedContextPack::preview_file(&files)).await?,
        files,
    };
    render_context_pack(&opened, headers)
}

/// Reads a file of a pack; empty if there is no such file.
async fn read_text(state: &AppState, file: Option<&StoredContextPackFile>) -> ApiResult<String> {
    let Some(digest) = file.and_then(|file| sp_tree::from_hex(&file.sha256)) else {
        return Ok(String::new());
    };
    let (objects, digest) = (state.objects.clone(), Digest::from_bytes(digest));
    let read = tokio::task::spawn_blocking(move || objects.get_and_cache(&digest)).await;
    let bytes =
        read.map_err(|_| ResponseError::not_found())??.ok_or_else(ResponseError::not_found)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SignedContextPackFile {
    Zip,
    /// A name from the manifest; empty for the page.
    Named(String),
}

struct SignedContextPackRequest {
    id: String,
    file: SignedContextPackFile,
    signature: UrlSignature,
}

impl SignedContextPackRequest {
    /// Parses a URL. The signature is in the path or in the query, never in both.
    fn parse(path: &str, query: Option<&str>) -> Option<Self> {
        let (opening, rest) = match path.strip_prefix("/s/") {
            Some(rest) if query.is_none() => {
                let (segment, rest) = rest.split_once('/')?;
                (UrlSignature::from_path_segment(segment)?, rest.strip_prefix("packs/")?)
            }
            Some(_) => return None,
            None => (UrlSignature::from_query(query?)?, path.strip_prefix("/packs/")?),
        };
        let (id, file) = match rest.split_once('/') {
            // The name is only looked up in a list, never used as a path.
            Some((id, name)) => (id, SignedContextPackFile::Named(percent::decode(name)?)),
            None => (rest.strip_suffix(".zip")?, SignedContextPackFile::Zip),
        };
        is_pack_id(id).then(|| Self { id: id.into(), file, signature: opening })
    }
}

/// Finds a file that the manifest lists, or the zip.
fn file_content(
    objects: &ObjectStore,
    pack: &StoredContextPack,
    file: &SignedContextPackFile,
) -> Option<HttpContent> {
    let (digest, length, content_type) = match file {
        SignedContextPackFile::Zip => (pack.digest, pack.bytes, "application/zip"),
        SignedContextPackFile::Named(name) => {
            let files: Vec<StoredContextPackFile> = serde_json::from_str(&pack.files).ok()?;
            let file = files.into_iter().find(|file| file.path == *name)?;
            (Digest::from_bytes(sp_tree::from_hex(&file.sha256)?), file.bytes, content_type(name))
        }
    };
    Some(HttpContent {
        digest,
        length,
        content_type,
        last_modified: Some(pack.pushed_at.clone()),
        bytes: HttpContentBytes::Stored(objects.clone()),
    })
}

fn content_type(name: &str) -> &'static str {
    match name {
        MANIFEST_FILE => "application/json",
        _ if name.ends_with(".md") => "text/markdown; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "pk_01KPZXWZQR5NRHCGNQ4TR480B2";
    const SIG: &str = "x-uP5I9EOWDl_AGLTdvo_XGURAvSCv24yJAadhCapmM";

    #[test]
    fn cp_16_signed_urls_have_one_signature_one_pack_and_one_file() {
        let query = format!("exp=1777044123&kid=k1&sig={SIG}");
        let segment = format!("k1.1777044123.{SIG}");
        for (path, query, file) in [
            (format!("/packs/{ID}/pack.json"), Some(query.as_str()), "pack.json"),
            (format!("/s/{segment}/packs/{ID}/a/b.md"), None, "a/b.md"),
            (format!("/s/{segment}/packs/{ID}/100%25%20%C3%A9.md"), None, "100% é.md"),
            (format!("/s/{segment}/packs/{ID}/%2e%2e%2fx"), None, "../x"),
        ] {
            let parsed = SignedContextPackRequest::parse(&path, query).unwrap();
            assert_eq!(
                (parsed.id.as_str(), parsed.file),
                (ID, SignedContextPackFile::Named(file.into())),
                "{path}"
            );
        }
        assert_eq!(
            SignedContextPackRequest::parse(&format!("/packs/{ID}.zip"), Some(&query))
                .unwrap()
                .file,
            SignedContextPackFile::Zip
        );
        for (path, query) in [
            (format!("/packs/{ID}/pack.json"), None),
            (format!("/packs/{ID}/pack.json"), Some("")),
            (format!("/s/{segment}/packs/{ID}/pack.json"), Some(query.as_str())),
            (format!("/s/{segment}/packs/{ID}"), None),
            (format!("/s/{segment}/s/{segment}/packs/{ID}/pack.json"), None),
            (format!("/s/{segment}/packs/%70k_01KPZXWZQR5NRHCGNQ4TR480B2/pack.json"), None),
            (format!("/s/{segment}/packs/../pack.json"), None),
            (format!("/s/{segment}/packs/{ID}/%ff"), None),
            (format!("/s/{segment}/packs/{ID}/%+1"), None),
            (format!("/s/{segment}/packs/{ID}/%2"), None),
        ] {
            assert!(SignedContextPackRequest::parse(&path, query).is_none(), "{path} {query:?}");
        }
    }
}
