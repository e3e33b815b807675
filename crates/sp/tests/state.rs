//! `state.json`: read as others wrote it, kept to the letter, never lost; and uninstall, which
//! lives by it.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test arranges its world with the plain calls"
)]

use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::process::Stdio;

use serde_json::{Value, json};
use sp_testkit::{Entry, World, world};

const SINK: &str = "home/.claude/skills";
const STATE: &str = "home/.skillpack/state.json";

fn put(world: &World, path: &str, text: &str) {
    let path = world.path(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn state(world: &World) -> Value {
    serde_json::from_str(&std::fs::read_to_string(world.path(STATE)).unwrap()).unwrap()
}

fn team(ids: &[&str]) -> World {
    let world = world!();
    ids.iter().for_each(|id| world.skill(id));
    world.pack("team", "name: team\ninclude: ['**']\n");
    world
}

fn install(world: &World) -> sp_testkit::Run {
    world.sp(&["install", "team", "--agent", "claude"])
}

fn uninstall(world: &World) -> sp_testkit::Run {
    world.sp(&["uninstall", "team", "--agent", "claude"])
}

fn folders(world: &World) -> Vec<String> {
    world.files(SINK).into_keys().filter(|name| !name.contains('/')).collect()
}

/// A state as in the format's sketch, for the pack `team` with these folders, and members that
/// nobody knows.
fn sketch(world: &World, folders: &[&str]) -> String {
    let sink = world.path(SINK).display().to_string();
    let paths: Vec<String> = folders.iter().map(|folder| format!("\"{sink}/{folder}\"")).collect();
    format!(
        r#"{{
  "version": 1,
  "theirs": {{"big": 123456789012345678901, "float": 1.0}},
  "installs": [
    {{
      "sink": "claude",
      "sink_path": "{sink}",
      "pack": "team",
      "pack_file": "{pack_file}",
      "prefix": "team",
      "sep": "__",
      "note": "kept",
      "imports": [
        {{ "repo": "github.com/acme/shared-skills", "ref": "v1.3.0", "commit": "9f2c1d3", "depth": 1e0 }}
      ],
      "installed_paths": [{paths}],
      "installed_at": "2026-01-21T12:34:56Z"
    }},
    {{
      "sink": "codex", "sink_path": "/elsewhere", "pack": "other", "imports": [{{"repo": "x", "commit": "1", "mark": [1]}}],
      "installed_paths": ["/elsewhere/other__x"], "installed_at": "2026-01-21T12:34:56Z", "colour": "blue",
      "skills": [{{"folder": "other__x", "id": "x", "digest": "sha256:{digest}", "stars": 5}}]
    }}
  ]
}}
"#,
        pack_file = world.repo().join("packs/team.yaml").display(),
        paths = paths.join(", "),
        digest = "ab".repeat(32),
    )
}

/// A world in which another tool installed `team__a` and `team__old`.
fn installed_by_another_tool() -> World {
    let world = team(&["a"]);
    for folder in ["team__a", "team__old", "by-hand"] {
        put(&world, &format!("{SINK}/{folder}/SKILL.md"), "by another tool\n");
    }
    put(&world, STATE, &sketch(&world, &["team__a", "team__old"]));
    world
}

/// The members that only others know are still there.
fn assert_foreign_members(world: &World) {
    let text = std::fs::read_to_string(world.path(STATE)).unwrap();
    for kept in ["123456789012345678901", "\"float\": 1.0", "\"colour\": \"blue\"", "\"mark\""] {
        assert!(text.contains(kept), "{kept} in {text}");
    }
}

