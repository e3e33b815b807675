//! Conversion of the layers of schema 1 to nodes and edges.

use sp_formats::json::JsonDocument;
use sp_formats::package::{GraphBuilder, layers_to_graph};

use super::*;

/// Types and contents of nodes.
type Nodes = Vec<(String, String)>;
/// Edges: content of the source node, type, content of the target node.
type Edges = Vec<(String, String, String)>;

/// Returns nodes and edges without IDs.
fn nodes_and_edges(graph: &GraphBuilder) -> (Nodes, Edges) {
    let content =
        |id: &str| graph.nodes.iter().find(|node| node.id() == id).unwrap().content.clone();
    let nodes = graph.nodes.iter().map(|node| (node.kind.clone(), node.content.clone())).collect();
    let edges = graph
        .edges
        .iter()
        .map(|edge| (content(&edge.from), edge.kind.clone(), content(&edge.to)))
        .collect();
    (nodes, edges)
}

fn graph_of(content: &Value) -> GraphBuilder {
    let json = JsonDocument::parse(content.to_string(), &limits()).unwrap();
    layers_to_graph(json.root())
}

fn pairs(nodes: &[(&str, &str)]) -> Nodes {
    nodes.iter().map(|(kind, content)| ((*kind).to_owned(), (*content).to_owned())).collect()
}

#[test]
fn pk_20_layers_convert_to_nodes() {
    for (layer, expected) in [
        (
            json!({"knowledge": {
                "facts": [{"key": "db", "value": "PostgreSQL"}, {"key": "os", "value": "Linux"}],
                "patterns": [{"pattern_type": "naming", "description": "Tables are plural"}],
                "insights": [{"summary": "Queries are slow"}]
            }}),
            vec![
                ("fact", "PostgreSQL"),
                ("fact", "Linux"),
                ("pattern", "Tables are plural"),
                ("insight", "Queries are slow"),
            ],
        ),
        (
            json!({"patterns": {"patterns": [{"description": "One file a test"}]}}),
            vec![("pattern", "One file a test")],
        ),
        (
            json!({"gotchas": {"gotchas": [{"trigger": "The build hangs", "resolution": "Remove the lock"}]}}),
            vec![("gotcha", "The build hangs\n---\nRemove the lock")],
        ),
        (
            json!({"policies": {"policies": [{"id": "p", "kind": "security", "rule": "No secrets", "severity": "error"}]}}),
            vec![("policy", "No secrets")],
        ),
        (
            json!({"graph": {"nodes": [{"kind": "function", "name": "main", "file_path": "src/main.rs"}], "edges": []}}),
            vec![("code_function", "main")],
        ),
    ] {
        assert_eq!(nodes_and_edges(&graph_of(&layer)), (pairs(&expected), Vec::new()), "{layer}");
    }
}

#[test]
fn pk_20_code_keeps_locations_and_typed_edges() {
    let node = |kind: &str, name: &str, file: &str| json!({"kind": kind, "name": name, "file_path": file, "line_start": 3, "line_end": 9});
    let edge = |name: &str, kind: &str| json!({"source_path": "a.rs", "source_name": "main", "target_path": "b.rs", "target_name": name, "kind": kind});
    let content = json!({"graph": {
        "nodes": [node("function", "main", "a.rs"), node("struct", "Shop", "b.rs"), node("function", "main", "b.rs")],
        "edges": [edge("Shop", "uses"), edge("main", "calls"), edge("gone", "calls")]
    }});
    let graph = graph_of(&content);
    let (nodes, edges) = nodes_and_edges(&graph);
    assert_eq!(
        nodes,
        pairs(&[("code_function", "main"), ("code_struct", "Shop"), ("code_function", "main")])
    );
    let edge = |to: &str, kind: &str| ("main".to_owned(), kind.to_owned(), to.to_owned());
    assert_eq!(
        edges,
        [edge("Shop", "uses"), edge("main", "calls")],
        "an edge to a missing node is dropped"
    );
    let node: Value = serde_json::from_str(&graph.nodes[1].to_json()).unwrap();
    assert_eq!(
        (&node["file_path"], &node["line_start"], &node["line_end"]),
        (&json!("b.rs"), &json!(3), &json!(9))
    );
}

#[test]
fn pk_20_sessions_convert_to_linked_nodes() {
    let content = json!({"session": {
        "task_description": "Move to RS256",
        "findings": [{"summary": "Tokens are HS256"}],
        "decisions": ["Rotate keys each month"],
        "next_steps": ["Write the migration"],
        "files_touched": ["src/auth.rs"]
    }});
    let (nodes, edges) = nodes_and_edges(&graph_of(&content));
    let expected = [
        ("session", "Move to RS256"),
        ("finding", "Tokens are HS256"),
        ("decision", "Rotate keys each month"),
        ("task", "Write the migration"),
    ];
    assert_eq!(nodes, pairs(&expected));
    let linked: Vec<(&str, &str)> =
        edges.iter().map(|(from, _, to)| (from.as_str(), to.as_str())).collect();
    assert_eq!(
        linked,
        expected[1..].iter().map(|(_, content)| ("Move to RS256", *content)).collect::<Vec<_>>()
    );
}

#[test]
fn pk_20_nodes_have_activation_1_and_the_members_of_their_entry() {
    let content = json!({
        "knowledge": {"facts": [{"category": "db", "key": "engine", "value": "PostgreSQL", "confidence": 0.5, "created_at": TIME}]},
        "gotchas": {"gotchas": [{"trigger": "t", "resolution": "r", "severity": "critical", "category": "build"}]}
    });
    let nodes: Vec<Value> = graph_of(&content)
        .nodes
        .iter()
        .map(|node| serde_json::from_str(&node.to_json()).unwrap())
        .collect();
    assert!(nodes.iter().all(|node| node["activation"] == json!(1.0)), "{nodes:?}");
    for (index, member, value) in [
        (0, "category", json!("db")),
        (0, "key", json!("engine")),
        (0, "confidence", json!(0.5)),
        (0, "created_at", json!(TIME)),
        (1, "severity", json!("critical")),
        (1, "category", json!("build")),
    ] {
        assert_eq!(nodes[index][member], value, "{member}");
    }
}

#[test]
fn pk_20_facts_with_equal_values_and_different_keys_stay_separate() {
    let content = json!({"knowledge": {"facts": [{"key": "tls", "value": "yes"}, {"key": "login", "value": "yes"}]}});
    assert_eq!(graph_of(&content).nodes.len(), 2);
}

#[test]
fn pk_20_functions_with_the_same_name_stay_separate() {
    let node = |line: u64| json!({"kind": "function", "name": "new", "file_path": "a.rs", "line_start": line});
    let content = json!({"graph": {"nodes": [node(3), node(30)], "edges": []}});
    assert_eq!(graph_of(&content).nodes.len(), 2);
}
