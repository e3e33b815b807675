//! `sp context new`, `seal`, `zip`, `unzip` and `show`.

use super::*;

/// Returns the paths of a report's files with this `change`.
fn paths_with_change<'r>(report: &'r Value, change: &str) -> Vec<&'r str> {
    let files = report["files"].as_array().unwrap().iter();
    files
        .filter(|file| file["change"] == change)
        .map(|file| file["path"].as_str().unwrap())
        .collect()
}

fn rules_of_findings(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().unwrap().iter();
    findings.map(|finding| finding["rule"].as_str().unwrap()).collect()
}

/// Returns how often `sp context check` reports a rule, with this exit code.
#[track_caller]
fn count_findings(world: &World, rule: &str, exit_code: i32) -> usize {
    let report = json(&sp(world, &["check", "shop", "--format", "json"]).fails(exit_code));
    rules_of_findings(&report).iter().filter(|found| **found == rule).count()
}

#[test]
fn cp_01_new_pack_is_valid_and_never_overwrites_another() {
    let world = empty_world();
    sp(&world, &["new", "shop"]).ok();
    sp(&world, &["check", "shop"]).ok();
    let before = world.files("work");
    assert_eq!(sp_error(&world, &["new", "shop"]).code, "E-already-exists");
    assert_eq!(world.files("work"), before);
}

#[test]
fn cp_04_cp_10_seal_fixes_only_frontmatter_and_hashes() {
    let world = world_with_pack();
    sp(&world, &["check", "shop"]).ok();
    let valid = world.files("work/shop");
    append(&world, "work/shop/tasks.md", "\n## 1. Do\n\n- It.\n- Acceptance: done.\n");
    let body = text(&world, "work/shop/skills.md").split_once("---\n\n").unwrap().1.to_owned();
    std::fs::write(world.path("work/shop/skills.md"), body.replace('\n', "\r\n")).unwrap();
    let report = json(&sp(&world, &["check", "shop", "--format", "json"]).fails(1));
    let rules = rules_of_findings(&report);
    assert!(rules.contains(&"CP-04") && rules.contains(&"CP-10"), "{report}");
    let sealed = sp_json(&world, &["seal", "shop"]);
    // The frontmatter of `tasks.md` was valid.
    assert_eq!(paths_with_change(&sealed, "changed"), ["pack.json", "skills.md"]);
    sp(&world, &["check", "shop"]).ok();
    assert_eq!(world.files("work/shop")["skills.md"], valid["skills.md"]);
    let sealed_again = sp_json(&world, &["seal", "shop"]);
    let files = sealed_again["files"].as_array().unwrap();
    assert_eq!(paths_with_change(&sealed_again, "same").len(), files.len(), "{sealed_again}");
}

#[test]
fn cp_03_seal_keeps_unknown_members() {
    let world = world_with_pack();
    let mut manifest = text(&world, "work/shop/pack.json");
    for (anchor, members) in [
        ("\"generator\": {", "\"x-generator\": 1e400,"),
        ("\"project\": {", "\"x-project\": {\r\n \"b\" : 1, \"a\":[ ]},"),
        ("\"path\": \"tasks.md\",", "\"x-file\": \"\\u00e9\", \"x-other\": null,"),
        ("\"id\": \"src_a\",", "\"x-source\": -0.0,"),
        ("{\n  \"spec_version\"", "\"window\": {\"x-window\": true}, \"x-top\": [1,\n2],"),
    ] {
        assert_eq!(manifest.matches(anchor).count(), 1, "{anchor}: {manifest}");
        let offset = if anchor.starts_with("{\n") { 1 } else { anchor.len() };
        manifest.insert_str(manifest.find(anchor).unwrap() + offset, members);
    }
    std::fs::write(world.path("work/shop/pack.json"), &manifest).unwrap();
    append(&world, "work/shop/tasks.md", "\n## 1. Do\n\n- It.\n- Acceptance: done.\n");
    assert_eq!(count_findings(&world, "CP-03", 1), 7);
    sp(&world, &["seal", "shop"]).ok();
    assert_eq!(count_findings(&world, "CP-03", 0), 7);
    let sealed = text(&world, "work/shop/pack.json");
    for member in [
        "\"x-generator\": 1e400\n",
        "\"x-project\": {\n \"b\" : 1, \"a\":[ ]}\n",
        "\"x-file\": \"\\u00e9\", \"x-other\": null }",
        "\"x-source\": -0.0\n",
        "\"x-window\": true\n",
        "\"x-top\": [1,\n2]\n",
    ] {
        assert!(sealed.contains(member), "{member}: {sealed}");
    }
    let tasks = sealed.lines().find(|line| line.contains("tasks.md")).unwrap();
    assert!(tasks.contains("x-file"), "{tasks}");
    sp(&world, &["seal", "shop"]).ok();
    assert_eq!(text(&world, "work/shop/pack.json"), sealed);
}

#[test]
fn cp_10_pack_with_undefined_footnote_is_not_sealed_or_zipped() {
    let world = world_with_pack();
    append(&world, "work/shop/AGENTS.md", "\nMore. [^src_unknown]\n");
    let before = world.files("work/shop");
    let error = sp_error(&world, &["seal", "shop"]);
    assert_eq!(error.code, "CP-10");
    assert!(error.findings[0].message.contains("src_unknown"), "{error:?}");
    assert_eq!(world.files("work/shop"), before);
    assert_eq!(sp_error(&world, &["zip", "shop"]).code, "CP-10");
    assert!(!world.path("work/context-pack.zip").exists());
}

