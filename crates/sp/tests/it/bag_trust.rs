//! Precedence and trust in a workspace: the command line before context files, and context files
//! before downloaded skills.

use std::path::Path;

use sp_testkit::{World, world, zip};

const AGENTS: &str =
    "# SKILLBAG\n\nIts skills live under `.skills/`; `.skills/SKILLS.md` lists them.\n";

/// Returns the text of a skill with these dependencies in YAML.
fn skill(name: &str, dependencies: &str) -> String {
    let section = if dependencies.is_empty() {
        String::new()
    } else {
        format!("\n## Dependencies\n\n```yaml\n{dependencies}\n```\n")
    };
    format!("---\nname: {name}\ndescription: {}\n---\n\nDo it.\n{section}", description(name))
}

fn description(name: &str) -> String {
    format!("Does {name}. Use when it is due.")
}

/// Returns the files of a source. Each skill is a name and its dependencies in YAML.
fn source_files(skills: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut names: Vec<&str> = skills.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    let catalog = names.iter().map(|name| format!("{name}: {}\n", description(name))).collect();
    let mut files =
        vec![("AGENTS.md".into(), AGENTS.into()), (".skills/SKILLS.md".into(), catalog)];
    files.extend(skills.iter().map(|(name, dependencies)| {
        (format!(".skills/{name}/SKILL.md"), skill(name, dependencies))
    }));
    files
}

