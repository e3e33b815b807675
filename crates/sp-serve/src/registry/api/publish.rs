//! Publishing, yanking, and taking that back.

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, State as Shared};
use axum::http::{HeaderMap, StatusCode};
use sp_formats::package::{self, Outcome as Verified, Package, Read};
use sp_formats::registry::{NeededItem, Place, TrustFinding, TrustReport, TrustStep, VersionItem};
use sp_formats::report::Severity;
use sp_tree::Digest;

use super::packages::place;
use crate::registry::metadata::{NewVersion, Outcome};
use crate::registry::refusal::Refusal;
use crate::registry::state::State;
use crate::registry::tokens::publisher;

type Answer<T> = Result<T, Refusal>;

pub(super) async fn publish(
    Shared(state): Shared<State>,
    Path((namespace, name, version)): Path<(String, String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Answer<(StatusCode, Json<TrustReport>)> {
    // Who may not publish is told so before a byte is read.
    let who = publisher(&state, &headers).await?;
    let place = Place::new(&namespace, &name).map_err(|why| Refusal::invalid(why.to_string()))?;
    let most = state.limits.package_bytes;
    let limit = usize::try_from(most).unwrap_or(usize::MAX);
    let bytes = to_bytes(body, limit).await.map_err(|_| Refusal::too_large(most))?;
    let shared = state.clone();
    let wanted = (place, version);
    let judged = tokio::task::spawn_blocking(move || judge(&shared, wanted, bytes.to_vec())).await;
    let (new, report, bytes) = judged.unwrap_or_else(|_| Err(Refusal::invalid("it cannot be read")))?;
    let objects = state.objects.clone();
    // The bytes are there before anything speaks of them.
    let stored = tokio::task::spawn_blocking(move || objects.put(&bytes)).await;
    stored.unwrap_or_else(|e| Err(sp_tree::FileError::new("store", "", std::io::Error::other(e))))?;
    let at = state.timestamp();
    match state.metadata.with(move |database| database.publish(&new, &who, &at)).await? {
        Outcome::Published => Ok((StatusCode::CREATED, Json(report))),
        Outcome::Exists => Err(Refusal::exists()),
        Outcome::Forbidden => Err(Refusal::forbidden()),
    }
}

/// The gate is what reads packages everywhere else.
fn judge(
    state: &State,
    (place, version): (Place, String),
    bytes: Vec<u8>,
) -> Answer<(NewVersion, TrustReport, Vec<u8>)> {
    let read = package::read("package", bytes.clone(), &state.limits);
    let findings = findings(&read);
    let steps = steps(&read);
    let Some(package) = read.package else {
        return Err(Refusal::invalid("it is no package that can be trusted")
            .help("`sp check` tells what to mend")
            .findings(findings));
    };
    let manifest = &package.manifest;
    let claimed = Place::of(&manifest.name).map_err(|why| Refusal::invalid(why.to_string()))?;
    if claimed != place || manifest.version.as_str() != version {
        let message =
            format!("the package is {} {}, and not {place} {version}", manifest.name, manifest.version.as_str());
        return Err(Refusal::invalid(message).help("publish it under its own name and version"));
    }
    let item = item(state, &package, &bytes);
    let report = TrustReport {
        namespace: place.namespace().into(),
        name: place.name().into(),
        version,
        sha256: item.sha256.clone(),
        bytes: item.bytes,
        steps,
        signer: item.signer.clone(),
        findings,
    };
    let new = NewVersion {
        place,
        kind: manifest.kind.word().into(),
        description: manifest.description.clone(),
        digest: Digest::of(&bytes),
        item,
        manifest: package.raw_manifest().raw().to_owned(),
        report: serde_json::to_string(&report).unwrap_or_default(),
    };
    Ok((new, report, bytes))
}

fn item(state: &State, package: &Package, bytes: &[u8]) -> VersionItem {
    let manifest = &package.manifest;
    let needed = manifest.dependencies.iter().map(|dependency| NeededItem {
        name: dependency.name.to_string(),
        range: dependency.range.as_str().into(),
        optional: dependency.optional,
    });
    VersionItem {
        version: manifest.version.as_str().into(),
        sha256: Digest::of(bytes).hex(),
        bytes: bytes.len() as u64,
        published_at: state.timestamp(),
        yanked: false,
        signer: package.signer.map(|signer| signer.key.to_string()),
        dependencies: needed.collect(),
        conflicts: manifest.conflicts.iter().map(ToString::to_string).collect(),
    }
}

fn findings(read: &Read) -> Vec<TrustFinding> {
    let word = |severity: Severity| match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        _ => "note",
    };
    let one = |finding: &sp_formats::Finding| TrustFinding {
        rule: finding.check.id.into(),
        severity: word(finding.severity).into(),
        message: finding.message.clone(),
    };
    read.report.findings.iter().map(one).collect()
}

fn steps(read: &Read) -> Vec<TrustStep> {
    let word = |outcome: Verified| match outcome {
        Verified::Passed => "passed",
        Verified::Warned => "warned",
        Verified::Failed => "failed",
        Verified::Skipped => "skipped",
    };
    let steps = read.steps.iter();
    steps
        .map(|step| TrustStep {
            name: step.name.into(),
            outcome: word(step.outcome).into(),
            detail: step.detail.clone(),
        })
        .collect()
}

pub(super) async fn yank(
    shared: Shared<State>,
    path: Path<(String, String, String)>,
    headers: HeaderMap,
) -> Answer<StatusCode> {
    set_yanked(shared, path, headers, true).await
}

pub(super) async fn unyank(
    shared: Shared<State>,
    path: Path<(String, String, String)>,
    headers: HeaderMap,
) -> Answer<StatusCode> {
    set_yanked(shared, path, headers, false).await
}

async fn set_yanked(
    Shared(state): Shared<State>,
    Path((namespace, name, version)): Path<(String, String, String)>,
    headers: HeaderMap,
    yanked: bool,
) -> Answer<StatusCode> {
    let who = publisher(&state, &headers).await?;
    let place = place(&namespace, &name)?;
    let at = state.timestamp();
    match state.metadata.with(move |database| database.yank((&place, &version), yanked, &who, &at)).await? {
        Some(true) => Ok(StatusCode::NO_CONTENT),
        Some(false) => Err(Refusal::not_found()),
        None => Err(Refusal::forbidden()),
    }
}
