//! Context packs to upload, and the requests that upload them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sp_testkit::{HttpAnswer, Registry, zip};

/// The pack in the corpus.
pub(super) const ID: &str = "pk_01KPZXWZQR5NRHCGNQ4TR480B2";
pub(super) const OTHER: &str = "pk_01KPZXWZQR5NRHCGNQ4TR480B3";

pub(super) fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/good-ctx-golden/tree")
}

pub(super) fn golden_files() -> Vec<(String, Vec<u8>)> {
    let files = std::fs::read_dir(golden()).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| {
            (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(path).unwrap())
        })
        .collect()
}

/// A zip of files below one folder.
pub(super) fn zipped(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let named: Vec<(String, &[u8])> = files
        .iter()
        .map(|(path, bytes)| (format!("context-pack/{path}"), bytes.as_slice()))
        .collect();
    zip(&named.iter().map(|(path, bytes)| (path.as_str(), *bytes)).collect::<Vec<_>>())
}

/// A pack that is nothing but its manifest.
pub(super) fn small(id: &str, name: &str) -> Vec<u8> {
    let manifest = json!({
        "spec_version": "0.1", "pack_id": id, "generated_at": "2026-04-24T14:22:03Z", "generator": {"name": "hand"},
        "project": {"name": name, "description": "Takes payments."}, "files": [], "sources": [],
    });
    zipped(&[("pack.json".into(), manifest.to_string().into_bytes())])
}

pub(super) fn push(registry: &Registry, token: &str, id: &str, bytes: &[u8]) -> HttpAnswer {
    registry.ask(&format!("PUT /api/v1/context-packs/{id}"), Some(token), bytes)
}

pub(super) fn url(registry: &Registry, token: &str, id: &str) -> Value {
    let answer = registry.ask(&format!("POST /api/v1/context-packs/{id}/url"), Some(token), b"");
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

pub(super) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap()
}

/// The folder of a pack that was pushed, as an address.
pub(super) fn pushed(registry: &Registry, me: &str) -> String {
    assert_eq!(push(registry, me, ID, &zipped(&golden_files())).status, 201);
    text(&url(registry, me, ID), "folder").to_owned()
}