#[test]
fn sp_29_a_state_as_in_the_sketch_is_listed() {
    let world = installed_by_another_tool();
    let before = world.files("home/.skillpack");
    insta::assert_snapshot!(world.sp(&["installed"]), @"
    exit: 0
    --- stdout
    SINK    PACK   SKILLS  INSTALLED             WHERE
    claude  team   2       2026-01-21T12:34:56Z  ~/.claude/skills
    codex   other  1       2026-01-21T12:34:56Z  /elsewhere
    ");
    let listed = world.sp(&["installed", "--agent", "claude", "--format", "json"]).ok();
    let item = &serde_json::from_str::<Value>(&listed.stdout).unwrap()["installs"][0];
    assert_eq!(item["folders"], json!(["team__a", "team__old"]));
    assert_eq!(
        item["imports"],
        json!([{"repo": "github.com/acme/shared-skills", "ref": "v1.3.0", "commit": "9f2c1d3"}])
    );
    assert_eq!(world.files("home/.skillpack"), before);
}

#[test]
fn sp_29_a_state_as_in_the_sketch_is_honoured_by_install_and_rewritten_without_loss() {
    let world = installed_by_another_tool();
    let run = install(&world).ok();
    assert!(run.stdout.starts_with("~ team__a\n- team__old\n\nkept "), "{run}");
    for folder in ["team__a", "team__old"] {
        assert!(
            run.stdout.contains(&format!("`{folder}` in ~/.skillpack/trash/[RUN]/0/{folder}\n")),
            "{run}"
        );
    }
    assert_eq!(folders(&world), ["by-hand", "team__a"]);
    let record = &state(&world)["installs"][0];
    assert_eq!((&record["note"], &record["pack"]), (&json!("kept"), &json!("team")));
    assert_eq!(record["imports"], json!([]));
    assert_foreign_members(&world);
}

#[test]
fn sp_29_a_state_as_in_the_sketch_is_honoured_by_uninstall_and_rewritten_without_loss() {
    let world = installed_by_another_tool();
    uninstall(&world).ok();
    assert_eq!(folders(&world), ["by-hand"]);
    assert_eq!(state(&world)["installs"].as_array().unwrap().len(), 1);
    assert_foreign_members(&world);
}

#[test]
fn sp_29_unknown_members_of_another_packs_skills_survive_too() {
    let world = installed_by_another_tool();
    uninstall(&world).ok();
    let state = state(&world);
    assert_eq!(state["installs"][0]["skills"][0]["stars"], 5, "{state}");
}

#[test]
fn sp_29_what_another_tool_installed_cannot_be_known_and_is_kept() {
    let world = installed_by_another_tool();
    uninstall(&world).ok();
    let kept: Vec<Entry> = world
        .files("home/.skillpack/trash")
        .into_values()
        .filter(|entry| *entry != Entry::Dir)
        .collect();
    assert_eq!(kept, vec![Entry::File("by another tool\n".into(), false); 2]);
}

#[test]
fn sp_29_a_record_has_the_fields_of_the_sketch() {
    let world = team(&["a"]);
    let repo = world.git("shared");
    let commit = repo.skill("tools/r").commit("one");
    world.pack(
        "team",
        &format!("name: team\ninclude: [a]\nimports:\n  - repo: {}\n    ref: main\n    include: ['**']\n", repo.url()),
    );
    install(&world).ok();
    let state = state(&world);
    let record = &state["installs"][0];
    let sink = world.path(SINK).display().to_string();
    assert_eq!(state["version"], 1);
    for (member, expected) in [
        ("sink", json!("claude")),
        ("sink_path", json!(sink)),
        ("pack", json!("team")),
        ("pack_file", json!(world.repo().join("packs/team.yaml"))),
        ("prefix", json!("team")),
        ("sep", json!("__")),
        ("imports", json!([{"repo": repo.url(), "ref": "main", "commit": commit}])),
        ("installed_paths", json!([format!("{sink}/team__a"), format!("{sink}/team__tools__r")])),
        ("installed_at", json!("2026-09-21T14:13:20Z")),
    ] {
        assert_eq!(record[member], expected, "{member}");
    }
}

#[test]
fn sp_29_a_state_that_does_not_parse_is_never_overwritten() {
    for (text, why) in [
        ("", "cannot be read as state"),
        ("{ \"version\": 1, \"installs\": [", "cannot be read as state"),
        ("[]", "cannot be read as state"),
        ("\u{0}\u{0}\u{0}", "cannot be read as state"),
        ("{\"version\": 1, \"installs\": [{\"pack\": \"team\"}]}", "cannot be read as state"),
        ("{\"version\": 2, \"installs\": []}", "version 2"),
    ] {
        let world = team(&["a"]);
        put(&world, STATE, text);
        let commands: [&[&str]; 5] = [
            &["install", "team", "--agent", "claude"],
            &["install", "team", "--agent", "claude", "--dry-run"],
            &["switch", "team", "--agent", "claude"],
            &["uninstall", "team", "--agent", "claude"],
            &["installed"],
        ];
        for command in commands {
            let run = world.sp(command).fails(3);
            assert!(run.stdout.is_empty() && run.stderr.contains(why), "{text:?}: {run}");
            assert!(
                run.stderr.contains("`~/.skillpack/state.json`")
                    && run.stderr.contains("mv ~/.skillpack/state.json"),
                "{run}"
            );
            assert_eq!(std::fs::read_to_string(world.path(STATE)).unwrap(), text);
            assert!(!world.path(SINK).exists());
        }
    }
}

#[test]
fn sp_29_the_error_of_a_broken_state_says_where_and_how_to_repair_it() {
    let world = team(&["a"]);
    put(&world, STATE, "{\n  \"version\": 1,\n  \"installs\": [\n");
    insta::assert_snapshot!(install(&world), @"
    exit: 3
    --- stderr
    error: the state file `~/.skillpack/state.json` cannot be used
      because: it cannot be read as state
      because: EOF while parsing a list at line 4 column 0

    hint: nothing was changed. Mend the file, or move it away (`mv ~/.skillpack/state.json ~/.skillpack/state.json.broken`): `sp` then starts afresh, and folders that it installed before must be removed by hand before they can be installed again
    ");
    std::fs::rename(world.path(STATE), world.path(&format!("{STATE}.broken"))).unwrap();
    install(&world).ok();
}

#[test]
fn sp_29_a_generation_that_cannot_grow_is_an_error_and_changes_nothing() {
    let world = team(&["a", "b"]);
    install(&world).ok();
    let set = |generation: u64| {
        let mut state = state(&world);
        state["generation"] = generation.into();
        std::fs::write(world.path(STATE), state.to_string()).unwrap();
    };
    set(u64::MAX - 1);
    world.write("skills/a/SKILL.md", "---\nname: a\ndescription: Changed.\n---\n");
    install(&world).ok();
    assert_eq!(state(&world)["generation"], u64::MAX);

    world.write("skills/a/SKILL.md", "---\nname: a\ndescription: Changed again.\n---\n");
    let before = (std::fs::read(world.path(STATE)).unwrap(), world.files(SINK));
    for run in [install(&world), uninstall(&world)] {
        assert_eq!(run.code, Some(3), "{run}");
        assert!(
            run.stderr.contains("state.json") && run.stderr.contains("Set `generation` to 1"),
            "{run}"
        );
    }
    assert_eq!((std::fs::read(world.path(STATE)).unwrap(), world.files(SINK)), before);
    world.sp(&["installed"]).ok();

    set(1);
    install(&world).ok();
    assert_eq!(state(&world)["generation"], 2);
}

#[test]
fn sp_29_a_second_sp_waits_and_says_so() {
    let world = team(&["a"]);
    put(&world, "home/.skillpack/lock", "");
    let lock = std::fs::File::open(world.path("home/.skillpack/lock")).unwrap();
    lock.lock().unwrap();
    let mut command = world.command(&["install", "team", "--agent", "claude"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "waiting: another `sp` is at work\n");
    assert!(!world.path(SINK).exists(), "it waits");
    lock.unlock().unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(folders(&world), ["team__a"]);
}

#[test]
fn sp_29_no_temporary_file_and_no_journal_is_left_behind() {
    let world = team(&["a"]);
    install(&world).ok();
    let left: Vec<String> = world
        .files("home/.skillpack")
        .into_keys()
        .filter(|path| path.contains("tmp") || path.contains("journal"))
        .collect();
    assert_eq!(left, [""; 0]);
    assert!(
        world.files(SINK).keys().all(|path| !path.contains(".skillpack")),
        "{:?}",
        folders(&world)
    );
}

#[test]
fn sp_30_uninstall_deletes_exactly_what_is_recorded() {
    let world = team(&["a", "b"]);
    world.pack("other", "name: other\ninclude: [a]\n");
    world.sp(&["install", "team", "other", "--agent", "claude"]).ok();
    put(&world, &format!("{SINK}/team__mine/SKILL.md"), "mine");
    insta::assert_snapshot!(uninstall(&world), @"
    exit: 0
    --- stdout
    - team__a
    - team__b

    uninstalled team · claude · ~/.claude/skills · 2 removed
    ");
    assert_eq!(folders(&world), ["other__a", "team__mine"]);
    let state = state(&world);
    let packs: Vec<&Value> =
        state["installs"].as_array().unwrap().iter().map(|record| &record["pack"]).collect();
    assert_eq!(packs, ["other"]);
}

#[test]
fn sp_30_a_path_that_is_already_gone_is_fine() {
    let world = team(&["a", "b"]);
    install(&world).ok();
    std::fs::remove_dir_all(world.path(SINK).join("team__a")).unwrap();
    assert!(uninstall(&world).ok().stdout.contains("1 removed"));
    install(&world).ok();
    std::fs::remove_dir_all(world.path("home/.claude")).unwrap();
    uninstall(&world).ok();
    assert_eq!(state(&world)["installs"], json!([]));
}

#[test]
fn sp_30_an_unknown_pack_or_sink_is_an_error_that_lists_what_is_there() {
    let world = team(&["a"]);
    world.pack("other", "name: other\ninclude: [a]\n");
    world.sp(&["install", "team", "other", "--agent", "claude"]).ok();
    insta::assert_snapshot!(world.sp(&["uninstall", "teem", "--agent", "claude"]), @"
    exit: 1
    --- stderr
    error: `teem` is not installed in `~/.claude/skills`

    hint: installed there: team, other
    ");
    insta::assert_snapshot!(world.sp(&["uninstall", "team", "--agent", "codex"]), @"
    exit: 1
    --- stderr
    error: `team` is not installed in `~/.codex/skills`

    hint: nothing is installed there; `sp installed` lists all sinks
    ");
    let before = world.files("home");
    world.sp(&["uninstall", "team", "teem", "--agent", "claude"]).fails(1);
    assert_eq!(world.files("home"), before, "one unknown name stops all");
}

#[test]
fn sp_30_uninstall_takes_a_path_too() {
    let world = team(&["a"]);
    world.sp(&["install", "team", "--agent", "custom", "--path", "~/mine"]).ok();
    world.sp(&["uninstall", "team", "--agent", "custom"]).fails(2);
    world.sp(&["uninstall", "team", "--agent", "custom", "--path", "~/mine"]).ok();
    assert!(world.files("home/mine").is_empty());
}

/// What stands in the state instead of the path of `team__a`.
fn record_path(world: &World, path: &str) {
    let text = std::fs::read_to_string(world.path(STATE)).unwrap();
    let ours = world.path(SINK).join("team__a").display().to_string();
    std::fs::write(world.path(STATE), text.replace(&format!("\"{ours}\""), &format!("\"{path}\"")))
        .unwrap();
}

#[test]
fn sp_23_sp_26_sp_30_a_recorded_path_outside_the_sink_is_never_touched() {
    let outside: [fn(&World) -> String; 7] = [
        |world| world.path("precious").display().to_string(),
        |world| world.path(SINK).join("../../../precious").display().to_string(),
        |world| world.path(SINK).display().to_string(),
        |world| world.path(SINK).join("..").display().to_string(),
        |world| world.path(SINK).join("way/precious").display().to_string(),
        |world| world.path(SINK).join("self/by-hand").display().to_string(),
        |_| "relative".into(),
    ];
    for path in outside {
        let world = team(&["a"]);
        put(&world, "precious/file", "precious");
        install(&world).ok();
        put(&world, &format!("{SINK}/by-hand/file"), "by hand");
        symlink(world.path(""), world.path(SINK).join("way")).unwrap();
        symlink(".", world.path(SINK).join("self")).unwrap();
        let path = path(&world);
        record_path(&world, &path);
        let before = (world.files(SINK), world.files("precious"), state(&world));
        for run in [uninstall(&world), install(&world)] {
            let run = run.fails(4);
            assert!(
                run.stderr.contains(&world.steady(&path)) && run.stderr.contains("state.json"),
                "{path}: {run}"
            );
            assert_eq!(
                (world.files(SINK), world.files("precious"), state(&world)),
                before,
                "{path}"
            );
        }
    }
}

#[test]
fn sp_26_the_sink_itself_may_be_a_link() {
    let world = team(&["a"]);
    std::fs::create_dir_all(world.path("dotfiles/skills")).unwrap();
    std::fs::create_dir_all(world.path("home/.claude")).unwrap();
    symlink(world.path("dotfiles/skills"), world.path(SINK)).unwrap();
    install(&world).ok();
    assert!(world.path("dotfiles/skills/team__a/SKILL.md").is_file());
    uninstall(&world).ok();
    assert!(world.files("dotfiles/skills").is_empty() && world.path(SINK).is_symlink());
}

#[test]
fn sp_38_uninstall_works_outside_the_repo_and_without_the_pack_file() {
    let world = team(&["a"]);
    install(&world).ok();
    std::fs::remove_dir_all(world.repo()).unwrap();
    let run = world.sp_in("home", &["uninstall", "team", "--agent", "claude"]).ok();
    assert!(run.stdout.contains("uninstalled team"), "{run}");
    assert!(world.files(SINK).is_empty());
}

#[test]
fn sp_38_a_recorded_path_that_became_a_file_or_a_link_is_unlinked_and_never_followed() {
    for command in ["install", "uninstall"] {
        let world = team(&["a", "b", "c"]);
        put(&world, "precious/file", "precious");
        install(&world).ok();
        let place = |folder: &str| world.path(SINK).join(folder);
        for folder in ["team__a", "team__b", "team__c"] {
            std::fs::remove_dir_all(place(folder)).unwrap();
        }
        symlink(world.path("precious"), place("team__a")).unwrap();
        symlink(world.path("nowhere"), place("team__b")).unwrap();
        std::fs::write(place("team__c"), "a file").unwrap();
        world.sp(&[command, "team", "--agent", "claude"]).ok();
        assert_eq!(world.files("precious")["file"], Entry::File("precious".into(), false));
        assert!(!world.path("nowhere").exists());
        let files = world.files(SINK);
        let expected = if command == "install" { 6 } else { 0 };
        assert_eq!(
            (files.len(), files.values().any(|entry| matches!(entry, Entry::Link(_)))),
            (expected, false),
            "{files:?}"
        );
    }
}

#[test]
fn sp_38_a_link_inside_an_installed_folder_is_not_followed_when_it_goes() {
    let world = team(&["a"]);
    put(&world, "precious/file", "precious");
    install(&world).ok();
    symlink(world.path("precious"), world.path(SINK).join("team__a/link")).unwrap();
    uninstall(&world).ok();
    world.sp(&["clean"]).ok();
    assert_eq!(world.files("precious")["file"], Entry::File("precious".into(), false));
}
