//! The pre-commit hooks and the GitHub action of this repository.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sp_formats::yaml::{self, YamlNode};
use sp_testkit::{Run, World, world};
use sp_tree::Limits;

fn project_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().into()
}

fn read_yaml(file: &str) -> YamlNode {
    yaml::parse(&std::fs::read_to_string(project_dir().join(file)).unwrap(), &Limits::default())
        .unwrap()
}

/// Returns the value of a key that must exist.
fn get<'a>(node: &'a YamlNode, key: &str) -> &'a YamlNode {
    let yaml::YamlValue::Map(pairs) = &node.value else { panic!("{node:?}") };
    pairs
        .iter()
        .find(|(name, _)| name.text() == Some(key))
        .map(|(_, value)| value)
        .unwrap_or_else(|| panic!("{key}"))
}

fn list(node: &YamlNode) -> &[YamlNode] {
    let yaml::YamlValue::Seq(items) = &node.value else { panic!("{node:?}") };
    items
}

/// Runs a program in the repository of a world, with the `sp` under test in `PATH`.
fn run(world: &World, program: &Path, args: &[&str], env: &[(&str, &str)]) -> Run {
    let bin = world.path("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let _ = symlink(env!("CARGO_BIN_EXE_sp"), bin.join("sp"));
    let mut command = Command::new(program);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    command
        .args(args)
        .current_dir(world.repo())
        .env_clear()
        .env("PATH", path)
        .env("HOME", world.home());
    command.envs(env.iter().copied());
    world.run(command)
}

#[test]
fn pre_commit_hooks_fail_only_on_invalid_skills() {
    let hooks = read_yaml(".pre-commit-hooks.yaml");
    let mut ids = Vec::new();
    for hook in list(&hooks) {
        let text = |key| get(hook, key).text().unwrap();
        assert_eq!((text("language"), text("pass_filenames")), ("script", "false"));
        let world = world!();
        world.skill("good");
        let mut words = text("entry").split(' ');
        let program = project_dir().join(words.next().unwrap());
        assert_ne!(std::fs::metadata(&program).unwrap().permissions().mode() & 0o111, 0);
        let args: Vec<&str> = words.collect();
        assert_eq!(run(&world, &program, &args, &[]).code, Some(0));
        world.write("skills/good/SKILL.md", "no frontmatter");
        assert_eq!(run(&world, &program, &args, &[]).code, Some(1));
        ids.push(text("id").to_owned());
    }
    assert_eq!(ids, ["sp-check", "sp-check-strict", "sp-fix"]);
}

#[test]
fn github_action_passes_inputs_only_as_environment_variables() {
    let action = read_yaml("action.yml");
    let yaml::YamlValue::Map(inputs) = &get(&action, "inputs").value else { panic!() };
    let steps = list(get(get(&action, "runs"), "steps"));
    let [step] = steps else { panic!("one step") };
    let yaml::YamlValue::Map(variables) = &get(step, "env").value else { panic!() };
    let values: Vec<&str> = variables.iter().filter_map(|(_, value)| value.text()).collect();
    let expected: Vec<String> = inputs
        .iter()
        .map(|(name, _)| format!("${{{{ inputs.{} }}}}", name.text().unwrap()))
        .collect();
    assert_eq!(values, expected);
    let script = get(step, "run").text().unwrap();
    assert!(!script.contains("${{"), "an input in a script could run commands: {script}");
    assert_eq!(script, "\"$GITHUB_ACTION_PATH/hooks/action\"");
}

#[test]
fn github_action_annotates_and_writes_sarif() {
    let world = world!();
    world.skill("good");
    world.write("skills/bad/SKILL.md", "---\nname: bad\ndescription: Use when: x\n---\n");
    let action = project_dir().join("hooks/action");
    let run_with = |env: &[(&str, &str)]| run(&world, &action, &[], env);
    let lenient = run_with(&[("SP_PATHS", ""), ("SP_STRICT", "false"), ("SP_SARIF", "")]);
    assert_eq!((lenient.code, lenient.stdout.lines().count()), (Some(0), 1), "{lenient}");
    let position = "file=skills/bad/SKILL.md,line=3,col=14,endLine=3,endColumn=25";
    let annotation = format!("::warning {position},title=AS-04::");
    assert!(lenient.stdout.starts_with(&annotation), "{lenient}");
    assert!(lenient.stdout.contains("description: 'Use when: x'"), "the fix: {lenient}");
    let strict = run_with(&[
        ("SP_PATHS", "skills/good\nskills/bad\n"),
        ("SP_STRICT", "true"),
        ("SP_SARIF", "out.sarif"),
    ]);
    assert_eq!(strict.code, Some(1), "{strict}");
    let sarif: Value =
        serde_json::from_slice(&std::fs::read(world.repo().join("out.sarif")).unwrap()).unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "AS-04");
    assert_eq!(run_with(&[("SP_PATHS", "skills/good\n")]).code, Some(0));
    let hostile = run_with(&[("SP_PATHS", "$(touch pwned)\n--format\n; touch pwned")]);
    assert_eq!(hostile.code, Some(3), "{hostile}");
    assert!(!world.repo().join("pwned").exists());
}
