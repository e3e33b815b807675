//! The layers of schema 1 as nodes and edges.

use sp_formats::json::JsonDocument;
use sp_formats::package::{GraphBuilder, layers_to_graph};

use super::*;

/// Types and contents of nodes.
type Nodes = Vec<(String, String)>;
/// Edges, by what their ends say.
type Edges = Vec<(String, String, String)>;

/// What a graph says, without ids.
fn said(graph: &GraphBuilder) -> (Nodes, Edges) {
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

fn graph_of(content: &Plain) -> GraphBuilder {
    let json = JsonDocument::parse(content.to_string(), &limits()).unwrap();
    layers_to_graph(json.root())
}

fn pairs(list: &[(&str, &str)]) -> Nodes {
    list.iter().map(|(kind, content)| ((*kind).to_owned(), (*content).to_owned())).collect()
}

#[test]
fn pk_20_every_layer_becomes_nodes_of_its_types() {
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
        assert_eq!(said(&graph_of(&layer)), (pairs(&expected), Vec::new()), "{layer}");
    }
}

#[test]
fn pk_20_code_keeps_its_places_and_its_typed_edges() {
    let node = |kind: &str, name: &str, file: &str| json!({"kind": kind, "name": name, "file_path": file, "line_start": 3, "line_end": 9});
    let edge = |name: &str, kind: &str| json!({"source_path": "a.rs", "source_name": "main", "target_path": "b.rs", "target_name": name, "kind": kind});
    let content = json!({"graph": {
        "nodes": [node("function", "main", "a.rs"), node("struct", "Shop", "b.rs"), node("function", "main", "b.rs")],
        "edges": [edge("Shop", "uses"), edge("main", "calls"), edge("gone", "calls")]
    }});
    let graph = graph_of(&content);
    let (nodes, edges) = said(&graph);
    assert_eq!(
        nodes,
        pairs(&[("code_function", "main"), ("code_struct", "Shop"), ("code_function", "main")])
    );
    let edge = |to: &str, kind: &str| ("main".to_owned(), kind.to_owned(), to.to_owned());
    assert_eq!(
        edges,
        [edge("Shop", "uses"), edge("main", "calls")],
        "an edge to what is not there is no edge"
    );
    let made: Plain = serde_json::from_str(&graph.nodes[1].to_json()).unwrap();
    assert_eq!(
        (&made["file_path"], &made["line_start"], &made["line_end"]),
        (&json!("b.rs"), &json!(3), &json!(9))
    );
}

#[test]
fn pk_20_a_session_becomes_a_node_with_what_was_found_decided_and_left_to_do() {
    let content = json!({"session": {
        "task_description": "Move to RS256",
        "findings": [{"summary": "Tokens are HS256"}],
        "decisions": ["Rotate keys each month"],
        "next_steps": ["Write the migration"],
        "files_touched": ["src/auth.rs"]
    }});
    let (nodes, edges) = said(&graph_of(&content));
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
        expected[1..].iter().map(|(_, said)| ("Move to RS256", *said)).collect::<Vec<_>>()
    );
}

#[test]
fn pk_20_every_node_has_the_activation_1_and_what_its_entry_said() {
    let content = json!({
        "knowledge": {"facts": [{"category": "db", "key": "engine", "value": "PostgreSQL", "confidence": 0.5, "created_at": TIME}]},
        "gotchas": {"gotchas": [{"trigger": "t", "resolution": "r", "severity": "critical", "category": "build"}]}
    });
    let nodes: Vec<Plain> = graph_of(&content)
        .nodes
        .iter()
        .map(|node| serde_json::from_str(&node.to_json()).unwrap())
        .collect();
    assert!(nodes.iter().all(|node| node["activation"] == json!(1.0)), "{nodes:?}");
    for (at, member, value) in [
        (0, "category", json!("db")),
        (0, "key", json!("engine")),
        (0, "confidence", json!(0.5)),
        (0, "created_at", json!(TIME)),
        (1, "severity", json!("critical")),
        (1, "category", json!("build")),
    ] {
        assert_eq!(nodes[at][member], value, "{member}");
    }
}

#[test]
fn pk_20_two_facts_that_say_the_same_of_two_things_are_two_nodes() {
    let content = json!({"knowledge": {"facts": [{"key": "tls", "value": "yes"}, {"key": "login", "value": "yes"}]}});
    assert_eq!(graph_of(&content).nodes.len(), 2);
}

#[test]
fn pk_20_two_functions_of_one_name_in_one_file_are_two_nodes() {
    let node = |line: u64| json!({"kind": "function", "name": "new", "file_path": "a.rs", "line_start": line});
    let content = json!({"graph": {"nodes": [node(3), node(30)], "edges": []}});
    assert_eq!(graph_of(&content).nodes.len(), 2);
}
