//! Renders the most active nodes of a graph as a static SVG for embedding in a page.
//!
//! The SVG contains no colors and no script. Node kinds are classes (`kind-0`, `kind-1`, …) that
//! the page styles.

use std::collections::HashMap;
use std::fmt::Write;

use sp_formats::json::JsonValue;
use sp_formats::package::{Graph, GraphNode};
use sp_formats::printable::printable;
use sp_formats::text::{escape_markup, pluralize, truncate_line};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
/// Distance to the border, so that circles and labels are not clipped.
const MARGIN: f64 = 34.0;
/// Number of layout iterations.
const LAYOUT_ROUNDS: u32 = 160;
/// Maximum length of tooltips and labels.
const MAX_TITLE_CHARS: usize = 160;
const MAX_LABEL_CHARS: usize = 26;
/// Maximum number of nodes with a label.
const MAX_LABELED_NODES: usize = 14;
/// Further kinds share the last class.
const MAX_KIND_CLASSES: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphSvg {
    pub svg: String,
    /// Number of nodes shown.
    pub shown: usize,
    /// The kind behind each class with its node count in the whole graph, most frequent first.
    pub kinds: Vec<(String, usize)>,
}

/// Draws at most `max_nodes` nodes, most active first; `None` if the graph has no nodes.
pub fn render_svg(graph: &Graph<'_>, max_nodes: usize) -> Option<GraphSvg> {
    if graph.nodes.is_empty() {
        return None;
    }
    let chosen = most_active(graph, max_nodes);
    let places: HashMap<&str, usize> =
        chosen.iter().enumerate().map(|(at, node)| (&*node.id, at)).collect();
    let lines: Vec<SvgEdge<'_>> = graph
        .edges
        .iter()
        .filter_map(|edge| {
            Some(SvgEdge {
                from: *places.get(&*edge.from)?,
                to: *places.get(&*edge.to)?,
                kind: &edge.kind,
            })
        })
        .filter(|line| line.from != line.to)
        .collect();
    let kinds = count_kinds(graph);
    let points = layout_points(chosen.len(), &lines);
    let svg = write_svg(&chosen, &lines, &points, &kinds);
    Some(GraphSvg { svg, shown: chosen.len(), kinds })
}

/// An edge between two shown nodes.
struct SvgEdge<'a> {
    from: usize,
    to: usize,
    kind: &'a str,
}

#[derive(Debug, Clone, Copy, Default)]
struct SvgPoint {
    x: f64,
    y: f64,
}

fn most_active<'g, 'j>(graph: &'g Graph<'j>, max_nodes: usize) -> Vec<&'g GraphNode<'j>> {
    let activation = |node: &GraphNode<'_>| {
        node.value.get("activation").and_then(JsonValue::as_f64).unwrap_or(1.0)
    };
    let mut nodes: Vec<&GraphNode<'_>> = graph.nodes.iter().collect();
    nodes.sort_by(|a, b| activation(b).total_cmp(&activation(a)));
    nodes.truncate(max_nodes);
    nodes
}

/// The kinds of all nodes with their counts, most frequent first.
fn count_kinds(graph: &Graph<'_>) -> Vec<(String, usize)> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for node in &graph.nodes {
        *counts.entry(&node.kind).or_default() += 1;
    }
    let mut kinds: Vec<(String, usize)> =
        counts.into_iter().map(|(kind, count)| (printable(kind).into_owned(), count)).collect();
    kinds.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    kinds
}

