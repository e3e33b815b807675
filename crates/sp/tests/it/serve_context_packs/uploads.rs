//! Context packs to upload, and the requests to upload and share them.

use serde_json::{Value, json};
use sp_testkit::{HttpResponse, Registry};

use crate::support::registry_fixtures::{GOLDEN_ID, golden_files, zip_context_pack};

pub(super) const OTHER_ID: &str = "pk_01KPZXWZQR5NRHCGNQ4TR480B3";

/// Returns a zipped context pack with only a manifest.
pub(super) fn minimal_zip(id: &str, name: &str) -> Vec<u8> {
    let manifest = json!({
        "spec_version": "0.1", "pack_id": id, "generated_at": "2026-04-24T14:22:03Z", "generator": {"name": "hand"},
        "project": {"name": name, "description": "Takes payments."}, "files": [], "sources": [],
    });
    zip_context_pack(&[("pack.json".into(), manifest.to_string().into_bytes())])
}

pub(super) fn push(registry: &Registry, token: &str, id: &str, bytes: &[u8]) -> HttpResponse {
    registry.request(&format!("PUT /api/v1/context-packs/{id}"), Some(token), bytes)
}

/// Returns the signed URLs of a context pack.
pub(super) fn signed_urls(registry: &Registry, token: &str, id: &str) -> Value {
    let answer =
        registry.request(&format!("POST /api/v1/context-packs/{id}/url"), Some(token), b"");
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

pub(super) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap()
}

/// Pushes the context pack of the corpus, and returns the path of its folder.
pub(super) fn push_golden(registry: &Registry, token: &str) -> String {
    let zip = zip_context_pack(&golden_files());
    assert_eq!(push(registry, token, GOLDEN_ID, &zip).status, 201);
    text(&signed_urls(registry, token, GOLDEN_ID), "folder").to_owned()
}
