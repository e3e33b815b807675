//! `sp pkg create --from`: a package from a project and its history. No program or link of the
//! project is run or followed.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use sp_testkit::GitRepository;

use super::*;

const DAY: i64 = 86_400;
const START: i64 = 1_700_000_000;

/// A commit: its message, the day after `START`, and the files that it writes.
type Change<'a> = (&'a str, i64, &'a [(&'a str, &'a str)]);

/// A git repository with these commits, checked out in `project`.
fn repository(world: &World, changes: &[Change<'_>]) -> GitRepository {
    let repo = GitRepository::new(world.path("project"));
    let mut stream = String::new();
    for (message, day, files) in changes {
        let time = START + day * DAY;
        stream += &format!(
            "commit refs/heads/main\ncommitter A <a@example.com> {time} +0000\ndata {}\n{message}\n",
            message.len()
        );
        for (path, text) in *files {
            stream += &format!("M 100644 inline {path}\ndata {}\n{text}\n", text.len());
        }
    }
    repo.git_with_input(&["fast-import", "--quiet"], stream.as_bytes());
    repo.git(&["reset", "--quiet", "--hard", "main"]);
    repo
}

/// Creates the package `shop` from a directory.
fn create(world: &World, dir: &str, more: &[&str]) -> Run {
    let dir = world.path(dir).display().to_string();
    world.sp(&[&["pkg", "create", "--name", "shop", "--from", &dir], more].concat())
}

/// The graph of the package that is created from a directory.
#[track_caller]
fn graph(world: &World, dir: &str, more: &[&str]) -> Value {
    create(world, dir, more).ok();
    let file = world.path("out.ctxpkg").display().to_string();
    world.sp(&["pkg", "export", "shop", "--output", &file, "--force"]).ok();
    let package: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    package["content"]["context_graph"].clone()
}

fn nodes(graph: &Value) -> &[Value] {
    graph["nodes"].as_array().map_or(&[], Vec::as_slice)
}

/// The nodes of a file.
fn of_file<'v>(graph: &'v Value, path: &str) -> Vec<&'v Value> {
    nodes(graph).iter().filter(|node| node["file_path"] == path).collect()
}

/// The files that the nodes refer to.
fn paths(graph: &Value) -> Vec<String> {
    let mut paths: Vec<String> =
        nodes(graph).iter().map(|node| node["file_path"].as_str().unwrap().to_owned()).collect();
    paths.retain(|path| path != ".");
    paths.sort();
    paths.dedup();
    paths
}

/// The time of a commit on this day after `START`.
fn day(number: i64) -> String {
    // `START` is 2023-11-14T22:13:20Z; the commits of these tests stay in that month.
    format!("2023-11-{:02}T22:13:20Z", 14 + number)
}

// History.

#[test]
fn pk_21_node_dates_come_from_the_commits() {
    let world = project();
    repository(
        &world,
        &[
            ("one", 0, &[("src/a.rs", "pub fn a() {}\n"), ("src/b.rs", "pub fn b() {}\n")]),
            ("two", 3, &[("src/b.rs", "pub fn b() -> u8 { 1 }\n")]),
        ],
    );
    write(&world, "project/src/new.rs", "pub fn untracked() {}\n");
    let graph = graph(&world, "project", &["--level", "3"]);
    for (path, days) in [("src/a.rs", 0), ("src/b.rs", 3), ("src/new.rs", 3)] {
        let nodes = of_file(&graph, path);
        assert_eq!(nodes.len(), 2, "{path}: {nodes:?}");
        for node in nodes {
            assert_eq!(node["created_at"], day(days), "{path}: {node}");
            assert!(node["decay_half_life_days"].is_number(), "{path}: {node}");
        }
    }
}

