//! Text from packages, as it is shown.

use super::*;

#[test]
fn se_08_text_from_packages_is_shown_escaped() {
    let world = project();
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}gnp.exe\u{9b}31m\r\u{200b}";
    let made = Made::new("x", "1.0.0")
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
    let file = made.clone().holds(&graph(json!([node]))).put(&world, "x.ctxpkg");
    let other = made
        .clone()
        .holds(&graph(json!([])))
        .with("version", json!("2.0.0"))
        .put(&world, "y.ctxpkg");
    let bad = made.clone().with("name", json!(evil)).put(&world, "bad.ctxpkg");
    let kind = made.clone().with("kind", json!(evil)).put(&world, "kind.ctxpkg");
    let hash = made
        .with("integrity", json!({"sha256": evil, "content_hash": evil, "byte_size": 1}))
        .put(&world, "hash.ctxpkg");
    let path = documents(&[manual(), document(evil, b"x")]).put(&world, "path.ctxpkg");
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
            for text in [&run.stdout, &run.stderr] {
                let odd = |c: char| {
                    c.is_control() && c != '\n' && c != '\t' || "\u{202e}\u{9b}\u{200b}".contains(c)
                };
                let shown: Vec<&str> = text.lines().filter(|line| line.contains(odd)).collect();
                assert!(shown.is_empty(), "{args:?} as {format}: {shown:?}");
            }
        }
    }
}

#[test]
fn se_08_a_plain_line_is_one_item_whatever_a_package_says() {
    let world = project();
    let made = Made::new("x", "1.0.0").with("description", json!("a\nx\t9.9.9\tsha256:0"));
    import(&world, &[made]);
    assert_eq!(pkg(&world, &["list", "--format", "plain"]).ok().stdout.lines().count(), 1);
    assert_eq!(pkg(&world, &["log", "x", "--format", "plain"]).ok().stdout.lines().count(), 1);
}
