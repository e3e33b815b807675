//! Publish, yank and unyank versions.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Path, Query, State as Shared};
use axum::http::{HeaderMap, StatusCode};
use axum::{Extension, Json};
use hyper::body::Body as _;
use sp_engine::pkg::{YankAction, audit_package};
use sp_formats::package::{self, Package, PackageManifest, PackageReadResult};
use sp_formats::registry::{
    PackageVersionItem, RegistryDependencyItem, RegistryPackageName, TrustFinding, TrustReport,
    TrustStep,
};
use sp_formats::report::Severity;
use sp_tree::{Digest, FileError};

use super::packages::package_name;
use crate::registry::error::{ApiResult, ResponseError};
use crate::registry::metadata::{
    NewPackageVersion, PublishContext, PublishOutcome, PublishTarget, TokenOwner, VersionKey,
    YankOutcome,
};
use crate::registry::state::AppState;
use crate::registry::tokens::{require_admin, require_publisher, require_publisher_of};
use crate::request_gate::RequestTimer;

#[derive(Debug, serde::Deserialize)]
pub(super) struct PublishParams {
    visibility: Option<String>,
}

pub(super) async fn publish(
    Shared(state): Shared<AppState>,
    Path((namespace, name, version)): Path<(String, String, String)>,
    Query(params): Query<PublishParams>,
    (headers, Extension(timer)): (HeaderMap, Extension<RequestTimer>),
    body: Body,
) -> ApiResult<(StatusCode, Json<TrustReport>)> {
    // Refuse before reading the body, and again before storing anything.
    let package = RegistryPackageName::new(&namespace, &name)
        .map_err(|why| ResponseError::invalid(why.to_string()));
    let who = match &package {
        Ok(package) => require_publisher_of(&state.metadata, &headers, package).await?,
        Err(_) => require_publisher(&state.metadata, &headers).await?,
    };
    let package = package?;
    let target = VersionKey { package, version };
    let context = publish_context(&state, who);
    let max_bytes = state.limits.package_bytes;
    let limit = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    if let Err(refusal) = check_publish(&state, &target, 0, &context).await {
        discard(body, limit).await;
        return Err(refusal);
    }
    let bytes = to_bytes(body, limit).await.map_err(|_| ResponseError::too_large(max_bytes))?;
    let (shared, key) = (state.clone(), target.clone());
    // Its duration depends on the package, whose size is limited.
    let uncounted = timer.begin_uncounted_work();
    let validated =
        tokio::task::spawn_blocking(move || validate_package(&shared, key, bytes.to_vec())).await;
    drop(uncounted);
    let ValidatedPackage { mut record, report, bytes } =
        validated.unwrap_or_else(|_| Err(ResponseError::invalid("the package cannot be read")))?;
    record.private |= requested_privacy(&params)?;
    check_publish(&state, &target, record.item.bytes, &context).await?;
    // Objects are stored before metadata refers to them.
    let (digest, bytes) = (record.digest, Bytes::from(bytes));
    let (objects, stored) = (state.objects.clone(), bytes.clone());
    run_blocking(move || objects.put(&stored).map(drop)).await?;
    let outcome = state.metadata.with(move |database| database.publish(&record, &context)).await?;
    to_result(outcome)?;
    // An old object of the same content may have been collected as garbage in between.
    let objects = state.objects.clone();
    run_blocking(move || objects.ensure(&digest, &bytes)).await?;
    Ok((StatusCode::CREATED, Json(report)))
}

fn requested_privacy(params: &PublishParams) -> ApiResult<bool> {
    match params.visibility.as_deref() {
        None => Ok(false),
        Some("private") => Ok(true),
        Some(_) => Err(ResponseError::invalid("`visibility` must be `private`")),
    }
}

pub(super) fn publish_context(state: &AppState, who: TokenOwner) -> PublishContext {
    PublishContext {
        who,
        at: state.environment.timestamp(),
        hour_ago: state.environment.timestamp_an_hour_ago(),
        quotas: state.metadata.quotas,
    }
}

