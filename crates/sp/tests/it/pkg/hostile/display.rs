//! Text from packages in the output.

use super::*;

#[test]
fn se_08_text_from_packages_is_escaped() {
    let world = project();
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}gnp.exe\u{9b}31m\r\u{200b}";
    let package = TestPackage::new("x", "1.0.0")
        .with("description", json!(evil))
        .with("author", json!(evil))
        .with("tags", json!([evil]))
        .with("updated_at", json!(evil))
        .with("provenance", json!({"tool": evil, "tool_version": evil}))
        .with("scope", json!(evil))
        .with(evil, json!(1))
        .with("graph_summary", json!({"node_count": evil}))
        .with("layers", json!([evil]))
        .with("dependencies", json!([{"name": "y", "version_req": evil, "optional": true}]));
    let node =
        json!({"id": evil, "type": evil, "content": evil, "activation": 1.0, "file_path": evil});
    let edge = json!({"from": evil, "to": evil, "type": evil});
    let graph = |nodes: Value| {
        json!({evil: 1, "context_graph": {"format": evil, "nodes": nodes, "edges": [edge]}})
            .to_string()
    };
    let file = package.clone().with_content(&graph(json!([node]))).write_to(&world, "x.ctxpkg");
    let other = package
        .clone()
        .with_content(&graph(json!([])))
        .with("version", json!("2.0.0"))
        .write_to(&world, "y.ctxpkg");
    let bad = package.clone().with("name", json!(evil)).write_to(&world, "bad.ctxpkg");
    let kind = package.clone().with("kind", json!(evil)).write_to(&world, "kind.ctxpkg");
    let hash = package
        .with("integrity", json!({"sha256": evil, "content_hash": evil, "byte_size": 1}))
        .write_to(&world, "hash.ctxpkg");
    let path = documents(&[manual(), document(evil, b"x")]).write_to(&world, "path.ctxpkg");
    for format in ["human", "plain"] {
        for args in [
            &["import", file.as_str(), &other][..],
            &["info", &file],
            &["info", "x"],
            &["list"],
            &["log", "x"],
            &["verify", &file],
            &["diff", &file, &other],
            &["diff", &other, &file],
            &["import", &bad],
            &["import", &kind],
            &["import", &hash],
            &["import", &path],
            &["verify", &hash],
            &["install", "x", "--dry-run"],
            &["info", evil],
            &["remove", evil],
            &["export", evil],
            &["rollback", evil],
            &["uninstall", evil],
            &["create", "--name", evil, "--from", "."],
        ] {
            let run = pkg(&world, &[args, &["--format", format]].concat());
            assert_eq!(unescaped_lines(&run.to_string()), [""; 0], "{args:?} as {format}");
        }
    }
}

#[test]
fn se_08_line_feeds_do_not_add_lines_to_plain_output() {
    let world = project();
    let package =
        TestPackage::new("x", "1.0.0").with("description", json!("a\nx\t9.9.9\tsha256:0"));
    import(&world, &[package]);
    assert_eq!(pkg(&world, &["list", "--format", "plain"]).ok().stdout.lines().count(), 1);
    assert_eq!(pkg(&world, &["log", "x", "--format", "plain"]).ok().stdout.lines().count(), 1);
}
