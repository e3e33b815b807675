//! The first page, what is found, and what is in a namespace: lists of packages.

use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State as Shared};
use sp_formats::registry::IndexItem;

use super::visit::{Frame, Visit};
use super::{Answer, page, show};
use crate::registry::refusal::Refusal;
use crate::registry::state::State;

/// So many are on the first page, and so many are found.
const FIRST: usize = 6;
const FOUND: usize = 50;
const LONGEST_QUERY: usize = 200;

/// A package in a list.
struct Line {
    item: IndexItem,
    downloads: String,
}

impl Line {
    fn of(item: IndexItem) -> Self {
        Self { downloads: show::counted(item.downloads, "download", "downloads"), item }
    }
}

#[derive(Template)]
#[template(path = "home.html")]
struct Home<'a> {
    frame: &'a Frame,
    newest: Vec<Line>,
    most_downloaded: Vec<Line>,
    packages: u64,
    counted: String,
}

pub(super) async fn home(Shared(state): Shared<State>, visit: Visit) -> Answer {
    let reader = visit.reader();
    let front = state.metadata.with(move |database| database.front(FIRST, &reader)).await?;
    let lines = |items: Vec<IndexItem>| items.into_iter().map(Line::of).collect();
    page(&Home {
        frame: &visit.frame,
        counted: show::counted(front.packages, "package", "packages"),
        packages: front.packages,
        newest: lines(front.newest),
        most_downloaded: lines(front.most_downloaded),
    })
}

#[derive(serde::Deserialize)]
pub(super) struct Sought {
    #[serde(default)]
    q: String,
}

#[derive(Template)]
#[template(path = "search.html")]
struct Search<'a> {
    frame: &'a Frame,
    found: Vec<Line>,
    most: usize,
}

pub(super) async fn search(
    Shared(state): Shared<State>,
    sought: Result<Query<Sought>, QueryRejection>,
    mut visit: Visit,
) -> Answer {
    let Query(Sought { q }) = sought.map_err(|_| Refusal::invalid("these words cannot be read"))?;
    if q.len() > LONGEST_QUERY {
        return Err(Refusal::invalid(format!("a query has {LONGEST_QUERY} bytes at the most")).help("use fewer words"));
    }
    let (reader, text) = (visit.reader(), q.clone());
    let found = state.metadata.with(move |database| database.search(&text, FOUND, &reader)).await?;
    visit.frame.query = q;
    page(&Search { frame: &visit.frame, found: found.into_iter().map(Line::of).collect(), most: FOUND })
}

#[derive(Template)]
#[template(path = "namespace.html")]
struct Namespace<'a> {
    frame: &'a Frame,
    namespace: &'a str,
    packages: Vec<Line>,
    counted: String,
}

/// A namespace of which one may see nothing is as one that never was.
pub(super) async fn namespace(Shared(state): Shared<State>, Path(namespace): Path<String>, visit: Visit) -> Answer {
    let (reader, wanted) = (visit.reader(), namespace.clone());
    let found = state.metadata.with(move |database| database.namespace(&wanted, &reader)).await?;
    if found.is_empty() {
        return Err(Refusal::not_found());
    }
    page(&Namespace {
        frame: &visit.frame,
        namespace: &namespace,
        counted: show::counted(found.len() as u64, "package", "packages"),
        packages: found.into_iter().map(Line::of).collect(),
    })
}