#[test]
fn pk_21_frequently_changed_files_are_more_active() {
    let world = project();
    let mut changes: Vec<Change<'_>> = vec![(
        "all",
        0,
        &[("a.rs", "pub fn a() {}\n"), ("b.rs", "pub fn b() {}\n"), ("c.rs", "pub fn c() {}\n")],
    )];
    changes.extend([
        ("b", 1, &[("b.rs", "pub fn b() { 1 }\n")] as &[_]),
        ("c", 2, &[("c.rs", "pub fn c() { 1 }\n")]),
    ]);
    changes.extend([
        ("c", 3, &[("c.rs", "pub fn c() { 2 }\n")] as &[_]),
        ("c", 4, &[("c.rs", "pub fn c() { 3 }\n")]),
    ]);
    repository(&world, &changes);
    let graph = graph(&world, "project", &["--level", "3"]);
    let activation = |path: &str| of_file(&graph, path)[0]["activation"].as_f64().unwrap();
    assert!(
        activation("a.rs") < activation("b.rs") && activation("b.rs") < activation("c.rs"),
        "{graph}"
    );
}

#[test]
fn pk_21_reverted_commit_becomes_a_gotcha() {
    let world = project();
    let message = "Revert \"Cache the sums\"\n\nThis reverts commit 1234567890123456789012345678901234567890.\n\nThey were wrong after midnight.";
    repository(
        &world,
        &[
            ("one", 0, &[("src/a.rs", "pub fn a() {}\n")]),
            ("Cache the sums", 1, &[("src/a.rs", "pub fn a() { 1 }\n")]),
            (message, 2, &[("src/a.rs", "pub fn a() {}\n")]),
        ],
    );
    let graph = graph(&world, "project", &["--level", "2"]);
    let gotchas: Vec<&Value> =
        nodes(&graph).iter().filter(|node| node["type"] == "gotcha").collect();
    let [only] = gotchas.as_slice() else { panic!("{graph}") };
    let text = only["content"].as_str().unwrap();
    assert!(text.ends_with("Cache the sums. They were wrong after midnight."), "{text}");
    assert_eq!((&only["file_path"], &only["created_at"]), (&json!("src/a.rs"), &json!(day(2))));
}

#[test]
fn pk_21_subdirectory_has_its_own_part_of_the_history() {
    let world = project();
    repository(
        &world,
        &[
            ("one", 0, &[("part/src/a.rs", "pub fn a() {}\n"), ("partly/b.rs", "pub fn b() {}\n")]),
            ("two", 2, &[("partly/b.rs", "pub fn b() { 1 }\n")]),
        ],
    );
    let graph = graph(&world, "project/part", &["--level", "2"]);
    assert_eq!(paths(&graph), ["src/a.rs"]);
    assert_eq!(of_file(&graph, "src/a.rs")[0]["created_at"], day(0));
}

#[test]
fn pk_21_worktrees_and_shallow_clones_have_a_history() {
    let world = project();
    let repo = repository(
        &world,
        &[("one", 0, &[("a.rs", "pub fn a() {}\n")]), ("two", 1, &[("b.rs", "pub fn b() {}\n")])],
    );
    repo.git(&[
        "worktree",
        "add",
        "--quiet",
        "--detach",
        &world.path("tree").display().to_string(),
    ]);
    let tree = graph(&world, "tree", &["--level", "2"]);
    assert_eq!(of_file(&tree, "a.rs")[0]["created_at"], day(0));
    repo.git(&[
        "clone",
        "--quiet",
        "--depth",
        "1",
        &repo.url(),
        &world.path("shallow").display().to_string(),
    ]);
    let shallow = graph(&world, "shallow", &["--level", "2"]);
    assert_eq!(of_file(&shallow, "a.rs")[0]["created_at"], day(1), "only the last commit is known");
}

#[test]
fn pk_21_history_is_optional() {
    let world = project();
    write(&world, "project/a.rs", "pub fn a() {}\n");
    let plain = graph(&world, "project", &["--level", "3"]);
    assert_eq!(paths(&plain), ["a.rs"]);
    GitRepository::new(world.path("project"));
    assert_eq!(paths(&graph(&world, "project", &["--level", "3"])), ["a.rs"], "no commits");
    let mut command = world.command(&[
        "pkg",
        "create",
        "--name",
        "other",
        "--from",
        &world.path("project").display().to_string(),
    ]);
    command.env("PATH", world.path("nowhere"));
    world.run(command).ok();
}

