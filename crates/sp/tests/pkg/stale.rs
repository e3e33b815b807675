//! `sp pkg stale`: what the files of a package have outgrown.

use std::collections::BTreeMap;

use serde_json::Value;
use sp_testkit::{Repo, World};

use crate::{Made, answer, pkg, project, refused, write};

const CODE: &str = "//! Money.\n\n/// Adds two sums.\npub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n\n/// Halves a sum.\npub fn halve(a: u32) -> u32 {\n    a / 2\n}\n";

/// A project with code and a document, and the package that was made of it.
fn read_once() -> World {
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

/// How the nodes stand, by what they say first.
fn states(world: &World) -> BTreeMap<String, String> {
    let found = answer(world, &["stale", "shop"]);
    let text = |node: &Value, key: &str| node[key].as_str().unwrap().to_owned();
    let stale = found["stale"].as_array().unwrap().iter();
    stale
        .map(|node| (text(node, "content").lines().next().unwrap().to_owned(), text(node, "state")))
        .collect()
}

#[test]
fn pk_21_what_was_read_just_now_is_fresh() {
    let world = read_once();
    assert_eq!(states(&world), BTreeMap::new());
    let found = answer(&world, &["stale", "shop"]);
    assert_eq!(found["unknown"], 0, "every node has its file and its lines: {found}");
    let run = pkg(&world, &["stale", "shop", "--exit-code"]).ok();
    assert!(
        run.stdout.starts_with("all of ") && run.stdout.contains("as their files are"),
        "{run}"
    );
}

#[test]
fn pk_21_lines_that_changed_moved_and_went_away_are_told_apart() {
    let world = read_once();
    let changed =
        CODE.replace("a / 2", "a >> 1").replace("/// Adds", "// One line more.\n/// Adds");
    write(&world, "project/src/money.rs", changed);
    std::fs::remove_file(world.path("project/README.md")).unwrap();
    let states = states(&world);
    let state = |says: &str| {
        states.iter().find(|(key, _)| key.contains(says)).map(|(_, state)| state.as_str())
    };
    assert_eq!(state("pub fn add"), Some("moved"));
    assert_eq!(state("pub fn halve"), Some("changed"));
    assert_eq!(state("src/money.rs"), Some("changed"), "the file itself: {states:?}");
    assert_eq!(state("Build"), Some("gone"));
    let found = answer(&world, &["stale", "shop"]);
    let add =
        found["stale"].as_array().unwrap().iter().find(|node| node["state"] == "moved").unwrap();
    assert_eq!((&add["line"], &add["line_now"]), (&Value::from(4), &Value::from(5)));
    let run = pkg(&world, &["stale", "shop", "--exit-code"]).fails(1);
    assert!(run.stdout.contains("src/money.rs:4→5") && run.stdout.contains("1 moved"), "{run}");
    pkg(&world, &["stale", "shop"]).ok();
}

#[test]
fn pk_21_what_only_moved_is_not_outgrown() {
    let world = read_once();
    write(&world, "project/src/money.rs", CODE.replace("/// Adds", "// One line more.\n/// Adds"));
    let states = states(&world);
    assert_eq!(states.values().filter(|state| *state == "moved").count(), 2, "{states:?}");
    // White space at the ends of lines says nothing.
    write(&world, "project/src/money.rs", CODE.replace('\n', "  \n"));
    pkg(&world, &["stale", "shop", "--exit-code"]).ok();
}

#[test]
fn pk_21_another_folder_is_named_and_a_wrong_one_is_noticed() {
    let world = read_once();
    write(&world, "elsewhere/x", "");
    let run = world.sp_in("elsewhere", &["pkg", "stale", "shop"]).fails(1);
    assert!(run.stderr.contains("none of the files") && run.stderr.contains("--dir"), "{run}");
    world.sp_in("elsewhere", &["pkg", "stale", "shop", "--dir", "../project", "--exit-code"]).ok();
    refused(&world, &["stale", "nobody"], 1, "nobody");
}

#[test]
fn se_03_a_path_that_leads_out_of_the_project_is_not_followed() {
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
    Made::new("odd", "1.0.0").holds(&content).put(&world, "project/odd.ctxpkg");
    let found = answer(&world, &["stale", "odd.ctxpkg"]);
    assert_eq!(
        (&found["unknown"], found["stale"].as_array().map(Vec::len)),
        (&Value::from(3), Some(0)),
        "{found}"
    );
}

#[test]
fn pk_21_packages_of_others_are_compared_by_date() {
    let world = project();
    let repo = Repo::new(world.path("project"));
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
    Made::new("theirs", "1.0.0").holds(&content).put(&world, "project/theirs.ctxpkg");
    let found = answer(&world, &["stale", "theirs.ctxpkg"]);
    assert_eq!(
        (&found["fresh"], &found["stale"][0]["id"]),
        (&Value::from(1), &Value::from("old")),
        "{found}"
    );
}
