//! What `sp` prints, to whom, in which form, and how it exits.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test arranges its world with the plain calls"
)]

use std::fs::File;
use std::process::Stdio;

use serde_json::Value;
use sp_testkit::{Run, World, world};

/// A world with local and imported skills, a pack for each, and all of it installed.
fn installed() -> World {
    let world = world!();
    world.skill("general/a");
    let repo = world.git("shared");
    repo.skill("tools/r").commit("one");
    world.pack(
        "team",
        &format!(
            "name: team\ninclude: ['**']\nimports:\n  - repo: {}\n    ref: main\n    include: ['**']\n",
            repo.url()
        ),
    );
    world.pack("local", "name: local\ninclude: ['**']\n");
    world.sp(&["install", "team", "--agent", "claude"]).ok();
    world
}

/// Every command that prints a result, and the section of docs/json.md that describes it.
const COMMANDS: [(&[&str], &str); 13] = [
    (&["list"], "list"),
    (&["skills"], "list"),
    (&["packs"], "packs"),
    (&["show", "team"], "show"),
    (&["installed"], "installed"),
    (&["config"], "config"),
    (&["install", "local", "--agent", "claude"], "install"),
    (&["switch", "team", "--agent", "claude"], "install"),
    (&["uninstall", "team", "--agent", "claude"], "install"),
    (&["init", "new"], "init"),
    (&["clean"], "clean"),
    (&["mcp", "install", "--agent", "cursor", "--agent", "codex"], "mcp install"),
    (&["mcp", "uninstall", "--agent", "cursor"], "mcp install"),
];

/// The documented schema of a command's JSON.
fn schema(section: &str) -> Value {
    let docs = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md"))
        .unwrap();
    let title = if section == "error" { "## `error`".into() } else { format!("## `sp {section}`") };
    let part = docs.split_once(&title).unwrap_or_else(|| panic!("{title} in docs/json.md")).1;
    let block = part.split_once("```json\n").unwrap().1.split_once("```").unwrap().0;
    serde_json::from_str(block).unwrap()
}

/// Holds a value against the part of JSON Schema that the documentation uses.
fn assert_fits(value: &Value, schema: &Value, root: &Value, at: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        return assert_fits(value, &root["$defs"][name.trim_start_matches("#/$defs/")], root, at);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        return assert!(
            choices.iter().any(|choice| choice["const"] == *value),
            "{at}: {value} is one of {choices:?}"
        );
    }
    match value {
        Value::Object(members) => {
            assert_eq!(schema["type"], "object", "{at}");
            for name in schema["required"].as_array().into_iter().flatten() {
                assert!(members.contains_key(name.as_str().unwrap()), "{at} has {name}");
            }
            for (name, member) in members {
                assert!(!schema["properties"][name].is_null(), "{at}.{name} is documented");
                assert_fits(member, &schema["properties"][name], root, &format!("{at}.{name}"));
            }
        }
        Value::Array(items) => {
            assert_eq!(schema["type"], "array", "{at}");
            items
                .iter()
                .for_each(|item| assert_fits(item, &schema["items"], root, &format!("{at}[]")));
        }
        Value::String(_) => assert!(schema["type"].to_string().contains("string"), "{at}"),
        Value::Number(_) => assert!(schema["type"].to_string().contains("integer"), "{at}"),
        Value::Bool(_) => assert_eq!(schema["type"], "boolean", "{at}"),
        Value::Null => panic!("{at} is null: what is not there is left out"),
    }
}

#[test]
fn sp_31_every_command_prints_json_as_documented() {
    for (args, section) in COMMANDS {
        let run = installed().sp(&[args, &["--format", "json"]].concat()).ok();
        let value: Value =
            serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}: {run}"));
        let schema = schema(section);
        assert_fits(&value, &schema, &schema, section);
        assert_eq!(run.stderr, "", "{args:?}");
    }
}

