//! Renders a graph as an interactive HTML page: one file without external resources.
//!
//! The content of a package is untrusted. It is embedded as JSON that cannot end its element, the
//! script renders it as text, and the content security policy allows only the embedded script and
//! style.

use std::borrow::Cow;
use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::Serialize;
use sp_tree::Digest;

use super::activation_at;
use super::select::superseded_nodes;
use sp_formats::json::JsonValue;
use sp_formats::package::{Graph, GraphNode};
use sp_formats::printable::{printable, printable_text};
use sp_formats::text::escape_markup;
use sp_formats::time::format_seconds;

const HTML: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(
    include_str!("graph.js"),
    include_str!("layout.js"),
    include_str!("view.js"),
    include_str!("page.js")
);

/// Renders a graph as a page, with activations as of `at`.
pub fn render_page(graph: &Graph<'_>, title: &str, at: Timestamp) -> String {
    let title = printable(title);
    fill_template(&|part| match part {
        "policy" => content_security_policy(),
        "title" => escape_markup(&title).into(),
        "style" => STYLE.into(),
        "script" => SCRIPT.into(),
        "data" => to_script_json(&GraphPageData::of(graph, &title, at)),
        _ => String::new(),
    })
}

/// Fills in the `{{part}}` placeholders. Inserted text is not scanned again.
fn fill_template(part: &dyn Fn(&str) -> String) -> String {
    let mut pieces = HTML.split("{{");
    let mut page = String::from(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (name, rest) = piece.split_once("}}").unwrap_or((piece, ""));
        page += &part(name);
        page += rest;
    }
    page
}

/// Allows no requests, and only the script and style with these hashes.
fn content_security_policy() -> String {
    let hash = |text: &str| {
        format!("'sha256-{}'", STANDARD.encode(Digest::of(text.as_bytes()).as_bytes()))
    };
    format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    )
}

/// JSON that cannot end a script element or a script line.
fn to_script_json(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).unwrap_or_else(|_| "null".into());
    let mut safe = String::with_capacity(json.len() + json.len() / 16);
    for c in json.chars() {
        match c {
            '<' => safe.push_str("\\u003c"),
            '>' => safe.push_str("\\u003e"),
            '&' => safe.push_str("\\u0026"),
            '\u{2028}' => safe.push_str("\\u2028"),
            '\u{2029}' => safe.push_str("\\u2029"),
            c => safe.push(c),
        }
    }
    safe
}

/// The data that the page's script reads.
#[derive(Serialize)]
struct GraphPageData<'a> {
    title: &'a str,
    /// The time at which activations are computed.
    at: String,
    nodes: Vec<GraphPageNode<'a>>,
    /// `(from, to, type)`, with nodes by index.
    edges: Vec<(usize, usize, Cow<'a, str>)>,
}

#[derive(Serialize)]
struct GraphPageNode<'a> {
    id: Cow<'a, str>,
    #[serde(rename = "type")]
    kind: Cow<'a, str>,
    text: String,
    /// Activation at that time; `stored` is the one in the graph.
    now: f64,
    stored: Option<f64>,
    confidence: Option<f64>,
    file: Option<String>,
    /// First and last line.
    lines: (Option<u64>, Option<u64>),
    created: Option<String>,
    superseded: bool,
}

impl<'a> GraphPageData<'a> {
    fn of(graph: &'a Graph<'_>, title: &'a str, at: Timestamp) -> Self {
        let places: HashMap<&str, usize> =
            graph.nodes.iter().enumerate().map(|(at, node)| (&*node.id, at)).collect();
        let mut nodes: Vec<_> =
            graph.nodes.iter().map(|node| GraphPageNode::of(node, at)).collect();
        for (node, is_old) in nodes.iter_mut().zip(superseded_nodes(graph)) {
            node.superseded = is_old;
        }
        let edges = graph.edges.iter().filter_map(|edge| {
            Some((*places.get(&*edge.from)?, *places.get(&*edge.to)?, printable(&edge.kind)))
        });
        Self { title, at: format_seconds(at), nodes, edges: edges.collect() }
    }
}

