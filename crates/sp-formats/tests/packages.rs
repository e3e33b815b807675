//! What we write as a package: it is read again, it holds, it is canonical, and nothing that we do not
//! know is lost. And what the layers of schema 1 become.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use proptest::prelude::*;
use serde_json::{Map, Value as Plain, json};
use sp_formats::json::{JsonDocument, JsonValue};
use sp_formats::package::{
    GraphBuilder, Package, PackageDependency, PackageDraft, PackageKind, PackageName,
    PackageVersion, PackageWriteError, SignatureCoverage, VerificationOutcome, VersionRange,
    layers_to_graph, read, read_input, write, write_documents, write_lean_ctx_compatible,
};
use sp_tree::{Limits, PrivateKey, RelPath};

const TIME: &str = "2026-05-22T00:00:00Z";

fn limits() -> Limits {
    Limits::default()
}

/// The key of the known-answer vector.
fn key() -> PrivateKey {
    PrivateKey::from_seed(&[7; 32])
}

fn draft(content: impl Into<String>) -> PackageDraft {
    PackageDraft {
        name: PackageName::new("notes").unwrap(),
        version: PackageVersion::new("1.2.3").unwrap(),
        description: "Notes.".into(),
        author: None,
        created_at: TIME.into(),
        kind: PackageKind::Context,
        level: None,
        tags: Vec::new(),
        dependencies: Vec::new(),
        conflicts: Vec::new(),
        tool_version: "0".into(),
        extra_members: Vec::new(),
        content: content.into(),
        merged_graph: None,
    }
}

/// Reads a text that must hold.
fn holds(text: &str) -> Package {
    let read = read("a package", text.as_bytes().to_vec(), &limits());
    let told: Vec<&String> = read.report.findings.iter().map(|finding| &finding.message).collect();
    assert!(
        read.steps.iter().all(|step| step.outcome != VerificationOutcome::Failed),
        "{:?} {told:?}\n{text}",
        read.steps
    );
    assert!(read.package.is_some(), "{told:?}\n{text}");
    read.package.unwrap()
}

fn written(draft: &PackageDraft) -> Package {
    holds(&write(draft, None, &limits()).unwrap())
}

fn plain(value: JsonValue<'_>) -> Plain {
    serde_json::from_str(value.raw()).unwrap()
}

/// Any JSON of small size. Numbers are such as a machine number holds.
fn any_json() -> impl Strategy<Value = Plain> {
    let leaf = prop_oneof![
        Just(Plain::Null),
        any::<bool>().prop_map(Plain::from),
        any::<i64>().prop_map(Plain::from),
        (-1_000_000i32..1_000_000).prop_map(|number| Plain::from(f64::from(number) / 1024.0)),
        any_text().prop_map(Plain::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Plain::from),
            prop::collection::btree_map(any_text(), inner, 0..4)
                .prop_map(|map| Plain::Object(map.into_iter().collect())),
        ]
    })
}

fn any_text() -> impl Strategy<Value = String> {
    "[a-zé日\u{1F600}\"\\\\/\u{0}-\u{1f}\u{7f}\u{2028} ]{0,8}"
}

/// Members that nobody knows.
fn unknown() -> impl Strategy<Value = Map<String, Plain>> {
    prop::collection::btree_map("x-[a-z]{1,3}", any_json(), 0..3)
        .prop_map(|map| map.into_iter().collect())
}

fn with(mut known: Plain, more: &Map<String, Plain>) -> Plain {
    known.as_object_mut().unwrap().extend(more.clone());
    known
}

prop_compose! {
    fn any_node()(
        kind in prop::sample::select(vec!["fact", "decision", "gotcha", "über"]),
        content in any_text(),
        activation in prop::option::of(0u32..=100),
        more in unknown(),
    ) -> Plain {
        let mut node = with(json!({"type": kind, "content": content}), &more);
        if let Some(activation) = activation {
            node["activation"] = json!(f64::from(activation) / 100.0);
        }
        node
    }
}

