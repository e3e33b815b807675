//! `sp pkg merge`, `load`, `query` and `graph`, and commands that change a graph.

use serde_json::Value;

use super::{pkg, pkg_json, project, read, refused, strings, write};

const A: &str = r#"{"name":"a","nodes":[
  {"id":"F1","type":"fact","content":"Uses PostgreSQL 15","activation":0.5},
  {"id":"G1","type":"gotcha","content":"The pool has 20 connections"},
  {"id":"D1","type":"decision","content":"Auth tokens are JWT with RS256"}],
  "edges":[{"from":"F1","to":"G1","type":"supports","weight":0.5}]}"#;
const B: &str = r#"{"name":"b","nodes":[
  {"id":"F1","type":"fact","content":"Uses PostgreSQL 16"},
  {"id":"G1","type":"gotcha","content":"The pool has 20 connections"}],
  "edges":[{"from":"F1","to":"G1","type":"supports","weight":1.0}]}"#;

/// A project with the packages `a` and `b` in the store.
fn two_packages() -> sp_testkit::World {
    let world = project();
    for (name, text) in [("a", A), ("b", B)] {
        write(&world, &format!("project/{name}.json"), text);
        pkg(&world, &["create", "--input", &format!("{name}.json")]).ok();
    }
    world
}

#[test]
fn pk_19_merge_reports_both_sides_of_a_contradiction() {
    let world = two_packages();
    let merged = pkg_json(&world, &["merge", "a", "b", "--name", "all"]);
    let contradiction = &merged["contradictions"][0];
    assert_eq!(
        (&contradiction["from_content"], &contradiction["to_content"]),
        (&Value::from("Uses PostgreSQL 16"), &Value::from("Uses PostgreSQL 15"))
    );
    assert_eq!(
        (merged["nodes"].as_u64(), merged["shared"].as_array().map(Vec::len)),
        (Some(4), Some(1))
    );
    assert_eq!(strings(&merged["sources"]), ["a 1.0.0", "b 1.0.0"]);
    let again = pkg_json(&world, &["merge", "b", "all", "a", "a", "--name", "all"]);
    assert_eq!(
        (again["version"].as_str(), again["new"].as_bool()),
        (Some("1.0.1"), Some(true)),
        "only the description differs"
    );
    let diff = pkg_json(&world, &["diff", "all@1.0.0", "all@1.0.1"]);
    assert!(
        ["nodes", "edges", "content"]
            .iter()
            .all(|part| diff[*part].as_array().is_some_and(Vec::is_empty)),
        "{diff}"
    );
    let run = pkg(&world, &["merge", "a", "b", "--name", "all"]).ok();
    for data in ["1 contradiction", "Uses PostgreSQL 15"] {
        assert!(run.stdout.contains(data), "`{data}` is not in {run}");
    }
}

#[test]
fn pk_18_load_fits_the_budget_and_reports_omitted_nodes() {
    let world = two_packages();
    let complete = pkg_json(&world, &["load", "a", "b"]);
    assert_eq!(complete["nodes"].as_array().map(Vec::len), Some(4));
    let tokens = complete["tokens"].as_u64().unwrap_or(0);
    let budget = (tokens - 1).to_string();
    let part = pkg_json(&world, &["load", "a", "b", "--budget", &budget, "--focus", "auth tokens"]);
    assert!(part["tokens"].as_u64() < Some(tokens), "{part}");
    assert_eq!(part["nodes"][0]["id"], "D1");
    assert_eq!(part["left_out"][0]["reason"], "no room");
    let markdown = pkg(&world, &["load", "a", "b", "--format", "md"]).ok();
    assert_eq!(
        (markdown.stdout.as_str(), markdown.stderr.as_str()),
        (complete["context"].as_str().unwrap_or_default(), "")
    );
    assert!(
        pkg(&world, &["load", "a", "--format", "xml"])
            .ok()
            .stdout
            .starts_with("<context>\n  <node id=\"")
    );
}

