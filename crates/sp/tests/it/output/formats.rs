//! JSON, plain and human output of every command.

use super::*;

#[test]
fn sp_31_json_matches_its_documented_schema() {
    for (args, section) in COMMANDS {
        let run = installed().sp(&[args, &["--format", "json"]].concat()).ok();
        let value: Value =
            serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}: {run}"));
        let schema = schema(section);
        assert_matches_schema(&value, &schema, &schema, section);
        assert_eq!(run.stderr, "", "{args:?}");
    }
}

#[test]
fn sp_31_plain_output_has_one_item_per_line() {
    for (args, expected) in [
        (&["list"][..], "general/a\n"),
        (&["skills"], "general/a\n"),
        (&["packs"], "local\nteam\n"),
        (
            &["show", "team"],
            "local\tgeneral/a\tteam__general__a\nfile://[WORLD]/git/shared@main\ttools/r\tteam__tools__r\n",
        ),
        (&["installed"], "claude\tteam\t2\t2026-09-21T14:13:20Z\t[WORLD]/home/.claude/skills\n"),
        (
            &["install", "local", "--agent", "claude"],
            "add\tclaude\tlocal\t[WORLD]/home/.claude/skills/local__general__a\n",
        ),
        (
            &["init", "new"],
            "README.md\npacks/new.yaml\nskills/general/write-commit-message/SKILL.md\nskills/general/write-commit-message/references/checklist.md\n",
        ),
        (&["clean"], ""),
    ] {
        let run = installed().sp(&[args, &["--format", "plain"]].concat()).ok();
        assert_eq!((run.stdout.as_str(), run.stderr.as_str()), (expected, ""), "{args:?}");
    }
    let config = installed().sp(&["config", "--format", "plain"]).ok().stdout;
    assert!(config.starts_with("codex\t[WORLD]/home/.codex/skills\nclaude\t"), "{config}");
    assert!(config.lines().all(|line| line.split('\t').count() == 2), "{config}");
}

#[test]
fn sp_31_human_output_of_show_and_installed() {
    let world = installed();
    let commit = std::fs::read_to_string(world.path("git/shared/.git/refs/heads/main")).unwrap();
    insta::assert_snapshot!(world.sp(&["show", "team"]).to_string().replace(&commit[..12], "[SHORT]"), @"
    exit: 0
    --- stdout
    team  ~/repo/packs/team.yaml

    local
      general/a  → team__general__a

    file://[WORLD]/git/shared@main ([SHORT])
      tools/r    → team__tools__r

    2 skills
    ");
    insta::assert_snapshot!(world.sp(&["installed"]), @"
    exit: 0
    --- stdout
    AGENT   PACK  SKILLS  INSTALLED  PATH
    claude  team  2       just now   ~/.claude/skills
    ");
    insta::assert_snapshot!(world.sp(&["installed", "--verbose"]), @"
    exit: 0
    --- stdout
    AGENT   PACK  SKILLS  INSTALLED  PATH
    claude  team  2       just now   ~/.claude/skills

    team in ~/.claude/skills  from ~/repo/packs/team.yaml
      file://[WORLD]/git/shared @ main = [COMMIT]
      team__general__a
      team__tools__r
    ");
    let plain = world.sp(&["installed", "--agent", "codex", "--format", "plain"]).ok();
    assert_eq!(plain.stdout, "");
}

#[test]
fn sp_31_sp_42_skills_is_an_alias_of_list() {
    let world = installed();
    assert_eq!(world.sp(&["skills"]), world.sp(&["list"]));
    for command in ["list", "packs"] {
        let human = world.sp(&[command]).ok();
        assert_eq!(human, world.sp(&[command, "--format", "human"]), "{command}");
    }
}

#[test]
fn sp_31_list_has_descriptions_for_people_and_ids_for_programs() {
    let world = installed();
    world.write("skills/odd/SKILL.md", "no frontmatter\n");
    let wide = "---\nname: wide\ndescription: \"Übersetzt 日本語\"\n---\n";
    world.write("skills/wide/SKILL.md", wide);
    insta::assert_snapshot!(world.sp(&["list"]), @"
    exit: 0
    --- stdout
    general/a  Does a.
    odd
    wide       Übersetzt 日本語
    ");
    assert_eq!(world.sp(&["list", "--format", "plain"]).ok().stdout, "general/a\nodd\nwide\n");
    let json: Value = serde_json::from_str(&world.sp(&["list", "--json"]).ok().stdout).unwrap();
    assert_eq!(json["skills"][0]["description"], "Does a.");
    assert!(json["skills"][1]["description"].is_null(), "{json}");
}
