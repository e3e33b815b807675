//! `sp context`: packs that are written by hand, sealed, shown, packed, and put into a repository.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test arranges its world with the plain calls"
)]

use serde_json::Value;
use sp_testkit::{Run, World, world};

/// A world with a folder to work in.
fn work() -> World {
    let world = world!();
    std::fs::create_dir_all(world.path("work")).unwrap();
    world
}

fn sp(world: &World, args: &[&str]) -> Run {
    world.sp_in("work", &[&["context"], args].concat())
}

fn answer(world: &World, args: &[&str]) -> Value {
    serde_json::from_str(&sp(world, &[args, &["--format", "json"]].concat()).ok().stdout).unwrap()
}

fn text(world: &World, path: &str) -> String {
    std::fs::read_to_string(world.path(path)).unwrap()
}

fn append(world: &World, path: &str, more: &str) {
    std::fs::write(world.path(path), text(world, path) + more).unwrap();
}

/// A pack of which something is said, with its source.
fn written() -> World {
    let world = work();
    sp(
        &world,
        &["new", "shop", "--name", "Shop", "--description", "It sells things.", "--stack", "rust"],
    )
    .ok();
    let source = "\n## [^src_a]\n\n- Title: A\n- URL: https://example.com/a\n- Kind: docs\n- Captured: 2026-02-01\n\
                  - Summary: It says so. It is right.\n- Key claims:\n  - So it is.\n";
    append(&world, "work/shop/sources.md", source);
    let rule = text(&world, "work/shop/AGENTS.md")
        .replace("What everybody keeps to, with its footnote", "Keep it short. [^src_a]");
    std::fs::write(world.path("work/shop/AGENTS.md"), &rule).unwrap();
    std::fs::write(world.path("work/shop/cursor.md"), rule).unwrap();
    let listed = "\"sources\": [{\"id\": \"src_a\", \"url\": \"https://example.com/a\", \"title\": \"A\", \"kind\": \"docs\", \"captured_at\": \"2026-02-01\"}]";
    let manifest = text(&world, "work/shop/pack.json").replace("\"sources\": []", listed);
    std::fs::write(world.path("work/shop/pack.json"), manifest).unwrap();
    sp(&world, &["seal", "shop"]).ok();
    world
}

#[test]
fn cp_01_a_new_pack_is_valid_and_never_takes_the_place_of_one() {
    let world = work();
    sp(&world, &["new", "shop"]).ok();
    sp(&world, &["check", "shop"]).ok();
    let before = world.files("work");
    sp(&world, &["new", "shop"]).fails(1);
    assert_eq!(world.files("work"), before);
}

#[test]
fn cp_04_cp_10_sealing_mends_frontmatter_and_hashes_and_nothing_else() {
    let world = written();
    sp(&world, &["check", "shop"]).ok();
    let good = world.files("work/shop");
    append(&world, "work/shop/tasks.md", "\n## 1. Do\n\n- It.\n- Acceptance: done.\n");
    let body = text(&world, "work/shop/skills.md").split_once("---\n\n").unwrap().1.to_owned();
    std::fs::write(world.path("work/shop/skills.md"), body.replace('\n', "\r\n")).unwrap();
    let run = sp(&world, &["check", "shop"]).fails(1);
    assert!(run.stdout.contains("CP-04") && run.stdout.contains("CP-10"), "{run}");
    let report = answer(&world, &["seal", "shop"]);
    let changed: Vec<&str> = report["files"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|file| file["change"] == "changed")
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert_eq!(changed, ["pack.json", "skills.md"], "the right frontmatter of `tasks.md` stays");
    sp(&world, &["check", "shop"]).ok();
    assert_eq!(world.files("work/shop")["skills.md"], good["skills.md"]);
    let again = answer(&world, &["seal", "shop"]);
    assert!(
        again["files"].as_array().unwrap().iter().all(|file| file["change"] == "same"),
        "{again}"
    );
}

