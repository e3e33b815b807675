//! The members of a namespace, on its page: members see them, owners change them.

use axum::Form;
use axum::extract::rejection::FormRejection;
use axum::extract::{Path, State as Shared};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect};

use super::PageResult;
use super::forms::check_form_token;
use super::visitor::PageVisitor;
use crate::registry::error::{ApiResult, ResponseError};
use crate::registry::metadata::{
    NamespaceChange, NamespaceMember, NamespaceOutcome, NamespaceRole, TokenScope,
};
use crate::registry::state::AppState;
use crate::registry::tokens::is_valid_username;

/// The members, if the visitor may see them.
#[derive(Default)]
pub(super) struct MemberList {
    pub members: Vec<NamespaceMember>,
    /// Whether the visitor may change them.
    pub is_owner: bool,
    /// Whether the visitor may publish, and change trusted publishers.
    pub may_publish: bool,
}

impl MemberList {
    pub(super) async fn load(
        state: &AppState,
        namespace: &str,
        visit: &PageVisitor,
    ) -> ApiResult<Self> {
        let Some(who) = visit.bearer.clone() else { return Ok(Self::default()) };
        let (name, reader) = (namespace.to_owned(), who.clone());
        let members = state.metadata.with(move |database| database.members(&name, &reader)).await?;
        let members = members.unwrap_or_default();
        let own = members.iter().find(|member| member.user == who.user);
        let role = match who.scope {
            TokenScope::Admin => Some(NamespaceRole::Owner),
            TokenScope::Publish => own.map(|member| member.role),
            TokenScope::Read | TokenScope::Trusted => None,
        };
        let is_owner = role == Some(NamespaceRole::Owner);
        let may_publish = role >= Some(NamespaceRole::Publisher);
        Ok(Self { members, is_owner, may_publish })
    }
}

#[derive(serde::Deserialize)]
pub(super) struct MemberForm {
    #[serde(default)]
    form_token: String,
    user: String,
    /// A role, or empty to remove the member.
    #[serde(default)]
    role: String,
}

pub(super) async fn change(
    Shared(state): Shared<AppState>,
    Path(namespace): Path<String>,
    visit: PageVisitor,
    headers: HeaderMap,
    form: Result<Form<MemberForm>, FormRejection>,
) -> PageResult {
    let Form(form) = form.map_err(|_| ResponseError::invalid_form())?;
    check_form_token(&visit, &headers, &form.form_token)?;
    let who = visit.bearer.filter(|bearer| bearer.scope != TokenScope::Read);
    let who = who.ok_or_else(ResponseError::not_found)?;
    let user = form.user.trim().to_owned();
    if !is_valid_username(&user) {
        return Err(ResponseError::invalid("invalid user name"));
    }
    let change = match form.role.as_str() {
        "" => NamespaceChange::RemoveMember(user),
        role => {
            let role = NamespaceRole::parse(role);
            let role = role.ok_or_else(|| ResponseError::invalid("invalid role"))?;
            NamespaceChange::SetRole(user, role)
        }
    };
    let (name, at) = (namespace.clone(), state.environment.timestamp());
    let outcome = state
        .metadata
        .with(move |database| database.change_namespace(&name, &change, &who, &at))
        .await?;
    match outcome {
        NamespaceOutcome::Done => {
            // Only existing namespaces are changed, so the name is valid in a URL.
            Ok(Redirect::to(&format!("/namespaces/{namespace}")).into_response())
        }
        NamespaceOutcome::LastOwner => Err(ResponseError::last_owner()),
        NamespaceOutcome::Forbidden => Err(ResponseError::not_owner()),
        NamespaceOutcome::NotFound | NamespaceOutcome::MarkedPrivate => {
            Err(ResponseError::not_found())
        }
    }
}
