//! `sp pkg merge` and `sp pkg load`: what is known, put together and chosen.

use serde_json::Value;

use crate::{answer, pkg, project, refused, write};

const A: &str = r#"{"name":"a","nodes":[
  {"id":"F1","type":"fact","content":"Uses PostgreSQL 15","activation":0.5},
  {"id":"G1","type":"gotcha","content":"The pool has 20 connections"},
  {"id":"D1","type":"decision","content":"Auth tokens are JWT with RS256"}],
  "edges":[{"from":"F1","to":"G1","type":"supports","weight":0.5}]}"#;
const B: &str = r#"{"name":"b","nodes":[
  {"id":"F1","type":"fact","content":"Uses PostgreSQL 16"},
  {"id":"G1","type":"gotcha","content":"The pool has 20 connections"}],
  "edges":[{"from":"F1","to":"G1","type":"supports","weight":1.0}]}"#;

fn two() -> sp_testkit::World {
    let world = project();
    for (name, text) in [("a", A), ("b", B)] {
        write(&world, &format!("project/{name}.json"), text);
        pkg(&world, &["create", "--input", &format!("{name}.json")]).ok();
    }
    world
}

#[test]
fn pk_19_packages_are_merged_and_both_sides_of_a_contradiction_are_told() {
    let world = two();
    let merged = answer(&world, &["merge", "a", "b", "--name", "all"]);
    let told = &merged["contradictions"][0];
    assert_eq!(
        (&told["from_content"], &told["to_content"]),
        (&Value::from("Uses PostgreSQL 16"), &Value::from("Uses PostgreSQL 15"))
    );
    assert_eq!(
        (merged["nodes"].as_u64(), merged["shared"].as_array().map(Vec::len)),
        (Some(4), Some(1))
    );
    let sources: Vec<_> =
        merged["sources"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    assert_eq!(sources, ["a 1.0.0", "b 1.0.0"]);
    let again = answer(&world, &["merge", "b", "all", "a", "a", "--name", "all"]);
    assert_eq!(
        (again["version"].as_str(), again["new"].as_bool()),
        (Some("1.0.1"), Some(true)),
        "only the description differs"
    );
    let diff = answer(&world, &["diff", "all@1.0.0", "all@1.0.1"]);
    assert!(
        ["nodes", "edges", "content"]
            .iter()
            .all(|part| diff[*part].as_array().is_some_and(Vec::is_empty)),
        "{diff}"
    );
    let run = pkg(&world, &["merge", "a", "b", "--name", "all"]).ok();
    assert!(
        run.stdout.contains("1 contradiction") && run.stdout.contains("Uses PostgreSQL 15"),
        "{run}"
    );
}

#[test]
fn pk_18_what_is_loaded_fits_the_budget_and_what_does_not_is_told() {
    let world = two();
    let whole = answer(&world, &["load", "a", "b"]);
    assert_eq!(whole["nodes"].as_array().map(Vec::len), Some(4));
    let tokens = whole["tokens"].as_u64().unwrap_or(0);
    let less = (tokens - 1).to_string();
    let part = answer(&world, &["load", "a", "b", "--budget", &less, "--focus", "auth tokens"]);
    assert!(part["tokens"].as_u64() < Some(tokens), "{part}");
    assert_eq!(part["nodes"][0]["id"], "D1");
    assert_eq!(part["left_out"][0]["reason"], "no room");
    let markdown = pkg(&world, &["load", "a", "b", "--format", "md"]).ok();
    assert_eq!(
        (markdown.stdout.as_str(), markdown.stderr.as_str()),
        (whole["context"].as_str().unwrap_or_default(), "")
    );
    assert!(
        pkg(&world, &["load", "a", "--format", "xml"])
            .ok()
            .stdout
            .starts_with("<context>\n  <node id=\"")
    );
}

#[test]
fn pk_18_a_project_loads_what_it_has_installed() {
    let world = two();
    refused(&world, &["load"], 1, "has no packages of knowledge");
    pkg(&world, &["install", "a", "b"]).ok();
    assert_eq!(answer(&world, &["load"])["sources"].as_array().map(Vec::len), Some(2));
    write(&world, "project/.ctxpkg/packages/a.ctxpkg", "{}");
    refused(&world, &["load"], 4, "is not what `ctxpkg.lock` says");
}

#[test]
fn pk_18_a_time_and_a_form_that_are_none_are_wrong_usage() {
    let world = two();
    refused(&world, &["load", "a", "--at", "yesterday"], 2, "is no time");
    refused(&world, &["list", "--format", "md"], 2, "for `sp pkg load` only");
}

#[test]
fn pk_22_a_graph_is_asked_and_drawn() {
    let world = two();
    let view = answer(&world, &["query", "a", "--near", "F1"]);
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
    refused(&world, &["query", "a", "--near", "F11"], 1, "did you mean `F1`?");
    refused(&world, &["query", "a", "--path", "F1", "D1"], 1, "no edges lead");
    assert!(pkg(&world, &["graph", "a", "b"]).ok().stdout.contains("\"contradicts\", color=red"));
    assert!(pkg(&world, &["graph", "a", "--to", "mermaid"]).ok().stdout.starts_with("graph LR\n"));
    assert_eq!(answer(&world, &["graph", "a"])["nodes"].as_array().map(Vec::len), Some(3));
}

#[test]
fn pk_22_a_graph_lives_in_new_versions_and_never_in_place() {
    let world = project();
    let text = r#"{"name":"k","nodes":[
      {"id":"old","type":"fact","content":"o","activation":0.5,"created_at":"2000-01-01T00:00:00Z","decay_half_life_days":10,"mine":1.0},
      {"id":"new","type":"fact","content":"n"},{"id":"other","type":"fact","content":"x"}],
      "edges":[{"from":"old","to":"new","type":"supports","weight":0.5}],"extra":{"kept":true}}"#;
    write(&world, "project/k.json", text);
    pkg(&world, &["create", "--input", "k.json"]).ok();
    assert_eq!(answer(&world, &["touch", "k", "old"])["packages"][0]["version"], "1.0.1");
    let touched = answer(&world, &["query", "k@1.0.1"]);
    assert_eq!(touched["nodes"][0]["activation"], 1.0);
    assert!(
        answer(&world, &["query", "k@1.0.0"])["nodes"][0]["activation"].as_f64() < Some(1e-9),
        "the old version stays"
    );
    pkg(&world, &["reinforce", "k", "old", "new", "other"]).ok();
    let edges = answer(&world, &["query", "k@1.0.2"])["edges"].clone();
    assert_eq!(edges[0]["weight"], 0.55);
    assert_eq!(
        (edges.as_array().map(Vec::len), &edges[1]["type"]),
        (Some(3), &Value::from("related_to"))
    );
    pkg(&world, &["prune", "k@1.0.0"]).ok();
    let pruned = answer(&world, &["query", "k"]);
    assert_eq!(
        (pruned["nodes"].as_array().map(Vec::len), pruned["edges"].as_array().map(Vec::len)),
        (Some(2), Some(0))
    );
    pkg(&world, &["export", "k@1.0.1", "--output", "k.ctxpkg"]).ok();
    let text = crate::read(&world, "project/k.ctxpkg");
    assert!(text.contains("\"mine\":1.0") && text.contains("\"extra\":{\"kept\":true}"), "{text}");
    refused(&world, &["touch", "k", "newe"], 1, "did you mean `new`?");
}
