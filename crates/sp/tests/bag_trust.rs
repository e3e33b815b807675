//! Whose word counts in a workspace: the user's before a file's, a file's before a stranger's.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test arranges its world with the plain calls"
)]

use std::path::Path;

use sp_testkit::{World, world, zip};

const AGENTS: &str =
    "# SKILLBAG\n\nIts skills live under `.skills/`; `.skills/SKILLS.md` lists them.\n";

/// A skill that needs what the lines of YAML say.
fn skill(name: &str, needs: &str) -> String {
    let needs = match needs {
        "" => String::new(),
        _ => format!("\n## Dependencies\n\n```yaml\n{needs}\n```\n"),
    };
    format!("---\nname: {name}\ndescription: {}\n---\n\nDo it.\n{needs}", description(name))
}

fn description(name: &str) -> String {
    format!("Does {name}. Use when it is due.")
}

/// The files of a source with these skills.
fn source(skills: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut names: Vec<&str> = skills.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    let catalog = names.iter().map(|name| format!("{name}: {}\n", description(name))).collect();
    let mut files =
        vec![("AGENTS.md".into(), AGENTS.into()), (".skills/SKILLS.md".into(), catalog)];
    files.extend(
        skills.iter().map(|(name, needs)| (format!(".skills/{name}/SKILL.md"), skill(name, needs))),
    );
    files
}

