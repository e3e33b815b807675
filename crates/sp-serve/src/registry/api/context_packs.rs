//! Hosted context packs: push, list, remove, and share by signed URL.

use std::collections::BTreeMap;

use axum::Json;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Path, State as Shared};
use axum::http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use sp_formats::context_pack::{
    ContextPackManifest, ContextPackUrlRequest, ContextPackUrlResponse, DEFAULT_URL_LIFETIME_SECS,
    ListContextPacksResponse, MAX_URL_LIFETIME_SECS, PutContextPackResponse, UrlSignature,
    UrlSigningKeyInfo, is_pack_id, listed_files, read, unzip_entries, zip_files,
};
use sp_formats::registry::TrustFinding;
use sp_formats::report::{Report, Severity};
use sp_formats::time::format_seconds;
use sp_tree::{Archive, Digest, FileError, Limits};

use super::publish::publish_context;
use crate::registry::environment::RegistryEnvironment;
use crate::registry::error::{ApiResult, ResponseError};
use crate::registry::metadata::{
    ContextPackPushOutcome, Database, MetadataError, NewContextPack, NewUrlKey, PublishContext,
    StoredContextPackFile, TokenOwner,
};
use crate::registry::state::AppState;
use crate::registry::tokens::{require_admin, require_publisher};

/// The name of the archive in error messages.
const ARCHIVE_NAME: &str = "the zip";

