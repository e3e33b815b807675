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
    AGENT   PACK  SKILLS  INSTALLED             PATH
    claude  team  2       2026-09-21T14:13:20Z  ~/.claude/skills
    ");
    insta::assert_snapshot!(world.sp(&["installed", "--verbose"]), @"
    exit: 0
    --- stdout
    AGENT   PACK  SKILLS  INSTALLED             PATH
    claude  team  2       2026-09-21T14:13:20Z  ~/.claude/skills

    team in ~/.claude/skills  from ~/repo/packs/team.yaml
      file://[WORLD]/git/shared @ main = [COMMIT]
      team__general__a
      team__tools__r
    ");
    let plain = world.sp(&["installed", "--agent", "codex", "--format", "plain"]).ok();
    assert_eq!(plain.stdout, "");
}

#[test]
fn sp_31_sp_42_list_and_packs_are_the_same_in_human_and_plain_format() {
    let world = installed();
    for command in ["list", "skills", "packs"] {
        let human = world.sp(&[command]).ok();
        assert_eq!(human, world.sp(&[command, "--format", "plain"]), "{command}");
        assert_eq!(human, world.sp(&[command, "--format", "human"]), "{command}");
    }
    assert_eq!(world.sp(&["skills"]), world.sp(&["list"]));
}