async fn check_publish(
    state: &AppState,
    key: &VersionKey,
    bytes: u64,
    context: &PublishContext,
) -> ApiResult<()> {
    let (target, context) = (PublishTarget { key: key.clone(), bytes }, context.clone());
    let checked =
        state.metadata.with(move |database| database.check_publish(&target, &context)).await?;
    to_result(checked)
}

fn to_result(outcome: PublishOutcome) -> ApiResult<()> {
    match outcome {
        PublishOutcome::Published => Ok(()),
        PublishOutcome::AlreadyExists => Err(ResponseError::version_exists()),
        PublishOutcome::Forbidden => Err(ResponseError::forbidden()),
        PublishOutcome::TrustedOnly => Err(ResponseError::trusted_only()),
        PublishOutcome::QuotaExceeded(exceeded) => Err(ResponseError::quota_exceeded(exceeded)),
    }
}

async fn run_blocking(
    work: impl FnOnce() -> Result<(), FileError> + Send + 'static,
) -> Result<(), FileError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|e| Err(FileError::new("store", "", std::io::Error::other(e))))
}

/// Reads a refused body without keeping it, since some clients read the response only after they
/// have sent everything.
async fn discard(mut body: Body, most: usize) {
    let mut left = most;
    while let Some(Ok(frame)) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        match left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

/// Deletes the content of a version.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DeleteVersionRequest {
    /// For the audit log, at most 500 characters.
    #[schemars(length(min = 1, max = 500))]
    reason: String,
}