// Files.

#[test]
fn pk_21_files_ignored_by_git_are_not_read() {
    let world = project();
    let repo = GitRepository::new(world.path("project"));
    let rust = "pub fn a() {}\n";
    for path in [
        "a.rs",
        "out/b.rs",
        "deep/c.rs",
        "deep/kept.rs",
        "deep/inner/d.rs",
        "mine/e.rs",
        "part/f.rs",
        "part/g.rs",
    ] {
        repo.write(path, rust);
    }
    repo.write(".gitignore", "out/\n/part/f.rs\n")
        .write("deep/.gitignore", "*.rs\n!kept.rs\n")
        .write(".git/info/exclude", "mine/\n");
    assert_eq!(paths(&graph(&world, "project", &[])), ["a.rs", "deep/kept.rs", "part/g.rs"]);
    assert_eq!(
        paths(&graph(&world, "project/part", &[])),
        ["g.rs"],
        "ignore files of parent directories apply"
    );
}

#[test]
fn pk_21_dependencies_and_build_output_are_neither_read_nor_counted() {
    let world = project();
    write(&world, "project/a.js", "export function a() {}\n");
    for number in 0..60 {
        write(
            &world,
            &format!("project/node_modules/left-pad/{number}.js"),
            "export function b() {}\n",
        );
        write(&world, &format!("project/target/debug/{number}.rs"), "pub fn b() {}\n");
    }
    assert_eq!(paths(&graph(&world, "project", &["--limit", "repo-entries=40"])), ["a.js"]);
}

#[test]
fn pk_21_nested_repositories_are_not_read() {
    let world = project();
    let repo = GitRepository::new(world.path("project"));
    repo.write("a.rs", "pub fn a() {}\n");
    GitRepository::new(world.path("project/nested")).write("b.rs", "pub fn b() {}\n");
    write(&world, "project/module/.git", "gitdir: ../.git/modules/module\n");
    write(&world, "project/module/c.rs", "pub fn c() {}\n");
    assert_eq!(paths(&graph(&world, "project", &[])), ["a.rs"]);
}

#[test]
fn pk_21_links_pipes_and_sockets_are_not_followed() {
    let world = project();
    write(&world, "project/a.rs", "pub fn a() {}\n");
    write(&world, "outside/b.rs", "pub fn b() {}\n");
    let root = world.path("project");
    symlink(world.path("outside/b.rs"), root.join("file.rs")).unwrap();
    symlink(world.path("outside"), root.join("folder")).unwrap();
    symlink(".", root.join("loop")).unwrap();
    symlink("nowhere.rs", root.join("broken.rs")).unwrap();
    let fifo = Command::new("mkfifo").arg(root.join("pipe.rs")).status().unwrap();
    assert!(fifo.success());
    let socket = std::os::unix::net::UnixListener::bind(root.join("socket.rs")).unwrap();
    assert_eq!(paths(&graph(&world, "project", &[])), ["a.rs"]);
    drop(socket);
}

#[test]
fn pk_21_unusual_names_and_unreadable_files_are_tolerated() {
    let world = project();
    let names: &[&[u8]] = &[
        b"with space.rs",
        b"it's so.rs",
        b"\"quoted\".rs",
        b"new\nline.rs",
        b"\xff\xfe.rs",
        b"-rf.rs",
        "größe.rs".as_bytes(),
        b"a.rs",
    ];
    for name in names {
        std::fs::write(
            world.path("project").join(std::ffi::OsStr::from_bytes(name)),
            "pub fn a() {}\n",
        )
        .unwrap();
    }
    write(&world, "project/closed.rs", "pub fn closed() {}\n");
    std::fs::set_permissions(
        world.path("project/closed.rs"),
        std::fs::Permissions::from_mode(0o000),
    )
    .unwrap();
    let paths = paths(&graph(&world, "project", &[]));
    for name in ["a.rs", "with space.rs", "it's so.rs", "-rf.rs", "größe.rs"] {
        assert!(paths.iter().any(|path| path == name), "{name} is not in {paths:?}");
    }
    // The superuser can read every file.
    let is_readable = std::fs::read(world.path("project/closed.rs")).is_ok();
    assert_eq!(paths.contains(&"closed.rs".to_owned()), is_readable, "{paths:?}");
}

