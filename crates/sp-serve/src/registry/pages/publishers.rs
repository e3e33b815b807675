//! The trusted publishers of a namespace: members who may publish see and change them.

use std::collections::BTreeMap;

use askama::Template;
use axum::Form;
use axum::extract::rejection::FormRejection;
use axum::extract::{Path, State as Shared};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect};
use sp_formats::registry::RegistryPackageName;
use sp_formats::trusted_publisher::TrustedPublisher;

use super::forms::check_form_token;
use super::visitor::{PageLayout, PageVisitor};
use super::{PageResult, display, render_page};
use crate::registry::error::{ApiResult, ResponseError};
use crate::registry::metadata::{TokenOwner, TokenScope};
use crate::registry::oidc::{GITHUB, GITLAB, PublisherRequest, add_publisher, remove_publisher};
use crate::registry::state::AppState;

#[derive(Template)]
#[template(path = "publishers.html")]
struct PublishersPage<'a> {
    frame: &'a PageLayout,
    namespace: &'a str,
    publishers: Vec<PublisherView>,
    kinds: &'static [PublisherKind],
    /// Why no publisher was added.
    wrong: Option<String>,
}

struct PublisherView {
    /// Without its namespace.
    name: String,
    day: String,
    item: TrustedPublisher,
}

/// A form for the publishers of an issuer.
struct PublisherKind {
    id: &'static str,
    title: &'static str,
    fields: &'static [ClaimField],
}

/// A field for a claim.
struct ClaimField {
    name: &'static str,
    label: &'static str,
    placeholder: &'static str,
    is_required: bool,
}

const fn field(name: &'static str, label: &'static str, placeholder: &'static str) -> ClaimField {
    ClaimField { name, label, placeholder, is_required: true }
}

const OTHER: &str = "other";

const KINDS: &[PublisherKind] = &[
    PublisherKind {
        id: "github",
        title: "Add a GitHub Actions workflow",
        fields: &[
            field("repository", "Repository", "owner/name"),
            field("repository_owner_id", "ID of the owner", "12345"),
            field("workflow_ref", "Workflow", "release.yml"),
            ClaimField { is_required: false, ..field("environment", "Environment", "any") },
        ],
    },
    PublisherKind {
        id: "gitlab",
        title: "Add a GitLab pipeline",
        fields: &[
            field("project_path", "Project", "group/name"),
            field("namespace_id", "ID of the group", "12345"),
            field("ci_config_ref_uri", "Configuration", ".gitlab-ci.yml"),
            ClaimField { is_required: false, ..field("environment", "Environment", "any") },
        ],
    },
    PublisherKind {
        id: OTHER,
        title: "Add a job of another issuer",
        fields: &[
            field("issuer", "Issuer", "https://issuer.example"),
            field("sub", "Subject", "the claim sub"),
        ],
    },
];

pub(super) async fn list(
    Shared(state): Shared<AppState>,
    Path(namespace): Path<String>,
    visit: PageVisitor,
) -> PageResult {
    render_publishers(&state, &namespace, &visit, None).await
}

async fn render_publishers(
    state: &AppState,
    namespace: &str,
    visit: &PageVisitor,
    wrong: Option<String>,
) -> PageResult {
    let (who, name) = (manager(visit)?, namespace.to_owned());
    let at = state.environment.timestamp();
    let found =
        state.metadata.with(move |database| database.namespace_publishers(&name, &who, &at));
    let publishers = found.await?.ok_or_else(ResponseError::not_found)?;
    let view = |item: TrustedPublisher| PublisherView {
        name: item.package.rsplit_once('/').map_or("", |(_, name)| name).to_owned(),
        day: display::date(&item.created_at).to_owned(),
        item,
    };
    render_page(&PublishersPage {
        frame: &visit.layout,
        namespace,
        publishers: publishers.into_iter().map(view).collect(),
        kinds: KINDS,
        wrong,
    })
}

/// Returns the visitor, if their token may publish.
fn manager(visit: &PageVisitor) -> ApiResult<TokenOwner> {
    let who = visit.bearer.clone().filter(|bearer| bearer.scope != TokenScope::Read);
    who.ok_or_else(ResponseError::not_found)
}

#[derive(serde::Deserialize)]
pub(super) struct PublisherForm {
    #[serde(default)]
    form_token: String,
    kind: String,
    package: String,
    /// The fields of the kind.
    #[serde(flatten)]
    fields: BTreeMap<String, String>,
}

impl PublisherForm {
    fn to_request(&self) -> ApiResult<PublisherRequest> {
        let kind = KINDS.iter().find(|kind| kind.id == self.kind);
        let kind = kind.ok_or_else(|| ResponseError::invalid("invalid kind of publisher"))?;
        let value = |name: &str| self.fields.get(name).map_or("", |text| text.trim()).to_owned();
        let issuer = match kind.id {
            "github" => GITHUB.to_owned(),
            "gitlab" => GITLAB.to_owned(),
            _ => value("issuer"),
        };
        let names = kind.fields.iter().map(|field| field.name).filter(|name| *name != "issuer");
        let claims = names.map(|name| (name.to_owned(), value(name)));
        let claims = claims.filter(|(_, value)| !value.is_empty()).collect();
        Ok(PublisherRequest { issuer, audience: None, claims })
    }
}

pub(super) async fn add(
    Shared(state): Shared<AppState>,
    Path(namespace): Path<String>,
    visit: PageVisitor,
    headers: HeaderMap,
    form: Result<Form<PublisherForm>, FormRejection>,
) -> PageResult {
    let Form(form) = form.map_err(|_| ResponseError::invalid_form())?;
    check_form_token(&visit, &headers, &form.form_token)?;
    let who = manager(&visit)?;
    let added = match package(&namespace, &form.package) {
        Ok(package) => match form.to_request() {
            Ok(request) => {
                let new = (package, request);
                add_publisher(&state.oidc, &state.metadata, who, new).await.map(drop)
            }
            Err(refusal) => Err(refusal),
        },
        Err(refusal) => Err(refusal),
    };
    match added {
        Ok(()) => Ok(Redirect::to(&page_path(&namespace)).into_response()),
        Err(refusal) => {
            let message = refusal.error_body().0.message;
            render_publishers(&state, &namespace, &visit, Some(message)).await
        }
    }
}

#[derive(serde::Deserialize)]
pub(super) struct RemovePublisherForm {
    #[serde(default)]
    form_token: String,
    package: String,
    id: i64,
}

pub(super) async fn remove(
    Shared(state): Shared<AppState>,
    Path(namespace): Path<String>,
    visit: PageVisitor,
    headers: HeaderMap,
    form: Result<Form<RemovePublisherForm>, FormRejection>,
) -> PageResult {
    let Form(form) = form.map_err(|_| ResponseError::invalid_form())?;
    check_form_token(&visit, &headers, &form.form_token)?;
    let who = manager(&visit)?;
    let package = package(&namespace, &form.package)?;
    remove_publisher(&state.metadata, who, package, form.id).await?;
    Ok(Redirect::to(&page_path(&namespace)).into_response())
}

fn package(namespace: &str, name: &str) -> ApiResult<RegistryPackageName> {
    let prefix = format!("@{namespace}/");
    let name = name.trim();
    RegistryPackageName::new(namespace, name.strip_prefix(&prefix).unwrap_or(name))
        .map_err(|why| ResponseError::invalid(why.to_string()))
}

/// The path of the page. Only valid namespaces get here.
fn page_path(namespace: &str) -> String {
    format!("/namespaces/{namespace}/publishers")
}
