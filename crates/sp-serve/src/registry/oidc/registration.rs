//! Registers and deletes trusted publishers, for the API and the pages.

use sp_formats::registry::RegistryPackageName;
use sp_formats::trusted_publisher::TrustedPublisher;

use super::OidcService;
use super::publisher::PublisherRequest;
use crate::registry::error::{ApiResult, ResponseError};
use crate::registry::metadata::{
    MetadataStore, NamespaceOutcome, NewPublisher, PublisherOutcome, TokenOwner,
};

/// How long a publisher of a package that does not exist is kept: 30 days, in seconds.
const PENDING_SECS: u64 = 30 * 24 * 60 * 60;

pub(crate) async fn add_publisher(
    service: &OidcService,
    metadata: &MetadataStore,
    who: TokenOwner,
    (package, request): (RegistryPackageName, PublisherRequest),
) -> ApiResult<TrustedPublisher> {
    request.check(&service.issuers).map_err(ResponseError::invalid)?;
    let audience = request.audience.or_else(|| service.audience().map(str::to_owned));
    let audience = audience.ok_or_else(|| {
        ResponseError::invalid("`audience` is missing, and the registry has no default")
            .with_help("add it, or ask the administrator to set `--public-url`")
    })?;
    let new = NewPublisher {
        package,
        issuer: request.issuer,
        audience,
        claims: request.claims,
        pending_until: metadata.environment.timestamp_in(PENDING_SECS),
    };
    let at = metadata.environment.timestamp();
    match metadata.with(move |database| database.add_publisher(&new, &who, &at)).await? {
        PublisherOutcome::Added(publisher) => Ok(publisher),
        PublisherOutcome::Exists => Err(ResponseError::publisher_exists()),
        PublisherOutcome::TooMany => Err(ResponseError::too_many_publishers()),
        PublisherOutcome::NotFound => Err(ResponseError::not_found()),
        PublisherOutcome::Forbidden => Err(ResponseError::forbidden()),
    }
}

pub(crate) async fn remove_publisher(
    metadata: &MetadataStore,
    who: TokenOwner,
    package: RegistryPackageName,
    id: i64,
) -> ApiResult<()> {
    let at = metadata.environment.timestamp();
    let removed = metadata.with(move |database| database.remove_publisher(&package, id, &who, &at));
    match removed.await? {
        NamespaceOutcome::Done => Ok(()),
        _ => Err(ResponseError::not_found()),
    }
}
