//! `/.well-known/agent-skills/` and the older `/.well-known/skills/`: every skill of every public package.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State as Shared};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::Response;
use sp_tree::Digest;

use crate::registry::discovery::Made;
use crate::registry::metadata::Reader;
use crate::registry::refusal::Refusal;
use crate::registry::served::{Held, Served};
use crate::registry::skills::PublishedSkills;
use crate::registry::state::State;

type Answer<T> = Result<T, Refusal>;

/// Which index is asked for.
#[derive(Clone, Copy)]
enum Edition {
    New,
    Legacy,
}

pub(super) async fn serve(
    Shared(state): Shared<State>,
    Path(file): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Answer<Response> {
    answer(&state, (Edition::New, file), (&method, &headers)).await
}

pub(super) async fn serve_legacy(
    Shared(state): Shared<State>,
    Path(file): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Answer<Response> {
    answer(&state, (Edition::Legacy, file), (&method, &headers)).await
}

async fn answer(state: &State, asked: (Edition, String), request: (&Method, &HeaderMap)) -> Answer<Response> {
    let packages = state.metadata.with(|database| database.newest_skills(&Reader::Stranger)).await?;
    let shared = Arc::clone(state);
    let found = tokio::task::spawn_blocking(move || {
        let made = shared.discovery.made(&shared.skills, packages);
        find(&shared.skills, &made, asked)
    });
    let (content_type, bytes) = found.await.ok().flatten().ok_or_else(Refusal::not_found)?;
    let (digest, length) = (Digest::of(&bytes), bytes.len() as u64);
    let served = Served { digest, length, content_type, modified: None, bytes: Held::Here(bytes) };
    let mut response = served.answer(state, request).await?;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// What an address below the well-known one means. Names are looked up, and never joined to a path.
fn find(skills: &PublishedSkills, made: &Made, (edition, asked): (Edition, String)) -> Option<(&'static str, Bytes)> {
    match (asked.split_once('/'), edition) {
        (None, Edition::New) if asked == "index.json" => Some(("application/json", made.index.clone())),
        (None, Edition::Legacy) if asked == "index.json" => Some(("application/json", made.legacy.clone())),
        (None, _) => {
            let zip = made.archive(skills, asked.strip_suffix(".zip")?)?;
            Some(("application/zip", zip.into()))
        }
        (Some((name, file)), _) => {
            let bytes = made.file(skills, (name, file))?;
            let is_text = file.ends_with(".md");
            Some((if is_text { "text/markdown; charset=utf-8" } else { "application/octet-stream" }, bytes.into()))
        }
    }
}
