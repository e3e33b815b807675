//! Merging is commutative, associative and idempotent, and loses nothing.

use std::collections::BTreeSet;

use proptest::prelude::*;
use sp_analyze::graph::{MergeInput, MergedGraph, NodeIdScheme, merge};
use sp_formats::json::{JsonDocument, JsonValue};
use sp_formats::package::Graph;
use sp_tree::{Digest, Limits};

/// The content of a package, and whether its IDs are meaningful in other packages.
#[derive(Debug, Clone)]
struct Source {
    content: String,
    ids: NodeIdScheme,
}

fn parse(text: &str) -> JsonDocument {
    JsonDocument::parse(text, &Limits::default()).unwrap()
}

fn merged(sources: &[Source]) -> MergedGraph {
    let documents: Vec<JsonDocument> =
        sources.iter().map(|source| parse(&source.content)).collect();
    let inputs: Vec<MergeInput<'_>> = sources
        .iter()
        .zip(&documents)
        .map(|(source, json)| MergeInput {
            source: Digest::of(source.content.as_bytes()).hex()[..16].to_owned(),
            label: "a package".into(),
            id_scheme: source.ids,
            content: json.root(),
        })
        .collect();
    merge(&inputs)
}

/// Converts a merged graph to a source, to merge it again.
fn as_source(merged: &MergedGraph) -> Source {
    Source {
        content: format!("{{\"context_graph\":{}}}", merged.graph.json),
        ids: NodeIdScheme::Global,
    }
}

fn source(nodes: &str, edges: &str) -> Source {
    let content = format!("{{\"context_graph\":{{\"nodes\":[{nodes}],\"edges\":[{edges}]}}}}");
    Source { content, ids: NodeIdScheme::Global }
}

/// Returns the node with this content.
fn node<'j>(json: &'j JsonDocument, content: &str) -> JsonValue<'j> {
    Graph::from_content(json.root())
        .nodes
        .into_iter()
        .find(|node| node.content == content)
        .unwrap()
        .value
}

fn number(value: JsonValue<'_>, key: &str) -> f64 {
    value.get(key).and_then(JsonValue::as_f64).unwrap()
}

#[test]
fn pk_19_shared_nodes_keep_maximum_scores_and_all_members() {
    let a = source(
        r#"{"id":"F","type":"fact","content":"x","activation":0.3,"confidence":0.9,"source":"a"}"#,
        "",
    );
    let b = source(
        r#"{"id":"F","type":"fact","content":"x","activation":0.7,"category":"db","custom":[1.0,1e0]}"#,
        "",
    );
    let merged_graph = merged(&[a, b]);
    let json = parse(&as_source(&merged_graph).content);
    let shared = node(&json, "x");
    assert_eq!((number(shared, "activation"), number(shared, "confidence")), (0.7, 0.9));
    assert!(
        shared.get("category").unwrap().eq_str("db") && shared.get("source").unwrap().eq_str("a")
    );
    assert!(shared.get("custom").is_some());
    assert_eq!((merged_graph.graph.node_count, merged_graph.shared), (1, vec!["F".to_owned()]));
}