#[test]
fn sp_31_every_command_has_a_plain_form_with_one_item_a_line() {
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
fn sp_31_the_human_form_of_the_commands_that_look() {
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
    SINK    PACK  SKILLS  INSTALLED             WHERE
    claude  team  2       2026-09-21T14:13:20Z  ~/.claude/skills
    ");
    insta::assert_snapshot!(world.sp(&["installed", "--verbose"]), @"
    exit: 0
    --- stdout
    SINK    PACK  SKILLS  INSTALLED             WHERE
    claude  team  2       2026-09-21T14:13:20Z  ~/.claude/skills

    team in ~/.claude/skills  from ~/repo/packs/team.yaml
      file://[WORLD]/git/shared @ main = [COMMIT]
      team__general__a
      team__tools__r
    ");
    assert!(
        world
            .sp(&["installed", "--agent", "codex"])
            .ok()
            .stdout
            .starts_with("nothing is installed")
    );
}

#[test]
fn sp_31_sp_42_list_and_packs_print_one_item_a_line_in_both_text_formats() {
    let world = installed();
    for command in ["list", "skills", "packs"] {
        let human = world.sp(&[command]).ok();
        assert_eq!(human, world.sp(&[command, "--format", "plain"]), "{command}");
        assert_eq!(human, world.sp(&[command, "--format", "human"]), "{command}");
    }
    assert_eq!(world.sp(&["skills"]), world.sp(&["list"]));
}

/// One request for each exit code.
fn failures(world: &World) -> [(i32, Vec<&'static str>); 8] {
    world.pack("bad", "name: bad\ninclude: [zzz]\n");
    world.pack("gone", "name: gone\nimports:\n  - repo: ./no-such-repo\n    include: ['**']\n");
    world.pack("taken", "name: taken\ninclude: ['**']\ninstall: {prefix: team}\n");
    [
        (1, vec!["show", "nothing"]),
        (1, vec!["uninstall", "nothing", "--agent", "claude"]),
        (2, vec!["install", "team", "--agent", "no-such-agent"]),
        (3, vec!["show", "bad"]),
        (3, vec!["install", "bad", "--agent", "claude"]),
        (4, vec!["install", "taken", "--agent", "claude"]),
        (5, vec!["show", "gone"]),
        (5, vec!["install", "gone", "--agent", "claude"]),
    ]
}

#[test]
fn sp_31_se_12_each_kind_of_failure_has_its_exit_code_and_says_nothing_on_stdout() {
    let world = installed();
    let schema = schema("error");
    for (code, args) in failures(&world) {
        let run = world.sp(&args).fails(code);
        assert!(run.stdout.is_empty() && run.stderr.contains("error"), "{run}");
        assert!(
            run.stderr.contains("hint: ") || run.stderr.contains("help: "),
            "it names the way out: {run}"
        );
        let run = world.sp(&[&args[..], &["--format", "json"]].concat()).fails(code);
        let last = run.stderr.lines().last().unwrap_or_default();
        let value: Value = serde_json::from_str(last).unwrap_or_else(|e| panic!("{e}: {run}"));
        assert_fits(&value, &schema, &schema, "error");
        assert_eq!(
            (value["error"]["exit_code"].as_i64(), run.stdout.as_str()),
            (Some(code.into()), ""),
            "{run}"
        );
    }
}

#[test]
fn sp_31_wrong_usage_is_exit_code_2() {
    let world = installed();
    for args in [
        &[][..],
        &["no-such-command"],
        &["install"],
        &["install", "team"],
        &["show"],
        &["uninstall", "team"],
        &["list", "--format", "xml"],
        &["list", "--no-such-flag"],
        &["install", "team", "--agent", "custom"],
        &["list", "--limit", "depth"],
        &["completions", "no-shell"],
    ] {
        let run = world.sp(args).fails(2);
        assert!(run.stdout.is_empty() && !run.stderr.is_empty(), "{args:?}: {run}");
    }
}

#[test]
fn sp_31_warnings_hints_and_notes_go_to_stderr() {
    let world = installed();
    world.skill("suite");
    world.skill("suite/one");
    world.write("skills/odd/SKILL.md", "no frontmatter\n");
    world.pack("local", "name: local\ninclude: ['**']\nexclude: [zzz]\n");
    for format in ["human", "plain", "json"] {
        let run = world
            .sp(&[
                "install",
                "local",
                "--agent",
                "cursor",
                "--dry-run",
                "--verbose",
                "--format",
                format,
            ])
            .ok();
        assert!(run.stderr.contains("warning[SP-17]") && run.stderr.contains("note: "), "{run}");
        assert!(!run.stdout.contains("warning") && !run.stdout.contains("note: "), "{run}");
    }
    let run = world.sp(&["install", "local", "--agent", "cursor", "--format", "json"]).ok();
    assert!(run.stderr.contains("warning[AS-01]") && run.stderr.contains("hint: "), "{run}");
    serde_json::from_str::<Value>(&run.stdout).expect("stdout is JSON and nothing else");
}

#[test]
fn sp_31_se_12_output_that_cannot_be_written_is_a_failure_and_a_closed_pipe_is_none() {
    let world = installed();
    for args in [
        &["list"][..],
        &["config"],
        &["show", "team", "--format", "json"],
        &["completions", "bash"],
        &["man"],
    ] {
        let mut command = world.command(args);
        command
            .stdout(File::options().write(true).open("/dev/full").unwrap())
            .stderr(Stdio::piped());
        let output = command.spawn().unwrap().wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            (output.status.code(), said.contains("standard output")),
            (Some(5), true),
            "{args:?}: {said}"
        );
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = world.command(args);
        let output = command
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        assert_eq!(
            (output.status.code(), output.stderr.as_slice()),
            (Some(0), &b""[..]),
            "{args:?}"
        );
    }
}

/// Runs with these variables.
fn run_with(world: &World, args: &[&str], env: &[(&str, &str)]) -> Run {
    let mut command = world.command(args);
    command.envs(env.iter().copied());
    world.run(command)
}

#[test]
fn sp_31_there_is_no_escape_where_there_is_no_terminal_or_no_wish_for_colour() {
    let world = installed();
    let forced = [("CLICOLOR_FORCE", "1")];
    let coloured = [
        &["show", "team"][..],
        &["show", "bad"],
        &["show", "nothing"],
        &["uninstall", "team", "--agent", "claude", "--dry-run"],
    ];
    failures(&world);
    for args in coloured {
        assert!(
            run_with(&world, args, &forced).to_string().contains('\u{1b}'),
            "{args:?} has colour to lose"
        );
        for env in
            [&[][..], &[("NO_COLOR", "1")], &[("NO_COLOR", "1"), forced[0]], &[("TERM", "dumb")]]
        {
            let run = run_with(&world, args, env);
            assert!(!run.to_string().contains('\u{1b}'), "{args:?} {env:?}: {run:?}");
        }
    }
    for (args, _) in COMMANDS {
        let run = world.sp(args);
        assert!(!run.to_string().contains('\u{1b}'), "{args:?}: {run:?}");
        for format in ["plain", "json"] {
            let run =
                run_with(&world, &[args, &["--dry-run", "--format", format]].concat(), &forced);
            assert!(!run.stdout.contains('\u{1b}'), "{args:?} {format}: {run:?}");
        }
    }
}

/// Control characters, bidi marks and invisible text that must never reach a terminal.
fn is_hostile(c: char) -> bool {
    c != '\n' && c != '\t' && c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}

#[test]
fn se_08_hostile_names_of_skills_and_packs_are_shown_escaped() {
    let world = world!();
    world.skill("ev\u{202e}il/\u{2066}x");
    world.pack("p", "name: \"te\\u202eam\"\ninclude: ['**']\n");
    let mut leaks = Vec::new();
    for args in [
        &["list"][..],
        &["packs"],
        &["show", "p"],
        &["install", "p", "--agent", "claude", "--dry-run"],
        &["install", "p", "--agent", "claude"],
        &["install", "p", "--agent", "claude", "--verbose"],
        &["installed"],
        &["installed", "--verbose"],
        &["uninstall", "nothing", "--agent", "claude"],
        &["uninstall", "te\u{202e}am", "--agent", "claude", "--dry-run"],
    ] {
        for format in ["plain", "human"] {
            let run = world.sp(&[args, &["--format", format]].concat());
            if run.to_string().contains(is_hostile) {
                leaks.push(format!("{args:?} {format}: {run:?}"));
            }
        }
    }
    assert!(leaks.is_empty(), "{leaks:#?}");
}

#[test]
fn se_08_an_escape_in_a_folder_name_is_an_error_that_shows_it_escaped() {
    let world = world!();
    world.skill("a");
    world.skill("x\u{1b}[2Jy");
    let run = world.sp(&["list"]).fails(3);
    assert!(
        run.stderr.contains("x\\u{1b}[2Jy") && !run.to_string().contains(is_hostile),
        "{run:?}"
    );
}

#[test]
fn se_08_hostile_text_of_a_skill_is_shown_escaped() {
    let leaks = |hostile: &&str| {
        let world = world!();
        world.pack("p", "name: p\ninclude: ['**']\n");
        world.write(
            "skills/a/SKILL.md",
            format!("---\nname: a\ndescription: Use: {hostile}x\n---\n"),
        );
        world.write("skills/b/SKILL.md", format!("{hostile}text\n"));
        let run = world.sp(&["install", "p", "--agent", "claude"]).ok();
        assert_eq!(run.stderr.matches("warning[").count(), 2, "{run}");
        run.to_string().contains(is_hostile)
    };
    let hostile = [
        "\u{1b}[31m",
        "\u{9b}31m",
        "\u{85}",
        "\u{202e}",
        "\u{2066}",
        "\u{200e}",
        "\u{7}",
        "\u{8}",
        "\u{7f}",
        "\u{e0041}",
    ];
    assert_eq!(hostile.into_iter().filter(leaks).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn se_08_hostile_text_in_the_state_of_another_tool_is_shown_escaped() {
    let world = world!();
    let record = r#"{"version": 1, "installs": [{"sink": "cl\u001b[1m", "sink_path": "/x\u001b[2J", "pack": "p\u202e\u0007",
        "pack_file": "/f\u001b[3m", "imports": [{"repo": "r\u001b[4m", "ref": "\u202e", "commit": "c\u001b[5m"}],
        "installed_paths": ["/x\u001b[2J/f\u001b[6m"], "installed_at": "now\u001b[7m"}]}"#;
    std::fs::create_dir_all(world.path("home/.skillpack")).unwrap();
    std::fs::write(world.path("home/.skillpack/state.json"), record).unwrap();
    for args in [
        &["installed"][..],
        &["installed", "--verbose"],
        &["installed", "--format", "plain"],
        &["installed", "--format", "json"],
    ] {
        let run = world.sp(args).ok();
        let hostile = |c: char| is_hostile(c) && (c.is_control() || !args.contains(&"json"));
        assert!(
            run.stdout.contains("cl") && !run.to_string().contains(hostile),
            "{args:?}: {run:?}"
        );
    }
}

#[test]
fn se_04_a_limit_is_raised_and_lowered_by_flag_and_by_config() {
    let world = world!();
    world.skill("a");
    world.write("skills/a/one", "1");
    world.write("skills/a/two", "2");
    world.pack("p", "name: p\ninclude: [a]\n");
    let install =
        |limits: &[&str]| world.sp(&[&["install", "p", "--agent", "claude"], limits].concat());
    insta::assert_snapshot!(install(&["--limit", "skill-entries=2"]), @"
    exit: 3
    --- stderr
    error: `[WORLD]/home/repo/skills/a` cannot be installed: it has more than 2 files and folders

    hint: raise it with `--limit skill-entries=<number>` if you trust the source
    ");
    install(&["--limit", "file-bytes=10"]).fails(3);
    install(&["--limit", "skill-bytes=10"]).fails(3);
    install(&["--limit", "repo-entries=1"]).fails(3);
    assert!(!world.path("home/.claude").exists());
    std::fs::create_dir_all(world.path("home/.skillpack")).unwrap();
    std::fs::write(world.path("home/.skillpack/config.yaml"), "limits: {skill-entries: 2}\n")
        .unwrap();
    install(&[]).fails(3);
    install(&["--limit", "skill-entries=3"]).ok();
}

#[test]
fn se_04_a_flag_beats_the_config_even_with_the_default_value() {
    let world = world!();
    std::fs::create_dir_all(world.path("home/.skillpack")).unwrap();
    std::fs::write(world.path("home/.skillpack/config.yaml"), "limits: {depth: 2}\n").unwrap();
    let depth = |args: &[&str]| {
        let run = world.sp(&[&["config", "--format", "json"], args].concat()).ok();
        let limits = serde_json::from_str::<Value>(&run.stdout).unwrap()["limits"]
            .as_array()
            .unwrap()
            .clone();
        limits.into_iter().find(|limit| limit["name"] == "depth").unwrap()["value"].as_u64()
    };
    assert_eq!(
        [depth(&[]), depth(&["--limit", "depth=9"]), depth(&["--limit", "depth=64"])],
        [Some(2), Some(9), Some(64)]
    );
}

#[test]
fn se_04_a_limit_that_does_not_exist_is_wrong_usage() {
    insta::assert_snapshot!(world!().sp(&["list", "--limit", "dept=3"]), @"
    exit: 2
    --- stderr
    error: invalid value 'dept=3' for '--limit <NAME=NUMBER>': the limits are: skill-entries, depth, skill-bytes, file-bytes, repo-entries, frontmatter-bytes, yaml-bytes, yaml-nodes, yaml-aliases, markdown-bytes, git-pack-bytes, zip-entries, zip-bytes, zip-ratio, download-seconds, stall-seconds, git-memory-bytes, json-depth, json-keys, json-values, package-bytes, package-files, package-file-bytes, package-files-bytes, envelope-bytes, envelope-seconds

    For more information, try '--help'.
    ");
}

#[test]
fn init_makes_a_repository_that_installs_at_once_and_overwrites_nothing() {
    let world = world!();
    std::fs::create_dir_all(world.path("home/My Team")).unwrap();
    insta::assert_snapshot!(world.sp_in("home/My Team", &["init"]), @"
    exit: 0
    --- stdout
    + README.md
    + packs/my-team.yaml
    + skills/general/write-commit-message/SKILL.md
    + skills/general/write-commit-message/references/checklist.md

    made a repository in ~/My Team
    next: sp install my-team --agent claude
    ");
    insta::assert_snapshot!(world.sp_in("home/My Team", &["install", "my-team", "--agent", "claude"]), @"
    exit: 0
    --- stdout
    + my-team__general__write-commit-message

    installed my-team · claude · ~/.claude/skills · 1 added
    ");
    let before = world.files("home/My Team");
    insta::assert_snapshot!(world.sp_in("home/My Team", &["init"]), @"
    exit: 1
    --- stderr
    error: `~/My Team/README.md` is already there

    hint: nothing was changed: run it in an empty directory, or name a new one: `sp init <dir>`
    ");
    assert_eq!(world.files("home/My Team"), before);
}

#[test]
fn init_overwrites_none_of_its_files_wherever_only_one_is_there() {
    for taken in ["README.md", "packs/new.yaml", "skills/general/write-commit-message/SKILL.md"] {
        let world = world!();
        world.write(&format!("new/{taken}"), "mine\n");
        let before = world.files("home/repo/new");
        let run = world.sp(&["init", "new"]).fails(1);
        assert!(run.stderr.contains(taken) && run.stderr.contains("nothing was changed"), "{run}");
        assert_eq!(world.files("home/repo/new"), before, "{taken}");
    }
}

#[test]
fn init_works_in_a_directory_of_any_name() {
    let works = |name: &str| {
        let world = world!();
        std::fs::create_dir_all(world.path("home").join(name)).unwrap();
        let run = world.sp_in(&format!("home/{name}"), &["init", "--format", "json"]);
        let pack = serde_json::from_str::<Value>(&run.stdout).ok()?["pack"].as_str()?.to_owned();
        let run = world.sp_in(&format!("home/{name}"), &["install", &pack, "--agent", "claude"]);
        (run.code == Some(0) && run.stderr.is_empty()).then_some(())
    };
    let names = [
        "null",
        "true",
        "123",
        "1e3",
        "~",
        "日本",
        "a.b",
        "-dash",
        "con",
        "with space",
        "UPPER",
        "__",
        "it's",
        "x:y",
    ];
    let failed: Vec<&str> = names.into_iter().filter(|name| works(name).is_none()).collect();
    assert_eq!(failed, [""; 0], "what `sp init` makes installs at once, without a warning");
}

#[test]
fn init_says_a_next_command_that_works_as_it_stands() {
    let world = world!();
    let said = world.sp_in("home", &["init", "my team/skills"]).ok().stdout;
    let next =
        said.lines().find_map(|line| line.strip_prefix("next: ")).expect("a next step").to_owned();
    let mut shell = std::process::Command::new("sh");
    shell
        .arg("-c")
        .arg(next.replace("sp install", "\"$SP\" install"))
        .env_clear()
        .env("SP", env!("CARGO_BIN_EXE_sp"));
    shell.current_dir(world.path("home")).env("HOME", world.home());
    let run = world.run(shell);
    assert_eq!(run.code, Some(0), "{next}: {run}");
}

#[test]
fn completions_are_there_for_every_shell() {
    let world = world!();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = world.sp(&["completions", shell]).ok();
        for word in ["uninstall", "switch", "--repo-root", "dry-run"] {
            let word = if shell == "fish" { word.trim_start_matches('-') } else { word };
            assert!(run.stdout.contains(word), "{shell} knows {word}");
        }
        assert_eq!(run.stderr, "", "{shell}");
    }
}

/// Every command that has a page.
const PAGES: &[&str] = &[
    "audit",
    "bag",
    "bag-check",
    "bag-deps",
    "bag-enter",
    "bag-get",
    "bag-init",
    "bag-list",
    "bag-params",
    "bag-remove",
    "bag-run",
    "bag-source",
    "bag-source-init",
    "bag-sync",
    "check",
    "clean",
    "completions",
    "config",
    "context",
    "context-build",
    "context-check",
    "context-diff",
    "context-install",
    "context-kb",
    "context-kb-add",
    "context-kb-list",
    "context-kb-remove",
    "context-kb-search",
    "context-kb-stats",
    "context-new",
    "context-push",
    "context-revoke",
    "context-seal",
    "context-show",
    "context-uninstall",
    "context-unzip",
    "context-url",
    "context-zip",
    "cost",
    "explain",
    "info",
    "init",
    "install",
    "installed",
    "key",
    "key-export",
    "key-import",
    "key-list",
    "key-new",
    "key-rotate",
    "key-trust",
    "list",
    "login",
    "logout",
    "man",
    "mcp",
    "mcp-install",
    "mcp-uninstall",
    "packs",
    "pkg",
    "pkg-create",
    "pkg-diff",
    "pkg-export",
    "pkg-graph",
    "pkg-import",
    "pkg-inbox",
    "pkg-info",
    "pkg-install",
    "pkg-list",
    "pkg-load",
    "pkg-log",
    "pkg-merge",
    "pkg-prune",
    "pkg-query",
    "pkg-receive",
    "pkg-reinforce",
    "pkg-remove",
    "pkg-rollback",
    "pkg-send",
    "pkg-stale",
    "pkg-touch",
    "pkg-uninstall",
    "pkg-verify",
    "publish",
    "schema",
    "search",
    "serve",
    "serve-backup",
    "serve-restore",
    "show",
    "switch",
    "uninstall",
    "yank",
];

#[test]
fn man_pages_are_printed_or_written_a_page_a_command() {
    let world = world!();
    let page = world.sp(&["man"]).ok().stdout;
    assert!(page.contains(".TH sp 1"), "{page}");
    world.sp(&["man", "share/man"]).ok();
    let pages: Vec<String> = world.files("home/repo/share/man").into_keys().collect();
    let mut expected: Vec<String> =
        PAGES.iter().map(|command| format!("sp-{command}.1")).chain(["sp.1".into()]).collect();
    expected.sort();
    assert_eq!(pages, expected);
    let page = std::fs::read_to_string(world.repo().join("share/man/sp-install.1")).unwrap();
    assert!(page.contains("dry\\-run") && page.contains("SYNOPSIS"), "{page}");
    assert!(
        page.replace("\\fB", "").replace("\\fR", "").contains("sp install "),
        "it is called as it is typed: {page}"
    );
}

#[test]
fn version_and_help_go_to_stdout() {
    let world = world!();
    let version = world.sp(&["--version"]).ok();
    assert_eq!(version.stdout, format!("sp {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(world.sp(&["-V"]), version);
    for args in [&["--help"][..], &["help", "install"], &["install", "--help"]] {
        let run = world.sp(args).ok();
        assert!(run.stdout.contains("Usage: sp") && run.stderr.is_empty(), "{run}");
    }
}

#[test]
fn no_home_at_all_is_an_error_that_says_what_to_set() {
    let world = world!();
    let mut command = world.command(&["list"]);
    command.env_remove("HOME");
    let run = world.run(command);
    assert!(run.code == Some(5) && run.stderr.contains("hint: set HOME"), "{run}");
}