pub(super) async fn push(
    Shared(state): Shared<AppState>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<(StatusCode, Json<PutContextPackResponse>)> {
    // Reject unauthorized clients before reading the body.
    let who = require_publisher(&state.metadata, &headers).await?;
    let max_bytes = state.limits.package_bytes;
    let bytes = to_bytes(body, usize::try_from(max_bytes).unwrap_or(usize::MAX)).await;
    let bytes = bytes.map_err(|_| ResponseError::too_large(max_bytes))?;
    let shared = state.clone();
    let checked = tokio::task::spawn_blocking(move || validate_pack(&id, &bytes, &shared.limits));
    let ValidatedContextPack { record, response, objects } = checked
        .await
        .unwrap_or_else(|_| Err(ResponseError::invalid("the context pack cannot be read")))?;
    let context = publish_context(&state, who);
    let (new, by) = (record.clone(), context.clone());
    match state.metadata.with(move |database| database.check_context_pack(&new, &by)).await? {
        ContextPackPushOutcome::Stored => {}
        refused => return push_response(refused, response),
    }
    // Objects are stored before metadata refers to them.
    let store = state.objects.clone();
    let stored = tokio::task::spawn_blocking(move || {
        objects.iter().try_for_each(|bytes| store.put(bytes).map(drop))
    });
    stored.await.unwrap_or_else(|e| Err(FileError::new("store", "", std::io::Error::other(e))))?;
    let PublishContext { who, at, .. } = context;
    let pushed =
        state.metadata.with(move |database| database.push_context_pack(&record, &who, &at)).await?;
    push_response(pushed, response)
}

fn push_response(
    outcome: ContextPackPushOutcome,
    response: PutContextPackResponse,
) -> ApiResult<(StatusCode, Json<PutContextPackResponse>)> {
    match outcome {
        ContextPackPushOutcome::Stored => Ok((StatusCode::CREATED, Json(response))),
        ContextPackPushOutcome::Unchanged => Ok((StatusCode::OK, Json(response))),
        ContextPackPushOutcome::IdTaken => Err(ResponseError::pack_id_taken()),
        ContextPackPushOutcome::QuotaExceeded(exceeded) => {
            Err(ResponseError::quota_exceeded(exceeded))
        }
    }
}

/// A valid pack: its metadata, and its objects (the files and the zip).
struct ValidatedContextPack {
    record: NewContextPack,
    response: PutContextPackResponse,
    objects: Vec<Bytes>,
}

/// Reads a pack with the same reader as `sp context check`.
fn validate_pack(id: &str, bytes: &Bytes, limits: &Limits) -> ApiResult<ValidatedContextPack> {
    // The limit for directories applies to zips, too.
    let limits = Limits { zip_bytes: limits.zip_bytes.min(limits.skill_bytes), ..limits.clone() };
    let unreadable =
        |why: String| ResponseError::invalid(why).with_help("create the zip with `sp context zip`");
    let archive = Archive::from_bytes(ARCHIVE_NAME, bytes.to_vec(), &limits)
        .map_err(|why| unreadable(why.to_string()))?;
    let entries = unzip_entries(&archive).map_err(|why| unreadable(why.to_string()))?;
    let checked = read(&entries, &limits);
    let findings = findings(&checked.reports);
    let Some(pack) = checked.pack else {
        return Err(ResponseError::invalid("invalid context pack")
            .with_help("run `sp context check` for details")
            .with_findings(findings));
    };
    check_own_id(id, &pack.manifest)?;
    let files = listed_files(&pack, &entries);
    // Zip it again, so that the same pack always has the same bytes.
    let zip = zip_files(&files).map_err(|why| unreadable(why.to_string()))?;
    let record = NewContextPack {
        id: id.into(),
        name: pack.manifest.project.name.clone(),
        digest: Digest::of(&zip),
        bytes: zip.len() as u64,
        files: file_list_json(&files),
    };
    let response = PutContextPackResponse {
        pack_id: id.into(),
        sha256: record.digest.hex(),
        bytes: record.bytes,
        files: files.len(),
        findings,
    };
    let objects = files.into_values().chain([zip]).map(Bytes::from).collect();
    Ok(ValidatedContextPack { record, response, objects })
}

fn check_own_id(id: &str, manifest: &ContextPackManifest) -> ApiResult<()> {
    if manifest.pack_id == id {
        return Ok(());
    }
    Err(ResponseError::invalid(format!(
        "the zip contains the context pack `{}`, not `{id}`",
        manifest.pack_id
    ))
    .with_help("push it under its own ID"))
}

/// Returns the paths and digests of files, in the form of the database.
fn file_list_json(files: &BTreeMap<String, Vec<u8>>) -> String {
    let stored_files = files.iter().map(|(path, bytes)| StoredContextPackFile {
        path: path.clone(),
        sha256: Digest::of(bytes).hex(),
        bytes: bytes.len() as u64,
    });
    serde_json::to_string(&stored_files.collect::<Vec<_>>()).unwrap_or_default()
}

fn findings(reports: &[Report]) -> Vec<TrustFinding> {
    let to_finding = |report: &Report, finding: &sp_formats::Finding| TrustFinding {
        rule: finding.check.id.into(),
        severity: finding.severity.as_str().into(),
        message: format!("{}: {}", report.file, finding.message),
        id: None,
    };
    let is_reported = |finding: &&sp_formats::Finding| finding.severity >= Severity::Warning;
    let all = reports.iter().flat_map(|report| {
        report.findings.iter().filter(is_reported).map(move |finding| to_finding(report, finding))
    });
    all.collect()
}

pub(super) async fn list(
    Shared(state): Shared<AppState>,
    headers: HeaderMap,
) -> ApiResult<Json<ListContextPacksResponse>> {
    let who = require_publisher(&state.metadata, &headers).await?;
    Ok(Json(ListContextPacksResponse {
        packs: state.metadata.with(move |database| database.context_packs(&who)).await?,
    }))
}

/// Returns the requested lifetime of URLs, in seconds.
fn requested_lifetime(body: &[u8]) -> ApiResult<u64> {
    let request = if body.is_empty() {
        ContextPackUrlRequest::default()
    } else {
        serde_json::from_slice(body).map_err(|why| ResponseError::invalid(why.to_string()))?
    };
    let seconds = request.expires_in.unwrap_or(DEFAULT_URL_LIFETIME_SECS);
    if !(1..=MAX_URL_LIFETIME_SECS).contains(&seconds) {
        return Err(ResponseError::invalid(format!(
            "`expires_in` must be between 1 and {MAX_URL_LIFETIME_SECS} seconds"
        )));
    }
    Ok(seconds)
}

/// Creates signed URLs for a pack.
pub(super) async fn url(
    Shared(state): Shared<AppState>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> ApiResult<Json<ContextPackUrlResponse>> {
    let who = require_publisher(&state.metadata, &headers).await?;
    let seconds = requested_lifetime(&body)?;
    let (fresh, at, pack_id) =
        (generate_key(&state.environment)?, state.environment.timestamp(), checked_pack_id(&id)?);
    let key = state
        .metadata
        .with(move |database| database.signing_key(&pack_id, &fresh, &who, &at))
        .await?;
    let key = key.ok_or_else(ResponseError::not_found)?;
    let exp = state.environment.unix_seconds().saturating_add(seconds);
    let opening =
        UrlSignature::sign(&key.kid, &key.secret, &id, exp).ok_or_else(ResponseError::not_found)?;
    let ends = i64::try_from(exp)
        .ok()
        .and_then(|exp| Timestamp::from_second(exp).ok())
        .unwrap_or_default();
    Ok(Json(ContextPackUrlResponse {
        kid: key.kid,
        expires_at: format_seconds(ends),
        folder: format!("/s/{}/packs/{id}/", opening.to_path_segment()),
        manifest: format!("/packs/{id}/pack.json?{}", opening.to_query()),
        zip: format!("/s/{}/packs/{id}.zip", opening.to_path_segment()),
        pack_id: id,
    }))
}

/// Revokes all URLs of a pack.
pub(super) async fn revoke(
    shared: Shared<AppState>,
    path: Path<String>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    revoke_urls_with(shared, path, headers, Database::revoke_pack_urls).await
}

pub(super) async fn remove(
    shared: Shared<AppState>,
    path: Path<String>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    revoke_urls_with(shared, path, headers, Database::remove_context_pack).await
}

type RevokeUrlsFn =
    fn(&Database, &str, &NewUrlKey, &TokenOwner, &str) -> Result<bool, MetadataError>;

/// Both operations give the pack a key of its own, which invalidates all earlier URLs.
async fn revoke_urls_with(
    Shared(state): Shared<AppState>,
    Path(id): Path<String>,
    headers: HeaderMap,
    close: RevokeUrlsFn,
) -> ApiResult<StatusCode> {
    let who = require_publisher(&state.metadata, &headers).await?;
    let (fresh, at, id) =
        (generate_key(&state.environment)?, state.environment.timestamp(), checked_pack_id(&id)?);
    no_content_if(
        state.metadata.with(move |database| close(database, &id, &fresh, &who, &at)).await?,
    )
}

pub(super) async fn list_keys(
    Shared(state): Shared<AppState>,
    headers: HeaderMap,
) -> ApiResult<Json<Vec<UrlSigningKeyInfo>>> {
    require_admin(&state.metadata, &headers).await?;
    Ok(Json(state.metadata.with(Database::url_keys).await?))
}

/// Adds a key that signs from now on. URLs signed by older keys stay valid until they expire.
pub(super) async fn rotate_key(
    Shared(state): Shared<AppState>,
    headers: HeaderMap,
) -> ApiResult<(StatusCode, Json<UrlSigningKeyInfo>)> {
    let who = require_admin(&state.metadata, &headers).await?;
    let (fresh, at) = (generate_key(&state.environment)?, state.environment.timestamp());
    let made = UrlSigningKeyInfo {
        kid: fresh.kid.clone(),
        pack_id: None,
        created_at: at.clone(),
        revoked: false,
    };
    state.metadata.with(move |database| database.add_url_key(&fresh, &who, &at)).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

pub(super) async fn revoke_key(
    Shared(state): Shared<AppState>,
    Path(kid): Path<String>,
    headers: HeaderMap,
) -> ApiResult<StatusCode> {
    let who = require_admin(&state.metadata, &headers).await?;
    let at = state.environment.timestamp();
    no_content_if(
        state.metadata.with(move |database| database.revoke_url_key(&kid, &who, &at)).await?,
    )
}

/// The response is the same for missing packs and for packs of other users.
fn no_content_if(found: bool) -> ApiResult<StatusCode> {
    if found { Ok(StatusCode::NO_CONTENT) } else { Err(ResponseError::not_found()) }
}

/// Validates a pack ID from a path. Invalid IDs are not found.
fn checked_pack_id(id: &str) -> ApiResult<String> {
    if is_pack_id(id) { Ok(id.into()) } else { Err(ResponseError::not_found()) }
}

fn generate_key(environment: &RegistryEnvironment) -> ApiResult<NewUrlKey> {
    let (mut name, mut secret) = ([0; 6], [0; 32]);
    let filled =
        environment.fill_random(&mut name).and_then(|()| environment.fill_random(&mut secret));
    filled.map_err(|e| FileError::new("generate", "random bytes", e))?;
    Ok(NewUrlKey { kid: format!("k{}", sp_tree::to_hex(&name)), secret })
}
