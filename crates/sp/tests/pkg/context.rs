//! `.ctxpkg/context.json`: what a project knows, merged when packages come and go.

use serde_json::{Value, json};
use sp_testkit::World;

use crate::{answer, exists, pkg, project, read, write};

const FILE: &str = "project/.ctxpkg/context.json";

/// A store with two packages that share a node, and say two things under one id.
fn stocked() -> World {
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

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[test]
fn pk_23_pk_19_installing_merges_into_the_context_and_tells_what_that_brings() {
    let world = stocked();
    let first = answer(&world, &["install", "a"]);
    assert_eq!(texts(&first["context"]["added"]), ["F1", "G1", "O1"]);
    let sources: Value = serde_json::from_str(&read(&world, FILE)).unwrap();
    assert_eq!(sources["sources"].as_object().map(serde_json::Map::len), Some(1));
    let planned = answer(&world, &["install", "b", "--dry-run"])["context"].clone();
    let brought = answer(&world, &["install", "b"])["context"].clone();
    assert_eq!(planned, brought, "a dry run tells the same");
    assert_eq!(
        (texts(&brought["added"]), texts(&brought["updated"])),
        (vec!["F1", "N1x"], vec!["G1"])
    );
    assert_eq!(brought["superseded"], json!([{"old": "O1", "new": "N1x"}]));
    let told = &brought["contradictions"][0];
    assert_eq!(
        (&told["from_content"], &told["to_content"]),
        (&json!("Uses PostgreSQL 16"), &json!("Uses PostgreSQL 15"))
    );
    assert_eq!(told["same_id"], json!(true));
    assert!(answer(&world, &["install", "b"]).get("context").is_none(), "nothing is new");
    pkg(&world, &["uninstall", "b"]).ok();
    let run = pkg(&world, &["install", "b"]).ok();
    let line = "context 5 nodes · 2 added · 1 updated · 1 superseded · 1 contradiction";
    assert!(run.stdout.contains(line) && run.stdout.contains("Uses PostgreSQL 15"), "{run}");
}

#[test]
fn pk_19_a_merge_tells_what_it_brings_to_the_first_package() {
    let world = stocked();
    let merged = answer(&world, &["merge", "a", "b", "--name", "all"]);
    assert_eq!(
        (texts(&merged["added"]), texts(&merged["updated"])),
        (vec!["F1", "N1x"], vec!["G1"])
    );
    let merged = answer(&world, &["merge", "b", "a", "--name", "other"]);
    assert_eq!(texts(&merged["added"]).len(), 2);
    assert!(texts(&merged["updated"]).is_empty(), "the first says more already: {merged}");
}

#[test]
fn pk_23_what_is_uninstalled_leaves_a_context_as_if_it_had_never_been_there() {
    let world = stocked();
    pkg(&world, &["install", "a"]).ok();
    let before = read(&world, FILE);
    pkg(&world, &["install", "b"]).ok();
    assert_ne!(read(&world, FILE), before);
    let removed = answer(&world, &["uninstall", "b"])["context"].clone();
    assert_eq!(texts(&removed["removed"]), ["F1", "N1x"]);
    assert_eq!(read(&world, FILE), before);
    pkg(&world, &["uninstall", "a"]).ok();
    assert!(!exists(&world, FILE));
    assert!(!read(&world, "project/ctxpkg.lock").contains("context"));
}

#[test]
fn pk_23_the_order_of_installing_does_not_matter_for_the_context() {
    let orders: [&[&[&str]]; 3] = [&[&["a"], &["b"]], &[&["b"], &["a"]], &[&["b", "a"]]];
    let texts = orders.map(|order| {
        let world = stocked();
        order.iter().for_each(|names| drop(pkg(&world, &[&["install"], *names].concat()).ok()));
        read(&world, FILE)
    });
    assert!(texts[0] == texts[1] && texts[1] == texts[2]);
}

#[test]
fn pk_23_rollback_brings_the_context_back() {
    let world = stocked();
    pkg(&world, &["install", "a"]).ok();
    let before = read(&world, FILE);
    pkg(&world, &["install", "b"]).ok();
    let back = answer(&world, &["rollback"])["context"].clone();
    assert_eq!(texts(&back["removed"]), ["F1", "N1x"]);
    assert_eq!(read(&world, FILE), before);
    pkg(&world, &["rollback"]).ok();
    assert!(!exists(&world, FILE));
}

#[test]
fn pk_23_what_is_stored_is_what_merging_anew_would_give() {
    let world = stocked();
    pkg(&world, &["install", "a", "b"]).ok();
    let ask = || {
        [&["load", "--at", "2026-06-01T00:00:00Z"][..], &["query"], &["graph"]]
            .map(|args| answer(&world, args))
    };
    let stored = ask();
    assert_eq!(texts(&stored[0]["sources"]), ["a 1.0.0", "b 1.0.0"]);
    std::fs::remove_file(world.path(FILE)).unwrap();
    assert_eq!(ask(), stored);
    pkg(&world, &["install"]).ok();
    assert!(exists(&world, FILE));
    assert_eq!(ask(), stored);
    // A lock of an earlier `sp` says nothing of a context.
    let mut lock: Value = serde_json::from_str(&read(&world, "project/ctxpkg.lock")).unwrap();
    lock.as_object_mut().unwrap().remove("context");
    write(&world, "project/ctxpkg.lock", lock.to_string());
    std::fs::remove_file(world.path(FILE)).unwrap();
    assert_eq!(ask(), stored);
    let again = answer(&world, &["install"]);
    assert!(
        again.get("context").is_none() && exists(&world, FILE),
        "nothing is new, and it is stored: {again}"
    );
}

#[test]
fn pk_23_a_context_that_was_edited_is_never_trusted() {
    let world = stocked();
    pkg(&world, &["install", "a", "b"]).ok();
    let whole = read(&world, FILE);
    let query = answer(&world, &["query"]);
    for edited in [
        "",
        "{}",
        "\u{0}",
        &whole.replace("PostgreSQL 16", "PostgreSQL 17"),
        &whole[..whole.len() / 2],
    ] {
        write(&world, FILE, edited);
        let run = pkg(&world, &["query", "--format", "json"]).ok();
        assert!(run.stderr.contains("is not what `ctxpkg.lock` says, and was not used"), "{run}");
        assert_eq!(serde_json::from_str::<Value>(&run.stdout).unwrap()["nodes"], query["nodes"]);
    }
    let run = pkg(&world, &["install"]).ok();
    assert!(run.stdout.contains("kept the old `context.json`"), "{run}");
    assert_eq!(read(&world, FILE), whole);
}

#[test]
fn pk_23_a_context_of_other_packages_is_not_read_even_where_the_lock_vouches_for_its_bytes() {
    let world = stocked();
    let lock = || serde_json::from_str::<Value>(&read(&world, "project/ctxpkg.lock")).unwrap();
    pkg(&world, &["install", "a"]).ok();
    let (alone, context) = (read(&world, FILE), lock()["context"].clone());
    pkg(&world, &["install", "b"]).ok();
    let both = answer(&world, &["query"]);
    let mut mixed = lock();
    mixed["context"] = context;
    write(&world, "project/ctxpkg.lock", mixed.to_string());
    write(&world, FILE, alone);
    assert_eq!(answer(&world, &["query"]), both);
}

#[test]
fn pk_23_an_upgrade_updates_what_says_something_else_and_keeps_the_rest() {
    let world = stocked();
    pkg(&world, &["install", "a", "b"]).ok();
    let newer = read(&world, "project/a.json").replace("\"Old\"", "\"Older\"");
    write(&world, "project/a.json", newer);
    pkg(&world, &["create", "--input", "a.json"]).ok();
    let brought = answer(&world, &["install", "a"])["context"].clone();
    assert_eq!(texts(&brought["updated"]), ["O1"]);
    assert!(
        ["added", "removed", "contradictions"].iter().all(|part| texts(&brought[*part]).is_empty()),
        "{brought}"
    );
}

#[test]
fn pk_23_a_check_of_a_project_does_not_mind_its_context() {
    let world = stocked();
    pkg(&world, &["install", "a", "b"]).ok();
    let mut command = world.command(&["check", "--format", "json"]);
    command.current_dir(world.path("project"));
    let run = world.run(command);
    assert!(!run.stdout.contains("context.json"), "{run}");
}
