//! `sp pkg stale`: nodes whose source files have changed.

use std::collections::BTreeMap;

use serde_json::Value;
use sp_testkit::{GitRepository, World};

use super::{TestPackage, assert_mentions, pkg, pkg_json, project, refused, write};

const CODE: &str = "//! Money.\n\n/// Adds two sums.\npub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n\n/// Halves a sum.\npub fn halve(a: u32) -> u32 {\n    a / 2\n}\n";

/// A project with code and a document, and the package `shop` created from it.
fn project_with_package() -> World {
    let world = project();
    write(&world, "project/src/money.rs", CODE);
    write(
        &world,
        "project/README.md",
        "# Shop\n\nSells things.\n\n## Build\n\nRun `make all` first.\n",
    );
    pkg(&world, &["create", "--name", "shop", "--from", "."]).ok();
    world
}

/// The states of the stale nodes, by the first line of their content.
fn states(world: &World) -> BTreeMap<String, String> {
    let report = pkg_json(world, &["stale", "shop"]);
    let text = |node: &Value, key: &str| node[key].as_str().unwrap().to_owned();
    let stale = report["stale"].as_array().unwrap().iter();
    stale
        .map(|node| (text(node, "content").lines().next().unwrap().to_owned(), text(node, "state")))
        .collect()
}

#[test]
fn pk_21_nodes_of_unchanged_files_are_fresh() {
    let world = project_with_package();
    assert_eq!(states(&world), BTreeMap::new());
    let report = pkg_json(&world, &["stale", "shop"]);
    assert_eq!(report["unknown"], 0, "every node has a file and lines: {report}");
    let run = pkg(&world, &["stale", "shop", "--exit-code"]).ok();
    assert!(run.stdout.contains(&report["fresh"].to_string()), "{run}");
}

#[test]
fn pk_21_changed_moved_and_deleted_lines_are_distinguished() {
    let world = project_with_package();
    let changed =
        CODE.replace("a / 2", "a >> 1").replace("/// Adds", "// One line more.\n/// Adds");
    write(&world, "project/src/money.rs", changed);
    std::fs::remove_file(world.path("project/README.md")).unwrap();
    let states = states(&world);
    let state = |content: &str| {
        states.iter().find(|(key, _)| key.contains(content)).map(|(_, state)| state.as_str())
    };
    assert_eq!(state("pub fn add"), Some("moved"));
    assert_eq!(state("pub fn halve"), Some("changed"));
    assert_eq!(state("src/money.rs"), Some("changed"), "the file itself: {states:?}");
    assert_eq!(state("Build"), Some("gone"));
    let report = pkg_json(&world, &["stale", "shop"]);
    let add =
        report["stale"].as_array().unwrap().iter().find(|node| node["state"] == "moved").unwrap();
    assert_eq!((&add["line"], &add["line_now"]), (&Value::from(4), &Value::from(5)));
    let run = pkg(&world, &["stale", "shop", "--exit-code"]).fails(1);
    assert!(run.stdout.contains("src/money.rs:4→5"), "{run}");
    pkg(&world, &["stale", "shop"]).ok();
}

#[test]
fn pk_21_moved_lines_and_trailing_white_space_are_not_changes() {
    let world = project_with_package();
    write(&world, "project/src/money.rs", CODE.replace("/// Adds", "// One line more.\n/// Adds"));
    let states = states(&world);
    assert_eq!(states.values().filter(|state| *state == "moved").count(), 2, "{states:?}");
    write(&world, "project/src/money.rs", CODE.replace('\n', "  \n"));
    pkg(&world, &["stale", "shop", "--exit-code"]).ok();
}

#[test]
fn pk_21_project_directory_can_be_given_and_is_checked() {
    let world = project_with_package();
    write(&world, "elsewhere/x", "");
    let error = world.sp_error_in("elsewhere", &["pkg", "stale", "shop"]);
    assert_eq!(error.code, "E-file-not-found");
    assert!(error.hints_at("--dir"), "{error:?}");
    world.sp_in("elsewhere", &["pkg", "stale", "shop", "--dir", "../project", "--exit-code"]).ok();
    let error = refused(&world, &["stale", "missing"], "E-package-not-found");
    assert_mentions(&error, "missing");
}

#[test]
fn se_03_paths_that_leave_the_project_are_not_followed() {
    let world = project();
    write(&world, "secret.txt", "a\n");
    std::os::unix::fs::symlink(world.path("secret.txt"), world.path("project/link.txt")).unwrap();
    let node = |id: &str, path: &str| {
        format!(
            r#"{{"id":"{id}","type":"fact","content":"x {id}","file_path":"{path}","line_start":1,"lines_hash":"0000000000000000000000ff"}}"#
        )
    };
    let nodes =
        [node("a", "../secret.txt"), node("b", "/etc/passwd"), node("c", "link.txt")].join(",");
    let content = format!(
        r#"{{"context_graph":{{"format":"ctxpkg-graph-v2","nodes":[{nodes}],"edges":[]}}}}"#
    );
    TestPackage::new("odd", "1.0.0").with_content(&content).write_to(&world, "project/odd.ctxpkg");
    let report = pkg_json(&world, &["stale", "odd.ctxpkg"]);
    assert_eq!(
        (&report["unknown"], report["stale"].as_array().map(Vec::len)),
        (&Value::from(3), Some(0)),
        "{report}"
    );
}

#[test]
fn pk_21_nodes_without_hashes_are_compared_by_date() {
    let world = project();
    let repo = GitRepository::new(world.path("project"));
    repo.write("src/a.rs", "fn a() {}\n").commit("a");
    let node = |id: &str, date: &str| {
        format!(
            r#"{{"id":"{id}","type":"fact","content":"x {id}","file_path":"src/a.rs","created_at":"{date}"}}"#
        )
    };
    let nodes =
        [node("old", "2001-01-01T00:00:00Z"), node("new", "2099-01-01T00:00:00Z")].join(",");
    let content = format!(
        r#"{{"context_graph":{{"format":"ctxpkg-graph-v2","nodes":[{nodes}],"edges":[]}}}}"#
    );
    TestPackage::new("theirs", "1.0.0")
        .with_content(&content)
        .write_to(&world, "project/theirs.ctxpkg");
    let report = pkg_json(&world, &["stale", "theirs.ctxpkg"]);
    assert_eq!(
        (&report["fresh"], &report["stale"][0]["id"]),
        (&Value::from(1), &Value::from("old")),
        "{report}"
    );
}
