//! Selection of the nodes that are loaded into an agent's context, within a token budget.

use proptest::prelude::*;
use sp_analyze::graph::{
    ContextFormat, LoadedContext, NodeFilter, OmitReason, SelectionQuery, find_nodes, load_context,
    neighborhood, shortest_path, to_dot, to_mermaid,
};
use sp_analyze::tokens;
use sp_formats::json::{JsonDocument, quoted};
use sp_formats::package::{ConformanceLevel, Graph};
use sp_tree::Limits;

fn graph(nodes: &str, edges: &str) -> JsonDocument {
    let text = format!("{{\"context_graph\":{{\"nodes\":[{nodes}],\"edges\":[{edges}]}}}}");
    JsonDocument::parse(text, &Limits::default()).unwrap()
}

fn load(json: &JsonDocument, budget: usize, focus: &str, at: &str) -> LoadedContext {
    let query = SelectionQuery { budget, focus, at: at.parse().unwrap() };
    load_context(&Graph::from_content(json.root()), &query, ContextFormat::Markdown)
}

const NOW: &str = "2026-06-01T00:00:00Z";

fn selected_ids(json: &JsonDocument, context: &LoadedContext) -> Vec<String> {
    let graph = Graph::from_content(json.root());
    context
        .selection
        .selected
        .iter()
        .map(|ranked| graph.nodes[ranked.node_index].id.clone().into_owned())
        .collect()
}

fn omitted_ids(json: &JsonDocument, context: &LoadedContext, reason: OmitReason) -> Vec<String> {
    let graph = Graph::from_content(json.root());
    let omitted = context.selection.omitted.iter().filter(|(_, why)| *why == reason);
    omitted.map(|(ranked, _)| graph.nodes[ranked.node_index].id.clone().into_owned()).collect()
}

#[test]
fn pk_18_nodes_are_ranked_by_activation_confidence_and_decay() {
    let json = graph(
        r#"{"id":"weak","type":"fact","content":"a","activation":0.2},
           {"id":"strong","type":"fact","content":"b","activation":0.9},
           {"id":"unsure","type":"fact","content":"c","activation":0.9,"confidence":0.1},
           {"id":"old","type":"fact","content":"d","created_at":"2026-01-01T00:00:00Z","decay_half_life_days":10}"#,
        "",
    );
    assert_eq!(
        selected_ids(&json, &load(&json, 1000, "", NOW)),
        ["strong", "weak", "unsure", "old"]
    );
    assert_eq!(
        selected_ids(&json, &load(&json, 1000, "", "2026-01-01T00:00:00Z"))[0],
        "old",
        "the rank depends on the time"
    );
}

#[test]
fn pk_18_nodes_that_match_the_focus_and_their_neighbors_come_first() {
    let json = graph(
        r#"{"id":"db","type":"fact","content":"PostgreSQL 16 with a pool of 20"},
           {"id":"auth","type":"decision","content":"Auth tokens are JWT, signed with RS256"},
           {"id":"keys","type":"gotcha","content":"Rotating keys logs everybody out"},
           {"id":"ui","type":"fact","content":"The pages are rendered on the server"}"#,
        r#"{"from":"auth","to":"keys","type":"depends_on","weight":1.0}"#,
    );
    assert_eq!(selected_ids(&json, &load(&json, 1000, "auth token", NOW))[..2], ["auth", "keys"]);
}

#[test]
fn pk_18_contradicting_nodes_are_selected_together_or_not_at_all() {
    let json = graph(
        r#"{"id":"a","type":"fact","content":"Uses PostgreSQL 16 in every environment that there is"},
           {"id":"b","type":"fact","content":"Uses MySQL 8 in every environment that there is","activation":0.1},
           {"id":"c","type":"fact","content":"Short","activation":0.01}"#,
        r#"{"from":"a","to":"b","type":"contradicts"}"#,
    );
    let complete = load(&json, 1000, "", NOW);
    assert_eq!(complete.selection.selected.len(), 3);
    // The contradicting nodes have their own section, although all three are facts.
    let section = |word: &str| complete.text.split("## ").position(|part| part.contains(word));
    assert_eq!(section("PostgreSQL"), section("MySQL"), "{}", complete.text);
    assert_ne!(section("PostgreSQL"), section("Short"), "{}", complete.text);
    for budget in 0..complete.tokens + 5 {
        let selected = selected_ids(&json, &load(&json, budget, "", NOW));
        assert_eq!(
            selected.contains(&"a".to_owned()),
            selected.contains(&"b".to_owned()),
            "{budget}: {selected:?}"
        );
    }
}

#[test]
fn pk_18_superseded_nodes_are_omitted_with_a_reason() {
    let json = graph(
        r#"{"id":"old","type":"fact","content":"15"},{"id":"new","type":"fact","content":"16","supersedes":"old"},
           {"id":"older","type":"fact","content":"14"}"#,
        r#"{"from":"new","to":"older","type":"supersedes"}"#,
    );
    let complete = load(&json, 1000, "", NOW);
    assert_eq!(selected_ids(&json, &complete), ["new"]);
    assert_eq!(omitted_ids(&json, &complete, OmitReason::Superseded), ["old", "older"]);
    assert_eq!(omitted_ids(&json, &load(&json, 1, "", NOW), OmitReason::OverBudget), ["new"]);
}

