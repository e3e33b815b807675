//! Packages with skills for tests, with exact bytes.

use serde_json::json;
use sp_tree::{Digest, RelPath};

/// Returns a package with these files. Paths that end with `.sh` are executable.
pub(crate) fn package_of_skills(name: &str, version: &str, files: &[(&str, &[u8])]) -> Vec<u8> {
    let file = |(path, bytes): &(&str, &[u8])| {
        (RelPath::new(path).unwrap(), path.ends_with(".sh"), bytes.to_vec())
    };
    let files: Vec<_> = files.iter().map(file).collect();
    let content = format!("{{\"documents\":{}}}", sp_formats::package::write_documents(&files));
    let hash = Digest::of(content.as_bytes()).hex();
    let sha256 = Digest::of(format!("{name}:{version}:{hash}").as_bytes()).hex();
    let manifest = json!({
        "schema_version": 2, "name": name, "version": version, "description": "Skills.", "kind": "skills",
        "created_at": "2026-04-01T00:00:00Z", "layers": [], "provenance": {"tool": "hand", "tool_version": "1"},
        "integrity": {"sha256": sha256, "content_hash": hash, "byte_size": content.len()},
    });
    format!("{{\"manifest\":{manifest},\"content\":{content}}}").into_bytes()
}
