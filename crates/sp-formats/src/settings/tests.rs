//! Tests that an edit changes the entry and no other byte.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const ENTRY: SettingsKey<'static> = SettingsKey { table: "servers", key: "sp" };

fn set(format: SettingsFormat, text: &str) -> String {
    format
        .with_entry(text, ENTRY, &json!({"command": "sp", "args": ["mcp"]}), &Limits::default())
        .unwrap()
}

fn remove(format: SettingsFormat, text: &str) -> String {
    format.without_entry(text, ENTRY, &Limits::default()).unwrap().unwrap()
}

fn read_error(format: SettingsFormat, text: &str) -> SettingsError {
    format.get_entry(text, ENTRY, &Limits::default()).unwrap_err()
}

#[test]
fn mc_08_json_member_is_inserted_in_the_style_of_the_file() {
    let two_spaces = "{\n  \"servers\": {\n    \"sp\": {\n      \"command\": \"sp\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n";
    assert_eq!(set(SettingsFormat::Json, ""), two_spaces);
    assert_eq!(set(SettingsFormat::Json, "{}"), two_spaces.trim_end());
    assert_eq!(set(SettingsFormat::Json, "{}\n"), two_spaces);
    assert_eq!(set(SettingsFormat::Json, "{\n}\n"), two_spaces);
    assert_eq!(set(SettingsFormat::Json, "{\n  \"servers\": {}\n}\n"), two_spaces);
    assert_eq!(set(SettingsFormat::Json, "// mine\n"), format!("// mine\n{two_spaces}"));
    let four_spaces = "{\n    \"a\": 1, // x\n    \"servers\": {\n        \"b\": {} // y\n        // z\n    },\n}";
    let after = "{\n    \"a\": 1, // x\n    \"servers\": {\n        \"b\": {}, // y\n        \"sp\": {\n            \
                 \"command\": \"sp\",\n            \"args\": [\"mcp\"]\n        }\n        // z\n    },\n}";
    assert_eq!(set(SettingsFormat::Json, four_spaces), after);
    assert_eq!(remove(SettingsFormat::Json, after), four_spaces);
    let tabs = "{\r\n\t\"a\": 1,\r\n}\r\n";
    let after = "{\r\n\t\"a\": 1,\r\n\t\"servers\": {\r\n\t\t\"sp\": {\r\n\t\t\t\"command\": \"sp\",\r\n\t\t\t\"args\": \
                 [\"mcp\"]\r\n\t\t}\r\n\t},\r\n}\r\n";
    assert_eq!(set(SettingsFormat::Json, tabs), after);
    assert_eq!(
        remove(SettingsFormat::Json, after),
        "{\r\n\t\"a\": 1,\r\n\t\"servers\": {},\r\n}\r\n"
    );
    let one_line = "{\"a\":1,\"servers\":{\"b\":{}}}";
    let after =
        "{\"a\":1,\"servers\":{\"b\":{}, \"sp\": {\"command\": \"sp\", \"args\": [\"mcp\"]}}}";
    assert_eq!(set(SettingsFormat::Json, one_line), after);
    assert_eq!(remove(SettingsFormat::Json, after), one_line);
}

#[test]
fn mc_08_json_member_is_removed_wherever_it_is() {
    for (before, after) in [
        ("{\"servers\": {\"sp\": 1, \"b\": 2}}", "{\"servers\": {\"b\": 2}}"),
        ("{\"servers\": {\"a\": 0, \"sp\": 1, \"b\": 2}}", "{\"servers\": {\"a\": 0, \"b\": 2}}"),
        ("{\"servers\": {\"a\": 0, \"sp\": 1,}}", "{\"servers\": {\"a\": 0,}}"),
        ("{\"servers\": { \"sp\": 1 }}", "{\"servers\": {}}"),
        ("{\"servers\": {\n  // mine\n  \"sp\": 1\n}}", "{\"servers\": {\n  // mine\n}}"),
        (
            "{\"servers\": {\n  \"sp\": 1, // mine\n  \"b\": 2\n}}",
            "{\"servers\": {\n   // mine\n  \"b\": 2\n}}",
        ),
        (
            "{\"servers\": {\n  \"a\": 0, // x\n  \"sp\": 1 }}",
            "{\"servers\": {\n  \"a\": 0 // x\n   }}",
        ),
        (
            "{\"servers\": {\"a\": 0 /* , */ , /* , */ \"sp\": 1}}",
            "{\"servers\": {\"a\": 0 /* , */  /* , */}}",
        ),
    ] {
        assert_eq!(remove(SettingsFormat::Json, before), after, "{before}");
    }
    assert_eq!(
        SettingsFormat::Json.without_entry("{\"sp\": 1}", ENTRY, &Limits::default()),
        Ok(None)
    );
    assert_eq!(SettingsFormat::Toml.without_entry("sp = 1", ENTRY, &Limits::default()), Ok(None));
}