prop_compose! {
    /// A content with a graph in which every edge has its ends, a layer, and members that nobody knows.
    fn any_content()(
        mut nodes in prop::collection::vec(any_node(), 1..5),
        ends in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), unknown()), 0..4),
        triggers in prop::collection::vec((any_text(), any_text()), 0..3),
        in_graph in unknown(),
        mut in_content in unknown(),
    ) -> Plain {
        // See `pk_02_a_member_of_the_content_that_is_null_survives`.
        in_content.retain(|_, value| !value.is_null());
        let id = |at: usize| format!("n{at}");
        for (at, node) in nodes.iter_mut().enumerate() {
            node["id"] = Plain::from(id(at));
        }
        let edge = |(from, to, more): &(prop::sample::Index, prop::sample::Index, Map<String, Plain>)| {
            let (from, to) = (id(from.index(nodes.len())), id(to.index(nodes.len())));
            with(json!({"from": from, "to": to, "type": "supports"}), more)
        };
        let edges: Vec<Plain> = ends.iter().map(edge).collect();
        let gotcha = |(trigger, resolution): &(String, String)| json!({"trigger": trigger, "resolution": resolution});
        let gotchas: Vec<Plain> = triggers.iter().map(gotcha).collect();
        let graph = with(json!({"nodes": nodes, "edges": edges}), &in_graph);
        with(json!({"context_graph": graph, "gotchas": {"gotchas": gotchas}}), &in_content)
    }
}

/// Whether all of one value stands in the other: members may have come, and nothing may have gone.
fn stands_in(one: &Plain, other: &Plain) -> bool {
    match (one, other) {
        (Plain::Object(one), Plain::Object(other)) => one
            .iter()
            .all(|(key, value)| other.get(key).is_some_and(|found| stands_in(value, found))),
        (Plain::Array(one), Plain::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| stands_in(one, other))
        }
        (one, other) => one == other,
    }
}

/// Writes a value as somebody else might: members in another order, white space, escapes, long numbers.
struct Scribe(u64);

impl Scribe {
    fn draw(&mut self, most: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    fn white(&mut self) -> &'static str {
        ["", " ", "\n", "\t", "\r\n  "][self.draw(5) as usize]
    }

    fn text(&mut self, text: &str) -> String {
        let mut quoted = String::from("\"");
        for c in text.chars() {
            if c < ' ' || matches!(c, '"' | '\\') || self.draw(3) == 0 {
                c.encode_utf16(&mut [0; 2])
                    .iter()
                    .for_each(|unit| quoted += &format!("\\u{unit:04X}"));
            } else if c == '/' {
                quoted += "\\/";
            } else {
                quoted.push(c);
            }
        }
        quoted + "\""
    }

    fn value(&mut self, value: &Plain) -> String {
        let text = match value {
            Plain::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                let turn = self.draw(members.len().max(1) as u64) as usize;
                members.rotate_left(turn);
                let member = |(key, value): (&String, &Plain)| {
                    format!(
                        "{}{}{}:{}",
                        self.white(),
                        self.text(key),
                        self.white(),
                        self.value(value)
                    )
                };
                format!("{{{}}}", members.into_iter().map(member).collect::<Vec<_>>().join(","))
            }
            Plain::Array(items) => {
                format!(
                    "[{}]",
                    items.iter().map(|item| self.value(item)).collect::<Vec<_>>().join(",")
                )
            }
            Plain::String(text) => self.text(text),
            Plain::Number(number) if number.is_f64() => {
                format!("{number}{}", ["", "0", "00"][self.draw(3) as usize])
            }
            other => other.to_string(),
        };
        format!("{}{text}{}", self.white(), self.white())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn pk_09_what_is_written_is_read_holds_and_is_canonical(content in any_content(), signed: bool) {
        let key = signed.then(key);
        let text = write(&draft(content.to_string()), key.as_ref(), &limits()).unwrap();
        let package = holds(&text);
        prop_assert_eq!(package.signer.map(|signer| signer.coverage), signed.then_some(SignatureCoverage::Whole));
        prop_assert_eq!(&**package.text(), text.as_str());
        let again = written(&draft(package.content().raw()));
        prop_assert_eq!(&again.manifest.integrity, &package.manifest.integrity);
        prop_assert_eq!(again.content().raw(), package.content().raw());
    }

