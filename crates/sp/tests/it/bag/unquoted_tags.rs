//! Skills whose authors write tags without quotes, and dependencies in the frontmatter.

use super::*;

const CATALOG: &str = "notes: Keeps notes. #run/always #use/review\n";

/// Returns a source whose skill `notes` has unquoted tags and depends on `review` in `other`.
fn tagged_source(other: &str) -> SourceFiles {
    let text = format!(
        "---\nname: notes\ndescription: Keeps notes. #run/always #use/review\ndependencies:\n  \
         - name: review\n    source: {other}\n    version: main\n    required: true\n---\n\nWrite.\n"
    );
    SourceFiles::new(&[])
        .with_file(".skills/notes/SKILL.md", Some(&text))
        .with_file(".skills/SKILLS.md", Some(CATALOG))
}

/// Returns a workspace with the skill `notes`.
fn workspace_with_notes() -> World {
    let world = workspace();
    let repo = world.git("other");
    SourceFiles::new(&["review"]).write_to(repo.path());
    repo.commit("one");
    let source = source_dir(&world, "source", &tagged_source(&repo.url()));
    bag(&world, &["add", "notes", "--source", &source]).ok();
    world
}

#[test]
fn sb_23_source_with_unquoted_tags_can_be_used() {
    let world = workspace_with_notes();
    let catalog = read(&world, "ws/.skills/SKILLS.md");
    assert_eq!(catalog, format!("{CATALOG}review: Does review.\n{RESERVED_LINE}"));
    assert_eq!(json(&world, &["enter"])["always"], serde_json::json!(["notes"]));
    let companions = &json(&world, &["run", "notes"])["companions"];
    assert_eq!(companions[0]["name"], "review", "{companions}");
    assert_consistent(&world, "unquoted tags");
}

#[test]
fn sb_11_dependencies_in_the_frontmatter_are_installed() {
    let world = workspace_with_notes();
    assert_eq!(skill_names(&world), ["notes", "review"]);
    assert_eq!(lock(&world)["skills"]["review"]["version"], "main");
    let error = assert_refused(&world, &["remove", "review"], "E-still-required");
    assert!(error.message.contains("`notes`"), "{error:#?}");
}

#[test]
fn sb_02_tags_stay_in_the_catalog_and_fix_quotes_the_description() {
    let world = workspace_with_notes();
    let before = world.files("ws");
    bag(&world, &["sync"]).ok();
    assert_eq!(world.files("ws"), before);
    let catalog = read(&world, "ws/.skills/SKILLS.md");
    bag(&world, &["check", "--fix"]);
    assert_eq!(read(&world, "ws/.skills/SKILLS.md"), catalog);
    let fixed = read(&world, "ws/.skills/notes/SKILL.md");
    assert!(
        fixed.contains("\ndescription: 'Keeps notes. #run/always #use/review'\n"),
        "the description is quoted: {fixed}"
    );
    // A catalog that lost the tags gets them back.
    write(&world, "ws/.skills/SKILLS.md", &catalog.replace(" #run/always #use/review", ""));
    bag(&world, &["sync"]).ok();
    assert_eq!(read(&world, "ws/.skills/SKILLS.md"), catalog);
}