impl<'a> GraphPageNode<'a> {
    fn of(node: &'a GraphNode<'_>, at: Timestamp) -> Self {
        let number = |key: &str| {
            node.value.get(key).and_then(JsonValue::as_f64).filter(|number| number.is_finite())
        };
        let text = |key: &str| {
            node.value.get(key).and_then(JsonValue::text).map(|text| printable(&text).into_owned())
        };
        let integer = |key: &str| node.value.get(key).and_then(JsonValue::as_u64);
        Self {
            id: printable(&node.id),
            kind: printable(&node.kind),
            text: printable_text(&node.content),
            now: activation_at(node.value, at),
            stored: number("activation"),
            confidence: number("confidence"),
            file: text("file_path"),
            lines: (integer("line_start"), integer("line_end")),
            created: text("created_at"),
            superseded: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sp_formats::json::JsonDocument;
    use sp_tree::Limits;

    const GENERATED_AT: &str = "2026-01-11T00:00:00Z";

    fn page_for(content: &str, title: &str) -> String {
        let json =
            JsonDocument::parse(format!("{{\"context_graph\":{content}}}"), &Limits::default())
                .unwrap();
        render_page(&Graph::from_content(json.root()), title, GENERATED_AT.parse().unwrap())
    }

    fn page_data(page: &str) -> serde_json::Value {
        let (_, rest) = page.split_once("type=\"application/json\">").unwrap();
        serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
    }

    #[test]
    fn pk_15_page_contains_all_nodes_and_edges() {
        let page = page_for(
            r#"{"nodes":[{"id":"a","type":"fact","content":"one\n\ttwo","file_path":"src/a.rs","line_start":3,"line_end":9},
                {"id":"b","type":"fact","content":"x"}],
              "edges":[{"from":"b","to":"a","type":"supersedes"},{"from":"b","to":"gone","type":"supports"}]}"#,
            "shop 1.0.0",
        );
        let data = page_data(&page);
        assert_eq!(data["nodes"][0]["text"], "one\n\ttwo");
        assert_eq!(data["nodes"][0]["lines"], serde_json::json!([3, 9]));
        assert_eq!(
            (&data["nodes"][0]["superseded"], &data["nodes"][1]["superseded"]),
            (&true.into(), &false.into())
        );
        assert_eq!(data["edges"], serde_json::json!([[1, 0, "supersedes"]]));
    }

    #[test]
    fn pk_17_page_shows_current_and_stored_activation() {
        let page = page_for(
            r#"{"nodes":[{"id":"a","type":"fact","content":"","activation":0.8,"created_at":"2026-01-01T00:00:00Z","decay_half_life_days":10}],"edges":[]}"#,
            "",
        );
        let data = page_data(&page);
        assert_eq!(
            (&data["nodes"][0]["now"], &data["nodes"][0]["stored"]),
            (&0.4.into(), &0.8.into())
        );
        assert_eq!(data["at"], GENERATED_AT);
    }

    #[test]
    fn package_content_cannot_escape_the_page_data() {
        let hostile = "</script><script>alert(1)</script><!--&amp;\\u2028]]>{{script}}";
        let node = serde_json::json!({"id": hostile, "type": hostile, "content": hostile, "file_path": hostile});
        let page = page_for(&format!("{{\"nodes\":[{node}],\"edges\":[]}}"), hostile);
        assert_eq!(page.matches("<script").count(), 2, "only the data block and the page script");
        assert_eq!(page.matches("</script>").count(), 2);
        assert!(!page.contains("alert(1)</"));
        assert_eq!(page_data(&page)["nodes"][0]["text"], hostile);
    }

    #[test]
    fn policy_contains_hashes_of_embedded_style_and_script() {
        let page = page_for("{}", "");
        for (start, end) in [("<style>", "</style>"), ("<script type=\"module\">", "</script>")] {
            let text = page.split_once(start).unwrap().1.split_once(end).unwrap().0;
            let hash = STANDARD.encode(Digest::of(text.as_bytes()).as_bytes());
            assert!(page.contains(&format!("'sha256-{hash}'")), "{start}");
        }
        assert!(
            !page.contains("://") && !page.contains("{{"),
            "external URL or unfilled placeholder"
        );
    }
}
