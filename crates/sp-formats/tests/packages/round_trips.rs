//! Packages that are written and read again, in any spelling.

use serde_json::Map;
use sp_formats::package::write_documents;
use sp_tree::RelPath;

use super::*;

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
    /// A content with a graph in which every edge has its ends, a layer, and members that nobody
    /// knows.
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

/// Writes a value as somebody else might: members in another order, white space, escapes, long
/// numbers.
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
