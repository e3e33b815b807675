//! `.ctxpkg/context.json`: the merged graph of the installed packages.

use serde_json::{Value, json};
use sp_testkit::World;

use super::{exists, file_with_text, lock, pkg, pkg_json, project, read, strings, write};

const FILE: &str = "project/.ctxpkg/context.json";

/// A store with two packages that share a node and contradict each other in another one.
fn project_with_packages() -> World {
    let world = project();
    let a = json!({"name": "a", "nodes": [
        {"id": "F1", "type": "fact", "content": "Uses PostgreSQL 15", "activation": 0.5},
        {"id": "G1", "type": "gotcha", "content": "The pool has 20 connections", "activation": 0.5},
        {"id": "O1", "type": "fact", "content": "Old"}],
        "edges": [{"from": "F1", "to": "G1", "type": "supports", "weight": 0.5}]});
    let b = json!({"name": "b", "nodes": [
        {"id": "F1", "type": "fact", "content": "Uses PostgreSQL 16"},
        {"id": "G1", "type": "gotcha", "content": "The pool has 20 connections", "category": "db"},
        {"id": "N1x", "type": "fact", "content": "New", "supersedes": "O1"}],
        "edges": [{"from": "F1", "to": "G1", "type": "supports", "weight": 1.0}]});
    for (name, text) in [("a", a), ("b", b)] {
        write(&world, &format!("project/{name}.json"), text.to_string());
        pkg(&world, &["create", "--input", &format!("{name}.json")]).ok();
    }
    world
}

#[test]
fn pk_23_pk_19_install_merges_into_the_context_and_reports_changes() {
    let world = project_with_packages();
    let first = pkg_json(&world, &["install", "a"]);
    assert_eq!(strings(&first["context"]["added"]), ["F1", "G1", "O1"]);
    let context: Value = serde_json::from_str(&read(&world, FILE)).unwrap();
    assert_eq!(context["sources"].as_object().map(serde_json::Map::len), Some(1));
    let planned = pkg_json(&world, &["install", "b", "--dry-run"])["context"].clone();
    let changes = pkg_json(&world, &["install", "b"])["context"].clone();
    assert_eq!(planned, changes, "a dry run reports the same");
    assert_eq!(
        (strings(&changes["added"]), strings(&changes["updated"])),
        (vec!["F1", "N1x"], vec!["G1"])
    );
    assert_eq!(changes["superseded"], json!([{"old": "O1", "new": "N1x"}]));
    let contradiction = &changes["contradictions"][0];
    assert_eq!(
        (&contradiction["from_content"], &contradiction["to_content"]),
        (&json!("Uses PostgreSQL 16"), &json!("Uses PostgreSQL 15"))
    );
    assert_eq!(contradiction["same_id"], json!(true));
    assert!(pkg_json(&world, &["install", "b"]).get("context").is_none(), "nothing changed");
    pkg(&world, &["uninstall", "b"]).ok();
    let run = pkg(&world, &["install", "b"]).ok();
    for data in ["5 nodes", "1 contradiction", "Uses PostgreSQL 15"] {
        assert!(run.stdout.contains(data), "`{data}` is not in {run}");
    }
}

#[test]
fn pk_19_merge_reports_changes_relative_to_the_first_package() {
    let world = project_with_packages();
    let merged = pkg_json(&world, &["merge", "a", "b", "--name", "all"]);
    assert_eq!(
        (strings(&merged["added"]), strings(&merged["updated"])),
        (vec!["F1", "N1x"], vec!["G1"])
    );
    let merged = pkg_json(&world, &["merge", "b", "a", "--name", "other"]);
    assert_eq!(strings(&merged["added"]).len(), 2);
    assert!(strings(&merged["updated"]).is_empty(), "the first package has more details: {merged}");
}

#[test]
fn pk_23_uninstall_restores_the_previous_context() {
    let world = project_with_packages();
    pkg(&world, &["install", "a"]).ok();
    let before = read(&world, FILE);
    pkg(&world, &["install", "b"]).ok();
    assert_ne!(read(&world, FILE), before);
    let removed = pkg_json(&world, &["uninstall", "b"])["context"].clone();
    assert_eq!(strings(&removed["removed"]), ["F1", "N1x"]);
    assert_eq!(read(&world, FILE), before);
    pkg(&world, &["uninstall", "a"]).ok();
    assert!(!exists(&world, FILE));
    assert!(!read(&world, "project/ctxpkg.lock").contains("context"));
}

#[test]
fn pk_23_context_does_not_depend_on_installation_order() {
    let orders: [&[&[&str]]; 3] = [&[&["a"], &["b"]], &[&["b"], &["a"]], &[&["b", "a"]]];
    let contexts = orders.map(|order| {
        let world = project_with_packages();
        order.iter().for_each(|names| drop(pkg(&world, &[&["install"], *names].concat()).ok()));
        read(&world, FILE)
    });
    assert!(contexts[0] == contexts[1] && contexts[1] == contexts[2]);
}