fn write(path: &Path, text: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Returns a world whose repository is a workspace. Sources are next to it.
fn workspace() -> World {
    let world = world!();
    std::fs::remove_dir_all(world.repo()).unwrap();
    std::fs::create_dir(world.repo()).unwrap();
    world.sp(&["bag", "init"]).ok();
    world
}

fn write_source_dir(world: &World, name: &str, skills: &[(&str, &str)]) {
    for (path, text) in source_files(skills) {
        write(&world.home().join(name).join(path), text);
    }
}

fn write_source_zip(world: &World, name: &str, files: &[(String, String)]) {
    let members: Vec<(&str, &[u8])> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
    write(&world.home().join(name), zip(&members));
}

/// Writes a `CONTEXT.md` that declares `x` with this source.
fn write_context(world: &World, source: &str) {
    let dependency = format!("dependencies:\n  - name: x\n    version: v1\n    source: {source}");
    world.write("CONTEXT.md", format!("## Dependencies\n\n```yaml\n{dependency}\n```\n"));
}

fn is_installed(world: &World, name: &str) -> bool {
    world.repo().join(".skills").join(name).join("SKILL.md").is_file()
}

fn lock(world: &World) -> String {
    std::fs::read_to_string(world.repo().join(".skills/.skillbag.lock")).unwrap()
}

#[test]
fn sb_06_source_option_overrides_the_context() {
    let world = workspace();
    write_source_dir(&world, "one", &[("x", "")]);
    write_source_dir(&world, "two", &[("x", "")]);
    write_context(&world, "../two");
    let run = world.sp(&["bag", "get", "x", "--source", "../one"]).ok();
    assert!(lock(&world).contains("\"../one\""), "{run}");
}

#[test]
fn sb_14_skill_is_installed_if_only_one_of_two_requires_it() {
    let skills =
        [("a", "- name: x\n  required: false"), ("b", "- name: x\n  source: ../one"), ("x", "")];
    for order in [["a", "b"], ["b", "a"]] {
        let world = workspace();
        write_source_dir(&world, "one", &skills);
        let run =
            world.sp(&[&["bag", "get"], order.as_slice(), &["--source", "../one"]].concat()).ok();
        assert!(is_installed(&world, "x"), "{order:?}: {run}");
    }
}

#[test]
fn sb_20_upgrade_finds_the_source_of_a_dependency() {
    let world = workspace();
    write_source_dir(&world, "one", &[("b", "- name: x\n  source: ."), ("x", "")]);
    world.sp(&["bag", "get", "b", "--source", "../one"]).ok();
    world.sp(&["bag", "get", "x", "--upgrade"]).ok();
}

/// Installs `x` from `../one` and as a dependency with this source, which must be the same.
fn assert_same_source(source: &str) {
    let world = workspace();
    let dependency = format!("- name: x\n  source: {source}");
    write_source_dir(&world, "one", &[("b", &dependency), ("x", "")]);
    world.sp(&["bag", "get", "b", "x", "--source", "../one"]).ok();
    assert!(is_installed(&world, "x"), "{source}");
}

#[test]
fn sb_15_spellings_of_one_directory_are_the_same_source() {
    [".", "./", "../one", "../one/.", "../one/../one"].into_iter().for_each(assert_same_source);
}

#[test]
fn sb_15_path_with_a_tilde_is_the_same_source() {
    assert_same_source("~/one");
}

#[test]
fn se_03_skill_from_a_zip_cannot_depend_on_a_local_path() {
    let world = workspace();
    write_source_dir(&world, "secret", &[("x", "")]);
    let files = source_files(&[("b", "- name: x\n  source: ../secret")]);
    write_source_zip(&world, "one.zip", &files);
    let error = world.sp_error(&["bag", "get", "b", "--source", "../one.zip"]);
    assert_eq!(error.code, "E-foreign-local-source");
    // If `x` is installed, there is nothing to fetch, so `b` can be installed.
    write_source_dir(&world, "good", &[("x", "")]);
    world.sp(&["bag", "get", "x", "--source", "../good"]).ok();
    world.sp(&["bag", "get", "b", "--source", "../one.zip"]).ok();
    std::fs::remove_dir_all(world.repo().join(".skills/x")).unwrap();
    assert_eq!(world.sp_error(&["bag", "get", "b"]).code, "E-foreign-local-source");
    assert!(!is_installed(&world, "x"));
}

#[test]
fn sb_10_dependency_of_a_context_cannot_be_removed() {
    let world = workspace();
    write_source_dir(&world, "one", &[("x", "")]);
    write_context(&world, "../one");
    world.sp(&["bag", "get"]).ok();
    let error = world.sp_error(&["bag", "remove", "x"]);
    assert_eq!(error.code, "E-still-required");
    assert!(error.message.contains("CONTEXT.md"), "{error:#?}");
    assert!(is_installed(&world, "x"));
}

#[test]
fn sb_23_tag_parsed_as_a_yaml_comment_is_reported() {
    let world = workspace();
    let text =
        "---\nname: take-notes\ndescription: Takes notes. Use always. #run/always\n---\n\nWrite.\n";
    world.write(".skills/take-notes/SKILL.md", text);
    world.sp(&["bag", "sync"]).ok();
    let run = world.sp(&["bag", "check", "--format", "plain"]);
    assert!(run.stdout.contains("SB-23"), "{run}");
}

#[test]
fn sb_25_fix_reports_the_number_of_fixed_problems() {
    let world = workspace();
    world.write(".skills/SKILLS.md", "# Skills\n");
    let run = world.sp(&["bag", "check", "--fix"]).ok();
    // The heading is not a catalog line, and the reserved skill is not listed.
    assert!((run.stdout.clone() + &run.stderr).contains(" 2 "), "{run}");
}

#[test]
fn sb_21_dry_run_does_not_report_an_unchanged_catalog() {
    let world = workspace();
    write_source_dir(&world, "one", &[("x", "")]);
    let run = world.sp(&["bag", "get", "x", "--source", "../one", "--dry-run"]).ok();
    assert!(run.stdout.contains("+ x") && !run.to_string().contains("unchanged"), "{run}");
}

#[test]
fn se_08_control_characters_of_a_source_are_escaped() {
    let world = workspace();
    write(&world.home().join("name.zip"), zip(&[("a\u{1b}[2J", b"x")]));
    let mut files = source_files(&[("x", "")]);
    files[0].1 += "\n## Extra installation steps\n\nDo \u{1b}[2J\u{202e}this.\n";
    write_source_zip(&world, "steps.zip", &files);
    for (name, code) in [("name", "E-invalid-archive"), ("steps", "E-manual-steps")] {
        let source = format!("../{name}.zip");
        let args = ["bag", "get", "x", "--source", &source];
        assert_eq!(world.sp_error(&args).code, code);
        let run = world.sp(&args);
        assert!(
            !run.stderr.contains(['\u{1b}', '\u{202e}']) && run.stderr.contains("\\u{1b}"),
            "{run}"
        );
        assert!(!is_installed(&world, "x"), "{name}");
    }
}
