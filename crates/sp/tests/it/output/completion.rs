//! Completion in a real bash, with names that only this machine knows.

use std::path::Path;
use std::process::Command;

use super::*;

/// Returns what bash offers after this line.
fn complete(world: &World, line: &str) -> Vec<String> {
    let script = r#"
        eval "$(sp completions bash)"
        COMP_LINE="$1" COMP_POINT=${#1}
        # Bash also splits words at these characters.
        read -ra pieces <<< "${1//[=:@,]/ }"
        last="${pieces[-1]}"
        [[ "$1" == *[\ =:@] ]] && last=""
        [[ "$1" == *,* && "$1" != *=* ]] && last="${1##* }"
        _sp sp "$last"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let bin = Path::new(env!("CARGO_BIN_EXE_sp")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut bash = Command::new("bash");
    bash.args(["--noprofile", "--norc", "-c", script, "bash", line]).current_dir(world.repo());
    bash.env_clear().env("HOME", world.home()).env("PATH", path);
    let run = world.run(bash).ok();
    run.stdout.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_packs_agents_and_rules() {
    let world = installed();
    for (line, expected) in [
        ("sp instal", &["install", "installed"][..]),
        ("sp install te", &["team"]),
        ("sp install ", &["local", "team"]),
        ("sp uninstall ", &["team"]),
        ("sp install team --agent curs", &["cursor"]),
        ("sp install team -a claude,curs", &["claude,cursor"]),
        ("sp install team --scope pro", &["project"]),
        ("sp install --dry", &["--dry-run"]),
        ("sp pkg rollb", &["rollback"]),
        ("sp explain AS-04", &["AS-04"]),
        ("sp show nothing-like-this", &[]),
    ] {
        assert_eq!(complete(&world, line), expected, "{line}");
    }
}

#[test]
fn bash_completes_skills_and_sources_of_the_project() {
    let world = world!();
    world
        .write("lib/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDFs.\n---\nRead.\n");
    world.sp(&["add", "./lib", "--all", "--agent", "claude"]).ok();
    for (line, expected) in [
        ("sp why ", &["pdf"][..]),
        ("sp disable p", &["pdf"]),
        ("sp remove ", &["./lib", "pdf"]),
        ("sp why --global ", &[]),
    ] {
        assert_eq!(complete(&world, line), expected, "{line}");
    }
}

#[test]
fn bash_completes_packages_after_word_breaks() {
    let world = world!();
    world.write("facts.yaml", "nodes:\n  - {id: F1, type: fact, content: One.}\n");
    world.sp(&["pkg", "create", "--name", "@acme/shop", "--input", "facts.yaml"]).ok();
    assert_eq!(complete(&world, "sp pkg info @"), ["acme/shop", "acme/shop@1.0.0"]);
    assert_eq!(complete(&world, "sp pkg info @acme/shop@1"), ["1.0.0"]);
}

#[test]
fn completion_changes_nothing_and_escapes_hostile_names() {
    let world = world!();
    world.write("packs/$(touch x).yaml", "name: x\ninclude: ['**']\n");
    let before = world.files("");
    assert_eq!(complete(&world, "sp install "), ["\\$\\(touch\\ x\\)"]);
    assert_eq!(world.files(""), before, "no home directory is created");
}