#[test]
fn pk_23_rollback_restores_the_context() {
    let world = project_with_packages();
    pkg(&world, &["install", "a"]).ok();
    let before = read(&world, FILE);
    pkg(&world, &["install", "b"]).ok();
    let changes = pkg_json(&world, &["rollback"])["context"].clone();
    assert_eq!(strings(&changes["removed"]), ["F1", "N1x"]);
    assert_eq!(read(&world, FILE), before);
    pkg(&world, &["rollback"]).ok();
    assert!(!exists(&world, FILE));
}

#[test]
fn pk_23_stored_context_equals_a_fresh_merge() {
    let world = project_with_packages();
    pkg(&world, &["install", "a", "b"]).ok();
    let query_all = || {
        [&["load", "--at", "2026-06-01T00:00:00Z"][..], &["query"], &["graph"]]
            .map(|args| pkg_json(&world, args))
    };
    let stored = query_all();
    assert_eq!(strings(&stored[0]["sources"]), ["a 1.0.0", "b 1.0.0"]);
    std::fs::remove_file(world.path(FILE)).unwrap();
    assert_eq!(query_all(), stored);
    pkg(&world, &["install"]).ok();
    assert!(exists(&world, FILE));
    assert_eq!(query_all(), stored);
    // Lockfiles of earlier versions of `sp` have no context.
    let mut lock = lock(&world);
    lock.as_object_mut().unwrap().remove("context");
    write(&world, "project/ctxpkg.lock", lock.to_string());
    std::fs::remove_file(world.path(FILE)).unwrap();
    assert_eq!(query_all(), stored);
    let again = pkg_json(&world, &["install"]);
    assert!(again.get("context").is_none() && exists(&world, FILE), "{again}");
}

#[test]
fn pk_23_edited_context_is_never_used() {
    let world = project_with_packages();
    pkg(&world, &["install", "a", "b"]).ok();
    let context = read(&world, FILE);
    let query = pkg_json(&world, &["query"]);
    for edited in [
        "",
        "{}",
        "\u{0}",
        &context.replace("PostgreSQL 16", "PostgreSQL 17"),
        &context[..context.len() / 2],
    ] {
        write(&world, FILE, edited);
        let run = pkg(&world, &["query", "--format", "json"]).ok();
        assert!(
            run.stderr.contains("warning") && run.stderr.contains("context.json"),
            "{edited:?}: {run}"
        );
        assert_eq!(serde_json::from_str::<Value>(&run.stdout).unwrap()["nodes"], query["nodes"]);
    }
    let report = pkg_json(&world, &["install"]);
    assert_eq!(report["kept"].as_array().map(Vec::len), Some(1), "{report}");
    let backup = file_with_text(&world, &context[..context.len() / 2]);
    assert!(backup.is_some(), "the edited file is lost");
    assert_eq!(read(&world, FILE), context);
}

#[test]
fn pk_23_context_of_other_packages_is_not_used() {
    let world = project_with_packages();
    pkg(&world, &["install", "a"]).ok();
    let (alone, context) = (read(&world, FILE), lock(&world)["context"].clone());
    pkg(&world, &["install", "b"]).ok();
    let both = pkg_json(&world, &["query"]);
    let mut mixed = lock(&world);
    mixed["context"] = context;
    write(&world, "project/ctxpkg.lock", mixed.to_string());
    write(&world, FILE, alone);
    assert_eq!(pkg_json(&world, &["query"]), both);
}

#[test]
fn pk_23_upgrade_updates_only_changed_nodes() {
    let world = project_with_packages();
    pkg(&world, &["install", "a", "b"]).ok();
    let newer = read(&world, "project/a.json").replace("\"Old\"", "\"Older\"");
    write(&world, "project/a.json", newer);
    pkg(&world, &["create", "--input", "a.json"]).ok();
    let changes = pkg_json(&world, &["install", "a"])["context"].clone();
    assert_eq!(strings(&changes["updated"]), ["O1"]);
    assert!(
        ["added", "removed", "contradictions"]
            .iter()
            .all(|part| strings(&changes[*part]).is_empty()),
        "{changes}"
    );
}

#[test]
fn pk_23_check_ignores_the_context() {
    let world = project_with_packages();
    pkg(&world, &["install", "a", "b"]).ok();
    let mut command = world.command(&["check", "--format", "json"]);
    command.current_dir(world.path("project"));
    let run = world.run(command);
    assert!(!run.stdout.contains("context.json"), "{run}");
}
