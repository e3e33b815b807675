//! `sp context diff`.

use super::*;

/// A replacement in a file of a context pack.
struct Edit {
    file: &'static str,
    old: String,
    new: &'static str,
}

fn edit(file: &'static str, old: &str, new: &'static str) -> Edit {
    Edit { file, old: old.into(), new }
}

/// Copies the pack `shop` to `new`, edits the copy, and seals it.
fn copy_pack(world: &World, edits: &[Edit]) {
    sp(world, &["zip", "shop", "--force"]).ok();
    sp(world, &["unzip", "context-pack.zip", "new"]).ok();
    for edit in edits {
        replace(world, &format!("work/new/{}", edit.file), &edit.old, edit.new);
    }
    sp(world, &["seal", "new"]).ok();
}

#[test]
fn packs_that_differ_only_in_their_id_have_the_same_content() {
    let world = world_with_pack();
    let other_id = "pk_01KPZXWZQR5NRHCGNQ4TR480B2";
    let id = sp_json(&world, &["show", "shop"])["pack_id"].as_str().unwrap().to_owned();
    copy_pack(&world, &[edit("pack.json", &id, other_id)]);
    let diff = sp_json(&world, &["diff", "shop", "new"]);
    assert_eq!(diff["same"], true, "{diff}");
    assert_eq!(diff["files"], Value::Array(Vec::new()), "{diff}");
    assert_eq!(diff["generation"][0]["member"], "pack_id");
    let run = sp(&world, &["diff", "shop", "new"]).ok();
    assert!(run.stdout.contains(&id) && run.stdout.contains(other_id), "{run}");
    assert_eq!(sp(&world, &["diff", "shop", "new", "--format", "plain"]).ok().stdout, "");
    let diff = sp_json(&world, &["diff", "shop", "context-pack.zip"]);
    assert_eq!(diff["generation"], Value::Array(Vec::new()));
}

#[test]
fn differences_are_listed_by_member_source_file_and_section() {
    let world = world_with_pack();
    append(&world, "work/shop/tasks.md", "\n## 1. Old\n\n- It.\n- Acceptance: done.\n");
    sp(&world, &["seal", "shop"]).ok();
    copy_pack(
        &world,
        &[
            edit("pack.json", "It sells things.", "It sells \\u001b[31mmuch."),
            edit("pack.json", "\"rust\"", "\"go\", \"sqlite\""),
            edit("pack.json", "\"title\": \"A\"", "\"title\": \"B\""),
            edit("pack.json", "\"spec_version\"", "\"x-more\": [1, 2], \"spec_version\""),
            edit("AGENTS.md", "Keep it short.", "Keep it \u{1b}[31mshort."),
            edit("tasks.md", "## 1. Old", "## 1. New"),
            edit("sources.md", "It is right.", "It is wrong."),
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
    let diff = sp_json(&world, &["diff", "shop", "new"]);
    assert_eq!(diff["same"], false);
    assert_eq!(diff["sources"][0]["members"][0]["after"], "\"B\"", "{diff}");
    let schemas = sp_formats::output::schemas();
    let schema = &schemas.iter().find(|(command, _)| *command == "context diff").unwrap().1;
    assert!(jsonschema::is_valid(&serde_json::to_value(schema).unwrap(), &diff), "{diff}");
    let mut files = diff["files"].as_array().unwrap().iter();
    let tasks = files.find(|file| file["path"] == "tasks.md").unwrap();
    let unified = tasks["diff"].as_str().unwrap();
    assert!(unified.contains("-## 1. Old\n+## 1. New\n"), "{unified}");
    assert!(!unified.contains("pack_id"), "{unified}");
    let run = sp(&world, &["diff", "shop", "new"]).ok();
    for part in ["-## 1. Old", "+## 1. New", "title: \"A\" → \"B\""] {
        assert!(run.stdout.contains(part), "{part}: {run}");
    }
    assert!(!run.stdout.contains('\u{1b}'), "se_08: {run}");
    assert!(run.stdout.contains("\\u{1b}[31mshort"), "se_08: {run}");
}

#[test]
fn invalid_packs_are_compared_and_other_directories_are_refused() {
    let world = world_with_pack();
    copy_pack(&world, &[]);
    append(&world, "work/new/skills.md", "\n## More\n\nMore.\n");
    let run = sp(&world, &["diff", "shop", "new", "--format", "plain"]).ok();
    assert_eq!(run.stdout, "changed\tfile\tskills.md\nadded\tsection\tskills.md\tMore\n");
    assert!(run.stderr.contains("warning:") && run.stderr.contains("`new`"), "{run}");
    std::fs::write(world.path("work/new/pack.json"), "[]").unwrap();
    let error = sp_error(&world, &["diff", "shop", "new"]);
    assert_eq!((error.code.as_str(), error.exit_code), ("CP-02", 3));
    assert!(error.message.contains("`new`"), "{error:?}");
}