    #[test]
    fn pk_09_members_in_any_order_and_any_white_space_give_the_same_bytes(content in any_content(), seed: u64) {
        let (one, other) = (content.to_string(), Scribe(seed).value(&content));
        let texts = [one, other].map(|content| write(&draft(content), Some(&key()), &limits()).unwrap());
        prop_assert_eq!(&texts[0], &texts[1]);
    }

    #[test]
    fn pk_02_members_that_nobody_knows_survive(content in any_content(), more in unknown()) {
        let mut draft = draft(content.to_string());
        // A manifest is signed, so its numbers must be such as every tool writes alike.
        draft.extra_members = more.iter().map(|(key, value)| (key.clone(), value.to_string())).collect();
        let package = written(&draft);
        prop_assert!(stands_in(&content, &plain(package.content())), "{}", package.text());
        prop_assert!(stands_in(&Plain::Object(more), &plain(package.raw_manifest())), "{}", package.text());
    }

    #[test]
    fn pk_08_white_space_between_the_parts_of_the_content_does_not_count(content in any_content(), seed: u64) {
        let text = write(&draft(content.to_string()), Some(&key()), &limits()).unwrap();
        let package = holds(&text);
        let (mut scribe, mut spaced, mut inside, mut escaped) = (Scribe(seed), String::new(), false, false);
        for c in package.content().raw().chars() {
            let part = !inside && matches!(c, '{' | '}' | '[' | ']' | ',' | ':' | '"');
            if part {
                spaced += scribe.white();
            }
            spaced.push(c);
            (inside, escaped) = match c {
                '"' if !escaped => (!inside, false),
                '\\' => (inside, inside && !escaped),
                _ => (inside, false),
            };
        }
        let spaced = text.replacen(package.content().raw(), &spaced, 1);
        let again = holds(&spaced);
        prop_assert_eq!(again.manifest.integrity, package.manifest.integrity);
        prop_assert_eq!(again.signer.unwrap().coverage, SignatureCoverage::Whole);
    }

    #[test]
    fn pk_24_documents_are_unpacked_to_the_bytes_that_were_packed(
        bodies in prop::collection::btree_map("x[a-z]{1,4}/x[a-z]{1,4}\\.md", prop::collection::vec(any::<u8>(), 0..300), 1..6),
        executable: bool,
    ) {
        let files: Vec<(RelPath, bool, Vec<u8>)> =
            bodies.iter().rev().map(|(path, bytes)| (RelPath::new(path).unwrap(), executable, bytes.clone())).collect();
        let mut draft = draft(format!("{{\"documents\":{}}}", write_documents(&files)));
        draft.kind = PackageKind::Skills;
        let package = written(&draft);
        prop_assert_eq!(package.manifest.schema, 2);
        let documents = package.documents.unwrap();
        prop_assert_eq!(documents.files().count(), bodies.len());
        for (path, is_executable, bytes) in documents.files() {
            prop_assert_eq!(bytes, bodies[path.as_str()].as_slice());
            prop_assert_eq!(is_executable, executable);
        }
    }
}

#[test]
fn pk_11_the_known_answer_vector_is_signed_anew_to_the_same_bytes() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/vector.ctxpkg");
    let vector = holds(&std::fs::read_to_string(path).unwrap());
    let again = holds(&write_lean_ctx_compatible(&vector, Some(&key()), &limits()).unwrap());
    let [known, made] =
        [&vector, &again].map(|package| plain(package.raw_manifest())["signature"].clone());
    for member in ["algorithm", "public_key", "value", "manifest_value"] {
        assert!(known[member].is_string(), "{member}");
        assert_eq!(made[member], known[member], "{member}");
    }
    assert_eq!(again.content().raw(), vector.content().raw());
}