#[test]
fn cp_03_sealing_keeps_every_member_that_nobody_knows() {
    let world = written();
    let mut manifest = text(&world, "work/shop/pack.json");
    for (place, with) in [
        ("\"generator\": {", "\"x-generator\": 1e400,"),
        ("\"project\": {", "\"x-project\": {\r\n \"b\" : 1, \"a\":[ ]},"),
        ("\"path\": \"tasks.md\",", "\"x-file\": \"\\u00e9\", \"x-other\": null,"),
        ("\"id\": \"src_a\",", "\"x-source\": -0.0,"),
        ("{\n  \"spec_version\"", "\"window\": {\"x-window\": true}, \"x-top\": [1,\n2],"),
    ] {
        assert_eq!(manifest.matches(place).count(), 1, "{place}: {manifest}");
        let at =
            manifest.find(place).unwrap() + if place.starts_with("{\n") { 1 } else { place.len() };
        manifest.insert_str(at, with);
    }
    std::fs::write(world.path("work/shop/pack.json"), &manifest).unwrap();
    append(&world, "work/shop/tasks.md", "\n## 1. Do\n\n- It.\n- Acceptance: done.\n");
    let warnings = |run: &Run| run.stdout.matches("nobody knows").count();
    let run = sp(&world, &["check", "shop"]).fails(1);
    assert_eq!(warnings(&run), 7, "{run}");
    sp(&world, &["seal", "shop"]).ok();
    let run = sp(&world, &["check", "shop"]).ok();
    assert_eq!(warnings(&run), 7, "{run}");
    let sealed = text(&world, "work/shop/pack.json");
    for kept in [
        "\"x-generator\": 1e400\n",
        "\"x-project\": {\n \"b\" : 1, \"a\":[ ]}\n",
        "\"x-file\": \"\\u00e9\", \"x-other\": null }",
        "\"x-source\": -0.0\n",
        "\"x-window\": true\n",
        "\"x-top\": [1,\n2]\n",
    ] {
        assert!(sealed.contains(kept), "{kept}: {sealed}");
    }
    let tasks = sealed.lines().find(|line| line.contains("tasks.md")).unwrap();
    assert!(tasks.contains("x-file"), "{tasks}");
    sp(&world, &["seal", "shop"]).ok();
    assert_eq!(text(&world, "work/shop/pack.json"), sealed);
}

#[test]
fn cp_10_what_only_its_author_can_mend_is_not_sealed() {
    let world = written();
    append(&world, "work/shop/AGENTS.md", "\nMore. [^src_nobody]\n");
    let before = world.files("work/shop");
    let run = sp(&world, &["seal", "shop"]).fails(3);
    assert!(
        run.stderr.contains("src_nobody") && run.stderr.contains("nothing was changed"),
        "{run}"
    );
    assert_eq!(world.files("work/shop"), before);
    sp(&world, &["zip", "shop"]).fails(3);
    assert!(!world.path("work/context-pack.zip").exists());
}

