//! Context packs for whoever has a signed address, in both of its forms. Without one, everything is closed alike.

use axum::extract::State as Shared;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use axum::response::{IntoResponse, Response};
use sp_formats::context_pack::{MANIFEST, Opening, is_pack_id};
use sp_tree::Digest;

use crate::registry::metadata::{KeptFile, KeptPack};
use crate::registry::pages::{Opened, context_pack};
use crate::registry::refusal::Refusal;
use crate::registry::served::{Held, Served};
use crate::registry::state::State;

/// What is held against a signature where there is no key: it takes as long as if there were one.
const NO_KEY: [u8; 32] = [0; 32];

/// Every answer stays with whoever asked, and the address is told to nobody.
const HEADERS: [(HeaderName, HeaderValue); 2] = [
    (header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
];

pub(super) async fn serve(Shared(state): Shared<State>, address: Uri, method: Method, headers: HeaderMap) -> Response {
    let answer = open(&state, &address, (&method, &headers)).await;
    let mut response = answer.unwrap_or_else(IntoResponse::into_response);
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, value);
    }
    response
}

async fn open(state: &State, address: &Uri, request: (&Method, &HeaderMap)) -> Result<Response, Refusal> {
    let wanted = Wanted::read(address.path(), address.query());
    let Wanted { id, file, opening } = wanted.ok_or_else(Refusal::closed)?;
    let (pack, kid) = (id.clone(), opening.kid().to_owned());
    let found = state.metadata.with(move |database| database.opened(&pack, &kid)).await?;
    let key = found.as_ref().map_or(&NO_KEY[..], |(key, _)| key.as_slice());
    let opens = opening.opens(key, &id, state.seconds());
    let (_, pack) = found.filter(|_| opens).ok_or_else(Refusal::closed)?;
    if file == File::Named(String::new()) {
        return folder(state, (&id, &pack), address, request.1).await;
    }
    let served = served(&pack, &file).ok_or_else(Refusal::not_found)?;
    served.answer(state, request).await
}

/// The folder of a pack: a page for people.
async fn folder(
    state: &State,
    (id, pack): (&str, &KeptPack),
    address: &Uri,
    headers: &HeaderMap,
) -> Result<Response, Refusal> {
    let files: Vec<KeptFile> = serde_json::from_str(&pack.files).map_err(|_| Refusal::not_found())?;
    let manifest = text(state, files.iter().find(|file| file.path == MANIFEST)).await?;
    let opened = Opened {
        id,
        path: address.path(),
        query: address.query(),
        manifest: serde_json::from_str(&manifest).map_err(|_| Refusal::not_found())?,
        bytes: pack.bytes,
        text: text(state, Opened::shown(&files)).await?,
        files,
    };
    context_pack(&opened, headers)
}

/// The text of a file of a pack; empty if there is no such file.
async fn text(state: &State, file: Option<&KeptFile>) -> Result<String, Refusal> {
    let Some(digest) = file.and_then(|file| sp_tree::from_hex(&file.sha256)) else { return Ok(String::new()) };
    let (objects, digest) = (state.objects.clone(), Digest::from_bytes(digest));
    let read = tokio::task::spawn_blocking(move || objects.fetch(&digest)).await;
    let bytes = read.map_err(|_| Refusal::not_found())??.ok_or_else(Refusal::not_found)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum File {
    Zip,
    /// A name, as the manifest would list it.
    Named(String),
}

struct Wanted {
    id: String,
    file: File,
    opening: Opening,
}

impl Wanted {
    /// Reads an address. A signature stands in the path or in the query, and never in both.
    fn read(path: &str, query: Option<&str>) -> Option<Self> {
        let (opening, rest) = match path.strip_prefix("/s/") {
            Some(rest) if query.is_none() => {
                let (segment, rest) = rest.split_once('/')?;
                (Opening::of_segment(segment)?, rest.strip_prefix("packs/")?)
            }
            Some(_) => return None,
            None => (Opening::of_query(query?)?, path.strip_prefix("/packs/")?),
        };
        let (id, file) = match rest.split_once('/') {
            Some((id, name)) => (id, File::Named(decoded(name)?)),
            None => (rest.strip_suffix(".zip")?, File::Zip),
        };
        is_pack_id(id).then(|| Self { id: id.into(), file, opening })
    }
}

/// A name with what is written as `%XX` read; none if that is no text. It is only ever looked up in a list.
fn decoded(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let hex = after.get(..2).filter(|hex| hex.iter().all(u8::is_ascii_hexdigit))?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).ok()
}

/// A file that the manifest lists, or the zip.
fn served(pack: &KeptPack, file: &File) -> Option<Served> {
    let (digest, length, content_type) = match file {
        File::Zip => (pack.digest, pack.bytes, "application/zip"),
        File::Named(name) => {
            let files: Vec<KeptFile> = serde_json::from_str(&pack.files).ok()?;
            let file = files.into_iter().find(|file| file.path == *name)?;
            (Digest::from_bytes(sp_tree::from_hex(&file.sha256)?), file.bytes, content_type(name))
        }
    };
    Some(Served { digest, length, content_type, modified: Some(pack.pushed_at.clone()), bytes: Held::Objects })
}

fn content_type(name: &str) -> &'static str {
    match name {
        MANIFEST => "application/json",
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
    fn cp_16_an_address_has_one_signature_one_pack_and_one_name() {
        let query = format!("exp=1777044123&kid=k1&sig={SIG}");
        let segment = format!("k1.1777044123.{SIG}");
        for (path, query, file) in [
            (format!("/packs/{ID}/pack.json"), Some(query.as_str()), "pack.json"),
            (format!("/s/{segment}/packs/{ID}/a/b.md"), None, "a/b.md"),
            (format!("/s/{segment}/packs/{ID}/100%25%20%C3%A9.md"), None, "100% é.md"),
            (format!("/s/{segment}/packs/{ID}/%2e%2e%2fx"), None, "../x"),
        ] {
            let wanted = Wanted::read(&path, query).unwrap();
            assert_eq!((wanted.id.as_str(), wanted.file), (ID, File::Named(file.into())), "{path}");
        }
        assert_eq!(Wanted::read(&format!("/packs/{ID}.zip"), Some(&query)).unwrap().file, File::Zip);
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
            assert!(Wanted::read(&path, query).is_none(), "{path} {query:?}");
        }
    }
}
