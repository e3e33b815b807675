//! Publish, yank and unyank versions.

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, State as Shared};
use axum::http::{HeaderMap, StatusCode};
use sp_engine::pkg::YankAction;
use sp_formats::package::{self, Package, PackageManifest, PackageReadResult};
use sp_formats::registry::{
    PackageVersionItem, RegistryDependencyItem, RegistryPackageName, TrustFinding, TrustReport,
    TrustStep,
};
use sp_formats::report::Severity;
use sp_tree::Digest;

use super::packages::package_name;
use crate::registry::error::{ApiResult, ResponseError};
use crate::registry::metadata::{NewPackageVersion, PublishOutcome, VersionKey, YankOutcome};
use crate::registry::state::AppState;
use crate::registry::tokens::require_publisher;

pub(super) async fn publish(
    Shared(state): Shared<AppState>,
    Path((namespace, name, version)): Path<(String, String, String)>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<(StatusCode, Json<TrustReport>)> {
    // Reject unauthorized clients before reading the body.
    let who = require_publisher(&state.metadata, &headers).await?;
    let package = RegistryPackageName::new(&namespace, &name)
        .map_err(|why| ResponseError::invalid(why.to_string()))?;
    let target = VersionKey { package, version };
    let max_bytes = state.limits.package_bytes;
    let limit = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    let bytes = to_bytes(body, limit).await.map_err(|_| ResponseError::too_large(max_bytes))?;
    let shared = state.clone();
    let validated =
        tokio::task::spawn_blocking(move || validate_package(&shared, target, bytes.to_vec()))
            .await;
    let ValidatedPackage { record, report, bytes } =
        validated.unwrap_or_else(|_| Err(ResponseError::invalid("the package cannot be read")))?;
    let objects = state.objects.clone();
    // Objects are stored before metadata refers to them.
    let stored = tokio::task::spawn_blocking(move || objects.put(&bytes)).await;
    stored
        .unwrap_or_else(|e| Err(sp_tree::FileError::new("store", "", std::io::Error::other(e))))?;
    let at = state.environment.timestamp();
    match state.metadata.with(move |database| database.publish(&record, &who, &at)).await? {
        PublishOutcome::Published => Ok((StatusCode::CREATED, Json(report))),
        PublishOutcome::AlreadyExists => Err(ResponseError::version_exists()),
        PublishOutcome::Forbidden => Err(ResponseError::forbidden()),
    }
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
        findings,
    };
    let record = NewPackageVersion {
        package: package_name,
        kind: package.manifest.kind.as_str().into(),
        description: package.manifest.description.clone(),
        digest: Digest::of(&bytes),
        item,
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