// Attacks.

/// Hooks that git may run even for commands that only read.
const HOOKS: [&str; 5] = [
    "pre-auto-gc",
    "post-index-change",
    "post-checkout",
    "reference-transaction",
    "fsmonitor-watchman",
];

#[test]
fn pk_21_no_program_of_a_repository_is_run() {
    let world = project();
    let repo = repository(
        &world,
        &[
            (
                "one",
                0,
                &[
                    ("a.rs", "pub fn a() {}\n"),
                    (".gitattributes", "*.rs diff=evil filter=evil merge=evil\n"),
                ],
            ),
            ("two", 1, &[("a.rs", "pub fn a() { 1 }\n")]),
        ],
    );
    let markers = world.path("ran");
    std::fs::create_dir(&markers).unwrap();
    let evil = world.path("evil.sh");
    std::fs::write(&evil, format!("#!/bin/sh\ntouch \"{}/$$\"\ncat\n", markers.display())).unwrap();
    std::fs::set_permissions(&evil, std::fs::Permissions::from_mode(0o755)).unwrap();
    let evil = evil.display().to_string();
    let hooks = world.path("hooks");
    std::fs::create_dir(&hooks).unwrap();
    for dir in [&hooks, &world.path("project/.git/hooks")] {
        for hook in HOOKS {
            std::fs::create_dir_all(dir).unwrap();
            std::fs::copy(world.path("evil.sh"), dir.join(hook)).unwrap();
        }
    }
    let bang = format!("!{evil}");
    for (key, value) in [
        ("core.fsmonitor", evil.as_str()),
        ("core.hooksPath", &hooks.display().to_string()),
        ("log.showSignature", "true"),
        ("gpg.program", &evil),
        ("gpg.ssh.program", &evil),
        ("diff.external", &evil),
        ("diff.evil.textconv", &evil),
        ("diff.evil.command", &evil),
        ("filter.evil.clean", &evil),
        ("filter.evil.smudge", &evil),
        ("filter.evil.process", &evil),
        ("core.pager", &evil),
        ("pager.log", &evil),
        ("alias.log", &bang),
        ("core.sshCommand", &evil),
        ("core.askPass", &evil),
        ("core.editor", &evil),
        ("credential.helper", &bang),
        ("core.alternateRefsCommand", &evil),
        ("uploadpack.packObjectsHook", &evil),
        ("remote.origin.url", &format!("ext::{evil}")),
        ("remote.origin.promisor", "true"),
        ("extensions.partialClone", "origin"),
        ("trace2.eventTarget", &world.path("ran/trace").display().to_string()),
        ("mailmap.file", &evil),
    ] {
        repo.git(&["config", key, value]);
    }
    let included = world.path("included");
    std::fs::write(
        &included,
        format!("[alias]\n\tlog = {bang}\n[core]\n\tfsmonitor = {evil}\n\tpager = {evil}\n"),
    )
    .unwrap();
    repo.git(&["config", "include.path", &included.display().to_string()]);
    let graph = graph(&world, "project", &["--level", "3"]);
    assert_eq!(
        of_file(&graph, "a.rs")[0]["created_at"],
        day(1),
        "the history is read nevertheless"
    );
    let ran: Vec<_> =
        std::fs::read_dir(&markers).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(ran.is_empty(), "{ran:?}");
}