#[test]
fn pk_16_level_of_a_graph_and_what_is_missing_for_the_next() {
    let level = |nodes: &str, edges: &str| {
        let json = graph(nodes, edges);
        let level = ConformanceLevel::of(&Graph::from_content(json.root()));
        (level.reached, level.missing)
    };
    let node = r#"{"id":"a","type":"t","content":"c"}"#;
    let edge = r#"{"from":"a","to":"a","type":"t"}"#;
    for nodes in ["", node] {
        let (reached, missing) = level(nodes, "");
        assert_eq!((reached, missing.len()), (1, 1), "{missing:?}");
    }
    let (reached, missing) = level(node, edge);
    assert_eq!(reached, 2);
    let [activation, weight, decay] = &missing[..] else { panic!("{missing:?}") };
    assert!(activation.contains("1 node") && activation.contains("`activation`"), "{missing:?}");
    assert!(weight.contains("1 edge") && weight.contains("`weight`"), "{missing:?}");
    assert!(
        decay.contains("`created_at`") && decay.contains("`decay_half_life_days`"),
        "{missing:?}"
    );
    let full = r#"{"id":"a","type":"t","content":"c","activation":1,"created_at":"2026-01-01T00:00:00Z","decay_half_life_days":9}"#;
    assert_eq!(level(full, r#"{"from":"a","to":"a","type":"t","weight":1}"#), (3, Vec::new()));
}

#[test]
fn pk_22_nodes_are_filtered_and_paths_between_them_are_shortest() {
    let json = graph(
        r#"{"id":"a","type":"fact","content":"The Pool","file_path":"src/db/pool.rs"},{"id":"b","type":"gotcha","content":"x","file_path":"src/dbx.rs"},
           {"id":"c","type":"fact","content":"y"},{"id":"d","type":"fact","content":"z"}"#,
        r#"{"from":"a","to":"b","type":"t"},{"from":"c","to":"b","type":"t"},{"from":"a","to":"a","type":"t"}"#,
    );
    let graph = Graph::from_content(json.root());
    let filter = |kind: Option<&str>, file: Option<&str>, contains: Option<&str>| {
        find_nodes(
            &graph,
            &NodeFilter {
                kind: kind.map(Into::into),
                file: file.map(Into::into),
                contains: contains.map(Into::into),
            },
        )
    };
    assert_eq!(filter(Some("fact"), None, None), [0, 2, 3]);
    assert_eq!(filter(None, Some("src/db"), None), [0], "a directory is not a name prefix");
    assert_eq!(filter(None, Some("src/dbx.rs"), None), [1]);
    assert_eq!(filter(None, None, Some("pool")), [0]);
    assert_eq!(neighborhood(&graph, "a", 1), Some(vec![0, 1]));
    assert_eq!(neighborhood(&graph, "a", 2), Some(vec![0, 1, 2]));
    assert_eq!(neighborhood(&graph, "missing", 1), None);
    assert_eq!(shortest_path(&graph, "a", "c"), Some((vec![0, 1, 2], vec![0, 1])));
    assert_eq!(shortest_path(&graph, "a", "a"), Some((vec![0], Vec::new())));
    assert_eq!(shortest_path(&graph, "a", "d"), None);
}

#[test]
fn pk_22_dot_and_mermaid_output_is_escaped() {
    let json = graph(
        r#"{"id":"a\"]; x","type":"fact","content":"say \"hi\" <b> \\ \u202e"},{"id":"b","type":"t","content":"c"}"#,
        r#"{"from":"a\"]; x","to":"b","type":"contradicts"}"#,
    );
    let graph = Graph::from_content(json.root());
    let dot = to_dot(&graph);
    assert!(dot.contains(r#""a\"]; x" -> "b" [label="contradicts", color=red];"#), "{dot}");
    assert!(dot.contains(r#"say \"hi\" <b>"#) && !dot.contains('\u{202e}'), "{dot}");
    let mermaid = to_mermaid(&graph);
    assert!(
        mermaid.contains("n0[\"fact: say #34;hi#34; #60;b#62;")
            && mermaid.contains("n0 -->|\"contradicts\"| n1"),
        "{mermaid}"
    );
}

prop_compose! {
    fn nodes()(all in prop::collection::vec((".{0,40}", 0..4usize, 0..=10u32), 0..12)) -> Vec<String> {
        let kinds = ["fact", "gotcha", "policy", "odd type\n# x"];
        all.into_iter()
            .enumerate()
            .map(|(index, (content, kind, tenths))| {
                format!(
                    r#"{{"id":"n{index}","type":{},"content":{},"activation":{}}}"#,
                    quoted(kinds[kind]), quoted(&content), f64::from(tenths) / 10.0
                )
            })
            .collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn pk_18_budget_is_respected_and_every_node_is_selected_or_omitted(
        nodes in nodes(),
        edges_in in prop::collection::vec((0..12usize, 0..12usize, 0..3usize), 0..6),
        budget in 0..200usize,
        focus in "[a-c ]{0,6}",
        xml: bool,
    ) {
        let kinds = ["contradicts", "supports", "supersedes"];
        let edges: Vec<String> = edges_in
            .iter()
            .map(|(from, to, kind)| format!(r#"{{"from":"n{from}","to":"n{to}","type":"{}"}}"#, kinds[*kind]))
            .collect();
        let json = graph(&nodes.join(","), &edges.join(","));
        let query = SelectionQuery { budget, focus: &focus, at: NOW.parse().unwrap() };
        let format = if xml { ContextFormat::Xml } else { ContextFormat::Markdown };
        let graph = Graph::from_content(json.root());
        let result = load_context(&graph, &query, format);
        prop_assert!(result.tokens <= budget, "{} of {budget}", result.tokens);
        prop_assert_eq!(tokens::count(&result.text), result.tokens);
        prop_assert_eq!(result.selection.selected.len() + result.selection.omitted.len(), graph.nodes.len());
        prop_assert_eq!(load_context(&graph, &query, format), result);
    }
}
