//! `sp publisher`: which CI jobs may publish a package.

use std::collections::BTreeMap;

use serde_json::json;
use sp_formats::output::RegistryPublisherReport;
use sp_formats::package::PackageName;
use sp_formats::registry::RegistryPackageName;
use sp_formats::trusted_publisher::{TrustedPublisher, TrustedPublishers};

use super::package_path::{package_path, registry_name};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::registry::{RegistryClient, RegistryRequest, connect};
use crate::session::Session;

/// The arguments of `sp publisher`.
#[derive(Debug, Clone)]
pub struct PublisherChangeRequest {
    /// The package: `@team/notes`.
    pub package: String,
    pub action: PublisherAction,
    /// The URL of the registry. The default is that of the config or of the last login.
    pub registry: Option<String>,
}

/// What is done with the trusted publishers of a package.
#[derive(Debug, Clone)]
pub enum PublisherAction {
    List,
    Add(TrustedIdentity),
    Remove(i64),
    /// Whether only trusted publishers may publish the package.
    Require(bool),
}

/// The CI jobs of an issuer with certain claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedIdentity {
    pub issuer: String,
    /// The default is the one of the registry.
    pub audience: Option<String>,
    pub claims: BTreeMap<String, String>,
}

/// Lists or changes the trusted publishers of a package.
pub fn change_publishers(
    context: &Context<'_>,
    request: &PublisherChangeRequest,
) -> Result<RegistryPublisherReport> {
    let session = Session::begin(context)?;
    let client = connect(&session, request.registry.as_deref())?;
    let name = PackageName::new(&request.package).map_err(|why| {
        Error::new(ErrorCode::InvalidArguments, format!("invalid package `{}`", request.package))
            .because(why)
            .hint("use the form `@team/notes`")
    })?;
    let name = registry_name(&name)?;
    let path = format!("{}/publishers", package_path(&name));
    let mut added = None;
    match &request.action {
        PublisherAction::List => {}
        PublisherAction::Add(identity) => {
            let body = json!({
                "issuer": identity.issuer,
                "audience": identity.audience,
                "claims": identity.claims,
            });
            let body = body.to_string().into_bytes();
            let response = client.execute(&RegistryRequest::post(&path).with_body(&body))?;
            added = Some(response.json::<TrustedPublisher>()?.id);
        }
        PublisherAction::Remove(id) => {
            client.execute(&RegistryRequest::delete(&format!("{path}/{id}")))?;
        }
        PublisherAction::Require(is_required) => require(&client, &name, *is_required)?,
    }
    let listed: TrustedPublishers = client.execute(&RegistryRequest::get(&path))?.json()?;
    Ok(RegistryPublisherReport {
        registry: client.address().to_owned(),
        package: name.to_string(),
        added,
        trusted_only: listed.trusted_only,
        publishers: listed.publishers,
    })
}

fn require(
    client: &RegistryClient<'_>,
    name: &RegistryPackageName,
    is_required: bool,
) -> Result<()> {
    let path = format!("{}/trusted-only", package_path(name));
    let request = match is_required {
        true => RegistryRequest::put(&path, b""),
        false => RegistryRequest::delete(&path),
    };
    client.execute(&request).map(drop)
}