#[test]
fn mc_08_existing_entry_is_replaced_in_place() {
    let before = "{\n  \"servers\": {\n    \"sp\": {\"old\": true}, // x\n    \"b\": 1\n  }\n}";
    let after = "{\n  \"servers\": {\n    \"sp\": {\n      \"command\": \"sp\",\n      \"args\": [\"mcp\"]\n    }, // x\n    \
                 \"b\": 1\n  }\n}";
    assert_eq!(set(SettingsFormat::Json, before), after);
    let before = "[servers.sp] # x\nold = 1\n\n[servers.b]\n[servers.sp.env]\nA = '1'\n[last]\n";
    assert_eq!(
        set(SettingsFormat::Toml, before),
        "[servers.sp]\ncommand = \"sp\"\nargs = [\"mcp\"]\n\n[servers.b]\n[last]\n"
    );
}

#[test]
fn mc_08_toml_table_is_appended_and_removed_exactly() {
    const TABLE: &str = "[servers.sp]\ncommand = \"sp\"\nargs = [\"mcp\"]\n";
    assert_eq!(set(SettingsFormat::Toml, ""), TABLE);
    for before in [
        "# only a remark\n",
        "a = 1 # x\n\n[servers.b] # y\ncommand   = 'b'\n# the end\n",
        "a = 1\n\n\n",
        "servers.b.command = 'b'\n",
        "[servers]\n",
        "\u{feff}[servers.b]\nc = '''\n[servers.sp]\n'''\n",
    ] {
        let after = set(SettingsFormat::Toml, before);
        assert_eq!(after, format!("{before}\n{TABLE}"));
        assert_eq!(remove(SettingsFormat::Toml, &after), before);
    }
    assert_eq!(set(SettingsFormat::Toml, "a = 1"), format!("a = 1\n\n{TABLE}"));
    let crlf = "a = 1\r\n";
    assert_eq!(set(SettingsFormat::Toml, crlf), format!("a = 1\n\n{TABLE}").replace('\n', "\r\n"));
    assert_eq!(remove(SettingsFormat::Toml, &set(SettingsFormat::Toml, crlf)), crlf);
}

#[test]
fn mc_08_toml_in_other_notations_is_edited_in_its_style() {
    for (before, after) in [
        (
            "servers = { b = 1 } # x\r\n",
            "servers = { b = 1 , sp = { command = \"sp\", args = [\"mcp\"] } } # x\r\n",
        ),
        (
            "[servers]\nsp = 1 # x\nb = 2\n",
            "[servers]\nsp = { command = \"sp\", args = [\"mcp\"] } # x\nb = 2\n",
        ),
    ] {
        assert_eq!(set(SettingsFormat::Toml, before), after);
    }
    for (before, after) in [
        ("servers = { b = 1, sp = 2 }\r\nc = 3\r\n", "servers = { b = 1}\r\nc = 3\r\n"),
        ("[servers]\nsp = 1\nb = 2\n", "[servers]\nb = 2\n"),
        ("servers.sp.x = 1\nc = 3\n", "c = 3\n"),
        ("[servers.sp.env]\nA = '1'\n[last]\n", "[last]\n"),
    ] {
        assert_eq!(remove(SettingsFormat::Toml, before), after, "{before}");
    }
}

