//! `state.json`: its format, members of other tools, damage; and uninstall, which depends on it.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::process::Stdio;

use serde_json::{Value, json};
use sp_testkit::{FileEntry, World, world};

const SINK: &str = "home/.claude/skills";
const STATE: &str = "home/.skillpack/state.json";

fn write(world: &World, path: &str, text: &str) {
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

/// Returns a state as the format describes it, for the pack `team` with these directories, and with
/// unknown members.
fn foreign_state(world: &World, folders: &[&str]) -> String {
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
      "installed_paths": ["/elsewhere/other__x"], "installed_at": "2026-01-21T12:34:56Z", "color": "blue",
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
        write(&world, &format!("{SINK}/{folder}/SKILL.md"), "by another tool\n");
    }
    write(&world, STATE, &foreign_state(&world, &["team__a", "team__old"]));
    world
}

/// Asserts that the unknown members are kept.
fn assert_unknown_members_kept(world: &World) {
    let text = std::fs::read_to_string(world.path(STATE)).unwrap();
    for member in ["123456789012345678901", "\"float\": 1.0", "\"color\": \"blue\"", "\"mark\""] {
        assert!(text.contains(member), "{member} in {text}");
    }
}

#[test]
fn sp_29_packs_of_another_tool_are_listed() {
    let world = installed_by_another_tool();
    let before = world.files("home/.skillpack");
    assert_eq!(
        world.sp(&["installed", "--format", "plain"]).ok().stdout,
        "claude\tteam\t2\t2026-01-21T12:34:56Z\t[WORLD]/home/.claude/skills\n\
         codex\tother\t1\t2026-01-21T12:34:56Z\t/elsewhere\n"
    );
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
fn sp_29_install_updates_packs_of_another_tool() {
    let world = installed_by_another_tool();
    let run = install(&world).ok();
    assert!(run.stdout.starts_with("~ team__a\n- team__old\n\n"), "{run}");
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
    assert_unknown_members_kept(&world);
}

#[test]
fn sp_29_uninstall_removes_packs_of_another_tool() {
    let world = installed_by_another_tool();
    uninstall(&world).ok();
    assert_eq!(folders(&world), ["by-hand"]);
    assert_eq!(state(&world)["installs"].as_array().unwrap().len(), 1);
    assert_unknown_members_kept(&world);
}

#[test]
fn sp_29_unknown_members_of_skills_are_kept() {
    let world = installed_by_another_tool();
    uninstall(&world).ok();
    let state = state(&world);
    assert_eq!(state["installs"][0]["skills"][0]["stars"], 5, "{state}");
}

#[test]
fn sp_29_skills_of_another_tool_are_kept_in_the_trash() {
    let world = installed_by_another_tool();
    uninstall(&world).ok();
    let kept: Vec<FileEntry> = world
        .files("home/.skillpack/trash")
        .into_values()
        .filter(|entry| *entry != FileEntry::Dir)
        .collect();
    assert_eq!(kept, vec![FileEntry::File("by another tool\n".into(), false); 2]);
}

#[test]
fn sp_29_a_record_has_the_members_of_the_format() {
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
fn sp_29_an_invalid_state_is_never_overwritten() {
    // What the reason must name: a position or the unsupported version.
    for (text, reason) in [
        ("", "line 1"),
        ("{ \"version\": 1, \"installs\": [", "line 1"),
        ("[]", "line 1"),
        ("\u{0}\u{0}\u{0}", "line 1"),
        ("{\"version\": 1, \"installs\": [{\"pack\": \"team\"}]}", "line 1"),
        ("{\"version\": 2, \"installs\": []}", "version 2"),
    ] {
        let world = team(&["a"]);
        write(&world, STATE, text);
        let commands: [&[&str]; 5] = [
            &["install", "team", "--agent", "claude"],
            &["install", "team", "--agent", "claude", "--dry-run"],
            &["switch", "team", "--agent", "claude"],
            &["uninstall", "team", "--agent", "claude"],
            &["installed"],
        ];
        for command in commands {
            let error = world.sp_error(command);
            assert_eq!(error.code, "E-invalid-state", "{text:?}");
            assert!(error.message.contains("`~/.skillpack/state.json`"), "{error:?}");
            assert!(error.because.iter().any(|because| because.contains(reason)), "{error:?}");
            assert!(error.hints_at("mv ~/.skillpack/state.json"), "{error:?}");
            assert_eq!(std::fs::read_to_string(world.path(STATE)).unwrap(), text);
            assert!(!world.path(SINK).exists());
        }
    }
}

#[test]
fn sp_29_the_error_of_an_invalid_state_has_its_position() {
    let world = team(&["a"]);
    write(&world, STATE, "{\n  \"version\": 1,\n  \"installs\": [\n");
    let error = world.sp_error(&["install", "team", "--agent", "claude"]);
    assert_eq!(error.code, "E-invalid-state");
    assert!(error.because.iter().any(|because| because.contains("line 4 column 0")), "{error:?}");
    std::fs::rename(world.path(STATE), world.path(&format!("{STATE}.broken"))).unwrap();
    install(&world).ok();
}

#[test]
fn sp_29_an_exhausted_generation_is_an_error() {
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
    for command in ["install", "uninstall"] {
        let error = world.sp_error(&[command, "team", "--agent", "claude"]);
        assert_eq!(error.code, "E-invalid-state", "{command}: {error:?}");
        assert!(error.message.contains("state.json"), "{error:?}");
        assert!(error.hints_at("`generation`"), "{error:?}");
    }
    assert_eq!((std::fs::read(world.path(STATE)).unwrap(), world.files(SINK)), before);
    world.sp(&["installed"]).ok();

    set(1);
    install(&world).ok();
    assert_eq!(state(&world)["generation"], 2);
}

#[test]
fn sp_29_a_second_process_waits_for_the_lock() {
    let world = team(&["a"]);
    write(&world, "home/.skillpack/lock", "");
    let lock = std::fs::File::open(world.path("home/.skillpack/lock")).unwrap();
    lock.lock().unwrap();
    let mut command = world.command(&["install", "team", "--agent", "claude"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("`sp`"), "{line}");
    assert!(!world.path(SINK).exists(), "it waits");
    lock.unlock().unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(folders(&world), ["team__a"]);
}

#[test]
fn sp_29_temporary_files_and_journals_are_removed() {
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
fn sp_30_uninstall_removes_only_recorded_directories() {
    let world = team(&["a", "b"]);
    world.pack("other", "name: other\ninclude: [a]\n");
    world.sp(&["install", "team", "other", "--agent", "claude"]).ok();
    write(&world, &format!("{SINK}/team__mine/SKILL.md"), "mine");
    uninstall(&world).ok();
    assert_eq!(folders(&world), ["other__a", "team__mine"]);
    let state = state(&world);
    let packs: Vec<&Value> =
        state["installs"].as_array().unwrap().iter().map(|record| &record["pack"]).collect();
    assert_eq!(packs, ["other"]);
}

#[test]
fn sp_30_a_recorded_path_may_be_missing() {
    let world = team(&["a", "b"]);
    install(&world).ok();
    std::fs::remove_dir_all(world.path(SINK).join("team__a")).unwrap();
    uninstall(&world).ok();
    assert!(folders(&world).is_empty());
    install(&world).ok();
    std::fs::remove_dir_all(world.path("home/.claude")).unwrap();
    uninstall(&world).ok();
    assert_eq!(state(&world)["installs"], json!([]));
}

#[test]
fn sp_30_an_unknown_pack_is_an_error_with_the_installed_ones() {
    let world = team(&["a"]);
    world.pack("other", "name: other\ninclude: [a]\n");
    world.sp(&["install", "team", "other", "--agent", "claude"]).ok();
    let error = world.sp_error(&["uninstall", "teem", "--agent", "claude"]);
    assert_eq!(error.code, "E-not-installed");
    assert!(
        error.message.contains("`teem`") && error.message.contains("`~/.claude/skills`"),
        "{error:?}"
    );
    assert!(error.hints_at("team, other"), "{error:?}");
    let error = world.sp_error(&["uninstall", "team", "--agent", "codex"]);
    assert_eq!(error.code, "E-not-installed");
    assert!(error.message.contains("`~/.codex/skills`"), "{error:?}");
    assert!(error.hints_at("`sp installed`"), "{error:?}");
    let before = world.files("home");
    let error = world.sp_error(&["uninstall", "team", "teem", "--agent", "claude"]);
    assert_eq!(error.code, "E-not-installed");
    assert_eq!(world.files("home"), before, "one unknown name stops all");
}

#[test]
fn sp_30_uninstall_accepts_a_path() {
    let world = team(&["a"]);
    world.sp(&["install", "team", "--agent", "custom", "--path", "~/mine"]).ok();
    assert_eq!(
        world.sp_error(&["uninstall", "team", "--agent", "custom"]).code,
        "E-agent-required"
    );
    world.sp(&["uninstall", "team", "--agent", "custom", "--path", "~/mine"]).ok();
    assert!(world.files("home/mine").is_empty());
}

/// Replaces the recorded path of `team__a`.
fn record_path(world: &World, path: &str) {
    let text = std::fs::read_to_string(world.path(STATE)).unwrap();
    let ours = world.path(SINK).join("team__a").display().to_string();
    std::fs::write(world.path(STATE), text.replace(&format!("\"{ours}\""), &format!("\"{path}\"")))
        .unwrap();
}

#[test]
fn sp_23_sp_26_sp_30_recorded_paths_outside_the_sink_are_refused() {
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
        write(&world, "precious/file", "precious");
        install(&world).ok();
        write(&world, &format!("{SINK}/by-hand/file"), "by hand");
        symlink(world.path(""), world.path(SINK).join("way")).unwrap();
        symlink(".", world.path(SINK).join("self")).unwrap();
        let path = path(&world);
        record_path(&world, &path);
        let before = (world.files(SINK), world.files("precious"), state(&world));
        for command in ["uninstall", "install"] {
            let error = world.sp_error(&[command, "team", "--agent", "claude"]);
            assert_eq!(error.code, "E-state-mismatch", "{path}: {error:?}");
            let text =
                format!("{} {} {}", error.message, error.because.concat(), error.hints.concat());
            assert!(text.contains(&world.normalize(&path)), "{path}: {error:?}");
            assert!(text.contains("state.json"), "{path}: {error:?}");
            assert_eq!(
                (world.files(SINK), world.files("precious"), state(&world)),
                before,
                "{path}"
            );
        }
    }
}

#[test]
fn sp_26_the_sink_can_be_a_link() {
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
fn sp_38_uninstall_does_not_require_the_repository() {
    let world = team(&["a"]);
    install(&world).ok();
    std::fs::remove_dir_all(world.repo()).unwrap();
    world.sp_in("home", &["uninstall", "team", "--agent", "claude"]).ok();
    assert!(world.files(SINK).is_empty());
}

#[test]
fn sp_38_files_and_links_instead_of_recorded_directories_are_removed() {
    for command in ["install", "uninstall"] {
        let world = team(&["a", "b", "c"]);
        write(&world, "precious/file", "precious");
        install(&world).ok();
        let path = |folder: &str| world.path(SINK).join(folder);
        for folder in ["team__a", "team__b", "team__c"] {
            std::fs::remove_dir_all(path(folder)).unwrap();
        }
        symlink(world.path("precious"), path("team__a")).unwrap();
        symlink(world.path("nowhere"), path("team__b")).unwrap();
        std::fs::write(path("team__c"), "a file").unwrap();
        world.sp(&[command, "team", "--agent", "claude"]).ok();
        assert_eq!(world.files("precious")["file"], FileEntry::File("precious".into(), false));
        assert!(!world.path("nowhere").exists());
        let files = world.files(SINK);
        let expected = if command == "install" { 6 } else { 0 };
        assert_eq!(
            (files.len(), files.values().any(|entry| matches!(entry, FileEntry::Link(_)))),
            (expected, false),
            "{files:?}"
        );
    }
}

#[test]
fn sp_38_links_inside_removed_directories_are_not_followed() {
    let world = team(&["a"]);
    write(&world, "precious/file", "precious");
    install(&world).ok();
    symlink(world.path("precious"), world.path(SINK).join("team__a/link")).unwrap();
    uninstall(&world).ok();
    world.sp(&["clean"]).ok();
    assert_eq!(world.files("precious")["file"], FileEntry::File("precious".into(), false));
}