#[test]
fn cp_03_seal_keeps_other_listed_files_and_warns_about_missing_ones() {
    let world = world_with_pack();
    std::fs::write(world.path("work/shop/map.svg"), "<svg/>\n").unwrap();
    let entry = format!(r#"{{"path": "map.svg", "sha256": "{}"}}"#, "0".repeat(64));
    let files = format!("\"files\": [\n    {entry},");
    replace(&world, "work/shop/pack.json", "\"files\": [", &files);
    std::fs::remove_file(world.path("work/shop/prompts.md")).unwrap();
    let run = sp(&world, &["seal", "shop"]).ok();
    assert!(run.stderr.contains("warning:") && run.stderr.contains("`prompts.md`"), "{run}");
    let manifest: Value = serde_json::from_str(&text(&world, "work/shop/pack.json")).unwrap();
    let files = manifest["files"].as_array().unwrap().iter();
    let paths: Vec<&str> = files.map(|file| file["path"].as_str().unwrap()).collect();
    assert!(paths.contains(&"map.svg") && !paths.contains(&"prompts.md"), "{paths:?}");
    assert_eq!(text(&world, "work/shop/map.svg"), "<svg/>\n");
    sp(&world, &["check", "shop"]).ok();
}

#[test]
fn cp_03_seal_refuses_manifest_with_values_that_would_be_lost() {
    let world = world_with_pack();
    let valid = text(&world, "work/shop/pack.json");
    let duplicate = r#""sources": [{"id": "src_a", "url": "https://example.com/b", "title": "B",
        "kind": "docs", "captured_at": "2026-02-01"},"#;
    for (old, new) in [
        ("\"spec_version\"", "\"user_prompt\": 5, \"spec_version\""),
        ("\"spec_version\"", "\"window\": \"april\", \"spec_version\""),
        ("[\"rust\"]", "[\"rust\", 5]"),
        ("\"sources\": [", duplicate),
        ("\"sources\": [", "\"sources\": [\"https://example.com/b\","),
    ] {
        std::fs::write(world.path("work/shop/pack.json"), &valid).unwrap();
        replace(&world, "work/shop/pack.json", old, new);
        let before = world.files("work/shop");
        let error = sp_error(&world, &["seal", "shop"]);
        assert_eq!((error.code.as_str(), error.exit_code), ("CP-02", 3), "{new}");
        assert_eq!(world.files("work/shop"), before);
    }
}

#[test]
fn cp_03_seal_replaces_invalid_hashes_pack_id_and_byte_order_mark() {
    let world = world_with_pack();
    let valid = text(&world, "work/shop/pack.json");
    for (old, new) in
        [("\"sha256\": \"", "\"sha256\": \"x"), ("\"pack_id\": \"pk_", "\"pack_id\": \"no_")]
    {
        std::fs::write(world.path("work/shop/pack.json"), format!("\u{feff}{valid}")).unwrap();
        replace(&world, "work/shop/pack.json", old, new);
        sp(&world, &["seal", "shop"]).ok();
        sp(&world, &["check", "shop"]).ok();
    }
}

#[test]
fn cp_15_zip_is_reproducible_and_unzips_to_the_same_pack() {
    let world = world_with_pack();
    let first = sp_json(&world, &["zip", "shop", "--output", "a.zip"]);
    std::fs::write(world.path("work/shop/notes.txt"), "not listed").unwrap();
    let second = sp_json(&world, &["zip", "shop", "--output", "b.zip"]);
    assert_eq!(first["sha256"], second["sha256"], "unlisted files are not zipped");
    let error = sp_error(&world, &["zip", "shop", "--output", "a.zip"]);
    assert_eq!(error.code, "E-already-exists");
    sp(&world, &["zip", "shop", "--output", "a.zip", "--force"]).ok();
    sp(&world, &["check", "a.zip"]).ok();
    std::fs::remove_file(world.path("work/shop/notes.txt")).unwrap();
    sp(&world, &["unzip", "a.zip", "out"]).ok();
    assert_eq!(world.files("work/out"), world.files("work/shop"));
    assert_eq!(sp_error(&world, &["unzip", "a.zip", "out"]).code, "E-already-exists");
    assert_eq!(sp_json(&world, &["show", "a.zip"]), sp_json(&world, &["show", "shop"]));
}

#[test]
fn show_prints_sources_and_token_counts() {
    let world = world_with_pack();
    let pack = sp_json(&world, &["show", "shop"]);
    assert_eq!(pack["name"], "Shop");
    assert_eq!(pack["errors"], 0);
    assert_eq!(pack["sources"][0]["id"], "src_a");
    let mut tokens = 0;
    for file in pack["files"].as_array().unwrap() {
        assert!(file["tokens"].as_u64().unwrap() > 0, "{file}");
        tokens += file["tokens"].as_u64().unwrap();
    }
    let run = sp(&world, &["show", "shop"]).ok();
    assert!(run.stdout.contains(&tokens.to_string()), "{tokens}: {run}");
    assert!(run.stdout.contains("https://example.com/a"), "{run}");
}