#[test]
fn mc_08_invalid_settings_are_rejected_at_their_position() {
    for (format, text, start) in [
        (SettingsFormat::Json, "{\n  \"a\": 1\n  \"b\": 2\n}", 13),
        (SettingsFormat::Json, "[1]", 0),
        (SettingsFormat::Json, "{\"servers\": null}", 12),
        (SettingsFormat::Json, "{\"a\": 1, \"a\": 2}", 9),
        (SettingsFormat::Toml, "a = 1\nb =\n", 9),
        (SettingsFormat::Toml, "servers = 1\n", 10),
    ] {
        assert_eq!(read_error(format, text).span.start, start, "{text}");
    }
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(5000), "]".repeat(5000));
    assert!(read_error(SettingsFormat::Json, &deep).message.contains("nested"));
    assert!(
        SettingsFormat::Toml
            .get_entry(&format!("a = {}", "[".repeat(5000)), ENTRY, &Limits::default())
            .is_err()
    );
}

/// Any value that settings can contain.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z/*,\"\\\\{} é]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-c]|sp|servers", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn objects() -> impl Strategy<Value = Value> {
    prop::collection::vec(("[a-c]|sp", values()), 0..4)
        .prop_map(|members| Value::Object(members.into_iter().collect()))
}

/// Writes a value with arbitrary white space and comments between its parts.
fn write_with_gaps(value: &Value, choices: &mut dyn Iterator<Item = usize>, text: &mut String) {
    const GAPS: [&str; 10] =
        ["", "", " ", "\n", "\n  ", "\r\n\t", " // }\n", "/* , */", " /* \n */ ", "//\r\n"];
    let gap =
        |choices: &mut dyn Iterator<Item = usize>| GAPS[choices.next().unwrap_or(0) % GAPS.len()];
    let (open, close, parts): (_, _, Vec<(Option<&String>, &Value)>) = match value {
        Value::Object(members) => {
            ('{', '}', members.iter().map(|(key, value)| (Some(key), value)).collect())
        }
        Value::Array(items) => ('[', ']', items.iter().map(|item| (None, item)).collect()),
        other => return text.push_str(&other.to_string()),
    };
    text.push(open);
    for (index, (key, part)) in parts.iter().enumerate() {
        text.push_str(gap(choices));
        if let Some(key) = key {
            *text += &format!("{}{}:{}", Value::from(key.as_str()), gap(choices), gap(choices));
        }
        write_with_gaps(part, choices, text);
        text.push_str(gap(choices));
        if index + 1 < parts.len() || choices.next().is_some_and(|choice| choice % 3 == 0) {
            text.push(',');
        }
    }
    text.push_str(gap(choices));
    text.push(close);
}

/// Whether `whole` has everything in `part` but white space, in the same order.
fn keeps(whole: &str, part: &str) -> bool {
    let mut rest = whole.chars();
    part.chars().filter(|c| !c.is_whitespace()).all(|c| rest.any(|other| other == c))
}

/// A settings file, with or without a table.
fn files() -> impl Strategy<Value = (Value, String)> {
    (objects(), prop::option::of(objects()), prop::collection::vec(0..100usize, 0..200)).prop_map(
        |(mut value, table, choices)| {
            if let (Some(root), Some(table)) = (value.as_object_mut(), table) {
                root.insert("servers".into(), table);
            }
            let mut text = String::new();
            write_with_gaps(&value, &mut choices.into_iter(), &mut text);
            (value, text)
        },
    )
}

/// TOML lines, some of which are valid together.
const LINES: [&str; 17] = [
    "",
    "# a remark",
    "a = 1 # x",
    "b = \"\"\"",
    "[servers.sp]",
    "[servers.sp] # x",
    "[servers.sp.env]",
    "[[servers.sp.list]]",
    "[servers.b]",
    "[servers]",
    "[c]",
    "[[d]]",
    "command = 'x'",
    "e.f = { g = [1, # y",
    "2] }",
    "sp = { h = 1 } # z",
    "servers = { b = 1, sp = { i = 2 } }",
];

