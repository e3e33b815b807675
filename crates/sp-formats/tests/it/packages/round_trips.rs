//! Packages are written and read back, in any valid JSON formatting.

use serde_json::Map;
use sp_formats::package::write_documents;
use sp_tree::RelPath;

use super::*;

/// Small JSON values whose numbers fit into `i64` or `f64`.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1_000_000i32..1_000_000).prop_map(|number| Value::from(f64::from(number) / 1024.0)),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(any_text(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_text() -> impl Strategy<Value = String> {
    "[a-zé日\u{1F600}\"\\\\/\u{0}-\u{1f}\u{7f}\u{2028} ]{0,8}"
}

/// Members that the format does not define.
fn unknown_members() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::btree_map("x-[a-z]{1,3}", any_json(), 0..3)
        .prop_map(|map| map.into_iter().collect())
}

fn with_members(mut object: Value, members: &Map<String, Value>) -> Value {
    object.as_object_mut().unwrap().extend(members.clone());
    object
}

prop_compose! {
    fn any_node()(
        kind in prop::sample::select(vec!["fact", "decision", "gotcha", "über"]),
        content in any_text(),
        activation in prop::option::of(0u32..=100),
        members in unknown_members(),
    ) -> Value {
        let mut node = with_members(json!({"type": kind, "content": content}), &members);
        if let Some(activation) = activation {
            node["activation"] = json!(f64::from(activation) / 100.0);
        }
        node
    }
}

prop_compose! {
    /// A content with a graph whose edges are valid, a layer, and unknown members.
    fn any_content()(
        mut nodes in prop::collection::vec(any_node(), 1..5),
        ends in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), unknown_members()), 0..4),
        gotchas_in in prop::collection::vec((any_text(), any_text()), 0..3),
        in_graph in unknown_members(),
        mut in_content in unknown_members(),
    ) -> Value {
        // See `pk_02_null_members_of_the_content_are_kept`.
        in_content.retain(|_, value| !value.is_null());
        let id = |index: usize| format!("n{index}");
        for (index, node) in nodes.iter_mut().enumerate() {
            node["id"] = Value::from(id(index));
        }
        let edge = |(from, to, members): &(prop::sample::Index, prop::sample::Index, Map<String, Value>)| {
            let (from, to) = (id(from.index(nodes.len())), id(to.index(nodes.len())));
            with_members(json!({"from": from, "to": to, "type": "supports"}), members)
        };
        let edges: Vec<Value> = ends.iter().map(edge).collect();
        let gotcha = |(trigger, resolution): &(String, String)| json!({"trigger": trigger, "resolution": resolution});
        let gotchas: Vec<Value> = gotchas_in.iter().map(gotcha).collect();
        let graph = with_members(json!({"nodes": nodes, "edges": edges}), &in_graph);
        with_members(json!({"context_graph": graph, "gotchas": {"gotchas": gotchas}}), &in_content)
    }
}

/// Formats JSON unusually: rotated members, random whitespace, escapes and trailing zeros.
struct JsonFormatter(u64);

impl JsonFormatter {
    fn random(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn whitespace(&mut self) -> &'static str {
        ["", " ", "\n", "\t", "\r\n  "][self.random(5) as usize]
    }