pub(super) async fn delete(
    Shared(state): Shared<AppState>,
    Path((namespace, name, version)): Path<(String, String, String)>,
    headers: HeaderMap,
    Json(request): Json<DeleteVersionRequest>,
) -> ApiResult<StatusCode> {
    let who = require_admin(&state.metadata, &headers).await?;
    if !(1..=500).contains(&request.reason.chars().count()) {
        return Err(ResponseError::invalid("`reason` must have from 1 to 500 characters"));
    }
    let key = VersionKey { package: package_name(&namespace, &name)?, version };
    let at = state.environment.timestamp();
    let deleted = state
        .metadata
        .with(move |database| database.delete_version(&key, &request.reason, &who, &at))
        .await?
        .ok_or_else(ResponseError::not_found)?;
    if !deleted.is_shared {
        let objects = state.objects.clone();
        run_blocking(move || objects.remove(&deleted.digest, i64::MAX)).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// A valid package: its metadata, its report, and its bytes.
struct ValidatedPackage {
    record: NewPackageVersion,
    report: TrustReport,
    bytes: Vec<u8>,
}

/// Reads a package with the same reader as `sp check`.
fn validate_package(
    state: &AppState,
    requested: VersionKey,
    bytes: Vec<u8>,
) -> ApiResult<ValidatedPackage> {
    let read = package::read("package", bytes.clone(), &state.limits);
    let findings = trust_findings(&read);
    let steps = trust_steps(&read);
    let Some(package) = read.package else {
        return Err(ResponseError::invalid("invalid package")
            .with_help("run `sp check` for details")
            .with_findings(findings));
    };
    check_target(&requested, &package.manifest)?;
    let audit = audit_package(&package);
    let is_blocking =
        |it: &TrustFinding| it.id.as_ref().is_some_and(|id| audit.blocking.contains(id));
    if !audit.blocking.is_empty() {
        let blocking = audit.findings.iter().filter(|finding| is_blocking(finding)).cloned();
        return Err(ResponseError::blocked_content(blocking.collect()));
    }
    let VersionKey { package: package_name, version } = requested;
    let item = version_item(state, &package, &bytes);
    let report = TrustReport {
        namespace: package_name.namespace().into(),
        name: package_name.name().into(),
        version,
        sha256: item.sha256.clone(),
        bytes: item.bytes,
        steps,
        signer: item.signer.clone(),
        findings: findings.into_iter().chain(audit.findings).collect(),
        capabilities: audit.capabilities,
    };
    let record = NewPackageVersion {
        package: package_name,
        kind: package.manifest.kind.as_str().into(),
        description: package.manifest.description.clone(),
        digest: Digest::of(&bytes),
        item,
        private: package.manifest.is_private,
        manifest: package.raw_manifest().raw().to_owned(),
        trust_report: serde_json::to_string(&report).unwrap_or_default(),
    };
    Ok(ValidatedPackage { record, report, bytes })
}

/// Checks that a package is published under its own name and version.
fn check_target(requested: &VersionKey, manifest: &PackageManifest) -> ApiResult<()> {
    let VersionKey { package, version } = requested;
    let claimed = RegistryPackageName::from_package_name(&manifest.name)
        .map_err(|why| ResponseError::invalid(why.to_string()))?;
    if claimed == *package && manifest.version.as_str() == version {
        return Ok(());
    }
    let message = format!(
        "the file contains {} {}, not {package} {version}",
        manifest.name,
        manifest.version.as_str()
    );
    Err(ResponseError::invalid(message).with_help("publish it under its own name and version"))
}

fn version_item(state: &AppState, package: &Package, bytes: &[u8]) -> PackageVersionItem {
    let manifest = &package.manifest;
    let dependencies = manifest.dependencies.iter().map(|dependency| RegistryDependencyItem {
        name: dependency.name.to_string(),
        range: dependency.range.as_str().into(),
        optional: dependency.optional,
    });
    PackageVersionItem {
        version: manifest.version.as_str().into(),
        sha256: Digest::of(bytes).hex(),
        bytes: bytes.len() as u64,
        published_at: state.environment.timestamp(),
        yanked: false,
        deleted: false,
        signer: package.signer.map(|signer| signer.key.to_string()),
        dependencies: dependencies.collect(),
        conflicts: manifest.conflicts.iter().map(ToString::to_string).collect(),
    }
}

fn trust_findings(read: &PackageReadResult) -> Vec<TrustFinding> {
    let word = |severity: Severity| match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        _ => "note",
    };
    let to_finding = |finding: &sp_formats::Finding| TrustFinding {
        rule: finding.check.id.into(),
        severity: word(finding.severity).into(),
        message: finding.message.clone(),
        id: None,
    };
    read.report.findings.iter().map(to_finding).collect()
}

fn trust_steps(read: &PackageReadResult) -> Vec<TrustStep> {
    let steps = read.steps.iter();
    steps
        .map(|step| TrustStep {
            name: step.check.as_str().into(),
            outcome: step.outcome.as_str().into(),
            detail: step.detail.clone(),
        })
        .collect()
}

pub(super) async fn yank(
    shared: Shared<AppState>,
    path: Path<(String, String, String)>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    change_yank(shared, path, headers, YankAction::Yank).await
}

pub(super) async fn unyank(
    shared: Shared<AppState>,
    path: Path<(String, String, String)>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    change_yank(shared, path, headers, YankAction::Undo).await
}

async fn change_yank(
    Shared(state): Shared<AppState>,
    Path((namespace, name, version)): Path<(String, String, String)>,
    headers: HeaderMap,
    action: YankAction,
) -> ApiResult<StatusCode> {
    let who = require_publisher(&state.metadata, &headers).await?;
    let package = package_name(&namespace, &name)?;
    let at = state.environment.timestamp();
    let key = VersionKey { package, version };
    match state.metadata.with(move |database| database.yank(&key, action, &who, &at)).await? {
        YankOutcome::Done => Ok(StatusCode::NO_CONTENT),
        YankOutcome::NotFound => Err(ResponseError::not_found()),
        YankOutcome::Forbidden => Err(ResponseError::forbidden()),
    }
}