proptest! {
    #[test]
    fn mc_08_json_edit_changes_only_the_entry_in_any_layout((before, text) in files(), value in objects()) {
        let limits = Limits::default();
        let edited = SettingsFormat::Json.with_entry(&text, ENTRY, &value, &limits).unwrap();
        let mut expected = before.clone();
        expected["servers"]["sp"] = value.clone();
        prop_assert_eq!(&Value::Object(SettingsFormat::Json.read_all(&edited, &limits).unwrap()), &expected);
        prop_assert_eq!(&SettingsFormat::Json.with_entry(&edited, ENTRY, &value, &limits).unwrap(), &edited);
        let removed = SettingsFormat::Json.without_entry(&edited, ENTRY, &limits).unwrap().unwrap();
        expected["servers"].as_object_mut().unwrap().remove("sp");
        prop_assert_eq!(Value::Object(SettingsFormat::Json.read_all(&removed, &limits).unwrap()), expected);
    }

    #[test]
    fn mc_08_json_edit_keeps_everything_else_in_any_layout(
        (before, text) in files(),
        start in prop::sample::select(vec!["", "\u{feff}", "// é\n", "\r\n/* \u{1f680} */ "]),
        end in prop::sample::select(vec!["", "\n", "\r\n\r\n", " // é"]),
        values in [objects(), objects()],
    ) {
        let (limits, text) = (Limits::default(), format!("{start}{text}{end}"));
        let set = |text: &str, value| SettingsFormat::Json.with_entry(text, ENTRY, value, &limits).unwrap();
        let edited = set(&text, &values[0]);
        let is_new = before["servers"]["sp"].is_null() && before["servers"].get("sp").is_none();
        if is_new {
            prop_assert!(keeps(&edited, &text), "{text:?} became {edited:?}");
        }
        let without = remove(SettingsFormat::Json, &edited);
        prop_assert!(keeps(&edited, &without), "{edited:?} became {without:?}");
        // What is around the entry does not depend on its value.
        prop_assert_eq!(remove(SettingsFormat::Json, &set(&edited, &values[1])), &*without);
        if is_new {
            let comments = |text: &str| text.matches("/*").count() + text.matches("//").count();
            prop_assert_eq!(comments(&without), comments(&text), "{:?} became {:?}", text, without);
        }
    }

    #[test]
    fn mc_08_json_removal_restores_every_byte_if_members_are_on_own_lines(
        others in prop::collection::vec(("[a-c]", values()), 1..4),
        indent in prop::sample::select(vec!["  ", "    ", "\t"]),
        value in objects(),
    ) {
        let file = json!({"x": 1, "servers": others.into_iter().collect::<Map<_, _>>(), "y": {}});
        let mut text = Vec::new();
        let style = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
        serde::Serialize::serialize(&file, &mut serde_json::Serializer::with_formatter(&mut text, style)).unwrap();
        let text = String::from_utf8(text).unwrap();
        let edited = SettingsFormat::Json.with_entry(&text, ENTRY, &value, &Limits::default()).unwrap();
        prop_assert_eq!(SettingsFormat::Json.without_entry(&edited, ENTRY, &Limits::default()).unwrap().unwrap(), text);
    }

    #[test]
    fn mc_08_toml_edit_changes_only_the_entry_in_any_layout(
        lines in prop::collection::vec(prop::sample::select(LINES.to_vec()), 0..8),
        newline in prop::sample::select(vec!["\n", "\r\n"]),
        value in prop::collection::vec(("[a-c]", "[a-z\"'\\\\# ]{0,5}"), 1..3),
    ) {
        let limits = Limits::default();
        let text: String = lines.iter().map(|line| format!("{line}{newline}")).collect();
        let value: Value = value.into_iter().map(|(key, value)| (key, Value::from(value))).collect();
        // Most combinations are not valid TOML.
        if let Ok(old) = SettingsFormat::Toml.get_entry(&text, ENTRY, &limits) {
            let edited = SettingsFormat::Toml.with_entry(&text, ENTRY, &value, &limits).unwrap();
            prop_assert_eq!(SettingsFormat::Toml.get_entry(&edited, ENTRY, &limits).unwrap(), Some(value));
            let removed = SettingsFormat::Toml.without_entry(&edited, ENTRY, &limits).unwrap().unwrap();
            if old.is_none() && lines.iter().all(|line| !line.starts_with("servers = {")) {
                prop_assert_eq!(removed, text);
            }
        }
    }

    #[test]
    fn se_14_no_text_makes_the_editor_panic(text in "[{}\\[\\]:,\"a/*\\\\\n\r =.'#s]{0,40}") {
        for format in [SettingsFormat::Json, SettingsFormat::Toml] {
            let _ = format.with_entry(&text, ENTRY, &json!({"a": "b"}), &Limits::default());
            let _ = format.without_entry(&text, SettingsKey { table: "a", key: "a" }, &Limits::default());
        }
    }
}
