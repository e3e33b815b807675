//! Packages with a context graph for tests, with exact bytes.

use serde_json::{Value, json};
use sp_tree::Digest;

/// Returns a package whose nodes are pairs of ID and content, with an edge from each node to the
/// next.
pub(crate) fn package_of_knowledge(name: &str, version: &str, nodes: &[(&str, &str)]) -> Vec<u8> {
    let node = |(id, content): &(&str, &str)| json!({"id": id, "type": "fact", "content": content, "activation": 1.0});
    let edges = nodes
        .windows(2)
        .map(|pair| json!({"from": pair[0].0, "to": pair[1].0, "type": "relates_to"}));
    let nodes: Vec<Value> = nodes.iter().map(node).collect();
    let graph =
        json!({"format": "ctxpkg-graph-v2", "nodes": nodes, "edges": edges.collect::<Vec<_>>()});
    let content = format!(r#"{{"context_graph":{graph}}}"#);
    let hash = Digest::of(content.as_bytes()).hex();
    let sha256 = Digest::of(format!("{name}:{version}:{hash}").as_bytes()).hex();
    let manifest = json!({
        "schema_version": 2, "name": name, "version": version, "description": "Notes.",
        "created_at": "2026-04-01T00:00:00Z", "layers": [], "conformance_level": 1,
        "provenance": {"tool": "hand", "tool_version": "1"},
        "integrity": {"sha256": sha256, "content_hash": hash, "byte_size": content.len()},
    });
    format!("{{\"manifest\":{manifest},\"content\":{content}}}").into_bytes()
}
