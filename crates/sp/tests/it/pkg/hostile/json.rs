//! JSON that is too large, too deeply nested or not a single object.

use super::*;

#[test]
fn pk_01_se_04_huge_invalid_json_is_refused_cheaply() {
    let world = project();
    let keys: String = (0..900_000).map(|index| format!("\"{index}\":0,")).collect();
    for (case, text) in [
        ("brackets", "[".repeat(10 * MIB - 1)),
        ("braces", "{\"a\":".repeat(2_000_000)),
        (
            "nested in the content",
            valid().with_content(&format!("{{\"a\":{}}}", "[".repeat(9_000_000))).to_json(),
        ),
        ("nearly a million keys", format!("{{{keys}\"manifest\":1}}")),
        ("a million digits", format!("{{\"manifest\":{}}}", "1".repeat(1_000_000))),
        ("a million backslashes", format!("{{\"manifest\":\"{}\"}}", "\\\\".repeat(1_000_000))),
        ("an unterminated string", format!("{{\"manifest\":\"{}", "x".repeat(9_000_000))),
        ("commas", format!("[{}", "0,".repeat(5_000_000))),
    ] {
        assert_invalid(&world, case, text, "PK-01");
    }
    let long = valid().with("name", json!("x".repeat(5_000_000)));
    assert_invalid(&world, "a name of five million letters", long.to_json(), "PK-03");
    let keys: String = (0..500_000).map(|index| format!("\"k{index}\":0,")).collect();
    let duplicate = valid().with_content(&format!("{{{keys}\"k0\":1}}"));
    assert_invalid(&world, "a duplicate among half a million keys", duplicate.to_json(), "PK-01");
}

#[test]
fn se_04_long_lists_in_a_manifest_are_checked_cheaply() {
    let world = project();
    let many = |item: &dyn Fn(usize) -> Value| Value::Array((0..100_000).map(item).collect());
    for (case, key, list) in [
        ("tags", "tags", many(&|_| json!(1))),
        ("layers", "layers", many(&|_| json!(1))),
        ("unknown layers", "layers", many(&|index| json!(index.to_string()))),
        ("the same layer", "layers", many(&|_| json!("knowledge"))),
        ("dependencies", "dependencies", many(&|_| json!(1))),
        (
            "bad ranges",
            "dependencies",
            many(&|index| json!({"name": format!("y{index}"), "version_req": "!"})),
        ),
        ("the same dependency", "dependencies", many(&|_| json!({"name": "y"}))),
        ("conflicts", "conflicts", many(&|_| json!(1))),
    ] {
        let file = valid().with(key, list).write_to(&world, "bomb.ctxpkg");
        assert_cheap(&measured_pkg(&world, &["verify", &file]), case);
    }
}

