//! Context packs that people keep here: pushed, listed, removed, and opened to others by signed addresses.

use axum::Json;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Path, State as Shared};
use axum::http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use sp_formats::context_pack::{
    LONGEST, Opening, PackItems, PackTaken, USUAL, UrlGiven, UrlKeyItem, UrlWanted, is_pack_id, listed, read, unzipped,
    zipped,
};
use sp_formats::registry::TrustFinding;
use sp_formats::report::{Report, Severity};
use sp_tree::{Archive, Digest, FileError, Limits};

use crate::registry::metadata::{Bearer, Database, KeptFile, MetadataError, NewKey, NewPack, PackOutcome};
use crate::registry::refusal::Refusal;
use crate::registry::state::State;
use crate::registry::tokens::{admin, publisher};

type Answer<T> = Result<T, Refusal>;

/// What a pack is called in a message: whoever pushes it knows its real name.
const SENT: &str = "the zip";

pub(super) async fn push(
    Shared(state): Shared<State>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Answer<(StatusCode, Json<PackTaken>)> {
    // Who may not push is told so before a byte is read.
    let who = publisher(&state, &headers).await?;
    let most = state.limits.package_bytes;
    let bytes = to_bytes(body, usize::try_from(most).unwrap_or(usize::MAX)).await;
    let bytes = bytes.map_err(|_| Refusal::too_large(most))?;
    let shared = state.clone();
    let stored = tokio::task::spawn_blocking(move || {
        let judged = judge(&id, &bytes, &shared.limits)?;
        // The bytes are there before anything speaks of them.
        judged.objects.iter().try_for_each(|bytes| shared.objects.put(bytes).map(drop))?;
        Ok((judged.new, judged.taken))
    });
    let (new, taken) = stored.await.unwrap_or_else(|_| Err(Refusal::invalid("it cannot be read")))?;
    let at = state.timestamp();
    match state.metadata.with(move |database| database.push_pack(&new, &who, &at)).await? {
        PackOutcome::Taken => Ok((StatusCode::CREATED, Json(taken))),
        PackOutcome::Same => Ok((StatusCode::OK, Json(taken))),
        PackOutcome::Exists => Err(Refusal::taken()),
    }
}

/// A pack that was found good: what is known of it, and the bytes of its zip and of its files.
struct Judged {
    new: NewPack,
    taken: PackTaken,
    objects: Vec<Vec<u8>>,
}

/// The gate is what reads packs everywhere else.
fn judge(id: &str, bytes: &Bytes, limits: &Limits) -> Answer<Judged> {
    // A pack is no larger in a zip than in a folder.
    let limits = Limits { zip_bytes: limits.zip_bytes.min(limits.skill_bytes), ..limits.clone() };
    let unreadable = |why: String| Refusal::invalid(why).help("`sp context zip` makes a zip that is taken");
    let archive = Archive::of_bytes(SENT, bytes.to_vec(), &limits).map_err(|why| unreadable(why.to_string()))?;
    let entries = unzipped(&archive).map_err(|why| unreadable(why.to_string()))?;
    let judged = read(&entries, &limits);
    let findings = findings(&judged.reports);
    let Some(pack) = judged.pack else {
        return Err(Refusal::invalid("it is no valid context pack")
            .help("`sp context check` tells what to mend")
            .findings(findings));
    };
    let manifest = &pack.manifest;
    if manifest.pack_id != id {
        return Err(Refusal::invalid(format!("the pack is `{}`, and not `{id}`", manifest.pack_id))
            .help("push it under its own id"));
    }
    let files = listed(&pack, &entries);
    // The same pack gives the same zip, whoever packed it.
    let zip = zipped(&files).map_err(|why| unreadable(why.to_string()))?;
    let kept = files.iter().map(|(path, bytes)| KeptFile {
        path: path.clone(),
        sha256: Digest::of(bytes).hex(),
        bytes: bytes.len() as u64,
    });
    let (digest, length) = (Digest::of(&zip), zip.len() as u64);
    let new = NewPack {
        id: id.into(),
        name: manifest.project.name.clone(),
        digest,
        bytes: length,
        files: serde_json::to_string(&kept.collect::<Vec<_>>()).unwrap_or_default(),
    };
    let taken = PackTaken { pack_id: id.into(), sha256: digest.hex(), bytes: length, files: files.len(), findings };
    Ok(Judged { new, taken, objects: files.into_values().chain([zip]).collect() })
}

fn findings(reports: &[Report]) -> Vec<TrustFinding> {
    let one = |report: &Report, finding: &sp_formats::Finding| TrustFinding {
        rule: finding.check.id.into(),
        severity: finding.severity.word().into(),
        message: format!("{}: {}", report.file, finding.message),
    };
    let is_told = |finding: &&sp_formats::Finding| finding.severity >= Severity::Warning;
    let all = reports
        .iter()
        .flat_map(|report| report.findings.iter().filter(is_told).map(move |finding| one(report, finding)));
    all.collect()
}

pub(super) async fn list(Shared(state): Shared<State>, headers: HeaderMap) -> Answer<Json<PackItems>> {
    let who = publisher(&state, &headers).await?;
    Ok(Json(PackItems { packs: state.metadata.with(move |database| database.packs(&who)).await? }))
}

/// An address that opens a pack.
pub(super) async fn url(
    Shared(state): Shared<State>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer<Json<UrlGiven>> {
    let who = publisher(&state, &headers).await?;
    let wanted: UrlWanted = match body.is_empty() {
        true => UrlWanted::default(),
        false => serde_json::from_slice(&body).map_err(|why| Refusal::invalid(why.to_string()))?,
    };
    let seconds = wanted.expires_in.unwrap_or(USUAL);
    if !(1..=LONGEST).contains(&seconds) {
        return Err(Refusal::invalid(format!("`expires_in` is 1 to {LONGEST} seconds")));
    }
    let (fresh, at, wanted) = (new_key(&state)?, state.timestamp(), pack(&id)?);
    let key = state.metadata.with(move |database| database.signing_key(&wanted, &fresh, &who, &at)).await?;
    let key = key.ok_or_else(Refusal::not_found)?;
    let exp = state.seconds().saturating_add(seconds);
    let opening = Opening::sign(&key.kid, &key.secret, &id, exp).ok_or_else(Refusal::not_found)?;
    let ends = i64::try_from(exp).ok().and_then(|exp| Timestamp::from_second(exp).ok()).unwrap_or_default();
    Ok(Json(UrlGiven {
        kid: key.kid,
        expires_at: ends.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        folder: format!("/s/{}/packs/{id}/", opening.segment()),
        manifest: format!("/packs/{id}/pack.json?{}", opening.query()),
        zip: format!("/s/{}/packs/{id}.zip", opening.segment()),
        pack_id: id,
    }))
}

/// Every address of a pack that was given so far opens nothing any more.
pub(super) async fn revoke(shared: Shared<State>, path: Path<String>, headers: HeaderMap) -> Answer<StatusCode> {
    close(shared, path, headers, Database::revoke_pack).await
}

pub(super) async fn remove(shared: Shared<State>, path: Path<String>, headers: HeaderMap) -> Answer<StatusCode> {
    close(shared, path, headers, Database::remove_pack).await
}

type Close = fn(&Database, &str, &NewKey, &Bearer, &str) -> Result<bool, MetadataError>;

/// Both give the pack a key of its own, so that nothing opens it that was signed before.
async fn close(
    Shared(state): Shared<State>,
    Path(id): Path<String>,
    headers: HeaderMap,
    close: Close,
) -> Answer<StatusCode> {
    let who = publisher(&state, &headers).await?;
    let (fresh, at, id) = (new_key(&state)?, state.timestamp(), pack(&id)?);
    done(state.metadata.with(move |database| close(database, &id, &fresh, &who, &at)).await?)
}

pub(super) async fn keys(Shared(state): Shared<State>, headers: HeaderMap) -> Answer<Json<Vec<UrlKeyItem>>> {
    admin(&state, &headers).await?;
    Ok(Json(state.metadata.with(Database::url_keys).await?))
}

/// A new key signs from now on; what the old ones signed is good until it ends.
pub(super) async fn rotate(Shared(state): Shared<State>, headers: HeaderMap) -> Answer<(StatusCode, Json<UrlKeyItem>)> {
    let who = admin(&state, &headers).await?;
    let (fresh, at) = (new_key(&state)?, state.timestamp());
    let made = UrlKeyItem { kid: fresh.kid.clone(), pack_id: None, created_at: at.clone(), revoked: false };
    state.metadata.with(move |database| database.add_url_key(&fresh, &who, &at)).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

pub(super) async fn revoke_key(
    Shared(state): Shared<State>,
    Path(kid): Path<String>,
    headers: HeaderMap,
) -> Answer<StatusCode> {
    let who = admin(&state, &headers).await?;
    let at = state.timestamp();
    done(state.metadata.with(move |database| database.revoke_url_key(&kid, &who, &at)).await?)
}

/// What is not there, and what is somebody else's, are the same to whoever asks.
fn done(found: bool) -> Answer<StatusCode> {
    if found { Ok(StatusCode::NO_CONTENT) } else { Err(Refusal::not_found()) }
}

/// An id that a path names. One that cannot be is not there.
fn pack(id: &str) -> Answer<String> {
    if is_pack_id(id) { Ok(id.into()) } else { Err(Refusal::not_found()) }
}

fn new_key(state: &State) -> Answer<NewKey> {
    let (mut name, mut secret) = ([0; 6], [0; 32]);
    let drawn = (state.surroundings.random)(&mut name).and_then(|()| (state.surroundings.random)(&mut secret));
    drawn.map_err(|e| FileError::new("draw", "random bytes", e))?;
    Ok(NewKey { kid: format!("k{}", sp_tree::to_hex(&name)), secret })
}
