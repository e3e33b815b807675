//! JSON that is too large, too deep or not one object.

use super::*;

#[test]
fn pk_01_se_04_bombs_of_json_are_refused_cheaply() {
    let world = project();
    let keys: String = (0..900_000).map(|at| format!("\"{at}\":0,")).collect();
    for (what, text) in [
        ("brackets", "[".repeat(10 * MIB - 1)),
        ("braces", "{\"a\":".repeat(2_000_000)),
        (
            "nested in the content",
            good().holds(&format!("{{\"a\":{}}}", "[".repeat(9_000_000))).text(),
        ),
        ("nearly a million keys and no package", format!("{{{keys}\"manifest\":1}}")),
        ("a million digits and no package", format!("{{\"manifest\":{}}}", "1".repeat(1_000_000))),
        ("a million backslashes", format!("{{\"manifest\":\"{}\"}}", "\\\\".repeat(1_000_000))),
        ("a string without end", format!("{{\"manifest\":\"{}", "x".repeat(9_000_000))),
        ("commas", format!("[{}", "0,".repeat(5_000_000))),
    ] {
        bomb(&world, what, text, 3, "PK-01");
    }
    let long = good().with("name", json!("x".repeat(5_000_000)));
    bomb(&world, "a name of five million letters", long.text(), 3, "PK-03");
    let keys: String = (0..500_000).map(|at| format!("\"k{at}\":0,")).collect();
    let twice = good().holds(&format!("{{{keys}\"k0\":1}}"));
    bomb(&world, "a twin among half a million", twice.text(), 3, "PK-01");
}

#[test]
fn se_04_long_lists_in_a_manifest_are_cheap() {
    let world = project();
    let many = |item: &dyn Fn(usize) -> Value| Value::Array((0..100_000).map(item).collect());
    for (what, key, list) in [
        ("tags", "tags", many(&|_| json!(1))),
        ("layers", "layers", many(&|_| json!(1))),
        ("unknown layers", "layers", many(&|at| json!(at.to_string()))),
        ("the same layer", "layers", many(&|_| json!("knowledge"))),
        ("dependencies", "dependencies", many(&|_| json!(1))),
        (
            "bad ranges",
            "dependencies",
            many(&|at| json!({"name": format!("y{at}"), "version_req": "!"})),
        ),
        ("the same dependency", "dependencies", many(&|_| json!({"name": "y"}))),
        ("conflicts", "conflicts", many(&|_| json!(1))),
    ] {
        let file = good().with(key, list).put(&world, "bomb.ctxpkg");
        let cost = cost(&world, &["verify", &file]);
        assert!(cost.stderr.len() < 200_000, "{what}: says {} bytes", cost.stderr.len());
        assert!(cost.memory < MEMORY, "{what}: it took {} KiB", cost.memory);
    }
}

#[test]
fn se_04_long_lists_in_the_content_are_cheap() {
    let world = project();
    let graph = |nodes: &str, edges: &str| {
        format!(r#"{{"context_graph":{{"nodes":[{nodes}],"edges":[{edges}]}}}}"#)
    };
    let many = |item: &str| vec![item; 100_000].join(",");
    for (what, content) in [
        ("nodes", graph(&many("{}"), "")),
        ("numbers for nodes", graph(&many("0"), "")),
        ("twins", graph(&many(r#"{"id":"a","type":"f","content":"x"}"#), "")),
        ("edges", graph("", &many("{}"))),
        ("edges that lead nowhere", graph("", &many(r#"{"from":"a","to":"b","type":"t"}"#))),
        ("facts", format!(r#"{{"knowledge":{{"facts":[{}]}}}}"#, many("{}"))),
    ] {
        let file = good().holds(&content).put(&world, "bomb.ctxpkg");
        let cost = cost(&world, &["verify", &file]);
        assert!(cost.stderr.len() < 200_000, "{what}: says {} bytes", cost.stderr.len());
        assert!(cost.memory < MEMORY, "{what}: it took {} KiB", cost.memory);
    }
}

#[test]
fn pk_01_what_is_no_single_json_object_is_refused() {
    let world = project();
    let text = good().text();
    for (what, text) in [
        ("nothing", String::new()),
        ("a byte order mark", format!("\u{feff}{text}")),
        ("something behind", format!("{text} x")),
        ("two of them", format!("{text}{text}")),
        ("a NUL behind", format!("{text}\0")),
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
        ("a twin at the top", text.replacen('{', "{\"manifest\":{},", 1)),
        ("a twin in the manifest", text.replace("\"layers\"", "\"name\":\"y\",\"layers\"")),
        ("a twin by an escape", text.replace("\"layers\"", "\"n\\u0061me\":\"y\",\"layers\"")),
        ("a twin in the content", text.replace("\"edges\":[]", "\"edges\":[],\"edges\":[]")),
        ("a twin in a node", text.replace("\"id\":", "\"\\u0069d\":\"z\",\"id\":")),
        ("no content", text.replace("\"content\":{", "\"contents\":{")),
        ("no manifest", text.replace("\"manifest\":", "\"manifests\":")),
        ("a space that JSON does not know", text.replacen('{', "{\u{a0}", 1)),
    ] {
        bomb(&world, what, text, 3, "PK-01");
    }
    let mut latin = text.into_bytes();
    latin[30] = 0xe9;
    bomb(&world, "no UTF-8", latin, 3, "UTF-8");
}

#[test]
fn pk_01_nesting_of_128_is_taken_and_129_is_not() {
    let world = project();
    // The document, its content and the member are three of them.
    let nested = |depth: usize| {
        good().holds(&format!("{{\"a\":{}1{}}}", "[".repeat(depth - 2), "]".repeat(depth - 2)))
    };
    bomb(&world, "129 deep", nested(129).text(), 3, "PK-01");
    let file = nested(128).put(&world, "deep.ctxpkg");
    pkg(&world, &["import", &file]).ok();
}

#[test]
fn pk_01_ten_mebibytes_are_taken_and_one_more_is_not_unless_it_is_said() {
    let world = project();
    let sized = |name: &str, size: usize| {
        let made = |fill: usize| {
            Made::new(name, "1.0.0").holds(&format!("{{\"z\":\"{}\"}}", "z".repeat(fill)))
        };
        // The number of bytes stands in it too, and may have a digit more.
        let text = made(size - made(0).text().len() - 16).text();
        let pad = size - text.len();
        text + &" ".repeat(pad)
    };
    let past = sized("past", 10 * MIB + 1);
    bomb(&world, "past the limit", &past, 3, "--max-size");
    let at = write(&world, "at.ctxpkg", sized("at", 10 * MIB));
    pkg(&world, &["import", &at]).ok();
    let file = write(&world, "past.ctxpkg", &past);
    pkg(&world, &["import", &file, "--max-size", "20000000"]).ok();
    pkg(&world, &["export", "past", "--output", "out.ctxpkg"]).ok();
    assert!(read(&world, "project/out.ctxpkg") == past);
    pkg(&world, &["install", "past"]).ok();
    std::fs::File::create(world.path("sparse.ctxpkg")).unwrap().set_len(1 << 40).unwrap();
    let sparse = world.path("sparse.ctxpkg").display().to_string();
    let cost = cost(&world, &["import", &sparse]);
    assert!(cost.code == Some(3) && cost.memory < MEMORY, "{}", cost.stderr);
}