#[test]
fn se_04_long_lists_in_the_content_are_checked_cheaply() {
    let world = project();
    let graph = |nodes: &str, edges: &str| {
        format!(r#"{{"context_graph":{{"nodes":[{nodes}],"edges":[{edges}]}}}}"#)
    };
    let many = |item: &str| vec![item; 100_000].join(",");
    for (case, content) in [
        ("nodes", graph(&many("{}"), "")),
        ("numbers for nodes", graph(&many("0"), "")),
        ("duplicate nodes", graph(&many(r#"{"id":"a","type":"f","content":"x"}"#), "")),
        ("edges", graph("", &many("{}"))),
        ("edges to missing nodes", graph("", &many(r#"{"from":"a","to":"b","type":"t"}"#))),
        ("facts", format!(r#"{{"knowledge":{{"facts":[{}]}}}}"#, many("{}"))),
    ] {
        let file = valid().with_content(&content).write_to(&world, "bomb.ctxpkg");
        assert_cheap(&measured_pkg(&world, &["verify", &file]), case);
    }
}

#[test]
fn pk_01_anything_but_one_strict_json_object_is_refused() {
    let world = project();
    let text = valid().to_json();
    for (case, text) in [
        ("empty", String::new()),
        ("a byte order mark", format!("\u{feff}{text}")),
        ("trailing text", format!("{text} x")),
        ("two objects", format!("{text}{text}")),
        ("a trailing NUL", format!("{text}\0")),
        ("a list", format!("[{text}]")),
        ("NaN", text.replace("1.0}", "NaN}")),
        ("Infinity", text.replace("1.0}", "Infinity}")),
        ("a leading zero", text.replace("\"conformance_level\":1", "\"conformance_level\":01")),
        ("a plus", text.replace("\"conformance_level\":1", "\"conformance_level\":+1")),
        ("hex", text.replace("\"conformance_level\":1", "\"conformance_level\":0x1")),
        ("a comment", text.replace("{\"manifest\"", "{/**/\"manifest\"")),
        ("a trailing comma", text.replace("\"edges\":[]", "\"edges\":[],")),
        ("single quotes", text.replace("\"edges\"", "'edges'")),
        ("a control character", text.replace("A test.", "A\u{1}test.")),
        ("a line feed in a string", text.replace("A test.", "A\ntest.")),
        ("a NUL in a string", text.replace("A test.", "A\0test.")),
        ("a lone surrogate", text.replace("A test.", "\\ud800")),
        ("a bad escape", text.replace("A test.", "\\x41")),
        ("a duplicate member", text.replacen('{', "{\"manifest\":{},", 1)),
        ("a duplicate in the manifest", text.replace("\"layers\"", "\"name\":\"y\",\"layers\"")),
        (
            "a duplicate with an escape",
            text.replace("\"layers\"", "\"n\\u0061me\":\"y\",\"layers\""),
        ),
        ("a duplicate in the content", text.replace("\"edges\":[]", "\"edges\":[],\"edges\":[]")),
        ("a duplicate in a node", text.replace("\"id\":", "\"\\u0069d\":\"z\",\"id\":")),
        ("no content", text.replace("\"content\":{", "\"contents\":{")),
        ("no manifest", text.replace("\"manifest\":", "\"manifests\":")),
        ("a no-break space", text.replacen('{', "{\u{a0}", 1)),
    ] {
        assert_invalid(&world, case, text, "PK-01");
    }
    let mut latin = text.into_bytes();
    latin[30] = 0xe9;
    assert_invalid(&world, "invalid UTF-8", latin, "PK-01");
}

#[test]
fn pk_01_nesting_depth_is_limited_to_128() {
    let world = project();
    // The package and its content are the first two levels.
    let nested = |depth: usize| {
        valid().with_content(&format!(
            "{{\"a\":{}1{}}}",
            "[".repeat(depth - 2),
            "]".repeat(depth - 2)
        ))
    };
    assert_invalid(&world, "129 deep", nested(129).to_json(), "PK-01");
    let file = nested(128).write_to(&world, "deep.ctxpkg");
    pkg(&world, &["import", &file]).ok();
}

#[test]
fn pk_01_packages_over_10_mib_need_a_flag() {
    let world = project();
    let sized = |name: &str, size: usize| {
        let filled = |fill: usize| {
            TestPackage::new(name, "1.0.0")
                .with_content(&format!("{{\"z\":\"{}\"}}", "z".repeat(fill)))
        };
        // The package contains its own size, so that its length is adjusted with white space.
        let text = filled(size - filled(0).to_json().len() - 16).to_json();
        let padding = size - text.len();
        text + &" ".repeat(padding)
    };
    let over = sized("over", 10 * MIB + 1);
    assert_invalid(&world, "over the limit", &over, "--max-size");
    let file = write(&world, "exact.ctxpkg", sized("exact", 10 * MIB));
    pkg(&world, &["import", &file]).ok();
    let file = write(&world, "over.ctxpkg", &over);
    pkg(&world, &["import", &file, "--max-size", "20000000"]).ok();
    pkg(&world, &["export", "over", "--output", "out.ctxpkg"]).ok();
    assert!(read(&world, "project/out.ctxpkg") == over);
    pkg(&world, &["install", "over"]).ok();
    std::fs::File::create(world.path("sparse.ctxpkg")).unwrap().set_len(1 << 40).unwrap();
    let sparse = world.path("sparse.ctxpkg").display().to_string();
    let measured = measured_pkg(&world, &["import", &sparse]);
    assert_eq!(measured.run.code, Some(3), "{}", measured.run);
    assert_cheap(&measured, "a sparse file of 1 TiB");
}