#[test]
fn pk_12_another_key_signs_otherwise_and_any_change_of_the_manifest_is_seen() {
    let content =
        json!({"context_graph": {"nodes": [{"id": "a", "type": "fact", "content": "x"}]}})
            .to_string();
    let text = write(&draft(content), Some(&key()), &limits()).unwrap();
    assert_eq!(holds(&text).signer.unwrap().key, key().public());
    let other = "0".repeat(128);
    let value =
        plain(holds(&text).raw_manifest())["signature"]["value"].as_str().unwrap().to_owned();
    for (from, to) in [
        ("Notes.", "Other."),
        (TIME, "2026-05-23T00:00:00Z"),
        ("\"tags\":[]", "\"tags\":[\"x\"]"),
        (&value, &other),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        let read = read("changed", changed.into_bytes(), &limits());
        assert!(read.package.is_none() && read.is_forged(), "{from}");
    }
}

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

const POLICY: &str = r#"{"policies": {"policies": [{"kind": "security", "rule": "No secrets", "severity": "error"}]}"#;

fn declared(package: &Package) -> Vec<&str> {
    package.manifest.layers.iter().map(|(layer, _)| layer.as_str()).collect()
}

#[test]
fn pk_06_policies_are_declared_and_in_schema_2_they_are_nodes_too() {
    let old = written(&draft(format!("{POLICY}}}")));
    assert_eq!((old.manifest.schema, declared(&old)), (1, vec!["policies"]));
    for more in ["}", ",\"context_graph\":{\"nodes\":[]}}"] {
        let mut draft = draft(format!("{POLICY}{more}"));
        draft.level = Some(1);
        let new = written(&draft);
        assert_eq!((new.manifest.schema, declared(&new)), (2, vec!["policies"]), "{more}");
        let graph = new.graph();
        let nodes: Vec<(&str, &str)> =
            graph.nodes.iter().map(|node| (&*node.kind, &*node.content)).collect();
        assert_eq!(nodes, [("policy", "No secrets")], "{more}");
        assert!(new.content().get("policies").is_some(), "the layer stays");
    }
}

#[test]
fn pk_06_what_another_tool_does_not_take_is_left_out_for_it() {
    let content = format!("{POLICY}, \"gotchas\": {{\"gotchas\": []}}}}");
    for signed in [true, false] {
        let text = write(&draft(content.as_str()), signed.then(key).as_ref(), &limits()).unwrap();
        let package = holds(&text);
        assert_eq!(declared(&package), ["gotchas", "policies"]);
        for (again, coverage) in
            [(None, SignatureCoverage::Content), (Some(key()), SignatureCoverage::Whole)]
        {
            let has_key = again.is_some();
            let made =
                holds(&write_lean_ctx_compatible(&package, again.as_ref(), &limits()).unwrap());
            assert_eq!(declared(&made), ["gotchas"]);
            assert_eq!(
                made.content().raw(),
                package.content().raw(),
                "the content stays to the letter"
            );
            assert_eq!(made.manifest.integrity, package.manifest.integrity);
            let expected = (signed || has_key).then_some(coverage);
            assert_eq!(
                made.signer.map(|signer| signer.coverage),
                expected,
                "signed: {signed}, key: {has_key}"
            );
        }
    }
}