    fn format_string(&mut self, text: &str) -> String {
        let mut quoted = String::from("\"");
        for c in text.chars() {
            if c < ' ' || matches!(c, '"' | '\\') || self.random(3) == 0 {
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

    fn format(&mut self, value: &Value) -> String {
        let text = match value {
            Value::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                let offset = self.random(members.len().max(1) as u64) as usize;
                members.rotate_left(offset);
                let member = |(key, value): (&String, &Value)| {
                    format!(
                        "{}{}{}:{}",
                        self.whitespace(),
                        self.format_string(key),
                        self.whitespace(),
                        self.format(value)
                    )
                };
                format!("{{{}}}", members.into_iter().map(member).collect::<Vec<_>>().join(","))
            }
            Value::Array(items) => {
                format!(
                    "[{}]",
                    items.iter().map(|item| self.format(item)).collect::<Vec<_>>().join(",")
                )
            }
            Value::String(text) => self.format_string(text),
            Value::Number(number) if number.is_f64() => {
                format!("{number}{}", ["", "0", "00"][self.random(3) as usize])
            }
            other => other.to_string(),
        };
        format!("{}{text}{}", self.whitespace(), self.whitespace())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn pk_09_written_packages_are_valid_and_canonical(content in any_content(), signed: bool) {
        let key = signed.then(key);
        let text = write(&draft(content.to_string()), key.as_ref(), &limits()).unwrap();
        let package = read_valid(&text);
        prop_assert_eq!(package.signer.map(|signer| signer.coverage), signed.then_some(SignatureCoverage::Whole));
        prop_assert_eq!(&**package.text(), text.as_str());
        let rewritten = write_and_read(&draft(package.content().raw()));
        prop_assert_eq!(&rewritten.manifest.integrity, &package.manifest.integrity);
        prop_assert_eq!(rewritten.content().raw(), package.content().raw());
    }

    #[test]
    fn pk_09_member_order_and_whitespace_do_not_change_the_output(content in any_content(), seed: u64) {
        let (compact, unusual) = (content.to_string(), JsonFormatter(seed).format(&content));
        let texts = [compact, unusual].map(|content| write(&draft(content), Some(&key()), &limits()).unwrap());
        prop_assert_eq!(&texts[0], &texts[1]);
    }

    #[test]
    fn pk_02_unknown_members_are_kept(content in any_content(), members in unknown_members()) {
        let mut draft = draft(content.to_string());
        // The manifest is signed, so every tool must format its numbers in the same way.
        draft.extra_members = members.iter().map(|(key, value)| (key.clone(), value.to_string())).collect();
        let package = write_and_read(&draft);
        prop_assert!(is_contained(&content, &to_value(package.content())), "{}", package.text());
        prop_assert!(is_contained(&Value::Object(members), &to_value(package.raw_manifest())), "{}", package.text());
    }

    #[test]
    fn pk_08_whitespace_in_the_content_does_not_affect_digests(content in any_content(), seed: u64) {
        let text = write(&draft(content.to_string()), Some(&key()), &limits()).unwrap();
        let package = read_valid(&text);
        let (mut formatter, mut spaced, mut in_string, mut escaped) = (JsonFormatter(seed), String::new(), false, false);
        for c in package.content().raw().chars() {
            let is_punctuation = !in_string && matches!(c, '{' | '}' | '[' | ']' | ',' | ':' | '"');
            if is_punctuation {
                spaced += formatter.whitespace();
            }
            spaced.push(c);
            (in_string, escaped) = match c {
                '"' if !escaped => (!in_string, false),
                '\\' => (in_string, in_string && !escaped),
                _ => (in_string, false),
            };
        }
        let spaced = text.replacen(package.content().raw(), &spaced, 1);
        let reread = read_valid(&spaced);
        prop_assert_eq!(reread.manifest.integrity, package.manifest.integrity);
        prop_assert_eq!(reread.signer.unwrap().coverage, SignatureCoverage::Whole);
    }

    #[test]
    fn pk_24_documents_round_trip(
        bodies in prop::collection::btree_map("x[a-z]{1,4}/x[a-z]{1,4}\\.md", prop::collection::vec(any::<u8>(), 0..300), 1..6),
        executable: bool,
    ) {
        let files: Vec<(RelPath, bool, Vec<u8>)> =
            bodies.iter().rev().map(|(path, bytes)| (RelPath::new(path).unwrap(), executable, bytes.clone())).collect();
        let mut draft = draft(format!("{{\"documents\":{}}}", write_documents(&files)));
        draft.kind = PackageKind::Skills;
        let package = write_and_read(&draft);
        prop_assert_eq!(package.manifest.schema, 2);
        let documents = package.documents.unwrap();
        prop_assert_eq!(documents.files().count(), bodies.len());
        for (path, is_executable, bytes) in documents.files() {
            prop_assert_eq!(bytes, bodies[path.as_str()].as_slice());
            prop_assert_eq!(is_executable, executable);
        }
    }
}