/// Force-directed layout: nodes repel each other, edges attract, and everything is pulled to the
/// center. The result is deterministic.
fn layout_points(count: usize, edges: &[SvgEdge<'_>]) -> Vec<SvgPoint> {
    let room = (WIDTH * HEIGHT / count.max(1) as f64).sqrt() * 0.75;
    let mut points: Vec<SvgPoint> = (0..count).map(|at| spiral_point(at, count)).collect();
    for round in 0..LAYOUT_ROUNDS {
        let mut moves = vec![SvgPoint::default(); count];
        push_apart(&points, room, &mut moves);
        for line in edges {
            let offset = SvgOffset::between(points[line.from], points[line.to]);
            let pull = offset.distance / room;
            moves[line.from].x -= offset.dx * pull;
            moves[line.from].y -= offset.dy * pull;
            moves[line.to].x += offset.dx * pull;
            moves[line.to].y += offset.dy * pull;
        }
        // The step size shrinks so that the layout converges.
        let step = 40.0 * f64::from(LAYOUT_ROUNDS - round) / f64::from(LAYOUT_ROUNDS);
        for (point, by) in points.iter_mut().zip(moves) {
            let (x, y) = (by.x - point.x * 0.16, by.y - point.y * 0.28);
            let length = x.hypot(y).max(1.0);
            point.x += x / length * length.min(step);
            point.y += y / length * length.min(step);
        }
    }
    fit_to_canvas(points)
}

fn spiral_point(index: usize, count: usize) -> SvgPoint {
    let (angle, radius) =
        (index as f64 * 2.399_963, (index as f64 / count as f64).sqrt() * HEIGHT / 2.0);
    SvgPoint { x: angle.cos() * radius, y: angle.sin() * radius }
}

fn push_apart(points: &[SvgPoint], room: f64, moves: &mut [SvgPoint]) {
    for a in 0..points.len() {
        for b in a + 1..points.len() {
            let offset = SvgOffset::between(points[a], points[b]);
            let push = 1.6 * room * room / (offset.distance * offset.distance);
            moves[a].x += offset.dx * push;
            moves[a].y += offset.dy * push;
            moves[b].x -= offset.dx * push;
            moves[b].y -= offset.dy * push;
        }
    }
}

/// A vector between two points, with its length.
struct SvgOffset {
    dx: f64,
    dy: f64,
    /// At least 1, so that it can be divided by.
    distance: f64,
}

impl SvgOffset {
    /// The vector from `b` to `a`.
    fn between(a: SvgPoint, b: SvgPoint) -> Self {
        let (dx, dy) = (a.x - b.x, a.y - b.y);
        Self { dx, dy, distance: dx.hypot(dy).max(1.0) }
    }
}

/// Scales the points to the canvas.
fn fit_to_canvas(mut points: Vec<SvgPoint>) -> Vec<SvgPoint> {
    let range = |value: fn(&SvgPoint) -> f64| {
        points
            .iter()
            .map(value)
            .fold((f64::MAX, f64::MIN), |(least, most), one| (least.min(one), most.max(one)))
    };
    let ((left, right), (top, bottom)) = (range(|point| point.x), range(|point| point.y));
    let scaled = |value: f64, (least, most): (f64, f64), length: f64| match most - least {
        // A single node is centered.
        width if width < 1.0 => length / 2.0,
        width => MARGIN + (value - least) / width * (length - 2.0 * MARGIN),
    };
    for point in &mut points {
        *point = SvgPoint {
            x: scaled(point.x, (left, right), WIDTH),
            y: scaled(point.y, (top, bottom), HEIGHT),
        };
    }
    points
}

fn write_svg(
    nodes: &[&GraphNode<'_>],
    edges: &[SvgEdge<'_>],
    points: &[SvgPoint],
    kinds: &[(String, usize)],
) -> String {
    let mut svg = format!(
        "<svg class=\"graph\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{} and {} between them\">",
        pluralize(nodes.len(), "node"),
        pluralize(edges.len(), "edge")
    );
    for line in edges {
        let class = if line.kind == "contradicts" { "edge against" } else { "edge" };
        let (from, to) = (points[line.from], points[line.to]);
        let _ = write!(
            svg,
            "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
            from.x, from.y, to.x, to.y
        );
    }
    let mut degree = vec![0_u32; nodes.len()];
    for line in edges {
        degree[line.from] += 1;
        degree[line.to] += 1;
    }
    for (index, node) in nodes.iter().enumerate() {
        let kind = printable(&node.kind);
        let class = kinds
            .iter()
            .position(|(known, _)| *known == kind)
            .unwrap_or_default()
            .min(MAX_KIND_CLASSES - 1);
        let radius = 5.0 + f64::from(degree[index].min(9)) * 0.8;
        let content = truncate_line(&node.content, MAX_TITLE_CHARS);
        let title = format!("{kind}: {}", printable(&content));
        let title = escape_markup(&title);
        let _ = write!(
            svg,
            "<circle class=\"kind-{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius:.1}\"><title>{title}</title></circle>",
            points[index].x, points[index].y
        );
    }
    write_labels(&mut svg, nodes, points, &degree);
    svg + "</svg>"
}

/// Position and width of a label; `x` is its center.
struct SvgLabel {
    x: f64,
    y: f64,
    width: f64,
}

/// Labels the nodes with the most edges, where the label overlaps no other label or node.
fn write_labels(svg: &mut String, nodes: &[&GraphNode<'_>], points: &[SvgPoint], degree: &[u32]) {
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(degree[*index]));
    let mut labels: Vec<SvgLabel> = Vec::new();
    for index in order.into_iter().take(MAX_LABELED_NODES) {
        let text = printable(&truncate_line(&nodes[index].content, MAX_LABEL_CHARS)).into_owned();
        let width = text.chars().count() as f64 * 6.0;
        let (x, y) = (
            points[index].x.clamp(width / 2.0 + 4.0, WIDTH - width / 2.0 - 4.0),
            points[index].y - 15.0,
        );
        let is_free = labels.iter().all(|other| {
            (x - other.x).abs() > f64::midpoint(width, other.width) + 8.0
                || (y - other.y).abs() > 15.0
        });
        let covers = |(other, point): (usize, &SvgPoint)| {
            other != index
                && (x - point.x).abs() < width / 2.0 + 6.0
                && (y - 4.0 - point.y).abs() < 12.0
        };
        if is_free && !text.is_empty() && !points.iter().enumerate().any(covers) {
            let _ = write!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escape_markup(&text));
            labels.push(SvgLabel { x, y, width });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sp_formats::json::JsonDocument;
    use sp_tree::Limits;

    fn svg_for(content: &str, max_nodes: usize) -> Option<GraphSvg> {
        let json =
            JsonDocument::parse(format!("{{\"context_graph\":{content}}}"), &Limits::default())
                .unwrap();
        render_svg(&Graph::from_content(json.root()), max_nodes)
    }

    #[test]
    fn pk_15_svg_shows_most_active_nodes_and_their_edges() {
        let graph = r#"{"nodes":[
            {"id":"a","type":"fact","content":"one","activation":0.1},{"id":"b","type":"fact","content":"two","activation":0.9},
            {"id":"c","type":"gotcha","content":"three","activation":0.8}],
          "edges":[{"from":"b","to":"c","type":"contradicts"},{"from":"a","to":"b","type":"supports"},{"from":"b","to":"b","type":"supports"}]}"#;
        let drawing = svg_for(graph, 2).unwrap();
        assert_eq!((drawing.shown, drawing.svg.matches("<circle").count()), (2, 2));
        assert_eq!(drawing.svg.matches("<line").count(), 1);
        assert!(
            drawing.svg.contains("edge against") && !drawing.svg.contains("fact: one"),
            "{}",
            drawing.svg
        );
        assert_eq!(drawing.kinds, [("fact".to_owned(), 2), ("gotcha".to_owned(), 1)]);
        assert_eq!(svg_for(graph, 2), Some(drawing), "output is deterministic");
        assert_eq!(svg_for("{}", 9), None);
    }

    #[test]
    fn svg_nodes_stay_within_the_canvas() {
        let nodes: Vec<String> = (0..120)
            .map(|number| {
                format!(r#"{{"id":"n{number}","type":"fact","content":"Statement {number}"}}"#)
            })
            .collect();
        for count in [1, 2, 120] {
            let svg =
                svg_for(&format!("{{\"nodes\":[{}],\"edges\":[]}}", nodes[..count].join(",")), 60)
                    .unwrap()
                    .svg;
            for part in svg.split("cx=\"").skip(1) {
                let x: f64 = part[..part.find('"').unwrap()].parse().unwrap();
                assert!((MARGIN - 1.0..=WIDTH - MARGIN + 1.0).contains(&x), "{count}: {x}");
            }
        }
    }

    #[test]
    fn package_content_is_escaped_in_svg() {
        let hostile = "</title></svg><script>alert(1)</script>\\\" onload=\\\"alert(1)";
        let svg = svg_for(
            &format!(
                r#"{{"nodes":[{{"id":"a","type":"{hostile}","content":"{hostile}"}}],"edges":[]}}"#
            ),
            9,
        );
        let svg = svg.unwrap().svg;
        assert!(
            !svg.contains("<script")
                && !svg.contains("\" onload")
                && svg.matches("</svg>").count() == 1,
            "{svg}"
        );
    }
}