#[test]
fn pk_19_nodes_with_the_same_id_and_different_contents_contradict() {
    let a = source(r#"{"id":"F","type":"fact","content":"Uses MySQL","activation":0.4}"#, "");
    let b = source(
        r#"{"id":"F","type":"fact","content":"Uses PostgreSQL","activation":0.9},{"id":"G","type":"gotcha","content":"g"}"#,
        r#"{"from":"F","to":"G","type":"supports"}"#,
    );
    let merged_graph = merged(&[a, b]);
    let json = parse(&as_source(&merged_graph).content);
    let (mysql, postgres) = (node(&json, "Uses MySQL"), node(&json, "Uses PostgreSQL"));
    assert!(postgres.get("id").unwrap().eq_str("F"), "the more active node keeps the ID");
    assert!(mysql.get("variant_of").unwrap().eq_str("F"));
    let graph = Graph::from_content(json.root());
    let edges: Vec<_> = graph
        .edges
        .iter()
        .map(|edge| (&*edge.from, &*edge.kind, edge.to.starts_with("F~")))
        .collect();
    assert_eq!(edges, [("F", "contradicts", true), ("F", "supports", false)]);
    let contradiction = &merged_graph.contradictions[0];
    assert_eq!(
        (contradiction.from_content.as_str(), contradiction.to_content.as_str()),
        ("Uses PostgreSQL", "Uses MySQL")
    );
    assert!(contradiction.same_id);
}

#[test]
fn pk_19_shared_edges_average_weights_and_sum_coactivations() {
    let edge = |weight: f64, count: u32| {
        let nodes =
            r#"{"id":"A","type":"fact","content":"a"},{"id":"B","type":"fact","content":"b"}"#;
        source(
            nodes,
            &format!(
                r#"{{"from":"A","to":"B","type":"supports","weight":{weight},"coactivations":{count}}}"#
            ),
        )
    };
    let [a, b, c] = [edge(0.2, 1), edge(0.4, 2), edge(0.9, 4)];
    let pair = as_source(&merged(&[a.clone(), b.clone()]));
    for sources in [vec![a.clone(), b, c.clone()], vec![pair.clone(), c.clone()], vec![c, pair, a]]
    {
        let json = parse(&as_source(&merged(&sources)).content);
        let edge = Graph::from_content(json.root()).edges[0].value;
        assert!((number(edge, "weight") - 0.5).abs() < 1e-12);
        assert_eq!(number(edge, "coactivations"), 7.0);
    }
}

#[test]
fn pk_19_superseded_nodes_are_kept_with_activation_0() {
    let by_field = source(
        r#"{"id":"old","type":"fact","content":"15"},{"id":"new","type":"fact","content":"16","supersedes":"old"}"#,
        "",
    );
    let by_edge = source(
        r#"{"id":"old","type":"fact","content":"15"},{"id":"newer","type":"fact","content":"17"}"#,
        r#"{"from":"newer","to":"old","type":"supersedes"}"#,
    );
    for sources in [vec![by_field.clone()], vec![by_edge.clone()], vec![by_field, by_edge]] {
        let merged_graph = merged(&sources);
        let json = parse(&as_source(&merged_graph).content);
        assert_eq!(number(node(&json, "15"), "activation"), 0.0);
        assert_eq!(merged_graph.superseded.len(), sources.len());
        assert!(merged_graph.superseded.iter().all(|(old, _)| old == "old"));
    }
}

#[test]
fn pk_19_sequential_ids_match_only_with_equal_type_and_content() {
    let sequential = |nodes: &str| Source { ids: NodeIdScheme::Sequential, ..source(nodes, "") };
    let a = sequential(
        r#"{"id":"N1","type":"fact","content":"x"},{"id":"N2","type":"fact","content":"y"}"#,
    );
    let b = sequential(
        r#"{"id":"N1","type":"fact","content":"y"},{"id":"N2","type":"fact","content":"z"}"#,
    );
    let merged_graph = merged(&[a, b]);
    assert_eq!(
        (
            merged_graph.graph.node_count,
            merged_graph.shared.len(),
            merged_graph.contradictions.len()
        ),
        (3, 1, 0)
    );
    assert_eq!(
        NodeIdScheme::of(&Graph::from_content(
            parse(r#"{"context_graph":{"nodes":[{"id":"N1","type":"t","content":"c"}]}}"#).root()
        )),
        NodeIdScheme::Sequential
    );
    assert_eq!(
        NodeIdScheme::of(&Graph::from_content(
            parse(r#"{"context_graph":{"nodes":[{"id":"N1a","type":"t","content":"c"}]}}"#).root()
        )),
        NodeIdScheme::Global
    );
}

prop_compose! {
    fn nodes()(
        values in prop::collection::vec((0..5usize, 0..2usize, 0..3usize, prop::option::of(0..=10u32), prop::option::of(0..=10u32), prop::option::of(0..5usize), prop::option::of(0..3usize)), 0..6),
    ) -> Vec<(usize, String)> {
        let mut nodes: Vec<(usize, String)> = Vec::new();
        for (id, kind, content, activation, confidence, supersedes, category) in values {
            if nodes.iter().any(|(known, _)| *known == id) {
                continue;
            }
            let mut text = format!(r#"{{"id":"n{id}","type":"t{kind}","content":"c{content}""#);
            if let Some(tenths) = activation {
                text += &format!(r#","activation":{}"#, f64::from(tenths) / 10.0);
            }
            if let Some(tenths) = confidence {
                text += &format!(r#","confidence":{}"#, f64::from(tenths) / 10.0);
            }
            if let Some(old) = supersedes {
                text += &format!(r#","supersedes":"n{old}""#);
            }
            if let Some(category) = category {
                text += &format!(r#","category":"k{category}""#);
            }
            nodes.push((id, text + "}"));
        }
        nodes
    }
}

prop_compose! {
    fn sources()(
        nodes in nodes(),
        edges_in in prop::collection::vec((0..6usize, 0..6usize, 0..3usize, prop::option::of(0..=10u32), prop::option::of(0..4u32)), 0..6),
        sequential in prop::bool::weighted(0.2),
    ) -> Source {
        let kinds = ["supports", "contradicts", "supersedes"];
        let ids: Vec<usize> = nodes.iter().map(|(id, _)| *id).collect();
        let edges: Vec<String> = edges_in
            .into_iter()
            .filter(|_| !ids.is_empty())
            .map(|(from, to, kind, weight, count)| {
                let (from, to) = (ids[from % ids.len()], ids[to % ids.len()]);
                let mut text = format!(r#"{{"from":"n{from}","to":"n{to}","type":"{}""#, kinds[kind]);
                if let Some(tenths) = weight {
                    text += &format!(r#","weight":{}"#, f64::from(tenths) / 10.0);
                }
                if let Some(count) = count {
                    text += &format!(r#","coactivations":{count}"#);
                }
                text + "}"
            })
            .collect();
        let nodes: Vec<String> = nodes.into_iter().map(|(_, text)| text).collect();
        let ids = if sequential { NodeIdScheme::Sequential } else { NodeIdScheme::Global };
        Source { ids, ..source(&nodes.join(","), &edges.join(",")) }
    }
}

type Nodes = BTreeSet<(String, String)>;
type Edges = BTreeSet<(String, String, String)>;

/// Returns type and content of all nodes, and the type and both contents of all edges.
fn nodes_and_edges(json: &JsonDocument) -> (Nodes, Edges) {
    let graph = Graph::from_content(json.root());
    let content = |id: &str| {
        graph.nodes.iter().find(|node| node.id == id).map(|node| node.content.clone().into_owned())
    };
    let nodes = graph
        .nodes
        .iter()
        .map(|node| (node.kind.clone().into_owned(), node.content.clone().into_owned()))
        .collect();
    let edges = graph
        .edges
        .iter()
        .filter_map(|edge| {
            Some((content(&edge.from)?, edge.kind.clone().into_owned(), content(&edge.to)?))
        })
        .collect();
    (nodes, edges)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn pk_19_merging_is_commutative_and_associative(inputs in prop::collection::vec(sources(), 1..5), seed in any::<u64>()) {
        let expected = merged(&inputs).graph;
        let mut reordered = inputs.clone();
        reordered.rotate_left(usize::try_from(seed % 7).unwrap() % inputs.len());
        prop_assert_eq!(&merged(&reordered).graph, &expected);
        reordered.reverse();
        prop_assert_eq!(&merged(&reordered).graph, &expected);
        let middle = usize::try_from(seed % inputs.len() as u64).unwrap();
        let (left, right) = inputs.split_at(middle);
        if !left.is_empty() {
            let grouped = [as_source(&merged(left)), as_source(&merged(right))];
            prop_assert_eq!(&merged(&grouped).graph, &expected);
            let mut nested = vec![as_source(&merged(left))];
            nested.extend(right.iter().cloned());
            prop_assert_eq!(&merged(&nested).graph, &expected);
        }
    }

    #[test]
    fn pk_19_merging_is_idempotent(inputs in prop::collection::vec(sources(), 1..4)) {
        let expected = merged(&inputs);
        let mut duplicated = inputs.clone();
        duplicated.extend(inputs.iter().cloned());
        prop_assert_eq!(&merged(&duplicated).graph, &expected.graph);
        prop_assert_eq!(&merged(&[as_source(&expected)]).graph, &expected.graph);
        prop_assert_eq!(&merged(&[inputs[0].clone(), as_source(&expected)]).graph, &expected.graph);
    }

    #[test]
    fn pk_19_merging_loses_no_nodes_or_edges(inputs in prop::collection::vec(sources(), 1..4)) {
        let merged_json = parse(&as_source(&merged(&inputs)).content);
        let (nodes, edges) = nodes_and_edges(&merged_json);
        for source in &inputs {
            let (own_nodes, own_edges) = nodes_and_edges(&parse(&source.content));
            prop_assert!(own_nodes.is_subset(&nodes));
            prop_assert!(own_edges.is_subset(&edges));
        }
    }
}
