//! `sp publish`: uploads a package to a registry.

use std::sync::Arc;

use sp_formats::output::RegistryPublishReport;
use sp_formats::package::{Package, PackageVersion};
use sp_formats::registry::{PackageIndex, RegistryPackageName, TrustReport};
use sp_tree::Digest;

use super::package_path::{index_path, registry_name, version_path};
use super::trusted_client::with_trusted_client;
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::pkg::load_package::load_package;
use crate::pkg::package_gate::require_publishable;
use crate::pkg::package_spec::PackageSpec;
use crate::pkg::package_store::read_store_index;
use crate::registry::{PUBLISH_TIMEOUT, RegistryClient, RegistryRequest, connect_within};
use crate::session::Session;

/// The arguments of `sp publish`.
#[derive(Debug, Clone)]
pub struct PublishRequest {
    /// A file, or a package of the store.
    pub package: String,
    /// The URL of the registry. The default is that of the config or of the last login.
    pub registry: Option<String>,
    pub visibility: PublishVisibility,
    pub credentials: PublishCredentials,
}

/// What permits to publish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublishCredentials {
    /// A token from the environment or a login.
    StoredToken,
    /// The identity token of a CI job.
    IdentityToken,
}

/// Who can see a package that is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublishVisibility {
    /// As the package, its earlier versions and its namespace say.
    Default,
    /// Only members of its namespace.
    Private,
}

/// Verifies a package and uploads it. Publishing the same bytes twice succeeds.
pub fn publish(context: &Context<'_>, request: &PublishRequest) -> Result<RegistryPublishReport> {
    let session = Session::begin(context)?;
    let registry = request.registry.as_deref();
    let load = || -> Result<Arc<Package>> {
        let spec = PackageSpec::parse(&session, &request.package)?;
        Ok(load_package(&session, &read_store_index(context)?, &spec)?.package)
    };
    match request.credentials {
        PublishCredentials::StoredToken => {
            let client = connect_within(&session, registry, PUBLISH_TIMEOUT)?;
            let package = load()?;
            require_publishable(&session, client.address(), &package)?;
            upload(context, &client, &package, request.visibility)
        }
        PublishCredentials::IdentityToken => {
            let package = load()?;
            let upload = |client: &RegistryClient<'_>| {
                require_publishable(&session, client.address(), &package)?;
                upload(context, client, &package, request.visibility)
            };
            with_trusted_client(&session, registry, upload)
        }
    }
}

fn upload(
    context: &Context<'_>,
    client: &RegistryClient<'_>,
    package: &Package,
    visibility: PublishVisibility,
) -> Result<RegistryPublishReport> {
    let address = client.address().to_owned();
    let name = registry_name(&package.manifest.name)?;
    let version = &package.manifest.version;
    let path = match visibility {
        PublishVisibility::Default => version_path(&name, version),
        PublishVisibility::Private => {
            format!("{}?visibility=private", version_path(&name, version))
        }
    };
    let bytes = package.text().as_bytes();
    let hash = Digest::of(bytes).hex();
    let report = match client.execute(&RegistryRequest::put(&path, bytes)) {
        Ok(response) => Some(response.json::<TrustReport>()?),
        // The response of an earlier attempt may have been lost after the upload succeeded.
        Err(error) if has_version(client, &name, version, &hash) => {
            context.emit(Event::Detail(format!("already uploaded: {error}")));
            None
        }
        Err(error) => return Err(error),
    };
    if report.as_ref().is_some_and(|report| report.sha256 != hash) {
        return Err(other_bytes_error(&address, &hash));
    }
    Ok(RegistryPublishReport {
        registry: address,
        name: name.to_string(),
        version: version.as_str().into(),
        sha256: hash,
        published: report.is_some(),
        signer: package.signer.map(|signer| signer.key.to_string()),
        warnings: report.map_or(0, |report| report.findings.len()),
    })
}

fn other_bytes_error(address: &str, hash: &str) -> Error {
    Error::new(
        ErrorCode::DigestMismatch,
        format!("`{address}` reported a different digest for the uploaded package"),
    )
    .because(format!("the local digest is {hash}"))
    .hint("do not trust this registry")
}

/// Returns whether the registry has this version with this hash.
fn has_version(
    client: &RegistryClient<'_>,
    name: &RegistryPackageName,
    version: &PackageVersion,
    hash: &str,
) -> bool {
    let index = client
        .execute(&RegistryRequest::get(&index_path(name)))
        .and_then(|response| response.json::<PackageIndex>());
    index.is_ok_and(|index| {
        index.versions.iter().any(|item| item.version == version.as_str() && item.sha256 == hash)
    })
}
