//! The laws of merging: any order, any grouping, twice or once, and nothing is lost.
#![expect(clippy::unwrap_used, reason = "a test arranges its world with the plain calls")]

use std::collections::BTreeSet;

use proptest::prelude::*;
use sp_analyze::graph::{MergeInput, MergedGraph, NodeIdScheme, merge};
use sp_formats::json::{JsonDocument, JsonValue};
use sp_formats::package::Graph;
use sp_tree::{Digest, Limits};

/// A package of a test: its content, and whether its ids mean something elsewhere.
#[derive(Debug, Clone)]
struct Source {
    content: String,
    ids: NodeIdScheme,
}

fn read(text: &str) -> JsonDocument {
    JsonDocument::parse(text, &Limits::default()).unwrap()
}

fn merged(sources: &[Source]) -> MergedGraph {
    let texts: Vec<JsonDocument> = sources.iter().map(|source| read(&source.content)).collect();
    let voices: Vec<MergeInput<'_>> = sources
        .iter()
        .zip(&texts)
        .map(|(source, json)| MergeInput {
            source: Digest::of(source.content.as_bytes()).hex()[..16].to_owned(),
            label: "a package".into(),
            id_scheme: source.ids,
            content: json.root(),
        })
        .collect();
    merge(&voices)
}

/// A merged graph as the content of a package, to be merged again.
fn again(merged: &MergedGraph) -> Source {
    Source {
        content: format!("{{\"context_graph\":{}}}", merged.graph.json),
        ids: NodeIdScheme::Global,
    }
}

fn source(nodes: &str, edges: &str) -> Source {
    let content = format!("{{\"context_graph\":{{\"nodes\":[{nodes}],\"edges\":[{edges}]}}}}");
    Source { content, ids: NodeIdScheme::Global }
}

/// Every node of a merged graph, by what it says.
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
fn pk_19_a_shared_node_keeps_the_higher_activation_and_confidence_and_missing_members_are_filled() {
    let a = source(
        r#"{"id":"F","type":"fact","content":"x","activation":0.3,"confidence":0.9,"source":"a"}"#,
        "",
    );
    let b = source(
        r#"{"id":"F","type":"fact","content":"x","activation":0.7,"category":"db","custom":[1.0,1e0]}"#,
        "",
    );
    let all = merged(&[a, b]);
    let json = read(&again(&all).content);
    let shared = node(&json, "x");
    assert_eq!((number(shared, "activation"), number(shared, "confidence")), (0.7, 0.9));
    assert!(
        shared.get("category").unwrap().eq_str("db") && shared.get("source").unwrap().eq_str("a")
    );
    assert!(shared.get("custom").is_some());
    assert_eq!((all.graph.node_count, all.shared), (1, vec!["F".to_owned()]));
}