#[test]
fn pk_21_secrets_are_omitted_and_reported_by_position() {
    let secret = "ghp_k7Qz9XbR2mVt4LwPs8YcJ3nHd6Fg";
    let project_with_secrets = || {
        let world = project();
        write(&world, "project/a.rs", "pub fn a() {}\n");
        for number in 0..11 {
            write(
                &world,
                &format!("project/docs/{number:02}.md"),
                format!("# A\n\nThe key is `{secret}`.\n"),
            );
        }
        world
    };
    let world = project_with_secrets();
    let run = create(&world, "project", &[]).ok();
    assert!(!run.stdout.contains(secret) && !run.stderr.contains(secret), "{run}");
    let reported = |run: &Run| -> Vec<usize> {
        let is_reported = |number: &usize| run.stderr.contains(&format!("`docs/{number:02}.md:1`"));
        (0..11).filter(is_reported).collect()
    };
    assert_eq!(reported(&run), (0..8).collect::<Vec<_>>(), "{run}");
    let summary = run.stderr.lines().last().unwrap_or_default();
    assert!(summary.contains('3') && summary.contains("--verbose"), "{run}");
    let text = graph(&world, "project", &[]).to_string();
    assert!(!text.contains(secret));
    let world = project_with_secrets();
    let run = create(&world, "project", &["--verbose"]).ok();
    assert_eq!(reported(&run), (0..11).collect::<Vec<_>>(), "{run}");
}

// The package.

/// A project with code, documents, decisions and a history.
fn shop(world: &World) -> GitRepository {
    repository(
        world,
        &[
            (
                "one",
                0,
                &[
                    ("README.md", "# Shop\n\n## Usage\n\nRun `make`.\n"),
                    (
                        "docs/adr/0001-a.md",
                        "# 1. Files\n\nSuperseded by ADR-0002\n\n## Decision\n\nFiles.\n",
                    ),
                    (
                        "docs/adr/0002-b.md",
                        "# 2. SQLite\n\nDate: 2023-05-06\n\n## Decision\n\nSQLite.\n",
                    ),
                    (
                        "src/lib.rs",
                        "//! A shop.\n\nmod cart;\n\n/// Opens it.\npub fn open() {\n    cart::fill();\n}\n",
                    ),
                    ("src/cart.rs", "pub fn fill() {}\n// FIXME: it is never emptied\n"),
                    ("Cargo.toml", "[package]\nname = \"shop\"\n"),
                ],
            ),
            ("two", 1, &[("src/cart.rs", "pub fn fill() { 1 }\n// FIXME: it is never emptied\n")]),
        ],
    )
}

#[test]
fn pk_21_packages_of_the_same_project_are_identical() {
    let world = project();
    let repo = shop(&world);
    let export = |name: &str, dir: &str| {
        let dir = world.path(dir).display().to_string();
        world.sp(&["pkg", "create", "--name", name, "--from", &dir, "--level", "3"]).ok();
        let file = world.path(&format!("{name}.ctxpkg")).display().to_string();
        world.sp(&["pkg", "export", name, "--output", &file]).ok();
        std::fs::read_to_string(&file).unwrap()
    };
    let first = export("shop", "project");
    let other = project();
    shop(&other);
    create(&other, "project", &["--level", "3"]).ok();
    let file = other.path("shop.ctxpkg").display().to_string();
    other.sp(&["pkg", "export", "shop", "--output", &file]).ok();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), first);
    repo.git(&["clone", "--quiet", &repo.url(), &world.path("clone").display().to_string()]);
    let content =
        |text: &str| text[text.find("\"content\":{\"context_graph\"").unwrap()..].to_owned();
    assert_eq!(content(&export("clone", "clone")), content(&first));
    let second = create(&world, "project", &["--level", "3", "--format", "json"]).ok();
    let second: Value = serde_json::from_str(&second.stdout).unwrap();
    assert_eq!(second["packages"][0]["new"], false, "{second}");
}