fn write(path: &Path, text: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A workspace beside which sources can lie.
fn workspace() -> World {
    let world = world!();
    std::fs::remove_dir_all(world.repo()).unwrap();
    std::fs::create_dir(world.repo()).unwrap();
    world.sp(&["bag", "init"]).ok();
    world
}

fn directory(world: &World, name: &str, skills: &[(&str, &str)]) {
    source(skills).iter().for_each(|(path, text)| write(&world.home().join(name).join(path), text));
}

fn archive(world: &World, name: &str, skills: &[(&str, &str)]) {
    let files = source(skills);
    let members: Vec<(&str, &[u8])> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
    write(&world.home().join(name), zip(&members));
}

fn is_here(world: &World, name: &str) -> bool {
    world.repo().join(".skills").join(name).join("SKILL.md").is_file()
}

fn lock(world: &World) -> String {
    std::fs::read_to_string(world.repo().join(".skills/.skillbag.lock")).unwrap()
}

#[test]
fn sb_06_a_source_that_the_user_names_now_counts_before_that_of_a_context() {
    let world = workspace();
    directory(&world, "one", &[("x", "")]);
    directory(&world, "two", &[("x", "")]);
    let declared = "dependencies:\n  - name: x\n    version: v1\n    source: ../two";
    world.write("CONTEXT.md", format!("## Dependencies\n\n```yaml\n{declared}\n```\n"));
    let run = world.sp(&["bag", "get", "x", "--source", "../one"]).ok();
    assert!(lock(&world).contains("\"../one\""), "{run}");
}

#[test]
fn sb_14_a_required_skill_is_installed_though_another_can_do_without_it() {
    let needs =
        [("a", "- name: x\n  required: false"), ("b", "- name: x\n  source: ../one"), ("x", "")];
    for order in [["a", "b"], ["b", "a"]] {
        let world = workspace();
        directory(&world, "one", &needs);
        let run =
            world.sp(&[&["bag", "get"], order.as_slice(), &["--source", "../one"]].concat()).ok();
        assert!(is_here(&world, "x"), "{order:?}: {run}");
    }
}

#[test]
fn sb_20_an_upgrade_finds_a_dependency_where_it_came_from() {
    let world = workspace();
    directory(&world, "one", &[("b", "- name: x\n  source: ."), ("x", "")]);
    world.sp(&["bag", "get", "b", "--source", "../one"]).ok();
    world.sp(&["bag", "get", "x", "--upgrade"]).ok();
}

/// Wishes `x` twice, once as it is written here.
fn is_one_source_with(written: &str) {
    let world = workspace();
    directory(&world, "one", &[("b", &format!("- name: x\n  source: {written}")), ("x", "")]);
    world.sp(&["bag", "get", "b", "x", "--source", "../one"]).ok();
    assert!(is_here(&world, "x"), "{written}");
}

#[test]
fn sb_15_one_directory_is_one_source_however_it_is_written() {
    [".", "./", "../one", "../one/.", "../one/../one"].into_iter().for_each(is_one_source_with);
}

#[test]
fn sb_15_a_directory_below_the_home_is_one_source_with_the_same_by_another_path() {
    is_one_source_with("~/one");
}

#[test]
fn se_03_a_skill_from_a_zip_never_names_a_place_of_this_machine() {
    let world = workspace();
    directory(&world, "secret", &[("x", "")]);
    archive(&world, "one.zip", &[("b", "- name: x\n  source: ../secret")]);
    world.sp(&["bag", "get", "b", "--source", "../one.zip"]).fails(4);
    // With `x` here there is nothing to fetch, so `b` can be installed.
    directory(&world, "good", &[("x", "")]);
    world.sp(&["bag", "get", "x", "--source", "../good"]).ok();
    world.sp(&["bag", "get", "b", "--source", "../one.zip"]).ok();
    std::fs::remove_dir_all(world.repo().join(".skills/x")).unwrap();
    world.sp(&["bag", "get", "b"]).fails(4);
    assert!(!is_here(&world, "x"));
}

#[test]
fn sb_10_what_a_context_declares_is_not_removed() {
    let world = workspace();
    directory(&world, "one", &[("x", "")]);
    let declared = "dependencies:\n  - name: x\n    version: v1\n    source: ../one";
    world.write("CONTEXT.md", format!("## Dependencies\n\n```yaml\n{declared}\n```\n"));
    world.sp(&["bag", "get"]).ok();
    let run = world.sp(&["bag", "remove", "x"]).fails(1);
    assert!(run.stderr.contains("CONTEXT.md") && is_here(&world, "x"), "{run}");
}

#[test]
fn sb_23_a_tag_that_yaml_takes_for_a_comment_is_found() {
    let world = workspace();
    let text =
        "---\nname: take-notes\ndescription: Takes notes. Use always. #run/always\n---\n\nWrite.\n";
    world.write(".skills/take-notes/SKILL.md", text);
    world.sp(&["bag", "sync"]).ok();
    let run = world.sp(&["bag", "check", "--format", "plain"]);
    assert!(run.stdout.contains("SB-23"), "{run}");
}

#[test]
fn sb_25_a_fix_tells_what_it_mended() {
    let world = workspace();
    world.write(".skills/SKILLS.md", "# Skills\n");
    let run = world.sp(&["bag", "check", "--fix"]).ok();
    assert!(!(run.stdout + &run.stderr).contains("mended 0 problems"));
}

#[test]
fn sb_21_a_dry_run_says_that_the_catalog_would_change() {
    let world = workspace();
    directory(&world, "one", &[("x", "")]);
    let run = world.sp(&["bag", "get", "x", "--source", "../one", "--dry-run"]).ok();
    assert!(!(run.stdout + &run.stderr).contains("catalog unchanged"));
}

#[test]
fn se_08_what_a_stranger_writes_is_shown_escaped() {
    let world = workspace();
    write(&world.home().join("name.zip"), zip(&[("a\u{1b}[2J", b"x")]));
    let mut files = source(&[("x", "")]);
    files[0].1 += "\n## Extra installation steps\n\nDo \u{1b}[2J\u{202e}this.\n";
    let members: Vec<(&str, &[u8])> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
    write(&world.home().join("steps.zip"), zip(&members));
    for (name, code) in [("name", 3), ("steps", 1)] {
        let run = world.sp(&["bag", "get", "x", "--source", &format!("../{name}.zip")]).fails(code);
        assert!(
            !run.stderr.contains(['\u{1b}', '\u{202e}']) && run.stderr.contains("\\u{1b}"),
            "{run}"
        );
        assert!(!is_here(&world, "x"), "{name}");
    }
}
