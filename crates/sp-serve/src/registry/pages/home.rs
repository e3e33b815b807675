//! Lists of packages: the home page, search results, namespaces.

use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State as Shared};
use sp_formats::registry::RegistryIndexItem;
use sp_formats::text::pluralize;

use super::members::MemberList;
use super::visitor::{PageLayout, PageVisitor};
use super::{PageResult, render_page};
use crate::registry::error::ResponseError;
use crate::registry::state::AppState;

const HOME_LIST_LEN: usize = 6;
const MAX_RESULTS: usize = 50;
const MAX_QUERY_BYTES: usize = 200;

struct PackageListView {
    item: RegistryIndexItem,
    downloads: String,
}

impl PackageListView {
    fn new(item: RegistryIndexItem) -> Self {
        Self { downloads: pluralize(item.downloads, "download"), item }
    }
}

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage<'a> {
    frame: &'a PageLayout,
    newest: Vec<PackageListView>,
    most_downloaded: Vec<PackageListView>,
    packages: u64,
    counted: String,
}

pub(super) async fn home(Shared(state): Shared<AppState>, visit: PageVisitor) -> PageResult {
    let reader = visit.reader();
    let front = state
        .metadata
        .with(move |database| database.home_page_data(HOME_LIST_LEN, &reader))
        .await?;
    let lines =
        |items: Vec<RegistryIndexItem>| items.into_iter().map(PackageListView::new).collect();
    render_page(&HomePage {
        frame: &visit.layout,
        counted: pluralize(front.packages, "package"),
        packages: front.packages,
        newest: lines(front.newest),
        most_downloaded: lines(front.most_downloaded),
    })
}

#[derive(serde::Deserialize)]
pub(super) struct SearchPageParams {
    #[serde(default)]
    q: String,
}

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage<'a> {
    frame: &'a PageLayout,
    found: Vec<PackageListView>,
    most: usize,
}

pub(super) async fn search(
    Shared(state): Shared<AppState>,
    query: Result<Query<SearchPageParams>, QueryRejection>,
    mut visit: PageVisitor,
) -> PageResult {
    let Query(SearchPageParams { q }) =
        query.map_err(|_| ResponseError::invalid("invalid search query"))?;
    if q.len() > MAX_QUERY_BYTES {
        return Err(ResponseError::invalid(format!(
            "the query is longer than {MAX_QUERY_BYTES} bytes"
        ))
        .with_help("use fewer words"));
    }
    let (reader, text) = (visit.reader(), q.clone());
    let found =
        state.metadata.with(move |database| database.search(&text, MAX_RESULTS, &reader)).await?;
    visit.layout.query = q;
    render_page(&SearchPage {
        frame: &visit.layout,
        found: found.into_iter().map(PackageListView::new).collect(),
        most: MAX_RESULTS,
    })
}

#[derive(Template)]
#[template(path = "namespace.html")]
struct NamespacePage<'a> {
    frame: &'a PageLayout,
    namespace: &'a str,
    packages: Vec<PackageListView>,
    counted: String,
    members: MemberList,
}

/// A namespace without visible packages is not found.
pub(super) async fn namespace(
    Shared(state): Shared<AppState>,
    Path(namespace): Path<String>,
    visit: PageVisitor,
) -> PageResult {
    let (reader, requested) = (visit.reader(), namespace.clone());
    let found = state
        .metadata
        .with(move |database| database.namespace_packages(&requested, &reader))
        .await?;
    if found.is_empty() {
        return Err(ResponseError::not_found());
    }
    let members = MemberList::load(&state, &namespace, &visit).await?;
    render_page(&NamespacePage {
        frame: &visit.layout,
        members,
        namespace: &namespace,
        counted: pluralize(found.len(), "package"),
        packages: found.into_iter().map(PackageListView::new).collect(),
    })
}