#[test]
fn pk_18_load_without_arguments_uses_the_installed_packages() {
    let world = two_packages();
    refused(&world, &["load"], "E-nothing-found");
    pkg(&world, &["install", "a", "b"]).ok();
    assert_eq!(pkg_json(&world, &["load"])["sources"].as_array().map(Vec::len), Some(2));
    write(&world, "project/.ctxpkg/packages/a.ctxpkg", "{}");
    refused(&world, &["load"], "E-lock-mismatch");
}

#[test]
fn pk_18_invalid_time_and_format_are_usage_errors() {
    let world = two_packages();
    refused(&world, &["load", "a", "--at", "yesterday"], "E-invalid-time");
    refused(&world, &["list", "--format", "md"], "E-invalid-arguments");
}

#[test]
fn pk_22_graph_can_be_queried_and_drawn() {
    let world = two_packages();
    let view = pkg_json(&world, &["query", "a", "--near", "F1"]);
    let ids: Vec<_> = view["nodes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|node| node["id"].as_str())
        .collect();
    assert_eq!(ids, ["F1", "G1"]);
    assert_eq!(view["edges"][0]["type"], "supports");
    let run = pkg(&world, &["query", "a", "--type", "decision"]).ok();
    assert!(run.stdout.contains("D1") && !run.stdout.contains("G1"), "{run}");
    let error = refused(&world, &["query", "a", "--near", "F11"], "E-node-not-found");
    assert!(error.hints_at("`F1`"), "{error:?}");
    refused(&world, &["query", "a", "--path", "F1", "D1"], "E-node-not-found");
    assert!(pkg(&world, &["graph", "a", "b"]).ok().stdout.contains("\"contradicts\", color=red"));
    assert!(pkg(&world, &["graph", "a", "--to", "mermaid"]).ok().stdout.starts_with("graph LR\n"));
    assert_eq!(pkg_json(&world, &["graph", "a"])["nodes"].as_array().map(Vec::len), Some(3));
}

#[test]
fn pk_22_graph_changes_create_new_versions() {
    let world = project();
    let text = r#"{"name":"k","nodes":[
      {"id":"old","type":"fact","content":"o","activation":0.5,"created_at":"2000-01-01T00:00:00Z","decay_half_life_days":10,"mine":1.0},
      {"id":"new","type":"fact","content":"n"},{"id":"other","type":"fact","content":"x"}],
      "edges":[{"from":"old","to":"new","type":"supports","weight":0.5}],"extra":{"kept":true}}"#;
    write(&world, "project/k.json", text);
    pkg(&world, &["create", "--input", "k.json"]).ok();
    assert_eq!(pkg_json(&world, &["touch", "k", "old"])["packages"][0]["version"], "1.0.1");
    let touched = pkg_json(&world, &["query", "k@1.0.1"]);
    assert_eq!(touched["nodes"][0]["activation"], 1.0);
    assert!(
        pkg_json(&world, &["query", "k@1.0.0"])["nodes"][0]["activation"].as_f64() < Some(1e-9),
        "the old version is unchanged"
    );
    pkg(&world, &["reinforce", "k", "old", "new", "other"]).ok();
    let edges = pkg_json(&world, &["query", "k@1.0.2"])["edges"].clone();
    assert_eq!(edges[0]["weight"], 0.55);
    assert_eq!(
        (edges.as_array().map(Vec::len), &edges[1]["type"]),
        (Some(3), &Value::from("related_to"))
    );
    pkg(&world, &["prune", "k@1.0.0"]).ok();
    let pruned = pkg_json(&world, &["query", "k"]);
    assert_eq!(
        (pruned["nodes"].as_array().map(Vec::len), pruned["edges"].as_array().map(Vec::len)),
        (Some(2), Some(0))
    );
    pkg(&world, &["export", "k@1.0.1", "--output", "k.ctxpkg"]).ok();
    let text = read(&world, "project/k.ctxpkg");
    assert!(text.contains("\"mine\":1.0") && text.contains("\"extra\":{\"kept\":true}"), "{text}");
    assert!(refused(&world, &["touch", "k", "newe"], "E-node-not-found").hints_at("`new`"));
}