#[test]
fn pk_16_packages_have_the_requested_conformance_level() {
    for level in ["1", "2", "3"] {
        let world = project();
        shop(&world);
        let graph = graph(&world, "project", &["--level", level]);
        let file = world.path("out.ctxpkg").display().to_string();
        let run = world.sp(&["check", &file]).ok();
        let warnings: Vec<&str> =
            run.stdout.lines().filter(|line| line.starts_with("warning")).collect();
        assert_eq!(warnings.len(), 1, "{run}");
        assert!(warnings[0].starts_with("warning[PK-13]"), "{run}");
        let edges = graph["edges"].as_array().map_or(0, Vec::len);
        assert_eq!(edges > 0, level != "1", "level {level}");
        let decays = |node: &Value| {
            node["decay_half_life_days"].is_number() && node["created_at"].is_string()
        };
        assert_eq!(nodes(&graph).iter().all(decays), level == "3", "level {level}");
        assert!(nodes(&graph).iter().all(|node| node["activation"].is_number()));
        let superseded = graph["edges"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|edge| edge["type"] == "supersedes")
            .count();
        assert_eq!(superseded, usize::from(level != "1"));
    }
}

#[test]
fn pk_17_activation_of_extracted_nodes_decays() {
    let world = project();
    shop(&world);
    create(&world, "project", &["--level", "3"]).ok();
    let load = |time: &str| {
        world
            .sp(&["pkg", "load", "shop", "--budget", "4000", "--at", time, "--format", "json"])
            .ok()
            .stdout
    };
    assert_eq!(load("2023-11-20T00:00:00Z"), load("2023-11-20T00:00:00Z"));
    assert_ne!(load("2023-11-20T00:00:00Z"), load("2031-11-20T00:00:00Z"));
}

#[test]
fn pk_21_symbols_over_the_size_limit_are_omitted_with_a_warning() {
    let world = project();
    let code: String = (0..400)
        .map(|index| format!("/// Does it in the way of {index}.\npub fn f{index}() {{}}\n"))
        .collect();
    write(&world, "project/a.rs", code);
    write(&world, "project/README.md", "# A\n\nIt does things in many ways.\n");
    let run = create(&world, "project", &["--level", "3", "--limit", "package-bytes=100000"]).ok();
    for data in ["warning:", "97.7 KiB", "--limit package-bytes="] {
        assert!(run.stderr.contains(data), "`{data}` is not in {run}");
    }
    let file = world.path("out.ctxpkg").display().to_string();
    world.sp(&["pkg", "export", "shop", "--output", &file]).ok();
    let size = std::fs::metadata(&file).unwrap().len();
    assert!((30_000..=100_000).contains(&size), "{size} bytes");
    assert!(std::fs::read_to_string(&file).unwrap().contains("many ways"), "knowledge is kept");
}

#[test]
fn pk_21_project_without_readable_files_is_an_error() {
    let world = project();
    write(&world, "project/picture.png", [0_u8; 100]);
    let error = create(&world, "project", &["--format", "json"]).error();
    assert_eq!(error.code, "E-nothing-found");
    assert!(error.hints_at("--input"), "{error:?}");
}

#[test]
fn pk_21_skipped_files_are_reported_only_with_verbose() {
    let world = project();
    write(&world, "project/a.rs", "pub fn a() {}\n");
    write(&world, "project/b.js", "var a=1;".repeat(2_000));
    write(&world, "project/c.js", b"a\0b");
    write(&world, "project/d.go", "// Code generated by x. DO NOT EDIT.\npackage d\n");
    write(&world, "project/e.py", "a = 1\n".repeat(200_000));
    let quiet = create(&world, "project", &[]).ok();
    assert_eq!(quiet.stderr, "", "no notes, and no progress without a terminal");
    let other = project();
    std::fs::rename(world.path("project"), other.path("project2")).unwrap();
    let verbose = create(&other, "project2", &["--verbose"]).ok();
    let notes: Vec<&str> =
        verbose.stderr.lines().filter(|line| line.starts_with("note:")).collect();
    for reason in ["huge", "binary", "minified", "generated"] {
        assert!(notes.iter().any(|note| note.contains(reason)), "{reason}: {verbose}");
    }
}