#[test]
fn cp_03_sealing_keeps_listed_files_that_are_no_markdown_and_tells_what_is_gone() {
    let world = written();
    std::fs::write(world.path("work/shop/map.svg"), "<svg/>\n").unwrap();
    let good = text(&world, "work/shop/pack.json");
    let more =
        format!("\"files\": [\n    {{\"path\": \"map.svg\", \"sha256\": \"{}\"}},", "0".repeat(64));
    std::fs::write(world.path("work/shop/pack.json"), good.replace("\"files\": [", &more)).unwrap();
    std::fs::remove_file(world.path("work/shop/prompts.md")).unwrap();
    let run = sp(&world, &["seal", "shop"]).ok();
    assert!(run.stderr.contains("`prompts.md` was listed and is not there"), "{run}");
    let manifest: Value = serde_json::from_str(&text(&world, "work/shop/pack.json")).unwrap();
    let listed: Vec<&str> = manifest["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert!(listed.contains(&"map.svg") && !listed.contains(&"prompts.md"), "{listed:?}");
    assert_eq!(text(&world, "work/shop/map.svg"), "<svg/>\n");
    sp(&world, &["check", "shop"]).ok();
}

#[test]
fn cp_03_what_cannot_be_read_in_a_manifest_is_not_sealed_away() {
    let world = written();
    let good = text(&world, "work/shop/pack.json");
    let more = "{\"id\": \"src_a\", \"url\": \"https://example.com/b\", \"title\": \"B\", \"kind\": \"docs\", \"captured_at\": \"2026-02-01\"},";
    for (place, with) in [
        ("\"spec_version\"", "\"user_prompt\": 5, \"spec_version\""),
        ("\"spec_version\"", "\"window\": \"april\", \"spec_version\""),
        ("[\"rust\"]", "[\"rust\", 5]"),
        ("\"sources\": [", &format!("\"sources\": [{more}")),
        ("\"sources\": [", "\"sources\": [\"https://example.com/b\","),
    ] {
        assert!(good.contains(place), "{place}: {good}");
        std::fs::write(world.path("work/shop/pack.json"), good.replace(place, with)).unwrap();
        let before = world.files("work/shop");
        let run = sp(&world, &["seal", "shop"]).fails(3);
        assert!(
            run.stderr.contains("CP-02") && run.stderr.contains("nothing was changed"),
            "{with}: {run}"
        );
        assert_eq!(world.files("work/shop"), before);
    }
    // What sealing writes anew is no obstacle.
    for (place, with) in
        [("\"sha256\": \"", "\"sha256\": \"x"), ("\"pack_id\": \"pk_", "\"pack_id\": \"no_")]
    {
        assert!(good.contains(place), "{place}: {good}");
        std::fs::write(
            world.path("work/shop/pack.json"),
            format!("\u{feff}{}", good.replace(place, with)),
        )
        .unwrap();
        sp(&world, &["seal", "shop"]).ok();
        sp(&world, &["check", "shop"]).ok();
    }
}

#[test]
fn cp_15_the_same_pack_gives_the_same_zip_and_comes_back_out_of_it() {
    let world = written();
    let first = answer(&world, &["zip", "shop", "--output", "a.zip"]);
    std::fs::write(world.path("work/shop/notes.txt"), "not of the pack").unwrap();
    let second = answer(&world, &["zip", "shop", "--output", "b.zip"]);
    assert_eq!(first["sha256"], second["sha256"], "what the pack does not list is not in it");
    sp(&world, &["zip", "shop", "--output", "a.zip"]).fails(1);
    sp(&world, &["zip", "shop", "--output", "a.zip", "--force"]).ok();
    sp(&world, &["check", "a.zip"]).ok();
    std::fs::remove_file(world.path("work/shop/notes.txt")).unwrap();
    sp(&world, &["unzip", "a.zip", "out"]).ok();
    assert_eq!(world.files("work/out"), world.files("work/shop"));
    sp(&world, &["unzip", "a.zip", "out"]).fails(1);
    assert_eq!(answer(&world, &["show", "a.zip"]), answer(&world, &["show", "shop"]));
}

#[test]
fn a_pack_is_shown_with_what_it_costs() {
    let world = written();
    let view = answer(&world, &["show", "shop"]);
    assert_eq!(
        (&view["name"], &view["errors"], &view["sources"][0]["id"]),
        (&"Shop".into(), &0.into(), &"src_a".into())
    );
    assert!(
        view["files"].as_array().unwrap().iter().all(|file| file["tokens"].as_u64().unwrap() > 0),
        "{view}"
    );
    let run = sp(&world, &["show", "shop"]).ok();
    assert!(
        run.stdout.contains("tokens in all") && run.stdout.contains("https://example.com/a"),
        "{run}"
    );
}

/// Copies the pack `shop` to `new`, with these changes of text in its files, and seals it.
fn changed(world: &World, changes: &[(&str, &str, &str)]) {
    sp(world, &["zip", "shop", "--force"]).ok();
    sp(world, &["unzip", "context-pack.zip", "new"]).ok();
    for (path, old, new) in changes {
        let path = format!("work/new/{path}");
        let before = text(world, &path);
        assert!(before.contains(old), "{old}: {before}");
        std::fs::write(world.path(&path), before.replace(old, new)).unwrap();
    }
    sp(world, &["seal", "new"]).ok();
}

#[test]
fn two_generations_that_say_the_same_do_not_differ() {
    let world = written();
    let other = "pk_01KPZXWZQR5NRHCGNQ4TR480B2";
    let id = answer(&world, &["show", "shop"])["pack_id"].as_str().unwrap().to_owned();
    changed(&world, &[("pack.json", &id, other)]);
    let diff = answer(&world, &["diff", "shop", "new"]);
    assert_eq!(
        (&diff["same"], &diff["files"]),
        (&true.into(), &Value::Array(Vec::new())),
        "{diff}"
    );
    assert_eq!(diff["generation"][0]["member"], "pack_id");
    let run = sp(&world, &["diff", "shop", "new"]).ok();
    assert!(
        run.stdout.contains(other) && run.stdout.contains("no difference in what they say"),
        "{run}"
    );
    assert_eq!(sp(&world, &["diff", "shop", "new", "--format", "plain"]).ok().stdout, "");
    assert_eq!(
        answer(&world, &["diff", "shop", "context-pack.zip"])["generation"],
        Value::Array(Vec::new())
    );
}

#[test]
fn what_two_packs_differ_in_is_told_by_member_source_file_and_section() {
    let world = written();
    append(&world, "work/shop/tasks.md", "\n## 1. Old\n\n- It.\n- Acceptance: done.\n");
    sp(&world, &["seal", "shop"]).ok();
    changed(
        &world,
        &[
            ("pack.json", "It sells things.", "It sells \\u001b[31mmuch."),
            ("pack.json", "\"rust\"", "\"go\", \"sqlite\""),
            ("pack.json", "\"title\": \"A\"", "\"title\": \"B\""),
            ("pack.json", "\"spec_version\"", "\"x-more\": [1, 2], \"spec_version\""),
            ("AGENTS.md", "Keep it short.", "Keep it \u{1b}[31mshort."),
            ("tasks.md", "## 1. Old", "## 1. New"),
            ("sources.md", "It is right.", "It is wrong."),
        ],
    );
    std::fs::remove_file(world.path("work/new/prompts.md")).unwrap();
    std::fs::write(world.path("work/new/notes.md"), "Notes.\n").unwrap();
    sp(&world, &["seal", "new"]).ok();
    let run = sp(&world, &["diff", "shop", "new", "--format", "plain"]).ok();
    assert_eq!(
        run.stdout.lines().collect::<Vec<_>>(),
        [
            "changed\tmanifest\tproject.description",
            "changed\tmanifest\tx-more",
            "added\tstack\tgo",
            "removed\tstack\trust",
            "added\tstack\tsqlite",
            "changed\tsource\tsrc_a",
            "changed\tfile\tAGENTS.md",
            "changed\tsection\tAGENTS.md\tConventions",
            "added\tfile\tnotes.md",
            "removed\tfile\tprompts.md",
            "changed\tfile\tsources.md",
            "changed\tsection\tsources.md\t[^src_a]",
            "changed\tfile\ttasks.md",
            "added\tsection\ttasks.md\t1. New",
            "removed\tsection\ttasks.md\t1. Old",
        ],
        "{run}"
    );
    let diff = answer(&world, &["diff", "shop", "new"]);
    assert_eq!(
        (&diff["same"], &diff["sources"][0]["members"][0]["after"]),
        (&false.into(), &"\"B\"".into()),
        "{diff}"
    );
    let schemas = sp_formats::output::schemas();
    let schema = &schemas.iter().find(|(command, _)| *command == "context diff").unwrap().1;
    assert!(jsonschema::is_valid(&serde_json::to_value(schema).unwrap(), &diff), "{diff}");
    let tasks =
        diff["files"].as_array().unwrap().iter().find(|file| file["path"] == "tasks.md").unwrap();
    let unified = tasks["diff"].as_str().unwrap();
    assert!(
        unified.contains("-## 1. Old\n+## 1. New\n") && !unified.contains("pack_id"),
        "{unified}"
    );
    let run = sp(&world, &["diff", "shop", "new"]).ok();
    for words in
        ["files: 1 added, 1 removed, 3 changed", "-## 1. Old", "+## 1. New", "title: \"A\" → \"B\""]
    {
        assert!(run.stdout.contains(words), "{words}: {run}");
    }
    assert!(
        !run.stdout.contains('\u{1b}') && run.stdout.contains("\\u{1b}[31mshort"),
        "se_08: {run}"
    );
}

#[test]
fn packs_that_are_not_valid_are_compared_and_what_is_no_pack_is_refused() {
    let world = written();
    changed(&world, &[]);
    append(&world, "work/new/skills.md", "\n## More\n\nMore.\n");
    let run = sp(&world, &["diff", "shop", "new", "--format", "plain"]).ok();
    assert_eq!(run.stdout, "changed\tfile\tskills.md\nadded\tsection\tskills.md\tMore\n");
    assert!(run.stderr.contains("`new` is not valid"), "{run}");
    std::fs::write(world.path("work/new/pack.json"), "[]").unwrap();
    let run = sp(&world, &["diff", "shop", "new"]).fails(3);
    assert!(
        run.stderr.contains("`new` is no context pack") && run.stderr.contains("CP-02"),
        "{run}"
    );
}

#[test]
fn cp_14_a_pack_stands_beside_the_users_own_text_and_leaves_no_trace() {
    let world = written();
    let own = [
        ("AGENTS.md", "Mine, without an end of line"),
        ("CLAUDE.md", "# C\r\nwindows\r\n"),
        (".cursor/rules/own.mdc", "---\n---\nMine.\n"),
    ];
    for (path, text) in own {
        let path = world.path(&format!("work/repo/{path}"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let before = world.files("work/repo");
    let args = ["--root", "repo", "install", "shop", "--agent", "cursor", "--agent", "claude"];
    sp(&world, &[&args[..], &["--dry-run"]].concat()).ok();
    assert_eq!(world.files("work/repo"), before);
    sp(&world, &args).ok();
    for (path, own) in own {
        assert!(text(&world, &format!("work/repo/{path}")).starts_with(own), "{path}");
    }
    let agents = text(&world, "work/repo/AGENTS.md");
    assert!(
        agents.contains("# Project: Shop") && agents.contains("[^src_a]: A, https://example.com/a"),
        "{agents}"
    );
    assert!(text(&world, "work/repo/CLAUDE.md").contains("@AGENTS.md"));
    let cursor = text(&world, "work/repo/.cursor/rules/context-pack.mdc");
    assert!(
        cursor
            .starts_with("---\ndescription: \"Context of Shop\"\nglobs:\nalwaysApply: true\n---\n"),
        "{cursor}"
    );
    // Again, and what stands behind the block stays too.
    let installed = world.files("work/repo");
    sp(&world, &args).ok();
    assert_eq!(world.files("work/repo"), installed);
    append(&world, "work/repo/AGENTS.md", "\nMore of mine.\n");
    sp(&world, &["--root", "repo", "uninstall"]).ok();
    assert_eq!(
        text(&world, "work/repo/AGENTS.md"),
        "Mine, without an end of line\nMore of mine.\n"
    );
    std::fs::write(world.path("work/repo/AGENTS.md"), own[0].1).unwrap();
    assert_eq!(world.files("work/repo"), before);
    sp(&world, &["--root", "repo", "uninstall"]).fails(1);
}

#[test]
fn cp_14_files_that_were_not_there_are_gone_again() {
    let world = written();
    std::fs::create_dir_all(world.path("work/repo")).unwrap();
    sp(&world, &["--root", "repo", "install", "shop"]).ok();
    assert!(!world.path("work/repo/CLAUDE.md").exists(), "nobody asked for it");
    sp(&world, &["--root", "repo", "uninstall"]).ok();
    assert!(world.files("work/repo").is_empty());
}

#[test]
fn cp_14_an_edited_block_and_a_file_of_somebody_else_are_refused() {
    let world = written();
    std::fs::create_dir_all(world.path("work/repo/.cursor/rules")).unwrap();
    std::fs::write(world.path("work/repo/.cursor/rules/context-pack.mdc"), "Mine.\n").unwrap();
    let before = world.files("work/repo");
    let run = sp(&world, &["--root", "repo", "install", "shop"]).fails(4);
    assert!(run.stderr.contains("is not ours"), "{run}");
    assert_eq!(world.files("work/repo"), before);
    std::fs::remove_file(world.path("work/repo/.cursor/rules/context-pack.mdc")).unwrap();
    sp(&world, &["--root", "repo", "install", "shop"]).ok();
    let edited =
        text(&world, "work/repo/AGENTS.md").replace("It sells things.", "It sells nothing.");
    std::fs::write(world.path("work/repo/AGENTS.md"), edited).unwrap();
    let before = world.files("work/repo");
    for args in [&["--root", "repo", "install", "shop"][..], &["--root", "repo", "uninstall"]] {
        let run = sp(&world, args).fails(4);
        assert!(run.stderr.contains("edited"), "{run}");
        assert_eq!(world.files("work/repo"), before);
    }
}

#[test]
fn cp_14_a_link_stays_a_link() {
    let world = written();
    std::fs::create_dir_all(world.path("work/repo")).unwrap();
    std::fs::write(world.path("work/repo/AGENTS.md"), "Mine.\n").unwrap();
    std::os::unix::fs::symlink("AGENTS.md", world.path("work/repo/CLAUDE.md")).unwrap();
    let before = world.files("work/repo");
    sp(&world, &["--root", "repo", "install", "shop", "--agent", "claude"]).ok();
    assert!(
        world.path("work/repo/CLAUDE.md").is_symlink()
            && text(&world, "work/repo/CLAUDE.md").contains("# Project: Shop")
    );
    sp(&world, &["--root", "repo", "uninstall"]).ok();
    assert_eq!(world.files("work/repo"), before);
    std::fs::rename(world.path("work/repo/AGENTS.md"), world.path("work/real.md")).unwrap();
    std::os::unix::fs::symlink("../real.md", world.path("work/repo/AGENTS.md")).unwrap();
    let run = sp(&world, &["--root", "repo", "install", "shop"]).fails(4);
    assert!(run.stderr.contains("is a link"), "{run}");
    assert_eq!(text(&world, "work/real.md"), "Mine.\n");
}