#[test]
fn pk_19_one_id_with_two_contents_is_kept_twice_and_contradicts_itself() {
    let a = source(r#"{"id":"F","type":"fact","content":"Uses MySQL","activation":0.4}"#, "");
    let b = source(
        r#"{"id":"F","type":"fact","content":"Uses PostgreSQL","activation":0.9},{"id":"G","type":"gotcha","content":"g"}"#,
        r#"{"from":"F","to":"G","type":"supports"}"#,
    );
    let all = merged(&[a, b]);
    let json = read(&again(&all).content);
    let (mysql, postgres) = (node(&json, "Uses MySQL"), node(&json, "Uses PostgreSQL"));
    assert!(postgres.get("id").unwrap().eq_str("F"), "the more active keeps the id");
    assert!(mysql.get("variant_of").unwrap().eq_str("F"));
    let graph = Graph::from_content(json.root());
    let edges: Vec<_> = graph
        .edges
        .iter()
        .map(|edge| (&*edge.from, &*edge.kind, edge.to.starts_with("F~")))
        .collect();
    assert_eq!(edges, [("F", "contradicts", true), ("F", "supports", false)]);
    let told = &all.contradictions[0];
    assert_eq!(
        (told.from_content.as_str(), told.to_content.as_str()),
        ("Uses PostgreSQL", "Uses MySQL")
    );
    assert!(told.same_id);
}

#[test]
fn pk_19_shared_edges_average_their_weights_over_all_and_sum_what_was_used_together() {
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
    let pair = again(&merged(&[a.clone(), b.clone()]));
    for sources in [vec![a.clone(), b, c.clone()], vec![pair.clone(), c.clone()], vec![c, pair, a]]
    {
        let json = read(&again(&merged(&sources)).content);
        let edge = Graph::from_content(json.root()).edges[0].value;
        assert!((number(edge, "weight") - 0.5).abs() < 1e-12);
        assert_eq!(number(edge, "coactivations"), 7.0);
    }
}

#[test]
fn pk_19_what_is_superseded_stays_and_is_no_longer_active() {
    let by_field = source(
        r#"{"id":"old","type":"fact","content":"15"},{"id":"new","type":"fact","content":"16","supersedes":"old"}"#,
        "",
    );
    let by_edge = source(
        r#"{"id":"old","type":"fact","content":"15"},{"id":"newer","type":"fact","content":"17"}"#,
        r#"{"from":"newer","to":"old","type":"supersedes"}"#,
    );
    for sources in [vec![by_field.clone()], vec![by_edge.clone()], vec![by_field, by_edge]] {
        let all = merged(&sources);
        let json = read(&again(&all).content);
        assert_eq!(number(node(&json, "15"), "activation"), 0.0);
        assert_eq!(all.superseded.len(), sources.len());
        assert!(all.superseded.iter().all(|(old, _)| old == "old"));
    }
}

#[test]
fn pk_19_counted_ids_mean_nothing_elsewhere_unless_type_and_content_agree() {
    let counted = |nodes: &str| Source { ids: NodeIdScheme::Sequential, ..source(nodes, "") };
    let a = counted(
        r#"{"id":"N1","type":"fact","content":"x"},{"id":"N2","type":"fact","content":"y"}"#,
    );
    let b = counted(
        r#"{"id":"N1","type":"fact","content":"y"},{"id":"N2","type":"fact","content":"z"}"#,
    );
    let all = merged(&[a, b]);
    assert_eq!((all.graph.node_count, all.shared.len(), all.contradictions.len()), (3, 1, 0));
    assert_eq!(
        NodeIdScheme::of(&Graph::from_content(
            read(r#"{"context_graph":{"nodes":[{"id":"N1","type":"t","content":"c"}]}}"#).root()
        )),
        NodeIdScheme::Sequential
    );
    assert_eq!(
        NodeIdScheme::of(&Graph::from_content(
            read(r#"{"context_graph":{"nodes":[{"id":"N1a","type":"t","content":"c"}]}}"#).root()
        )),
        NodeIdScheme::Global
    );
}

prop_compose! {
    fn nodes()(
        all in prop::collection::vec((0..5usize, 0..2usize, 0..3usize, prop::option::of(0..=10u32), prop::option::of(0..=10u32), prop::option::of(0..5usize), prop::option::of(0..3usize)), 0..6),
    ) -> Vec<(usize, String)> {
        let mut nodes: Vec<(usize, String)> = Vec::new();
        for (id, kind, content, activation, confidence, supersedes, category) in all {
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
        ties in prop::collection::vec((0..6usize, 0..6usize, 0..3usize, prop::option::of(0..=10u32), prop::option::of(0..4u32)), 0..6),
        counted in prop::bool::weighted(0.2),
    ) -> Source {
        let kinds = ["supports", "contradicts", "supersedes"];
        let ids: Vec<usize> = nodes.iter().map(|(id, _)| *id).collect();
        let edges: Vec<String> = ties
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
        let ids = if counted { NodeIdScheme::Sequential } else { NodeIdScheme::Global };
        Source { ids, ..source(&nodes.join(","), &edges.join(",")) }
    }
}

type Nodes = BTreeSet<(String, String)>;
type Edges = BTreeSet<(String, String, String)>;

/// Type and content of every node, and both ends' contents and the type of every edge.
fn said(json: &JsonDocument) -> (Nodes, Edges) {
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
    fn pk_19_any_order_and_any_grouping_give_the_same_graph(all in prop::collection::vec(sources(), 1..5), seed in any::<u64>()) {
        let whole = merged(&all).graph;
        let mut turned = all.clone();
        turned.rotate_left(usize::try_from(seed % 7).unwrap() % all.len());
        prop_assert_eq!(&merged(&turned).graph, &whole);
        turned.reverse();
        prop_assert_eq!(&merged(&turned).graph, &whole);
        let cut = usize::try_from(seed % all.len() as u64).unwrap();
        let (left, right) = all.split_at(cut);
        if !left.is_empty() {
            let grouped = [again(&merged(left)), again(&merged(right))];
            prop_assert_eq!(&merged(&grouped).graph, &whole);
            let mut nested = vec![again(&merged(left))];
            nested.extend(right.iter().cloned());
            prop_assert_eq!(&merged(&nested).graph, &whole);
        }
    }

    #[test]
    fn pk_19_what_was_merged_before_changes_nothing(all in prop::collection::vec(sources(), 1..4)) {
        let whole = merged(&all);
        let mut twice = all.clone();
        twice.extend(all.iter().cloned());
        prop_assert_eq!(&merged(&twice).graph, &whole.graph);
        prop_assert_eq!(&merged(&[again(&whole)]).graph, &whole.graph);
        prop_assert_eq!(&merged(&[all[0].clone(), again(&whole)]).graph, &whole.graph);
    }

    #[test]
    fn pk_19_nothing_is_lost(all in prop::collection::vec(sources(), 1..4)) {
        let whole = read(&again(&merged(&all)).content);
        let (nodes, edges) = said(&whole);
        for source in &all {
            let (own_nodes, own_edges) = said(&read(&source.content));
            prop_assert!(own_nodes.is_subset(&nodes));
            prop_assert!(own_edges.is_subset(&edges));
        }
    }
}
