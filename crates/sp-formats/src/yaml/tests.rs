use super::*;

fn read(text: &str) -> YamlNode {
    parse(text, &Limits::default()).unwrap()
}

fn parse_error(text: &str) -> YamlError {
    parse(text, &Limits::default()).unwrap_err()
}

fn pairs(node: &YamlNode) -> Vec<(&str, Option<&str>)> {
    let YamlValue::Map(pairs) = &node.value else { panic!("{node:?}") };
    pairs.iter().map(|(key, value)| (key.text().unwrap(), value.text())).collect()
}

#[test]
fn scalars_stay_text() {
    let node = read("a: no\nb: 017\nc: 1_000\nd: ~\ne: 'null'\nf:\n");
    let expected = [
        ("a", Some("no")),
        ("b", Some("017")),
        ("c", Some("1_000")),
        ("d", None),
        ("e", Some("null")),
        ("f", None),
    ];
    assert_eq!(pairs(&node), expected);
}

#[test]
fn spans_cover_the_node() {
    for text in [
        "a: x # comment\nb: [y, 'z']\n",
        "\u{feff}a: x\n",
        "é: \"ü\"\r\nb:\r\n  - one\r\n  - two\r\n",
        "a: &anchor x\nb: *anchor\n",
    ] {
        let node = read(text);
        let YamlValue::Map(pairs) = &node.value else { panic!() };
        for (key, value) in pairs {
            assert_eq!(&text[key.span.clone()], key.text().unwrap());
            if let Some(scalar) = value.text() {
                let source = text[value.span.clone()].trim_matches(['"', '\'']);
                assert!(source == scalar || source == "*anchor", "{source:?} {scalar:?}");
            }
        }
    }
    let text = "include:\n  - general/**\n  - coding/*\n\nname: x\n";
    let node = read(text);
    let YamlValue::Map(pairs) = &node.value else { panic!() };
    assert_eq!(&text[pairs[0].1.span.clone()], "- general/**\n  - coding/*");
}

#[test]
fn spans_of_collections_and_block_scalars_cover_first_to_last_character() {
    for (text, source) in [
        ("a:\n  - x\n  - y\n\nb: c\n", "- x\n  - y"),
        ("a:\n- x\n- y\n\n", "- x\n- y"),
        ("a:\n  -   x\nb: c\n", "-   x"),
        ("a: [ x, y ]\nb: c\n", "[ x, y ]"),
        ("a: [\n  x,\n  y\n]\nb: c\n", "[\n  x,\n  y\n]"),
        ("a: { x: y }\n", "{ x: y }"),
        ("a: []\n", "[]"),
        ("a:\n  x: y\n\nb: c\n", "x: y"),
        ("a: >\n  one\n  two\nb: c\n", ">\n  one\n  two"),
        ("a: |-  # why\r\n  one\r\n  two\r\n\r\nb: c\r\n", "|-  # why\r\n  one\r\n  two"),
        ("a: >\n\n  one\n", ">\n\n  one"),
    ] {
        let node = read(text);
        let YamlValue::Map(pairs) = &node.value else { panic!() };
        assert_eq!(&text[pairs[0].1.span.clone()], source, "{text:?}");
    }
}

#[test]
fn sp_11_duplicate_key_is_an_error() {
    let error = parse_error("name: a\nname: b\n");
    assert!(error.message.contains("`name`"), "{}", error.message);
    assert_eq!(error.span, 8..12);
}

#[test]
fn se_04_yaml_bombs_are_rejected_quickly() {
    let mut aliases = String::from("a: &a [x, x, x, x, x, x, x, x, x, x]\n");
    for (last, next) in ('a'..'i').zip('b'..='i') {
        aliases += &format!(
            "{next}: &{next} [*{last}, *{last}, *{last}, *{last}, *{last}, *{last}, *{last}, *{last}]\n"
        );
    }
    assert!(parse_error(&aliases).message.contains("nodes"));
    for bomb in
        ["[".repeat(400_000), "{a: ".repeat(100_000), "- ".repeat(300_000), "? ".repeat(300_000)]
    {
        parse_error(&bomb);
    }
    let wide = format!("[{}]", "x,".repeat(20_000));
    assert!(parse_error(&wide).message.contains("more than 10000 nodes"));
}

#[test]
fn se_14_node_and_alias_limits_accept_the_maximum_and_reject_one_more() {
    let limits = Limits { yaml_nodes: 3, yaml_aliases: 1, ..Limits::default() };
    assert!(parse("[x, y]", &limits).is_ok());
    assert!(parse("[x, y, z]", &limits).is_err());
    assert!(parse("[&a x, *a]", &limits).is_ok());
    let limits = Limits { yaml_nodes: 9, ..limits };
    assert!(parse("[&a x, *a, *a]", &limits).is_err());
    let limits = Limits { yaml_bytes: 4, ..Limits::default() };
    assert!(parse("a: b", &limits).is_ok());
    assert!(parse("a: bc", &limits).is_err());
}

#[test]
fn text_that_is_not_one_document_is_rejected() {
    assert!(parse_error("a: b\n---\nc: d\n").message.contains("multiple YAML documents"));
    assert!(parse_error("[a]: b").message.contains("a key must be text"));
    assert!(parse_error("a: &x [*x]").message.contains("alias"));
    assert!(read("").is_null());
}

#[test]
fn help_follows_the_kind_of_an_error_and_not_the_words_in_it() {
    for (text, kind) in [
        ("a:\n\tb: c\n", YamlErrorKind::Tab),
        ("a: *b\n", YamlErrorKind::Anchor),
        ("a: *\n", YamlErrorKind::Anchor),
        ("table: x\ntable: y\n", YamlErrorKind::DuplicateKey),
        ("a: b\n---\nc: d\n", YamlErrorKind::Document),
        ("a: [document\n", YamlErrorKind::Syntax),
        (&"[".repeat(65), YamlErrorKind::Limit),
    ] {
        let error = parse_error(text);
        assert_eq!(error.kind, kind, "{text:?}: {error}");
    }
}