#[test]
fn pk_04_pk_16_a_package_states_the_level_that_was_asked_for_or_the_one_that_it_has() {
    let nodes = r#"{"context_graph":{"nodes":[{"id":"a","type":"fact","content":"x"}]}}"#;
    let edges = r#"{"context_graph":{"nodes":[{"id":"a","type":"fact","content":"x"}],"edges":[{"from":"a","to":"a","type":"is"}]}}"#;
    let layers = r#"{"knowledge":{"facts":[{"value":"x"}]}}"#;
    let fades = r#""created_at":"2026-01-01T00:00:00Z","decay_half_life_days":90"#;
    let fading = &edges.replace(r#""content":"x""#, &format!(r#""content":"x",{fades}"#));
    for (content, asked) in [(nodes, 2), (nodes, 3), (edges, 3), (layers, 2), (layers, 3)] {
        let mut draft = draft(content);
        draft.level = Some(asked);
        assert!(write(&draft, None, &limits()).is_err(), "{content} does not reach {asked}");
    }
    for (content, asked, schema, level) in [
        (nodes, None, 2, Some(1)),
        (edges, None, 2, Some(2)),
        (edges, Some(1), 2, Some(1)),
        (edges, Some(2), 2, Some(2)),
        (fading, Some(3), 2, Some(3)),
        (layers, None, 1, None),
        (layers, Some(1), 2, Some(1)),
    ] {
        let mut draft = draft(content);
        draft.level = asked;
        let package = written(&draft);
        assert_eq!(
            (package.manifest.schema, package.manifest.level),
            (schema, level),
            "{content} at {asked:?}"
        );
        let summary = plain(package.raw_manifest())["graph_summary"].clone();
        let (count, types) =
            (json!(package.graph().nodes.len()), json!(package.graph().node_types()));
        let expected = level.map_or(Plain::Null, |_| count);
        assert_eq!(summary["node_count"], expected, "{content} at {asked:?}");
        assert!(summary.is_null() || summary["node_types"] == types);
    }
    let mut wrong = draft(nodes);
    wrong.level = Some(4);
    assert!(write(&wrong, None, &limits()).is_err());
}

#[test]
fn pk_04_a_scope_and_a_kind_make_it_schema_2_and_context_is_never_written() {
    let mut scoped = draft(r#"{"knowledge":{"facts":[]}}"#);
    scoped.name = PackageName::new("@acme/notes").unwrap();
    let manifest = plain(written(&scoped).raw_manifest());
    assert_eq!((&manifest["schema_version"], &manifest["scope"]), (&json!(2), &json!("@acme")));
    assert!(manifest.get("kind").is_none());
}

fn dependency(name: &str, range: &str, optional: bool) -> PackageDependency {
    PackageDependency {
        name: PackageName::new(name).unwrap(),
        range: VersionRange::new(range),
        optional,
    }
}

#[test]
fn pk_05_dependencies_are_read_in_both_shapes_and_written_as_a_list() {
    let expected = [dependency("base", "^1.2", false), dependency("@acme/more", ">=1, <3", true)];
    for said in [
        r#""dependencies": [{"name":"base","version_req":"^1.2"},{"name":"@acme/more","version_req":">=1, <3","optional":true}]"#,
        r#""dependencies": {"base":"^1.2"}, "optional_dependencies": {"@acme/more":">=1, <3"}"#,
        r#""dependencies": [{"name":"base","version_req":"^1.2","optional":false}], "optional_dependencies": {"@acme/more":">=1, <3"}"#,
    ] {
        let text = format!("{{{said}, \"conflicts\": [\"old\"], \"nodes\": []}}");
        let (input, report) = read_input("input", text.as_bytes(), &limits());
        let input = input.unwrap_or_else(|| panic!("{said}: {:?}", report.findings));
        assert_eq!(input.dependencies, expected, "{said}");
        let mut draft = draft(input.content);
        (draft.dependencies, draft.conflicts) = (input.dependencies, input.conflicts);
        let package = written(&draft);
        assert_eq!(package.manifest.dependencies, expected, "{said}");
        assert_eq!(package.manifest.conflicts, [PackageName::new("old").unwrap()]);
        let list = json!([
            {"name": "base", "version_req": "^1.2", "optional": false},
            {"name": "@acme/more", "version_req": ">=1, <3", "optional": true}
        ]);
        assert_eq!(plain(package.raw_manifest())["dependencies"], list, "{said}");
    }
}

#[test]
fn pk_05_a_range_that_is_missing_fits_every_release() {
    let (input, _) =
        read_input("input", br#"{"dependencies": [{"name": "base"}], "nodes": []}"#, &limits());
    let range = &input.unwrap().dependencies[0].range;
    let fits = |version: &str| range.matches(&PackageVersion::new(version).unwrap());
    assert!(fits("0.0.1") && fits("7.1.0") && !fits("1.0.0-rc.1"));
}

#[test]
fn pk_15_what_is_a_warning_to_a_reader_is_an_error_to_a_writer() {
    let node = r#"{"id":"a","type":"fact","content":"x"}"#;
    for (content, what) in [
        (format!(r#"{{"context_graph":{{"nodes":[{node},{node}]}}}}"#), "two nodes"),
        (r#"{"context_graph":{"nodes":[{"id":"a"}]}}"#.into(), "has no"),
        (
            format!(
                r#"{{"context_graph":{{"nodes":[{node}],"edges":[{}]}}}}"#,
                r#"{"from":"a","to":"b","type":"is","weight":1.0}"#
            ),
            "not there",
        ),
        (
            r#"{"context_graph":{"nodes":[{"id":"a","type":"t","content":"x","activation":1.5}]}}"#
                .into(),
            "1.5",
        ),
        (r#"{"gotchas":{"gotchas":[{"trigger":"t"}]}}"#.into(), "`resolution`"),
        (r#"{"policies":{"policies":[{}]}}"#.into(), "`rule`"),
    ] {
        match write(&draft(content.as_str()), None, &limits()) {
            Err(PackageWriteError::InvalidContent(report)) => {
                let told: Vec<&String> =
                    report.findings.iter().map(|finding| &finding.message).collect();
                assert!(told.iter().any(|message| message.contains(what)), "{content}: {told:?}");
            }
            other => panic!("{content}: {other:?}"),
        }
    }
}

#[test]
fn pk_06_what_is_no_list_is_refused_and_never_lost() {
    let node = r#"{"id":"a","type":"fact","content":"x"}"#;
    for content in [
        format!(r#"{{"context_graph":{{"nodes":{{"a":{node}}}}}}}"#),
        format!(r#"{{"context_graph":{{"nodes":[{node}],"edges":"a is a"}}}}"#),
        format!(r#"{{"context_graph":[{node}]}}"#),
        r#"{"gotchas":{"gotchas":{"a":{"trigger":"t","resolution":"r"}}}}"#.into(),
        r#"{"knowledge":[{"value":"x"}]}"#.into(),
    ] {
        match write(&draft(content.as_str()), None, &limits()) {
            Err(
                PackageWriteError::InvalidContent(report) | PackageWriteError::Unreadable(report),
            ) => {
                let told: Vec<&String> =
                    report.findings.iter().map(|finding| &finding.message).collect();
                assert!(
                    told.iter().any(|message| message.contains("must be")),
                    "{content}: {told:?}"
                );
            }
            other => panic!("{content}: {other:?}"),
        }
    }
}

#[test]
fn pk_02_a_member_of_the_content_that_is_null_survives() {
    let package = written(&draft(r#"{"knowledge":{},"x-more":null}"#));
    assert!(package.content().get("x-more").is_some(), "{}", package.text());
}

#[test]
fn pk_03_what_we_write_has_a_semver_version_and_something_in_it() {
    let mut odd = draft(r#"{"knowledge":{}}"#);
    odd.version = PackageVersion::new("1.0").unwrap();
    assert!(matches!(write(&odd, None, &limits()), Err(PackageWriteError::InvalidVersion(_))));
    for nothing in ["{}", "[]", "1"] {
        assert!(
            matches!(write(&draft(nothing), None, &limits()), Err(PackageWriteError::Empty)),
            "{nothing}"
        );
    }
    assert!(matches!(write(&draft("{"), None, &limits()), Err(PackageWriteError::Json(_))));
}

#[test]
fn pk_07_what_we_write_has_every_member_that_other_tools_demand() {
    let content = json!({
        "knowledge": {"facts": [{"value": "x"}], "patterns": [{"description": "d"}], "insights": [{"summary": "s"}]},
        "gotchas": {"gotchas": [{"trigger": "t", "resolution": "r"}]},
        "session": {"task_description": "t"},
        "patterns": {"patterns": [{"description": "d"}]},
        "policies": {"policies": [{"rule": "r"}]},
        "graph": {"nodes": [], "edges": []}
    });
    let text = write(&draft(content.to_string()), Some(&key()), &limits()).unwrap();
    let read = read("written", text.into_bytes(), &limits());
    assert!(read.report.findings.is_empty(), "{:?}", read.report.findings);
    let written = plain(read.package.unwrap().content());
    assert!(stands_in(&content, &written), "{written}");
    let fact = &written["knowledge"]["facts"][0];
    for member in
        ["category", "key", "source_session", "confidence", "created_at", "last_confirmed"]
    {
        assert!(fact.get(member).is_some(), "{member}");
    }
}
